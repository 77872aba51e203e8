"""snapshot, verify, diff, restore and vault as commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.vault.project_tree import FILES, build, tree

ROOT = Path(__file__).parent.parent


class Shell:
    """A project and guard's command line in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.top = build(home).top
        self.environ = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}

    def __call__(self, *argv: str, cwd: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "guard", *argv]
        run = {"env": self.environ, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 120}
        return subprocess.run(command, cwd=self.top / cwd, check=False, **run)  # type: ignore[call-overload,no-any-return]

    def json(self, *argv: str) -> Any:
        return json.loads(self(*argv, "--json").stdout)


@pytest.fixture
def guard(tmp_path: Path) -> Shell:
    return Shell(tmp_path.resolve())


def test_from_snapshot_to_restoration(guard: Shell) -> None:
    before = tree(guard.top)
    assert guard("verify").returncode == 64
    assert guard("snapshot").returncode == 0
    assert guard("verify").returncode == 0
    shutil.rmtree(guard.top / "specs")
    (guard.top / "CLAUDE.md").write_text("")
    found = guard.json("verify")
    assert (found["code"], found["v"]) == ("violation", 1)
    assert {"kind": "emptied", "action": "truncate", "level": "keep"}.items() <= found["changes"][0].items()
    assert guard("verify").returncode == 1
    assert guard("restore").returncode == 64
    planned = guard("restore", "--all", "--dry-run")
    assert planned.returncode == 0
    assert "specs/a.md" in planned.stdout
    asked = guard("restore", "--all")
    assert (asked.returncode, (guard.top / "specs").exists()) == (3, False)
    assert "--yes" in asked.stderr
    done = guard("restore", "--all", "--yes")
    assert done.returncode == 0
    assert "is kept as" in done.stdout
    assert tree(guard.top) == before
    assert guard("verify").returncode == 0
    assert "nothing to restore" in guard("restore", "--all").stdout


def test_one_path_from_an_older_snapshot(guard: Shell) -> None:
    first = guard.json("snapshot")["id"]
    (guard.top / "specs/a.md").write_text(FILES["specs/a.md"] + "second\n")
    guard("snapshot")
    rows = guard.json("restore", "--list", "specs/a.md")["snapshots"]
    assert [row["id"] for row in rows][1] == first
    assert guard("restore", "--yes", "--from", first, "a.md", cwd="specs").returncode == 0
    assert (guard.top / "specs/a.md").read_text() == FILES["specs/a.md"]
    aside = [row["id"] for row in guard.json("restore", "--list")["snapshots"] if row["reason"] == "aside"]
    assert guard("restore", "--yes", "--from", aside[0], "specs/a.md").returncode == 0
    assert (guard.top / "specs/a.md").read_text().endswith("second\n")


def test_paths_and_snapshots_that_are_not_there(guard: Shell) -> None:
    guard("snapshot")
    assert guard("restore", "no/such/path").returncode == 64
    assert guard("restore", "--from", "nonsense", "--all").returncode == 64
    assert guard("verify", "--from", "nonsense").returncode == 64


def test_diff(guard: Shell) -> None:
    guard("snapshot")
    (guard.top / "CLAUDE.md").write_text(FILES["CLAUDE.md"] + "More.\n")
    (guard.top / "specs/a.md").unlink()
    shown = guard("diff").stdout
    assert "+More." in shown
    assert "-line 3 of a" in shown
    assert "CLAUDE" not in guard("diff", "specs").stdout


def test_the_vault(guard: Shell) -> None:
    guard("snapshot")
    assert guard("vault", "check").returncode == 0
    assert guard("vault", "gc").returncode == 0
    place = Path(guard("vault", "path").stdout.strip())
    pack = next((place / "packs").iterdir())
    data = bytearray(pack.read_bytes())
    data[70] ^= 1
    pack.write_bytes(data)
    assert guard("vault", "check").returncode == 1
    assert guard.json("vault", "check")["code"] == "damaged"
    assert guard("vault", "check", "--mend").returncode == 1
    assert guard("snapshot").returncode == 0
    assert guard("vault", "check").returncode == 0


def test_outside_of_any_project_and_without_state(guard: Shell, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert guard("snapshot", cwd="../empty").returncode == 64
    guard.environ["HOME"] = "/proc/none"
    if not os.path.isdir(f"/run/user/{os.getuid()}"):
        assert guard("snapshot").returncode == 70
    guard.environ["GUARD_STATE_DIR"] = "/proc/none"
    assert guard("snapshot").returncode in (70, 74)


def test_broken_configuration_is_told_and_an_older_policy_holds(guard: Shell) -> None:
    guard("snapshot")
    (guard.top / "guard.toml").write_text("[[[")
    (guard.top / "specs/a.md").unlink()
    run = guard("verify")
    assert run.returncode == 1
    assert "guard.toml:1" in run.stderr
    assert guard("restore", "--all", "--yes").returncode == 0
    assert (guard.top / "specs/a.md").exists()


def test_what_the_last_snapshot_lacks_comes_from_the_newest_that_has_it(guard: Shell) -> None:
    before = tree(guard.top / "specs")
    assert guard("snapshot").returncode == 0
    name = guard.json("restore", "--list")["snapshots"][0]["id"]
    shutil.rmtree(guard.top / "specs")
    assert guard("snapshot").returncode == 0
    planned = guard("restore", "specs", "--dry-run")
    assert (planned.returncode, "specs/a.md" in planned.stdout) == (0, True)
    assert f"{name} is the newest that has it" in planned.stderr
    (guard.top / "specs").mkdir()
    assert guard("restore", "specs", "--yes").returncode == 0
    assert tree(guard.top / "specs") == before
    assert guard("restore", "nothing-like-it").returncode == 64


def test_files_that_went_out_of_a_directory_are_told_of(guard: Shell) -> None:
    assert guard("snapshot").returncode == 0
    name = guard.json("restore", "--list")["snapshots"][0]["id"]
    (guard.top / "specs/a.md").unlink()
    assert guard("snapshot").returncode == 0
    assert f"1 file that is not there any more:  guard restore --from {name} specs" in guard("restore", "specs").stdout
    assert guard("restore", "--from", name, "specs", "--yes").returncode == 0
    assert (guard.top / "specs/a.md").exists()


def test_several_paths_come_each_from_its_snapshot(guard: Shell) -> None:
    before = tree(guard.top)
    assert guard("snapshot").returncode == 0
    shutil.rmtree(guard.top / "specs")
    assert guard("snapshot").returncode == 0
    (guard.top / "CLAUDE.md").unlink()
    assert guard("restore", "specs", "CLAUDE.md", "--yes").returncode == 0
    assert tree(guard.top) == before


def test_the_snapshots_of_a_directory_are_listed(guard: Shell) -> None:
    assert guard("snapshot").returncode == 0
    shutil.rmtree(guard.top / "specs")
    assert guard("snapshot").returncode == 0
    names = [row["id"] for row in guard.json("restore", "--list")["snapshots"]]
    rows = guard.json("restore", "--list", "specs")["snapshots"]
    assert [(row["id"], row["kind"]) for row in rows] == [(names[1], "directory")]
    assert f"{rows[0]['files']} files below it" in guard("restore", "--list", "specs").stdout
