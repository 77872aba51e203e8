"""The lines that an event adds to the files that are made from the journal. Pure: state before, event, state after."""

from __future__ import annotations

import json
from typing import Any

from guard.loop import completion, texts
from guard.loop.events import (
    Alert,
    BreakerChanged,
    CallEnded,
    CallReserved,
    ControlRefused,
    Entered,
    Event,
    HoldChanged,
    Judged,
    LevelChanged,
    ModeChanged,
    Recovered,
    RunEnded,
    RunStarted,
)
from guard.loop.moments import second
from guard.loop.names import METRICS
from guard.loop.outcome import is_failed
from guard.loop.state import CLOSED, HALF_OPEN, OPEN, Last, State
from guard.shown import visible

ITERATIONS, EXITS = "iterations.md", "exit_decisions.log"
LOG, ERRORS, PATTERNS = "loop.log", "errors.log", "patterns.jsonl"
NAMES = (ITERATIONS, METRICS, EXITS, LOG, ERRORS, PATTERNS)
HOUR_MS = 3_600_000
Lines = list[tuple[str, str]]


def lines(before: State, event: Event, after: State) -> Lines:
    """File and text of each addition; every text ends with a line feed."""
    found: Lines = [(LOG, _logged(event.t, level, visible(text))) for level, text in _said(before, event, after)]
    body = event.body
    if isinstance(body, Judged) and after.last is not None:
        last = after.last
        found += [(ITERATIONS, iteration(last, event.t)), (METRICS, _json(metrics(last, event)))]
        found += [(EXITS, _json(exit_decision(last, event, after)))]
        if last.outcome in ("failed", "timeout", "lost") or last.errors:
            text = f"iteration {last.n}: {last.outcome}" + "".join(f"\n  {visible(error)}" for error in last.errors)
            found.append((ERRORS, _logged(event.t, "ERROR", text)))
    if isinstance(body, RunEnded) and body.status == "complete" and not _was_judged(after):
        found.append((EXITS, _json(standing_decision(event, after))))
    if isinstance(body, BreakerChanged) and body.before != OPEN and body.after == OPEN:
        found.append((PATTERNS, _json(pattern(after, event, body))))
    return found


def iteration(last: Last, t: int) -> str:
    """The entry of iterations.md."""
    tests = last.tests
    counts = f"{tests.passed} passed, {tests.failed} failed, {tests.skipped} skipped" if tests else ""
    rows = [
        f"Circuit state: {last.breaker}",
        f"Tasks completed: {last.completed}",
        f"Files modified: {', '.join(map(_flat, last.paths)) or 'none'}",
        f"Tests: {counts or '0 passed, 0 failed, 0 skipped (not run)'}",
        f"Errors encountered: {'; '.join(map(_flat, last.errors)) or 'none'}",
        f"Progress score: {last.score:+d}",
        f"API calls remaining: {last.calls_left}",
        f"Stagnation risk: {last.risk}",
    ]
    return f"## Iteration {last.n} — {second(t)}\n" + "".join(f"- {row}\n" for row in rows) + "\n"


def metrics(last: Last, event: Event) -> dict[str, Any]:
    """The line of metrics.jsonl."""
    tests = last.tests
    return {
        "t": second(event.t),
        "run": last.run,
        "n": last.n,
        "duration_s": round(last.duration_s, 3),
        "outcome": last.outcome,
        "success": last.outcome in ("ok", "partial"),
        "calls": last.calls,
        "tokens": last.tokens,
        "cost_usd": round(last.cost_usd, 6),
        "score": last.score,
        "completed": last.completed,
        "files": len(last.paths),
        "passed": tests.passed if tests else None,
        "failed": tests.failed if tests else None,
        "skipped": tests.skipped if tests else None,
        "errors": len(last.errors),
        "lines": last.lines,
        "calls_left": last.calls_left,
        "state": last.breaker,
    }


def exit_decision(last: Last, event: Event, after: State) -> dict[str, Any]:
    """The line of exit_decisions.log: every signal, what it gives, and what was decided."""
    return {
        "t": second(event.t),
        "run": last.run,
        "n": last.n,
        "signals": _signals(after, last.values, last.signals),
        "total": last.vote,
        "confidence": last.confidence,
        "high_confidence": last.confidence >= completion.HIGH,
        "explicit": last.explicit,
        "claim": last.claim,
        "refused": list(last.refused),
        **_evidence(after),
        "decision": "exit" if last.decision == "complete" else "continue",
        "reason": last.reason,
    }


