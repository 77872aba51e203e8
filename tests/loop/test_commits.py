"""What a run leaves in the history, on real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from guard.commands import loop_report
from guard.loop.command import End
from guard.loop.commits import MOST, NAMED, of_run, work
from guard.loop.state import Run, State

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "init.defaultBranch=main")


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = tmp_path / "project"
    made.mkdir()
    git(made, "init", "-q")
    return made


def git(top: Path, *words: str, data: bytes = b"") -> str:
    environ = {"HOME": str(top.parent), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *IDENTITY, *words], cwd=top, env=environ, check=True, capture_output=True, input=data)
    return done.stdout.decode().strip()


def commit(top: Path, name: str, text: str, subject: str = "work") -> str:
    (top / name).write_text(text)
    git(top, "add", "-A")
    git(top, "commit", "-qm", subject)
    return git(top, "rev-parse", "HEAD")


def told(top: Path, start: str, head: str) -> str:
    run = Run("r", 0, "agent", 1, "1", start=start, head=head, ended=True)
    return "\n".join(loop_report.told(State("loop", run=run), End("limit", 2, "iterations"), of_run(str(top), run)))


def test_the_commits_and_what_they_changed(top: Path) -> None:
    start = commit(top, "a.py", "1\n2\n3\n")
    first = commit(top, "a.py", "1\n2\n4\n", "one: \x1b[31mred\x1b[0m")
    head = commit(top, "b.bin", "\0\n", "two")
    found = work(str(top), start, head)
    assert found is not None
    assert [(one.name, one.subject) for one in found.commits] == [(head, "two"), (first, "one: \x1b[31mred\x1b[0m")]
    assert [(one.path, one.added, one.removed) for one in found.files] == [("a.py", 1, 1), ("b.bin", None, None)]
    assert (found.count, found.changed, found.added, found.removed, found.lost, found.gone) == (2, 2, 1, 1, False, False)
    assert found.values()["command"] == found.command == f"git log --stat {start[:12]}..{head[:12]}"
    text = told(top, start, head)
    for part in (
        start[:12],
        head[:12],
        "2 commits",
        "two",
        "2 files changed, 1 lines added, 1 removed",
        "a.py +1 -1",
        found.command,
    ):
        assert part in text
    assert "\x1b" not in text


def test_what_is_not_committed_is_counted(top: Path) -> None:
    start = commit(top, "a.py", "1\n")
    (top / "a.py").write_text("2\n")
    (top / "new.py").write_text("2\n")
    found = work(str(top), start, start)
    assert found is not None
    assert (found.count, found.uncommitted, found.command) == (0, 2, "git status")
    assert f"no commits since the start ({start[:12]}); 2 files are not committed" in told(top, start, start)


def test_the_first_commits_of_a_repository(top: Path) -> None:
    assert "none yet" in told(top, "", "")
    head = commit(top, "a.py", "1\n2\n")
    found = work(str(top), "", head)
    assert found is not None
    assert (found.count, found.added, found.command) == (1, 2, "git log --stat")


def test_a_history_that_was_rewritten_says_so(top: Path) -> None:
    base = commit(top, "a.py", "1\n")
    start = commit(top, "a.py", "2\n")
    git(top, "reset", "-q", "--soft", base)
    head = commit(top, "a.py", "3\n", "instead")
    found = work(str(top), start, head)
    assert found is not None
    assert (found.count, found.lost, [one.subject for one in found.commits]) == (1, True, ["instead"])
    assert "history was rewritten" in told(top, start, head)
    found = work(str(top), "1" * 40, head)
    assert found is not None
    assert (found.gone, found.commits, found.command) == (True, (), "git log --stat")
    assert "is not there any more" in told(top, "1" * 40, head)


def test_without_a_repository_nothing_is_said(tmp_path: Path) -> None:
    assert work(str(tmp_path), "", "") is None
    assert "commits" not in told(tmp_path, "", "")


def test_of_a_thousand_commits_the_newest_are_named(top: Path) -> None:
    start = commit(top, "a.py", "1\n")
    stream = ["blob\nmark :1\ndata 1\nx\n"]
    for number in range(MOST + 5):
        parent = f"from {start}\n" if not number else ""
        change = f"M 644 :1 file{number}\n"
        subject = f"commit {number}"
        head = f"commit refs/heads/main\ncommitter t <t@example.invalid> {number} +0000\n"
        stream.append(f"{head}data {len(subject)}\n{subject}\n{parent}{change}\n")
    git(top, "fast-import", "--quiet", data="".join(stream).encode())
    head = git(top, "rev-parse", "HEAD")
    found = work(str(top), start, head)
    assert found is not None
    assert (found.count, found.more, len(found.commits), found.changed) == (MOST, True, NAMED, MOST + 5)
    assert found.commits[0].subject == f"commit {MOST + 4}"
    text = told(top, start, head)
    assert f"more than {MOST} commits" in text
    assert len(text.splitlines()) < 40
