"""A settings file as a document that is edited in place: JSON, JSON with comments, TOML.

What is not edited keeps its bytes: comments, order, indentation, line ends, a byte order mark.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from guard.agents import json_edit, json_nodes
from guard.agents.wirings import JSONC, TOML
from guard.errors import GuardError

MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
LIMIT = 8 << 20  # bytes of a settings file

Path = json_nodes.Path

_HEADER = re.compile(r"[ \t]*\[(?P<array>\[)?(?P<name>[^\[\]]+)\]")


@dataclass(frozen=True)
class Document:
    """The text of a settings file, what it says, and how to write it. `path` is for errors only."""

    path: str
    format: str
    text: str
    value: Any
    mark: bool = False

    @property
    def data(self) -> bytes:
        """The content of the file."""
        return (MARK if self.mark else b"") + self.text.encode()

    def get(self, *path: str | int) -> Any:
        """The value that keys and indexes lead to, None where there is none."""
        found = self.value
        for step in path:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                return None
        return found

    def insert(self, path: Path, value: Any) -> Document:
        """The document with a key more, or an item more at the end of a list. The container has to be there."""
        expected = _inserted(self.value, path, value)
        text = (
            _toml_insert(self, path, value) if self.format == TOML else json_edit.insert(self.text, path, value, self._comments)
        )
        return self._checked(text, expected)

    def remove(self, path: Path) -> Document:
        """The document without what the path leads to."""
        expected = copy.deepcopy(self.value)
        container = expected
        for step in path[:-1]:
            container = container[step]
        del container[path[-1]]
        if self.format != TOML:
            return self._checked(json_edit.remove(self.text, path, self._comments), expected)
        with contextlib.suppress(GuardError):  # where hooks stand in tables of their own, which is nearly always so
            return self._checked(_without_tables(self.text, path), expected)
        return self._checked(_toml_remove(self, path), expected)

    def line(self, *path: str | int) -> int:
        """The line of a value, that of the nearest container where it is not there; 1 where that cannot be told."""
        if self.format == TOML:
            from guard.toml_lines import lines

            found = lines(self.text)
            return next((found[path[:end]] for end in range(len(path), 0, -1) if path[:end] in found), 1)
        document = json_nodes.parse(self.text, self._comments)
        nodes = [document.find(*path[:end]) for end in range(len(path), -1, -1)]
        return next(json_nodes.line_of(self.text, node) for node in nodes if node is not None)

    def error(self, what: str, *path: str | int) -> GuardError:
        """The error that something is wrong at a place of this file."""
        return GuardError(what, f"{self.path}:{self.line(*path)}", "mend it, then try again; nothing was changed")

    @property
    def _comments(self) -> bool:
        return self.format == JSONC

    def _checked(self, text: str, expected: Any) -> Document:
        """The document of an edited text. An edit that would change anything else is none."""
        edited = read(self.path, self.format, text.encode())
        if edited.value != expected:
            raise GuardError("it cannot be edited in place without changing something else", self.path, "edit it by hand")
        return Document(self.path, self.format, text, edited.value, self.mark)


def read(path: str, format: str, data: bytes) -> Document:
    """The document with this content; one without any text counts as an empty one.

    Raises GuardError with file and line where the client would not be able to read it either.
    """
    mark = data.startswith(MARK)
    text = _decoded(path, data.removeprefix(MARK))
    if format == TOML:
        return Document(path, format, text, _toml(path, text), mark)
    if not text.strip():
        text = "{}\n"
    try:
        value = json_nodes.parse(text, format == JSONC).value
    except json_nodes.NotJson as error:
        raise GuardError(
            f"it cannot be read: {error.what}", f"{path}:{error.line}:{error.column}", "mend it; nothing was changed"
        ) from error
    if not isinstance(value, dict):
        raise GuardError("it has to hold an object, { ... }", f"{path}:1", "mend it; nothing was changed")
    return Document(path, format, text, value, mark)


def _decoded(path: str, data: bytes) -> str:
    if len(data) > LIMIT:
        raise GuardError(f"it is larger than {LIMIT >> 20} MiB", path, "nothing was changed")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GuardError("it is not UTF-8", f"{path}:{line}", "save it as UTF-8; nothing was changed") from error


def _toml(path: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise GuardError(f"it is not TOML: {error}", path, "mend it; nothing was changed") from error


def _inserted(value: Any, path: Path, new: Any) -> Any:
    expected = copy.deepcopy(value)
    container = expected
    for step in path[:-1]:
        container = container[step]
    if isinstance(container, list):
        container.append(new)
    else:
        container[path[-1]] = new
    return expected


def _toml_insert(document: Document, path: Path, value: Any) -> str:
    """Tables are put at the end of the text, which is right wherever nothing of the same name stands in one line."""
    if path[0] == "hooks":
        keys = [step for step in path if isinstance(step, str)]
        return _with_tables(document.text, keys, value)
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if len(path) == 1 and isinstance(value, dict):
        return _appended(
            document.text, [f"[{_key(str(path[0]))}]", *(f"{_key(key)} = {_toml_value(v)}" for key, v in value.items())]
        )
    try:
        made = tomlkit.parse(document.text.replace("\r\n", "\n"))
        container: Any = made
        for step in path[:-1]:
            container = container[step]
        container[path[-1]] = value
        return _newlines(tomlkit.dumps(made), document.text)
    except (TOMLKitError, KeyError, TypeError) as error:
        raise GuardError(f"it cannot be edited in place ({error})", document.path, "edit it by hand") from error


def _with_tables(text: str, keys: list[str], value: Any) -> str:
    """The text with arrays of tables added: `value` is what stands below the keys: groups by event, groups, or one group."""
    if isinstance(value, dict) and len(keys) == 1:
        for event, groups in value.items():
            text = _with_tables(text, [*keys, event], groups)
        return text
    name = ".".join(map(_key, keys))
    lines = []
    for group in value if isinstance(value, list) else [value]:
        lines += [f"[[{name}]]", *(f"{_key(key)} = {_toml_value(inner)}" for key, inner in group.items() if key != "hooks")]
        for hook in group["hooks"]:
            lines += ["", f"[[{name}.hooks]]", *(f"{_key(key)} = {_toml_value(inner)}" for key, inner in hook.items())]
        lines.append("")
    return _appended(text, lines[:-1])


def _appended(text: str, lines: list[str]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + gap + newline.join(lines) + newline


def _without_tables(text: str, path: Path) -> str:
    """The text without the tables below a path. Comments behind a table stay: they belong to what follows."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    at: list[str | int] = []
    counts: dict[tuple[str | int, ...], int] = {}
    inside: list[str] = []
    for line in lines:
        header = _HEADER.match(line)
        if header is not None:
            kept += _behind(inside)
            inside = []
            at = _place(header["name"], bool(header["array"]), counts)
        if tuple(at[: len(path)]) == path:
            if not inside and kept and not kept[-1].strip():
                kept.pop()
            inside.append(line)
        else:
            kept.append(line)
    return "".join([*kept, *_behind(inside)])


