"""The progress score of an iteration, part by part, and the window of the last three."""

from __future__ import annotations

from collections.abc import Callable

from guard.loop.outcome import Seen
from guard.loop.settings import EACH, WINDOW
from guard.loop.state import Memory

# Each part: the points of one, and how many there are (at most EACH count). The streak is the error streak with this iteration.
PARTS: dict[str, tuple[int, Callable[[Seen, int], int]]] = {
    "completed": (5, lambda seen, streak: len(seen.completed)),
    "newly_passing": (3, lambda seen, streak: 0 if seen.test_focused else _tests(seen)[0]),
    "changed": (1, lambda seen, streak: 0 if seen.test_focused else seen.measured.files.meaningful),
    "resolved": (2, lambda seen, streak: _tests(seen)[1]),
    "same_error": (-2, lambda seen, streak: int(bool(seen.errors) and streak >= 2)),
    "unchanged": (-3, lambda seen, streak: int(seen.measured.files.meaningful == 0)),
    "reverted": (-1, lambda seen, streak: int(seen.measured.files.reverted)),
}


def parts(seen: Seen, streak: int) -> dict[str, int]:
    """The points of each part that is not 0."""
    found = {name: points * min(EACH, count(seen, streak)) for name, (points, count) in PARTS.items()}
    return {name: points for name, points in found.items() if points}


def is_scored(seen: Seen) -> bool:
    """Does the score go into the window?"""
    return seen.good and not seen.held


def window(memory: Memory, seen: Seen, score: int) -> tuple[int, ...]:
    """The last three scores that count, this one included where it does."""
    return (*memory.window, score)[-WINDOW:] if is_scored(seen) else memory.window


def _tests(seen: Seen) -> tuple[int, int]:
    tests = seen.measured.tests
    return (tests.newly_passing, tests.resolved) if tests else (0, 0)
