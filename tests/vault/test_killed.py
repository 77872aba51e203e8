"""Whenever snapshot or restore is killed, the vault can be read, and each path is as before or as after."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from guard.vault.retention import check, clear
from tests.vault.child import killed_before
from tests.vault.project_tree import Project, build, tree

pytestmark = pytest.mark.usefixtures("no_waiting")

STEP = int(os.environ.get("GUARD_KILL_STEP", "1"))


def sound(project: Project) -> bool:
    """Is everything in the vault good, seen by a process that starts now?"""
    return check(Project(project.top, Path(project.vault.directory).parent).vault).good


def test_a_snapshot_that_is_killed(tmp_path: Path) -> None:
    project = build(tmp_path, git=False)
    first = project.snapshot()
    for name in ("specs/a.md", "CLAUDE.md"):
        (project.top / name).write_text((project.top / name).read_text() + "more\n")
    (project.top / "specs/new.md").write_text("new")
    call = 0
    while killed_before(call, project.snapshot):
        newest = project.vault.newest()
        assert newest is not None
        assert newest.head.name == first.name or newest.find(str(project.top / "specs/new.md")) is not None
        assert sound(project)
        call += STEP
    assert call > 10
    clear(project.vault)
    assert not project.vault.stale()


def test_a_restoration_that_is_killed(tmp_path: Path) -> None:
    call, more = 0, True
    while more:
        project = build(tmp_path / str(call), git=False)
        before, taken = tree(project.top), project.snapshot()
        (project.top / "specs/a.md").write_text("")
        (project.top / "CLAUDE.md").unlink()
        shutil.rmtree(project.top / "specs/deep")
        (project.top / "specs/deep").write_text("in the way")
        (project.top / "specs/link.md").unlink()
        middle = tree(project.top)
        more = killed_before(call, partial(project.repair, taken))
        after = tree(project.top)
        assert_before_or_after(before, middle, after)
        assert sound(project)
        project.repair(taken)
        assert tree(project.top) == before, call
        shutil.rmtree(project.top.parent)
        call += STEP
    assert call > 10


def assert_before_or_after(before: dict[str, object], middle: dict[str, object], after: dict[str, object]) -> None:
    for name, stood in after.items():
        if ".guard-restore-" not in name and not name.startswith("specs/deep"):
            assert stood in (before.get(name), middle.get(name)), name
    for name in middle.keys() & before.keys():
        assert name in after, name
