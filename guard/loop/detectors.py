"""The detectors, as rows in the order of their precedence.

Each row says how its count goes on with an iteration, at which count it trips, and what follows. All are judged after each
iteration that is not void; the first that matches names the cause.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from guard.loop import score
from guard.loop.outcome import FAILED, LOST, TIMEOUT, Seen
from guard.loop.record import replace
from guard.loop.settings import BLOCKED, REAL_GAPS, REFUSED_CLAIMS, WINDOW, Config
from guard.loop.similarity import same_approach, same_error, similar
from guard.loop.state import AUTO, EXPLICIT, Memory

HOLD = "hold"  # the recovery of a row that pauses and leaves the breaker alone
CIRCLES = (2, 3)  # approaches that alternate
CIRCLE = 4  # the count of a sequence that has come twice
MESSAGES = 5  # ok iterations whose messages are compared
SHORTEST = 20  # characters of a message that is compared, and lines from which a decline is one
BEFORE = 3  # ok iterations whose median length is the base of a decline
Count = Callable[[Memory, Memory, Seen], int]


@dataclass(frozen=True)
class Detector:
    """One row. `count(before, after, seen)` gives the new count, `threshold(config, seen)` where it trips.

    `recovery`: auto, explicit or hold; `exit`: the run's exit status; `advice`: the kind of strategies that help.
    """

    cause: str
    count: Count
    threshold: Callable[[Config, Seen], int]
    recovery: str
    exit: int
    advice: str = ""


@dataclass(frozen=True)
class Streak:
    """A count that one condition raises and another sets to 0, in this order; else it stays."""

    cause: str
    raises: Callable[[Seen], bool]
    clears: Callable[[Seen], bool]

    def __call__(self, before: Memory, after: Memory, seen: Seen) -> int:
        """The new count."""
        if self.raises(seen):
            return before.count(self.cause) + 1
        return 0 if self.clears(seen) else before.count(self.cause)


def _good(seen: Seen) -> bool:
    return seen.good


def _failed(seen: Seen) -> bool:
    return seen.outcome in (FAILED, TIMEOUT, LOST)


def _violations(before: Memory, after: Memory, seen: Seen) -> int:
    return len(seen.measured.protected.violations)


def _refusals(before: Memory, after: Memory, seen: Seen) -> int:
    return max(after.refusals.values(), default=0)


def _circle(before: Memory, after: Memory, seen: Seen) -> int:
    """How near the last approaches are to a sequence of different ones, twice: CIRCLE, less the approaches that are missing."""
    lengths = [(size, _repeated(after.approaches, size)) for size in CIRCLES]
    return max((CIRCLE - (2 * size - length) for size, length in lengths if length), default=0)


def _repeated(approaches: tuple[tuple[str, ...], ...], size: int) -> int:
    """The length of a sequence that has begun to repeat; 0 where it has not."""
    for matched in range(size, 0, -1):
        recent = approaches[-(size + matched) :]
        if len(recent) == size + matched and _is_circle(recent, size):
            return size + matched
    return 0


def _is_circle(recent: tuple[tuple[str, ...], ...], size: int) -> bool:
    first = recent[:size]
    different = not any(same_approach(one, other) for at, one in enumerate(first) for other in first[:at])
    return different and all(same_approach(one, first[at]) for at, one in enumerate(recent[size:]))


def _same_errors(before: Memory, after: Memory, seen: Seen) -> int:
    if not seen.errors:
        return 0 if seen.good else before.count("same_error")
    return before.count("same_error") + 1 if _recurs(before, seen) else 1


def _recurs(before: Memory, seen: Seen) -> bool:
    return any(same_error(one, first) for first in before.errors for one in seen.errors)


def _same_messages(before: Memory, after: Memory, seen: Seen) -> int:
    if seen.progress or not seen.good:
        return 0 if seen.progress else before.count("repeated_message")
    message = seen.reply.message
    if len(message) < SHORTEST:
        return 0
    return 1 + sum(len(other) >= SHORTEST and similar(message, other) for other in after.messages[:-1])


def _decline(before: Memory, after: Memory, seen: Seen) -> int:
    return decline(before, seen) if seen.good and not seen.progress else 0


def decline(before: Memory, seen: Seen) -> int:
    """By how many percent fewer lines the reply has than the median of the three before; 0 where there is nothing to compare."""
    if len(before.lines) < BEFORE:
        return 0
    median = int(statistics.median(before.lines))
    return max(0, 100 * (median - seen.reply.lines) // median) if median >= SHORTEST else 0


def _similar_prompts(before: Memory, after: Memory, seen: Seen) -> int:
    if seen.progress:
        return 0
    return before.count("repeated_renewal") + 1 if seen.similar else 1


def _negative(before: Memory, after: Memory, seen: Seen) -> int:
    if seen.progress or not score.is_scored(seen):
        return 0
    return int(is_negative(after.window) and max(after.window) <= 0)


def is_negative(window: tuple[int, ...]) -> bool:
    """Is the window full, and its sum below 0?"""
    return len(window) == WINDOW and sum(window) < 0


def _gaps(config: Config, seen: Seen) -> int:
    return max(config.permission, REAL_GAPS) if seen.progress else config.permission


def _no_work_left(config: Config, seen: Seen) -> int:
    """Test-focused iterations trip only while required tasks are open."""
    return config.test_loops if seen.open_tasks else NEVER


NEVER = 10**9  # a threshold that is not reached

TABLE: tuple[Detector, ...] = (
    Detector("integrity", _violations, lambda config, seen: 1, EXPLICIT, 4),
    Detector(
        "permission_denied",
        Streak("permission_denied", lambda seen: bool(seen.reply.gaps), _good),
        _gaps,
        EXPLICIT,
        3,
        "allow list",
    ),
    Detector("repeated_refusal", _refusals, lambda config, seen: config.refusals, EXPLICIT, 1),
    Detector(
        "question",
        Streak("question", lambda seen: seen.good and seen.reply.question and not seen.progress, _good),
        lambda config, seen: config.questions,
        HOLD,
        3,
    ),
    Detector(
        "blocked",
        Streak("blocked", lambda seen: seen.good and seen.reply.says("STATUS") == "blocked", _good),
        lambda config, seen: BLOCKED,
        HOLD,
        3,
    ),
    Detector(
        "safety_circuit_breaker",
        Streak("safety_circuit_breaker", lambda seen: seen.refused_claim, _good),
        lambda config, seen: REFUSED_CLAIMS,
        HOLD,
        3,
    ),
    Detector(
        "execution_failure",
        Streak("execution_failure", _failed, _good),
        lambda config, seen: config.failures,
        EXPLICIT,
        1,
        "same error",
    ),
    Detector("circular", _circle, lambda config, seen: CIRCLE, AUTO, 1, "circular"),
    Detector(
        "test_fix_loop",
        Streak("test_fix_loop", lambda seen: seen.good and seen.test_focused, _good),
        _no_work_left,
        AUTO,
        1,
        "test fix",
    ),
    Detector("same_error", _same_errors, lambda config, seen: config.same_error, AUTO, 1, "same error"),
    Detector("repeated_message", _same_messages, lambda config, seen: config.messages, EXPLICIT, 1, "no progress"),
    Detector("output_decline", _decline, lambda config, seen: config.output_decline, AUTO, 1, "no progress"),
    Detector(
        "no_progress",
        Streak(
            "no_progress",
            lambda seen: seen.good and not seen.progress and not seen.held,
            lambda seen: seen.progress,
        ),
        lambda config, seen: config.no_progress,
        AUTO,
        1,
        "no progress",
    ),
    Detector("repeated_renewal", _similar_prompts, lambda config, seen: config.renewals, EXPLICIT, 1, "no progress"),
    Detector("negative_score", _negative, lambda config, seen: 1, AUTO, 1, "no progress"),
)


def by_cause(cause: str) -> Detector | None:
    """The row of a cause; None for one that no row has (state_lost, a person's pause)."""
    return next((row for row in TABLE if row.cause == cause), None)


def remember(memory: Memory, seen: Seen, points: int) -> Memory:
    """What is remembered after an iteration whose score is `points`, with the counts of all detectors."""
    after = replace(
        memory,
        approaches=_approaches(memory, seen),
        errors=_errors(memory, seen),
        messages=_messages(memory, seen),
        lines=(*memory.lines, seen.reply.lines)[-BEFORE:] if seen.good else memory.lines,
        refusals=_refused(memory, seen),
        window=score.window(memory, seen, points),
    )
    return replace(after, counts={row.cause: row.count(memory, after, seen) for row in TABLE})


def streak(memory: Memory, seen: Seen) -> int:
    """The error streak with this iteration, which its score needs."""
    return _same_errors(memory, memory, seen)


def matches(memory: Memory, seen: Seen, config: Config) -> tuple[Detector, ...]:
    """The rows that match, in order. `memory` has this iteration in it."""
    return tuple(row for row in TABLE if memory.count(row.cause) >= row.threshold(config, seen))


def thresholds(config: Config, seen: Seen) -> dict[str, int]:
    """Where each row trips, as it is shown; where it cannot trip now, where it would."""
    found = {row.cause: row.threshold(config, seen) for row in TABLE}
    return found | {"test_fix_loop": config.test_loops}


def _approaches(memory: Memory, seen: Seen) -> tuple[tuple[str, ...], ...]:
    if seen.completed:
        return ()
    own = seen.measured.files.approach
    return (*memory.approaches, own)[-2 * max(CIRCLES) :] if own else memory.approaches


def _errors(memory: Memory, seen: Seen) -> tuple[str, ...]:
    if not seen.errors:
        return () if seen.good else memory.errors
    return memory.errors if _recurs(memory, seen) else seen.errors


def _messages(memory: Memory, seen: Seen) -> tuple[str, ...]:
    if seen.progress:
        return ()
    return (*memory.messages, seen.reply.message)[-MESSAGES:] if seen.good else memory.messages


def _refused(memory: Memory, seen: Seen) -> dict[str, int]:
    now = {refusal.path: memory.refusals.get(refusal.path, 0) + 1 for refusal in seen.measured.protected.refusals}
    return now if seen.good else memory.refusals | now
