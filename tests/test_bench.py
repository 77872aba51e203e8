"""Commands whose effects were recorded by running them, judged without running anything."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from guard import project
from guard.shell.analyse import analyse
from guard.shell.quick import harmless
from guard.verdict import judge
from guard.world import Budget, World

DATA = Path(__file__).parent / "data"

# Where the truth was recorded: the home directory was /home/dev and /tmp was empty. Both are mapped into the test's directory.
PLACES = re.compile(r"(?<![\w.~}])/(home|tmp)\b")

pytestmark = pytest.mark.skipif(not shutil.which("git") or not shutil.which("bash"), reason="builds a repository")


def cases(name: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
    return [row for row in rows if not row.get("ambiguous") and not row.get("moves")]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that stands for "/", with the home directory and the repository in it."""
    top = tmp_path_factory.mktemp("bench").resolve()
    (top / "tmp").mkdir()
    subprocess.run(["bash", DATA / "fixture.sh", top / "home/dev"], check=True, capture_output=True)
    return top


@pytest.fixture(autouse=True)
def _no_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository stands for one at home, wherever the tests' own directory is."""
    monkeypatch.setattr(project, "TEMPORARY", ())


def placed(text: str, top: Path) -> str:
    return PLACES.sub(rf"{top}/\1", text)


def verdict(case: dict[str, Any], template: Path, tmp_path: Path) -> str:
    """The decision on a case. Judging changes nothing, so only a case that needs something set up gets a copy."""
    top = template
    if case.get("setup"):
        top = tmp_path / f"copy-{case['id']}"
        shutil.copytree(template, top, symlinks=True)
    home = str(top / "home/dev")
    cwd = str((top / "home/dev/app" / case.get("cwd", ".")).resolve())
    environ = {"HOME": home, "USER": "dev", "LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "PWD": cwd}
    environ |= {name: placed(value, top) for name, value in case.get("env", {}).items()}
    if case.get("setup"):
        subprocess.run(
            ["bash", "-c", placed(case["setup"], top)], cwd=f"{home}/app", env=environ, check=True, capture_output=True
        )
    command = placed(case["cmd"], top)
    if harmless(command):
        return "allow"
    world = World(environ, Budget(5.0))
    return judge(analyse(command, cwd, world), project.load(cwd, environ, world), world, command).decision


FAMILIES = sorted({case["family"] for case in cases("dev.jsonl")})


@pytest.mark.parametrize("family", FAMILIES)
def test_harm_is_stopped_and_harmless_twins_pass(family: str, template: Path, tmp_path: Path) -> None:
    rows = [case for case in cases("dev.jsonl") if case["family"] == family]
    said = {case["id"]: verdict(case, template, tmp_path) for case in rows}
    missed = [case["cmd"] for case in rows if case["harm"] and said[case["id"]] == "allow"]
    alarms = [(said[case["id"]], case["cmd"]) for case in rows if not case["harm"] and said[case["id"]] != "allow"]
    assert missed == []
    assert alarms == []


def test_what_agents_type_is_seldom_stopped(template: Path, tmp_path: Path) -> None:
    rows = cases("agent.jsonl")
    said = {case["id"]: verdict(case, template, tmp_path) for case in rows}
    alarms = [(said[case["id"]], case["cmd"]) for case in rows if not case["harm"] and said[case["id"]] != "allow"]
    assert alarms == []
    assert [case["cmd"] for case in rows if case["harm"] and said[case["id"]] == "allow"] == []
