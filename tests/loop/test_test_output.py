"""Test output: what the usual programs report, from their real output, and what looks like a report and is none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.loop.error_lines import shown
from guard.loop.test_output import FAILED, PASSED, SKIPPED, Results
from guard.loop.test_results import NAMES

SAMPLES = Path(__file__).parent.parent / "data" / "test_output"


def read(output: str) -> Results:
    results = Results()
    for line in output.split("\n"):
        results.line(line)
    results.end()
    return results


def numbers(results: Results) -> tuple[int, int, int]:
    found = results.counts()
    return found.passed, found.failed, found.skipped


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
        {"marked: src/b.test.js: sum › takes away": FAILED, "marked: src/b.test.js: sum › adds": PASSED},
    ),
    "jest, brief": (
        "FAIL b.test.js\n  ● sum › takes away\nTests: 1 failed, 4 passed, 5 total\n",
        (4, 1, 0),
        {"marked: b.test.js: sum › takes away": FAILED},
    ),
    "vitest": (
        " ✓ src/a.test.ts (3 tests) 5ms\n ❯ src/b.test.ts (2 tests | 1 failed) 8ms\n   × sum > takes away 3ms\n"
        " FAIL  src/b.test.ts > sum > takes away\n"
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 4 passed (5)\n",
        (4, 1, 0),
        {"marked: src/b.test.ts > sum > takes away": FAILED},
    ),
    "go": (
        "--- FAIL: TestA (0.00s)\n    --- PASS: TestA/one (0.00s)\n    a_test.go:5: no\nFAIL\nFAIL\texample.com/a\t0.01s\n"
        "ok  \texample.com/b\t(cached)\n?   \texample.com/c\t[no test files]\nFAIL\texample.com/d [build failed]\n",
        (2, 2, 0),
        {"go: example.com/a.TestA": FAILED, "go: example.com/b": PASSED, "go: example.com/d": FAILED},
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
    results = read(output)
    assert numbers(results) == counts
    assert names.items() <= results.names().items()


@given(
    st.lists(st.one_of(st.text(), st.sampled_from("".join(text for text, _, _ in OUTPUTS.values()).splitlines())), max_size=20)
)
def test_any_output_can_be_read(lines: list[str]) -> None:
    results = read("\n".join(lines))
    assert results.counts().total >= 0
    assert set(results.names().values()) <= {PASSED, FAILED, SKIPPED}


def test_no_line_takes_long() -> None:
    start = time.process_time()
    for line in (
        "Tests: " + "1 a1" * 5000,
        "x (" * 4000,
        '{"Action":"pass"' * 3000,
        " ... " * 4000,
        "<testcase " * 50_000,
        "1 passed " * 9000,
    ):
        Results().line(line)
    assert time.process_time() - start < 2


P, F, S = PASSED, FAILED, SKIPPED
PYTEST = {
    "test_takes_away": F, "test_words[bad]": F, "test_with_broken": F, "test_torn": F, "TestGroup::test_prints": F,
    "Old::test_sub": F,
}  # fmt: skip
NAMED = {
    "test_adds": P,
    "test_words[a b]": P,
    "test_words[c::d]": P,
    "test_words[e - f]": P,
    "test_words[[x]]": P,
    "TestGroup::test_adds": P,
}


def of(prefix: str, names: dict[str, str]) -> dict[str, str]:
    return {prefix + name: state for name, state in names.items()}


IN_PYTEST, UNITTEST = "pytest: test_sums.py::", "unittest: {} (test_plain.Sums.{})"
JEST = {"sums › takes away (really)": F, "sums › nested › adds › strangely": F}
VITEST = {"sums > takes away (really)": F, "sums > nested > throws": F}
TAP = {"adds": P, "takes away": F, "divides": S}
GO = {"a.TestTakesAway": F, "a.TestTable": F, "a.TestTable/n_is_2": F, "d": F, "e.TestPanics": F}
# By sample: passed, failed, skipped, names with their states, and names that are in the output and are none of tests.
FOUND: dict[str, tuple[tuple[int, int, int], dict[str, str]]] = {
    **dict.fromkeys(("pytest", "pytest-q", "pytest-xdist"), ((10, 6, 2), of(IN_PYTEST, PYTEST))),
    **dict.fromkeys(
        ("pytest-v", "pytest-rA", "pytest-rA-colour", "pytest-xdist-v-colour"), ((10, 6, 2), of(IN_PYTEST, PYTEST | NAMED))
    ),
    "pytest-qq": ((10, 5, 2), of(IN_PYTEST, PYTEST)),
    "pytest-collection-error": ((0, 1, 0), {"pytest: test_import.py": F}),
    "pytest-crash-v": ((1, 1, 0), {"pytest: test_crash.py::test_first": P, "pytest: test_crash.py::test_fails": F}),
    "pytest-xdist-crash": (
        (2, 2, 0),
        {"pytest: test_crash.py::test_crashes": F, "pytest: test_crash.py::test_fails": F},
    ),
    "pytest-none": ((0, 0, 0), {}),
    "pytest-x": ((1, 1, 0), {IN_PYTEST + "test_takes_away": F}),
    "pytest-junit": ((8, 6, 2), of("junit: test_sums.", {"test_adds": P, "test_words[bad]": F, "test_skipped": S})),
    "unittest": ((3, 5, 2), {UNITTEST.format(name, name): F for name in ("test_error", "test_takes_away", "test_surprise")}),
    "unittest-v": (
        (3, 5, 2),
        {
            **{UNITTEST.format(name, name): P for name in ("test_adds", "test_documented", "test_prints")},
            **{UNITTEST.format(name, name): F for name in ("test_error", "test_sub", "test_takes_away", "test_surprise")},
            **{UNITTEST.format(name, name): S for name in ("test_skipped", "test_known")},
            "unittest: setUpClass (test_plain.Broken)": F,
        },
    ),
    "unittest-ok": ((1, 0, 0), {UNITTEST.format("test_adds", "test_adds"): P}),
    "unittest-import-error": ((0, 1, 0), {"unittest: test_import (unittest.loader._FailedTest.test_import)": F}),
    "jest": ((5, 2, 2), of("marked: t/sums.test.js: ", JEST) | {"marked: t/broken.test.js": F}),
    "jest-verbose-colour": (
        (5, 2, 2),
        of("marked: t/sums.test.js: ", JEST | {"sums › adds": P, "sums › nested › adds": P, "sums › divides": S})
        | {"marked: t/broken.test.js": F, "marked: t/good.test.js: good 1": P},
    ),
    "jest-ok": ((2, 0, 0), {}),
    **dict.fromkeys(
        ("vitest", "vitest-dot"), ((5, 2, 2), of("marked: v/sums.test.mjs > ", VITEST) | {"marked: v/broken.test.mjs": F})
    ),
    "vitest-verbose-colour": (
        (5, 2, 2),
        of("marked: v/sums.test.mjs > ", VITEST | {"sums > adds": P, "sums > nested > adds": P, "sums > divides": S}),
    ),
    "vitest-tap": ((6, 3, 1), of("tap: v/sums.test.mjs › sums › ", {"adds": P, "nested › adds": P, "nested › throws": F})),
    "vitest-tap-flat": ((6, 3, 1), of("tap: v/sums.test.mjs > ", VITEST)),
    "vitest-junit": ((5, 3, 2), of("junit: v/sums.test.mjs.", VITEST)),
    "mocha": ((1, 1, 2), {"marked: adds": P, "marked: takes away": F}),
    "node-tap": ((2, 2, 2), of("tap: ", TAP | {"multiplies": S, "group › adds": P, "group › fails": F})),
    "node-spec": ((2, 2, 2), of("marked: ", TAP | {"multiplies": S, "group › adds": P, "group › fails": F})),
    "node-junit": ((2, 3, 1), of("junit: test.", TAP | {"fails": F})),
    "bats": ((2, 2, 1), of("tap: ", TAP | {"with # in it": P, "with (parens)": F})),
    "bats-timing": ((2, 2, 1), of("tap: ", TAP | {"with # in it": P, "with (parens) in 3ms": F})),
    "bats-tap13": ((2, 2, 1), of("tap: ", TAP | {"with # in it": P, "with (parens)": F})),
    "bats-pretty": ((2, 2, 1), of("marked: ", {"adds": P, "takes away": F, "with # in it": P})),
    "bats-junit": ((2, 2, 1), of("junit: a.bats.", TAP | {"with # in it": P, "with (parens) in 3ms": F})),
    "cargo": ((4, 1, 1), of("cargo: ", {"sums: tests::takes_away": F, "sums: tests::adds": P, "whole: adds": P})),
    "cargo-q": ((2, 1, 1), {"cargo: sums: tests::takes_away": F}),
    "go": ((1, 6, 0), of("go: example.com/sums/", GO | {"b": P})),
    "go-v": ((6, 5, 1), of("go: example.com/sums/", GO | {"a.TestAdds": P, "a.TestSkipped": S, "b.TestB": P})),
    "go-json": ((5, 6, 1), of("go: example.com/sums/", GO | {"a.TestAdds": P, "a.TestSkipped": S, "b.TestB": P})),
}


def sample(name: str) -> str:
    (path,) = (path for path in SAMPLES.iterdir() if path.stem == name)
    return path.read_bytes().decode("utf-8", "replace")


def test_every_sample_is_read() -> None:
    assert {path.stem for path in SAMPLES.iterdir()} == set(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_what_real_programs_print(name: str) -> None:
    counts, names = FOUND[name]
    results = read(sample(name))
    assert numbers(results) == counts
    assert names.items() <= results.names().items()
    one = name.partition("-")[0]
    assert one == "go" or not [told for told in results.names() if "printed" in told.casefold()]  # a test's own output


@pytest.mark.parametrize("name", FOUND)
def test_line_ends_and_what_is_written_over_change_nothing(name: str) -> None:
    text = sample(name)
    plain = read(text)
    for other in (text.replace("\n", "\r\n"), text.replace("\n", "\n 7% [==>   ]\r100%\r")):
        assert (numbers(read(other)), read(other).names()) == (numbers(plain), plain.names())


@given(st.sampled_from(sorted(FOUND)), st.floats(0, 1), st.data())
def test_output_that_breaks_off_never_tells_of_more_failures(name: str, part: float, data: st.DataObject) -> None:
    text = sample(name)
    cut = read(text[: int(len(text) * part)])
    assert cut.counts().total <= 2 * max(1, sum(FOUND[name][0]))
    assert set(cut.names().values()) <= {PASSED, FAILED, SKIPPED}


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("not ok 3 - said by a program without a plan\n", (0, 0, 0)),
        ("1..3\nok 1 - a\n", (1, 2, 0)),  # it broke off
        ("ok 1 - a\nok 2 - b\n1..2\n", (2, 0, 0)),
        ("1..1\nok 1\n1..2\nok 1\nnot ok 2\n", (2, 1, 0)),  # two programs
        ("1..0 # SKIP nothing to do\n", (0, 0, 0)),
        ("1..2\nok 1 - a\nBail out! no database\n", (1, 2, 0)),
        ("TAP version 14\n1..1\n    ok 1 - in\n    1..1\nnot ok 1 - after its tests\n", (1, 1, 0)),
        ("1..1\nok 1 - a \\# b # TODO soon\n", (1, 0, 0)),
        ("1..2\nok 1 - a\n  ---\n  message: 'not ok 2 - x'\n  not ok 2 - y\n  ...\nok 2 - b\n", (2, 0, 0)),
        ("1..2\nok 1 - a\n  ---\nok 2 - b\n", (2, 0, 0)),  # details without an end
        ("1..3\nok 1 - a\nok 2 - a\nnot ok 3 - a\n", (2, 1, 0)),  # equal names
        ("== FAILURES ==\n", (0, 0, 0)),
        ("F.\n=== FAILURES ===\n3 failed in 0.1s\n1 failed, 1 passed in 0.2s\n", (1, 1, 0)),  # -q -rN
        ("FF [100%]\n=== FAILURES ===\n9 passed in 1s\n2 failed in 1s\n.. [100%]\n2 passed in 1s\n", (2, 2, 0)),
        ("=== 1 passed in 1s ===\n=== 2 failed, 1 passed in 1s ===\n", (2, 2, 0)),
        ("tests/test_a.py .F", (1, 1, 0)),  # it broke off
        ("INFO app.py - x\nERROR app.server - cannot bind\n", (0, 0, 0)),
        ("Ran 3 tests in 1.0s\n\nOK (skipped=1)\nRan 2 tests in 1.0s\n\nFAILED (errors=2)\n", (2, 2, 1)),
        ("✖ 2 problems (2 errors, 0 warnings)\n", (0, 1, 0)),
        ("--- FAIL: TestA (0.00s)\npanic: x\n", (0, 1, 0)),
        ("--- a/x\n+++ b/x\n--- FAIL\n", (0, 0, 0)),
        ("panic: test timed out after 1s\nFAIL\texample.com/a\t1.0s\n", (0, 1, 0)),
        ("test result: ok. x passed\n", (0, 0, 0)),
        ("<testcase name='x'/>\n", (0, 0, 0)),
        ("<testsuite><!-- <testcase name='x'/> --><testcase name='a'><system-out><![CDATA[<testcase name='b'/>]]>", (1, 0, 0)),
        ("<testsuites>\n<testcase\n  name='a &gt; b'\n  classname=\"c\">\n<failure>\nx</failure></testcase>", (0, 1, 0)),
        ("<testsuite><testcase name='a > b'/><testcase name='a > b'><error/></testcase>", (1, 1, 0)),
        ("<testsuite><testcase name='a' status='notrun'/>", (0, 0, 1)),
    ],
)  # fmt: skip
def test_what_is_a_report_and_what_is_none(output: str, counts: tuple[int, int, int]) -> None:
    assert numbers(read(output)) == counts


def test_equal_names_are_told_apart() -> None:
    assert read("1..3\nok 1 - a\nok 2 - a\nnot ok 3 - a\n").names() == {"tap: a": P, "tap: a (2)": P, "tap: a (3)": F}


def test_tests_without_end_are_counted_and_not_all_remembered() -> None:
    results = read("1..30000\n" + "".join(f"ok {number} - test {number}\n" for number in range(NAMES + 500)))
    assert results.counts().passed == NAMES + 500
    assert len(results.names()) == NAMES


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b(B\x1b[mreset", "reset"),
        ("\x1b]8;;http://example.invalid\x07link\x1b]8;;\x07", "link"),
        ("10%\r20%\rdone\r", "done"),
        ("doing\x1b[K\x1b[77G1/5\x1b[2G\x1b[1G ✓ done", " ✓ done"),
        ("\r\r", ""),
    ],
)
def test_what_a_terminal_shows_of_a_line(line: str, what: str) -> None:
    assert shown(line) == what


def test_a_long_message_of_a_failure_is_no_reason_to_miss_it() -> None:
    results = Results()
    text = f"<testsuite><testcase name='a'><failure message='{'x' * 300_000}'/></testcase><testcase name='b'/></testsuite>"
    for at in range(0, len(text), 1 << 16):
        results.piece(text[at : at + (1 << 16)])
    results.end()
    assert numbers(results) == (1, 1, 0)
