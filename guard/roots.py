"""Roots: which directories have a policy of their own, found by looking at the tree."""

from __future__ import annotations

import os
import stat

from guard import expressions as re
from guard.paths import below, child, name, parent, physical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from guard.world import World

CONFIG = "guard.toml"
PROJECT = "pyproject.toml"
POLICIES = "policy"  # the subdirectory of the state directory with the compiled policies
REGISTER = "roots"  # the file in the state directory that names the registered roots, one a line
SEARCHED = 100  # directories looked into for a guard.toml below a directory that goes as a whole
LARGE = 1 << 20  # bytes of a directory; a larger one is full of files, and is not looked through for a guard.toml

# A [tool.guard] table under any of TOML's spellings; what only looks like one is found out by parsing.
_TABLE = rb"^[ \t]*(?:\[\[?[ \t]*)?[\"']?tool[\"']?[ \t]*(?:\]|\.[ \t]*[\"']?guard\b|=)"


def enclosing(directory: str, home: str, tree: World) -> list[str]:
    """The roots that a physical directory lies in, nearest first. / and the home directory only where configured there."""
    found = []
    above = directory
    while above.startswith("/"):
        if (above not in ("/", home) and tree.lstat(child(above, ".git")) is not None) or configured(above, tree):
            found.append(above)
        if above == "/":
            break
        above = parent(above)
    return found


def configured(directory: str, tree: World) -> bool:
    """True when a directory has a configuration file of its own, readable or not."""
    if tree.lstat(child(directory, CONFIG)) is not None:
        return True
    path = child(directory, PROJECT)
    text = tree.read(path) if tree.lstat(path) is not None else None
    return text is not None and may_have_table(text)


def may_have_table(text: bytes | None) -> bool:
    """Could a pyproject.toml hold a [tool.guard] table? Says yes where in doubt, as for a file that cannot be read."""
    return text is None or (b"guard" in text and re.search(_TABLE, text, re.MULTILINE) is not None)


def main_worktree(root: str, tree: World) -> str | None:
    """The main worktree's directory, when the root is a linked worktree."""
    git_dir = _pointer(child(root, ".git"), b"gitdir:", tree)
    if git_dir is None:
        return None
    common = tree.read(child(git_dir, "commondir"))
    if not common:
        return None
    path = physical(tree, _absolute(_line(common), git_dir))
    return parent(path) if name(path) == ".git" and parent(path) != root else None


def folds(root: str, tree: World) -> bool:
    """Do names in a root ignore case? Looks whether a name with the case swapped leads to the same file."""
    for path in (root, child(root, ".git"), child(root, CONFIG), child(root, "CLAUDE.md"), child(root, "AGENTS.md")):
        last = name(path) if path != "/" else ""
        found = tree.lstat(path) if last.swapcase() != last else None
        if found is not None:
            other = tree.lstat(child(parent(path), last.swapcase()))
            return other is not None and (other.st_dev, other.st_ino) == (found.st_dev, found.st_ino)
    return False


def aliases(root: str, literals: Iterable[str], tree: World) -> Iterator[tuple[str, str]]:
    """Where the symbolic links among anchored paths of a root lead, as (physical path, relative path).

    A link to a directory that holds the root itself would make everything protected, and is left alone.
    """
    linked: dict[str, bool] = {}
    for literal in dict.fromkeys(literals):
        parts = literal.split("/") if literal else []
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            if part not in linked:
                linked[part] = tree.readlink(child(root, part)) is not None
            if linked[part]:
                target = physical(tree, child(root, literal))
                if not below(root, target):
                    yield target, literal
                break


def nested(top: str, tree: World) -> Iterator[str]:
    """Directories with a guard.toml one and two levels below a directory, as far as a short look finds them."""
    level = [top]
    left = SEARCHED
    for _ in range(2):
        level = [child(above, entry) for above in level for entry in _directories(above, tree)][:left]
        left -= len(level)
        for directory in level:
            if tree.lstat(child(directory, CONFIG)) is not None:
                yield directory


def clones(directory: str, temporary: Iterable[str], tree: World) -> Iterator[str]:
    """The repositories that stand in a directory which lies in no root itself: whoever starts above them works on them.

    What stands in a temporary directory is scratch.
    """
    for entry in _directories(directory, tree):
        if is_clone(child(directory, entry), temporary, tree):
            yield child(directory, entry)


def is_clone(directory: str, temporary: Iterable[str], tree: World) -> bool:
    """True for the top directory of a repository that is no scratch copy."""
    found = tree.lstat(child(directory, ".git"))
    return found is not None and stat.S_ISDIR(found.st_mode) and not any(below(directory, path) for path in temporary)


def registered(state: str | None, tree: World) -> tuple[str, ...]:
    """The roots that init, exec and the loop have recorded in the state directory."""
    text = tree.read(child(state, REGISTER)) if state else None
    if not text:
        return ()
    return tuple(path for line in text.split(b"\n") if (path := _unquoted(line)).startswith("/"))


def register(state: str, root: str) -> None:
    """Records a root (physical) in the state directory, once. Raises OSError where that cannot be written."""
    os.makedirs(state, mode=0o700, exist_ok=True)
    line = os.fsencode(root).replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
    fd = os.open(child(state, REGISTER), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        text = b""
        while chunk := os.read(fd, 1 << 16):
            text += chunk
        if line not in text.split(b"\n"):
            os.write(fd, (b"" if not text or text.endswith(b"\n") else b"\n") + line + b"\n")
    finally:
        os.close(fd)


def _directories(path: str, tree: World) -> Iterator[str]:
    here = tree.lstat(path)
    if here is None or not stat.S_ISDIR(here.st_mode) or here.st_size > LARGE:
        return
    for entry, kind in (tree.scan(path) or [])[:SEARCHED]:
        if kind == "directory" and entry not in (".git", "node_modules"):
            yield entry


def _pointer(path: str, key: bytes, tree: World) -> str | None:
    """Where a .git file points to."""
    found = tree.lstat(path)
    text = tree.read(path) if found is not None and stat.S_ISREG(found.st_mode) and found.st_size < 1 << 16 else None
    if not text or not text.startswith(key):
        return None
    return _absolute(_line(text[len(key) :]), parent(path))


def _line(text: bytes) -> str:
    return os.fsdecode(text.strip(b" \t").rstrip(b"\r\n"))


def _absolute(path: str, base: str) -> str:
    return path if path.startswith("/") else f"{base}/{path}"


def _unquoted(line: bytes) -> str:
    return os.fsdecode(re.sub(rb"\\(.)", lambda found: b"\n" if found[1] == b"n" else found[1], line))
