"""Audits and feedback: sheets that people fill in, and what came back later."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest

from guard.errors import GuardError
from guard.evaluate import audit, feedback
from guard.evaluate.feedback import Found
from guard.loop.facts import Files, Plan, Reply
from guard.report.history import Iteration

HOUR = 3_600_000


def iteration(n: int, *, t: int = 0, commits: tuple[str, ...] = (), errors: tuple[str, ...] = (), done: str = "") -> Iteration:
    plan = Plan(1, 0, completed=(done,)) if done else None
    files = Files(meaningful=1, paths=(f"src/{n}.py",), commits=commits)
    reply = Reply(errors=errors)
    return Iteration("r", n, t, t + 1000, task=f"task {n}", files=files, reply=reply, plan=plan, outcome="ok")


def test_a_sample_is_random_and_the_same_for_a_seed() -> None:
    able = [iteration(n) for n in range(40)]
    idle = Iteration("r", 99, 0, outcome="ok")
    first, again, other = (audit.sample([*able, idle], 5, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 5
    assert [one.n for one in first] == sorted(one.n for one in first)
    assert idle not in audit.sample([idle, *able], 41, 1)


def filled(path: Path, answers: list[list[str]]) -> str:
    sheet = audit.sheet([iteration(n) for n in range(len(answers))])
    rows = list(csv.reader(sheet.splitlines()))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([rows[0], *(row[:4] + given for row, given in zip(rows[1:], answers, strict=True))])
    return str(path)


def test_a_filled_sheet(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.csv", [["yes", "no", "no", "4"], ["N", "Y", "yes", "1"]])
    found = audit.read(path)
    assert (found.mean, found.root_cause, found.investigate) == (2.5, 0.5, ("r#1",))


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (["", "no", "no", "4"], "root cause\\? is missing"),
        (["yes", "maybe", "no", "4"], "minimal\\? is maybe"),
        (["yes", "no", "no", "6"], "the score is 6"),
        (["yes", "no", "no", ""], "the score is missing"),
        (["yes", "no", "no"], "8 columns"),
    ],
)
def test_what_is_not_filled_in_is_said_with_its_line(row: list[str], what: str, tmp_path: Path) -> None:
    path = filled(tmp_path / "a.csv", [["yes", "no", "no", "4"], row])
    with pytest.raises(GuardError, match=what) as caught:
        audit.read(path)
    assert caught.value.where == f"{path}:3"


def test_sheets_that_are_none(tmp_path: Path) -> None:
    for text in ("", "a,b\n", ",".join(audit.COLUMNS) + "\n"):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(GuardError):
            audit.read(str(tmp_path / "x.csv"))
    with pytest.raises(GuardError):
        audit.read(str(tmp_path))
    twice = filled(tmp_path / "a.csv", [["yes", "no", "no", "4"]])
    Path(twice).write_text(Path(twice).read_text() + Path(twice).read_text().splitlines()[1] + "\n")
    with pytest.raises(GuardError, match="twice"):
        audit.read(twice)


def test_what_a_spreadsheet_would_run_is_text() -> None:
    one = iteration(1)
    one.task = "=HYPERLINK(1)"
    assert "'=HYPERLINK" in audit.sheet([one])


def git(top: Path, *words: str, t: int = 0) -> str:
    date = {"GIT_AUTHOR_DATE": f"{t // 1000} +0000", "GIT_COMMITTER_DATE": f"{t // 1000} +0000"}
    who = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
    import os

    done = subprocess.run(["git", *who, *words], cwd=top, env={**os.environ, **date}, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_commits_that_were_taken_back_within_a_day(tmp_path: Path) -> None:
    base = 1_796_040_000_000
    git(tmp_path, "init", "-q", "-b", "main")
    commits = []
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text(str(n))
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", f"work {n}", t=base)
        commits.append(git(tmp_path, "rev-parse", "HEAD"))
    git(tmp_path, "revert", "--no-edit", commits[0], t=base + 23 * HOUR)
    git(tmp_path, "revert", "--no-edit", commits[1], t=base + 25 * HOUR)
    work = [iteration(n, t=base, commits=(commit,)) for n, commit in enumerate(commits)]
    assert [one.reference for one in feedback.reverted(str(tmp_path), work)] == [commits[0]]
    assert list(feedback.reverted(str(tmp_path / ".."), work[:1])) == []
    assert list(feedback.reverted(str(tmp_path), [])) == []


def test_an_error_that_comes_back_after_its_task_was_done() -> None:
    boom, other = "Error: boom at line 3", "Error: other thing"
    work = [
        iteration(1, errors=(boom, other)),
        iteration(2, t=HOUR, errors=(other,), done="mend boom"),
        iteration(3, t=2 * HOUR, errors=("Error: boom at line 99", other)),
        iteration(4, t=3 * HOUR, errors=(boom,)),
    ]
    [found] = feedback.same_failures(work)
    assert (found.kind, found.reference) == (feedback.SAME_FAILURE, "r#3")
    assert "mend boom" in found.detail
    late = [*work[:2], iteration(3, t=27 * HOUR, errors=(boom,))]
    assert list(feedback.same_failures(late)) == []


def test_the_dimensions_that_feedback_counts_against() -> None:
    assert feedback.marks(["reverted", "same_failure", "overridden"]) == {
        "correctness": 1,
        "efficiency": 0,
        "safety": 0,
        "alignment": 2,
    }
    assert set(feedback.marks(["rejected"]).values()) == {1}
    found = [Found("reverted", "a", ""), Found("reverted", "a", ""), Found("reverted", "b", "")]
    assert [one.reference for one in feedback.fresh(found, [("reverted", "b")])] == ["a"]
