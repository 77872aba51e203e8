"""The files that Ralph's own tools read, in Ralph's formats. Written beside its prompt, never read as state."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from guard.loop import completion, derived, judge, limits
from guard.loop import status as own
from guard.loop.events import BreakerChanged, Event, RunStarted, second
from guard.loop.state import HALF_OPEN, State

DIRECTORY = ".ralph"
LOGS = {derived.LOG: "logs/ralph.log", derived.ERRORS: "logs/ralph_error.log", derived.METRICS: "logs/metrics.jsonl"}
HISTORY, SESSIONS = ".circuit_breaker_history", ".ralph_session_history"
KEPT = 50  # transitions and sessions that are kept
SIGNALS = 5  # iterations that each list of signals has


def files(state: State) -> dict[str, str]:
    """Name and content of each file that a state alone makes."""
    run, found = state.run, own.status(state)
    t = second(state.t)
    shown = {
        "timestamp": t,
        "loop_count": found["iteration"],
        "calls_made_this_hour": found["calls"]["used"],
        "max_calls_per_hour": found["calls"]["limit"],
        "next_reset": found["calls"]["next_free_at"] or "",
    }
    status = shown | {"status": found["status"], **{key: found["ralph_status"][key] for key in ("last_action", "exit_reason")}}
    progress = {"status": found["status"], "timestamp": t, "elapsed_seconds": (state.t - run.started) // 1000 if run else 0}
    made: dict[str, Any] = {
        "status.json": status,
        "progress.json": progress,
        ".exit_signals": _signals(state),
        ".response_analysis": _analysis(state),
        ".circuit_breaker_state": _breaker(state),
        ".ralph_session": {"session_id": state.session, "created_at": second(run.started) if run else "", "last_used": t},
    }
    texts = {name: json.dumps(values, ensure_ascii=False, indent=2) + "\n" for name, values in made.items()}
    hour = datetime.fromtimestamp(state.t / 1000, UTC).strftime("%Y%m%d%H")
    return texts | {".call_count": f"{calls_of_hour(state)}\n", ".last_reset": f"{hour}\n"}


def calls_of_hour(state: State) -> int:
    """How many calls were started since the hour of the clock began."""
    begin = state.t - state.t % limits.HOUR_MS
    return sum(begin <= one.t <= state.t for one in state.window)


def _signals(state: State) -> dict[str, list[int]]:
    """The last iterations with each kind of signal, by number."""
    run = state.run
    if run is None:
        return {"test_only_loops": [], "done_signals": [], "completion_indicators": []}
    first = run.n - len(run.done) + 1
    done = [first + at for at, flag in enumerate(run.done) if flag][-SIGNALS:]
    tested = [run.n - len(run.tested) + 1 + at for at, flag in enumerate(run.tested) if flag][-SIGNALS:]
    claims = [run.n] if state.last is not None and state.last.claim else []
    return {"test_only_loops": tested, "done_signals": done, "completion_indicators": claims}


def _analysis(state: State) -> dict[str, Any]:
    last = state.last
    if last is None:
        return {}
    return {
        "loop_number": last.n,
        "exit_signal": bool(last.explicit),
        "confidence_score": last.confidence,
        "high_confidence": last.confidence >= completion.HIGH,
        "files_modified": len(last.paths),
        "has_errors": bool(last.errors),
        "output_length": last.lines,
        "is_test_only": bool(last.counters.get("test_fix_loop")),
        "has_permission_denials": bool(last.gaps),
    }


def _breaker(state: State) -> dict[str, Any]:
    breaker, memory = state.breaker, state.memory
    monitored = judge.is_monitored(state)
    return {
        "state": HALF_OPEN if monitored else breaker.state,
        "monitoring": monitored,
        "last_change": second(breaker.opened_at) if breaker.opened_at else "",
        "consecutive_no_progress": memory.count("no_progress"),
        "consecutive_same_error": memory.count("same_error"),
        "consecutive_permission_denials": memory.count("permission_denied"),
        "total_opens": breaker.opens,
        "reason": breaker.cause,
        "opened_at": second(breaker.opened_at) if breaker.opened_at else "",
        "current_loop": state.run.n if state.run else 0,
    }


def transition(event: Event) -> tuple[str, dict[str, Any]] | None:
    """The list that an event adds to, and what it adds."""
    body = event.body
    if isinstance(body, BreakerChanged):
        entry = {
            "timestamp": second(event.t),
            "loop": event.n,
            "from_state": body.before,
            "to_state": body.after,
            "reason": body.cause,
        }
        return HISTORY, entry
    if isinstance(body, RunStarted):
        return SESSIONS, {"timestamp": second(event.t), "run": event.run, "transition": "resumed" if body.resumed else "started"}
    return None


def noted(event: Event) -> str:
    """The line that keeps a transition, "" where an event is none."""
    found = transition(event)
    return "" if found is None else json.dumps(found, separators=(",", ":")) + "\n"


class Beside:
    """Keeps Ralph's files in a tree that has its directory. What is lost is written again; errors stop nothing."""

    def __init__(self, root: str) -> None:
        self.directory = f"{root}/{DIRECTORY}"
        self.lists: dict[str, list[dict[str, Any]]] = {HISTORY: [], SESSIONS: []}
        self.failed = ""

    @property
    def wanted(self) -> bool:
        """Is there such a directory, and no link in its place?"""
        return os.path.isdir(self.directory) and not os.path.islink(self.directory)

    def load(self, path: str) -> None:
        """Remembers the transitions that a file has, one a line as `noted` makes them."""
        with suppress(OSError, ValueError), open(path, "rb") as file:
            for line in file:
                name, entry = json.loads(line)
                self.lists[name] = [*self.lists[name], entry][-KEPT:]

    def note(self, event: Event) -> None:
        """Remembers the transitions that an event makes."""
        found = transition(event)
        if found is not None:
            self.lists[found[0]] = [*self.lists[found[0]], found[1]][-KEPT:]

    def show(self, state: State, logs: str) -> None:
        """Writes all of them; the logs as they stand in the directory `logs`."""
        if not self.wanted:
            return
        texts = files(state) | {name: json.dumps(entries, indent=2) + "\n" for name, entries in self.lists.items()}
        for name, text in texts.items():
            self._put(name, text.encode("utf-8", "backslashreplace"))
        for source, name in LOGS.items():
            self._copy(f"{logs}/{source}", name)

    def _put(self, name: str, data: bytes) -> None:
        path = f"{self.directory}/{name}"
        try:
            temporary = f"{path}.guard-tmp"
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
            os.rename(temporary, path)
        except OSError as error:
            self.failed = str(error)

    def _copy(self, source: str, name: str) -> None:
        """Adds to a log what it does not have yet; one that is gone or another is written anew."""
        path = f"{self.directory}/{name}"
        try:
            if os.path.islink(os.path.dirname(path)):
                return
            os.makedirs(os.path.dirname(path), exist_ok=True)
            have = os.stat(path, follow_symlinks=False).st_size if os.path.lexists(path) else 0
            with open(source, "rb") as file:
                there = os.fstat(file.fileno()).st_size
                if have > there:
                    with suppress(FileNotFoundError):
                        os.unlink(path)
                    have = 0
                if have == there:
                    return
                file.seek(have)
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
                try:
                    while data := file.read(1 << 20):
                        os.write(fd, data)
                finally:
                    os.close(fd)
        except FileNotFoundError:
            return
        except OSError as error:
            self.failed = str(error)
