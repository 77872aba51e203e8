"""A person at a real terminal, and an agent below a client, commit and push what takes protected files away."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from guard import git_hooks
from tests import client, pseudo_terminal
from tests.git_hooks.conftest import Repository
from tests.pseudo_terminal import Seen

EDITOR = "printf '\\nGuard-Allow: specs/a.md\\n' >>"


@pytest.fixture
def less(repository: Repository, remote: Path) -> Repository:
    """With guard's hooks, and the deletion of specs/a.md staged."""
    git_hooks.install(str(repository.top), repository.environment())
    repository.git("rm", "-q", "specs/a.md")
    return repository


def person(r: Repository, *argv: str, **more: str) -> Seen:
    """What a person sees who runs a program at a terminal, and types the letters that it shows."""
    program = shutil.which(argv[0]) or argv[0]
    return pseudo_terminal.run([program, *argv[1:]], r.top, {**pseudo_terminal.environment(r.home), **more}, r.home)


def guard(r: Repository, *words: str) -> Seen:
    return pseudo_terminal.guard(r.top, r.home, r.home, *words)


def agent(r: Repository, *argv: str) -> tuple[int, str]:
    done = client.run(list(argv), r.top, pseudo_terminal.environment(r.home), r.home / "client")
    return done.returncode, done.stdout + done.stderr


def refusal(said: str) -> str:
    found = re.search(r"\[(\w{4})\]", said)
    assert found, said
    return found[1]


def test_a_person_is_told_the_line_and_with_it_the_commit_goes_through(less: Repository) -> None:
    seen = person(less, "git", "commit", "-q", "-m", "less")
    assert seen.status == 1
    assert "end the message with the line\n  Guard-Allow: specs/a.md\n" in seen.shown
    again = re.search(r"git commit --edit -F (\S+?),", seen.shown)
    assert again is not None
    seen = person(less, "git", "commit", "-q", "--edit", "-F", again[1], EDITOR=EDITOR)
    assert (seen.status, "may lose what Guard-Allow names: specs/a.md" in seen.shown) == (0, True), seen
    assert less.git("log", "-1", "--format=%B") == "less\n\nGuard-Allow: specs/a.md"
    seen = person(less, "git", "push", "-q", "origin", "main")
    assert (seen.status, "may lose what Guard-Allow names" in seen.shown) == (0, True), seen


def test_in_the_editor_a_person_may_say_it_at_once_or_leave_it(less: Repository) -> None:
    seen = person(less, "git", "commit", "-q", EDITOR="true")
    assert seen.status == 1
    assert less.git("log", "--format=%s") == "start"
    seen = person(less, "git", "commit", "-q", EDITOR="sh -c 'printf \"less\\n\\nGuard-Allow: specs/a.md\\n\" > $1' sh")
    assert seen.status == 0, seen
    assert less.git("log", "--format=%s") == "less\nstart"


def test_the_same_line_of_an_agent_does_not_count(less: Repository) -> None:
    status, said = agent(less, "git", "commit", "-qm", "less\n\nGuard-Allow: specs/a.md")
    assert (status, "stop and ask the user" in said, "Guard-Allow" in said) == (1, True, False), said


def test_a_path_that_is_let_pass_goes_with_one_commit(less: Repository) -> None:
    seen = guard(less, "allow", "--path", "specs/b.md", "--reason", "obsolete")
    assert (seen.status, seen.answered) == (0, 1), seen
    assert agent(less, "git", "commit", "-qm", "less")[0] == 1  # specs/a.md was not let pass
    less.git("restore", "--staged", "--worktree", "specs/a.md")
    less.git("rm", "-q", "specs/b.md")
    status, said = agent(less, "git", "commit", "-qm", "less")
    assert status == 0, said
    less.git("checkout", "-q", "HEAD~1", "--", "specs/b.md")
    assert agent(less, "git", "commit", "-qm", "back")[0] == 0
    less.git("rm", "-q", "specs/b.md")
    assert agent(less, "git", "commit", "-qm", "less again")[0] == 1


def test_a_refused_commit_and_a_refused_push_are_let_pass_once_each(less: Repository) -> None:
    status, said = agent(less, "git", "commit", "-qm", "less")
    assert (status, "guard allow" in said) == (1, False), said
    seen = guard(less, "allow", refusal(said))
    assert (seen.status, seen.answered, "specs/a.md" in seen.shown) == (0, 1, True), seen
    status, said = agent(less, "git", "commit", "-qm", "less")
    assert status == 0, said
    status, said = agent(less, "git", "push", "-q", "origin", "main")
    assert (status, "Nothing was pushed" in said) == (1, True), said
    seen = guard(less, "allow", refusal(said))
    assert (seen.status, "specs/a.md" in seen.shown) == (0, True), seen
    status, said = agent(less, "git", "push", "-q", "origin", "main")
    assert status == 0, said
    status, said = agent(less, "git", "push", "-q", "origin", "main:topic", "--force")
    assert status == 0, said  # the remote has it by now: nothing more is lost
    kinds = guard(less, "log").shown
    assert [word for word in ("refused", "override", "passed") if word in kinds] == ["refused", "override", "passed"]


def test_what_was_let_pass_for_one_commit_does_not_help_another(less: Repository) -> None:
    seen = guard(less, "allow", refusal(agent(less, "git", "commit", "-qm", "less")[1]))
    assert seen.status == 0, seen
    less.git("rm", "-q", "specs/b.md")
    status, said = agent(less, "git", "commit", "-qm", "more than that")
    assert (status, "specs/b.md" in said) == (1, True), said
    less.git("restore", "--staged", "--worktree", "specs/b.md")
    assert agent(less, "git", "commit", "-qm", "less")[0] == 0


def test_one_leave_is_enough_for_all_branches_of_a_push(less: Repository) -> None:
    less.git("commit", "-qnm", "less")
    less.git("push", "-q", "--no-verify", "origin", "HEAD~1:refs/heads/other")
    less.git("branch", "other")
    status, said = agent(less, "git", "push", "-q", "origin", "main", "other")
    assert (status, said.count("guard: refused")) == (1, 2), said
    assert guard(less, "allow", refusal(said)).status == 0
    status, said = agent(less, "git", "push", "-q", "origin", "main", "other")
    assert (status, said) == (0, "")


def test_without_the_hook_for_messages_a_person_lets_the_commit_pass_first(less: Repository) -> None:
    (less.top / ".git/hooks/commit-msg").unlink()
    seen = person(less, "git", "commit", "-qm", "less")
    assert seen.status == 1
    how = re.search(r"If it is meant, pathguard allow (\w{4}), then commit again", seen.shown)
    assert how is not None, seen
    assert guard(less, "allow", how[1]).status == 0
    status, said = agent(less, "git", "commit", "-qm", "less\n\nGuard-Allow: specs/a.md")
    assert status == 0, said
    assert agent(less, "git", "push", "-q", "origin", "main")[0] == 0
