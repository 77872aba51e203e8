"""The trees that the model foresees are those that git leaves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tools.git.harness import build, files, foresee, really, shown

LINES = [line for line in (Path(__file__).parent / "lines.txt").read_text().splitlines() if line and not line.startswith("#")]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    build(home)
    return home


@pytest.mark.parametrize("line", LINES)
def test_the_tree_after_is_foreseen(line: str, template: Path, tmp_path: Path) -> None:
    """Every file that was there: gone or not, changed or not."""
    home = tmp_path / "home"
    setup, _, command = line.rpartition(" ### ")
    shutil.copytree(template, home, symlinks=True)
    # linked worktrees know each other by absolute paths
    for pointer in [*home.glob("app/.git/worktrees/*/gitdir"), home / "wt/.git"]:
        pointer.write_text(pointer.read_text().replace(str(template), str(home)))
    if setup:
        really(home, setup)
    before = files(home)
    ran = foresee(home, command)
    status, _ = really(home, command)
    after = files(home)
    view = shown(ran.view, home, before)
    assert sorted(before.keys() - view.keys()) == sorted(before.keys() - after.keys()), "gone"
    changed = {path for path in before.keys() & after.keys() if after[path] != before[path]}
    assert {path for path in view if view[path] != before[path]} == changed, "changed"
    if ran.statuses[-1] is not None:
        assert (ran.statuses[-1] == 0) == (status == 0), f"status {status}"
