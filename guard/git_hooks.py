"""The native hooks of git: installed beside what stands there, which still runs and comes back byte for byte."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from guard import pre_commit, project, runtime, shims
from guard.agents import launchers
from guard.commits.git import Git
from guard.errors import STATE, GuardError
from guard.findings import ABSENT, FINE, OFF, Finding
from guard.paths import below
from guard.quoting import posix

NAMES = (
    "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "pre-applypatch", "pre-rebase", "pre-push",
    "post-checkout", "post-merge", "post-rewrite",
)  # fmt: skip
SCRIPT = "pre-commit"  # the name under which the one text is shipped
MARK = b"# guard's git hook:"
BEFORE = ".before-guard"  # what stood there
LEGACY = ".legacy"  # what pre-commit's own installation found there, and runs
COMMAND = b"guard_command="
LEFTHOOK = tuple(f"{dot}lefthook.{ending}" for dot in ("", ".") for ending in ("yml", "yaml", "toml", "json"))
READ_LIMIT = 1 << 20  # bytes of a hook that are looked at


@dataclass(frozen=True)
class Place:
    """The directory that git takes hooks from, in the repository at `top`; `given` is core.hooksPath, "" without."""

    top: str
    common: str
    directory: str
    given: str

    def path(self, name: str) -> str:
        """Where a hook of this name stands."""
        return f"{self.directory}/{name}"


def planned(root: str, environ: Mapping[str, str]) -> list[str]:
    """The paths that install() would write. Raises GuardError where something is in the way, as that does."""
    at = _checked(root, environ)
    home = project.data_dir(environ)
    content = script(f"{home}/{launchers.GUARD}" if home is not None else "")
    return [at.path(name) for name in NAMES if not _stands(at, name, content)]


def installed(root: str, environ: Mapping[str, str]) -> list[str]:
    """The paths of guard's hooks in the repository at `root`; none where it is no repository."""
    try:
        at = place(root, environ)
    except GuardError:
        return []
    return [at.path(name) for name in NAMES if _ours(at, name)]


def install(root: str, environ: Mapping[str, str]) -> list[str]:
    """Installs or renews the hooks of the repository at `root`; gives the paths that were written.

    Raises GuardError, and changes nothing, where something is in the way, or another program manages the hooks.
    """
    at = _checked(root, environ)
    command = _launcher(environ)
    content = script(command)
    undo: list[Callable[[], None]] = []
    written = []
    try:
        _make_directory(at.directory, undo)
        for name in NAMES:
            if _stands(at, name, content):
                continue
            _put(at.path(name), content, undo)
            written.append(at.path(name))
    except OSError as error:
        for step in reversed(undo):
            with suppress(OSError):
                step()
        raise _unwritable(error, at.directory) from error
    return written


def uninstall(root: str, environ: Mapping[str, str]) -> list[str]:
    """Takes guard's hooks out and puts back what stood there; gives the paths. Raises GuardError."""
    at = place(root, environ)
    done = []
    try:
        for name in NAMES:
            for path in (at.path(name), at.path(name) + LEGACY):
                if MARK not in _content(path):
                    continue
                before = at.path(name) + BEFORE
                os.rename(before, path) if os.path.lexists(before) else os.unlink(path)
                done.append(path)
    except OSError as error:
        raise _unwritable(error, at.directory) from error
    return done


def findings(root: str, environ: Mapping[str, str]) -> list[Finding]:
    """How the hooks of the repository at `root` stand; nothing where it is none."""
    try:
        at = place(root, environ)
    except GuardError:
        return []
    return list(_findings(at))


def place(root: str, environ: Mapping[str, str]) -> Place:
    """Where the hooks of a repository are. Raises GuardError where there is none."""
    git = Git(root, {name: value for name, value in environ.items() if not name.startswith("GIT_")})
    directory, given = git.hooks()
    return Place(git.top(), git.common(), directory, given)


