"""The real git, as a hook asks it: in the directory and with the repository that the hook was called for, nothing run or written.

A hook runs inside git, so what git has set for it counts: GIT_DIR, GIT_INDEX_FILE (of `git commit -a` and `git commit PATH` not
the usual one), the object directories of a push that is still in quarantine.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself makes enumerations first
import os
import time

from guard.errors import FAULT, MISSING, GuardError
from guard.git_program import ENVIRONMENT, OPTIONS, real_git
from guard.paths import child, parent
from guard.world import Budget, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

PATIENCE = 120.0  # seconds for one question; nothing but the size of the repository makes one long
_CHUNK = 1 << 20
_PASSED = (
    "HOME", "XDG_CONFIG_HOME", "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_DEFAULT_HASH",
)  # fmt: skip
_SIGNALS = (_signal.SIGPIPE, _signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)


class Failed(Exception):
    """git ended with another status than 0, or not in time. The text is what it said."""


class Git:
    """Asks git in one directory."""

    def __init__(self, cwd: str, environ: Mapping[str, str]) -> None:
        program = real_git(World(environ, Budget(PATIENCE)), cwd)
        if program is None:
            raise GuardError("git is missing", todo="install it where hooks find it, in /usr/bin or on PATH", code=MISSING)
        self.cwd = cwd
        self._program = program
        self._environ = ENVIRONMENT | {name: environ[name] for name in _PASSED if name in environ}
        self._environ |= {name: value for name, value in environ.items() if name.startswith("GIT_CONFIG")}
        self._environ["GIT_NO_REPLACE_OBJECTS"] = "1"  # others get the objects as they are, not what stands for them here
        self._given = "GIT_DIR" in environ or "GIT_WORK_TREE" in environ

    def run(self, *words: str, data: bytes = b"") -> bytes:
        """What git writes, given `data` on standard input. Raises Failed."""
        return self.start(*words, data=data)()

    def start(self, *words: str, data: bytes = b"") -> Callable[[], bytes]:
        """Asks, and gives what waits for what run() gives, so that something else can be done meanwhile. Both raise Failed."""
        waiting = _started([self._program, *OPTIONS, "-C", self.cwd, *words], self._environ, data)

        def answer() -> bytes:
            status, output, said = waiting()
            if status:
                raise Failed(os.fsdecode(said).strip() or f"status {status}")
            return output

        return answer

    def line(self, *words: str) -> str:
        """The first line that git writes, "" where it fails."""
        try:
            return os.fsdecode(self.run(*words)).partition("\n")[0]
        except Failed:
            return ""

    def top(self) -> str:
        """The physical top of the work tree; of a bare repository its directory. Raises GuardError outside of any.

        A work tree that is given apart from its repository, and has none of its own, counts as the one beside the repository:
        the branch is that one's.
        """
        if not self._given and (found := _above(self.cwd)):
            return found
        top = self.line("rev-parse", "--show-toplevel")
        common = self.common() if self._given or not top else ""
        if common.endswith("/.git") and not (top and os.path.lexists(child(top, ".git"))):
            top = parent(common)
        if not top and self.line("rev-parse", "--is-bare-repository") == "true":
            top = self.line("rev-parse", "--absolute-git-dir")
        if not top:
            raise GuardError("this is no git repository, so there is nothing to judge", self.cwd)
        return os.path.realpath(top)

    def commit(self, revision: str) -> str:
        """The id of the commit that a revision names, "" where it names none that is here."""
        return self.line("rev-parse", "-q", "--verify", "--end-of-options", f"{revision}^{{commit}}")

    def hooks(self) -> tuple[str, str]:
        """The directory that git takes hooks from, and the setting core.hooksPath as it is written, "" where there is none.

        Raises GuardError where git takes this for no repository.
        """
        if not (common := self.common()):
            raise GuardError("git takes this for no repository", self.cwd, "see what is wrong: git status")
        argv = [self._program, "-C", self.cwd, "config", "--get", "core.hooksPath"]  # OPTIONS have their own
        status, output, _ = _started(argv, self._environ, b"")()
        given = os.fsdecode(output).rstrip("\n") if status == 0 else ""
        if given:
            return os.path.normpath(os.path.join(self.top(), os.path.expanduser(given))), given
        return f"{common}/hooks", ""

    def common(self) -> str:
        """The directory with what all worktrees share (physical); "" where git takes this for no repository."""
        found = self.line("rev-parse", "--git-common-dir")
        return os.path.realpath(os.path.join(self.cwd, found)) if found else ""

    def git_dir(self) -> str:
        """The repository's own directory, a linked worktree's own one."""
        plain = child(self.top(), ".git")
        given = self._given or not os.path.isdir(plain)
        return self.line("rev-parse", "--absolute-git-dir") or plain if given else plain

    def merge_heads(self) -> tuple[str, ...]:
        """The commits that are being merged into this one."""
        return tuple(os.fsdecode(_content(child(self.git_dir(), "MERGE_HEAD"))).split())

    def rebased(self) -> str:
        """The commit that a rebase which is just over has started from, "" where there is none."""
        directory = self.git_dir()
        found = (_content(f"{directory}/{name}/orig-head") for name in ("rebase-merge", "rebase-apply"))
        return next((os.fsdecode(text).strip() for text in found if text), "")

    def commit_msg_hook(self) -> bytes:
        """The hook that git will run with the message; empty where there is none that it can."""
        path = child(self.hooks()[0], "commit-msg")
        return _content(path) if os.access(path, os.X_OK) else b""

    def contents(self, names: Iterable[str]) -> Callable[[], dict[str, bytes]]:
        """Asks for the contents of blobs; gives what waits for them by their ids, those that are not here left out.

        Both raise Failed.
        """
        asked = [name for name in dict.fromkeys(names) if name.strip("0")]
        if not asked:
            return dict
        answer = self.start("cat-file", "--batch", data="".join(f"{name}\n" for name in asked).encode())
        return lambda: _blobs(asked, answer())


def _blobs(asked: Iterable[str], output: bytes) -> dict[str, bytes]:
    """The answers of `git cat-file --batch`, one after the other."""
    found, at = {}, 0
    for name in asked:
        end = output.index(b"\n", at)
        fields = output[at:end].split(b" ")
        at = end + 1
        if len(fields) == 3 and fields[2].isdigit():
            size = int(fields[2])
            found[name] = output[at : at + size]
            at += size + 1
    return found


def _content(path: str, limit: int = 1 << 16) -> bytes:
    """The beginning of a file, empty where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(limit)
    except OSError:
        return b""


