"""What a person lets pass: once, for what was shown, in every layer that one call goes through, and for nobody else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard import granting, grants, project, shims
from guard.errors import GuardError
from guard.grants import CALL, LOSS, PATH, SUSPENSION, Grant
from tests import client, pseudo_terminal

FILES = ("specs/a.md", "specs/b.md", "docs/c.md", "CLAUDE.md")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A project with protected files, and a home directory beside it."""
    for name in FILES:
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n" * 9)
    (tmp_path / "home").mkdir()
    subprocess.run(["git", "init", "-q", tmp_path / "project"], check=True)
    return (tmp_path / "project").resolve()


def environment(top: Path, **more: str) -> dict[str, str]:
    return pseudo_terminal.environment(top.parent / "home", **more)


def state(top: Path) -> str:
    found = project.state_dir(environment(top))
    assert found is not None
    return found


def check(top: Path, command: str, **more: str) -> int:
    argv = [sys.executable, "-m", "guard", "check", "--headless", "--", command]
    return client.run(argv, top, environment(top, **more), top.parent / "client", started=environment(top)).returncode


def refused(top: Path, command: str) -> str:
    """The id of a refusal."""
    argv = [sys.executable, "-m", "guard", "check", "--headless", "--", command]
    run = subprocess.run(argv, cwd=top, env=environment(top), capture_output=True, text=True, timeout=60)
    found = re.search(r"\[(\w{4})\]", run.stderr)
    assert found, run.stderr
    return found[1]


def give(top: Path, *names: str, **fields: object) -> Grant:
    """A grant as `guard allow` writes it, for these files."""
    now = time.time()
    victims = {str(top / name): "delete-kept" for name in names}
    given = {
        "name": granting.new_name(),
        "kind": CALL,
        "root": str(top),
        "created": now,
        "expires": now + 600,
        "victims": victims,
    }
    return granting.give(Grant(**{**given, **fields}), state(top), False)  # type: ignore[arg-type]


def test_a_grant_lets_one_call_pass(top: Path) -> None:
    assert check(top, "rm -rf specs") == 1
    give(top, "specs/a.md", "specs/b.md")
    assert check(top, "rm -rf specs") == 0
    assert check(top, "rm -rf specs") == 1


def test_a_part_of_it_passes_another_spelling_too(top: Path) -> None:
    give(top, "specs/a.md", "specs/b.md")
    assert check(top, "find specs -name 'a*' -delete") == 0
    assert check(top, "rm specs/b.md") == 1


def test_nothing_passes_that_it_does_not_name(top: Path) -> None:
    give(top, "specs/a.md")
    assert check(top, "rm -rf specs") == 1
    assert check(top, "rm CLAUDE.md") == 1
    assert check(top, "rm specs/a.md CLAUDE.md") == 1
    assert check(top, "rm specs/a.md") == 0


def test_who_may_overwrite_may_not_delete(top: Path) -> None:
    give(top, victims={str(top / "CLAUDE.md"): "overwrite-kept"})
    assert check(top, "rm CLAUDE.md") == 1
    give(top, "CLAUDE.md")
    assert check(top, "date > CLAUDE.md") == 0


def test_it_is_over_after_its_time_and_not_begun_before(top: Path) -> None:
    now = time.time()
    give(top, "CLAUDE.md", created=now - 700, expires=now - 100)
    give(top, "CLAUDE.md", created=now + 3600, expires=now + 4200)
    assert check(top, "rm CLAUDE.md") == 1


def test_it_holds_in_its_own_project_alone(top: Path) -> None:
    give(top, "CLAUDE.md", root=str(top.parent / "other"))
    assert check(top, "rm CLAUDE.md") == 1