def standing_decision(event: Event, after: State) -> dict[str, Any]:
    """The line of exit_decisions.log for a run that ends before a call, because its plan is complete."""
    points = {"plan_complete": completion.WEIGHTS["plan_complete"]}
    return {
        "t": second(event.t),
        "run": event.run,
        "n": None,
        "signals": _signals(after, {"plan_complete": 1}, points),
        "total": sum(points.values()),
        "confidence": sum(points.values()),
        "high_confidence": sum(points.values()) >= completion.HIGH,
        "explicit": None,
        "claim": False,
        "refused": [],
        **_evidence(after),
        "decision": "exit",
        "reason": "plan_complete",
    }


def _was_judged(after: State) -> bool:
    """Was the run's end decided at the end of an iteration?"""
    last, run = after.last, after.run
    return last is not None and run is not None and last.run == run.id and last.decision == "complete"


def _signals(after: State, values: dict[str, int], points: dict[str, int]) -> dict[str, dict[str, int]]:
    needed = completion.thresholds(after)
    return {
        name: {"value": values.get(name, 0), "threshold": needed[name], "weight": weight, "points": points.get(name, 0)}
        for name, weight in completion.WEIGHTS.items()
    }


def _evidence(after: State) -> dict[str, Any]:
    run = after.run
    plan = run.plan if run else None
    return {
        "plan": {"required": plan.required, "open": plan.open, "missing": plan.missing} if plan else None,
        "verify": run.verified if run else None,
    }


def pattern(after: State, event: Event, body: BreakerChanged) -> dict[str, Any]:
    """The line of patterns.jsonl: what the loop was doing when the breaker opened."""
    return {
        "t": second(event.t),
        "task": after.task,
        "cause": body.cause,
        "also": list(body.also),
        "fingerprints": list(after.memory.errors),
        "approaches": [list(approach) for approach in after.memory.approaches],
        "strategy": body.strategy,
    }