def tail(path: str, limit: int = 1 << 16) -> bytes:
    """The end of a file from the beginning of a line on, empty where it cannot be read."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - limit))
            found = file.read(limit)
    except OSError:
        return b""
    return found if size <= limit else found.partition(b"\n")[2]


def _above(directory: str) -> str:
    """The nearest directory with a .git, physically; "" where there is none."""
    place = os.path.realpath(directory)
    while not os.path.lexists(child(place, ".git")):
        if place == "/":
            return ""
        place = parent(place)
    return place


def _started(argv: list[str], environ: Mapping[str, str], data: bytes) -> Callable[[], tuple[int, bytes, bytes]]:
    """Starts git; gives what waits for status, output and errors. Both raise Failed: it cannot be started, or takes too long."""
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for writing in (False, True, True):
            reader, writer = os.pipe2(os.O_CLOEXEC)
            ours.append(reader if writing else writer)
            theirs.append(writer if writing else reader)
        actions = [(os.POSIX_SPAWN_DUP2, each, at) for at, each in enumerate(theirs)]
        process = os.posix_spawn(argv[0], argv, environ, file_actions=actions, setsigdef=_SIGNALS, setsigmask=())
    except (OSError, ValueError) as error:
        for each in ours:
            os.close(each)
        raise Failed(f"git cannot be started ({error})") from error
    finally:
        for each in theirs:
            os.close(each)
    left = _begun(ours[0], data)

    def waited() -> tuple[int, bytes, bytes]:
        texts = _exchanged(ours, left, time.monotonic() + PATIENCE)
        if texts is None:
            os.kill(process, _signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if texts is None:
            raise Failed(f"git did not answer in {PATIENCE:.0f} seconds: {' '.join(argv[-6:])}")
        return status, texts[0], texts[1]

    return waited


def _begun(entry: int, data: bytes) -> memoryview:
    """Writes as much as can be written without waiting, so that git has something to do; gives the rest."""
    os.set_blocking(entry, False)
    before = _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
    try:
        return _written(entry, memoryview(data))[0]
    finally:
        _signal.signal(_signal.SIGPIPE, before)


def _exchanged(streams: list[int], left: memoryview, end: float) -> tuple[bytes, bytes] | None:
    """Writes what is `left` to the first stream and reads the others to their ends; None where time is up. Closes all."""
    import select  # while git is at work

    entry, *readers = streams
    parts: dict[int, list[bytes]] = {reader: [] for reader in readers}
    poll = select.poll()
    for stream in streams:
        poll.register(stream, select.POLLOUT if stream == entry else select.POLLIN)
    open_ = set(streams)
    before = _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
    try:
        while open_:
            ready = poll.poll(max(0.0, end - time.monotonic()) * 1000)
            if not ready:
                return None
            for stream, _ in ready:
                if stream == entry:
                    left, over = _written(entry, left)
                else:
                    part = os.read(stream, _CHUNK)
                    parts[stream].append(part)
                    over = not part
                if over:
                    poll.unregister(stream)
                    os.close(stream)
                    open_.discard(stream)
        return b"".join(parts[readers[0]]), b"".join(parts[readers[1]])
    finally:
        _signal.signal(_signal.SIGPIPE, before)
        for stream in open_:
            os.close(stream)


def _written(stream: int, left: memoryview) -> tuple[memoryview, bool]:
    """What is left to write, and whether that is over."""
    try:
        left = left[os.write(stream, left[: 1 << 15]) :] if left else left
    except BlockingIOError:
        return left, False
    except OSError:
        return left, True
    return left, not left


def fault(error: Failed, what: str) -> GuardError:
    """What to say where git cannot tell: the repository is damaged, or something in it is missing."""
    return GuardError(f"git cannot tell {what} ({error})", todo="mend the repository (git fsck)", code=FAULT)
