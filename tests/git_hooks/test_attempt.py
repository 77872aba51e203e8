"""One attempt at a commit: what a person let pass holds until it has come about, it is recorded once, and no variable or
replacement that the command brings along changes what it is judged by."""

from __future__ import annotations

from pathlib import Path

import pytest

from guard import anchor, git_hooks, log, project
from guard.commits import attempt
from tests import client, pseudo_terminal
from tests.git_hooks.conftest import Repository
from tests.git_hooks.test_person import agent, guard, person, refusal


@pytest.fixture
def less(repository: Repository) -> Repository:
    """With guard's hooks, and the deletion of specs/a.md staged."""
    git_hooks.install(str(repository.top), repository.environment())
    repository.git("rm", "-q", "specs/a.md")
    return repository


def decisions(r: Repository) -> list[str]:
    """What the log has of git's hooks, oldest first."""
    state = project.state_dir(r.environment())
    return [event["decision"] for event in log.read(state) if event.get("layer") == "git-hook"]


def test_a_commit_that_git_gives_up_may_be_tried_again_and_none_after_it(less: Repository) -> None:
    name = refusal(agent(less, "git", "commit", "-qm", "less")[1])
    assert guard(less, "allow", name).status == 0
    status, said = agent(less, "git", "commit", "-qm", "")
    assert (status, "empty commit message" in said) == (1, True), said
    less.git("rm", "-q", "specs/b.md")
    assert agent(less, "git", "commit", "-qm", "more than that")[0] == 1
    less.git("restore", "--staged", "--worktree", "specs/b.md")
    status, said = agent(less, "git", "commit", "-qm", "less")
    assert status == 0, said
    less.git("reset", "-q", "--hard", "HEAD~1")
    less.git("rm", "-q", "specs/a.md")
    assert agent(less, "git", "commit", "-qm", "the same once more")[0] == 1


def test_a_push_that_fails_behind_the_hook_may_be_tried_again(less: Repository, remote: Path) -> None:
    less.git("commit", "-qnm", "less")
    refused = agent(less, "git", "push", "-q", "origin", "main")[1]
    assert guard(less, "allow", refusal(refused)).status == 0
    hook = remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert agent(less, "git", "push", "-q", "origin", "main")[0] == 1
    hook.unlink()
    status, said = agent(less, "git", "push", "-q", "origin", "main")
    assert status == 0, said


def test_a_refused_commit_stands_in_the_log_once(less: Repository) -> None:
    assert person(less, "git", "commit", "-qm", "less").status == 1
    assert decisions(less) == ["deny"]
    assert agent(less, "git", "commit", "-qm", "less")[0] == 1
    assert decisions(less) == ["deny", "deny"]


def test_one_that_a_person_let_pass_was_never_refused(less: Repository) -> None:
    less.git("restore", "--staged", "--worktree", "specs/a.md")
    assert guard(less, "allow", "--path", "specs/a.md", "--reason", "obsolete").status == 0
    less.git("rm", "-q", "specs/a.md")
    assert agent(less, "git", "commit", "-qm", "less")[0] == 0
    assert decisions(less) == ["allow"]


def test_hooks_of_both_kinds_record_it_once_and_by_one_name(less: Repository) -> None:
    """As where pre-commit was installed over guard's hook, and has guard in its configuration, too."""
    (less.top / ".git/hooks/commit-msg").unlink()
    first = less.hook("pre-commit")[1]
    second = less.hook("protected-files", PRE_COMMIT="1")[1]
    assert (decisions(less), refusal(first)) == (["deny"], refusal(second))
    less.git("rm", "-q", "specs/b.md")
    assert refusal(less.hook("protected-files", PRE_COMMIT="1")[1]) != refusal(first)


@pytest.fixture
def kept(less: Repository) -> Repository:
    """The user's own configuration keeps src/, and a deletion there is staged; other configuration stands beside."""
    own = less.home / ".config/guard/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[protect]\nkeep = ["src/"]\n')
    chosen = less.home / "chosen/guard/config.toml"
    chosen.parent.mkdir(parents=True)
    chosen.write_text("[answer]\nobserve = true\n")
    less.git("restore", "--staged", "--worktree", "specs/a.md")
    return less


@pytest.mark.parametrize(
    "words", [["XDG_CONFIG_HOME={home}/chosen"], ["XDG_CONFIG_HOME=/x"], ["HOME={home}/chosen"], ["-u", "HOME"]]
)
@pytest.mark.parametrize("path", ["src/util.py", "specs/a.md"])
def test_a_command_cannot_choose_the_users_configuration(words: list[str], path: str, kept: Repository) -> None:
    kept.git("rm", "-q", path)
    identity = [f"GIT_{who}_{what}=a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    argv = ["/usr/bin/env", *(word.format(home=kept.home) for word in words), *identity, "git", "commit", "-qm", "less"]
    environ = pseudo_terminal.environment(kept.home)
    done = client.run(argv, kept.top, environ, kept.home / "client")
    assert (done.returncode, path in done.stderr) == (1, True), done


def test_whoever_started_the_client_has_chosen(kept: Repository) -> None:
    kept.git("rm", "-q", "specs/a.md")
    environ = {**pseudo_terminal.environment(kept.home), "XDG_CONFIG_HOME": str(kept.home / "chosen")}
    done = client.run(["git", "commit", "-qm", "less"], kept.top, environ, kept.home / "client")
    assert done.returncode == 0, done


def test_without_a_client_the_account_tells_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = tmp_path / "account"
    monkeypatch.setattr(anchor, "agents", lambda: None)
    monkeypatch.setattr(anchor, "accounts", lambda: [{"HOME": str(account)}, {"XDG_CONFIG_HOME": "/etc/xdg"}])
    elsewhere = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "other")}
    assert attempt.vouched(elsewhere) is None  # nothing stands in either place
    (account / ".config/guard").mkdir(parents=True)
    (account / ".config/guard/config.toml").write_text("")
    assert attempt.vouched(elsewhere) == {**elsewhere, "XDG_CONFIG_HOME": str(account / ".config")}
    assert attempt.vouched({"HOME": str(account)}) is None
    assert attempt.vouched({"XDG_CONFIG_HOME": "/etc/xdg"}) is None


def test_a_replaced_commit_is_judged_as_the_one_that_it_is(less: Repository) -> None:
    """To git's own commands the branch never had the file."""
    less.git("commit", "-qnm", "less")
    less.git("replace", "HEAD~1", "HEAD")
    less.git("reset", "-q", "--soft", less.git("rev-parse", "HEAD~1"))
    status, said = less.hook("pre-commit")
    assert (status, "specs/a.md" in said) == (1, True), said
