"""The policy in force where a command runs: its roots, their configuration, guard's own directories."""

from __future__ import annotations

import os

from guard import roots
from guard.builtin_rules import HOLD
from guard.builtin_rules import lists as builtin_lists
from guard.matching import LOCK, PATH, Matcher, Rule, RuleList, literals
from guard.paths import child, name, parent, physical, physical_parent
from guard.policy import Policy, Root, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from guard.world import World

SYSTEM = "/etc/guard"  # the administrator's configuration
RUNTIME = "/usr/local/lib/guard"  # what `guard install --system` puts down
TEMPORARY = ("/tmp", "/var/tmp")  # what stands below is scratch
SPOOL = "spool"  # the directory in the state that can be written in a sandbox, where the state itself cannot
ACCEPTED = "accepted"  # the directory in the state with the [tool.guard] tables that a person has accepted
SYSTEM_ACCEPTED = "/var/lib/guard/accepted"  # where they stand that root has accepted, one directory a user
OWN = "guard"  # the name of the guard directory in a base directory

_KINDS = {"STATE": ".local/state", "CONFIG": ".config", "DATA": ".local/share"}


def state_dir(environ: Mapping[str, str]) -> str | None:
    """Where guard keeps its state: the first directory that can be written, or has a spool that can; None where there is none."""
    candidates = _candidates("STATE", environ)
    runtime = f"/run/user/{os.getuid()}"
    if not os.path.isdir(environ.get("HOME", "")):
        candidates = [path for path in candidates if not path.startswith(environ.get("HOME") or "//")]
    if os.path.isdir(runtime):
        candidates.append(f"{runtime}/{OWN}")
    return next((path for path in candidates if _writable(path) or _spools(path)), None)


def vouched(state: str | None, runner: bool = False) -> bool:
    """Is this the state directory that the outermost agent or runner above was started with, or where none is, the account's?

    `runner` says that this process was started by who runs the commands; with none above that is known, its own word counts.
    """
    from guard import anchor

    above = anchor.agents()
    if above is None and runner:
        above = anchor.environment_of("self")
    return state is not None and any(_leads_to(each, state) for each in (anchor.accounts() if above is None else [above]))


def disowned(state: str | None) -> bool:
    """Was an agent or runner above started with another state directory, so that this one was chosen in a command?"""
    from guard import anchor

    above = anchor.agents() if state is not None else None
    return above is not None and not _leads_to(above, state or "")


def config_dir(environ: Mapping[str, str]) -> str | None:
    """Where the user's config.toml stands."""
    return next(iter(_candidates("CONFIG", environ)), None)


def data_dir(environ: Mapping[str, str]) -> str | None:
    """Where guard installs its runtime and shims for a user."""
    return next(iter(_candidates("DATA", environ)), None)


def own_dirs(environ: Mapping[str, str]) -> list[str]:
    """Every directory that may hold guard's own files, whichever variables are in force, existing or not."""
    found = [path for kind in _KINDS for path in _candidates(kind, environ)]
    return [*found, f"/run/user/{os.getuid()}/{OWN}", SYSTEM, RUNTIME]


def load(cwd: str, environ: Mapping[str, str], tree: World) -> Policy:
    """The policy for a command that is started in `cwd`.

    Uses compiled policies that are fresh, and the built-in list where no file says anything. Broken configuration leaves
    the last good policy in force, else the built-in list, and is told in Policy.broken.
    """
    finder = _Finder(environ, tree)
    here = physical(tree, cwd)
    found = roots.enclosing(here, finder.home, tree)
    finder.outside = not found
    finder.know(found or roots.clones(here, finder.temporary, tree))
    policy = Policy(_own_roots(environ, tree), finder)
    policy.rule(child(here, roots.CONFIG))
    return policy


def registered(environ: Mapping[str, str], tree: World, more: Iterable[str] = (), whole: bool = True) -> Policy:
    """The policy wherever a command runs: that of the registered roots, of `more`, and of whatever has a guard.toml.

    With `whole` every registered root is loaded now, else when a path makes it matter.
    """
    finder = _Finder(environ, tree)
    finder.know((*finder.known, *more))
    policy = Policy(_own_roots(environ, tree), finder)
    for root in list(finder.known) if whole else ():
        policy.rule(child(root, roots.CONFIG))
    return policy