def test_a_grant_of_another_user_or_place_does_nothing(top: Path) -> None:
    made = give(top, "CLAUDE.md")
    path = Path(made.place) / f"{made.name}.grant"
    whole = path.read_bytes()
    for other in (made._replace(user=os.getuid() + 1), made._replace(place="/elsewhere"), made._replace(name="other")):
        path.write_bytes(grants.dump(other))
        assert check(top, "rm CLAUDE.md") == 1
    path.write_bytes(whole)
    path.chmod(0o666)
    assert check(top, "rm CLAUDE.md") == 1
    path.chmod(0o600)
    if os.getuid() == 0:
        os.chown(path, 12345, 12345)
        assert check(top, "rm CLAUDE.md") == 1
        os.chown(path, 0, 0)
    target = path.rename(path.with_name("moved"))
    path.symlink_to(target)
    assert check(top, "rm CLAUDE.md") == 1
    path.unlink()
    target.rename(path)
    assert check(top, "rm CLAUDE.md") == 0


def test_a_torn_grant_does_nothing(top: Path) -> None:
    made = give(top, "CLAUDE.md")
    path = Path(made.place) / f"{made.name}.grant"
    whole = path.read_bytes()
    cuts = [0, 1, len(grants.HEADER), len(grants.HEADER) + 9, len(whole) // 2, len(whole) - 2, len(whole) - 1]
    for data in [*(whole[:at] for at in cuts), whole + b"x", whole.replace(b"CLAUDE", b"AGENTS"), b"\0" * 99, b"[" * 99999]:
        path.write_bytes(data)
        assert grants.known(state(top), False) == []
    path.write_bytes(whole)
    assert grants.known(state(top), False) == [made]


def test_values_of_the_wrong_kind_do_nothing(top: Path) -> None:
    made = give(top, "CLAUDE.md")
    path = Path(made.place) / f"{made.name}.grant"
    for other in (made._replace(victims=["/"]), made._replace(expires="soon"), made._replace(root=None)):  # type: ignore[arg-type]
        path.write_bytes(grants.dump(other))
        assert grants.known(state(top), False) == []


def test_fifty_at_once_use_it_once(top: Path) -> None:
    give(top, "CLAUDE.md")
    argv = [sys.executable, "-m", "guard", "check", "--headless", "--", "rm CLAUDE.md"]
    done = client.run_all([argv] * 50, top, environment(top), top.parent / "client")
    assert sorted(each.returncode for each in done) == [0] + [1] * 49


def test_fifty_calls_of_tools_at_once_use_it_once(top: Path) -> None:
    """Each in a session of its own, as clients start them."""
    made = give(top, "CLAUDE.md")
    code = (
        "import sys; from guard import grants\n"
        f"found, = grants.standing({state(top)!r}, False)\n"
        f"print(grants.use(found, 'run', {state(top)!r}))"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment(top), stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        for _ in range(50)
    ]
    said = [process.communicate(timeout=120)[0].strip() for process in running]
    assert sorted(said) == ["False"] * 49 + ["True"]
    assert [layer for layer, _ in grants.uses(made, state(top))] == ["run"]


def test_guard_and_its_own_files_are_never_granted(top: Path) -> None:
    (top / "guard.toml").write_text('[protect]\nkeep = ["/CLAUDE.md"]\n')
    own = f"{state(top)}/decisions.jsonl"
    check(top, "rm CLAUDE.md")
    give(top, victims={str(top / "guard.toml"): LOSS, own: LOSS, state(top): LOSS, str(top / "CLAUDE.md"): LOSS})
    give(top, kind=SUSPENSION, victims={})
    for command in (
        f"rm -rf {state(top)}",
        f"rm {own}",
        "rm guard.toml",
        "echo > guard.toml",
        "guard allow r7f3",
        "guard suspend 5m",
    ):
        assert check(top, command) == 1, command
    assert check(top, "rm CLAUDE.md") == 0


def test_what_cannot_be_told_passes_only_as_it_was_spelled(top: Path) -> None:
    command = "rm -rf specs/$(hostid)*"
    assert check(top, command) == 1
    give(top, victims={str(top / name): "delete-kept" for name in FILES}, exact=False, command=command, cwd=str(top))
    assert check(top, command) == 1
    give(top, victims={str(top / name): "delete-kept" for name in FILES}, exact=True, command=command, cwd=str(top.parent))
    assert check(top, command) == 1
    give(top, victims={str(top / name): "delete-kept" for name in FILES}, exact=True, command=command, cwd=str(top))
    assert check(top, command + " x") == 1
    assert check(top, command) == 0


def test_explaining_uses_nothing_up(top: Path) -> None:
    give(top, "CLAUDE.md")
    for _ in range(2):
        argv = [sys.executable, "-m", "guard", "explain", "rm CLAUDE.md"]
        subprocess.run(argv, cwd=top, env=environment(top), capture_output=True, timeout=60, check=True)
    assert check(top, "rm CLAUDE.md") == 0


def test_many_victims(top: Path) -> None:
    names = [f"specs/{at:03}.md" for at in range(300)]
    for name in names:
        (top / name).write_text("x\n")
    give(top, "specs/a.md", "specs/b.md", *names[1:])
    assert check(top, "rm -rf specs") == 1
    give(top, "specs/a.md", "specs/b.md", *names)
    assert check(top, "rm -rf specs") == 0


@pytest.fixture
def guarded(top: Path) -> dict[str, str]:
    """The environment of a shell with the shims first on PATH."""
    environ = environment(top)
    run = subprocess.run(
        [sys.executable, "-m", "guard", "shims", "install"], env=environ, cwd=top, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    path = shims.directory(f"{environ['HOME']}/.local/share/guard", "default")
    return {**environ, "PATH": f"{path}:{environ['PATH']}"}


def shell(top: Path, guarded: dict[str, str], command: str) -> int:
    """A shell as clients start one: in a session of its own."""
    return client.run(["sh", "-c", command], top, guarded, top.parent / "client", started=environment(top)).returncode


def test_one_granted_command_passes_text_and_shims(top: Path, guarded: dict[str, str]) -> None:
    assert shell(top, guarded, "rm -rf specs") == 126
    give(top, "specs/a.md", "specs/b.md")
    assert check(top, "rm specs/a.md && find specs -name b.md -exec rm {} ';'") == 0
    assert shell(top, guarded, "rm specs/a.md && find specs -name b.md -exec rm {} ';'") == 0
    assert not (top / "specs/a.md").exists()
    assert not (top / "specs/b.md").exists()


def test_the_next_call_does_not_share_it(top: Path, guarded: dict[str, str]) -> None:
    give(top, "specs/a.md", "specs/b.md")
    assert shell(top, guarded, "rm specs/a.md") == 0
    assert shell(top, guarded, "rm specs/b.md") == 126
    assert (top / "specs/b.md").exists()


def test_a_shim_lets_nothing_else_pass(top: Path, guarded: dict[str, str]) -> None:
    give(top, "specs/a.md")
    assert shell(top, guarded, "rm -rf specs") == 126
    assert shell(top, guarded, "rm CLAUDE.md") == 126


def execute(top: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return client.run([sys.executable, "-m", "guard", "exec", "--", *argv], top, environment(top), top.parent / "client")


def test_what_was_let_pass_is_not_brought_back(top: Path) -> None:
    give(top, "specs/a.md")
    assert execute(top, "sh", "-c", "rm specs/a.md").returncode == 0
    assert not (top / "specs/a.md").exists()


def test_a_program_that_no_shim_sees_uses_it_up_too(top: Path) -> None:
    give(top, "specs/a.md", kind=PATH, victims={str(top / "specs/a.md"): LOSS})
    remove = "import os; os.unlink('specs/a.md')"
    assert execute(top, sys.executable, "-c", remove).returncode == 0
    assert not (top / "specs/a.md").exists()
    (top / "specs/a.md").write_text("again\n")
    assert execute(top, sys.executable, "-c", remove).returncode == 4
    assert (top / "specs/a.md").exists()


def test_what_was_not_let_pass_is_brought_back_besides(top: Path) -> None:
    give(top, "specs/a.md", kind=PATH, victims={str(top / "specs/a.md"): LOSS})
    assert execute(top, sys.executable, "-c", "import shutil; shutil.rmtree('specs')").returncode == 4
    assert (top / "specs/b.md").exists()
    assert not (top / "specs/a.md").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_an_exception_holds_through_shims_and_restore(top: Path) -> None:
    """What a rule lets a command do is let pass where that command does it by other tools, too."""
    (top / "Makefile").write_text("specs:\n\trm -rf specs/*\n.PHONY: specs\n")
    rule = '[[except]]\ncommand = "make specs"\npaths = ["/specs/"]\nreason = "regenerated"\n'
    (top / "guard.toml").write_text(rule + "expires = 2001-01-01\n")
    assert check(top, "make specs") == 1
    assert execute(top, "make", "specs").returncode != 0
    assert (top / "specs/a.md").exists()
    (top / "guard.toml").write_text(rule)
    assert check(top, "make specs") == 0
    assert check(top, "make specs CC=x") == 1
    assert execute(top, "sh", "-c", "rm specs/a.md; true").returncode == 0
    assert (top / "specs/a.md").exists()
    assert execute(top, "make", "specs").returncode == 0
    assert not (top / "specs/a.md").exists()
    assert (top / "CLAUDE.md").exists()


def test_a_rule_holds_for_the_command_that_runs_and_not_for_its_name(top: Path) -> None:
    (top / "guard.toml").write_text('[[except]]\ncommand = "make all"\npaths = ["/specs/"]\nreason = "regenerated"\n')
    (top / "all").write_text("rm -rf specs/a.md; true\n")
    run = execute(top, "bash", "-c", "exec -a make bash all")
    assert run.returncode == 0
    assert (top / "specs/a.md").exists()


def test_the_places_of_grants() -> None:
    assert grants.place("/state", False) == "/state/grants"
    assert grants.place("/state", True) == f"{grants.SYSTEM}/{os.getuid()}"


def test_with_sudo_only_what_belongs_to_root_counts(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "SYSTEM", str(tmp_path / "system"))
    made = give(top, "CLAUDE.md")
    assert grants.known(state(top), False) == [made]
    assert grants.known(state(top), True) == []
    directory = grants.place(state(top), True)
    granting.write(directory, f"{made.name}.grant", grants.dump(made._replace(place=os.path.realpath(directory))), sudo=False)
    assert bool(grants.known(state(top), True)) == (os.getuid() == 0)


def test_the_users_configuration_asks_for_root(top: Path) -> None:
    config = Path(environment(top)["HOME"]) / ".config/guard/config.toml"
    config.parent.mkdir(parents=True)
    give(top, "CLAUDE.md")
    config.write_text('override = "sudo"\n')
    assert check(top, "rm CLAUDE.md") == 1
    config.write_text('override = "terminal"\n')
    assert check(top, "rm CLAUDE.md") == 0


def test_root_is_asked_anew_and_writes_the_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sudo = tmp_path / "bin/sudo"
    sudo.parent.mkdir()
    sudo.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n[ -e {tmp_path}/no ] && exit 1\nshift 2\nexec "$@"\n')
    sudo.chmod(0o755)
    monkeypatch.setattr(granting, "SAFE_PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    granting._write_as_root(f"{tmp_path}/a b/c", "name", b"content\n")
    assert (tmp_path / "a b/c/name").read_bytes() == b"content\n"
    assert os.listdir(tmp_path / "a b/c") == ["name"]
    assert (tmp_path / "asked").read_text().startswith("-k -- sh -c")
    (tmp_path / "no").touch()
    with pytest.raises(GuardError, match="did not agree"):
        granting._write_as_root(f"{tmp_path}/a b/c", "other", b"content\n")
    assert os.listdir(tmp_path / "a b/c") == ["name"]