def _place(name: str, array: bool, counts: dict[tuple[str | int, ...], int]) -> list[str | int]:
    """Where a table of this name stands: its keys, with the index of each array of tables on the way."""
    at: list[str | int] = []
    keys = [key.strip().strip("'\"") for key in name.split(".")]
    for number, key in enumerate(keys, 1):
        at.append(key)
        if array and number == len(keys):
            counts[tuple(at)] = counts.get(tuple(at), -1) + 1
        if tuple(at) in counts:
            at.append(counts[tuple(at)])
    return at


def _behind(table: list[str]) -> list[str]:
    """The comments and blank lines at the end of a table, as far as there are comments."""
    end = len(table)
    while end and (not table[end - 1].strip() or table[end - 1].lstrip().startswith("#")):
        end -= 1
    rest = table[end:]
    return rest if any(line.strip() for line in rest) else rest[:1]


def _toml_remove(document: Document, path: Path) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        made = tomlkit.parse(document.text.replace("\r\n", "\n"))
        container: Any = made
        for step in path[:-1]:
            container = container[step]
        del container[path[-1]]
        return _newlines(tomlkit.dumps(made), document.text)
    except (TOMLKitError, KeyError, TypeError, IndexError) as error:
        raise GuardError(f"it cannot be edited in place ({error})", document.path, "edit it by hand") from error


def _newlines(text: str, like: str) -> str:
    return text.replace("\n", "\r\n") if "\r\n" in like else text


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)


def _toml_value(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    text = json.dumps(str(value), ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
