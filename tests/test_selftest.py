"""`guard selftest`: a canary through every installed layer; it notices whichever of them is open."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from guard import sandbox
from guard.agents.table import CLIENTS, SHELL
from guard.agents.wirings import WIRINGS
from guard.health import canary
from guard.health.canary import Cage, Trial
from guard.health.place import Place, place
from tests import installed
from tests.installed import Installed


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed.whole(tmp_path_factory.mktemp("selftest").resolve())


@pytest.fixture
def nothing(tmp_path: Path) -> Installed:
    return installed.bare(tmp_path.resolve())


def trials(found: Installed, status: int) -> dict[tuple[str, str], str]:
    """The states by layer and first word of the name."""
    done = found.guard("selftest", "--json")
    assert done.returncode == status, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert (told["v"], told["code"]) == (1, "open" if status else "held")
    return {(row["layer"], row["name"].partition(":")[0]): row["state"] for row in told["trials"]}


def of(layer: Callable[[Cage, Place], Iterable[Trial]], found: Installed) -> dict[str, str]:
    """The states that one layer comes to, by the first word of the name."""
    at = place(str(found.top), found.environ())
    with canary.cage(at.environ) as caged:
        return {trial.name.partition(":")[0]: trial.state for trial in layer(caged, at)}


def git(caged: Cage, at: Place) -> list[Trial]:
    return [canary.git(caged, at)]


@contextmanager
def replaced(path: Path, content: str) -> Iterator[None]:
    """A file that holds something else for a while; hard links of it do not."""
    before, mode = path.read_bytes(), path.stat().st_mode
    path.unlink()
    path.write_text(content)
    path.chmod(mode)
    try:
        yield
    finally:
        path.unlink()
        path.write_bytes(before)
        path.chmod(mode)


def test_every_layer_that_is_installed_holds(everything: Installed) -> None:
    found = trials(everything, 0)
    boxed = "held" if sandbox.available() is None else "not installed"
    assert (
        found.pop(("sandbox", "a program deletes it; the kernel refuses" if boxed == "held" else "a program deletes it")) == boxed
    )
    assert set(found) == {
        ("check", "rm -rf canary"), *(("agents", client) for client in CLIENTS), ("shims", "default"),
        ("git", "git commit without canary"), ("exec", "a program deletes it; restored"),
    }  # fmt: skip
    assert set(found.values()) == {"held"}
    assert canary.PREFIX not in (everything.data / "shims/default/.policy").read_text(), "the shims forget the canary"


def test_nothing_installed_is_no_fault(nothing: Installed) -> None:
    found = trials(nothing, 0)
    assert {layer for (layer, _), state in found.items() if state == "not installed"} >= {"agents", "shims", "git"}
    assert found["check", "rm -rf canary"] == found["exec", "a program deletes it; restored"] == "held"


def test_it_leaves_nothing_behind(nothing: Installed, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = sorted(map(str, nothing.home.rglob("*")))
    assert nothing.guard("selftest", TMPDIR=str(scratch)).returncode == 0
    assert list(scratch.iterdir()) == []
    assert sorted(map(str, nothing.home.rglob("*"))) == before


def test_a_hook_that_lets_everything_pass_is_open(everything: Installed) -> None:
    with replaced(everything.data / "bin/hook", "#!/bin/sh\nexit 0\n"):
        assert of(canary.hooks, everything) == dict.fromkeys(CLIENTS, "open")


def test_a_hook_that_refuses_everything_is_broken(everything: Installed) -> None:
    with replaced(everything.data / "bin/hook", "#!/bin/sh\nexit 2\n"):
        assert of(canary.hooks, everything) == dict.fromkeys(CLIENTS, "broken")


def test_settings_that_call_something_else_are_open(everything: Installed) -> None:
    settings = everything.home / ".claude/settings.json"
    hook = f"{everything.data}/bin/hook"
    with replaced(settings, settings.read_text().replace(f"'{hook}' claude", f"true '{hook}' claude")):
        found = of(canary.hooks, everything)
    assert (found["claude"], found["qwen"]) == ("open", "held")


def test_entries_for_what_is_over_alone_are_open(everything: Installed) -> None:
    settings = everything.home / ".claude/settings.json"
    with replaced(settings, settings.read_text().replace('"PreToolUse"', '"Stop"')):
        assert of(canary.hooks, everything)["claude"] == "open"


def test_a_real_tool_in_the_place_of_a_shim_is_open(everything: Installed) -> None:
    shim = everything.data / "shims/default/rm"
    with replaced(shim, '#!/bin/sh\nexec /bin/rm "$@"\n'):
        assert of(canary.shimmed, everything) == {"default": "open"}


def test_a_git_hook_that_judges_nothing_is_open(everything: Installed) -> None:
    with replaced(everything.top / ".git/hooks/pre-commit", "#!/bin/sh\n# guard's git hook:\nexit 0\n"):
        assert of(git, everything) == {"git commit without canary": "open"}


def test_hooks_of_others_are_not_run(everything: Installed, tmp_path: Path) -> None:
    other = everything.top / ".git/hooks/pre-commit.before-guard"
    other.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    other.chmod(0o755)
    try:
        assert of(git, everything) == {"git commit without canary": "held"}
    finally:
        other.unlink()
    assert not (tmp_path / "ran").exists()


def test_without_a_runtime_no_layer_is_open_and_none_is_whole(everything: Installed) -> None:
    current = everything.data / "runtime/current"
    target = current.readlink()
    current.unlink()
    try:
        assert of(canary.hooks, everything) == dict.fromkeys(CLIENTS, "broken")
        assert of(canary.shimmed, everything) == {"default": "broken"}
        done = everything.guard("selftest")
    finally:
        current.symlink_to(target)
    assert done.returncode == 1
    assert "did not hold" in done.stdout
    assert "open " not in done.stdout


def test_inside_of_guard_exec_it_tells_the_same(nothing: Installed) -> None:
    done = nothing.guard("exec", "--", *canary.own(), "selftest")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "held          exec" in done.stdout


def test_without_a_place_for_the_canary_it_says_so(nothing: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    from guard.commands import selftest
    from guard.errors import GuardError

    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device", "/tmp")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    with pytest.raises(GuardError, match="no place for the canary"):
        selftest.run(str(nothing.top), False)


def test_the_payload_is_what_the_clients_row_reads() -> None:
    from guard.agents import read

    for client, row in CLIENTS.items():
        for event in WIRINGS[client].blocking or ("tool.execute.before",):
            call = read.call(row, read.payload(canary.payload(client, event, "rm x", "/p")))
            assert (call.phase, call.kind, call.arguments, call.cwd) == ("before", SHELL, {"command": "rm x"}, "/p"), (
                client,
                event,
            )


def test_a_directory_that_is_not_there_is_wrong_usage(nothing: Installed) -> None:
    shutil.rmtree(nothing.top)
    done = nothing.guard("selftest", "--cwd", str(nothing.top), cwd=nothing.home)
    assert (done.returncode, done.stdout) == (64, "")
