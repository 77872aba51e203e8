"""Verify commands: test output of the usual programs, and what one measurement says against the one before."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.loop.error_lines import error_lines
from guard.loop.test_output import FAILED, PASSED, SKIPPED, Results
from guard.loop.verifying import Verifier

# Output, passed, failed, skipped, and some names with their states.
OUTPUTS: dict[str, tuple[str, tuple[int, int, int], dict[str, str]]] = {
    "pytest": (
        "..F.s [100%]\n=== FAILURES ===\nE   assert 1 == 2\n=== short test summary info ===\n"
        "FAILED tests/test_a.py::test_x[a b] - assert 1 == 2\n=== 1 failed, 3 passed, 1 skipped, 2 warnings in 0.12s ===\n",
        (3, 1, 1),
        {"pytest: tests/test_a.py::test_x[a b]": FAILED},
    ),
    "pytest -v": (
        "tests/test_a.py::test_x PASSED [ 50%]\ntests/test_a.py::TestB::test_y SKIPPED (no) [ 60%]\n"
        "tests/test_a.py::test_z \x1b[31mFAILED\x1b[0m [100%]\n"
        "\x1b[31m==== 1 failed, 1 passed, 1 skipped in 61.05s (0:01:01) ====\x1b[0m\n",
        (1, 1, 1),
        {"pytest: tests/test_a.py::test_x": PASSED, "pytest: tests/test_a.py::test_z": FAILED},
    ),
    "pytest -q": ("2 passed, 1 xfailed, 1 error in 0.01s\nERROR tests/test_b.py - ImportError: no\n", (2, 1, 1), {}),
    "unittest": (
        "test_a (t.C.test_a) ... ok\ntest_b (t.C.test_b) ... FAIL\ntest_c (t.C.test_c) ... skipped 'x'\n"
        "======\nFAIL: test_b (t.C.test_b)\n------\nTraceback\nAssertionError: 1 != 2\n------\n"
        "Ran 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n",
        (1, 1, 1),
        {"unittest: test_b (t.C.test_b)": FAILED, "unittest: test_a (t.C.test_a)": PASSED},
    ),
    "unittest ok": ("....\n----\nRan 4 tests in 0.1s\n\nOK\n", (4, 0, 0), {}),
    "jest": (
        "PASS src/a.test.js\nFAIL src/b.test.js\n  sum\n    ✓ adds (3 ms)\n    ✕ takes away (1 ms)\n    ○ skipped divides\n"
        "  ● sum › takes away\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 4 passed, 6 total\n",
        (4, 1, 1),
        {"marked: takes away": FAILED, "marked: adds": PASSED},
    ),
    "jest, brief": (
        "FAIL b.test.js\n  ● sum › takes away\nTests: 1 failed, 4 passed, 5 total\n",
        (4, 1, 0),
        {"marked: sum › takes away": FAILED},
    ),
    "vitest": (
        " ✓ src/a.test.ts (3 tests) 5ms\n ❯ src/b.test.ts (2 tests | 1 failed) 8ms\n   × sum > takes away 3ms\n"
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 4 passed (5)\n",
        (4, 1, 0),
        {"marked: sum > takes away": FAILED},
    ),
    "go": (
        "--- FAIL: TestA (0.00s)\n    --- PASS: TestA/one (0.00s)\n    a_test.go:5: no\nFAIL\nFAIL\texample.com/a\t0.01s\n"
        "ok  \texample.com/b\t(cached)\n?   \texample.com/c\t[no test files]\nFAIL\texample.com/d [build failed]\n",
        (2, 1, 0),
        {"go: TestA": FAILED, "go: example.com/b": PASSED},
    ),
    "go -json": (
        '{"Time":"x","Action":"run","Package":"p","Test":"TestA"}\n{"Time":"x","Action":"pass","Package":"p","Test":"TestA","Elapsed":0}\n'
        '{"Time":"x","Action":"fail","Package":"p","Test":"TestB"}\n{"Time":"x","Action":"fail","Package":"p","Elapsed":0}\n',
        (1, 1, 0),
        {"go: p.TestB": FAILED},
    ),
    "cargo": (
        "running 3 tests\ntest tests::a ... ok\ntest tests::b ... FAILED\ntest tests::c ... ignored\n\n"
        "test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n",
        (3, 1, 1),
        {"cargo: tests::b": FAILED},
    ),
    "bats": (
        "1..3\nok 1 adds\nnot ok 2 takes away\n# (in test file a.bats, line 3)\nok 3 divides # skip later\n",
        (1, 1, 1),
        {"tap: takes away": FAILED},
    ),
    "bats, pretty": (
        " ✓ adds\n ✗ takes away\n   (in test file a.bats, line 3)\n\n2 tests, 1 failure\n",
        (1, 1, 0),
        {"marked: takes away": FAILED},
    ),
    "TAP": ("TAP version 13\nok 1 - a\nnot ok 2 - b # TODO soon\nnot ok 3\n1..3\n", (1, 1, 1), {"tap: test 3": FAILED}),
    "JUnit": (
        '<testsuite tests="3" failures="1"><testcase classname="c" name="a"/><testcase classname="c" name="b &lt;1&gt;">\n'
        '<failure message="x">boom</failure></testcase><testcase name="s" classname="c"><skipped/></testcase></testsuite>\n',
        (1, 1, 1),
        {"junit: c.b <1>": FAILED, "junit: c.a": PASSED, "junit: c.s": SKIPPED},
    ),
    "Maven": (
        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.B\n"
        "[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n",
        (2, 2, 1),
        {},
    ),
    "JUnit console": (
        "[         3 tests successful      ]\n[         1 tests failed          ]\n[  0 tests skipped ]\n",
        (3, 1, 0),
        {},
    ),
    "two programs": ("3 passed in 0.1s\nTests:       1 failed, 2 passed, 3 total\n", (5, 1, 0), {}),
    "none": ("building\nok then\nok  \n12 files in 3s\n<p>Tests</p>\n| ok |\n", (0, 0, 0), {}),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_usual_programs(name: str) -> None:
    output, counts, names = OUTPUTS[name]
    results = Results()
    for line in output.splitlines():
        results.line(line)
    found = results.counts()
    assert (found.passed, found.failed, found.skipped) == counts
    assert names.items() <= results.names().items()


@given(
    st.lists(st.one_of(st.text(), st.sampled_from("".join(text for text, _, _ in OUTPUTS.values()).splitlines())), max_size=20)
)
def test_any_output_can_be_read(lines: list[str]) -> None:
    results = Results()
    for line in lines:
        results.line(line)
    assert results.counts().total >= 0


def test_no_line_takes_long() -> None:
    start = time.perf_counter()
    for line in (
        "Tests: " + "1 a1" * 5000,
        "x (" * 4000,
        '{"Action":"pass"' * 3000,
        " ... " * 4000,
        "<testcase " * 50_000,
        "1 passed " * 9000,
    ):
        Results().line(line)
    assert time.perf_counter() - start < 2


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


def test_a_command_that_takes_too_long_has_failed_and_leaves_no_process(top: Path) -> None:
    beats: list[float] = []
    one = Verifier(
        ["trap '' TERM; echo $$ > pid; echo 'error: slow'; sleep 600"],
        str(top), {"PATH": os.environ["PATH"]}, 3, lambda: beats.append(time.monotonic()),
    )  # fmt: skip
    start = time.monotonic()
    found = one.measure()
    assert (found.ok, found.failed) == (False, 1)
    assert time.monotonic() - start < 300
    assert found.tail[-1] == "it took longer than 3 s"
    assert len(beats) > 10
    assert not living(int((top / "pid").read_text()))


def living(group: int) -> list[str]:
    """The processes of a group that have not ended. Nobody may have asked for the status of those that have."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] not in "ZX":
                found.append(path.parent.name)
    return found


def test_what_a_command_leaves_behind_does_not_hold_it_up(top: Path) -> None:
    start = time.monotonic()
    assert verifier(top, "sleep 600 & echo done").measure().ok
    assert time.monotonic() - start < 300


def test_large_and_binary_output_is_read_in_bounded_memory(top: Path) -> None:
    found = verifier(top, "head -c 20000000 /dev/zero; echo; head -c 1000000 /dev/urandom; echo; echo 3 passed in 1s").measure()
    assert (found.ok, found.passed) == (True, 3)


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
