"""Verify commands: test output of the usual programs, and what one measurement says against the one before."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from guard.loop import verifying
from guard.loop.error_lines import error_lines
from guard.loop.verifying import Verifier


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return tmp_path


def verifier(top: Path, *commands: str, **more: float) -> Verifier:
    return Verifier(commands, str(top), {"PATH": os.environ["PATH"]}, **more)  # type: ignore[arg-type]


def test_verify_is_ok_when_every_command_exits_with_0(top: Path) -> None:
    assert verifier(top, "true", "exit 0").measure().ok
    found = verifier(top, "true", "echo one; echo two >&2; exit 3", "no-such-command").measure()
    assert (found.ok, found.passed, found.failed, found.tail) == (False, 1, 2, ("one", "two"))


def test_commands_run_in_the_tree(top: Path) -> None:
    verifier(top, "echo x > made").measure()
    assert (top / "made").exists()


def test_only_the_last_twenty_lines_of_the_first_failure_are_kept(top: Path) -> None:
    found = verifier(top, "seq 100; echo; false", "echo other; false").measure()
    assert found.tail == tuple(str(n) for n in range(81, 101))


def outputs(top: Path, *texts: str) -> list[tuple[int, int]]:
    """What is newly passing and resolved when a command prints these, one after the other. It fails where a test does."""
    one = verifier(top, "cat out; ! grep -qE 'FAIL|failed|not ok|rror' out")
    found = []
    for text in texts:
        (top / "out").write_text(text)
        measured = one.measure()
        found.append((measured.newly_passing, measured.resolved))
    return found


def test_a_test_that_failed_and_passes_is_newly_passing(top: Path) -> None:
    assert outputs(top, "1..2\nok 1 a\nnot ok 2 b\n", "1..2\nok 1 a\nok 2 b\n", "1..2\nok 1 a\nok 2 b\n")[1:] == [(1, 0), (0, 0)]


def test_a_failure_that_is_not_named_any_more_counts_as_far_as_more_tests_pass(top: Path) -> None:
    before = "FAILED t.py::a - x\nFAILED t.py::b - y\n2 failed, 3 passed in 1s\n"
    assert outputs(top, before, "5 passed in 1s\n")[1] == (2, 2)
    assert outputs(top, before, "3 passed in 1s\n")[1][0] == 0  # taken away
    assert outputs(top, before, "FAILED t.py::b - y\n1 failed, 4 passed in 1s\n")[1][0] == 1


def test_a_new_test_that_passes_is_not_newly_passing(top: Path) -> None:
    assert outputs(top, "1..1\nok 1 a\n", "1..2\nok 1 a\nok 2 b\n")[1] == (0, 0)


def test_unknown_output_counts_as_one_test(top: Path) -> None:
    assert outputs(top, "error: no\n", "fine\n") == [(0, 0), (1, 1)]


def test_an_error_is_resolved_when_it_is_gone(top: Path) -> None:
    first = "src/a.c:5:1: error: boom in x\nsrc/b.c:7: error: other thing\n"
    same = "src/a.c:9:4: error: boom in x\n"
    assert outputs(top, first, same, "fine\n", first) == [(0, 0), (0, 1), (1, 1), (0, 0)]


def test_a_command_that_could_not_run_resolves_nothing(top: Path) -> None:
    one = verifier(top, "sh ./script")
    (top / "script").write_text("echo 'error: boom'; exit 1\n")
    one.measure()
    (top / "script").write_text("exit 127\n")
    assert one.measure().resolved == 0
    (top / "script").write_text("true\n")
    found = one.measure()
    assert (found.newly_passing, found.resolved) == (1, 1)


def test_a_command_that_takes_too_long_has_failed_and_leaves_no_process(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "GRACE_S", 0.2)
    beats: list[float] = []
    away = "setsid sh -c 'trap \"\" TERM; echo $$ > away; sleep 600' & "
    one = Verifier(
        [f"trap '' TERM; echo $$ > pid; {away}echo 'error: slow'; echo 1..2; echo ok 1 - a; sleep 600"],
        str(top), {"PATH": os.environ["PATH"]}, 0.5, lambda: beats.append(time.monotonic()),
    )  # fmt: skip
    start = time.monotonic()
    found = one.measure()
    assert (found.ok, found.passed, found.failed) == (False, 1, 1)
    assert time.monotonic() - start < 60
    assert found.tail[-1] == "it took longer than 0.5 s"
    assert len(beats) > 4
    for name in ("pid", "away"):
        assert not living(int((top / name).read_text()))


def living(group: int) -> list[str]:
    """The processes of a group that have not ended. Nobody may have asked for the status of those that have."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] not in "ZX":
                found.append(path.parent.name)
    return found


