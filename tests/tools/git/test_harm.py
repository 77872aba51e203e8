"""What is lost, what only leaves with a branch or into a stash, and what is thrown back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from guard.effects import At, Below, Effect, Hole, Pattern, Unknown
from tests.tool_harness import Ran
from tests.tools.git import harness
from tests.tools.git.harness import build, environment, foresee, really

DIRTY = {"specs/api.json", "src/lib/util.py"}
MEMORY = {"memory/lessons.md", "memory/more.md"}
LOOSE = {*MEMORY, "specs/draft.md", "junk.txt", "tmp/scratch.txt", "with space.txt"}
SPECS = {"specs/a.md", "specs/api.json", "specs/deep/b.md"}

CASES = [
    ("git checkout -- .", {"revert": DIRTY}),
    ("git checkout v1", {"edit": {"specs/a.md"}}),
    ("git reset --hard HEAD~1", {"revert": DIRTY, "edit": {"specs/a.md"}}),
    ("git reset --hard no-specs", {"delete": {*SPECS, "spec-link"}, "revert": {"src/lib/util.py"}, "edit": {"AGENTS.md"}}),
    ("git switch -f no-specs", {"leave": {"specs/a.md", "specs/deep/b.md", "spec-link"}, "delete": {"specs/api.json"},
                                "revert": {"src/lib/util.py"}, "edit": {"AGENTS.md"}}),
    ("git checkout -f", {"revert": DIRTY}),
    ("git stash", {"leave": DIRTY}),
    ("git stash -u", {"leave": DIRTY | LOOSE}),
    ("git stash -u && git stash drop", {"leave": DIRTY | LOOSE, "delete": LOOSE, "revert": DIRTY}),
    ("git stash && git stash clear", {"leave": DIRTY, "revert": DIRTY}),
    ("git stash && git stash apply && git stash drop", {"leave": DIRTY, "edit": DIRTY}),
    ("git stash -u -- memory && git stash pop", {"leave": MEMORY, "move": MEMORY}),
    ("git stash -u -- memory && git stash pop && rm -rf memory", {"leave": MEMORY, "move": MEMORY, "delete": MEMORY}),
    ("git stash -u -- memory && rm -rf memory", {"leave": MEMORY}),
    ("git stash -q -- specs && rm -f specs/api.json", {"leave": {"specs/api.json"}, "delete": {"specs/api.json"}}),
    ("git stash -q -u -- memory && rm -rf .git", {"leave": MEMORY, "delete": MEMORY}),
    ("git checkout -q v1 && rm -f specs/a.md", {"edit": {"specs/a.md"}, "delete": {"specs/a.md"}}),
    ("git rm -q --cached CLAUDE.md && git clean -fq CLAUDE.md", {"delete": {"CLAUDE.md"}}),
    ("git rm -rfq specs", {"delete": SPECS}),
    ("git mv CLAUDE.md docs", {"move": {"CLAUDE.md"}}),
    ("git checkout no-specs -- AGENTS.md", {"edit": {"AGENTS.md"}}),
    ("git checkout -q no-specs -- AGENTS.md ; git checkout -q main -- AGENTS.md", {"edit": {"AGENTS.md"}}),
    ("git restore -s no-specs specs", {"delete": SPECS}),
    ("git worktree remove ../wt", {"leave": {"../wt/" + name for name in (
        ".claude/commands/x.md", ".gitignore", "AGENTS.md", "CLAUDE.md", "PLAN.md", "README.md", "docs/guide.md", "spec-link",
        "specs/a.md", "specs/api.json", "specs/deep/b.md", "src/lib/util.py", "src/main.py")}}),
    ("git checkout -q -- . && git merge no-specs", {"revert": DIRTY, "delete": {"specs/api.json", "specs/deep/b.md", "spec-link"},
                                                    "edit": {"AGENTS.md"}}),
    ("git stash -q && git switch -q no-specs && git branch -D main", {
        "leave": {*DIRTY, *SPECS, "spec-link"}, "edit": {"AGENTS.md"}, "delete": {"specs/a.md"}}),
    ("git stash -q && git switch -q no-specs && git switch -q main && git branch -D no-specs", {
        "leave": {*DIRTY, *SPECS, "spec-link"}, "edit": {"AGENTS.md"}, "move": {*SPECS, "spec-link"}}),
    ("git commit -qam wip && git reset -q --hard HEAD~1", {"revert": DIRTY}),
    ("git commit -qam wip && git branch keep && git reset -q --hard HEAD~1", {"edit": DIRTY}),
    ("git commit -qam wip && git switch -q no-specs", {"leave": {*SPECS, "spec-link"}, "edit": {"AGENTS.md", "src/lib/util.py"}}),
    ("git checkout -q --detach && git commit -qam wip && git switch -q no-specs", {
        "leave": {"specs/a.md", "specs/deep/b.md", "spec-link"}, "delete": {"specs/api.json"},
        "edit": {"AGENTS.md"}, "revert": {"src/lib/util.py"}}),
    ("git log --output=CLAUDE.md", {"overwrite": {"CLAUDE.md"}}),
    ("git archive -o AGENTS.md HEAD", {"overwrite": {"AGENTS.md"}}),
    ("git bundle create AGENTS.md HEAD", {"overwrite": {"AGENTS.md"}}),
    ("git config -f CLAUDE.md a.b c", {"edit": {"CLAUDE.md"}}),
    ("git config -f CLAUDE.md a.b", {}),
    ("git diff", {}),
    ("git status", {}),
    ("git reset", {}),
    ("git stash list", {}),
    ("git commit -qam x", {}),
    ("git push --force", {}),
    ("git gc --prune=now", {}),
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("harm") / "home").parent


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, home: Path) -> list[tuple[str, str]]:
    """The real files that each effect takes, as they are found when it comes."""
    found: list[tuple[str, str]] = []
    emit = Ran.emit

    def recording(self: Ran, item: Effect | Unknown) -> None:
        if isinstance(item, Effect) and isinstance(item.target, At | Below) and item.action != "create":
            for path in self.view.originals(item.target.path):
                below = [os.path.join(d, n) for d, _, names in os.walk(path) if "/.git" not in d for n in names]
                moved = self.view.lookup(item.target.path).was == path
                place = item.target.path if moved else path
                standing = [p for p in below if self.view.lookup(place + p[len(path) :]).was == p]
                found.extend(
                    (item.action, os.path.relpath(p, home / "app"))
                    for p in (standing if os.path.isdir(path) and not os.path.islink(path) else [path])
                )
        emit(self, item)

    monkeypatch.setattr(harness.Ran, "emit", recording)
    return found


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_each_file_is_lost_in_its_own_way(
    line: str, expected: dict[str, set[str]], home: Path, recorded: list[tuple[str, str]]
) -> None:
    ran = foresee(home, line)
    found: dict[str, set[str]] = {}
    for action, path in recorded:
        if not path.startswith(".git/"):
            found.setdefault(action, set()).add(path)
    assert found == expected
    assert not ran.unknowns


def holes(home: Path, *argv: str) -> Ran:
    """A call in which "$X" in a word is not known."""
    ran = Ran(home / "app", environment(home))
    words = []
    for word in argv:
        before, dollar, after = word.partition("$X")
        pieces = tuple(piece for piece in (before, Hole("unknown-variable", "$X") if dollar else "", after) if piece)
        words.append(Pattern(pieces) if dollar else word)
    ran.run(tuple(words))
    return ran


@pytest.mark.parametrize(
    ("argv", "reached", "spared"),
    [
        (["git", "checkout", "--", "$X"], {"specs/api.json", "src/lib/util.py"}, {"specs/a.md"}),
        (["git", "checkout", "--", "src/$X"], {"src/lib/util.py"}, {"specs/api.json"}),
        (["git", "clean", "-fd", "$X"], {"memory/more.md"}, {"CLAUDE.md", ".env"}),
        (["git", "clean", "-fd", "tmp/$X"], {"tmp/scratch.txt"}, {"memory/more.md"}),
        (["git", "rm", "-rf", "$X"], {"CLAUDE.md", "specs/a.md"}, {"memory/more.md"}),
        (["git", "rm", "-rf", "$X/a.md"], {"specs/a.md"}, {"CLAUDE.md"}),
        (["git", "reset", "--hard", "$X"], {"specs/api.json", "CLAUDE.md"}, set()),
        (["git", "-C", "$X", "clean", "-fd"], {"memory/more.md"}, set()),
        (["git", "$X"], {"memory/more.md"}, set()),
        (["git", "commit", "-m", "$X"], set(), {"CLAUDE.md", "specs/api.json"}),
        (["git", "log", "$X"], set(), {"CLAUDE.md"}),
        (["git", "-C", "$X", "status"], set(), {"CLAUDE.md"}),
    ],
)
def test_an_unknown_argument_reaches_what_it_could_name(argv: list[str], reached: set[str], spared: set[str], home: Path) -> None:
    ran = holes(home, *argv)
    assert not any(effect.certain for effect in ran.effects)
    targets = [effect.target.path for effect in ran.effects]
    targets += [unknown.reach.path for unknown in ran.unknowns if isinstance(unknown, Unknown) and unknown.reach is not None]
    top = str(home.resolve() / "app")

    def within(path: str) -> bool:
        return any(f"{top}/{path}" == target or f"{top}/{path}".startswith(target + "/") for target in targets)

    assert all(within(path) for path in reached)
    assert not any(within(path) for path in spared)


@pytest.mark.parametrize("lock", [False, True])
def test_submodules_are_looked_into(lock: bool, home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "home", symlinks=True)
    setup = "git init -q ../lib && cd ../lib && echo x > x.txt && git add x.txt && git commit -qm x && cd ../app"
    assert really(tmp_path / "home", f"{setup} && git submodule --quiet add ../lib vendor && git commit -qm sub")[0] == 0
    ran = foresee(tmp_path / "home", "git submodule foreach 'rm -rf x.txt'")
    assert [effect.target.path for effect in ran.effects] == [str((tmp_path / "home/app/vendor/x.txt").resolve())]
    really(tmp_path / "home", "echo y >> vendor/x.txt")
    assert not foresee(tmp_path / "home", "git submodule deinit vendor").effects
    ran = foresee(tmp_path / "home", "git submodule deinit -f vendor" if lock else "git submodule update --force")
    assert [effect.action for effect in ran.effects if effect.target.path.endswith("x.txt")] == ["delete" if lock else "revert"]


@pytest.mark.parametrize(
    ("setup", "line", "lost"),
    [
        ("git stash -q", "git stash drop", {"specs/api.json"}),
        ("git stash -q", "git stash clear", {"specs/api.json"}),
        ("git stash -q", "git stash pop", set()),
        ("git stash -q; git branch keep stash@{0}", "git stash drop", set()),
        ("git stash -q; git stash apply -q", "git stash drop", set()),
        ("git stash -q; git stash apply -q; git commit -qam done; echo more >> specs/api.json", "git stash drop", set()),
        ("git stash -q; echo y > README.md; git stash -q", "git stash drop", set()),
        ("git stash -q; echo y > README.md; git stash -q", "git stash drop 1", {"specs/api.json"}),
    ],
)
def test_a_stash_from_before_is_lost_unless_its_content_stands_elsewhere(
    setup: str, line: str, lost: set[str], home: Path, tmp_path: Path
) -> None:
    shutil.copytree(home, tmp_path / "home", symlinks=True)
    assert really(tmp_path / "home", setup)[0] == 0
    effects = [effect for effect in foresee(tmp_path / "home", line).effects if effect.action == "revert"]
    top = tmp_path.resolve() / "home/app"
    assert {os.path.relpath(effect.target.path, top) for effect in effects} & DIRTY & {"specs/api.json"} == lost
