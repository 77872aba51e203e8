"""No question runs or changes anything, whatever the repository configures."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from guard.ask import ask
from guard.tools.git.questions import Questions, real_git
from guard.world import Budget, World
from tests.tools.git.harness import build, environment, foresee, really

HOOKS = """
applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
post-commit post-checkout post-merge pre-push post-rewrite pre-auto-gc reference-transaction post-index-change
fsmonitor-watchman push-to-checkout pre-rebase
"""


DIFFS = [
    ("diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none", "-p", "-M", "v1", "no-specs"),
    ("diff-tree", "-r", "--root", "--no-notes", "--no-ext-diff", "--no-textconv", "--pretty=email", "-p", "--stat", "HEAD", "--"),
    ("rev-list", "-n", "1", "--format=%f", "HEAD", "--"),
    ("rev-list", "--no-walk", "--format=%s", "HEAD", "--"),
]


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A repository in which everything that it can name for git to run leaves a mark."""
    home = tmp_path / "home"
    app = build(home)
    marks = tmp_path / "marks"
    marks.mkdir()
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $@" >> {marks}/mark\ncat\n')
    trap.chmod(0o755)
    for name in HOOKS.split():
        (app / ".git/hooks" / name).symlink_to(trap)
    settings = f"""
[core]
	fsmonitor = {trap}
	pager = {trap}
	editor = {trap}
	askPass = {trap}
	sshCommand = {trap}
	gitProxy = {trap}
	alternateRefsCommand = {trap}
	attributesFile = {tmp_path}/attributes
[filter "trap"]
	clean = {trap}
	smudge = {trap}
	process = {trap}
	required = true
[diff]
	external = {trap}
[diff "trap"]
	textconv = {trap}
	command = {trap}
[merge "trap"]
	driver = {trap}
[credential]
	helper = !{trap}
[alias]
	ls-files = !{trap}
	zap = !{trap}
[pager]
	config = {trap}
	rev-list = {trap}
	ls-tree = {trap}
[gpg]
	program = {trap}
[log]
	showSignature = true
[remote "origin"]
	url = ext::{trap}
	promisor = true
	partialclonefilter = blob:none
	fetch = +refs/heads/*:refs/remotes/origin/*
	uploadpack = {trap}
[include]
	path = {tmp_path}/included
[uploadpack]
	packObjectsHook = {trap}
[trace2]
	normalTarget = {marks}/trace
	eventTarget = {marks}/trace
"""
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = {trap}\n[trace2]\n\tperfTarget = {marks}/trace\n")
    (tmp_path / "attributes").write_text("* filter=trap diff=trap merge=trap\n")
    (app / ".git/info/attributes").write_text("* filter=trap diff=trap merge=trap\n")
    with (app / ".git/config").open("a") as file:
        file.write(settings)
    with (home / ".gitconfig").open("a") as file:
        file.write(f"[trace2]\n\tnormalTarget = {marks}/trace\n")
    return home


def snapshot(home: Path) -> dict[str, tuple[int, int, int]]:
    found = {}
    for directory, _, names in os.walk(home):
        for name in [".", *names]:
            status = os.lstat(os.path.join(directory, name))
            found[os.path.join(directory, name)] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def questions(home: Path) -> Questions:
    world = World(environment(home), Budget(30, 10**7))
    return Questions(world, environment(home), str(home / "app"), str(home / "app/.git"))


def test_no_question_leaves_a_mark(trapped: Path) -> None:
    before = snapshot(trapped)
    asked = questions(trapped)
    head = asked.commit("HEAD")
    assert head is not None
    assert asked.config()["alias.zap"]
    assert asked.object("HEAD:specs") is not None
    assert asked.full_name("main") == "refs/heads/main"
    assert "specs/a.md" in (asked.tree("HEAD") or {})
    assert len(asked.entries() or ()) == len(asked.tree("HEAD") or ())
    assert asked.content("HEAD:CLAUDE.md") == b"# manual\n"
    assert len(asked.parents(head)) == 1
    assert asked.base("main", "no-specs") == asked.commit("v1")
    assert asked.range("v1..main") == [head]
    assert "refs/heads/main" in asked.refs()
    assert asked.holders(head) == ["refs/heads/main"]
    assert asked.held(["specs/a.md"])
    assert asked.still_held(["specs/a.md"], ["refs/heads/main"], [])
    for words in (("merge-base", "main", "v1"), ("for-each-ref",), ("ls-tree", "HEAD"), ("rev-list", "HEAD"), ("show-ref",)):
        assert asked.answer(*words) is not None
    assert asked.answer("rev-parse", "HEAD") == (0, head.encode() + b"\n")
    for words in DIFFS:
        assert asked.answer(*words) is not None
    assert asked.content("f" * 40) is None
    assert asked.tree("f" * 40) is None
    assert snapshot(trapped) == before
    assert not list((trapped.parent / "marks").iterdir())


