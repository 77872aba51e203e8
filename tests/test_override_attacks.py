"""What an agent tries that wants to get on: nothing of its own choice takes the place of a person's word."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from guard import compiled, granting, grants, project, shim_data, shims
from guard.grants import LOSS, SUSPENSION, Grant
from guard.policy import Root
from guard.world import World
from tests import client
from tests.test_grants import check, environment, execute, give, guarded, shell, state, top

__all__ = ["guarded", "top"]

CHOICES: list[Callable[[Path], dict[str, str]]] = [
    lambda chosen: {"GUARD_STATE_DIR": str(chosen)},
    lambda chosen: {"XDG_STATE_HOME": str(chosen)},
    lambda chosen: {"HOME": str(chosen)},
]


def forge(top: Path, chosen: Path, choice: Callable[[Path], dict[str, str]]) -> tuple[dict[str, str], str]:
    """Grants for everything where an agent's variables lead: those variables, and that directory."""
    given = choice(chosen)
    chosen.mkdir()
    place = project.state_dir(environment(top, **given))
    assert place is not None
    now = time.time()
    victims = {str(path): LOSS for path in top.rglob("*") if path.is_file()}
    for kind in ("path", SUSPENSION):
        grant = Grant(granting.new_name(), kind, str(top), now, now + 600, victims if kind == "path" else {})
        granting.give(grant, place, False)
    assert len(grants.standing(place, False)) == 2
    return given, place


@pytest.mark.parametrize("choice", CHOICES)
def test_grants_in_a_directory_of_the_agents_choice_do_nothing(choice: Callable[[Path], dict[str, str]], top: Path) -> None:
    given, _ = forge(top, top.parent / "chosen", choice)
    assert check(top, "rm CLAUDE.md", **given) == 1
    assert client.run(["true"], top, environment(top), top.parent / "client").returncode == 0
    run = client.run(  # a client that was started so is another matter: who started it has chosen
        [sys.executable, "-m", "guard", "check", "--headless", "rm CLAUDE.md"], top, environment(top, **given), top.parent / "own"
    )
    assert run.returncode == 0


@pytest.mark.parametrize("choice", CHOICES)
def test_shims_do_not_heed_them_either(choice: Callable[[Path], dict[str, str]], top: Path, guarded: dict[str, str]) -> None:
    given, _ = forge(top, top.parent / "chosen", choice)
    words = " ".join(f"{name}={value}" for name, value in given.items())
    prepared = f"env {words} XDG_DATA_HOME={guarded['HOME']}/.local/share {sys.executable} -m guard exec true"
    for command in (f"{words} rm CLAUDE.md", f"export {words}; {prepared}; rm CLAUDE.md", f"{prepared}; {words} rm CLAUDE.md"):
        assert shell(top, guarded, command) == 126, command
    assert (top / "CLAUDE.md").exists()


def test_a_real_grant_counts_for_shims_whatever_the_command_sets(top: Path, guarded: dict[str, str]) -> None:
    give(top, "CLAUDE.md")
    assert shell(top, guarded, f"HOME={top.parent}/x rm CLAUDE.md") == 0
    give(top, "specs/a.md")
    assert shell(top, guarded, f'env -i "PATH=$PATH" rm {top}/specs/a.md') == 0


@pytest.mark.parametrize("choice", CHOICES)
def test_a_runner_inside_of_a_client_does_not_choose(choice: Callable[[Path], dict[str, str]], top: Path) -> None:
    """guard exec below a client, told to keep its state elsewhere: what is let pass there is brought back."""
    given, _ = forge(top, top.parent / "chosen", choice)
    argv = [sys.executable, "-m", "guard", "exec", "--", sys.executable, "-c", "import os; os.unlink('CLAUDE.md')"]
    run = client.run(argv, top, environment(top, **given), top.parent / "client", started=environment(top))
    assert run.returncode == 4
    assert (top / "CLAUDE.md").exists()


def test_without_a_client_above_the_account_decides(top: Path) -> None:
    """As for a command that has left its client behind."""
    given, _ = forge(top, top.parent / "chosen", CHOICES[0])
    argv = [sys.executable, "-m", "guard", "check", "--headless", "rm CLAUDE.md"]
    run = client.run(argv, top, environment(top, **given), top.parent / "client", name="something", started={})
    assert run.returncode == 1


