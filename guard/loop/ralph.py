"""What Ralph's own tools read, in Ralph's formats: the content of each file, made from the state and from what events left.

ralph-monitor, `ralph --status`, `ralph --circuit-status` and ralph-stats read these files. guard never does. Of two numbers the
meaning is a little wider here: a loop is an iteration, and the calls of the hour are those of the last 60 minutes that count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from guard.loop import completion, derived, judge, lifecycle, limits, texts
from guard.loop import status as own
from guard.loop.events import Body, BreakerChanged, Event, Judged, Measured, RunEnded, RunStarted
from guard.loop.moments import second
from guard.loop.outcome import VOID
from guard.loop.state import CLOSED, HALF_OPEN, OPEN, Last, State

METRICS = "ralph_metrics.jsonl"  # in the state directory
LOGS = {
    derived.LOG: "logs/ralph.log",
    derived.ERRORS: "logs/ralph_error.log",
    derived.EXITS: "logs/exit_decisions.log",
    METRICS: "logs/metrics.jsonl",
}
HISTORY, SESSIONS = ".circuit_breaker_history", ".ralph_session_history"
CLAIMS, PROGRESS = "claims", "progress"  # what no state keeps: the iterations that claimed completion, that made progress
KEPT = 50  # transitions and sessions that are kept
SIGNALS = 5  # iterations that each list of signals has
Entry = dict[str, Any]
Lists = Mapping[str, list[Entry]]


def files(state: State, lists: Lists) -> dict[str, str]:
    """Name and content of each file. `lists`: what `entries` gave for the events so far, the last KEPT of each name."""
    made: dict[str, Any] = {
        "status.json": _status(state),
        "progress.json": progress(state, state.t),
        ".exit_signals": _signals(state, lists),
        ".response_analysis": _analysis(state),
        ".circuit_breaker_state": _breaker(state, lists),
        ".ralph_session": _session(state),
        HISTORY: lists.get(HISTORY, []),
        SESSIONS: lists.get(SESSIONS, []),
    }
    shown = {name: json.dumps(values, ensure_ascii=False, indent=2) + "\n" for name, values in made.items()}
    hour = datetime.fromtimestamp(state.t / 1000, UTC).strftime("%Y%m%d%H")
    return shown | {".call_count": f"{calls_of_hour(state)}\n", ".last_reset": f"{hour}\n"}


def calls_of_hour(state: State) -> int:
    """How many calls were started since the hour of the clock began."""
    begin = state.t - state.t % limits.HOUR_MS
    return sum(begin <= one.t <= state.t for one in state.window)


def progress(state: State, t: int) -> Entry:
    """progress.json at a moment: `executing` with the seconds of the call under way, else what became of the last iteration."""
    shown: Entry = {"status": "idle", "timestamp": second(t)}
    if state.lifecycle == lifecycle.EXECUTE and state.iteration is not None:
        return shown | {
            "status": "executing",
            "indicator": "⠿",
            "elapsed_seconds": max(0, t - state.entered) // 1000,
            "last_output": "",
        }
    last = state.last
    if last is not None and last.outcome not in VOID:
        shown["status"] = "completed" if last.outcome in ("ok", "partial") else "failed"
    return shown


def _status(state: State) -> Entry:
    found = own.status(state)
    said = found["ralph_status"]
    return {
        "timestamp": second(state.t),
        "loop_count": found["iteration"],
        "calls_made_this_hour": found["calls"]["used"],
        "max_calls_per_hour": found["calls"]["limit"],
        "tokens_used_this_hour": found["tokens"]["hour"],
        "max_tokens_per_hour": found["tokens"]["limit"],
        "last_action": said["last_action"],
        "status": found["status"],
        "exit_reason": said["exit_reason"],
        "sandbox": {"provider": "none"},
        "next_reset": found["calls"]["next_free_at"] or "",
    }


def _session(state: State) -> Entry:
    started = second(state.run.started) if state.run else ""
    return {"session_id": state.session, "created_at": started, "last_used": second(state.t)}


def _signals(state: State, lists: Lists) -> dict[str, list[int]]:
    """The last iterations of the run with each kind of signal, by number."""
    run = state.run
    if run is None:
        return {"test_only_loops": [], "done_signals": [], "completion_indicators": []}
    first = run.n - len(run.done) + 1
    done = [first + at for at, flag in enumerate(run.done) if flag]
    tested = [run.n - len(run.tested) + 1 + at for at, flag in enumerate(run.tested) if flag]
    claims = [entry["loop"] for entry in lists.get(CLAIMS, []) if entry["run"] == run.id]
    return {
        "test_only_loops": tested[-SIGNALS:],
        "done_signals": done[-SIGNALS:],
        "completion_indicators": claims[-SIGNALS:],
    }


def _analysis(state: State) -> Entry:
    last = state.last
    if last is None:
        return {}
    return {
        "loop_number": last.n,
        "timestamp": second(state.t),
        "output_format": "json",
        "analysis": _analysed(last),
    }


def _analysed(last: Last) -> Entry:
    done = last.signals.get("done", 0) > 0 or last.claim
    return {
        "has_completion_signal": bool(last.explicit) or done,
        "is_test_only": bool(last.counters.get("test_fix_loop")),
        "is_stuck": bool(last.matched),
        "has_progress": last.progress,
        "files_modified": len(last.paths),
        "has_errors": bool(last.errors),
        "confidence_score": last.confidence,
        "high_confidence": last.confidence >= completion.HIGH,
        "exit_signal": bool(last.explicit),
        "work_summary": f"{last.outcome}, score {last.score:+d}",
        "output_length": last.lines,
        "has_permission_denials": bool(last.gaps),
        "permission_denial_count": len(last.gaps),
        "denied_commands": list(last.gaps),
    }


def _breaker(state: State, lists: Lists) -> Entry:
    """The breaker; HALF_OPEN also while it is closed and watches: that is what Ralph calls so."""
    breaker, memory = state.breaker, state.memory
    monitored = judge.is_monitored(state)
    changes, worked = lists.get(HISTORY, []), lists.get(PROGRESS, [])
    found: Entry = {
        "state": HALF_OPEN if monitored else breaker.state,
        "monitoring": monitored,
        "last_change": changes[-1]["timestamp"] if changes else second(state.run.started if state.run else state.t),
        "consecutive_no_progress": memory.count("no_progress"),
        "consecutive_same_error": memory.count("same_error"),
        "consecutive_permission_denials": memory.count("permission_denied"),
        "last_progress_loop": worked[-1]["loop"] if worked else 0,
        "total_opens": breaker.opens,
        "reason": _reason(state, monitored),
        "current_loop": state.run.n if state.run else 0,
    }
    return found | ({"opened_at": second(breaker.opened_at)} if breaker.state == OPEN else {})


def _reason(state: State, monitored: bool) -> str:
    if state.breaker.state != CLOSED:
        return texts.tripped(state.breaker.cause, state.breaker.count)
    return texts.MONITORING if monitored else ""


def entries(event: Event) -> Iterator[tuple[str, Entry]]:
    """What an event adds to the lists: their names, and what each is given."""
    body, t, loop = event.body, second(event.t), event.n or 0
    if isinstance(body, BreakerChanged):
        reason = texts.tripped(body.cause, body.count) if body.after == OPEN else body.reason or body.cause
        yield HISTORY, {"timestamp": t, "loop": loop, "from_state": body.before, "to_state": body.after, "reason": reason}
    if isinstance(body, Judged) and body.progress:
        yield PROGRESS, {"loop": loop}
    if isinstance(body, Measured) and event.n is not None and completion.is_claim(body.reply):
        yield CLAIMS, {"loop": loop, "run": event.run}
    change = _session_change(body)
    if change is not None:
        before, after, reason = change
        yield SESSIONS, {"timestamp": t, "from_state": before, "to_state": after, "reason": reason, "loop_number": loop}


def _session_change(body: Body) -> tuple[str, str, str] | None:
    """The states of a session before and after an event, and why; None where it stays."""
    if isinstance(body, RunStarted):
        return ("inactive", "active", "resumed" if body.resumed else "started")
    if isinstance(body, RunEnded):
        return ("active", "inactive", body.reason)
    if isinstance(body, BreakerChanged) and body.actor and body.after in (CLOSED, HALF_OPEN):
        return ("active", "reset", "manual_circuit_reset")
    return None


def metrics(event: Event, after: State) -> str:
    """The line of an iteration as ralph-stats reads it, "" for another event."""
    last = after.last
    if not isinstance(event.body, Judged) or last is None:
        return ""
    values = {
        "timestamp": second(event.t),
        "loop": last.n,
        "duration": round(last.duration_s),
        "success": last.outcome in ("ok", "partial"),
        "calls": limits.used(after, after.t),
    }
    return json.dumps(values, separators=(",", ":")) + "\n"