def _said(before: State, event: Event, after: State) -> list[tuple[str, str]]:
    """What the log says of an event."""
    body = event.body
    if isinstance(body, RunStarted):
        words = "resumed" if body.resumed else "started"
        limit = f"{body.config.calls_per_hour} calls an hour, {body.config.iterations} iterations"
        return [("INFO", f"run {event.run} {words}: {body.agent}, {limit}"), ("INFO", texts.START)]
    if isinstance(body, Entered) and (body.state, body.why != "economy") == ("WAIT_CALLS", True) and body.deadline is not None:
        return [("WARN", texts.RATE_LIMIT.format(time=texts.countdown((body.deadline - event.t) // 1000 - 5)))]
    if isinstance(body, Entered) and body.state == "WAIT_USAGE" and body.deadline is not None:
        return [("WARN", f"{body.state}: {body.why}, until {second(body.deadline)} at the latest")]
    if isinstance(body, LevelChanged):
        return [("WARN" if body.after < body.before else "INFO", f"level {body.after}: {body.reason}")]
    if isinstance(body, Entered) and body.why:
        return [("INFO", f"{body.state}: {body.why}")]
    if isinstance(body, CallReserved):
        return _reserved(before, event, body)
    if isinstance(body, CallEnded):
        return _called(event, body)
    if isinstance(body, Judged) and after.last is not None:
        return _judged(before, after, after.last)
    if isinstance(body, BreakerChanged):
        return _turned(body)
    if isinstance(body, HoldChanged):
        what = f"paused ({body.kind}): {body.reason}" if body.after else f"resumed: {body.reason}"
        return [("WARN" if body.after else "INFO", f"{what} by {body.actor or 'guard'}")]
    if isinstance(body, ModeChanged):
        return [("INFO", f"mode {body.after} by {body.actor}: {body.reason}")]
    if isinstance(body, ControlRefused):
        return [("WARN", f"refused: {body.verb} by {body.actor}: {body.why}")]
    if isinstance(body, Alert):
        return [({"info": "INFO", "warning": "WARN"}.get(body.severity, "ERROR"), f"alert {body.kind}: {body.detail}")]
    if isinstance(body, Recovered):
        return [("WARN", f"state recovered from {body.source}, {body.lost_events} events lost")]
    return _ended(body) if isinstance(body, RunEnded) else []


def _reserved(before: State, event: Event, body: CallReserved) -> list[tuple[str, str]]:
    found = []
    newest = before.window[-1].t if before.window else None
    if newest is not None and newest // HOUR_MS != event.t // HOUR_MS:
        found.append(("INFO", texts.NEW_HOUR))
    probe = " (probe)" if body.probe else ""
    return [*found, ("INFO", f"iteration {event.n}: call {body.call}{probe}, Calls: {body.used + 1}/{body.limit}")]


def _called(event: Event, body: CallEnded) -> list[tuple[str, str]]:
    """Why a call ended badly; nothing of one that ended well."""
    if body.limit is not None:
        until = f"until {second(body.limit.resets_at)}" if body.limit.resets_at is not None else "it does not say until when"
        why = f"the client's limit is used up ({body.limit.kind}), {until}"
    elif body.ended != "self":
        why = f"ended after {body.duration_s:.0f} s ({body.ended})"
    elif is_failed(body):
        how = f"signal {body.signal}" if body.exit is None else f"exit {body.exit}"
        why = f"failed ({', '.join(filter(None, (how, body.failure, body.api_status)))})"
    else:
        return []
    return [("WARN", f"iteration {event.n}: call {body.call}: {why}")]


def _judged(before: State, after: State, last: Last) -> list[tuple[str, str]]:
    limit = after.config.calls_per_hour
    parts = ", ".join(f"{name} {points:+d}" for name, points in last.parts.items()) or "nothing"
    rest = f"Calls: {limit - last.calls_left}/{limit}"
    found = [
        ("INFO", f"iteration {last.n}: {last.outcome}, score {last.score:+d} ({parts}), {last.decision}: {last.reason}, {rest}")
    ]
    idle, threshold = last.counters.get("no_progress", 0), after.config.no_progress
    if after.breaker.state == CLOSED and 0 < idle == threshold - 1 and not last.progress:
        found.append(("WARN", f"circuit breaker: {texts.MONITORING}, no progress in {idle} consecutive loops"))
    if last.progress and last.recovered:
        found.append(("INFO", texts.RECOVERED))
    if last.counters.get("test_fix_loop", 0):
        found.append(("INFO", f"test loop {last.counters['test_fix_loop']}: testing focus"))
    if last.counters.get("same_error", 0) > 1:
        found.append(("WARN", f"same error in {last.counters['same_error']} consecutive loops"))
    if last.refused:
        found.append(("WARN", f"exit signal refused, not complete: {', '.join(last.refused)}"))
    if last.gaps:
        found.append(("WARN", texts.PERMISSION.format(gaps=", ".join(map(_flat, last.gaps)))))
    return found


def _turned(body: BreakerChanged) -> list[tuple[str, str]]:
    what = f"circuit breaker {body.before} -> {body.after}"
    if body.after == OPEN and body.before != OPEN:
        said = texts.tripped(body.cause, body.count)
        return [("ERROR", f"{what}: {said}"), ("ERROR", texts.HALTED)]
    if body.after == CLOSED and body.actor:
        return [("INFO", f"{what} by {body.actor}: {body.reason}"), ("INFO", texts.RESET)]
    if body.before == HALF_OPEN and body.after == CLOSED:
        return [("INFO", what), ("INFO", texts.RECOVERED)]
    return [("INFO", f"{what} {body.cause} {body.actor} {body.reason}".rstrip())]


def _ended(body: RunEnded) -> list[tuple[str, str]]:
    done = [("INFO", texts.ALL_DONE)] if body.reason == "plan_complete" else []
    return [*done, ("INFO", f"exit {body.exit} ({body.status}): {body.reason}, {body.iterations} iterations, {body.calls} calls")]


def _logged(t: int, level: str, text: str) -> str:
    return f"[{second(t)}] [{level}] {text}\n"


def _flat(text: str) -> str:
    """A text on one line, with nothing in it that a terminal would act upon."""
    return visible(" ".join(text.split()))


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=True, separators=(",", ":")) + "\n"
