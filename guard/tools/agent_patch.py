"""The patch grammar of agents' patch tools: "*** Update File: PATH", its hunks, and what they make of a file.

    *** Begin Patch
    *** Add File: PATH            lines with "+"
    *** Delete File: PATH
    *** Update File: PATH
    *** Move to: PATH             hunks: "@@" and a line that stands above, then lines with " ", "-" or "+"
    *** End Patch

What stands outside of these is a comment to some clients and an error to others; here it is skipped, so that no header is missed.
"""

from __future__ import annotations

from guard.effects import DELETE, EDIT, OVERWRITE, Analysis, At
from guard.overlay import FILE
from guard.tools.changes import Changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from guard.tools.call import Call
else:
    from guard.record import NamedTuple

ADD, REMOVE, UPDATE = "add", "remove", "update"
_HEADERS = {"*** Add File:": ADD, "*** Delete File:": REMOVE, "*** Update File:": UPDATE}
_MOVE = "*** Move to:"
_END = "*** End of File"


class Hunk(NamedTuple):
    """One passage: the line that stands somewhere above it ("" for none), the lines before and after; is it the end?"""

    above: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    end: bool = False


class Part(NamedTuple):
    """What a patch does to one file. `action` is ADD, REMOVE or UPDATE; `to` where the file goes, None where it stays;
    `content` what an added file holds; `hunks` the changes of an updated one."""

    action: str
    path: str
    to: str | None = None
    content: str = ""
    hunks: tuple[Hunk, ...] = ()


def parts(text: str) -> list[Part]:
    """The parts of a patch in their order; none where the text holds no such patch. Never raises."""
    found: list[Part] = []
    body: list[str] = []
    ended = False
    for line in text.removesuffix("\n").split("\n"):
        line = line.removesuffix("\r")
        bare = line.strip()
        header = next((header for header in _HEADERS if bare.startswith(header)), None)
        if header is not None:
            _close(found, body)
            found.append(Part(_HEADERS[header], bare[len(header) :].strip()))
            ended = False
        elif found and bare.startswith(_MOVE) and not body and found[-1].action == UPDATE:
            found[-1] = found[-1]._replace(to=bare[len(_MOVE) :].strip())
        elif bare in ("*** Begin Patch", "*** End Patch"):
            _close(found, body)
            ended = True
        elif found and not ended:
            body.append(line)
    _close(found, body)
    return found


def _close(found: list[Part], body: list[str]) -> None:
    """Gives the last part the lines that stand below its header."""
    if found and body:
        last = found[-1]
        if last.action == ADD:
            added = [line[1:] for line in body if line.startswith("+")]
            found[-1] = last._replace(content="".join(line + "\n" for line in added))
        elif last.action == UPDATE:
            found[-1] = last._replace(hunks=(*last.hunks, *_hunks(body)))
    body.clear()


def _hunks(lines: list[str]) -> list[Hunk]:
    found: list[Hunk] = []
    above, end = "", False
    old: list[str] = []
    new: list[str] = []

    def close() -> None:
        if old or new:
            found.append(Hunk(above, tuple(old), tuple(new), end))
        old.clear()
        new.clear()

    for line in lines:
        if line.startswith("@@"):
            close()
            above, end = line[2:].removesuffix("@@").strip(), False
        elif line.strip() == _END:
            end = True
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
        else:
            old.append(line[1:])
            new.append(line[1:])
    close()
    return found


def applied(hunks: tuple[Hunk, ...], content: str) -> str | None:
    """The file with the hunks applied one behind the other; None where one does not fit, so that no client could apply it."""
    lines = content.removesuffix("\n").split("\n") if content else []
    at = 0
    for hunk in hunks:
        if hunk.above:
            above = _find(lines, (hunk.above,), at, False)
            at = above + 1 if above is not None else at
        place = _find(lines, hunk.old, at, hunk.end) if hunk.old else len(lines)
        if place is None and hunk.old[-1] == "":
            hunk = hunk._replace(old=hunk.old[:-1], new=hunk.new[:-1] if hunk.new[-1:] == ("",) else hunk.new)
            place = _find(lines, hunk.old, at, hunk.end)
        if place is None:
            return None
        lines[place : place + len(hunk.old)] = hunk.new
        at = place + len(hunk.new)
    return "".join(line + "\n" for line in lines)


def _find(lines: list[str], wanted: tuple[str, ...], start: int, end: bool) -> int | None:
    """Where the wanted lines stand, from `start` on; exactly, else but for blanks at their ends, else at both sides."""
    last = len(lines) - len(wanted)
    places: list[int] = [*([last] if end and last >= start else []), *range(start, last + 1)]
    forms: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)
    for form in forms:
        shaped = [form(line) for line in lines]
        searched = [form(line) for line in wanted]
        for place in places:
            if shaped[place : place + len(searched)] == searched:
                return place
    return None


def apply_patch(call: Call) -> Analysis:
    """apply_patch, with the patch as its argument or its input, as clients let it be called in their shells"""
    changes = Changes(call)
    text = call.argv[1] if len(call.argv) > 1 else call.stdin
    if isinstance(text, str):
        for part in parts(text):
            _apply(changes, part)
    elif text is not None:
        changes.add(DELETE, call.somewhere("."), certain=False)
    return changes.result()


def _apply(changes: Changes, part: Part) -> None:
    place = changes.entry(part.path)
    if not isinstance(place, At):
        return
    opened = At(changes.view.through(place.path))
    there = changes.view.kind(opened.path) == FILE
    if part.action == ADD:
        changes.write(opened, part.content.encode("utf-8", "surrogateescape"))
    elif part.action == REMOVE and changes.view.kind(place.path) is not None:
        changes.delete(place)
    elif part.action == UPDATE and there:
        old = changes.view.read(opened.path)
        text = None if old is None else applied(part.hunks, old.decode("utf-8", "surrogateescape"))
        new = None if text is None else text.encode("utf-8", "surrogateescape")
        if part.hunks:
            changes.add(EDIT, opened, content=new)
        _move(changes, part, place, new)


def _move(changes: Changes, part: Part, place: At, content: bytes | None) -> None:
    to = changes.entry(part.to) if part.to is not None else None
    if isinstance(to, At) and to != place:
        if changes.view.kind(to.path) == FILE:
            changes.add(OVERWRITE, to, content=content)
        changes.move(place, to.path)
