"""Changes: the effects that one call of a tool gathers, each seen by the tool's later steps."""

from __future__ import annotations

import stat

from guard.effects import CREATE, DELETE, LINK, MOVE, OVERWRITE, At, Effect, Pattern, Somewhere, Target, Text, unknown
from guard.overlay import DIRECTORY, FILE, OTHER, SYMLINK
from guard.paths import below, parent
from guard.tools.call import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis, Unknown
    from guard.tools.call import Call
    from guard.tools.options import Options

LIMIT = 1500  # entries of trees that one call goes through one by one
STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/null", "/dev/fd/", "/proc/self/fd/")


class Changes:
    """What a tool does, step by step. `call` and `view` show the tree after the steps so far; `status` is 1 once one failed.

    `certain` is what the effects carry unless a step says otherwise: a tool clears it when it cannot tell its own options.
    """

    def __init__(self, call: Call) -> None:
        self._outside = call.view
        self.view = call.view.fork()
        self.call = call._replace(view=self.view)
        self.found: list[Effect | Unknown] = []
        self.status: int | None = 0
        self.certain = True
        self._visited = 0
        self._widened: set[str] = set()

    def widens(self, action: str, directory: str) -> bool:
        """Counts one more entry of a tree; beyond the limit anything below the directory may be hit, and the walk ends (True)."""
        self._visited += 1
        if self._visited > LIMIT and directory not in self._widened:
            self._widened.add(directory)
            self.add(action, Somewhere(directory), certain=False)
        return self._visited > LIMIT

    def add(
        self,
        action: str,
        target: Target,
        certain: bool = True,
        to: str | None = None,
        content: bytes | None = None,
        source: str | None = None,
    ) -> None:
        """Records one effect and makes it visible to the steps that follow."""
        effect = Effect(action, target, certain and self.certain, None, to, content, source)
        self.found.append(effect)
        self.view.apply(effect)

    def fail(self, status: int = 1) -> None:
        """Notes that a step failed."""
        self.status = status

    def make_dir(self, path: str) -> bool:
        """A new, empty directory; False where something stands already or the parent is no directory."""
        if self.view.kind(path) is not None or not self.view.is_dir(parent(path)):
            return False
        self.view.make_dir(path)
        if self._outside.kind(path) is None:  # else what stands there goes first, by an effect that is recorded later
            self._outside.make_dir(path)
        return True

    def make_dirs(self, path: str) -> bool:
        """A directory with all that is missing above it; True when it stands afterwards."""
        missing = []
        while not self.view.is_dir(path):
            if self.view.kind(path) is not None or path == "/":
                return False
            missing.append(path)
            path = parent(path)
        made = [self.make_dir(each) for each in reversed(missing)]
        return all(made)

    def refuses(self, options: Options) -> bool:
        """True when the tool stops at an option that it does not know. Options that are known in part make all uncertain."""
        if any(isinstance(word, Pattern) and word.prefix.startswith("-") for word in self.call.argv[1:]):
            self.certain = False
            self.status = None
            return False
        return bool(options.strange)

    def entry(self, operand: Text) -> Target | None:
        """Where unlink and rename of the operand work; None where the kernel finds no way to it."""
        return self.call.at(operand) if self._passable(operand) else None

    def opened(self, operand: Text) -> Target | None:
        """Where opening the operand leads; None where the kernel finds no way to it, and for the process's own streams."""
        if isinstance(operand, str) and operand.startswith(STREAMS):
            return None
        return self.call.through(operand) if self._passable(operand) else None

    def _passable(self, operand: Text) -> bool:
        if not isinstance(operand, str):
            return True
        if not operand or "\0" in operand:
            return False
        path = self.call.path(operand)
        if not isinstance(path, str) or "/." not in path:
            return True
        parts = path.split("/")
        return all(self.view.is_dir("/".join(parts[:i]) or "/") for i, part in enumerate(parts) if part in (".", ".."))

    def kind(self, target: Target | None) -> str | None:
        """What stands at an exact target, a last link not followed; None for nothing and for targets that are not exact."""
        return self.view.kind(target.path) if isinstance(target, At) else None

    def arriving(self, path: str) -> tuple[bytes | None, str | None]:
        """Content and source of an effect that copies the file at a path: only what is still true after the whole command ran."""
        if path.startswith(STREAMS):
            stdin = self.call.stdin
            known = path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") and isinstance(stdin, str)
            return (encoded(stdin) if known and isinstance(stdin, str) else b"" if path == "/dev/null" else None), None
        if self.view.touched(path):
            return self.view.read(path), None
        return None, path

    def write(
        self,
        target: Target | None,
        content: bytes | None = None,
        source: str | None = None,
        certain: bool = True,
        action: str = OVERWRITE,
    ) -> bool:
        """A new content for what an opened path leads to; False where it cannot be opened for writing."""
        if target is None:
            return True
        if not isinstance(target, At):
            self.add(action, target, certain, None, content, source)
            return True
        kind = self.kind(target)
        if kind in (DIRECTORY, SYMLINK):
            return False
        if kind == OTHER:
            self._device(target.path, certain)
        elif kind == FILE:
            self.add(action, target, certain, None, content, source)
        elif self.view.is_dir(parent(target.path)):
            self.add(CREATE, target, certain, None, content, source)
        else:
            return False
        return True

    def replace(self, target: Target, content: bytes | None = None, source: str | None = None, certain: bool = True) -> bool:
        """A new file takes the place of what stands at an entry, a link included; False over a directory."""
        if isinstance(target, At) and self.kind(target) in (SYMLINK, OTHER):
            self.add(OVERWRITE, target, certain, None, content, source)
            return True
        return self.write(target, content, source, certain)

    def link(self, target: Target, to: str, certain: bool = True) -> None:
        """A link at an entry, in the place of what was there."""
        self.add(LINK, target, certain, to)

    def delete(self, target: Target, certain: bool = True) -> None:
        """What stands at the target goes."""
        self.add(DELETE, target, certain)

    def move(self, target: Target, to: str | None, certain: bool = True) -> None:
        """What stands at the target goes to a physical path, None where that is not known."""
        self.add(MOVE, target, certain, to)

    def _device(self, path: str, certain: bool) -> None:
        """Writing to a disk takes every file of it: which ones is not known here."""
        found = self.view.lstat(path)
        if found is not None and stat.S_ISBLK(found.st_mode):
            self.add(OVERWRITE, Somewhere("/"), certain=False)

    def result(self, output: Text = "", status: int | None = None) -> Analysis:
        """The Analysis of all steps, with a status other than the gathered one where given."""
        return analysis(self.found, output, self.status if status is None else status)


def encoded(text: str) -> bytes:
    """The bytes of a text of the command."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def incoming(call: Call) -> bytes | None:
    """Standard input as bytes, None where it is not known."""
    return encoded(call.stdin) if isinstance(call.stdin, str) else None


def said(name: str, loud: bool) -> Text:
    """Standard output of a tool that reports what it did only when asked to."""
    return unknown("unknown-output", name) if loud else ""


def inner(path: str, directory: str) -> bool:
    """True when a path lies below a directory and is not the directory itself."""
    return path != directory and below(path, directory)
