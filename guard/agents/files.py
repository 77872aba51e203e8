"""What the file tools of agents do to paths: a call of Write, Edit, apply_patch, move_file, ... as an Analysis.

A tool of this kind is approved: it may edit what is kept and rewrite it as it likes, short of emptying it. What is locked only
the tools may change that the policy names.
"""

from __future__ import annotations

from guard.agents import notebook, table
from guard.agents.read import Malformed, sound
from guard.change import blank
from guard.effects import CREATE, DELETE, EDIT, MOVE, OVERWRITE, Analysis, At, Cause, Effect, Unknown
from guard.paths import physical, physical_parent
from guard.policy import KEEP, LOCK
from guard.shell.text import command_line, decode, encode
from guard.tools import agent_patch as patch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from guard.agents.read import Call
    from guard.policy import Policy
    from guard.world import World

_LINE = 200  # characters of the line that stands for a call
_REPEATED = 10_000  # passages of one call that are followed


def described(call: Call) -> str:
    """The call as one line: the tool and the files that it names."""
    if call.kind == table.PATCH:
        text = _given(call.arguments, table.PATCH_TEXT)
        named = [name for part in patch.parts(text[0]) for name in (part.path, part.to) if name] if text else []
    else:
        named = _given(call.arguments, table.SOURCE + table.FILE + table.DESTINATION)
    return command_line((call.tool, *dict.fromkeys(named)), _LINE)


def analyse(call: Call, world: World) -> Analysis:
    """What a call of a file tool would do. Raises Malformed where it does not say to which file."""
    hands = _Hands(call, world)
    _DEEDS[call.kind](hands)
    return Analysis(tuple(hands.effects), tuple(hands.unknowns))


def permitted(analysis: Analysis, policy: Policy, tool: str) -> Analysis:
    """The analysis of an approved tool's call as the policy has to see it: a rewriting of what it may rewrite is an edit."""
    return analysis._replace(effects=tuple(e for effect in analysis.effects for e in _permitted(effect, policy, tool)))


def _permitted(effect: Effect, policy: Policy, tool: str) -> Iterable[Effect]:
    if effect.action not in (CREATE, EDIT, OVERWRITE) or effect.content is None or blank(effect.content):
        if effect.action != EDIT or effect.content is not None or not policy.trusts(effect.target.path, tool):
            yield effect
        return
    level = policy.level(effect.target.path)
    if level == LOCK and policy.trusts(effect.target.path, tool):
        return
    yield effect._replace(action=EDIT, content=None, source=None) if level == KEEP and effect.action != CREATE else effect


class _Hands:
    """The effects of one call, as they come together, and the files as it leaves them."""

    def __init__(self, call: Call, world: World) -> None:
        self.call = call
        self.arguments = call.arguments
        self.effects: list[Effect] = []
        self.unknowns: list[Unknown] = []
        self._world = world
        self._now: dict[str, bytes | None] = {}  # what stands at a path by now, None: nothing
        self._cause = Cause(described(call), call.cwd)

    def files(self) -> list[str]:
        """The files that the call names, as they are written. Raises Malformed without any."""
        return _given(self.arguments, table.FILE) or self._nameless("no file")

    def write(self, path: str, content: bytes | None) -> None:
        """A file gets this content; None: one that is not known."""
        place = physical(self._world, self._absolute(path))
        there = self._there(place)
        if there and content is not None and self._world.lstat(place) is not None and content == self._content(place):
            return
        self._add(OVERWRITE if there else CREATE, place, content)

    def edit(self, path: str, change: Callable[[str], str | None]) -> None:
        """A file is changed: `change` makes the new text of the old one, None where that cannot be told."""
        place = physical(self._world, self._absolute(path))
        if not self._there(place):
            made = change("")
            self._add(CREATE, place, None if made is None else encode(made))
            return
        old = self._content(place)
        new = None if old is None else change(decode(old))
        self._add(EDIT, place, None if new is None else encode(new))

    def delete(self, path: str) -> None:
        """A file or directory goes, the link where it is one."""
        place = physical_parent(self._world, self._absolute(path))
        self._add(DELETE, place, None)
        self._now[place] = None

    def move(self, path: str, to: str) -> None:
        """A file or directory goes to another place; what stands there is overwritten."""
        place, there = (physical_parent(self._world, self._absolute(each)) for each in (path, to))
        if place == there:
            return
        content = self._content(place)
        if self._there(there):
            # Moving is no way to rewrite: what is moved has to keep what stood there.
            source = place if place not in self._now else None
            self.effects.append(Effect(OVERWRITE, At(there), cause=self._cause, source=source))
        self.effects.append(Effect(MOVE, At(place), cause=self._cause, to=there))
        self._now |= {place: None, there: content}

    def doubt(self, code: str, what: str) -> None:
        """Something of the call cannot be read."""
        self.unknowns.append(Unknown(code, what, None, self._cause))

    def _add(self, action: str, place: str, content: bytes | None) -> None:
        if content is not None and place.endswith(notebook.ENDING) and notebook.bare(content):
            content = b""
        self.effects.append(Effect(action, At(place), cause=self._cause, content=content))
        self._now[place] = content if content is not None else b"?"

    def _absolute(self, path: str) -> str:
        from guard.paths import child

        path = sound(path.removeprefix("file://"))
        home = self._world.environ.get("HOME", "")
        if path.startswith("~/") and home.startswith("/") and self._world.lstat(f"{self.call.cwd}/~") is None:
            return home + path[1:]
        if not path.startswith("/") and not self.call.cwd:
            self._nameless("no directory")
        return path if path.startswith("/") else child(self.call.cwd, path)

    def _there(self, place: str) -> bool:
        if place in self._now:
            return self._now[place] is not None
        return self._world.lstat(place) is not None

    def _content(self, place: str) -> bytes | None:
        return self._now[place] if place in self._now else self._world.read(place)

    def _nameless(self, what: str) -> list[str]:
        raise Malformed(f"the call of {self.call.tool} names {what}")