def acceptances(path: str, state: str) -> tuple[str, str]:
    """The files that say what was accepted of a pyproject.toml: by the user, and by root."""
    import zlib  # its library takes 2 ms to load, and few projects need it

    raw = os.fsencode(path)
    key = f"{zlib.crc32(raw):08x}{zlib.crc32(raw[::-1]):08x}"
    return f"{state}/{ACCEPTED}/{key}", f"{SYSTEM_ACCEPTED}/{os.getuid()}/{key}"


def sources(root: str, main: str, environ: Mapping[str, str], tree: World) -> tuple[Source, ...]:
    """The configuration files that a root's policy depends on, absent ones included, the root's own first."""
    found = [path for _, path in files(root, main, environ, tree)]
    state = state_dir(environ)
    for path in [each for each in found if name(each) == roots.PROJECT and tree.lstat(each) is not None]:
        found += acceptances(physical(tree, path), state) if state is not None else ()
    return tuple(_source(path, tree) for path in found)


def files(root: str, main: str, environ: Mapping[str, str], tree: World) -> Iterator[tuple[str, str]]:
    """Origin and path of the files that may say something about a root."""
    for origin, directory in (("project", main), ("worktree", root)) if main else (("project", root),):
        path = child(directory, roots.CONFIG)
        yield origin, path
        if tree.lstat(path) is None:
            yield origin, child(directory, roots.PROJECT)
    user = config_dir(environ)
    if user is not None:
        yield "user", f"{user}/config.toml"
    yield "system", f"{SYSTEM}/config.toml"


def builtin(root: str, fold: bool = False, main: str = "") -> Root:
    """A root for which no file says anything."""
    return folding(Root(root, (*builtin_lists(), HOLD), fold=fold, main=main))


def folding(root: Root) -> Root:
    """The root with its literals folded where names ignore case, as matching wants it."""
    if not root.fold:
        return root
    return root._replace(lists=tuple(rules.folded() for rules in root.lists))


class _Finder:
    """Finds and loads roots when a path makes them matter: the ones known by name, and any that has a guard.toml."""

    def __init__(self, environ: Mapping[str, str], tree: World) -> None:
        self._environ = environ
        self._tree = tree
        self._named = state_dir(environ)
        self._believed: tuple[str | None] | None = None
        home = environ.get("HOME", "")
        self.home = physical(tree, home) if home.startswith("/") else ""
        self.temporary = {physical(tree, path) for path in (*TEMPORARY, environ.get("TMPDIR", "")) if path.startswith("/")}
        self.known: dict[str, None] = dict.fromkeys(roots.registered(self._named, tree))
        self._nested: set[str] = set()
        self.outside = False  # started outside any project

    def _state(self) -> str | None:
        """The state directory; None for one of an agent's choice, where nothing is believed but which projects there are: that
        can only protect more. Found out only when it matters, because all processes above are looked at for it."""
        if self._believed is None:
            self._believed = (None if disowned(self._named) else self._named,)
        return self._believed[0]

    def know(self, found: Iterable[str]) -> None:
        """Adds roots, and the main worktrees of those that are linked ones."""
        found = list(found)
        self.known |= dict.fromkeys(found)
        self.known |= dict.fromkeys(main for root in found if (main := roots.main_worktree(root, self._tree)))

    def at(self, directory: str) -> tuple[Root, ...]:
        known = directory in self.known or self._tree.lstat(child(directory, roots.CONFIG)) is not None
        if known or (self.outside and roots.is_clone(directory, self.temporary, self._tree)):
            return (self._aliased(self._load(directory)),)
        return ()

    def _aliased(self, root: Root) -> Root:
        aliases = tuple(roots.aliases(root.path, literals(root.lists), self._tree))
        return root._replace(aliases=aliases) if aliases else root

    def known_below(self, directory: str) -> list[str]:
        inside = directory if directory == "/" else directory + "/"
        return [root for root in self.known if root.startswith(inside)]

    def below(self, directory: str) -> Iterator[str]:
        yield from self.known_below(directory)
        if directory not in self._nested:
            self._nested.add(directory)
            yield from roots.nested(directory, self._tree)

    def _load(self, root: str) -> Root:
        tree, environ = self._tree, self._environ
        main = roots.main_worktree(root, tree) or ""
        found = sources(root, main, environ, tree)
        compiled = self._named is not None and tree.lstat(child(self._named, roots.POLICIES)) is not None
        stored = _stored(self._state(), root, tree) if compiled else None
        if stored is not None and stored.sources == found:
            return stored
        fold = roots.folds(root, tree)
        if not any(_says(source, tree) for source in found):
            return builtin(root, fold, main)
        return self._compile(root, main, fold, found, stored)

    def _compile(self, root: str, main: str, fold: bool, found: tuple[Source, ...], stored: Root | None) -> Root:
        from guard.errors import GuardError

        try:
            from guard import compiled, root_rules

            named = list(files(root, main, self._environ, self._tree))
            made = root_rules.compile_root(root, named, self._tree, fold, main, root_rules.Accepted(self._state()))
        except GuardError as error:
            return (stored or builtin(root, fold, main))._replace(broken=str(error))
        except ImportError as error:
            return (stored or builtin(root, fold, main))._replace(broken=f"the policy of {root} cannot be read: {error}")
        made = folding(made)._replace(sources=found)
        unchanged = found == sources(root, main, self._environ, self._tree)
        state = self._state()
        if state is not None and unchanged and compiled.settled(found):
            compiled.store(compiled.path_for(state, root), [made])
        return made