def test_places_of_agents_do_not_push_out_those_of_people(top: Path, guarded: dict[str, str]) -> None:
    directory = shims.directory(f"{guarded['HOME']}/.local/share/guard", "default")
    first = shim_data.places(directory)
    assert first
    for at in range(20):
        (top.parent / f"chosen{at}").mkdir()
        shim_data.prepare(directory, environment(top, GUARD_STATE_DIR=str(top.parent / f"chosen{at}")))
    shim_data.prepare(directory, environment(top))
    found = shim_data.places(directory)
    assert found is not None
    assert len(found) == shim_data.PLACE_LIMIT
    assert found[0] == first[0]


def test_a_compiled_policy_of_the_agents_choice_is_not_believed(top: Path) -> None:
    """Nor is a table that was accepted there."""
    (top / "guard.toml").write_text('[protect]\nkeep = ["/docs/"]\n')
    given = {"GUARD_STATE_DIR": str(top.parent / "chosen")}
    environ = environment(top, **given)
    nothing = Root(str(top), (), sources=project.sources(str(top), "", environ, World(environ)))
    path = compiled.path_for(given["GUARD_STATE_DIR"], str(top))
    os.makedirs(os.path.dirname(path))
    compiled.store(path, [nothing])
    time.sleep(0.1)
    assert check(top, "rm docs/c.md", **given) == 1
    (top / "guard.toml").unlink()
    text = b"[tool.guard.protect]\nkeep = []\n"
    (top / "pyproject.toml").write_bytes(text)
    from guard import acceptance

    acceptance.accept(text, str(top / "pyproject.toml"), given["GUARD_STATE_DIR"], False)
    assert check(top, "rm CLAUDE.md", **given) == 1
    acceptance.accept(text, str(top / "pyproject.toml"), state(top), False)
    assert check(top, "rm CLAUDE.md") == 0


def test_a_directory_of_grants_that_is_a_link_or_open_to_others_counts_for_nothing(top: Path) -> None:
    made = give(top, "CLAUDE.md")
    place = Path(made.place)
    place.chmod(0o777)
    assert check(top, "rm CLAUDE.md") == 1
    place.chmod(0o700)
    other = place.rename(top.parent / "elsewhere")
    place.symlink_to(other)
    (other / f"{made.name}.grant").write_bytes(grants.dump(made._replace(place=str(other.resolve()))))
    assert check(top, "rm CLAUDE.md") == 1


def test_a_grant_that_would_hold_for_long_holds_not_at_all(top: Path) -> None:
    now = time.time()
    give(top, "CLAUDE.md", created=now - 10, expires=now + 86400)
    assert check(top, "rm CLAUDE.md") == 1


@pytest.mark.parametrize(("moved", "left"), [(0, 1), (-3600, 0), (-30, 1), (599, 1), (601, 0)])
def test_a_clock_that_steps_makes_nothing_hold_longer(moved: float, left: int, top: Path) -> None:
    made = give(top, "CLAUDE.md")
    assert len(grants.standing(state(top), False, made.created + moved)) == left


def test_the_way_to_the_project_does_not_matter(top: Path) -> None:
    (top.parent / "link").symlink_to(top)
    give(top, "CLAUDE.md")
    assert check(top, f"rm {top.parent}/link/specs/a.md") == 1
    assert check(top, f"cd {top.parent}/link && rm CLAUDE.md") == 0
    assert check(top, f"cd {top.parent}/link && rm CLAUDE.md") == 1


def test_a_worktree_is_another_project(top: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *words], cwd=top, env=environment(top), check=True, capture_output=True)

    git("add", "-A")
    git("commit", "-qm", "start")
    git("worktree", "add", "-q", "../tree")
    tree = top.parent / "tree"
    give(top, "CLAUDE.md")
    assert check(tree, "rm CLAUDE.md") == 1
    give(top, root=str(tree.resolve()), victims={str(tree.resolve() / "CLAUDE.md"): "delete-kept"})
    assert check(tree, "rm CLAUDE.md") == 0
    assert check(top, "rm CLAUDE.md") == 0
    assert check(top, "rm CLAUDE.md") == 1


@pytest.mark.parametrize(
    "command",
    ["rm  -rf specs", "rm -rf specs ", " rm -rf specs", "rm -rf specs;", "rm -rf specs # x", "rm -rf specs\n", "rm\t-rf specs",
     "rm -rf 'specs'", "rm -rf specs && true", "\nrm -rf specs", "(rm -rf specs)"],
)  # fmt: skip
def test_a_rule_holds_for_one_spelling(command: str, top: Path) -> None:
    (top / "guard.toml").write_text('[[except]]\ncommand = "rm -rf specs"\npaths = ["/specs/"]\nreason = "x"\n')
    assert check(top, "rm -rf specs") == 0
    assert check(top, command) == 1


