"""What people and agents do with git all day, under the installed hooks: what takes protected files away, and what does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from guard import git_hooks
from tests.git_hooks.conftest import LINES, Repository, make


@pytest.fixture
def hooked(repository: Repository) -> Repository:
    """With guard's hooks, and another branch `less` whose tip has deleted specs/a.md past them."""
    git_hooks.install(str(repository.top), {"HOME": str(repository.home), "PATH": "/usr/bin:/bin"})
    repository.git("checkout", "-q", "-b", "less")
    repository.git("rm", "-q", "specs/a.md")
    repository.git("commit", "-qnm", "less")
    repository.git("checkout", "-q", "main")
    return repository


def shell(r: Repository, script: str, **more: str) -> tuple[int, str]:
    done = r.run("bash", "-c", script, **more)
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "surrogateescape")


REFUSED = {
    "amending a file away": "git rm -q specs/b.md; git commit --amend -m x",
    "a part of a file that leaves little of it": "printf 'new\\n' > specs/a.md; yes | git commit -p -m part",
    "gone from the index, there in the tree": "git rm -q --cached specs/a.md; git commit -m x",
    "a directory in another case": "git mv specs Specs; git commit -m x",
    "moved below another directory": "mkdir docs; git mv specs docs/specs; git commit -m x",
    "a submodule in the place of a directory": "git rm -rq specs; git submodule --quiet add ../inner specs; git commit -m x",
    "a merge": "echo x >> src/main.py; git commit -qam x; git merge --no-edit less",
    "a squashed merge": "git merge -q --squash less; git commit -m x",
    "deleting as the way out of a conflict": (
        "echo more >> specs/a.md; git commit -qam more; git merge less; git rm -q specs/a.md; git commit --no-edit"
    ),
    "a sparse index": "git sparse-checkout set --cone --sparse-index src; git rm -q --sparse specs/a.md; git commit -m x",
    "a split index": "git update-index --split-index; git rm -q specs/a.md; git commit -m x",
    "with git told where its directory is": (
        'top=$PWD; cd /; export GIT_DIR="$top/.git" GIT_WORK_TREE="$top"; git rm -q specs/a.md; git commit -m x'
    ),
    "another work tree": (
        'cp -r . ../tree; rm -rf ../tree/.git; git="git --git-dir=$PWD/.git --work-tree=../tree"; '
        "$git rm -q specs/a.md; $git commit -m x"
    ),
    "inside of the repository's own directory": "cd .git; git --work-tree=.. rm -q ../specs/a.md; git --work-tree=.. commit -m x",
    "a linked worktree": "git worktree add -q ../linked -b linked; cd ../linked; git rm -q specs/a.md; git commit -m x",
    "an alias": "git rm -q specs/a.md; git -c alias.ci=commit ci -m x",
    "commit --only": "rm specs/a.md; git commit --only specs/a.md -m x",
    "commit --include": "rm specs/a.md; git commit --include specs/a.md -m x",
    "commit --all": "rm specs/a.md; git commit -qam x",
}


@pytest.mark.parametrize("script", REFUSED.values(), ids=REFUSED)
def test_it_is_refused_and_the_branch_stays(hooked: Repository, script: str) -> None:
    inner = make(hooked.home, "inner")
    inner.write("file")
    inner.commit()
    status, said = shell(hooked, script)
    assert (status, "guard: refused." in said, "Nothing was committed." in said) == (1, True, True), said
    tips = hooked.git("for-each-ref", "--format=%(refname)", "refs/heads").split("\n")
    for tip in tips:
        assert tip == "refs/heads/less" or "specs/a.md" in hooked.git("ls-tree", "-r", "--name-only", tip).split("\n")


PASSED = {
    "gone from the tree, there in the index": "rm specs/a.md; git commit -q --allow-empty -m x",
    "a part of an edit": "sed -i 's/line 3 /line three /' specs/a.md; yes | git commit -p -m part",
    "a name in another case": "git mv specs/a.md specs/A.md; git commit -qm x",
    "a move within": "git mv specs/a.md specs/deep/a.md; git commit -qm x",
    "a directory moved within": "mkdir specs/x; git mv specs/deep specs/x/deep; git commit -qm x",
    "a conflict that keeps the file": (
        "echo more >> specs/a.md; git commit -qam more; git merge less; git add specs/a.md; git commit -q --no-edit"
    ),
    "amending the message": "git commit -q --amend -m better",
    "something else in a sparse checkout": (
        "git sparse-checkout set --cone --sparse-index src; echo x >> src/main.py; git commit -qam x"
    ),
    "a commit and its revert": "seq 30 > src/new; git add src/new; git commit -qm x; git revert --no-edit HEAD",
    "a stash there and back": "echo x >> specs/a.md; git stash -q; git stash pop -q; git commit -qam x",
    "a rebase": "git checkout -qb topic; seq 9 > y; git add y; git commit -qm y; git rebase -q main",
    "bisecting": "seq 9 > y; git add y; git commit -qm y; git bisect start HEAD HEAD~1; git bisect reset",
}


@pytest.mark.parametrize("script", PASSED.values(), ids=PASSED)
def test_it_passes_without_a_word_of_refusal(hooked: Repository, script: str) -> None:
    status, said = shell(hooked, script)
    assert (status, "guard: refused" in said) == (0, False), said


def test_the_names_of_files_are_told_whatever_git_would_quote(hooked: Repository) -> None:
    hooked.git("config", "core.quotePath", "true")
    hooked.write("specs/é\tb.md")
    hooked.git("add", ".")
    hooked.git("commit", "-qm", "more")
    status, said = shell(hooked, "git rm -q specs/é*; git commit -m x")
    assert (status, "specs/é\\tb.md" in said) == (1, True), said


