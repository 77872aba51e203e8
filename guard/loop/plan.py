"""Plan: where it is, what it asks for, and what an iteration did to it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from guard.errors import GuardError
from guard.loop import facts
from guard.loop.tasks import OPTIONAL, Task, tasks
from guard.vault.content import Unreadable, read

RALPH = ".ralph"
NAMES = (f"{RALPH}/fix_plan.md", f"{RALPH}/@fix_plan.md", "@fix_plan.md", "fix_plan.md", "IMPLEMENTATION_PLAN.md")
LARGEST = 8 << 20  # bytes
MOST = 10_000  # tasks
_TODO = "write at least one task into it, such as: - [ ] what is to be done"


@dataclass(frozen=True)
class Tasks:
    """What a plan held at a moment. Only required tasks are counted."""

    open: tuple[str, ...] = ()
    ticked: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Iterable[Task]) -> Tasks:
        """The required ones of these."""
        required = [task for task in found if not task.optional]
        opened = tuple(task.identity for task in required if not task.ticked)
        return cls(opened, tuple(task.identity for task in required if task.ticked))

    @property
    def required(self) -> int:
        """How many there are."""
        return len(self.open) + len(self.ticked)

    @property
    def current(self) -> str:
        """The first open one, "" where none is."""
        return next(iter(self.open), "")


def find(top: str, named: str | None = None, optional: Iterable[str] = OPTIONAL) -> str | None:
    """The path of the plan relative to the tree (as it was `named`, if it was); None where there is none.

    Raises GuardError where a plan that must be there is missing, unreadable or without a task.
    """
    if named is not None:
        _checked(top, named, optional)
        return named
    for name in NAMES:
        inside = name.startswith(f"{RALPH}/")
        if os.path.lexists(f"{top}/{name}") and (inside or _has_task(top, name, optional)):
            _checked(top, name, optional)
            return name
    if os.path.isdir(f"{top}/{RALPH}"):
        raise GuardError("there is no plan", f"{top}/{NAMES[0]}", _TODO)
    return None


def load(top: str, path: str, optional: Iterable[str] = OPTIONAL) -> tuple[Task, ...]:
    """The tasks of a plan, given relative to the tree. Raises GuardError where it cannot be read."""
    place = os.path.join(top, path)
    data = b""
    try:
        for piece in read(os.path.realpath(place)):
            data += piece
            if len(data) > LARGEST:
                raise GuardError(f"the plan is larger than {LARGEST >> 20} MiB", place, "name another one with --plan")
    except Unreadable as error:
        raise GuardError(f"the plan cannot be read ({error})", place, "repair it, or name another one with --plan") from None
    found = tasks(data.decode("utf-8", "replace"), optional)
    if len(found) > MOST:
        raise GuardError(f"the plan has more than {MOST} tasks", place, "divide it, or name another one with --plan")
    return found


def _has_task(top: str, path: str, optional: Iterable[str]) -> bool:
    try:
        return bool(load(top, path, optional))
    except GuardError:
        return False


def _checked(top: str, path: str, optional: Iterable[str]) -> None:
    if not load(top, path, optional):
        raise GuardError("the plan has no task", os.path.join(top, path), _TODO)


class Progress:
    """What the iterations of a run do to the plan. `before` and `after` stand around each of them.

    Where a run goes on, `seen` are the tasks that were seen open in it, and `last` is what its last iteration left.
    """

    def __init__(
        self,
        top: str,
        path: str,
        optional: Iterable[str] = OPTIONAL,
        seen: Iterable[str] = (),
        last: facts.Plan | None = None,
    ) -> None:
        self._top, self._path, self._optional = top, path, tuple(optional)
        self._seen = set(seen)
        self._most = None if last is None else last.required + last.missing
        self._required = None if last is None else last.required
        self._opened: list[str] = []
        self._known = dict.fromkeys(self._seen if last is not None and last.missing else ())
        self._changed = False  # by others, since the last iteration
        self._latest = Tasks()
        self._before: Tasks | None = None
        self._last: Tasks | None = None

    def before(self) -> Tasks:
        """The plan before an iteration. What others did to its required tasks meanwhile is no fault of the agent's."""
        now = self._now()
        if self._last is not None:
            changed = {*now.open, *now.ticked} != {*self._last.open, *self._last.ticked}
        else:
            changed = self._required not in (None, now.required)
        self._changed = self._last is not None and now != self._last
        if changed:
            self._known.clear()
        self._most = now.required if changed or self._most is None else max(self._most, now.required)
        self._see(now)
        self._before = now
        return now

    def external(self) -> facts.Plan | None:
        """The plan as others have left it since the last iteration, None where they have not touched its tasks.

        To be asked after `before`; the next look takes it as known.
        """
        now = self._before
        if not self._changed or now is None:
            return None
        self._changed, self._last = False, now
        opened, self._opened = tuple(self._opened), []
        return facts.Plan(now.required, len(now.open), (self._most or 0) - now.required, opened)

    def gone(self) -> tuple[str, ...]:
        """The tasks that the plan had in this run and has no more, in their order."""
        there = {*self._latest.open, *self._latest.ticked}
        return tuple(task for task in self._known if task not in there)

    def after(self) -> facts.Plan:
        """The plan after an iteration: what is left, what is missing, what was ticked and what is newly open."""
        before, now = self._before or self.before(), self._now()
        self._most = max(self._most or 0, now.required)
        self._see(now)
        opened, self._opened = tuple(self._opened), []
        self._last = now
        ticked = {*before.ticked}
        return facts.Plan(
            required=now.required,
            open=len(now.open),
            missing=self._most - now.required,
            opened=opened,
            completed=tuple(task for task in now.ticked if task not in ticked and task in self._seen),
        )

    def _see(self, now: Tasks) -> None:
        """Notes what is there, and what is open for the first time."""
        self._latest = now
        self._opened += [task for task in now.open if task not in self._seen]
        self._seen |= {*now.open}
        self._known |= dict.fromkeys((*now.open, *now.ticked))

    def _now(self) -> Tasks:
        """What the plan holds; nothing where it is gone or cannot be read, so that all of it is missing."""
        try:
            return Tasks.of(load(self._top, self._path, self._optional))
        except GuardError:
            return Tasks()
