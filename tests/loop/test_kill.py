"""A runner that is killed before any of its writes, and disks that are full or read-only: nothing that was recorded is lost,
and a breaker that opened stays open."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.loop.bench import EDIT, Bench, step

strace = shutil.which("strace")
needs_strace = pytest.mark.skipif(strace is None, reason="strace is not installed")
# Every call that changes something on the disk. GUARD_SWEEP=1 kills before each single one of them.
CALLS = ("write", "rename", "fdatasync", "fsync", "unlink", "ftruncate", "pwrite64", "mkdir", "link")
POINTS = 1  # of each kind without GUARD_SWEEP, spread over the run
RUN = [step(), step(), step()]  # opens the breaker after three iterations


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def traced(bench: Bench, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(strace), "-qq", "-o", str(bench.tmp / "trace"), *words, *bench.argv("loop", "-q", *bench.agent(RUN))],
        cwd=bench.top,
        env=bench.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )


def journal(bench: Bench) -> list[dict[str, Any]]:
    """The events that are whole, as they stand in the file."""
    found = []
    for path in sorted(bench.state.glob("loops/*/journal*.jsonl")):
        found += map(json.loads, path.read_bytes().split(b"\n")[:-1])
    return found


def survives(bench: Bench) -> None:
    """What was recorded is there after the next start, and an open breaker is as open as before."""
    before = journal(bench)
    opened = any(event["ev"] == "breaker" and event["to"] == "OPEN" for event in before)
    judged = [event for event in before if event["ev"] == "judged"]
    if before:
        assert bench.status()["breaker"]["state"] == ("OPEN" if opened else "CLOSED")
    seen = bench.loop([step()], "-q")
    after = journal(bench)
    assert after[: len(before)] == before
    assert seen.code == 1, seen.err
    assert bench.status()["breaker"]["state"] == "OPEN"
    if opened:
        assert bench.calls == 0
    else:
        idle = sum(event["outcome"] == "ok" for event in judged)
        assert bench.calls <= 3
        assert bench.calls >= 3 - idle - 1  # one more is known where its facts were recorded, and not yet the conclusion


@needs_strace
@pytest.mark.parametrize("call", CALLS)
def test_killed_before_any_call_to_the_disk_nothing_is_lost(call: str, bench: Bench, tmp_path: Path) -> None:
    assert traced(bench, "-e", f"trace={call}").returncode == 1
    lines = (bench.tmp / "trace").read_text(errors="replace").splitlines()
    count = sum(line.startswith(f"{call}(") for line in lines)
    if not count:
        pytest.skip(f"the runner makes no call of {call}")
    points = (
        range(1, count + 1)
        if os.environ.get("GUARD_SWEEP")
        else sorted({1 + at * (count - 1) // POINTS for at in range(POINTS + 1)})
    )
    for point in points:
        directory = tmp_path / f"{call}-{point}"
        directory.mkdir()
        fresh = Bench(directory)
        done = traced(fresh, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={point}")
        assert done.returncode != 64, done.stderr
        survives(fresh)
        shutil.rmtree(directory)


@needs_strace
@pytest.mark.parametrize("error", ["ENOSPC", "EROFS", "EIO"])
def test_a_disk_that_takes_nothing_more_ends_the_run_and_loses_nothing(error: str, bench: Bench, tmp_path: Path) -> None:
    """From some moment on every write that synchronises fails: the run says so, and what was recorded stands."""
    for point in (1, 3, 6, 12, 20, 30):
        directory = tmp_path / f"{error}-{point}"
        directory.mkdir()
        fresh = Bench(directory)
        done = traced(fresh, "-e", "trace=fdatasync", "-e", f"inject=fdatasync:error={error}:when={point}+")
        assert done.returncode in (1, 74), done.stderr
        if done.returncode == 74:
            assert b"guard: " in done.stderr
        survives(fresh)
        shutil.rmtree(directory)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="makes a small file system")
def test_a_full_disk_ends_the_run_and_keeps_the_breaker_as_it_is(bench: Bench) -> None:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", bench.state], capture_output=True)
    if done.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        assert bench.loop([step()]).code == 1
        filler = bench.state / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        bench.later(31)
        seen = bench.loop([step(EDIT)])
        assert seen.code in (70, 74), seen.err
        assert bench.calls == 0
        filler.unlink()
        assert bench.status()["breaker"]["state"] == "HALF_OPEN"  # the cooldown is over, and the probe was not used
    finally:
        subprocess.run(["umount", bench.state], check=True)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="makes a file system read-only")
def test_a_read_only_state_starts_nothing(bench: Bench) -> None:
    assert bench.loop([step()]).code == 1
    done = subprocess.run(["mount", "--bind", bench.state, bench.state], capture_output=True)
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", bench.state], check=True)
        seen = bench.loop([step(EDIT)])
        assert seen.code in (70, 74), seen.err
        assert bench.calls == 0
        assert bench.status()["breaker"]["state"] == "OPEN"
    finally:
        subprocess.run(["umount", bench.state], check=True)


def test_v39_a_damaged_checkpoint_gives_way_to_an_older_one(bench: Bench) -> None:
    bench.loop([step(EDIT), step()], "-n", "2")
    before = bench.status()["counters"]
    checkpoints = [path for path in bench.directory.iterdir() if re.match(r"state\.json$", path.name)]
    for path in checkpoints:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert bench.status()["counters"] == before
    bench.loop([step(EDIT)], "-n", "1")
    assert any(event["kind"] for event in bench.events("alert"))


def test_a_torn_line_of_the_journal_is_dropped_and_told(bench: Bench) -> None:
    bench.loop([step()])
    with open(bench.directory / "journal.jsonl", "ab") as file:
        file.write(b'{"v":1,"seq":99')
    seen = bench.loop([step(EDIT)])
    assert (seen.code, bench.calls) == (1, 0)
    assert bench.events("recovered")
