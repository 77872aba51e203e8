"""Many guarded commands at once, files larger than memory, disks that are full or read-only."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard.vault.retention import check, clear
from tests.vault.child import forked, with_files_of_at_most
from tests.vault.project_tree import FILES, Project, build, tree

ROOT = Path(__file__).parents[2]
AT_ONCE = int(os.environ.get("GUARD_AT_ONCE", "8"))  # guarded commands
BIG = int(os.environ.get("GUARD_BIG", str(96 << 20)))  # bytes of a large file
MEMORY = 40 << 20  # bytes that snapshot and restore of it may need besides what the interpreter has already
UNLINK = f"{sys.executable} -c 'import os, sys; os.unlink(sys.argv[1])' {{}}"


def guarded(project: Project, script: str) -> subprocess.Popen[str]:
    """A guarded shell command that has just been started."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(project.top.parent), "GUARD_STATE_DIR": str(project.top.parent / "state")}
    argv = [sys.executable, "-m", "guard", "exec", "--", "sh", "-c", script]
    return subprocess.Popen(
        argv, cwd=project.top, env=environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_many_guarded_commands_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each destroys one file by means that only the files show, and writes a new one and one that is edited all the time."""
    project = build(tmp_path, git=False)
    before = tree(project.top)
    names = [f"specs/mine-{number}.md" for number in range(AT_ONCE)]
    for name in names:
        (project.top / name).write_text(f"the text of {name}\n" * 20)
    started = [
        guarded(project, f"{UNLINK.format(name)}; echo new > specs/new-{number}.md; echo more >> memory/lessons.md")
        for number, name in enumerate(names)
    ]
    ended = [(*each.communicate(timeout=300), each.returncode) for each in started]
    assert {status for _, _, status in ended} <= {0, 4}, ended
    for name in names:
        assert (project.top / name).read_text() == f"the text of {name}\n" * 20
    for number in range(AT_ONCE):
        assert (project.top / f"specs/new-{number}.md").read_text() == "new\n"
    assert (project.top / "memory/lessons.md").read_text() == FILES["memory/lessons.md"] + "more\n" * AT_ONCE
    after = tree(project.top)
    assert {name: stood for name, stood in after.items() if name in before and name != "memory/lessons.md"} == {
        name: stood for name, stood in before.items() if name != "memory/lessons.md"
    }
    assert check(project.vault).good
    clear(project.vault)
    assert check(project.vault).good


def test_snapshots_restorations_and_clearings_at_once(tmp_path: Path) -> None:
    """Nothing that a snapshot names is ever cleared away by others, and nobody waits for ever."""
    project = build(tmp_path, git=False)
    project.snapshot()

    def work(number: int) -> None:
        own = Project(project.top, Path(project.vault.directory).parent)
        for turn in range(6):
            (project.top / f"specs/{number}.md").write_text(f"{number} {turn}\n" * 50)
            taken = own.snapshot()
            assert own.vault.good(next(entry.digest for entry in taken.manifest if entry.path.endswith(f"/{number}.md")))
            clear(own.vault, size=0)
            taken.pin.release()

    children = []
    for number in range(6):
        child = os.fork()
        if child == 0:
            os._exit(forked(lambda number=number: work(number)) != 0)  # type: ignore[misc]
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 6
    assert check(project.vault).good


def data_bytes() -> int:
    """The bytes of data that this process has."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmData")) << 10


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_a_large_file_is_streamed(tmp_path: Path, kind: str) -> None:
    if shutil.disk_usage(tmp_path).free < 4 * BIG:
        pytest.skip("needs room")
    project = build(tmp_path, git=False)
    path = project.top / "specs/big.bin"
    with open(path, "wb") as file:
        block = os.urandom(1 << 16) * 16
        for number in range(BIG >> 20 if kind == "dense" else 1):
            file.write(number.to_bytes(8, "big") + block[8:])
        file.truncate(BIG)
    size = path.stat().st_blocks
    time.sleep(0.03)

    def work() -> None:
        limit = data_bytes() + MEMORY
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        taken = project.snapshot()
        os.unlink(path)
        assert [each.outcome for each in project.repair(taken)] == ["restored"]

    with open(path, "rb") as file:
        first = file.read(1 << 20)
    assert forked(work) == 0
    assert path.stat().st_size == BIG
    assert path.stat().st_blocks <= size + (4 << 20) // 512  # runs of zeros are told by the piece
    with open(path, "rb") as file:
        assert file.read(1 << 20) == first


def test_a_full_disk_stops_a_snapshot_and_keeps_the_last_one(tmp_path: Path) -> None:
    project = build(tmp_path, git=False)
    taken = project.snapshot()
    (project.top / "specs/big.md").write_bytes(os.urandom(1 << 20))
    assert with_files_of_at_most(1 << 16, project.snapshot) == 1
    newest = project.vault.newest()
    assert newest is not None
    assert newest.head.name == taken.name
    assert check(project.vault).good
    clear(project.vault)
    assert project.snapshot().fresh


def test_a_full_disk_stops_a_restoration_and_loses_nothing(tmp_path: Path) -> None:
    project = build(tmp_path, git=False)
    path = project.top / "specs/big.md"
    data = os.urandom(1 << 20)
    path.write_bytes(data)
    taken = project.snapshot()
    path.write_bytes(b"mine\n" * 60_000)

    def work() -> None:
        assert "restored" not in {each.outcome for each in project.repair(taken)}

    assert with_files_of_at_most(1 << 16, work) in (0, 1)  # told as failed, or what stands there could not be kept
    assert path.read_bytes() == b"mine\n" * 60_000
    assert not [name for name in os.listdir(project.top / "specs") if name.startswith(".guard-restore-")]
    project.repair(taken)
    assert path.read_bytes() == data


def read_only(project: Project, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """guard, called where a directory is on a disk that cannot be written."""
    argv = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(place), str(place), "--chdir", str(project.top), "--"]
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GUARD_STATE_DIR": str(Path(project.vault.directory).parent),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        [*argv, sys.executable, "-m", "guard", *words], env=environ, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.skipif(
    subprocess.run(["sh", "-c", "bwrap --ro-bind / / true"], capture_output=True, check=False).returncode != 0,
    reason="bubblewrap does not work here",
)
def test_disks_that_are_read_only_lose_nothing(tmp_path: Path) -> None:
    project = build(tmp_path, git=False)
    (project.top / "guard.toml").write_text("")
    taken = project.snapshot()
    (project.top / "specs/new.md").write_text("new\n")
    state = Path(project.vault.directory).parent
    run = read_only(project, state, "snapshot")
    assert run.returncode in (70, 74), run.stderr
    assert "guard: " in run.stderr
    newest = project.vault.newest()
    assert newest is not None
    assert newest.head.name == taken.name

    (project.top / "specs/a.md").unlink()
    for words in (("specs/a.md",), ("--all",)):
        run = read_only(project, project.top, "restore", "--yes", *words)
        assert run.returncode == 1
        assert "specs/a.md cannot be restored here" in run.stderr
    assert check(project.vault).good
    assert [each.outcome for each in project.repair(taken)] == ["restored"]
