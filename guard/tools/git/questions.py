"""The questions to git: the only place that starts it. They run and leave nothing, whatever the repository configures."""

from __future__ import annotations

import os

from guard.git_program import ENVIRONMENT, OPTIONS, real_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NamedTuple

    from guard.effects import Text
    from guard.world import World
else:
    from guard.record import NamedTuple

# Variables that a question sees as the judged command would. Everything else stays away: tracing, editors, transports, libraries.
_PASSED = (
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_PARAMETERS",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)
_OWN = frozenset(option.partition("=")[0].lower() for option in OPTIONS if "=" in option)


class Item(NamedTuple):
    """What a tree or an index has at a path: the mode as git writes it in octal, and the object's id."""

    mode: str
    blob: str


class Questions:
    """Asks git about one repository. An answer is None where git gives none."""

    def __init__(self, world: World, env: Mapping[str, Text], directory: str, git_dir: str, config: Iterable[str] = ()) -> None:
        self._world = world
        self._directory = self._top = directory
        self._git_dir = git_dir
        self.failed = False  # git could not be asked, or did not answer in time: a "no" may have been a "yes"
        self._config = tuple(part for setting in config for part in ("-c", setting))
        self._env = ENVIRONMENT | {name: value for name in _PASSED if isinstance(value := env.get(name), str)}
        self._env |= {name: v for name, v in env.items() if name.startswith("GIT_CONFIG_") and isinstance(v, str)}

    def config(self) -> dict[str, tuple[str, ...]]:
        """Every setting that holds here, by its name with section and key in lower case; the last value is the one in force."""
        found: dict[str, tuple[str, ...]] = {}
        for entry in self._texts("config", "-z", "--list"):
            name, _, value = entry.partition("\n")
            found[name] = (*found.get(name, ()), value if "\n" in entry else "true")
        for name in _OWN & found.keys():  # the last value is the question's own
            found[name] = found[name][:-1]
        return found

    def commit(self, revision: str) -> str | None:
        """The id of the commit that a revision names."""
        if revision.startswith(":/"):  # a search of messages, which would take what is behind it for a part of the text
            found = self.object(revision)
            return None if found is None else self.commit(found)
        return self._line("rev-parse", "-q", "--verify", "--end-of-options", revision + "^{commit}")

    def object(self, revision: str) -> str | None:
        """The id of whatever object a revision names."""
        return self._line("rev-parse", "-q", "--verify", "--end-of-options", revision)

    def full_name(self, name: str) -> str | None:
        """The full name of the ref that a name means."""
        return None if name.startswith("-") else self._line("rev-parse", "-q", "--symbolic-full-name", name)

    def tree(self, revision: str) -> dict[str, Item] | None:
        """The files of a commit or tree by their path from the top."""
        answer = self._ask("ls-tree", "-r", "-z", "--full-tree", revision)
        if answer is None:
            return None
        found = {}
        for entry in _split(answer):
            fields, _, path = entry.partition("\t")
            mode, _, blob = fields.split(" ")
            found[path] = Item(mode, blob)
        return found

    def changed(self, one: str, other: str) -> dict[str, Item] | None:
        """The files of a commit that differ from those of another one, as the other commit has them."""
        answer = self._ask("diff-tree", "-r", "-z", "--no-renames", one, other)
        if answer is None:
            return None
        fields = _split(answer)
        found = {}
        for entry, path in zip(fields[::2], fields[1::2], strict=False):
            _, mode, _, blob, _ = entry.split(" ")
            found[path] = Item(mode, blob)
        return {path: item for path, item in found.items() if item.blob.strip("0")}

    def entries(self) -> list[tuple[str, Item, int]] | None:
        """The index: path, item and stage."""
        answer = self._ask("ls-files", "-z", "-s", "--full-name", "--", ":/")
        if answer is None:
            return None
        found = []
        for entry in _split(answer):
            fields, _, path = entry.partition("\t")
            mode, blob, stage = fields.split(" ")
            found.append((path, Item(mode, blob), int(stage)))
        return found

    def content(self, name: str) -> bytes | None:
        """A blob's content as it is stored."""
        return self._ask("cat-file", "blob", name)

    def parents(self, commit: str) -> tuple[str, ...]:
        """The ids of a commit's parents."""
        answer = self._ask("rev-list", "--parents", "-n", "1", commit, "--") or b""
        return tuple(os.fsdecode(answer).split()[1:])

    def base(self, one: str, other: str) -> str | None:
        """The best common ancestor of two commits."""
        return self._line("merge-base", one, other)

    def range(self, *ends: str) -> list[str]:
        """The commits of a range, oldest first, merges left out."""
        return os.fsdecode(self._ask("rev-list", "--reverse", "--no-merges", "-n", "200", *ends, "--") or b"").split()

    def refs(self) -> dict[str, str]:
        """Every ref with the commit (or other object) it stands for."""
        found = {}
        for line in os.fsdecode(self._ask("for-each-ref", "--format=%(refname) %(objectname)") or b"").splitlines():
            name, _, value = line.partition(" ")
            found[name] = value
        return found

    def holders(self, commit: str) -> list[str] | None:
        """The refs from which a commit can be reached."""
        answer = self._ask("for-each-ref", "--format=%(refname)", "--contains", commit)
        return None if answer is None else os.fsdecode(answer).split()

    def held(self, paths: Iterable[str]) -> set[str] | None:
        """The ids of all contents that these paths have had in the history of HEAD or some ref."""
        return self._contents(paths, ("--all",))

    def still_held(self, paths: Iterable[str], without: Iterable[str], also: Iterable[str]) -> set[str] | None:
        """The same in the history of the refs but for `without`, and of the commits `also`."""
        return self._contents(paths, (*(f"--exclude={ref}" for ref in without), "--glob=refs/*", *also))

    def _contents(self, paths: Iterable[str], refs: Iterable[str]) -> set[str] | None:
        failed = self.failed
        answer = self._ask("rev-list", "--objects", *refs, "--", *(f":(top,literal){path}" for path in paths))
        self.failed = failed  # a long history: not knowing is taken for not held, so nothing is missed
        return None if answer is None else {line.partition(" ")[0] for line in os.fsdecode(answer).splitlines()}

    def here(self, directory: str) -> Questions:
        """The same questions, asked in another directory of the work tree."""
        other = Questions(self._world, {}, directory, self._git_dir)
        other._config, other._env, other._top = self._config, self._env, self._top
        return other

    def answer(self, *words: str) -> tuple[int, bytes] | None:
        """Status and output of a command that callers have made sure only reads objects and refs."""
        return self._run(words)

    def _texts(self, *words: str) -> list[str]:
        return _split(self._ask(*words) or b"")

    def _line(self, *words: str) -> str | None:
        answer = self._ask(*words)
        return None if answer is None else os.fsdecode(answer).strip().partition("\n")[0] or None

    def _ask(self, *words: str) -> bytes | None:
        answer = self._run(words)
        return answer[1] if answer is not None and answer[0] == 0 else None

    def _run(self, words: tuple[str, ...]) -> tuple[int, bytes] | None:
        key = ("git", self._git_dir, self._directory, self._config, tuple(sorted(self._env.items())), words)
        known = self._world.answers
        if key not in known:
            known[key] = self._start(words)
        found = known[key]
        if isinstance(found, tuple):
            return found
        self.failed = True
        return None

    def _start(self, words: tuple[str, ...]) -> tuple[int, bytes] | None:
        program = real_git(self._world, self._top)
        if program is None or any("\0" in word for word in words):
            return None
        argv = [program, *self._config, *OPTIONS, f"--git-dir={self._git_dir}", *words]
        try:
            return self._world.ask(argv, self._directory, self._env)
        except UnicodeError:
            return None


def _split(answer: bytes) -> list[str]:
    return os.fsdecode(answer).split("\0")[:-1]
