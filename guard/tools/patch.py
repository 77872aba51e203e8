"""Patches as text: which files a unified, context or git patch changes, deletes, renames or creates, and into what.

Shared by `patch` and `git apply`: `changes(text, strip, reverse)` reads a patch, `applied(change, old)` gives the new content.
"""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

MODIFY = "modify"
REMOVE = "remove"  # the patch leaves nothing of the file
ADD = "add"
RENAME = "rename"  # moved from `path` to `to`, perhaps changed on the way
COPY = "copy"

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_GIT = re.compile(r"diff --git (\"(?:[^\"\\]|\\.)*\"|\S+|.+?(?= b/)) (\".*\"|.+)$")
_EPOCH = re.compile(r"\t(19(69-12-31|70-01-01) [0-9:.]+|(Thu|Wed) (Jan|Dec) +\d+ [0-9:]+ 19(69|70)).*$")


class Hunk(NamedTuple):
    """One hunk: the first line (from 1) it expects in the old and the new file, and its lines with their sign in front.

    A line keeps its newline; it has none where the patch says "No newline at end of file".
    """

    old: int
    new: int
    lines: tuple[str, ...]


class Change(NamedTuple):
    """What a patch does to one file.

    `action` is one of MODIFY REMOVE ADD RENAME COPY. `path` is the file that is changed (for RENAME and COPY the one it comes
    from), `to` where it goes. `names` are the names in the headers that may be meant, in order: old, new, "Index:".
    `hunks` is None where they are of a kind that is not read (context, binary).
    """

    action: str
    path: str
    to: str | None
    hunks: tuple[Hunk, ...] | None
    names: tuple[str, ...]


class _Head:
    """The headers of one file while they are read."""

    def __init__(self) -> None:
        self.old: str | None = None
        self.new: str | None = None
        self.index: str | None = None
        self.git: tuple[str, str] | None = None
        self.extended: dict[str, str] = {}
        self.hunks: list[Hunk] | None = []

    @property
    def begun(self) -> bool:
        return bool(self.old is not None or self.new is not None or self.git or self.extended)


def headless(text: str, path: str) -> list[Change]:
    """The change of a patch that has hunks and no header: it is meant for a file that is named elsewhere."""
    begin = re.search(r"(?m)^@@ -", text)
    found = changes(f"--- file\n+++ file\n{text[begin.start() :]}", 0) if begin else []
    return [change._replace(path=path, names=(path,)) for change in found[:1]]


def changes(text: str, strip: int = 1, reverse: bool = False) -> list[Change]:
    """The changes of a patch, in order; an empty list where the text is none.

    `strip` is the number of leading directories to take off each name (as -p), -1 for all of them; `reverse` as -R.
    Names are relative to the directory in which the patch is applied. Never raises.
    """
    found = []
    head = _Head()
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r")
        following = lines[at + 1].rstrip("\r") if at + 1 < len(lines) else ""
        if line.startswith("diff --git "):
            found.append(head)
            head = _Head()
            matched = _GIT.match(line)
            head.git = _halves(line[11:]) or (matched.groups() if matched else None)  # type: ignore[assignment]
        elif (line[:4], following[:4]) in (("--- ", "+++ "), ("*** ", "--- ")):
            if head.hunks or head.old is not None or not _continues(head, line[4:], following[4:]):
                found.append(head)
                head = _Head()
            head.old, head.new = line[4:], following[4:]
            if line.startswith("*** "):
                head.hunks = None
            at += 1
        elif line.startswith("Index: "):
            if head.begun:
                found.append(head)
                head = _Head()
            head.index = line[7:]
        elif line.startswith("@@ -") and head.hunks is not None and (hunk := _hunk(lines, at)):
            head.hunks.append(hunk[0])
            at = hunk[1]
            continue
        elif head.git and (extended := _extended(line)):
            head.extended[extended[0]] = extended[1]
        elif line.startswith(("GIT binary patch", "Binary files ")):
            head.hunks = None
        at += 1
    found.append(head)
    result = [change for head in found if head.begun and (change := _change(head, strip)) is not None]
    return [reversed_(change) for change in result[::-1]] if reverse else result


def applied(change: Change, old: bytes) -> bytes | None:
    """The content that the change makes of `old`, None where a hunk does not apply without guessing at its context."""
    if change.hunks is None:
        return None
    lines = _lines(old.decode("utf-8", "surrogateescape"))
    done: list[str] = []
    position = shift = 0
    for hunk in change.hunks:
        before = [line[1:] for line in hunk.lines if line[0] in " -"]
        start = _place(lines, before, max(0, hunk.old - 1 if before else hunk.old) + shift, position)
        if start is None:
            return None
        shift = start - (hunk.old - 1 if before else hunk.old)
        done += lines[position:start]
        done += [line[1:] for line in hunk.lines if line[0] in " +"]
        position = start + len(before)
    return "".join(done + lines[position:]).encode("utf-8", "surrogateescape")