def test_a_rebase_that_drops_a_commit_tells_what_went_with_it(hooked: Repository) -> None:
    for name in ("specs/new.md", "src/new.py"):
        hooked.write(name)
        hooked.git("add", ".")
        hooked.git("commit", "-qm", name)
    before = hooked.git("rev-parse", "HEAD")
    done = hooked.run("git", "rebase", "-q", "-i", "HEAD~2", GIT_SEQUENCE_EDITOR="sed -i 1d")
    assert done.returncode == 0, done.stderr
    said = done.stderr.decode()
    assert "git rebase took away or overwrote a protected file: specs/new.md" in said
    assert f"git restore --source={before[:12]} -- specs/new.md" in said


@pytest.mark.parametrize("command", ["cherry-pick less", "revert --no-edit HEAD", "am -q less.patch", "merge -q --squash less"])
def test_what_was_committed_past_the_hooks_is_seen_by_the_push(hooked: Repository, remote: Path, command: str) -> None:
    hooked.write("specs/new.md")
    hooked.git("add", "specs")
    hooked.git("commit", "-qm", "new")
    hooked.git("push", "-q", "origin", "main")
    (hooked.top / "less.patch").write_text(hooked.git("format-patch", "-1", "--stdout", "less") + "\n")
    past = "git -c core.hooksPath=/dev/null"
    assert shell(hooked, f"{past} {command}; git diff --cached --quiet || {past} commit -qm less")[0] == 0
    status, said = shell(hooked, "git push origin main")
    assert (status, "Nothing was pushed." in said) == (1, True), said
    instead = said.partition("Instead: ")[2].partition("\n")[0]
    assert shell(hooked, f"{instead} && git push -q origin main")[0] == 0


PUSHES = {
    "a branch by another name": "git push origin less:topic",
    "a tag": "git tag v2 less; git push origin v2",
    "all branches": "git push --all origin",
    "a mirror": "git push --mirror origin",
    "a lease": "git push --force-with-lease origin less:main",
    "two at once, one of them bad": "git branch fine; git push origin fine less",
    "HEAD": "git checkout -q less; git push origin HEAD:main",
    "an address instead of a name": "git push ../remote.git less:main",
    "deleting a branch that alone has it": (
        "git checkout -qb only; seq 9 > specs/only.md; git add .; git commit -qm x; "
        "git push -q origin only; git push origin :only"
    ),
}


@pytest.mark.parametrize("script", PUSHES.values(), ids=PUSHES)
def test_a_push_that_loses_is_refused(hooked: Repository, remote: Path, script: str) -> None:
    refs = hooked.git("ls-remote", str(remote))
    status, said = shell(hooked, script)
    assert (status, "Nothing was pushed." in said) == (1, True), said
    after = hooked.git("ls-remote", str(remote))
    assert [line for line in after.split("\n") if "only" not in line] == refs.split("\n")


def test_pushes_that_lose_nothing(hooked: Repository, remote: Path) -> None:
    for script in (
        "git tag v1; git push -q origin v1",
        "git push -q origin main:same",
        "git push -q origin :same",
        "git push -q origin main main:other",
        "git push -q --force-with-lease origin main",
        "git push -q --dry-run origin main",
    ):
        status, said = shell(hooked, script)
        assert (status, said) == (0, ""), script


def test_a_first_push_has_nothing_to_take_away(hooked: Repository) -> None:
    status, said = shell(hooked, "git init -q --bare ../fresh.git; git push -q ../fresh.git less:main")
    assert (status, said) == (0, "")


def test_a_shallow_clone_is_judged_by_what_it_has(hooked: Repository) -> None:
    clone = Repository(hooked.home / "shallow", hooked.home)
    hooked.git("clone", "-q", "--depth", "1", f"file://{hooked.top}", str(clone.top))
    git_hooks.install(str(clone.top), {"HOME": str(hooked.home), "PATH": "/usr/bin:/bin"})
    assert shell(clone, "git rm -q specs/b.md; git commit -qm x")[0] == 1
    clone.git("commit", "-qnm", "x")
    status, said = shell(clone, "git push origin HEAD:refs/heads/new")
    assert (status, "specs/b.md" in said) == (1, True), said


def test_many_files_are_counted_not_listed_and_soon_done(hooked: Repository) -> None:
    for at in range(1500):
        hooked.write(f"specs/many/{at % 100}/{at}.md", f"{at}\n" * 3)
    hooked.git("add", ".")
    hooked.git("commit", "-qm", "many")
    hooked.git("rm", "-rq", "specs/many")
    start = os.times().children_user
    status, said = shell(hooked, "git commit -m x")
    assert os.times().children_user - start < 6
    assert (status, "1,500 protected files" in said, len(said) < 1500) == (1, True, True)
    hooked.git("reset", "-q", "--hard")
    hooked.git("mv", "specs/many", "specs/other")
    start = os.times().children_user
    status, said = shell(hooked, "git commit -qm x")
    assert (status, said) == (0, "")
    assert os.times().children_user - start < 6


def test_many_files_of_one_name_that_are_moved_and_edited(hooked: Repository) -> None:
    for at in range(300):
        hooked.write(f"specs/old/{at}/README.md", f"{at}\n{LINES}")
    hooked.git("add", ".")
    hooked.git("commit", "-qm", "many")
    hooked.git("mv", "specs/old", "specs/new")
    for at in range(300):
        hooked.write(f"specs/new/{at}/README.md", f"{at}\n{LINES}more\n")
    status, said = shell(hooked, "git commit -qam x")
    assert (status, said) == (0, "")
