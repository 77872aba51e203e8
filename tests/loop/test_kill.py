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

from guard.loop import store
from tests.loop.bench import EDIT, Bench, step

strace = shutil.which("strace")
needs_strace = pytest.mark.skipif(strace is None, reason="strace is not installed")
SWEEP = bool(os.environ.get("GUARD_SWEEP"))
# Every call that changes something on the disk. GUARD_SWEEP=1 kills before each single one of them, else before one of each of
# the first kinds; tests/loop/test_sweep.py takes those of the store by themselves.
CALLS = ("write", "rename", "fdatasync", "fsync", "unlink", "ftruncate", "pwrite64", "mkdir", "link")
FEW = 4
OPENS, STAYS = "opens", "stays closed"
RUNS = {OPENS: ([step(), step(), step()], ()), STAYS: ([step(EDIT), step(EDIT)], ("-n", "2"))}
EXIT = {OPENS: 1, STAYS: 2}
ERRORS = {"ENOSPC": 3, "EROFS": 12, "EIO": 20}  # and the call that is the first to fail


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def traced(bench: Bench, run: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """A run of the loop under strace."""
    steps, options = RUNS[run]
    return subprocess.run(
        [str(strace), "-qq", "-o", str(bench.tmp / "trace"), *words, *bench.argv("loop", "-q", *options, *bench.agent(steps))],
        cwd=bench.top,
        env=bench.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """How often a run makes each call."""
    found = {}
    Bench(tmp_path_factory.mktemp("first")).loop([step(EDIT)], "-n", "1")  # copies guard to where the others find it
    for run in RUNS:
        bench = Bench(tmp_path_factory.mktemp("counted"))
        assert traced(bench, run, "-e", f"trace={','.join(CALLS)}").returncode == EXIT[run]
        lines = (bench.tmp / "trace").read_text(errors="replace").splitlines()
        found[run] = {call: sum(line.startswith(f"{call}(") for line in lines) for call in CALLS}
    return found


def journal(bench: Bench) -> list[dict[str, Any]]:
    """The events that are whole, as they stand in the file."""
    found = []
    for path in sorted(bench.state.glob("loops/*/journal*.jsonl")):
        found += map(json.loads, path.read_bytes().split(b"\n")[:-1])
    return found


def survives(bench: Bench, run: str) -> None:
    """What was recorded is there after the next start, and an open breaker is as open as before."""
    before = journal(bench)
    # It is open as soon as the facts are recorded that open it, whether or not the conclusion is.
    measured = sum(event["ev"] == "measured" and event["n"] is not None for event in before)
    opened = any(event["ev"] == "breaker" and event["to"] == "OPEN" for event in before) or (run == OPENS and measured == 3)
    judged = [event for event in before if event["ev"] == "judged"]
    if before:
        state = store.peek(str(bench.directory))
        assert state is not None
        assert state.breaker.state == ("OPEN" if opened else "CLOSED")
    steps, options = ([step()], ()) if run == OPENS else ([step(EDIT)], ("-n", "1"))
    seen = bench.loop(steps, "-q", *options)
    after = journal(bench)
    assert after[: len(before)] == before
    assert seen.code == EXIT[run], seen.err
    state = store.peek(str(bench.directory))
    assert state is not None
    assert state.breaker.state == ("OPEN" if run == OPENS else "CLOSED")
    if opened:
        assert bench.calls == 0
    elif run == OPENS:
        idle = sum(event["outcome"] == "ok" for event in judged)
        assert bench.calls <= 3
        assert bench.calls >= 3 - idle - 1  # one more is known where its facts were recorded, and not yet the conclusion
    else:
        assert bench.calls == 1


@needs_strace
@pytest.mark.parametrize(("at", "call"), list(enumerate(CALLS if SWEEP else CALLS[:FEW])))
def test_killed_before_any_call_to_the_disk_nothing_is_lost(
    at: int, call: str, counts: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    for run in RUNS if SWEEP else [list(RUNS)[at % len(RUNS)]]:
        count = counts[run][call]
        points = range(1, count + 1) if SWEEP else [1 + count * 2 // 3] if count else []
        for point in points:
            directory = tmp_path / f"{run}-{call}-{point}"
            directory.mkdir()
            fresh = Bench(directory)
            done = traced(fresh, run, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={point}")
            assert done.returncode != 64, done.stderr
            survives(fresh, run)
            shutil.rmtree(directory)
        if SWEEP:
            print(f"{run}, {call}: {count} points")


@needs_strace
@pytest.mark.parametrize("error", list(ERRORS) if SWEEP else ["ENOSPC", "EIO"])
def test_a_disk_that_takes_nothing_more_ends_the_run_and_loses_nothing(error: str, tmp_path: Path) -> None:
    """From some moment on every write that synchronises fails: the run says so, and what was recorded stands."""
    for point in range(1, 31) if SWEEP else [ERRORS[error]]:
        directory = tmp_path / f"{error}-{point}"
        directory.mkdir()
        fresh = Bench(directory)
        done = traced(fresh, OPENS, "-e", "trace=fdatasync", "-e", f"inject=fdatasync:error={error}:when={point}+")
        assert done.returncode in (1, 74), done.stderr
        if done.returncode == 74:
            assert b"guard: " in done.stderr
        survives(fresh, OPENS)
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
        state = store.peek(str(bench.directory))
        assert state is not None
        # The cooldown is over. How far the start got depends on the bytes that were left; the probe was not used.
        assert state.breaker.state in ("OPEN", "HALF_OPEN")
        assert not state.breaker.probe_used
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
