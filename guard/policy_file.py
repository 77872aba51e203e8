"""The file that says what a project protects, edited in place: comments, order and spelling stay as they are."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Table

from guard import builtin_rules, config, granting, roots
from guard.errors import STATE, GuardError
from guard.matching import KEEP, LOCK, PRESENT, REWRITE
from guard.shown import visible

LISTS = (KEEP, LOCK, PRESENT, REWRITE)
HEADER = "# What must survive here. People edit this file, agents may not.       See the result: guard list\n"
_MAGIC = frozenset("*?[]\\")


@dataclass(frozen=True)
class PolicyFile:
    """A configuration file of a project: guard.toml, or pyproject.toml where the table [tool.guard] stands in that."""

    path: str
    text: str
    table: bool  # is it [tool.guard]?

    @property
    def prefix(self) -> str:
        """What stands in front of the names of tables."""
        return "tool.guard." if self.table else ""


def find(root: str) -> PolicyFile:
    """The file of a root; guard.toml with nothing in it where there is none. Raises GuardError where it cannot be read."""
    own, other = f"{root}/{roots.CONFIG}", f"{root}/{roots.PROJECT}"
    if not os.path.lexists(own):
        text = _read(other) if os.path.lexists(other) else ""
        if roots.may_have_table(text.encode()) and config.parse(other, text.encode()) is not None:
            return PolicyFile(os.path.realpath(other), text, True)
        return PolicyFile(own, "", False)
    text = _read(own)
    config.parse(own, text.encode())
    return PolicyFile(os.path.realpath(own), text, False)


def save(file: PolicyFile, text: str) -> None:
    """Replaces the file, as a whole, by a text that was checked. Raises GuardError, also where somebody else has changed it."""
    config.parse(file.path, text.encode())
    if os.path.lexists(file.path) and _read(file.path) != file.text:
        raise GuardError("somebody has changed it meanwhile", visible(file.path), "look at it, and try again")
    directory, _, name = file.path.rpartition("/")
    mode = os.stat(file.path).st_mode & 0o7777 if os.path.exists(file.path) else 0o666 & ~_umask()
    temporary = f"{directory}/.{name}.{granting.new_name()}"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as stream:
                stream.write(text.encode())
                stream.flush()
                os.fchmod(stream.fileno(), mode)
                os.fsync(stream.fileno())
            os.rename(temporary, file.path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise GuardError(f"it cannot be written ({error.strerror})", visible(file.path), code=STATE) from error


def exception(file: PolicyFile, command: str, paths: Iterable[str], reason: str, expires: str = "") -> str:
    """The table by which a command may harm what the patterns match."""
    rows = [f"[[{file.prefix}except]]", f"command = {_quoted(command)}"]
    rows += ["paths = [", *(f"    {_quoted(path)}," for path in paths), "]"]
    rows += [f"reason = {_quoted(reason)}", *([f"expires = {expires}"] if expires else [])]
    return "\n".join(rows) + "\n"


def with_exception(file: PolicyFile, table: str) -> str:
    """The text with a table added at its end. Raises GuardError where the file is written so that nothing can be added."""
    text = _started(file.text)
    text += ("" if text.endswith("\n\n") or not text else "\n") + table
    try:
        config.parse(file.path, text.encode())
    except GuardError as error:
        raise GuardError(
            "a table cannot be added to it as it is written", visible(file.path), f"add it by hand:\n\n{table}"
        ) from error
    return text


def with_patterns(file: PolicyFile, name: str, patterns: Iterable[str]) -> str:
    """The text with patterns added at the end of a list. What the list had, or stood for, it still has."""
    document, protect = _protect(file)
    array = _array(protect, name)
    for pattern in patterns:
        if pattern in array:
            array.remove(pattern)  # the last match wins: it has to stand behind what speaks against it
        _append(array, pattern)
    return _dumped(document, file)


def without_patterns(file: PolicyFile, name: str, patterns: Iterable[str]) -> str:
    """The text without these patterns in a list."""
    document, protect = _protect(file)
    array = _array(protect, name)
    for pattern in patterns:
        while pattern in array:
            array.remove(pattern)
    return _dumped(document, file)


def written(file: PolicyFile, name: str) -> list[str]:
    """The patterns that the file itself has in a list."""
    found = config.parse(file.path, file.text.encode()) if file.text else None
    return [glob.text for glob in found.protect.get(name, ())] if found is not None else []


def patterns(file: PolicyFile, name: str) -> list[str]:
    """The patterns of a list that are in force: built-in ones first, where they stand before the file's or for them."""
    found = config.parse(file.path, file.text.encode()) if file.text else None
    builtin = found is None or found.builtin or (found.builtin is None and name not in found.protect)
    return [*(builtin_rules.LISTS.get(name, ()) if builtin else ()), *written(file, name)]


def pattern_for(relative: str, directory: bool) -> str:
    """The pattern that matches one path of a project, and below it where that is a directory, and nothing else."""
    plain = "".join("\\" + character if character in _MAGIC else character for character in relative)
    if plain.endswith(" "):
        plain = plain[:-1] + "\\ "
    return f"/{plain}/" if directory else f"/{plain}"


def _protect(file: PolicyFile) -> tuple[tomlkit.TOMLDocument, Table]:
    """The document and its table [protect], made where there is none."""
    try:
        document = tomlkit.parse(_started(file.text))
        values: Any = document
        top = values["tool"]["guard"] if file.table else values
        if "protect" not in top:
            protect = tomlkit.table()
            top["protect"] = protect
        found: Any = top["protect"]
    except (TOMLKitError, KeyError, TypeError) as error:
        raise GuardError("it cannot be edited as it is written", visible(file.path), "edit it by hand") from error
    return document, found


def _array(protect: Table, name: str) -> Array:
    """A list of the table; one that is not there is made with what stood for it."""
    found: Any = protect.get(name)
    if found is not None:
        return cast(Array, found)
    array = tomlkit.array()
    array.multiline(True)
    given = [key for key in LISTS if key in protect]
    if protect.get("builtin") is None and not given:
        protect["builtin"] = True
    elif protect.get("builtin") is None:
        for glob in builtin_rules.LISTS.get(name, ()):
            array.append(glob)
    protect[name] = array
    return cast(Array, protect[name])


def _append(array: Array, pattern: str) -> None:
    if "\n" in array.as_string():
        array.add_line(pattern, indent=_indent(array), newline=True)
    else:
        array.append(pattern)


def _indent(array: Array) -> str:
    lines = [line for line in array.as_string().split("\n")[1:] if line.strip() and line.strip() != "]"]
    return lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())] if lines else "    "


def _dumped(document: tomlkit.TOMLDocument, file: PolicyFile) -> str:
    text = tomlkit.dumps(document)
    try:
        tomllib.loads(text)
    except ValueError as error:
        raise GuardError("it cannot be edited as it is written", visible(file.path), "edit it by hand") from error
    return text


def _started(text: str) -> str:
    """The text to go on from, with a newline at its end; a new file says what it is for."""
    if not text.strip():
        return HEADER
    return text if text.endswith("\n") else text + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML. Raises GuardError for what is no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GuardError("it holds bytes that are no UTF-8, which a configuration file cannot", visible(text)) from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        raise GuardError(f"it cannot be read ({error.strerror})", visible(path)) from error
    except UnicodeDecodeError:
        raise GuardError("not UTF-8", visible(path), "save the file as UTF-8") from None


def _umask() -> int:
    found = os.umask(0o77)
    os.umask(found)
    return found