def _checked(root: str, environ: Mapping[str, str]) -> Place:
    """Where the hooks are, when nothing is in the way there."""
    at = place(root, environ)
    _check_manager(at)
    _check_directory(at)
    for name in NAMES:
        _check_name(at, name)
    return at


def script(command: str) -> bytes:
    """The text of a hook that runs `command` (absolute), or pathguard from PATH where that is gone."""
    text = launchers.data(SCRIPT)
    shell = os.fsencode(f"#!{shims.launcher_shell()}\n")
    lines = text.split(b"\n")
    lines[lines.index(COMMAND)] = COMMAND + os.fsencode(posix(command) if command else "")
    return shell + b"\n".join(lines[1:])


def _launcher(environ: Mapping[str, str]) -> str:
    """guard's own launcher outside of every virtual environment, made where it is missing; "" where there is no place for it."""
    home = project.data_dir(environ)
    if home is None:
        return ""
    try:
        os.makedirs(f"{home}/bin", mode=0o700, exist_ok=True)
        with shims.locked(home):
            runtime.ensure(home)
            shims.put(f"{home}/{launchers.GUARD}", runtime.launcher(home, shims.launcher_shell(), "guard init"))
    except OSError as error:
        raise _unwritable(error, home) from error
    return f"{home}/{launchers.GUARD}"


def _check_manager(at: Place) -> None:
    """Refuses where another program writes the hooks anew whenever it likes, and says how to call guard from there."""
    calls = 'pathguard git-hook NAME "$@"'
    parts = at.given.rstrip("/").split("/")
    if ".husky" in parts[-2:]:
        raise GuardError(
            "husky manages the hooks of this repository",
            at.directory,
            f"add the line {calls} to .husky/NAME, for NAME in {' '.join(NAMES)}",
        )
    config = next((name for name in LEFTHOOK if os.path.lexists(f"{at.top}/{name}")), "")
    if config and any(b"lefthook" in _content(at.path(name)) for name in NAMES):
        raise GuardError(
            "lefthook manages the hooks of this repository",
            f"{at.top}/{config}",
            "add jobs there with run: pathguard git-hook pre-commit; pathguard git-hook commit-msg {1}; "
            "pathguard git-hook pre-push {1} {2} (with use_stdin: true)",
        )


def _check_directory(at: Place) -> None:
    real = os.path.realpath(at.directory)
    if real == "/dev/null":
        raise GuardError("hooks are switched off", f"core.hooksPath {at.given}", "git config --unset core.hooksPath")
    if not below(real, at.top) and not below(real, at.common):
        raise GuardError(
            "this directory of hooks does not belong to the repository, and others may use it, too",
            at.directory,
            'have the hooks there call pathguard git-hook NAME "$@", or give the repository its own: '
            "git config core.hooksPath .git/hooks",
        )
    if os.path.lexists(at.directory) and not os.path.isdir(real):
        raise GuardError("it should be a directory of hooks, and is none", at.directory, "move it out of the way")
    above = real
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.access(above, os.W_OK | os.X_OK):
        raise GuardError("hooks cannot be written there", above, "make it writable", STATE)


def _check_name(at: Place, name: str) -> None:
    path = at.path(name)
    if not os.path.lexists(path) or _ours(at, name):
        return
    if os.path.isdir(path):
        raise GuardError("it should be a hook, and is a directory", path, "move it out of the way")
    if os.path.lexists(path + BEFORE):
        raise GuardError(
            f"another hook has taken the place of guard's, and {name}{BEFORE} is still there",
            path,
            "keep one of the two under its name, and remove the other",
        )


def _ours(at: Place, name: str) -> bool:
    """Does guard's hook stand there, or does pre-commit's, which runs it?"""
    content = _content(at.path(name))
    return MARK in content or (b"pre-commit" in content and MARK in _content(at.path(name) + LEGACY))


