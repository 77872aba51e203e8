"""The last snapshot stands for a new one only where that would be the same; a second process looks at half of a large tree."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from guard.change import stamp
from guard.vault import look
from guard.vault.glance import NAME, standing
from guard.vault.refs import mark
from guard.vault.snapshot import world
from tests.vault.project_tree import Project, build, commit, run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = build(tmp_path)
    monkeypatch.setenv("GUARD_STATE_DIR", made.vault.state)
    time.sleep(0.03)
    made.snapshot()
    assert stands(made)
    return made


def stands(project: Project) -> bool:
    return standing(str(project.top), project.policy, project.vault.state, world()) is not None


def write(name: str, text: str) -> Callable[[Project], object]:
    return lambda project: (project.top / name).write_text(text)


def replace_repository(project: Project) -> None:
    shutil.copytree(project.top / ".git", project.top / "copy", symlinks=True)
    shutil.rmtree(project.top / ".git")
    (project.top / "copy").rename(project.top / ".git")


def same_times(project: Project) -> None:
    """Other bytes with the size and time of before: only the time of the status tells."""
    path = project.top / "specs/a.md"
    found = path.stat()
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def nest(project: Project) -> None:
    (project.top / "sub").mkdir()
    (project.top / "sub/guard.toml").write_text("[protect]\n")


CHANGES: dict[str, Callable[[Project], object]] = {
    "edited": write("specs/a.md", "x"),
    "same times": same_times,
    "deleted": lambda project: (project.top / "specs/a.md").unlink(),
    "directory gone": lambda project: shutil.rmtree(project.top / "memory"),
    "new in a protected directory": write("specs/new.md", "x"),
    "new at the top": write("AGENTS.md", "x"),
    "new directory at the top": lambda project: (project.top / ".claude").mkdir(),
    "permissions": lambda project: (project.top / "specs/a.md").chmod(0o600),
    "permissions of a directory": lambda project: (project.top / "specs").chmod(0o700),
    "configuration": write("guard.toml", '[protect]\nkeep = ["/specs/"]\n'),
    "configuration inside": lambda project: [
        (project.top / "sub").mkdir(),
        (project.top / "sub/guard.toml").write_text("[protect]\n"),
    ],
    "commit": lambda project: [run(project.top, "commit", "-q", "--allow-empty", "-m", "x")],
    "branch": lambda project: run(project.top, "branch", "other"),
    "tag": lambda project: run(project.top, "tag", "v1"),
    "switched": lambda project: run(project.top, "checkout", "-q", "-b", "other"),
    "packed": lambda project: run(project.top, "pack-refs", "--all"),
    "repository replaced": replace_repository,
    "repository gone": lambda project: shutil.rmtree(project.top / ".git"),
    "pack gone": lambda project: [path.unlink() for path in Path(project.vault.directory, "packs").iterdir()],
    "pack cut": lambda project: [os.truncate(path, 50) for path in Path(project.vault.directory, "packs").iterdir()],
    "snapshot gone": lambda project: [path.unlink() for path in Path(project.vault.directory, "manifests").iterdir()],
    "snapshot damaged": lambda project: [
        path.write_bytes(path.read_bytes()[:-1]) for path in Path(project.vault.directory, "manifests").iterdir()
    ],
    "note damaged": lambda project: Path(project.vault.directory, NAME).write_bytes(b"00000000\n{}"),
    "note of nobody": lambda project: Path(project.vault.directory, NAME).write_bytes(b"[" * 9000),
    "note gone": lambda project: Path(project.vault.directory, NAME).unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_could_make_a_difference_ends_it(project: Project, change: str) -> None:
    CHANGES[change](project)
    assert not stands(project)
    taken = project.snapshot()
    assert not any(each.violation for each in project.verify(taken))


HARMLESS: dict[str, Callable[[Project], object]] = {
    "nothing": lambda project: None,
    "source": write("src/main.py", "print(2)\n"),
    "new at the top": write("notes.txt", "x"),
    "staged": lambda project: [(project.top / "README.md").write_text("x"), run(project.top, "add", "-A")],
    "git looks": lambda project: run(project.top, "status"),
    "objects": lambda project: run(project.top, "hash-object", "-w", "README.md"),
}


@pytest.mark.parametrize("change", HARMLESS)
def test_what_makes_no_difference_leaves_it(project: Project, change: str) -> None:
    HARMLESS[change](project)
    assert stands(project)
    assert not project.snapshot().fresh


def test_what_was_written_just_now_is_looked_at_again(tmp_path: Path) -> None:
    project = build(tmp_path, git=False)
    project.snapshot()
    path = project.top / "specs/a.md"
    path.write_text("one")
    project.snapshot()
    path.write_text("two")  # in the same grain of the clock, maybe
    project.snapshot()
    newest = project.vault.newest()
    assert newest is not None
    assert b"".join(project.vault.read(newest.find(str(path)).digest)) == b"two"  # type: ignore[union-attr]


def test_refs_of_a_linked_work_tree(project: Project) -> None:
    run(project.top, "worktree", "add", "-q", str(project.top.parent / "linked"), "-b", "linked")
    linked = str(project.top.parent / "linked")
    before = mark(linked)
    assert before is not None
    assert before != mark(str(project.top))
    (Path(linked) / "README.md").write_text("more")
    run(Path(linked), "add", "-A")
    assert mark(linked) == before
    commit(Path(linked), "more")
    assert mark(linked) != before


@pytest.mark.parametrize("text", ["", "gitdir: nowhere\n", "nothing\n", "gitdir: \0\n"])
def test_a_broken_repository_is_left_to_git(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    assert mark(str(tmp_path)) is None


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "MANY", 2)
    monkeypatch.setattr(look, "_processors", lambda: 2)


@pytest.mark.usefixtures("halves")
def test_two_processes_see_what_one_sees(project: Project) -> None:
    (project.top / "specs/a.md").write_text("x")
    (project.top / "CLAUDE.md").unlink()
    (project.top / "memory/lessons.md").chmod(0o600)
    manifest = project.vault.newest()
    assert manifest is not None
    both = [(entry.path, now and stamp(now)) for entry, now in look.different(manifest, [])]
    look.MANY = 1 << 30
    assert both == [(entry.path, now and stamp(now)) for entry, now in look.different(manifest, [])]
    assert {os.path.relpath(path, project.top) for path, _ in both} >= {"specs/a.md", "CLAUDE.md", "memory/lessons.md"}


@pytest.mark.usefixtures("halves")
@pytest.mark.parametrize("trouble", ["no process", "it fails", "nonsense"])
def test_a_second_process_that_fails_is_made_up_for(project: Project, monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    def refuse() -> int:
        raise BlockingIOError

    if trouble == "no process":
        monkeypatch.setattr(os, "fork", refuse)
    elif trouble == "it fails":
        own = os.getpid()
        compared = look._compared
        monkeypatch.setattr(look, "_compared", lambda *range: compared(*range) if os.getpid() == own else 1 / 0)
    else:
        monkeypatch.setattr(look, "_received", lambda reader: b"\xff\xff")
    (project.top / "specs/a.md").write_text("x")
    (project.top / "CLAUDE.md").unlink()
    manifest = project.vault.newest()
    assert manifest is not None
    found = {os.path.relpath(entry.path, project.top) for entry, _ in look.different(manifest, [])}
    assert {"specs/a.md", "CLAUDE.md"} <= found
    assert "specs/deep/b.md" not in found
