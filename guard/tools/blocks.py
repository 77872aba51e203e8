"""dd: blocks of a file over those of another. https://www.gnu.org/software/coreutils/dd"""

from __future__ import annotations

from guard.effects import EDIT, OVERWRITE, At, Pattern, Text, join
from guard.overlay import DIRECTORY, FILE
from guard.tools.changes import Changes, encoded, incoming, said
from guard.tools.reading import UnknownOutputError, one
from guard.tools.write import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call


def dd(call: Call) -> Analysis:
    """dd: of= is emptied first unless conv=notrunc or a seek keeps its beginning. https://www.gnu.org/software/coreutils/dd"""
    changes = Changes(call)
    given = dict(_settings(call.argv[1:]))
    place = given.get("of")
    source = given.get("if")
    if place is None:
        return _filtered(changes, source, given)
    origin = changes.opened(source) if source is not None else None
    if isinstance(source, str) and isinstance(origin, At) and changes.view.kind(origin.path) in (None, DIRECTORY):
        return changes.result(status=1)  # the input is opened first
    target = changes.opened(place)
    flags = _flags(given.get("conv")) | _flags(given.get("oflag"))
    if "excl" in flags and isinstance(target, At) and changes.kind(target) is not None:
        return changes.result(status=1)
    if "nocreat" in flags and isinstance(target, At) and changes.kind(target) is None:
        return changes.result(status=1)
    content, path = _copied(changes, source, origin, given)
    _write_block(changes, place, given, flags, content, path)
    return changes.result()._replace(status=None)


def _filtered(changes: Changes, source: Text | None, given: dict[str, Text]) -> Analysis:
    """dd without of=: its input, or the blocks of it that were asked for, on standard output."""
    shrug = changes.result(said("dd", True))._replace(status=None)
    sizes = {name: number(given.get(name, "512")) for name in ("bs", "ibs")}
    block = sizes["bs"] if "bs" in given else sizes["ibs"]
    skip, count = (number(given.get(name, "0")) for name in ("skip", "count"))
    flags = _flags(given.get("iflag")) - {"fullblock"}
    if _flags(given.get("conv")) or flags or set(given) & {"iseek"} or not block or skip is None or count is None:
        return shrug
    try:
        text = one(changes.call, "-" if source is None else source)
    except UnknownOutputError:
        return shrug
    if text is None:
        return changes.result(status=1)
    data = encoded(text)[skip * block :]
    return changes.result((data[: count * block] if "count" in given else data).decode("utf-8", "surrogateescape"), status=0)


def _settings(words: tuple[Text, ...]) -> list[tuple[str, Text]]:
    found = []
    for word in words:
        start = word if isinstance(word, str) else word.prefix
        name, equals, _ = start.partition("=")
        if equals:
            rest = start[len(name) + 1 :]
            found.append((name, rest if isinstance(word, str) else join(rest, *(Pattern(word.pieces[1:]),))))
    return found


def _flags(value: Text | None) -> frozenset[str]:
    return frozenset(value.split(",")) if isinstance(value, str) else frozenset()


def _copied(changes: Changes, source: Text | None, origin: object, given: dict[str, Text]) -> tuple[bytes | None, str | None]:
    """Content and source of what dd writes."""
    changed = {"count", "skip", "iseek"} & set(given) or _flags(given.get("conv")) - {
        "notrunc",
        "fsync",
        "fdatasync",
        "nocreat",
        "excl",
    }
    if changed:
        return b"" if source == "/dev/null" or given.get("count") == "0" else None, None
    if source is None:
        return incoming(changes.call), None
    if isinstance(source, str) and not isinstance(origin, At):
        return changes.arriving(source)
    if isinstance(origin, At):
        return (
            (b"", None)
            if origin.path == "/dev/null"
            else changes.arriving(origin.path)
            if changes.kind(origin) == FILE
            else (None, None)
        )
    return None, None


def _write_block(
    changes: Changes, place: Text, given: dict[str, Text], flags: frozenset[str], content: bytes | None, path: str | None
) -> None:
    target = changes.opened(place)
    keeps = "append" in flags or given.get("seek", "0") not in ("0", "0B") or given.get("oseek", "0") != "0"
    if "notrunc" not in flags and not keeps:
        if not changes.write(target, content, path):
            changes.fail()
        return
    old = changes.view.read(target.path) if isinstance(target, At) and changes.kind(target) == FILE else None
    if content == b"" and "notrunc" in flags:
        return
    new = None
    if old is not None and content is not None and "notrunc" in flags and not keeps:
        new = content + old[len(content) :]
    elif old is not None and content is not None and "append" in flags and "notrunc" in flags:
        new = old + content
    # Without notrunc a seek cuts the file off there: what is kept is not told, so it counts as overwritten.
    cuts = "notrunc" not in flags or (new is None and not keeps)
    changes.write(target, new, action=OVERWRITE if cuts or new is not None else EDIT)
