"""Whether an effect on a protected file is a loss, and which: the rules of the levels, for one file at a time."""

from __future__ import annotations

from guard.change import EMPTIED, REPLACED, TOUCHED, blank, kind_of_change
from guard.effects import DELETE, EDIT, LEAVE, LINK, MOVE, OVERWRITE, REVERT, TRUNCATE, At, Matching
from guard.policy import KEEP, LOCK, PRESENT, RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Effect
    from guard.policy import Policy
    from guard.world import World

# The file, or the way to it, goes: the code of the loss by level. What a level does not name is no loss there.
_GOING = {
    PRESENT: {DELETE: "delete-present", MOVE: "move-present", LINK: "replace-present"},
    KEEP: {DELETE: "delete-kept", MOVE: "move-kept", LINK: "link-kept", REVERT: "revert-kept"},
    LOCK: {DELETE: "change-locked", MOVE: "change-locked", LINK: "change-locked", REVERT: "change-locked"},
}
# Its content changes: the code by level for (content unknown, truncated, emptied, replaced).
_CONTENT = {
    PRESENT: {OVERWRITE: "replace-present", TRUNCATE: "replace-present", EMPTIED: "replace-present", REPLACED: "replace-present"},
    KEEP: {OVERWRITE: "overwrite-kept", TRUNCATE: "truncate-kept", EMPTIED: "empty-kept", REPLACED: "replace-kept"},
}


class Harm:
    """The question that judging asks again and again, with what it needs to answer it."""

    def __init__(self, policy: Policy, world: World) -> None:
        self._policy = policy
        self._world = world
        self._old: dict[str, bytes | None] = {}

    def of(self, effect: Effect, path: str, level: str, now: str, content: bytes | None) -> str | None:
        """The code of the loss that the effect is for the protected file `path`, None where it is none.

        `now` is where the file stands when the effect comes (it may have been moved before), `content` what an OVERWRITE or
        EDIT would leave in it, as far as that is known.
        """
        action = effect.action
        if action in (OVERWRITE, EDIT, TRUNCATE):
            return self._rewritten(effect, path, level, now, b"" if action == TRUNCATE else content)
        if action == LEAVE:
            return "leave-kept" if level != PRESENT and self._policy.setting(path, "branches") == "pin" else None
        if action == MOVE and level != LOCK and self._stays(effect, level, now):
            return None
        if action == LINK and effect.to is not None and self._world.readlink(path) == effect.to:
            return None
        return _GOING[level].get(action)

    def _stays(self, effect: Effect, level: str, now: str) -> bool:
        """True when a moved file arrives at a path that is protected as well as the one it leaves."""
        target = effect.target
        if level == PRESENT or effect.to is None or not isinstance(target, At):
            return False
        there = self._policy.level(effect.to + now[len(target.path) :])
        return there is not None and RANK[there] >= RANK[level]

    def _rewritten(self, effect: Effect, path: str, level: str, now: str, new: bytes | None) -> str | None:
        """The loss of a file whose content changes (`new` None: not known). A link that is written to itself becomes a file."""
        if self._world.readlink(path) is not None:
            return "change-locked" if level == LOCK else _CONTENT[level][REPLACED]
        itself = isinstance(effect.target, Matching) or now == getattr(effect.target, "path", None)
        if new is not None and not itself and effect.action != TRUNCATE:
            new = None
        old = None if new is None else self._content(path)
        kind = None if new is None or old is None else kind_of_change(old, new)
        if kind == TOUCHED:
            return None
        if level == LOCK:
            return "change-locked"
        codes = _CONTENT[level]
        rewrites = self._policy.rewrites(path)
        if kind is None:
            return self._unknown_content(effect.action, new, codes, rewrites)
        if kind == EMPTIED:
            return codes[TRUNCATE if effect.action == TRUNCATE else EMPTIED]
        return codes[REPLACED] if kind == REPLACED and not rewrites else None

    def _unknown_content(self, action: str, new: bytes | None, codes: dict[str, str], rewrites: bool) -> str | None:
        """The loss where the old or the new content cannot be had: an edit keeps most, anything else may keep nothing."""
        if action == TRUNCATE:
            return codes[TRUNCATE]
        if new is not None and blank(new):
            return codes[EMPTIED]
        return None if action == EDIT or rewrites else codes[OVERWRITE]

    def _content(self, path: str) -> bytes | None:
        if path not in self._old:
            self._old[path] = self._world.read(path)
        return self._old[path]