def _own_roots(environ: Mapping[str, str], tree: World) -> Iterator[Root]:
    names = [place(tree, path) for path in own_dirs(environ) for place in (physical_parent, physical)]
    for path in dict.fromkeys(names):
        if path != "/":
            matcher = Matcher(Rule(LOCK, "/" + name(path)), True, PATH, name(path), 1, "")
            yield Root(parent(path), (RuleList(LOCK, "guard", (matcher,)),))


def _leads_to(environ: Mapping[str, str], state: str) -> bool:
    found = state_dir(environ)
    return found is not None and os.path.realpath(found) == os.path.realpath(state)


def _candidates(kind: str, environ: Mapping[str, str]) -> list[str]:
    own = environ.get(f"GUARD_{kind}_DIR", "") if kind == "STATE" else ""
    base, home = environ.get(f"XDG_{kind}_HOME", ""), environ.get("HOME", "")
    found = [own.rstrip("/")] if own.startswith("/") else []
    found += [child(base.rstrip("/") or "/", OWN)] if base.startswith("/") else []
    found += [f"{home.rstrip('/')}/{_KINDS[kind]}/{OWN}"] if home.startswith("/") else []
    return [path for path in found if path and "\0" not in path]


def _writable(path: str) -> bool:
    """Could a directory be written, or made?"""
    while not os.path.lexists(path) and path != "/":
        path = parent(path)
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


def _spools(path: str) -> bool:
    """Is it a state directory as a command in a sandbox sees it?"""
    return os.path.isdir(f"{path}/{SPOOL}") and os.access(f"{path}/{SPOOL}", os.W_OK | os.X_OK)


def _source(path: str, tree: World) -> Source:
    found = tree.lstat(physical(tree, path)) if tree.lstat(path) is not None else None
    if found is None:
        return Source(path, -1, -1)
    return Source(path, max(found.st_mtime_ns, found.st_ctime_ns), found.st_size)


def _says(source: Source, tree: World) -> bool:
    """Could a file say something about the policy?"""
    if name(source.path) == roots.PROJECT:
        return source.time >= 0 and roots.may_have_table(tree.read(source.path))
    return tree.lstat(source.path) is not None


def _stored(state: str | None, root: str, tree: World) -> Root | None:
    if state is None:
        return None
    from guard import compiled

    found = compiled.load(tree.read(compiled.path_for(state, root)))
    return found[0] if found and found[0].path == root else None
