"""`guard doctor`: every layer is looked at, what does not hold is named with its repair, and nothing is changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from guard import health
from guard.findings import ABSENT, FINE, NOTE, OFF, SEVERITIES
from guard.health import LAYERS
from guard.health import shims as shims_health
from tests import installed
from tests.installed import PATH, Installed
from tests.test_replay import line

Row = dict[str, str]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed.whole(tmp_path_factory.mktemp("doctor").resolve())


@pytest.fixture
def nothing(tmp_path: Path) -> Installed:
    return installed.bare(tmp_path.resolve())


def told(found: Installed, *arguments: str, status: int | None = None, **more: Any) -> dict[str, Any]:
    done = found.guard("doctor", "--json", *arguments, **more)
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def look(found: Installed, layer: str, quick: bool = False, **more: str) -> dict[str, str]:
    """The severities of one layer by their codes."""
    rows = health.look(health.place(str(found.top), found.environ(**more), quick), (layer,))
    return {row.finding.code: row.finding.severity for row in rows}


@contextmanager
def holding(path: Path, content: str) -> Iterator[None]:
    """A file that holds something else for a while."""
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


def test_nothing_installed_is_told_with_the_command_and_no_fault(nothing: Installed) -> None:
    found = told(nothing, status=0)
    assert found["code"] == "fine"
    absent = {row["layer"]: row["repair"] for row in found["findings"] if row["severity"] == ABSENT and row["layer"] != "sandbox"}
    assert absent == {
        "runtime": "guard init", "agents": "", "shims": "guard shims install", "git": "guard init --git-hooks",
        "vault": "guard snapshot",
    }  # fmt: skip


@pytest.mark.parametrize("layer", ["shims", "agents", "git", "vault", "runtime"])
def test_a_layer_that_is_required_has_to_be_there(layer: str, nothing: Installed) -> None:
    found = told(nothing, "--require", layer, status=1)
    assert (found["code"], found["missing"]) == ("off", [layer])


def test_an_unknown_layer_is_wrong_usage(nothing: Installed) -> None:
    done = nothing.guard("doctor", "--require", "shim")
    assert (done.returncode, "name one of policy, state" in done.stderr) == (64, True)


def test_every_finding_says_what_and_a_fault_how_it_is_mended(everything: Installed) -> None:
    for row in told(everything)["findings"]:
        assert row["severity"] in SEVERITIES
        assert row["layer"] in LAYERS
        assert row["what"], row
        assert row["repair"] or row["severity"] in (FINE, NOTE), row


def test_all_that_is_installed_works_but_what_codex_wants_of_a_person(everything: Installed) -> None:
    found = told(everything, status=1)
    off = [row for row in found["findings"] if row["severity"] == OFF]
    assert [(row["layer"], row["code"]) for row in off] == [("agents", "trust-needed")]
    assert {layer: found["layers"][layer] for layer in ("policy", "state", "runtime", "shims", "git")} == dict.fromkeys(
        ("policy", "state", "runtime", "shims", "git"), FINE
    )


def test_it_changes_nothing(nothing: Installed) -> None:
    before = sorted(map(str, nothing.home.rglob("*")))
    told(nothing)
    assert sorted(map(str, nothing.home.rglob("*"))) == before


def test_it_works_without_project_home_and_git(tmp_path: Path) -> None:
    here = installed.bare(tmp_path.resolve())
    done = subprocess.run(
        [*canary_argv(), "doctor", "--json"],
        cwd=here.home,
        env={"PATH": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    assert {row["code"] for row in json.loads(done.stdout)["findings"]} >= {"no-project", "shims-none"}


def test_it_works_in_a_directory_that_is_gone(nothing: Installed) -> None:
    where = nothing.top / "gone"
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *canary_argv(), "doctor"],
        cwd=nothing.top,
        env=nothing.environ(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, where.exists()) == (0, False), done.stderr
    assert "the current directory is gone" in done.stdout


def canary_argv() -> tuple[str, ...]:
    from guard.health import canary

    return canary.own()


def test_a_broken_configuration_is_named_with_its_line(nothing: Installed) -> None:
    (nothing.top / "guard.toml").write_text('[protect]\nkepp = ["/specs/"]\n')
    found = told(nothing, status=1)
    broken = next(row for row in found["findings"] if row["code"] == "configuration-broken")
    assert "guard.toml:2" in broken["what"]
    assert "built-in list" in broken["why"]


def test_a_pattern_that_matches_nothing_is_noted(nothing: Installed) -> None:
    (nothing.top / "guard.toml").write_text('[protect]\nkeep = ["/specs/", "/spec/"]\n')
    found = told(nothing, status=0)
    idle = [row["what"] for row in found["findings"] if row["code"] == "pattern-idle"]
    assert len(idle) == 1
    assert "/spec/ (guard.toml:2)" in idle[0]
    assert "/specs/" not in idle[0]


def test_observing_is_noted(nothing: Installed) -> None:
    (nothing.home / ".config/guard").mkdir(parents=True)
    (nothing.home / ".config/guard/config.toml").write_text("[answer]\nobserve = true\n")
    assert look(nothing, "policy")["observing"] == NOTE


def test_a_suspension_is_noted(nothing: Installed) -> None:
    from guard import granting
    from guard.grants import SUSPENSION, Grant

    now = time.time()
    grant = Grant(granting.new_name(), SUSPENSION, str(nothing.top), now, now + 600, {}, reason="moving house", user=os.getuid())
    granting.give(grant, str(nothing.state), False)
    rows = health.look(health.place(str(nothing.top), nothing.environ()), ("policy",))
    assert any(row.finding.code == "suspended" and "moving house" in row.finding.what for row in rows)


def test_a_state_that_cannot_be_written_is_off(nothing: Installed, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert look(nothing, "state", GUARD_STATE_DIR=str(tmp_path / "state")) == {"state-new": FINE}
    only = health.place(str(nothing.top), {"GUARD_STATE_DIR": str(tmp_path / "file/state"), "PATH": PATH})
    codes = {row.finding.code for row in health.look(only, ("state",))}
    assert codes <= {"state-none", "state-fine", "state-new"}


def test_a_state_that_others_can_write_is_noted(nothing: Installed) -> None:
    nothing.state.mkdir(parents=True)
    nothing.state.chmod(0o777)
    assert look(nothing, "state")["state-open"] == NOTE


@pytest.mark.parametrize(
    ("content", "code"), [("#!/bin/sh\nexit 0\n", "hook-open"), ("#!/bin/sh\necho no >&2\nexit 2\n", "hook-refuses")]
)
def test_a_hook_that_was_changed_is_off(content: str, code: str, everything: Installed) -> None:
    assert look(everything, "runtime") == {"runtime-fine": FINE}
    with holding(everything.data / "bin/hook", content):
        assert look(everything, "runtime")[code] == OFF


def test_a_runtime_that_is_gone_is_off(everything: Installed) -> None:
    current = everything.data / "runtime/current"
    target = current.readlink()
    current.unlink()
    try:
        assert look(everything, "runtime") == {"runtime-gone": OFF}
    finally:
        current.symlink_to(target)


def test_a_launcher_that_does_not_start_is_off(everything: Installed) -> None:
    with holding(everything.data / "bin/guard", "#!/bin/sh\nexit 1\n"):
        assert look(everything, "runtime")["launcher-broken"] == OFF


def test_a_runtime_of_another_version_is_noted(everything: Installed) -> None:
    with holding(everything.data / "bin/guard", "#!/bin/sh\necho guard 0.0.1\n"):
        assert look(everything, "runtime")["runtime-other"] == NOTE


def test_a_shim_that_does_not_guard_is_off(everything: Installed) -> None:
    with holding(everything.data / "shims/default/rm", '#!/bin/sh\nexec /bin/rm "$@"\n'):
        assert look(everything, "shims")["shims-damaged"] == OFF


def test_shims_behind_the_tools_are_off(everything: Installed) -> None:
    directory = everything.data / "shims/default"
    assert look(everything, "shims", PATH=f"{PATH}:{directory}")["shims-behind"] == OFF
    assert look(everything, "shims", PATH=f"{directory}:{PATH}")["shims-first"] == FINE
    assert look(everything, "shims")["shims-not-on-path"] == NOTE


def test_uninstalled_shims_are_absent(everything: Installed, tmp_path: Path) -> None:
    copy = Installed(everything.top, tmp_path.resolve() / "home")
    shutil.copytree(everything.data / "shims", copy.data / "shims", symlinks=True)
    assert copy.guard("shims", "uninstall").returncode == 0
    assert look(copy, "shims")["shims-off"] == ABSENT


def test_a_login_shell_that_sets_path_anew_is_noted(everything: Installed) -> None:
    directory = everything.data / "shims/default"
    profile = everything.home / ".profile"
    profile.write_text("PATH=/usr/bin:/bin\n")
    try:
        place = health.place(str(everything.top), everything.environ(PATH=f"{directory}:{PATH}"))
        noted = [row.finding for row in health.look(place, ("shims",)) if row.finding.code == "login-resets-path"]
        assert [finding.repair for finding in noted if "bash" in finding.what] == ["echo 'eval \"$(guard env)\"' >> ~/.profile"]
        profile.write_text(f"PATH={directory}:$PATH\n")
        noted = [row.finding for row in health.look(place, ("shims",)) if row.finding.code == "login-resets-path"]
        assert not [finding for finding in noted if "bash" in finding.what]
    finally:
        profile.unlink()


@pytest.mark.parametrize(
    ("shell", "profile", "text"),
    [
        ("bash", ".bash_profile", "find() { command find \"$@\"; }\nshopt -s expand_aliases\nalias rm='rm -i'\n"),
        ("zsh", ".zprofile", "find() { command find \"$@\"; }\nalias rm='rm -i'\n"),
    ],
)
def test_what_hides_a_shim_in_a_login_shell_is_seen(shell: str, profile: str, text: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    (tmp_path / profile).write_text(text)
    found = shims_health.asked(shell, {"HOME": str(tmp_path), "PATH": PATH})
    assert found is not None
    assert (found["find"], found["rm"], found["git"][:1]) == ("function", "alias", "/")


def test_a_login_shell_that_hangs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guard.health.shims.ask.__defaults__", (0.5, "/", b""))
    (tmp_path / ".bash_profile").write_text("sleep 60\n")
    start = time.monotonic()
    assert shims_health.asked("bash", {"HOME": str(tmp_path), "PATH": PATH}) is None
    assert time.monotonic() - start < 10


def test_damage_in_the_vault_is_off(nothing: Installed) -> None:
    assert look(nothing, "vault") == {"vault-empty": ABSENT}
    assert nothing.guard("snapshot").returncode == 0
    assert look(nothing, "vault") == {"vault-fine": FINE}
    manifest = next(nothing.state.rglob("*.manifest"))
    manifest.write_bytes(manifest.read_bytes()[:-10])
    assert look(nothing, "vault")["vault-damaged"] == OFF


def test_a_git_hook_that_git_leaves_out_is_off(everything: Installed) -> None:
    assert set(look(everything, "git").values()) == {FINE}
    hook = everything.top / ".git/hooks/pre-commit"
    hook.chmod(0o644)
    try:
        assert OFF in look(everything, "git").values()
    finally:
        hook.chmod(0o755)


def beat(found: Installed, client: str, session: str, ago: float) -> Path:
    path = found.state / f"heartbeats/{client}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"v": 1, "client": client, "time": time.time() - ago, "version": "9.9", "session": session}))
    return path


def session(found: Installed, name: str, command: str, ago: float) -> Path:
    """A session of Claude Code with one command."""
    path = found.home / f".claude/projects/-p/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))
    path.write_text(line(command, found.top, "a", moment))
    return path


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A user whose Claude Code was wired an hour ago."""
    found = installed.bare(tmp_path_factory.mktemp("wired").resolve())
    assert found.guard("init", "--yes", "--agent", "claude").returncode == 0
    hour_ago = time.time() - 3600
    os.utime(found.state / "wiring.json", (hour_ago, hour_ago))
    return found