def _given(arguments: dict[str, Any], keys: Iterable[str]) -> list[str]:
    """The texts that stand under any of the keys, without repetition."""
    return list(dict.fromkeys(found for key in keys if isinstance(found := arguments.get(key), str) and found))


def _text(hands: _Hands, arguments: dict[str, Any], keys: Iterable[str]) -> str | None:
    """The first of the keys that is there; None without any. Raises Malformed for what is no text."""
    for key in keys:
        found = arguments.get(key)
        if found is not None:
            if not isinstance(found, str):
                raise Malformed(f'"{key}" of {hands.call.tool} is no text')
            return found
    return None


def _write(hands: _Hands) -> None:
    content = _text(hands, hands.arguments, table.CONTENT)
    if content is None and hands.call.tool in ("Write", "write", "write_file", "create"):
        raise Malformed(f"the call of {hands.call.tool} has no content")
    for path in hands.files():
        hands.write(path, None if content is None else encode(sound(content)))


def _edit(hands: _Hands) -> None:
    arguments = hands.arguments
    passages = next((arguments[key] for key in table.EDITS if isinstance(arguments.get(key), list)), [arguments])
    if len(passages) > _REPEATED:
        hands.doubt("too-long", hands.call.tool)
    changes = [_passage(hands, each) for each in passages[:_REPEATED]]
    content = _text(hands, arguments, table.CONTENT)

    def change(text: str) -> str | None:
        if content is not None and all(old is None for old, _, _ in changes):
            return content if not text or not content.strip() else None
        made: str | None = text
        for passage in changes:
            made = None if made is None else _changed(made, *passage)
        return made

    for path in hands.files():
        hands.edit(path, change)


def _passage(hands: _Hands, arguments: Any) -> tuple[str | None, str | None, bool]:
    """One passage: what it was, what it becomes, and whether everywhere."""
    if not isinstance(arguments, dict):
        raise Malformed(f"a passage of {hands.call.tool} is no object")
    old, new = (_text(hands, arguments, keys) for keys in (table.OLD, table.NEW))
    return old, new, any(arguments.get(key) for key in table.EVERY)


def _changed(text: str, old: str | None, new: str | None, every: bool) -> str | None:
    """The text with a passage changed; None where that cannot be told. Clients forgive differences in blanks."""
    if old is None or new is None:
        return None
    if not old:
        return new if not text.strip() or not new.strip() else None
    for form in (old, old.replace("\n", "\r\n")):
        if form in text:
            return text.replace(form, new, -1 if every else 1)
    return new if old.split() == text.split() else None


def _notebook(hands: _Hands) -> None:
    """What becomes of a notebook is not told, but that nothing is left of it."""
    for path in hands.files():
        hands.edit(path, lambda text: "" if notebook.empties(text.encode("utf-8", "replace"), hands.arguments) else None)


def _patch(hands: _Hands) -> None:
    text = _text(hands, hands.arguments, table.PATCH_TEXT)
    if text is None:
        raise Malformed(f"the call of {hands.call.tool} has no patch")
    found = patch.parts(sound(text))
    if not found:
        _unified(hands, sound(text))
    for part in found:
        _apply(hands, part)


def _apply(hands: _Hands, part: patch.Part) -> None:
    if part.action == patch.ADD:
        hands.write(part.path, encode(part.content))
    elif part.action == patch.REMOVE:
        hands.delete(part.path)
    else:
        if part.hunks:
            hands.edit(part.path, lambda text: patch.applied(part.hunks, text))
        if part.to is not None:
            hands.move(part.path, part.to)


def _unified(hands: _Hands, text: str) -> None:
    """A patch as diff writes it."""
    from guard.tools import patch as unified

    prefixed = any(line.startswith(("--- a/", "+++ b/")) for line in text.split("\n"))
    changes = unified.changes(text, 1 if prefixed else 0)
    changes = changes or [c for path in _given(hands.arguments, table.FILE) for c in unified.headless(text, path)]
    if not changes:
        hands.doubt("syntax", f"the patch of {hands.call.tool}")
    for change in changes:
        if change.action == unified.REMOVE:
            hands.delete(change.path)
        elif change.action == unified.RENAME and change.to is not None:
            hands.move(change.path, change.to)
        else:
            hands.edit(change.to or change.path, lambda text, change=change: _patched(change, text))  # type: ignore[misc]


def _patched(change: Any, text: str) -> str | None:
    from guard.tools import patch as unified

    made = unified.applied(change, text.encode("utf-8", "surrogateescape"))
    return None if made is None else decode(made)


def _delete(hands: _Hands) -> None:
    for path in _given(hands.arguments, (*table.FILE, *table.SOURCE, "dir_path", "directory")) or hands.files():
        hands.delete(path)


def _move(hands: _Hands) -> None:
    sources = _given(hands.arguments, (*table.SOURCE, *table.FILE))
    targets = _given(hands.arguments, table.DESTINATION)
    if not sources or not targets:
        raise Malformed(f"the call of {hands.call.tool} does not say what is to go where")
    for source in sources:
        hands.move(source, targets[0])


_DEEDS: dict[str, Callable[[_Hands], None]] = {
    table.WRITE: _write,
    table.EDIT: _edit,
    table.NOTEBOOK: _notebook,
    table.PATCH: _patch,
    table.DELETE: _delete,
    table.MOVE: _move,
}
