"""Projects: which command runs a project's tests, told by the files at the top of its tree. Nothing of them is run."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable

LARGEST = 1 << 20  # bytes of a file that is read
_TARGET = re.compile(r"^(?:test|check)\s*:(?!=)", re.MULTILINE)
_NONE = "no test specified"  # what npm writes where there are none


def verify(top: str) -> str:
    """The command that runs the tests, "" where none can be told. What the project itself calls its tests comes first."""
    return next((command for told in TELLS if (command := told(top))), "")


def _make(top: str) -> str:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        found = _TARGET.search(_text(f"{top}/{name}"))
        if found:
            return f"make {found[0].partition(':')[0].strip()}"
    return ""


def _node(top: str) -> str:
    try:
        scripts = json.loads(_text(f"{top}/package.json") or "{}").get("scripts", {})
        script = scripts.get("test", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    if not isinstance(script, str) or not script or _NONE in script:
        return ""
    locks = {"pnpm-lock.yaml": "pnpm test", "yarn.lock": "yarn test", "bun.lock": "bun run test", "bun.lockb": "bun run test"}
    return next((command for lock, command in locks.items() if os.path.lexists(f"{top}/{lock}")), "npm test")


def _python(top: str) -> str:
    if os.path.isfile(f"{top}/pytest.ini") or _has_tests(top) or "[tool:pytest]" in _text(f"{top}/setup.cfg"):
        return "python3 -m pytest -q"
    try:
        tool = tomllib.loads(_text(f"{top}/pyproject.toml")).get("tool", {})
    except tomllib.TOMLDecodeError:
        return ""
    return "python3 -m pytest -q" if isinstance(tool, dict) and "pytest" in tool else ""


def _has_tests(top: str) -> bool:
    """Has it files that pytest takes for tests, where they usually are?"""
    for directory in (top, f"{top}/tests", f"{top}/test"):
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        if any(name == "conftest.py" or re.fullmatch(r"test_.*\.py|.*_test\.py", name) for name in names):
            return True
    return False


def _bats(top: str) -> str:
    for directory in ("test", "tests"):
        try:
            if any(name.endswith(".bats") for name in os.listdir(f"{top}/{directory}")):
                return f"bats {directory}"
        except OSError:
            continue
    return ""


def _with(name: str, command: str) -> Callable[[str], str]:
    return lambda top: command if os.path.isfile(f"{top}/{name}") else ""


TELLS: tuple[Callable[[str], str], ...] = (
    _make,
    _node,
    _python,
    _with("Cargo.toml", "cargo test"),
    _with("go.mod", "go test ./..."),
    _with("pom.xml", "mvn -q test"),
    _with("gradlew", "./gradlew test"),
    _bats,
)


def _text(path: str) -> str:
    """The text of a plain file, "" where there is none or it is too large."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError):
        return ""
    return data.decode("utf-8", "replace") if len(data) <= LARGEST else ""
