"""Work: a repository, its index and its work tree as one git command meets them, and the effects it comes to have."""

from __future__ import annotations

from guard.effects import At, Effect, Hole, Matching, Pattern, Unknown
from guard.overlay import DIRECTORY, FILE, REAL, SYMLINK
from guard.paths import child
from guard.tools.git import index as index_file
from guard.tools.git import revision as revision_
from guard.tools.git.ignore import Ignores
from guard.tools.git.index import Entry
from guard.tools.git.pathspec import Pathspec, pathspec
from guard.tools.git.questions import Item, Questions
from guard.tools.git.state import MADE, SHARED, Commit, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from guard.effects import Text
    from guard.tools.git.repository import Globals, Repository

EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
SUBMODULE, LINK_MODE = "160000", "120000"
HELD_LIMIT = 50  # paths about which is asked whether some ref holds their content
_FALSE = ("false", "no", "off", "0", "")


class Work:
    """One call's repository. Paths are relative to the top directory of the work tree, which must exist."""

    def __init__(self, given: Globals, repository: Repository) -> None:
        self.given = given
        self.call = given.call
        self.view = given.call.view
        self.repository = repository
        self.top = repository.top or "/"
        self.prefix = repository.prefix or ""
        directory = self.top if repository.top is not None else repository.dir
        self.questions = Questions(self.view.world, self.call.env, *self._asked_in(directory), given.config)
        self.state = self._noted() or State()
        self.found: list[Effect | Unknown] = []
        self._settings = settings((*environment(given.call.env), *given.config))
        self.certain = True
        self.ran = False  # something of the user's has been run
        self.hole = next((word.holes[0] for word in given.rest if isinstance(word, Pattern)), None)
        self._index: dict[str, Entry] | None = None
        self._blobs: dict[str, str | None] = {}
        self._links: dict[str, bool] = {}
        self._held: dict[str, set[str]] = {}
        self._holders: bool | None = None
        self._ignores: Ignores | None = None
        self._trees: dict[str, Mapping[str, Item]] = {}
        self._racy: int | None = None
        self._converts: bool | None = None

    def _asked_in(self, directory: str) -> tuple[str, str]:
        """Where questions are asked, and about which repository: of a linked work tree that is not there yet, the main one."""
        lstat, common = self.view.world.lstat, self.repository.common
        if lstat(self.repository.dir) is not None or lstat(common) is None:
            return directory, self.repository.dir
        return (directory if lstat(directory) is not None else common), common

    # what the repository says

    def save(self) -> None:
        """Notes the state for the git commands that follow in the same command line."""
        self.view.notes[f"git:{self.repository.dir}"] = self.state
        self.view.notes[f"git-common:{self.repository.common}"] = self.state

    def _noted(self) -> State | None:
        """What earlier commands have noted: of this work tree, and of what all work trees of the repository share."""
        own = self.view.notes.get(f"git:{self.repository.dir}")
        shared = self.view.notes.get(f"git-common:{self.repository.common}")
        if not isinstance(shared, State):
            return own if isinstance(own, State) else None
        return (own if isinstance(own, State) else State())._replace(**{name: getattr(shared, name) for name in SHARED})

    def config(self, name: str) -> str | None:
        """A setting's value in force, by its name in lower case."""
        given = self.given_here(name)
        if given is not None:
            return given
        values = self.questions.config().get(name)
        return values[-1] if values else None

    def settings(self) -> tuple[str, ...]:
        """The names of all settings that hold here."""
        return (*self.keys_here(), *self.questions.config())

    def given_here(self, name: str) -> str | None:
        """A setting's value where the command line itself gives it: with -c, the environment, or an earlier `git config`."""
        found = self._settings.get(name)
        return found if found is not None else self.state.config.get(name)

    def keys_here(self) -> tuple[str, ...]:
        """The names of all settings that the command line itself gives."""
        return (*self._settings, *self.state.config)

    def flag(self, name: str, default: bool = False) -> bool:
        """A setting that is true or false."""
        value = self.config(name)
        return default if value is None else value.lower() not in _FALSE

    @property
    def branch(self) -> str | None:
        """The full name of the branch that HEAD is on, also one without a commit; None when detached."""
        head = self._head()
        return head if head is not None and head.startswith("refs/") else None

    @property
    def head(self) -> str | None:
        """The commit that HEAD is at; None where there is none yet."""
        name = self._head()
        return self.at(name) if name is not None and name.startswith("refs/") else name

    def _head(self) -> str | None:
        if self.state.head is not None:
            return self.state.head
        text = (self.view.read(child(self.repository.dir, "HEAD")) or b"").decode("utf-8", "surrogateescape").strip()
        return text.removeprefix("ref:").strip() or None

    def at(self, name: str) -> str | None:
        """The commit that a ref stands at, by its full name."""
        if name in self.state.refs:
            return self.state.refs[name] or None
        if self.state.new:
            return None
        if name.startswith("refs/heads/"):
            loose = (self.view.read(child(self.repository.common, name)) or b"").decode("ascii", "replace").strip()
            if len(loose) in (40, 64) and all(c in "0123456789abcdef" for c in loose):
                return loose
        return self.questions.commit(name)

    def resolve(self, revision: str) -> str | None:
        """The commit that a revision names, None where it names none."""
        return revision_.resolve(self, revision)

    def ref(self, name: str) -> str | None:
        """The full name of the branch, tag or other ref that a short name means."""
        return revision_.ref(self, name)

    def parents(self, commit: str) -> tuple[str, ...]:
        """A commit's parents."""
        return revision_.parents(self, commit)

    def base(self, one: str, other: str) -> str | None:
        """The merge base of two commits."""
        return revision_.base(self, one, other)

    def tree(self, revision: str | None) -> Mapping[str, Item]:
        """The files of a commit or tree, {} for None. Where git does not answer, an Unknown about the whole tree is noted."""
        if revision is None:
            return {}
        if revision in self.state.commits:
            return self.state.commits[revision].tree
        if revision not in self._trees:
            answer = self.questions.tree(revision)
            if answer is None:
                self.unknown("unknown-output", f"git ls-tree {revision}")
            self._trees[revision] = answer or {}
        return self._trees[revision]

    @property
    def head_tree(self) -> Mapping[str, Item]:
        """The files of the commit at HEAD."""
        return self.tree(self.head)

    @property
    def index(self) -> dict[str, Entry]:
        """The index by path. The dictionary is the caller's to change; `stage` makes a change hold."""
        if self._index is None:
            self._index = dict(self.state.entries) if self.state.entries is not None else self._read_index()
        return self._index

    def stage(self, entries: Mapping[str, Entry]) -> None:
        """Makes the index hold these entries."""
        self._index = dict(entries)
        self.state = self.state._replace(entries=dict(entries))

    def _read_index(self) -> dict[str, Entry]:
        if self.state.new or self.view.kind(self.repository.index_file) is None:
            return {}
        node = self.view.lookup(self.repository.index_file)
        data = self.view.world.read(node.base, index_file.LIMIT) if node.kind == REAL and node.base else None
        status = self.view.lstat(self.repository.index_file)
        self._racy = status.st_mtime_ns if status is not None else None
        entries = index_file.read(data) if data is not None and not self.flag("extensions.objectformat") else None
        if entries is None:
            answer = self.questions.entries()
            if answer is None:
                self.unknown("unknown-output", "git ls-files")
            entries = {path: Entry(item, None, stage) for path, item, stage in answer or ()}
        self.view.budget.spend(len(entries) // 20)
        return entries

    # what stands in the work tree

    def path(self, path: str) -> str:
        """The absolute path."""
        return child(self.top, path) if path else self.top

    def kind(self, path: str) -> str | None:
        """The kind of what stands at a path, nothing where a link or a file is in the way to it."""
        return None if self.linked(path.rpartition("/")[0]) else self.view.kind(self.path(path))

    def linked(self, directory: str) -> bool:
        """True when a directory above a path is a symbolic link: git does not follow it."""
        if not directory:
            return False
        if directory not in self._links:
            above = directory.rpartition("/")[0]
            self._links[directory] = self.linked(above) or self.view.readlink(self.path(directory)) is not None
        return self._links[directory]

    def blob(self, path: str) -> str | None:
        """The id of what stands at a path in the work tree, None where nothing does.

        A directory counts as the submodule that the index has there; a content that cannot be read has an id of its own.
        """
        if path not in self._blobs:
            self._blobs[path] = self._blob(path)
        return self._blobs[path]

    def _blob(self, path: str) -> str | None:
        absolute = self.path(path)
        kind = self.kind(path)
        if kind is None:
            return None
        entry = self.index.get(path)
        if kind == DIRECTORY:
            return entry.item.blob if entry is not None and entry.item.mode == SUBMODULE else None
        node = self.view.lookup(absolute)
        if (
            entry is not None
            and node.kind == REAL
            and node.base is not None
            and node.base == absolute
            and self._seen(absolute, entry)
        ):
            return entry.item.blob
        objects = child(self.repository.dir, "@objects") + "/"
        if node.base is not None and node.base.startswith(objects):
            return node.base[len(objects) :]
        if kind == SYMLINK:
            to = self.view.readlink(absolute)
            return None if to is None else digest(to.encode("utf-8", "surrogateescape"))
        content = self.view.read(absolute) if kind == FILE else None
        if content is None:
            return f"{MADE}{path}:{self.state.serial}"
        return self._digest(content, entry)

    def _digest(self, content: bytes, entry: Entry | None) -> str:
        own = digest(content)
        if entry is None or own == entry.item.blob or not self.line_ends_differ:
            return own
        plain = digest(content.replace(b"\r\n", b"\n"))
        return plain if plain == entry.item.blob else own

    def content(self, path: str, blob: str) -> bytes | None:
        """A stored content, where the repository has it or the file at the path is it."""
        if self.blob(path) == blob and self.kind(path) == FILE:
            found = self.view.read(self.path(path))
            if found is not None and digest(found) == blob:
                return found
        return self.questions.content(blob) if len(blob) == 40 and not blob.startswith(MADE) else None

    @property
    def line_ends_differ(self) -> bool:
        """Whether line ends may differ between the work tree and what is stored."""
        if self._converts is None:
            places = [
                child(self.repository.common, "info/attributes"),
                *(self.path(p) for p in self.index if p.endswith(".gitattributes")),
            ]
            crlf = (self.config("core.autocrlf") or "false").lower() not in _FALSE
            self._converts = crlf or any(self.view.kind(place) == FILE for place in places)
        return self._converts

    def _seen(self, absolute: str, entry: Entry) -> bool:
        """Whether the file is as it was when git last looked: same size and time, and looked at later than written."""
        if entry.seen is None or self._racy is None or not entry.seen[0] or entry.seen[0] >= self._racy:
            return False
        status = self.view.world.lstat(absolute)
        return status is not None and entry.seen[:2] == (status.st_mtime_ns, status.st_size & 0xFFFFFFFF)

    def stale(self, path: str) -> bool:
        """Whether git takes a file for changed as long as nothing refreshes the index: its status is not as git has seen it.

        That is so of all files of a copied work tree, until the first `git status`.
        """
        entry = self.index.get(path)
        status = self.view.lstat(self.path(path))
        if entry is None or entry.seen is None or status is None or self.state.fresh or self.view.touched(self.path(path)):
            return False
        if self.config("core.checkstat") == "minimal":
            return False
        now = (status.st_ctime_ns, status.st_ino & 0xFFFFFFFF, status.st_uid, status.st_gid)
        first = 0 if self.flag("core.trustctime", True) else 1
        return entry.seen[2 + first :] != now[first:]

    def dirty(self, path: str) -> bool:
        """Whether the work tree differs from the index at a path of the index. A missing file counts."""
        entry = self.index.get(path)
        return entry is not None and not entry.absent and self.blob(path) != entry.item.blob

    def modified(self, path: str) -> bool:
        """Whether git calls the file modified: its content, or whether it may be executed, is not as in the index."""
        entry = self.index.get(path)
        if entry is None or self.dirty(path):
            return entry is not None and not entry.absent
        status = self.view.lstat(self.path(path))
        if status is None or entry.item.mode not in ("100644", "100755") or not self.flag("core.filemode", True):
            return False
        return bool(status.st_mode & 0o100) != (entry.item.mode == "100755")

    def has(self, name: str) -> bool:
        """Whether there is a file or directory of this name in the repository's own directory."""
        return self.view.kind(child(self.repository.dir, name)) is not None

    def put(self, path: str, blob: str | None) -> None:
        """Notes what the call itself has put at a path (None: nothing)."""
        self._blobs[path] = blob

    def ignores(self) -> Ignores:
        """The ignore patterns in force."""
        if self._ignores is None:
            self._ignores = self.ignoring()
        return self._ignores

    def ignoring(self, given: Iterable[str] = (), standard: bool = True) -> Ignores:
        """The ignore patterns in force, and some more."""
        files = [child(self.repository.common, "info/exclude")]
        own = self.config("core.excludesfile") if standard else None
        home = self.call.env.get("HOME", "")
        base = self.call.env.get("XDG_CONFIG_HOME") or (f"{home}/.config" if isinstance(home, str) else "")
        if own is None and isinstance(base, str):
            own = f"{base}/git/ignore"
        if own and own.startswith("~/") and isinstance(home, str):
            own = home + own[1:]
        if own:
            files.append(self.view.through(own if own.startswith("/") else child(self.top, own)))
        return Ignores(self.view, self.top, files, given, standard)

    def pathspec(self, operands: Iterable[Text]) -> Pathspec:
        """The operands as pathspecs."""
        return pathspec(operands, self.prefix, self.top, self.given.pathspecs)

    # whether a content is still to be had

    @property
    def first_tree(self) -> Mapping[str, Item]:
        """The files of the commit that HEAD was at before the command line."""
        return {} if self.state.new else self.tree(self.questions.commit("HEAD"))

    def held(self, path: str, blob: str) -> bool:
        """Whether a ref or stash has had this content of the path, before the command line or by it."""
        item = self.first_tree.get(path)
        if (item is not None and item.blob == blob) or self.state.holds(path, blob):
            return True
        if self.state.new or blob.startswith(MADE):
            return False
        self.ask_held([path])
        return blob in self._held[path]

    def ask_held(self, paths: Iterable[str]) -> None:
        """Asks for several paths at once what contents refs hold of them."""
        new = [path for path in paths if path not in self._held]
        if len(new) > HELD_LIMIT:
            self._held |= {path: set() for path in new}
        elif new:
            self._held |= dict.fromkeys(new, self.questions.held(new) or set())

    def still_held(self, path: str, blob: str) -> bool:
        """Whether a ref or stash holds this content of the path as refs stand by now; HEAD itself does not count."""
        if self.state.holds(path, blob, head=False):
            return True
        refs = self.state.refs
        on_branch = self.branch is not None and self.head not in self.state.commits
        item = self.head_tree.get(path) if on_branch else None
        if item is not None and item.blob == blob:
            return True
        if self.state.new or blob.startswith(MADE):
            return False
        if self.branch is None and self._holders is None and self.head is not None:
            self._holders = bool(self.questions.holders(self.head))
        if self._holders and not refs and path in self.head_tree:
            return self.head_tree[path].blob == blob
        also = sorted({value for value in refs.values() if value and value not in self.state.commits})
        return blob in (self.questions.still_held([path], refs, also) or ())

    # what comes of it

    def effect(self, effect: Effect) -> None:
        """Notes an effect, not certain while `certain` is off: then it hits what an unknown argument may stand for."""
        if self.certain:
            self.found.append(effect)
        elif self.hole is None or not isinstance(effect.target, At):
            self.found.append(effect._replace(certain=False))
        else:
            path = effect.target.path
            self.found.append(effect._replace(certain=False, target=Matching(path, Pattern((path, self.hole)))))

    def unknown(self, code: str, what: str) -> None:
        """Notes that something about the whole work tree cannot be told."""
        self.found.append(Unknown(code, what, self.call.somewhere(self.top)))

    def wonder(self, hole: Hole) -> None:
        """Notes that an argument is not known."""
        self.unknown(hole.code, hole.what)

    def flush(self) -> None:
        """Records the effects so far, so that what is run next meets them."""
        if self.call.emit is not None:
            for item in self.found:
                self.call.emit(item)
            self.found.clear()
        self.save()

    def run_text(self, text: Text, *args: Text, cwd: str | None = None) -> int | None:
        """Has a shell run a text, as git does in the top directory; gives its status."""
        self.flush()
        self.ran = True
        status = self.call.shell(text, args, cwd=cwd or self.top).status
        self.after()
        return status

    def run(self, argv: tuple[Text, ...], cwd: str | None = None) -> int | None:
        """Has a command run; gives its status."""
        self.flush()
        self.ran = True
        status = self.call.run(argv, cwd=cwd or self.top).status
        self.after()
        return status

    def after(self) -> None:
        """Sees the repository as what has been run has left it."""
        self.state = self._noted() or self.state
        self._index = None
        self._blobs.clear()
        self._links.clear()
        self._ignores = None

    def object_path(self, blob: str) -> str:
        """The path that stands for a stored content in effects' `source`; nothing is there."""
        return f"{child(self.repository.dir, '@objects')}/{blob}"

    def aside(self, path: str) -> str:
        """A place where a view keeps a file that left the tree; nothing is really there."""
        self.state = self.state._replace(serial=self.state.serial + 1)
        return f"{child(self.repository.dir, '@left')}/{self.state.serial}/{path}"

    def move_head(self, commit: str | None, ref: str | None = None) -> None:
        """HEAD (and the branch it is on) comes to stand at a commit; with `ref`, HEAD comes to be on that branch or commit."""
        state = self.state
        before = self.head
        earlier = (before, *state.earlier) if before is not None else state.earlier
        if ref is not None:
            name = self._head()
            branches = (name, *state.branches) if name is not None else state.branches
            state = state._replace(head=ref, branches=branches)
        elif self.branch is None and commit is not None:
            state = state._replace(head=commit)
        name = ref if ref is not None and ref.startswith("refs/") else self.branch if ref is None else None
        if name is not None:
            state = state._replace(refs={**state.refs, name: commit or ""})
        self.state = state._replace(earlier=earlier)

    def make(self, tree: Mapping[str, Item], parents: Iterable[str]) -> str:
        """A new commit's id."""
        name = f"{MADE}commit:{self.state.serial + 1}"
        commits = {**self.state.commits, name: Commit(dict(tree), tuple(parents))}
        self.state = self.state._replace(commits=commits, serial=self.state.serial + 1)
        return name


def setting_name(name: str) -> str:
    """A setting's name with its section and its key in lower case."""
    parts = name.split(".")
    return ".".join([parts[0].lower(), *parts[1:-1], parts[-1].lower()]) if len(parts) > 1 else name.lower()


def settings(given: Iterable[str]) -> dict[str, str]:
    """Settings written as "name=value" by their names; one without a value is true."""
    found = {}
    for setting in given:
        name, equals, value = setting.partition("=")
        found[setting_name(name)] = value if equals else "true"
    return found


def environment(env: Mapping[str, Text]) -> list[str]:
    """The settings, as "name=value", that variables of the environment give."""
    found: list[str] = []
    packed = env.get("GIT_CONFIG_PARAMETERS")
    if isinstance(packed, str) and packed:
        from guard.tools.git.alias import words

        found += words(packed) or ()
    count = env.get("GIT_CONFIG_COUNT")
    for number in range(min(int(count), 1000) if isinstance(count, str) and count.isdigit() else 0):
        name, value = env.get(f"GIT_CONFIG_KEY_{number}"), env.get(f"GIT_CONFIG_VALUE_{number}")
        if isinstance(name, str) and isinstance(value, str):
            found.append(f"{name}={value}")
    return found


def digest(content: bytes) -> str:
    """The id that git gives a content."""
    try:
        from _sha1 import sha1  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha1
    found: str = sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return found
