"""Cases from files, and commands that are given them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from guard.errors import GuardError
from guard.evaluate import cases, trial
from guard.evaluate.cases import Case

GOOD = """\
# what the classifier has to know
cases:
  - id: import
    input: {log: "No module named 'x'"}
    expected: {classify: build, target: [b, a], escalate: false}
  - id: 2
    input: text
    expected:
      when: 2026-11-30
"""


def test_a_file_of_cases(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text("\ufeff" + GOOD)
    first, second = cases.load(str(path))
    assert first == Case("import", {"log": "No module named 'x'"}, {"classify": "build", "target": ["b", "a"], "escalate": False})
    assert second == Case("2", "text", {"when": "2026-11-30"})
    path.write_text(json.dumps({"cases": [{"id": "j", "input": None, "expected": {"a": 1.5}}]}))
    assert cases.load(str(path)) == [Case("j", None, {"a": 1.5})]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 0, "no cases"),
        ("cases: []\n", 1, "no cases"),
        ("cases:\n  a: 1\n", 2, "no cases"),
        ("x: 1\n", 1, "no cases"),
        ("cases:\n  - id: a\n    input: 1\n    expected: {a: 1}\n  - id: a\n    input: 1\n    expected: {a: 1}\n", 5, "twice"),
        ("cases:\n  - id: a\n    input: 1\n", 2, "no expected"),
        ("cases:\n  - id: a\n    input: 1\n    expected: {}\n", 4, "at least one"),
        ("cases:\n  - id: a\n    input: 1\n    expect: {a: 1}\n", 4, "no key expect"),
        ("cases:\n  - id: [a]\n    input: 1\n    expected: {a: 1}\n", 2, "text"),
        ("cases:\n  - id: a\n    input: {a: 1, a: 2}\n    expected: {a: 1}\n", 3, "twice"),
        ("cases:\n  - id: a\n    input: .nan\n    expected: {a: 1}\n", 3, "no number"),
        ("cases:\n  - id: a\n    input: *b\n    expected: {a: 1}\n", 3, "alias"),
        ("cases:\n\t- id: a\n", 2, "cannot start"),
        ("cases: [{id: a\n", 2, "expected"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, what: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(text)
    with pytest.raises(GuardError) as caught:
        cases.load(str(path))
    assert caught.value.where == (f"{path}:{line}" if line else str(path))
    assert what in caught.value.what
    assert caught.value.code == 64


def test_files_that_are_none(tmp_path: Path) -> None:
    for name, data in (("latin", b"cases: \xff"), ("deep", b"[" * 100_000)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(GuardError):
            cases.load(str(tmp_path / name))
    for name in (".", "missing"):
        with pytest.raises(GuardError):
            cases.load(str(tmp_path / name))


@pytest.mark.parametrize(
    ("expected", "answer", "passes"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": [1, 2]}, {"a": [2, 1, 1]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [2, 1]}}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 1}}, False),
        ({"a": None}, {}, False),
        ({"a": 1}, [1], False),
    ],
)
def test_what_passes(expected: dict[str, Any], answer: object, passes: bool) -> None:
    assert cases.passes(expected, answer) is passes


def one(command: str, tmp_path: Path, timeout_s: float = 20) -> trial.Result:
    case = Case("c", {"n": 1}, {"n": 1})
    return trial.run(command, [case], dict(os.environ), str(tmp_path), timeout_s).results[0]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cat", ""),
        ("echo '{\"n\": 2}'", "n: expected 1, got 2"),
        ("echo nonsense", "it printed no JSON: nonsense"),
        ("echo '[1]'", "it printed no object"),
        ("echo oops >&2; exit 3", "exit 3: oops"),
        ("kill -SEGV $$", "signal 11"),
        ("no-such-program-here 2>/dev/null", "exit 127"),
        (":", "it printed no JSON"),
    ],
)
def test_a_command(command: str, reason: str, tmp_path: Path) -> None:
    found = one(command, tmp_path)
    assert found.passed == (not reason)
    assert found.reason.startswith(reason)


def test_a_command_that_hangs_is_ended_with_all_of_its_processes(tmp_path: Path) -> None:
    script = "trap '' TERM; setsid sh -c 'echo $$ > pid; sleep 60' & sleep 60"
    began = time.monotonic()
    found = one(script, tmp_path, timeout_s=0.4)
    assert "longer than 0.4 s" in found.reason
    assert time.monotonic() - began < 15
    left = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cmdline")
    assert not left.exists() or not left.read_bytes()  # dead, whether or not somebody has asked for its status


def test_results_in_their_order(tmp_path: Path) -> None:
    heard: list[str] = []
    listed = [Case(str(n), {"n": n % 3}, {"n": 1}) for n in range(4)]
    found = trial.run("cat", listed, dict(os.environ), str(tmp_path), told=lambda result: heard.append(result.case))
    assert heard == [each.case for each in found.results] == ["0", "1", "2", "3"]
    assert (found.passed, found.score) == (1, 25.0)