@pytest.fixture
def wired(claude: Installed) -> Iterator[Installed]:
    """The same, with no session, heartbeat or decision yet."""
    yield claude
    for path in (claude.home / ".claude/projects", claude.state / "heartbeats"):
        shutil.rmtree(path, ignore_errors=True)
    (claude.state / "decisions.jsonl").unlink(missing_ok=True)


def seen(found: Installed) -> set[str]:
    return set(look(found, "agents", quick=True)) & {"alive", "waiting", "not-loaded"}


def test_a_hook_that_was_not_called_yet_is_waited_for(wired: Installed) -> None:
    assert seen(wired) == {"waiting"}


def test_a_session_that_began_with_a_heartbeat_has_the_hook(wired: Installed) -> None:
    beat(wired, "claude", "5e551011", 1800)
    session(wired, "5e551011", "rm -rf build", 60)
    assert seen(wired) == {"alive"}


def test_a_session_without_heartbeat_that_ran_a_command_has_not_loaded_it(wired: Installed) -> None:
    session(wired, "5e551011", "rm -rf build", 60)
    assert seen(wired) == {"not-loaded"}
    beat(wired, "claude", "0ld", 1800)
    assert seen(wired) == {"not-loaded"}


def test_a_session_that_begins_with_the_hook_later_mends_it(wired: Installed) -> None:
    session(wired, "5e551011", "rm -rf build", 600)
    beat(wired, "claude", "1a7er", 60)
    assert seen(wired) == {"alive"}


