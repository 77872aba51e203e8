"""What verify says of what happened to protected files, by itself and through git."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.vault.project_tree import FILES, Project, build, commit, run


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return build(tmp_path)


def test_nothing_happened(project: Project) -> None:
    assert project.kinds(project.snapshot()) == {}


def test_kinds(project: Project) -> None:
    taken = project.snapshot()
    top = project.top
    (top / "specs/a.md").unlink()
    (top / "specs/deep/b.md").write_text(" \n\n")
    (top / "specs/deep/er/c.md").write_text("something else\n")
    (top / "CLAUDE.md").write_text(FILES["CLAUDE.md"] + "More.\n")
    (top / "PROMPT.md").write_text("A new prompt.\n")
    (top / "memory/lessons.md").chmod(0o600)
    (top / "specs/link.md").unlink()
    (top / "specs/link.md").symlink_to("/etc/passwd")
    (top / "specs/new.md").write_text("new")
    (top / "guard.toml").write_text("")
    (top / "src/main.py").unlink()
    assert project.kinds(taken) == {
        "specs/a.md": "missing!",
        "specs/deep/b.md": "emptied!",
        "specs/deep/er/c.md": "replaced!",
        "CLAUDE.md": "edited",
        "PROMPT.md": "replaced",
        "memory/lessons.md": "touched",
        "specs/link.md": "relinked!",
        "specs/new.md": "created",
        "guard.toml": "created!",
    }


def test_a_prompt_may_not_be_emptied(project: Project) -> None:
    taken = project.snapshot()
    (project.top / "PROMPT.md").write_text("")
    assert project.kinds(taken) == {"PROMPT.md": "emptied!"}


def test_what_only_was_written_again_is_not_told(project: Project) -> None:
    taken = project.snapshot()
    for name, text in FILES.items():
        (project.top / name).unlink()
        (project.top / name).write_text(text)
    assert project.kinds(taken) == {}


def test_a_change_that_keeps_size_and_times_is_seen(project: Project) -> None:
    path = project.top / "specs/a.md"
    taken = project.snapshot()
    before = path.stat()
    path.write_bytes(bytes(reversed(path.read_bytes())))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "specs/a.md" in project.kinds(taken)


def test_a_change_right_behind_the_snapshot_is_seen(project: Project) -> None:
    path = project.top / "specs/a.md"
    for _ in range(20):
        path.write_text(FILES["specs/a.md"])
        taken = project.snapshot()
        path.write_text(FILES["specs/a.md"].replace("line", "LINE"))
        assert project.kinds(taken) != {}


@pytest.mark.parametrize("what", ["directory", "link", "fifo", "socket"])
def test_other_types(project: Project, what: str) -> None:
    taken = project.snapshot()
    path = project.top / "specs/a.md"
    path.unlink()
    if what == "directory":
        path.mkdir()
    elif what == "link":
        path.symlink_to("deep/b.md")
    elif what == "fifo":
        os.mkfifo(path)
    else:
        here = os.getcwd()
        os.chdir(path.parent)
        socket.socket(socket.AF_UNIX).bind("a.md")
        os.chdir(here)
    assert project.kinds(taken) == {"specs/a.md": "retyped!"}


def test_moves_among_protected_paths_lose_nothing(project: Project) -> None:
    taken = project.snapshot()
    (project.top / "specs/sub").mkdir()
    (project.top / "specs/a.md").rename(project.top / "specs/sub/renamed.md")
    (project.top / "CLAUDE.md").rename(project.top / "src/CLAUDE.md")
    assert project.kinds(taken) == {"specs/a.md": "moved", "CLAUDE.md": "missing!"}


def test_one_copy_stands_for_one_file_only(project: Project) -> None:
    (project.top / "specs/same.md").write_text(FILES["specs/a.md"])
    taken = project.snapshot()
    (project.top / "specs/a.md").rename(project.top / "specs/z.md")
    (project.top / "specs/same.md").unlink()
    assert sorted(project.kinds(taken).values()) == ["missing!", "moved"]


def test_a_file_that_is_back_at_the_second_look_is_not_missing(project: Project) -> None:
    from guard.vault.verify import verify

    taken = project.snapshot()
    path = project.top / "specs/a.md"
    path.unlink()
    changes = verify(taken.manifest, project.vault, project.policy, pause=lambda _: path.write_text(FILES["specs/a.md"]) and None)
    assert changes == []


def test_a_repository_that_goes_is_a_violation(project: Project) -> None:
    import shutil

    taken = project.snapshot()
    shutil.rmtree(project.top / ".git")
    assert project.kinds(taken)[".git"] == "missing!"


def test_work_in_the_repository_is_none(project: Project) -> None:
    taken = project.snapshot()
    (project.top / "specs/a.md").write_text(FILES["specs/a.md"] + "more\n")
    run(project.top, "add", "-A")
    commit(project.top, "second")
    run(project.top, "checkout", "--detach")
    run(project.top, "gc", "-q")
    assert project.kinds(taken) == {"specs/a.md": "edited"}


def without_specs(top: Path) -> None:
    """A branch that lacks specs/ and has another CLAUDE.md."""
    run(top, "switch", "-qc", "other")
    run(top, "rm", "-rq", "specs")
    (top / "CLAUDE.md").write_text("Nothing of the sort.\n")
    run(top, "add", "-A")
    commit(top, "other")
    run(top, "switch", "-q", "main")


def test_a_switch_takes_files_along_and_that_is_no_loss(project: Project) -> None:
    without_specs(project.top)
    taken = project.snapshot()
    run(project.top, "switch", "-q", "other")
    kinds = project.kinds(taken)
    assert kinds["specs/a.md"] == "left-with-branch"
    assert kinds["CLAUDE.md"] == "left-with-branch"
    assert kinds["specs/link.md"] == "left-with-branch"
    assert not [kind for kind in kinds.values() if kind.endswith("!")]


def test_a_pinned_tree_does_not_let_them_go(project: Project) -> None:
    (project.top / "guard.toml").write_text('[answer]\nbranches = "pin"\n')
    without_specs(project.top)
    taken = project.snapshot()
    run(project.top, "switch", "-q", "other")
    assert project.kinds(taken)["specs/a.md"] == "left-with-branch!"


def test_what_the_current_branch_loses_is_lost(project: Project) -> None:
    taken = project.snapshot()
    run(project.top, "rm", "-rq", "specs/a.md")
    commit(project.top, "gone")
    assert project.kinds(taken)["specs/a.md"] == "missing!"


def test_an_overwritten_file_that_is_committed_is_lost(project: Project) -> None:
    taken = project.snapshot()
    (project.top / "CLAUDE.md").write_text("Nothing.\n")
    run(project.top, "add", "-A")
    commit(project.top, "gone")
    assert project.kinds(taken)["CLAUDE.md"] == "replaced!"


def test_a_new_branch_to_remove_files_in_is_no_way_round(project: Project) -> None:
    taken = project.snapshot()
    run(project.top, "switch", "-qc", "mine")
    run(project.top, "rm", "-rq", "specs/a.md")
    commit(project.top, "gone")
    assert project.kinds(taken)["specs/a.md"] == "missing!"


def test_a_merge_that_removes_is_a_loss(project: Project) -> None:
    without_specs(project.top)
    taken = project.snapshot()
    run(project.top, "merge", "-q", "other")
    assert project.kinds(taken)["specs/a.md"] == "missing!"


def test_work_that_was_in_no_commit_and_is_thrown_back(project: Project) -> None:
    path = project.top / "specs/a.md"
    path.write_text(FILES["specs/a.md"] + "work of today\n")
    taken = project.snapshot()
    run(project.top, "checkout", "--", "specs/a.md")
    assert project.kinds(taken) == {"specs/a.md": "reverted!"}


def test_what_a_commit_has_is_not_reverted(project: Project) -> None:
    path = project.top / "specs/a.md"
    path.write_text(FILES["specs/a.md"] + "work of today\n")
    run(project.top, "commit", "-qam", "work")
    taken = project.snapshot()
    run(project.top, "checkout", "-q", "HEAD~1", "--", "specs/a.md")
    assert project.kinds(taken) == {"specs/a.md": "edited"}


def test_a_stash_holds_what_it_takes(project: Project) -> None:
    (project.top / "specs/a.md").write_text(FILES["specs/a.md"] + "work of today\n")
    (project.top / "specs/draft.md").write_text("a draft\n")
    taken = project.snapshot()
    run(project.top, "stash", "-u")
    empty = {"specs/empty": "missing"}  # git leaves no empty directories
    assert project.kinds(taken) == {"specs/a.md": "left-with-branch", "specs/draft.md": "left-with-branch", **empty}
    run(project.top, "stash", "drop")
    assert project.kinds(taken) == {"specs/a.md": "reverted!", "specs/draft.md": "missing!", **empty}


def test_line_ends_that_git_translates(project: Project) -> None:
    without_specs(project.top)
    run(project.top, "config", "core.autocrlf", "true")
    path = project.top / "specs/a.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    taken = project.snapshot()
    run(project.top, "switch", "-q", "-f", "other")
    assert project.kinds(taken)["specs/a.md"] == "left-with-branch"


def test_a_linked_worktree(project: Project) -> None:
    run(project.top, "worktree", "add", "-q", "../wt", "-b", "wt")
    other = Project(project.top.parent / "wt", project.top.parent / "state")
    taken = other.snapshot()
    (other.top / "specs/a.md").unlink()
    assert other.kinds(taken) == {"specs/a.md": "missing!"}
    assert other.vault.directory != project.vault.directory


def test_nothing_that_the_repository_names_is_run(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    path = project.top / "specs/a.md"
    path.write_text(FILES["specs/a.md"] + "work\n")
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external", "core.pager", "core.sshCommand"):
        run(project.top, "config", key, str(script))
    (project.top / ".gitattributes").write_text("* filter=x diff=x\n")
    taken = project.snapshot()
    path.write_text(FILES["specs/a.md"])
    (project.top / "specs/deep/b.md").unlink()
    assert project.kinds(taken) == {"specs/a.md": "reverted!", "specs/deep/b.md": "missing!"}
    assert not mark.exists()
