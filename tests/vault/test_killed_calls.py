"""Killed by the kernel before any single system call that changes something, snapshot and restore leave nothing half done.

test_killed.py does the same inside of Python; here strace delivers the signal, so that no call is overlooked.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from guard.vault.retention import clear
from tests.vault.project_tree import Project, build, tree
from tests.vault.test_killed import assert_before_or_after, sound

ROOT = Path(__file__).parents[2]
STEP = int(os.environ.get("GUARD_STRACE_STEP", "9"))  # 1 tries every call, which takes minutes
CALLS = (
    "write,pwrite64,rename,renameat,renameat2,fsync,fdatasync,link,linkat,unlink,unlinkat,symlink,symlinkat,mkdir,mkdirat,rmdir,"
    "ftruncate,chmod,fchmod,fchmodat,utimensat"
)
WORK = """
import sys
from pathlib import Path
from tests.vault.project_tree import Project
project = Project(Path(sys.argv[2]), Path(sys.argv[3]))
if sys.argv[1] == "snapshot":
    project.snapshot()
else:
    newest = project.vault.newest()
    from guard.vault.restore import damaged, repair
    repair(newest, project.vault, project.policy, damaged)
"""


def can_trace() -> bool:
    """Is there a strace that may trace here and can deliver signals?"""
    program = shutil.which("strace")
    argv = [str(program), "-qq", "-e", "trace=write", "-e", "inject=write:signal=KILL:when=1", "sh", "-c", "echo x"]
    return program is not None and subprocess.run(argv, capture_output=True, check=False).returncode in (-9, 137)


pytestmark = [pytest.mark.skipif(not can_trace(), reason="needs strace"), pytest.mark.usefixtures("no_waiting")]


def traced(project: Project, work: str, log: Path, *options: str) -> int:
    """The status of the work in a process of its own, under strace."""
    state = Path(project.vault.directory).parent
    python = [sys.executable, "-B", "-c", WORK, work, str(project.top), str(state)]
    argv = ["strace", "-qq", "-f", "-o", str(log), "-e", f"trace={CALLS}", *options, *python]
    return subprocess.run(argv, cwd=ROOT, check=False, stderr=subprocess.DEVNULL, timeout=120).returncode


def kill_points(project: Project, work: str, log: Path) -> Iterator[tuple[str, int]]:
    """Each call of a run that nobody disturbs, as its name and which of that name it is."""
    assert traced(project, work, log) == 0
    seen: Counter[str] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        found = re.match(r"\d+ +(\w+)\(", line)
        if found:
            seen[found[1]] += 1
            yield found[1], seen[found[1]]


def killed(project: Project, work: str, log: Path, call: str, number: int) -> bool:
    """Does the work, with SIGKILL as it enters the call; False where it ended by itself."""
    status = traced(project, work, log, "-e", f"inject={call}:signal=KILL:when={number}")
    assert status in (0, -signal.SIGKILL, 128 + signal.SIGKILL)
    return status != 0


def changed(place: Path) -> Project:
    """A project with a snapshot, and changes since."""
    project = build(place, git=False)
    project.snapshot()
    for name in ("specs/a.md", "CLAUDE.md"):
        (project.top / name).write_text((project.top / name).read_text() + "more\n")
    (project.top / "specs/new.md").write_text("new")
    return project


def damaged(place: Path) -> tuple[Project, dict[str, object]]:
    """A project of which much is lost, and what it was."""
    project = build(place, git=False)
    before = tree(project.top)
    project.snapshot()
    (project.top / "specs/a.md").write_text("")
    (project.top / "CLAUDE.md").unlink()
    shutil.rmtree(project.top / "specs/deep")
    (project.top / "specs/deep").write_text("in the way")
    (project.top / "specs/link.md").unlink()
    return project, before  # type: ignore[return-value]


def test_a_snapshot_that_is_killed_before_any_call(tmp_path: Path) -> None:
    points = list(kill_points(changed(tmp_path / "first"), "snapshot", tmp_path / "log"))
    assert {call for call, _ in points} >= {"pwrite64", "write", "rename", "fsync"}
    tried = 0
    for call, number in points[::STEP]:
        project = changed(tmp_path / f"{call}{number}")
        first = project.vault.newest()
        assert first is not None
        tried += killed(project, "snapshot", tmp_path / "log", call, number)
        newest = Project(project.top, Path(project.vault.directory).parent).vault.newest()
        assert newest is not None
        assert newest.head.name == first.head.name or newest.find(str(project.top / "specs/new.md")) is not None
        assert sound(project)
        clear(project.vault)
        assert not project.vault.stale()
        assert project.snapshot().manifest.find(str(project.top / "specs/new.md")) is not None
    assert tried >= len(points[::STEP]) - 2
    print(f"{tried} kill points")


def test_a_restoration_that_is_killed_before_any_call(tmp_path: Path) -> None:
    points = list(kill_points(damaged(tmp_path / "first")[0], "restore", tmp_path / "log"))
    assert {call for call, _ in points} >= {"pwrite64", "write", "rename", "fsync", "unlink"}
    tried = 0
    for call, number in points[::STEP]:
        project, before = damaged(tmp_path / f"{call}{number}")
        taken = project.vault.newest()
        assert taken is not None
        middle = tree(project.top)
        tried += killed(project, "restore", tmp_path / "log", call, number)
        assert_before_or_after(before, middle, tree(project.top))  # type: ignore[arg-type]
        assert sound(project)
        from guard.vault.restore import damaged as wanted
        from guard.vault.restore import repair

        repair(taken, project.vault, project.policy, wanted)
        assert tree(project.top) == before, (call, number)
    assert tried >= len(points[::STEP]) - 2
    print(f"{tried} kill points")
