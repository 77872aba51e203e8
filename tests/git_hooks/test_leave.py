"""What a person has let pass goes through a commit, once, and what an agent puts in its place does not."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard import git_hooks, granting, project
from guard.grants import LOSS, PATH, Grant
from tests import client
from tests.git_hooks.conftest import Repository

PYTHON = Path(sys.executable).parent


@pytest.fixture
def hooked(repository: Repository) -> Repository:
    """With guard's hooks, which call guard as it stands here."""
    command = repository.home / "bin/pathguard"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m guard "$@"\n')
    command.chmod(0o755)
    git_hooks.install(str(repository.top), repository.environment(PATH=f"{command.parent}:/usr/bin:/bin"))
    for hook in (repository.top / ".git/hooks").iterdir():
        if b"guard_command=" in hook.read_bytes():
            text = hook.read_text()
            hook.write_text(
                "\n".join("guard_command=" if line.startswith("guard_command=") else line for line in text.split("\n"))
            )
    return repository


def agent(repository: Repository, command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A command of an agent's."""
    environ = repository.environment(PATH=f"{repository.home}/bin:/usr/bin:/bin")
    shell = ["sh", "-c", command]
    return client.run(shell, repository.top, {**environ, **more}, repository.home / "client", started=environ)


def give(repository: Repository, *names: str, state: str = "") -> Grant:
    state = state or str(project.state_dir(repository.environment()))
    now = time.time()
    victims = {str(repository.top / name): LOSS for name in names}
    grant = Grant(granting.new_name(), PATH, str(repository.top), now, now + 600, victims)
    return granting.give(grant, state, False)


def test_a_retired_file_leaves_by_one_commit(hooked: Repository) -> None:
    hooked.git("rm", "-q", "specs/a.md")
    refused = agent(hooked, "git commit -m drop")
    assert refused.returncode == 1, refused.stderr
    assert "specs/a.md" in refused.stderr
    give(hooked, "specs/a.md")
    done = agent(hooked, "git commit -m drop")
    assert done.returncode == 0, done.stderr
    hooked.git("rm", "-q", "specs/b.md")
    assert agent(hooked, "git commit -m more").returncode == 1
    hooked.git("reset", "-q", "--hard", "HEAD~1")
    hooked.git("rm", "-q", "specs/a.md")
    assert agent(hooked, "git commit -m again").returncode == 1


def test_it_covers_no_other_file_of_the_commit(hooked: Repository) -> None:
    give(hooked, "specs/a.md")
    hooked.git("rm", "-q", "specs/a.md", "specs/b.md")
    assert agent(hooked, "git commit -m drop").returncode == 1
    hooked.git("reset", "-q", "HEAD", "specs/b.md")
    assert agent(hooked, "git commit -m drop").returncode == 0


@pytest.mark.parametrize("variable", ["GUARD_STATE_DIR", "XDG_STATE_HOME", "HOME"])
def test_a_grant_where_the_agent_says_does_nothing(variable: str, hooked: Repository) -> None:
    chosen = hooked.home / "chosen"
    chosen.mkdir()
    (chosen / ".gitconfig").write_bytes((hooked.home / ".gitconfig").read_bytes())
    given = {variable: str(chosen)}
    give(hooked, "specs/a.md", state=str(project.state_dir(hooked.environment(**given))))
    hooked.git("rm", "-q", "specs/a.md")
    assert agent(hooked, "git commit -m drop", **given).returncode == 1
    assert agent(hooked, f"env {variable}={chosen} git commit -m drop").returncode == 1


RULE = '[[except]]\ncommand = "{}"\npaths = ["/specs/"]\nreason = "x"\n'


def test_a_rule_for_a_commit_holds_for_that_very_one(hooked: Repository) -> None:
    hooked.write("guard.toml", RULE.format("git commit -m drop"))
    hooked.git("rm", "-q", "specs/a.md")
    assert agent(hooked, "git commit -m dropped").returncode == 1
    assert agent(hooked, "git commit  -m drop --quiet").returncode == 1
    done = agent(hooked, "git commit -m drop")
    assert done.returncode == 0, done.stderr


def test_a_rule_holds_for_what_its_command_commits(hooked: Repository) -> None:
    hooked.write("Makefile", "drop:\n\tgit rm -q specs/b.md\n\tgit commit -qm drop\n")
    hooked.write("guard.toml", RULE.format("make drop"))
    done = agent(hooked, "make drop")
    assert done.returncode == 0, done.stderr
    hooked.git("rm", "-q", "specs/a.md")
    assert agent(hooked, "git commit -m other").returncode == 1
