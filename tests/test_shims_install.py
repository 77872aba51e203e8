"""Installing, renewing and removing the shims: idempotent, whole, and never over what is not guard's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from guard import search_path, shims
from guard.errors import GuardError

ROOT = Path(__file__).parent.parent
PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": PATH}


@pytest.fixture
def home(environ: dict[str, str]) -> str:
    return shims.homes(environ)[0]


def guard(environ: dict[str, str], *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**environ, "PYTHONPATH": str(ROOT), **more}
    argv = [sys.executable, "-m", "guard", *arguments]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, cwd=environ["HOME"])


def states(kind: str, home: str, environ: dict[str, str]) -> set[str]:
    return {shim.state for shim in shims.status(kind, home, environ)}


def snapshot(top: Path) -> dict[str, tuple[int, int, bytes]]:
    """Inode, time and content of all files; the policy data may be written again."""
    found = [path for path in top.rglob("*") if path.is_file() and not path.name.startswith((shims.POLICY, ".lock"))]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) for path in found}


@pytest.mark.parametrize("kind", sorted(shims.SETS))
def test_a_set_has_its_names_and_nothing_else(kind: str, home: str, environ: dict[str, str]) -> None:
    top = shims.ensure(kind, environ)
    assert top == f"{home}/shims/{kind}"
    assert {name for name in os.listdir(top) if not name.startswith(".")} == set(shims.SETS[kind])
    hidden = {name for name in os.listdir(top) if name.startswith(".")}
    assert {name for name in hidden if not name.startswith(shims.POLICY + ".")} == {shims.MARKER, shims.JUDGE, shims.POLICY}
    assert states(kind, home, environ) == {"guards"}


def test_tools_that_start_others_get_bash_and_the_rest_a_small_shell(environ: dict[str, str]) -> None:
    top = Path(shims.ensure("wide", environ))
    for name in shims.WIDE:
        line = (top / name).read_bytes().partition(b"\n")[0]
        assert not line.endswith(b"/sh")
        assert line.endswith(b"bash -p") == (name in shims.STARTING) or not os.path.exists("/usr/bin/bash")
    assert (top / "rm").stat().st_ino == (top / "mv").stat().st_ino


def test_a_second_time_changes_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    shims.ensure("wide", environ)
    before = snapshot(tmp_path)
    shims.ensure("wide", environ)
    assert snapshot(tmp_path) == before


def test_an_outdated_or_missing_shim_is_renewed(home: str, environ: dict[str, str]) -> None:
    top = Path(shims.ensure("default", environ))
    (top / "rm").unlink()
    (top / "rm").write_text(f"#!/bin/sh\n# an older one, knows {shims.MARKER}\n")
    (top / "mv").unlink()
    (top / shims.JUDGE).unlink()
    assert "guards" not in states("default", home, environ)
    shims.ensure("default", environ)
    assert states("default", home, environ) == {"guards"}


def foreign_directory(top: Path) -> None:
    top.mkdir(parents=True)
    (top / "mine").write_text("mine")


def foreign_file_instead(top: Path) -> None:
    top.parent.mkdir(parents=True)
    top.write_text("mine")


def foreign_tool(top: Path) -> None:
    top.mkdir(parents=True)
    (top / shims.MARKER).touch()
    (top / "rm").write_text("#!/bin/sh\necho mine\n")


def foreign_link(top: Path) -> None:
    top.mkdir(parents=True)
    (top / shims.MARKER).touch()
    (top / "git").symlink_to("/usr/bin/git")


@pytest.mark.parametrize("obstacle", [foreign_directory, foreign_file_instead, foreign_tool, foreign_link])
def test_what_is_not_guards_is_not_overwritten(obstacle: object, home: str, environ: dict[str, str], tmp_path: Path) -> None:
    obstacle(Path(shims.directory(home, "default")))  # type: ignore[operator]
    before = snapshot(tmp_path)
    with pytest.raises(GuardError) as caught:
        shims.ensure("default", environ)
    assert caught.value.code == 64
    assert snapshot(tmp_path) == before
    assert guard(environ, "shims", "install").returncode == 64


def test_a_directory_that_path_cannot_hold(environ: dict[str, str]) -> None:
    run = guard(environ, "shims", "install", XDG_DATA_HOME=environ["HOME"] + "/a:b")
    assert run.returncode == 64
    assert "colon" in run.stderr


@pytest.mark.parametrize("name", ["two words", "it's", "new\nline", "st*r", "$HOME", "caf\u00e9"])
def test_odd_directories(name: str, environ: dict[str, str]) -> None:
    environ = {**environ, "XDG_DATA_HOME": f"{environ['HOME']}/{name}"}
    top = shims.ensure("default", environ)
    (Path(environ["HOME"]) / "empty").mkdir()
    env = {**environ, "PATH": f"{top}:{PATH}"}
    subprocess.run(["sh", "-c", "rmdir empty"], cwd=environ["HOME"], env=env, check=True)
    assert not (Path(environ["HOME"]) / "empty").exists()
    judged = subprocess.run([f"{top}/{shims.JUDGE}", "check", "--", "ls"], cwd="/", env=env)
    assert judged.returncode == 0


def test_a_data_directory_that_cannot_be_written_gives_way_to_the_state_directory(environ: dict[str, str]) -> None:
    environ = {**environ, "XDG_DATA_HOME": "/proc/none"}
    assert shims.ensure("default", environ) == f"{environ['HOME']}/.local/state/guard/shims/default"


def test_no_place_at_all(environ: dict[str, str]) -> None:
    with pytest.raises(GuardError) as caught:
        shims.ensure("default", {"PATH": PATH, "XDG_DATA_HOME": "/proc/none"})
    assert caught.value.code == 70


def test_uninstalling_leaves_scripts_that_run_the_real_tools(home: str, environ: dict[str, str], tmp_path: Path) -> None:
    top = Path(shims.ensure("wide", environ))
    assert shims.uninstall(home) == [str(top)]
    assert states("wide", home, environ) == {"passes"}
    assert set(os.listdir(top)) == {*shims.WIDE, shims.MARKER}
    assert not os.path.exists(f"{home}/runtime")
    (tmp_path / "CLAUDE.md").write_text("text\n")
    env = {**environ, "PATH": f"{top}:{PATH}", "name": "kept", "IFS": "x", "BASH_FUNC_f%%": "() { echo called\n}"}
    script = 'rm "$0" && ln -s "$0" "a link" && git --version && find . -name "a link" -exec bash -c "f; echo $name" \\;'
    run = subprocess.run(["bash", "-c", script, "CLAUDE.md"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert not (tmp_path / "CLAUDE.md").exists()
    assert run.stdout.splitlines()[1:] == ["called", "kept"]
    alone = subprocess.run([top / "rm", "x"], env={"PATH": str(top)}, capture_output=True)
    assert alone.returncode == 127


def test_uninstalling_twice_is_fine(environ: dict[str, str]) -> None:
    guard(environ, "shims", "install")
    assert guard(environ, "shims", "uninstall").returncode == 0
    assert guard(environ, "shims", "uninstall").returncode == 0
    assert guard(environ, "shims", "uninstall", "--purge").returncode == 0
    assert "No shims" in guard(environ, "shims", "uninstall").stdout


def test_purging_leaves_nothing_of_guards_and_all_that_is_not(home: str, environ: dict[str, str]) -> None:
    top = Path(shims.ensure("wide", environ))
    shims.ensure("default", environ)
    (top / "mine").write_text("mine")
    shims.uninstall(home, purge=True)
    assert [str(path.relative_to(home)) for path in Path(home).rglob("*")] == ["shims", "shims/wide", "shims/wide/mine"]


def test_installing_again_after_uninstalling(home: str, environ: dict[str, str]) -> None:
    shims.ensure("default", environ)
    shims.uninstall(home)
    shims.ensure("default", environ)
    assert states("default", home, environ) == {"guards"}


def test_what_runs_guarded_cannot_uninstall(home: str, environ: dict[str, str]) -> None:
    shims.ensure("default", environ)
    assert guard(environ, "shims", "uninstall", GUARD_EXEC="1").returncode == 1
    assert states("default", home, environ) == {"guards"}


def test_listing(environ: dict[str, str]) -> None:
    assert "No shims" in guard(environ, "shims", "list").stdout
    guard(environ, "shims", "install")
    run = guard(environ, "shims", "list", "--json")
    found = json.loads(run.stdout)
    assert (run.returncode, found["v"], [each["set"] for each in found["sets"]]) == (0, 1, ["default"])
    assert {"name": "rm", "state": "guards", "real": "/usr/bin/rm"} in found["sets"][0]["shims"]
    assert guard(environ, "shims", "path").stdout == found["sets"][0]["path"] + "\n"
    assert guard(environ, "shims", "path", "--wide").returncode == 1
    Path(found["sets"][0]["path"], "rm").unlink()
    run = guard(environ, "shims", "list")
    assert run.returncode == 1
    assert "missing" in run.stdout


def test_the_path_is_that_of_what_is_installed(environ: dict[str, str]) -> None:
    run = guard(environ, "shims", "path")
    assert (run.returncode, run.stdout) == (1, "")
    assert "not installed" in run.stderr
    assert "guard env" in guard(environ, "shims", "install", "--wide").stdout
    assert guard(environ, "shims", "path").stdout.endswith("/wide\n")
    assert "guard shims path" in guard(environ, "shims", "install").stdout
    assert guard(environ, "shims", "path").stdout.endswith("/default\n")
    assert guard(environ, "shims", "path", "--wide").stdout.endswith("/wide\n")


def test_a_tool_can_be_called_at_any_moment_of_a_renewal(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    top = shims.ensure("default", environ)
    text, done = shims.script(), threading.Event()

    def renew() -> None:
        for number in range(40):
            monkeypatch.setattr(shims, "script", lambda number=number: text + b"# %d\n" % number)
            shims.install("default", shims.homes(environ)[0], environ)
        done.set()

    thread = threading.Thread(target=renew)
    thread.start()
    calls = 0
    while not done.is_set():
        calls += 1
        run = subprocess.run(["sh", "-c", "rm -f nothing"], env={**environ, "PATH": f"{top}:{PATH}"}, cwd=environ["HOME"])
        assert run.returncode == 0
    thread.join()
    assert calls > 3


def test_path_without_shims_and_the_tools_behind(environ: dict[str, str], tmp_path: Path) -> None:
    top = shims.ensure("wide", environ)
    assert search_path.without(f"{top}:{PATH}:{top}/:") == PATH + ":"
    assert search_path.real("rm", f"{top}:{PATH}") == "/usr/bin/rm"
    assert search_path.real("no-such-tool", f"{top}:{PATH}") is None
    guarded = search_path.guarded({"PATH": f"/opt:{top}:{PATH}"}, top)
    assert guarded["PATH"] == f"{top}:/opt:{PATH}"
    assert guarded["ac_cv_path_install"] == "/usr/bin/install -c"