def test_a_rule_does_not_hold_for_a_file_of_that_name(top: Path) -> None:
    """Neither for a shell's script, nor for a program that is given the text."""
    (top / "guard.toml").write_text('[[except]]\ncommand = "make specs"\npaths = ["/specs/"]\nreason = "x"\n')
    (top / "make").write_text("rm -rf specs/*\n")
    assert execute(top, "sh", "make", "specs").returncode != 0
    assert (top / "specs/a.md").exists()
    (top / "sh").write_text(f"#!{sys.executable}\nimport shutil; shutil.rmtree('specs')\n")
    (top / "sh").chmod(0o755)
    for name in ("./sh", f"{top}/sh"):
        assert execute(top, name, "-c", "make specs").returncode == 4
        assert (top / "specs/a.md").exists()


def test_nothing_is_restored_from_a_directory_of_the_agents_choice(top: Path) -> None:
    assert check(top, "guard restore --all --yes") == 0
    for words in ("GUARD_STATE_DIR=/x", "XDG_STATE_HOME=/x", "HOME=/x", "env -i", "env -u HOME"):
        assert check(top, f"{words} guard restore --all --yes") == 1, words


def test_the_users_own_files_are_locked_for_every_tool(top: Path) -> None:
    config = Path(environment(top)["HOME"]) / ".config/guard/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[protect]\nkeep = ["/x"]\n')
    give(top, kind=SUSPENSION, victims={})
    for command in (
        "echo x > ~/.config/guard/config.toml",
        "sed -i s/x/y/ ~/.config/guard/config.toml",
        "cp CLAUDE.md ~/.config/guard/config.toml",
        "mv ~/.config/guard ~/.config/other",
        "mv ~/.config ~/.other",
        "ln -sfn /tmp/x ~/.config/guard/config.toml",
        "git config --file ~/.config/guard/config.toml protect.keep x",
        "cd / && git config --file ~/.config/guard/config.toml protect.keep x",
        "truncate -s0 ~/.config/guard/config.toml",
        """python3 -c "import os; open(os.path.expanduser('~/.config/guard/config.toml'), 'w')" """,
        """perl -e 'open(F, ">$ENV{HOME}/.config/guard/config.toml")'""",
        """perl -e 'unlink $ENV{HOME}."/.config/guard/config.toml"'""",
        """node -e "require('fs').unlinkSync(process.env.HOME + '/.config/guard/config.toml')" """,
        """node -e "require('fs').unlinkSync(process.env['HOME'] + '/.config/guard/config.toml')" """,
        """ruby -e 'File.delete(ENV["HOME"] + "/.config/guard/config.toml")'""",
        """ruby -e 'File.delete(File.expand_path("~/.config/guard/config.toml"))'""",
        """php -r "unlink(getenv('HOME').'/.config/guard/config.toml');" """,
        """lua -e "os.remove(os.getenv('HOME')..'/.config/guard/config.toml')" """,
    ):
        assert check(top, command) == 1, command


# --- looking afterwards


def later(top: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return client.run([sys.executable, "-m", "guard", *words], top, environment(top), top.parent / "client")


def test_a_retired_file_is_no_violation_and_does_not_come_back(top: Path) -> None:
    assert later(top, "snapshot").returncode == 0
    give(top, kind="path", victims={str(top / "specs/a.md"): LOSS})
    (top / "specs/a.md").unlink()
    seen = later(top, "verify")
    assert seen.returncode == 0, seen.stdout
    assert "let pass by a person" in seen.stdout
    seen = later(top, "restore", "--all", "--yes")
    assert seen.returncode == 0
    assert not (top / "specs/a.md").exists()
    (top / "specs/b.md").unlink()
    assert later(top, "verify").returncode == 1
    seen = later(top, "restore", "--all", "--yes")
    assert ((top / "specs/a.md").exists(), (top / "specs/b.md").exists()) == (False, True)
    assert later(top, "restore", "--yes", "specs/a.md").returncode == 0
    assert (top / "specs/a.md").exists()


def test_what_was_retired_elsewhere_is_a_violation(top: Path) -> None:
    assert later(top, "snapshot").returncode == 0
    given, _ = forge(top, top.parent / "chosen", CHOICES[0])
    assert "HOME" not in given
    (top / "specs/a.md").unlink()
    assert later(top, "verify").returncode == 1
    assert later(top, "restore", "--all", "--yes").returncode == 0
    assert (top / "specs/a.md").exists()