def test_commands_that_no_hook_has_to_see_say_nothing(wired: Installed) -> None:
    session(wired, "5e551011", "ls", 60)
    assert seen(wired) == {"waiting"}


def test_commands_from_before_the_wiring_say_nothing(wired: Installed) -> None:
    session(wired, "5e551011", "rm -rf build", 7200)
    assert seen(wired) == {"waiting"}


def test_a_command_that_the_hook_has_judged_was_seen(wired: Installed) -> None:
    from guard import log

    session(wired, "5e551011", "rm -rf build", 60)
    log.append({"id": "a2bc", "layer": "hook:claude:Bash", "time": time.time() - 59}, str(wired.state))
    assert seen(wired) == {"waiting"}


@pytest.mark.parametrize("arguments", [("exec", "--", "true"), ("env", "bash")])
def test_whoever_runs_guarded_in_such_a_client_is_told(arguments: tuple[str, ...], wired: Installed) -> None:
    session(wired, "5e551011", "rm -rf build", 60)
    done = wired.guard(*arguments, CLAUDECODE="1")
    assert (done.returncode, "Claude Code runs without guard's hook" in done.stderr) == (0, True)
    assert "without guard's hook" not in wired.guard(*arguments).stderr
    beat(wired, "claude", "5e551011", 1800)
    assert "without guard's hook" not in wired.guard(*arguments, CLAUDECODE="1").stderr


def test_a_torn_heartbeat_is_none(wired: Installed) -> None:
    for text in ("", "{", "[]", '{"time": "soon"}', '{"time": null}', "7"):
        beat(wired, "claude", "", 0).write_text(text)
        assert seen(wired) == {"waiting"}, text


def test_what_goes_wrong_while_looking_is_told_and_the_rest_is_looked_at(
    nothing: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(at: object) -> Iterator[object]:
        raise RuntimeError("boom")
        yield

    monkeypatch.setitem(health.LAYERS, "shims", fail)  # type: ignore[arg-type]
    rows = list(health.look(health.place(str(nothing.top), nothing.environ())))
    assert [row.finding.what for row in rows if row.layer == "shims"] == ["it could not be looked at: boom"]
    assert {row.layer for row in rows} >= {"policy", "state", "shims", "vault"}
    assert not health.holds(rows)


def test_the_screen_has_a_line_for_each_finding_and_a_repair_below(nothing: Installed) -> None:
    done = nothing.guard("doctor")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\n              guard shims install\n" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100 + len(str(nothing.top))
