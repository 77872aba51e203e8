"""Restoring brings back what was lost, and loses nothing itself."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from guard.errors import GuardError
from guard.vault import place
from guard.vault.restore import restore, versions
from tests.vault.child import as_nobody, with_files_of_at_most
from tests.vault.project_tree import FILES, Project, build, run, tree


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return build(tmp_path)


def outcomes(project: Project, taken: object) -> dict[str, str]:
    done = project.repair(taken)  # type: ignore[arg-type]
    return {os.path.relpath(each.path, project.top): each.outcome for each in done}


def test_a_directory_comes_back_with_everything(project: Project) -> None:
    (project.top / "specs/a.md").chmod(0o640)
    (project.top / "specs/deep").chmod(0o750)
    os.utime(project.top / "specs/a.md", ns=(1, 5_000_000_001))
    before, taken = tree(project.top), project.snapshot()
    shutil.rmtree(project.top / "specs")
    project.repair(taken)
    assert tree(project.top) == before
    assert (project.top / "specs/a.md").stat().st_mtime_ns == 5_000_000_001
    assert project.kinds(taken) == {}


def test_an_edit_stays(project: Project) -> None:
    taken = project.snapshot()
    (project.top / "CLAUDE.md").write_text(FILES["CLAUDE.md"] + "more\n")
    assert outcomes(project, taken) == {}


def test_what_stood_in_the_way_is_kept_and_can_be_had_back(project: Project) -> None:
    taken = project.snapshot()
    path = project.top / "specs/a.md"
    path.unlink()
    path.mkdir()
    (path / "mine.txt").write_text("my work")
    (path / "sub").mkdir()
    (path / "sub/link").symlink_to("x")
    done = project.repair(taken)
    assert path.read_text() == FILES["specs/a.md"]
    aside = project.vault.named(done[0].aside)
    assert {os.path.relpath(entry.path, path) for entry in aside} == {".", "mine.txt", "sub", "sub/link"}
    mine = next(entry for entry in aside if entry.path.endswith("mine.txt"))
    assert b"".join(project.vault.read(mine.digest)) == b"my work"
    assert not list(project.top.glob("specs/.guard*"))


def test_what_came_back_stays(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = project.snapshot()
    path = project.top / "specs/a.md"
    path.unlink()
    changes = project.verify(taken)
    path.write_text("somebody was faster")
    done = restore(changes, taken.manifest, project.vault)
    assert [each.outcome for each in done] == ["came-back"]
    assert path.read_text() == "somebody was faster"
    assert not list(project.top.glob("specs/.guard*"))


def test_what_is_written_while_it_is_replaced_stays(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = project.snapshot()
    path = project.top / "specs/a.md"
    path.write_text("")
    changes = project.verify(taken)
    exchange = place.exchange

    def late(made: str, target: str) -> str:
        if path.read_text() == "":
            path.write_text("written in the last moment")
        return exchange(made, target)

    monkeypatch.setattr(place, "exchange", late)
    done = restore(changes, taken.manifest, project.vault)
    assert [each.outcome for each in done] == ["came-back"]
    assert path.read_text() == "written in the last moment"
    assert not list(project.top.glob("specs/.guard*"))


def test_without_an_exchange_in_one_step(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_renamed", lambda *_: False)
    before, taken = tree(project.top), project.snapshot()
    (project.top / "specs/a.md").write_text("")
    shutil.rmtree(project.top / "memory")
    (project.top / "memory").write_text("a file")
    project.repair(taken)
    assert tree(project.top) == before


def test_without_hard_links(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    before, taken = tree(project.top), project.snapshot()
    shutil.rmtree(project.top / "specs")
    project.repair(taken)
    assert tree(project.top) == before


def test_nothing_is_written_through_a_link(project: Project, tmp_path: Path) -> None:
    taken = project.snapshot()
    shutil.rmtree(project.top / "specs/deep")
    (tmp_path / "elsewhere").mkdir()
    (project.top / "specs/deep").symlink_to(tmp_path / "elsewhere")
    changes = [each for each in project.verify(taken) if each.path.endswith("b.md")]
    assert {each.outcome for each in restore(changes, taken.manifest, project.vault)} == {"failed"}
    assert not list((tmp_path / "elsewhere").iterdir())
    project.repair(taken)
    assert (project.top / "specs/deep/b.md").read_text() == FILES["specs/deep/b.md"]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_socket_in_the_way_is_left_alone(project: Project) -> None:
    taken = project.snapshot()
    path = project.top / "specs/a.md"
    path.unlink()
    here = os.getcwd()
    os.chdir(path.parent)
    socket.socket(socket.AF_UNIX).bind("a.md")
    os.chdir(here)
    done = project.repair(taken)
    assert [each.outcome for each in done] == ["failed"]
    assert "socket" in done[0].note
    assert stat.S_ISSOCK(path.lstat().st_mode)


def test_sockets_fifos_and_devices_are_recorded_and_never_opened(project: Project) -> None:
    os.mkfifo(project.top / "specs/fifo")
    if os.geteuid() == 0:
        os.mknod(project.top / "specs/null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    taken = project.snapshot()
    assert project.kinds(taken) == {}
    (project.top / "specs/fifo").unlink()
    assert outcomes(project, taken) == {"specs/fifo": "restored"}
    assert stat.S_ISFIFO((project.top / "specs/fifo").lstat().st_mode)


def test_names_that_are_not_text(project: Project) -> None:
    name = os.fsdecode(b"specs/\xff\xfe\nnew\tline \xc3\xa9 ")
    (project.top / name).write_text("odd")
    before, taken = tree(project.top), project.snapshot()
    shutil.rmtree(project.top / "specs")
    project.repair(taken)
    assert tree(project.top) == before


def test_sparse_files_stay_sparse(project: Project) -> None:
    path = project.top / "specs/sparse.bin"
    with path.open("wb") as file:
        file.seek(64 << 20)
        file.write(b"end")
    taken = project.snapshot()
    path.unlink()
    project.repair(taken)
    assert path.stat().st_size == (64 << 20) + 3
    assert path.stat().st_blocks * 512 < 4 << 20
    assert project.kinds(taken) == {}


def test_hard_links_come_back_as_files(project: Project) -> None:
    os.link(project.top / "specs/a.md", project.top / "specs/same.md")
    taken = project.snapshot()
    (project.top / "specs/a.md").unlink()
    project.repair(taken)
    assert (project.top / "specs/a.md").read_text() == FILES["specs/a.md"]
    assert project.kinds(taken) == {}


def test_a_hard_link_elsewhere_is_not_written_through(project: Project) -> None:
    taken = project.snapshot()
    os.link(project.top / "specs/a.md", project.top / "src/link")
    (project.top / "src/link").write_text("")
    project.repair(taken)
    assert (project.top / "specs/a.md").read_text() == FILES["specs/a.md"]
    assert (project.top / "src/link").read_text() == ""


def test_special_permissions(project: Project) -> None:
    (project.top / "specs/a.md").chmod(0o4755)
    (project.top / "specs/deep").chmod(0o2775)
    taken = project.snapshot()
    shutil.rmtree(project.top / "specs")
    project.repair(taken)
    assert stat.S_IMODE((project.top / "specs/a.md").stat().st_mode) == 0o4755
    assert stat.S_IMODE((project.top / "specs/deep").stat().st_mode) == 0o2775


def test_a_file_that_is_new_where_nothing_may_change_goes_to_the_vault(project: Project) -> None:
    taken = project.snapshot()
    (project.top / "guard.toml").write_text("[protect]\nkeep = []\n")
    done = project.repair(taken)
    assert [each.outcome for each in done] == ["removed"]
    assert not (project.top / "guard.toml").exists()
    assert [entry.path for entry in project.vault.named(done[0].aside)] == [str(project.top / "guard.toml")]


def test_a_lost_repository_is_not_made_up(project: Project) -> None:
    taken = project.snapshot()
    shutil.rmtree(project.top / ".git")
    assert set(outcomes(project, taken).values()) == {"failed"}
    assert not (project.top / ".git").exists()


def test_what_left_with_a_branch_is_not_written(project: Project) -> None:
    run(project.top, "switch", "-qc", "other")
    run(project.top, "rm", "-rq", "specs/a.md")
    run(project.top, "commit", "-qm", "x")
    run(project.top, "switch", "-q", "main")
    taken = project.snapshot()
    run(project.top, "switch", "-q", "other")
    assert "specs/a.md" not in outcomes(project, taken)
    assert not (project.top / "specs/a.md").exists()


def test_a_damaged_copy_is_noticed_and_an_older_one_offered(project: Project) -> None:
    path = project.top / "specs/a.md"
    first = project.snapshot()
    path.write_text(FILES["specs/a.md"] + "more\n")
    second = project.snapshot()
    newest = max(Path(project.vault.directory, "packs").iterdir())
    data = bytearray(newest.read_bytes())
    data[70] ^= 255
    newest.chmod(0o600)
    newest.write_bytes(data)
    path.unlink()
    done = project.repair(second)
    assert [each.outcome for each in done] == ["failed"]
    assert first.name in done[0].note
    assert not path.exists()
    assert [name for name, _ in versions(project.vault, str(path))] == [second.name, first.name]


def test_a_full_disk_under_the_vault_leaves_the_tree_alone(project: Project) -> None:
    taken = project.snapshot()
    (project.top / "specs/a.md").unlink()
    (project.top / "specs/a.md").write_bytes(os.urandom(1 << 20))
    before = tree(project.top)

    def work() -> None:
        with pytest.raises(GuardError) as error:
            project.repair(taken)
        assert error.value.code == 74

    assert with_files_of_at_most(1 << 16, work) == 0
    assert tree(project.top) == before
    assert not [name for name in os.listdir(f"{project.vault.directory}/packs") if name.startswith("tmp")]


def test_a_full_disk_under_the_tree_leaves_it_as_it_is(project: Project) -> None:
    (project.top / "specs/big.md").write_bytes(b"x" * (1 << 20))
    taken = project.snapshot()
    (project.top / "specs/big.md").unlink()
    before = tree(project.top)

    def work() -> None:
        done = project.repair(taken)
        assert [each.outcome for each in done] == ["failed"]

    assert with_files_of_at_most(1 << 16, work) == 0
    assert tree(project.top) == before


@pytest.fixture
def open_place(tmp_path: Path) -> Iterator[Project]:
    """A project that belongs to the user without rights."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        project = build(Path(directory))
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", "65534:65534", directory], check=True)
        yield project
        subprocess.run(["chmod", "-R", "u+rwX", directory], check=True)