def test_what_a_command_leaves_behind_does_not_hold_it_up_and_dies(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "DRAIN_S", 0.2)
    start = time.monotonic()
    left = "setsid sh -c 'echo $$ > one; exec sleep 600' & (setsid sh -c 'echo $$ > two; exec sleep 600' &) ; "
    assert verifier(top, f"{left} while ! [ -s one -a -s two ]; do :; done; echo done").measure().ok
    assert time.monotonic() - start < 60
    for name in ("one", "two"):
        assert not living(int((top / name).read_text()))


def test_large_and_binary_output_is_read_in_bounded_memory(top: Path) -> None:
    found = verifier(top, "head -c 20000000 /dev/zero; echo; head -c 1000000 /dev/urandom; echo; echo 3 passed in 1s").measure()
    assert (found.ok, found.passed) == (True, 3)


def test_progress_that_is_written_over_leaves_the_last_lines_of_the_rest(top: Path) -> None:
    bar = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf '\\r[%s of 3000 %0300d]' $i 0; done; "
    found = verifier(top, f"{bar} printf '\\n1 failed, 2 passed in 1s\\nsee above\\n'; false").measure()
    assert (found.passed, found.failed) == (2, 1)
    assert found.tail[0].startswith("[3000 of")
    assert found.tail[1:] == ("1 failed, 2 passed in 1s", "see above")


@pytest.mark.parametrize(
    ("script", "counts"),
    [
        ("echo 5 passed in 1s; false", (5, 1, 0)),  # a failure that no test explains
        ("echo 4 passed, 1 failed in 1s; false", (4, 1, 0)),
        ("echo 'collected 9 items'; kill -9 $$", (0, 1, 0)),
        ("printf 't.py::a PASSED [ 10%%]\\nt.py::b '; exit 3", (1, 1, 0)),  # it crashed in the middle
        ("echo 4 passed, 1 failed in 1s; true", (4, 1, 0)),
    ],
)
def test_every_failure_is_counted(top: Path, script: str, counts: tuple[int, int, int]) -> None:
    found = verifier(top, script).measure()
    assert (found.passed, found.failed, found.skipped) == counts


def test_a_command_that_failed_for_a_reason_of_its_own_and_works_is_newly_passing(top: Path) -> None:
    one = verifier(top, "echo 5 passed in 1s; test -e covered")
    assert one.measure().newly_passing == 0
    (top / "covered").touch()
    assert [one.measure().newly_passing, one.measure().newly_passing] == [1, 0]


def test_of_errors_beyond_memory_none_is_resolved(top: Path) -> None:
    one = verifier(top, "cat out; false")
    letters = "abcdefghijklmnopqrstuvwxyz"
    many = "".join(f"error: {a}{b}\n" for a in letters for b in letters)
    found = []
    for text in ("error: one\n", many):
        (top / "out").write_text(text)
        found.append(one.measure().resolved)
    assert found == [0, 0]


REPORT = "<testsuite><testcase name='a'/><testcase name='b'>{}</testcase></testsuite>"


@pytest.mark.parametrize(
    ("script", "counts"),
    [
        ("cp given report.xml; echo wrote report.xml", (1, 1)),
        ("cp given report.xml; : --junitxml=report.xml", (1, 1)),
        ("cp given report.xml; echo '-- generated xml file: '$PWD/report.xml' --'; echo 1 failed, 1 passed in 1s", (1, 1)),
        ("cp given report.xml; echo report.xml; echo 7 passed in 1s; false", (7, 1)),  # it tells of more than the file
        ("echo old.xml", (1, 0)),  # of an earlier run
        ("mkfifo report.xml; ln -s . link.xml; echo report.xml link.xml none.xml /dev/zero.xml", (1, 0)),
        ("cat given", (1, 1)),
        ("head -c 70000 /dev/zero | tr '\\0' ' '; cat given", (1, 1)),  # all in one long line
    ],
)
def test_reports_in_files(top: Path, script: str, counts: tuple[int, int]) -> None:
    failure = REPORT.format("<failure/>")
    for name, text in (("given", failure), ("old.xml", failure)):
        (top / name).write_text(text)
    os.utime(top / "old.xml", (1e9, 1e9))
    found = verifier(top, script).measure()
    assert (found.passed, found.failed) == counts


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        *(
            (line, True)
            for line in ("Error: boom", "error[E0308]: x", "fatal: not a git repository", "panic: x", "Exception in x")
        ),
        *((line, True) for line in ("src/a.py:3: error: x", "a.c:3:9: fatal error: y", "FAILED tests/a.py", "E   assert 1")),
        *(
            (line, True)
            for line in ("ValueError: x", "java.lang.IllegalStateException: x", "  TypeError: x", "\x1b[31mError: red")
        ),
        *(
            (line, False)
            for line in ("Errors were fixed", "no error", "I fixed the Error: x", "failed to see", "E  x", "Erroneous")
        ),
        *((line, False) for line in ("", "terror: x", "MyErrors", "FAILEDx", "the panic")),
    ],
)
def test_error_lines(line: str, is_one: bool) -> None:
    assert bool(error_lines([line])) is is_one
