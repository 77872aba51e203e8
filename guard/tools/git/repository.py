"""Where a git command works: the repository it finds, its work tree, and where in it the command stands."""

from __future__ import annotations

from guard.effects import Pattern
from guard.paths import below, child, parent
from guard.tools.git.pathspec import Defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from guard.effects import Text
    from guard.overlay import View
    from guard.tools.call import Call
else:
    from guard.record import NamedTuple

_TRUE = ("true", "yes", "on", "1", "")


class Globals(NamedTuple):
    """The options in front of the subcommand. `call` stands in the directory that -C leads to."""

    call: Call
    rest: tuple[Text, ...]
    git_dir: Text | None
    work_tree: Text | None
    config: tuple[str, ...]
    pathspecs: Defaults
    bare: bool
    harmless: bool  # --help, --version and the like: nothing runs


class Repository(NamedTuple):
    """`top` is the work tree, None for a bare repository; `prefix` the directory the command stands in, relative to it.

    `prefix` is None where it stands outside the work tree. `common` is where refs and objects
    are (the main worktree's directory).
    """

    dir: str
    common: str
    top: str | None
    prefix: str | None
    index_file: str


_VALUES = {
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
}
_HARMLESS = {"--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path"}


def globals_of(call: Call) -> Globals:
    """Reads git's own options up to the subcommand."""
    rest = list(call.argv[1:])[::-1]
    git_dir: Text | None = call.env.get("GIT_DIR") or None
    work_tree: Text | None = call.env.get("GIT_WORK_TREE") or None
    flags = {name for name in ("literal", "glob", "noglob", "icase") if _on(call.env.get(f"GIT_{name.upper()}_PATHSPECS"))}
    config: list[str] = []
    bare = harmless = False
    while rest and isinstance(rest[-1], str) and rest[-1].startswith("-"):
        word = rest.pop()
        name, equals, attached = str(word).partition("=")
        value: Text = attached
        if name in _VALUES and not equals and (name != "--exec-path"):
            value = rest.pop() if rest else ""
        if name == "-C":
            call = call._replace(cwd=call.path(value)) if value != "" else call
        elif name == "-c":
            config.append(str(value))
        elif name == "--config-env":
            setting, _, variable = str(value).partition("=")
            config.append(f"{setting}={call.env.get(variable, '')}")
        elif name == "--git-dir":
            git_dir = value
        elif name == "--work-tree":
            work_tree = value
        elif name == "--bare":
            bare = True
        elif name.endswith("-pathspecs"):
            flags.add(name[2:].removesuffix("-pathspecs"))
        harmless |= name in _HARMLESS or (name == "--exec-path" and not equals)
    pathspecs = Defaults("literal" in flags, "glob" in flags, "noglob" in flags, "icase" in flags)
    return Globals(call, tuple(rest[::-1]), git_dir, work_tree, tuple(config), pathspecs, bare, harmless)


def _on(value: Text | None) -> bool:
    return isinstance(value, str) and value.lower() in _TRUE[:-1]


def find(given: Globals) -> Repository | None:
    """The repository that git would find, None where there is none or the way to it is not known."""
    call = given.call
    here = call.where(".")
    if here is None or isinstance(given.git_dir, Pattern) or isinstance(given.work_tree, Pattern):
        return None
    view = call.view
    if given.git_dir is not None:
        directory = call.where(given.git_dir)
        directory = _linked(view, directory) if directory is not None else None
        top: str | None = here
    elif given.bare:
        directory, top = here, None
    else:
        directory, top = _search(view, here)
    if directory is None or not _is_repository(view, directory):
        return None
    return _complete(given, here, directory, top)


def _complete(given: Globals, here: str, directory: str, top: str | None) -> Repository | None:
    view = given.call.view
    common = _common(view, directory)
    explicit = given.work_tree
    if explicit is not None:
        top = given.call.where(explicit)
    else:
        bare, work_tree = _core(view, common)
        if work_tree is not None:
            top = view.through(work_tree if work_tree.startswith("/") else child(directory, work_tree))
        elif given.bare or (bare and directory == common) or (given.git_dir is None and below(here, directory)):
            top = None
    prefix = None
    if top is not None and below(here, top):
        prefix = here[len(top) :].strip("/")
    index = given.call.env.get("GIT_INDEX_FILE")
    index_path = given.call.where(index) if index else None
    return Repository(directory, common, top, prefix, index_path or child(directory, "index"))


def _search(view: View, here: str) -> tuple[str | None, str | None]:
    place = here
    while True:
        dot = child(place, ".git")
        kind = view.kind(dot)
        if kind is not None:
            directory = _linked(view, view.through(dot))
            if directory is not None and _is_repository(view, directory):
                return directory, place
        if _is_repository(view, place):
            return place, place
        if place == "/":
            return None, None
        place = parent(place)


def _linked(view: View, path: str) -> str | None:
    """The directory that a .git file leads to; the path itself where it is a directory."""
    if view.kind(path) != "file":
        return path
    text = (view.read(path) or b"").decode("utf-8", "surrogateescape")
    if not text.startswith("gitdir:"):
        return None
    to = text[len("gitdir:") :].strip("\n ")
    return view.through(to if to.startswith("/") else child(parent(path), to))


def _is_repository(view: View, directory: str) -> bool:
    if view.notes.get(f"git:{directory}") is not None and view.kind(directory) == "directory":
        return True
    if view.kind(child(directory, "HEAD")) is None:
        return False
    common = _common(view, directory)
    return view.is_dir(child(common, "objects")) and view.is_dir(child(common, "refs"))


def _common(view: View, directory: str) -> str:
    pointer = view.read(child(directory, "commondir"))
    if pointer is None:
        return directory
    to = pointer.decode("utf-8", "surrogateescape").strip("\n")
    return view.through(to if to.startswith("/") else child(directory, to))


def _core(view: View, directory: str) -> tuple[bool, str | None]:
    """core.bare and core.worktree of the repository's own configuration file."""
    text = (view.read(child(directory, "config")) or b"").decode("utf-8", "surrogateescape")
    bare, work_tree, section = False, None, ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            section = stripped.partition("]")[0].strip("[ ").lower()
        name, equals, value = stripped.partition("=")
        if section != "core":
            continue
        if name.strip().lower() == "bare":
            bare = (value.strip().lower() if equals else "true") in _TRUE
        if name.strip().lower() == "worktree":
            work_tree = value.strip().strip('"')
    return bare, work_tree
