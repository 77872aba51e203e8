"""status.json: the state of a loop as programs and views read it. A pure function of the state."""

from __future__ import annotations

from typing import Any

from guard.loop import breaker as circuit
from guard.loop import detectors, judge, lifecycle, limits
from guard.loop.moments import moment
from guard.loop.record import dump
from guard.loop.state import CLOSED, OPEN, PAUSED, RESCUE_WAIT, Last, Run, State

VERSION = 1
# The words of the public runner for each status.
RALPH = {
    "starting": "running",
    "ready": "idle",
    "complete": "completed",
    "circuit_open": "halted",
    "integrity": "halted",
    "limit": "stopped",
    "stopped": "stopped",
    "interrupted": "interrupted",
    "paused": "paused",
    "error": "error",
    "running": "running",
    "waiting": "waiting",
    "failed": "failed",
}


def status(state: State) -> dict[str, Any]:
    """The values of status.json. Times are text, UTC."""
    run, last, breaker, t = state.run, state.last, state.breaker, state.t
    used = limits.used(state, t)
    return {
        "v": VERSION,
        "loop": state.loop,
        "root": state.root,
        "name": state.label,
        "run": run.id if run else None,
        "pid": run.pid if run else None,
        "updated": moment(t),
        "status": lifecycle.status(state),
        "state": state.lifecycle,
        "deadline": _time(state.deadline),
        "iteration": run.n if run else 0,
        "task": state.iteration.task if state.iteration else state.task,
        "attempt": state.iteration.attempt if state.iteration else state.attempts,
        "plan": {"required": run.plan.required, "open": run.plan.open} if run and run.plan else None,
        "mode": mode(state),
        "pause": pause(state),
        "gate": "paused" if state.lifecycle == lifecycle.WAIT_GATE else state.gate,
        "breaker": {
            "state": breaker.state,
            "monitoring": judge.is_monitored(state),
            "cause": breaker.cause if breaker.state != CLOSED else "",
            "also": list(breaker.also),
            "recovery": breaker.recovery,
            "opened_at": _time(breaker.opened_at or None),
            "probe_at": _time(circuit.ends_at(breaker) if breaker.state == OPEN and breaker.recovery == "auto" else None),
            "cooldown_s": breaker.cooldown_s,
            "opens": breaker.opens,
            "strategy": breaker.strategy,
            "escalated": breaker.escalated,
            "watch": breaker.watch,
        },
        "calls": {
            "used": used,
            "limit": state.config.calls_per_hour,
            "left": limits.left(state, t),
            "next_free_at": _time(limits.free_at(state, t)),
        },
        "tokens": {"hour": limits.tokens_used(state, t), "limit": state.config.tokens_per_hour, "run": run.tokens if run else 0},
        "cost": {"run": run.cost_usd if run else 0, "day": _day(state), "cap": state.config.cost_usd},
        "level": state.level,
        "fleet": _fleet(state),
        "score": {
            "last": last.score if last else None,
            "window": list(state.memory.window),
            "history": list(state.trends.history),
        },
        "protected": dump(run.guarded) if run else None,
        "risk": last.risk if last else "LOW",
        "counters": {row.cause: state.memory.count(row.cause) for row in detectors.TABLE},
        "alerts": [dict(alert) for alert in state.alerts],
        "last": _last(last),
        "exit": {"code": run.exit, "reason": run.reason} if run and run.ended else None,
        "ralph_status": _ralph(state, run, last),
    }


def mode(state: State) -> str:
    """The mode as it is shown: what a hold or the breaker makes of it."""
    breaker, hold = state.breaker, state.hold
    waits = breaker.state == OPEN and (breaker.escalated or breaker.cause == "integrity")
    if waits or (hold is not None and hold.value == RESCUE_WAIT):
        return RESCUE_WAIT
    return PAUSED if hold is not None or breaker.state == OPEN else state.mode


def pause(state: State) -> dict[str, Any] | None:
    """Why the loop is paused, by whom and since when; None where it is not. The machine's gate is shown beside it."""
    hold, breaker = state.hold, state.breaker
    if hold is not None:
        return {"class": hold.kind, "reason": hold.reason, "actor": hold.actor, "at": moment(hold.at)}
    if breaker.state == OPEN:
        return {"class": "error_loop", "reason": breaker.cause, "actor": "guard", "at": moment(breaker.opened_at)}
    return None


def _time(t: int | None) -> str | None:
    return None if t is None else moment(t)


def _day(state: State) -> dict[str, Any] | None:
    """The day's budget as the loop saw it last; None where there is none, or its day is over."""
    budget = state.budget
    if budget is None or state.t >= budget.until:
        return None
    return dump(budget) | {"until": moment(budget.until)}


def _fleet(state: State) -> dict[str, Any] | None:
    fleet = state.fleet
    if fleet is None or not (state.config.fleet_calls or state.config.budget_unit):
        return None
    limit = state.config.fleet_calls or None
    return {"state": fleet.after, "loops": fleet.loops, "share": fleet.share, "limit": limit, "why": fleet.why}


def _last(last: Last | None) -> dict[str, Any] | None:
    if last is None:
        return None
    return {
        "outcome": last.outcome,
        "progress": last.progress,
        "held": last.held,
        "claim": last.claim,
        "error": last.errors[0] if last.errors else "",
        "refusal": last.refusals[0].path if last.refusals else "",
        "gaps": list(last.gaps),
    }


def _ralph(state: State, run: Run | None, last: Last | None) -> dict[str, str]:
    return {
        "status": RALPH.get(lifecycle.status(state), "running"),
        "last_action": f"{last.decision}: {last.reason}" if last else state.lifecycle.lower(),
        "exit_reason": run.reason if run and run.ended else "",
    }
