"""Recorded edits are never taken back, recorded overwrites always are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from guard import project
from guard.vault.restore import lost
from guard.vault.snapshot import snapshot, world
from guard.vault.store import Vault
from guard.vault.verify import Change, verify

DATA = Path(__file__).parents[1] / "data"
LEGITIMATE = ("edit", "rewrite")
OVERWRITING = ("overwrite", "redirect")

pytestmark = pytest.mark.skipif(not shutil.which("git") or not shutil.which("bash"), reason="builds a repository")


def cases(families: tuple[str, ...], harm: bool) -> list[Any]:
    """Cases that name nothing outside of the repository: they are really run here."""
    rows = [json.loads(line) for line in (DATA / "dev.jsonl").read_text().splitlines()]
    chosen = [row for row in rows if row["family"] in families and row["harm"] == harm and is_inside(row)]
    return [pytest.param(row, id=row["id"]) for row in chosen if not row.get("ambiguous") and not row.get("moves")]


def is_inside(row: dict[str, Any]) -> bool:
    return not row.get("setup") and not any(word in row["cmd"] for word in ("~", "$HOME", " /", "=/", ">/", "..", "cd "))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("edits").resolve()
    subprocess.run(["bash", DATA / "fixture.sh", top], check=True, capture_output=True)
    return top


def changes(case: dict[str, Any], template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Change]:
    """What verify says of a command that has run."""
    home = tmp_path.resolve() / "home"
    shutil.copytree(template, home, symlinks=True)
    app = home / "app"
    monkeypatch.setattr(project, "TEMPORARY", ())
    monkeypatch.setenv("HOME", str(home))
    vault = Vault(str(tmp_path.resolve() / "state"), str(app))
    policy = project.load(str(app), os.environ, world())
    time.sleep(0.03)
    taken = snapshot(str(app), policy, vault)
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    subprocess.run(["bash", "-c", case["cmd"]], cwd=app, env=environ, timeout=20, check=False, capture_output=True)
    return verify(taken.manifest, vault, policy, pause=lambda _: None)


def paths(found: list[Change], tmp_path: Path) -> set[str]:
    return {os.path.relpath(each.path, tmp_path.resolve() / "home/app") for each in found}


@pytest.mark.parametrize("case", cases(LEGITIMATE, harm=False))
def test_an_edit_is_not_taken_back(case: dict[str, Any], template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = changes(case, template, tmp_path, monkeypatch)
    assert not any(map(lost, found))
    assert {row["path"] for row in case["changed"]} <= paths(found, tmp_path)


@pytest.mark.parametrize("case", cases(OVERWRITING, harm=True))
def test_an_overwriting_is_taken_back(
    case: dict[str, Any], template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = changes(case, template, tmp_path, monkeypatch)
    truth = {row["path"] for row in case["changed"]} | set(case["missing"])
    assert truth <= paths([each for each in found if lost(each)], tmp_path)


def test_there_are_cases() -> None:
    assert len(cases(LEGITIMATE, harm=False)) > 20
    assert len(cases(OVERWRITING, harm=True)) > 40