def reversed_(change: Change) -> Change:
    """The change that takes this one back."""
    signs = {"+": "-", "-": "+", " ": " "}
    hunks = change.hunks and tuple(
        Hunk(hunk.new, hunk.old, tuple(signs[line[0]] + line[1:] for line in hunk.lines)) for hunk in change.hunks
    )
    action = {ADD: REMOVE, REMOVE: ADD, COPY: REMOVE}.get(change.action, change.action)
    path, to = change.path, change.to
    if change.to is not None:
        path, to = change.to, (change.path if change.action == RENAME else None)
    return Change(action, path, to, hunks, (path,) if change.action == COPY else change.names[::-1])


def _halves(names: str) -> tuple[str, str] | None:
    """The two names of a "diff --git" line that are equal but for their first directory (they may hold blanks)."""
    middle = len(names) // 2
    if names.startswith('"') or names[middle : middle + 1] != " ":
        return None
    old, new = names[:middle], names[middle + 1 :]
    return (old, new) if old.partition("/")[2] == new.partition("/")[2] or old == new else None


def _continues(head: _Head, old: str, new: str) -> bool:
    """True when the names may belong to the "diff --git" line before them."""
    if head.git is None or '"' in old + new:
        return True
    none = "/dev/null"
    return old.split("\t")[0].rstrip() in (head.git[0], none, "a/" + head.git[0]) and (
        new.split("\t")[0].rstrip() in (head.git[1], none, "b/" + head.git[1])
    )


def _extended(line: str) -> tuple[str, str] | None:
    for key in ("deleted file mode", "new file mode", "rename from", "rename to", "copy from", "copy to"):
        if line.startswith(key + " "):
            return key, line[len(key) + 1 :]
    return None


def _hunk(lines: list[str], at: int) -> tuple[Hunk, int] | None:
    """The hunk whose header stands at this line, and the line behind it."""
    matched = _HUNK.match(lines[at])
    if matched is None:
        return None
    old, old_count, new, new_count = (int(group) if group is not None else 1 for group in matched.groups())
    body: list[str] = []
    at += 1
    while (old_count > 0 or new_count > 0) and at < len(lines):
        line = lines[at] or " "
        if line[0] not in " +-\\":
            break
        at += 1
        if line[0] == "\\":
            _without_newline(body)
            continue
        old_count -= line[0] in " -"
        new_count -= line[0] in " +"
        body.append(line + "\n")
    if at < len(lines) and lines[at].startswith("\\"):
        _without_newline(body)
        at += 1
    return Hunk(old, new, tuple(body)), at


def _without_newline(body: list[str]) -> None:
    if body:
        body[-1] = body[-1].removesuffix("\n")


def _change(head: _Head, strip: int) -> Change | None:
    extended = head.extended
    hunks = None if head.hunks is None else tuple(head.hunks)
    old, new = _stripped(head.old, strip), _stripped(head.new, strip)
    if old is None and new is None and head.git:
        old, new = _stripped(head.git[0], strip), _stripped(head.git[1], strip)
    index = _stripped(head.index, strip)
    names = tuple(name for name in (old, new, index) if name is not None)
    for action, word in ((RENAME, "rename"), (COPY, "copy")):
        if f"{word} from" in extended and f"{word} to" in extended:
            inner = max(strip - 1, 0) if strip >= 0 else strip
            source, goal = (_stripped(extended[f"{word} {side}"], inner) for side in ("from", "to"))
            return Change(action, source, goal, hunks, names) if source and goal else None
    if not names:
        return None
    if "deleted file mode" in extended or _nothing(head.new):
        return Change(REMOVE, old or names[0], None, hunks, names)
    if "new file mode" in extended or _nothing(head.old):
        return Change(ADD, new or names[0], None, hunks, names)
    return Change(MODIFY, new or names[0], None, hunks, names)


def _nothing(name: str | None) -> bool:
    """True for the header of a side where no file is: /dev/null, or the time of the epoch."""
    return name is not None and (name.split("\t")[0].strip() == "/dev/null" or _EPOCH.search(name) is not None)


def _stripped(name: str | None, strip: int) -> str | None:
    """The file name of a header without its time and its leading directories."""
    if name is None:
        return None
    name = _unquoted(name) if name.startswith('"') else name.split("\t")[0].rstrip()
    if "\t" not in name and (timed := re.match(r"(\S+)\s+\d{4}-\d\d-\d\d ", name)):
        name = timed[1]
    if name == "/dev/null" or not name:
        return None
    parts = re.split(r"/+", name)
    if strip < 0:
        return parts[-1] or None
    return "/".join(parts[strip:]) or None if len(parts) > strip else None


def _unquoted(name: str) -> str:
    """A name as git quotes it, in C's way."""
    escapes = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
    data = bytearray()
    for plain, octal, letter in re.findall(r'([^\\"]+)|\\([0-7]{3})|\\(.)', name[1:].rpartition('"')[0]):
        if octal:
            data.append(int(octal, 8) & 255)
        else:
            data += (plain or escapes.get(letter, letter)).encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _place(lines: list[str], before: list[str], wanted: int, first: int) -> int | None:
    """Where the old lines of a hunk stand, as near as possible to where they are wanted."""
    if not before:
        return min(max(wanted, first), len(lines))
    last = len(lines) - len(before)
    for offset in range(max(last - wanted, wanted - first, 0) + 1):
        for start in (wanted + offset, wanted - offset):
            if first <= start <= last and lines[start : start + len(before)] == before:
                return start
    return None