@pytest.mark.parametrize(
    "command",
    [
        "git reset --hard no-specs",
        "git checkout no-specs",
        "git stash -u",
        "git merge conflict",
        "git clean -fdx",
        "git rebase no-specs",
        "git status --porcelain",
        "git diff --name-only",
        "git zap",
        "git log",
        "git commit -qam x",
        "git ls-files -m",
        "git fetch",
        "git pull",
        "git diff",
        "git diff --cached v1",
        "git diff v1 no-specs",
        "git diff -p -M v1...feature",
        "git show",
        "git show --stat -p feature",
        "git stash show -p",
        "git format-patch -2 -o tmp",
        "git rebase -i HEAD~1",
        "git commit",
        "git worktree add -q ../scratch",
        "git check-ignore memory",
    ],
)
def test_no_judgement_leaves_a_mark(trapped: Path, command: str) -> None:
    before = snapshot(trapped)
    foresee(trapped, command)
    assert snapshot(trapped) == before
    assert not list((trapped.parent / "marks").iterdir())


def test_the_trap_works(trapped: Path) -> None:
    """What the questions avoid does run when git is used plainly."""
    really(trapped, "git status")
    assert list((trapped.parent / "marks").iterdir())


def test_git_is_not_taken_from_the_judged_tree_nor_from_shims(tmp_path: Path) -> None:
    fake = tmp_path / "app/bin"
    fake.mkdir(parents=True)
    (fake / "git").write_text("#!/bin/sh\n")
    (fake / "git").chmod(0o755)
    world = World({"PATH": str(fake)})
    found = real_git(world, str(tmp_path / "app"))
    assert found is not None
    assert not found.startswith(str(tmp_path))


def test_ask_gives_status_and_output() -> None:
    assert ask(["/usr/bin/git", "rev-parse", "--is-inside-work-tree"], "/", {}, 5) == (128, b"")
    assert ask(["/nonexistent/git"], "/", {}, 5) is None
    version = ask(["/usr/bin/git", "--version"], "/", {}, 5)
    assert version is not None
    assert version[1].startswith(b"git version")


def test_ask_ends_what_takes_too_long(tmp_path: Path) -> None:
    slow = tmp_path / "git"
    slow.write_text(f"#!/bin/sh\nsleep 30 &\necho $! > {tmp_path}/child\nwait\n")
    slow.chmod(0o755)
    start = time.monotonic()
    assert ask([str(slow)], "/", {"PATH": "/usr/bin:/bin"}, 0.3) is None
    assert time.monotonic() - start < 15
    child = int((tmp_path / "child").read_text())
    time.sleep(0.1)
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split(")")[1].split()[0] == "Z"


def test_ask_gives_up_on_too_much_output(tmp_path: Path) -> None:
    loud = tmp_path / "git"
    loud.write_text("#!/bin/sh\nexec yes\n")
    loud.chmod(0o755)
    assert ask([str(loud)], "/", {"PATH": "/usr/bin:/bin"}, 5) is None


def test_ask_hands_down_no_descriptor(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    probe = tmp_path / "git"
    probe.write_text("#!/bin/sh\nls /proc/self/fd | wc -l\n")
    probe.chmod(0o755)
    answer = ask([str(probe)], "/", {"PATH": "/usr/bin:/bin"}, 5)
    os.close(reader)
    os.close(writer)
    assert answer is not None
    assert int(answer[1]) <= 4