def _stands(at: Place, name: str, content: bytes) -> bool:
    """Is this very text there already, and can it run? What pre-commit has moved is left where it runs it."""
    path = at.path(name)
    if MARK not in _content(path):
        return _ours(at, name)
    return _content(path) == content and os.access(path, os.X_OK) and not os.path.islink(path)


def _make_directory(directory: str, undo: list[Callable[[], None]]) -> None:
    if not os.path.isdir(directory):
        os.makedirs(directory)
        undo.append(lambda: os.rmdir(directory))


def _put(path: str, content: bytes, undo: list[Callable[[], None]]) -> None:
    """Writes a hook. What stands there stays under another name; at no moment is there none."""
    before = path + BEFORE
    new = f"{path}.new-guard.{os.getpid()}"
    old = _content(path) if os.path.lexists(path) else None
    try:
        _write(new, content)
        if old is None:
            undo.append(lambda: os.unlink(path))
        elif MARK not in old:
            _keep(path, before)
            undo.append(lambda: os.rename(before, path))
        os.rename(new, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new)


def _keep(path: str, before: str) -> None:
    """Gives a file, or a link, a second name; where the file system knows no hard links, the other name alone."""
    try:
        os.link(path, before, follow_symlinks=False)
    except (OSError, NotImplementedError):
        os.rename(path, before)


def _write(path: str, content: bytes) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        os.fchmod(fd, 0o755)
        file.flush()
        os.fsync(fd)


def _findings(at: Place) -> Iterator[Finding]:
    own = [name for name in NAMES if _ours(at, name)]
    repair = "guard init --git-hooks"
    framed = pre_commit.stages(os.fsdecode(_content(f"{at.top}/{pre_commit.CONFIG}")))
    if framed and not own:
        yield _framed(at, framed)
        return
    if not own:
        aside = [name for name in NAMES if MARK in _content(f"{at.common}/hooks/{name}")]
        if aside and at.given:
            why = f"git takes hooks from {at.given} (core.hooksPath), and guard's stand in {at.common}/hooks"
            yield Finding("git-hooks-unused", "guard's git hooks do not run", why, repair, OFF)
        elif any(b"git-hook" in _content(at.path(name)) and b"guard" in _content(at.path(name)) for name in NAMES):
            yield Finding("git-hooks-called", "hooks of git call guard", severity=FINE)
        else:
            yield Finding("git-hooks-absent", "no git hook of guard is installed", "commits are not judged", repair, ABSENT)
        return
    missing = [name for name in NAMES if name not in own]
    dead = [name for name in own if not os.access(at.path(name), os.X_OK)]
    if dead:
        yield Finding("git-hooks-not-executable", f"git leaves out {', '.join(dead)}", "it is not executable", repair, OFF)
    if missing:
        yield Finding("git-hooks-incomplete", f"hooks are missing: {', '.join(missing)}", "", repair, OFF)
    if not dead and not missing:
        yield Finding("git-hooks", "git's hooks run guard", severity=FINE)


def _framed(at: Place, stages: list[str]) -> Finding:
    """How pre-commit stands that has guard's hooks in its configuration."""
    left = [
        name for name in stages if pre_commit.INSTALLED not in _content(at.path(name)) or not os.access(at.path(name), os.X_OK)
    ]
    if not left:
        return Finding("git-hooks-pre-commit", "pre-commit runs guard", severity=FINE)
    repair = "pre-commit install " + " ".join(f"--hook-type {name}" for name in left)
    what = f"pre-commit does not run guard at {', '.join(left)}"
    return Finding("git-hooks-not-installed", what, f"{pre_commit.CONFIG} names it, but git's hooks are not there", repair, OFF)


def _content(path: str) -> bytes:
    """The beginning of a regular file, links followed; empty for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, READ_LIMIT) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)


def _unwritable(error: OSError, where: str) -> GuardError:
    return GuardError(f"it cannot be written ({error.strerror})", error.filename or where, "make it writable", STATE)