def test_directories_that_may_not_be_written_or_searched(open_place: Project) -> None:
    def work() -> None:
        top = open_place.top
        (top / "specs/deep").chmod(0o555)
        before, taken = tree(top), open_place.snapshot()
        (top / "specs/deep").chmod(0o755)
        shutil.rmtree(top / "specs/deep")
        (top / "memory").chmod(0o000)
        assert open_place.kinds(taken)["memory/lessons.md"] == "not-judged"
        open_place.repair(taken)
        assert tree(top) == before
        assert open_place.kinds(taken) == {}

    assert as_nobody(work) == 0


def test_unreadable_files_are_told_and_not_taken_for_lost(open_place: Project) -> None:
    def work() -> None:
        path = open_place.top / "specs/a.md"
        path.chmod(0o000)
        taken = open_place.snapshot()
        assert taken.unreadable == (str(path),)
        assert open_place.kinds(taken) == {}
        path.unlink()
        assert [each.outcome for each in open_place.repair(taken)] == ["failed"]

    assert as_nobody(work) == 0


def test_a_file_that_is_made_unreadable_is_made_readable_again(open_place: Project) -> None:
    def work() -> None:
        path = open_place.top / "specs/a.md"
        taken = open_place.snapshot()
        path.chmod(0o000)
        assert open_place.kinds(taken) == {"specs/a.md": "touched"}
        open_place.repair(taken)
        assert path.read_text() == FILES["specs/a.md"]

    assert as_nobody(work) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give files away")
def test_owners(open_place: Project) -> None:
    path = open_place.top / "specs/a.md"
    os.chown(path, 12345, 12345)
    path.chmod(0o4755)
    taken = open_place.snapshot()
    path.unlink()
    open_place.repair(taken)
    assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (12345, 0o4755)
    path.unlink()
    subprocess.run(["chown", "-R", "65534:65534", open_place.top.parent], check=True)

    def work() -> None:
        assert [each.outcome for each in open_place.repair(taken)] == ["restored"]
        assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (65534, 0o755)

    assert as_nobody(work) == 0


def test_a_vault_that_cannot_be_written(open_place: Project) -> None:
    def work() -> None:
        Path(open_place.vault.directory).parent.mkdir()
        Path(open_place.vault.directory).parent.chmod(0o500)
        with pytest.raises(GuardError) as error:
            open_place.snapshot()
        assert error.value.code == 74

    assert as_nobody(work) == 0


def test_a_vault_that_can_only_be_read_restores_what_is_missing(open_place: Project) -> None:
    def work() -> None:
        taken = open_place.snapshot()
        for directory, _, _ in os.walk(open_place.vault.directory):
            os.chmod(directory, 0o500)
        (open_place.top / "specs/a.md").unlink()
        assert [each.outcome for each in open_place.repair(taken)] == ["restored"]

    assert as_nobody(work) == 0
