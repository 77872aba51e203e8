"""The law of integrity: whatever was done to protected files, restoring gives the manifest again, and changes nothing else."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guard.change import CREATED, DIRECTORY, EDITED, MOVED, kind_of_change
from tests.vault.project_tree import FILES, Stood, build, tree

pytestmark = pytest.mark.usefixtures("no_waiting")

PROTECTED = [name for name in FILES if name not in ("src/main.py", "README.md")]
PLACES = [*PROTECTED, "specs", "specs/deep", "specs/deep/er", "specs/empty", "specs/link.md", "memory"]


def delete(path: Path, _: int) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def empty(path: Path, _: int) -> None:
    if path.is_file():
        path.write_bytes(b"\n \0")


def overwrite(path: Path, number: int) -> None:
    if path.is_file():
        path.write_bytes(bytes([97 + number % 26]) * 50)


def truncate(path: Path, number: int) -> None:
    """Leaves so many tenths of a file: of some the half, which is an edit."""
    if path.is_file():
        os.truncate(path, path.stat().st_size * number // 10)


def rename(path: Path, number: int) -> None:
    """To another name beside, where it is protected as much or not at all."""
    path.rename(free(path.with_name(f"renamed-{number}")))


def relink(path: Path, number: int) -> None:
    delete(path, number)
    path.symlink_to("/dev/null" if number % 2 else "nowhere")


def chmod(path: Path, number: int) -> None:
    if not path.is_symlink():
        path.chmod((0o000, 0o400, 0o777, 0o4755, 0o555)[number % 5])


def become_directory(path: Path, number: int) -> None:
    delete(path, number)
    path.mkdir()
    if number % 2:
        (path / "inside").mkdir()
        (path / "inside/file").write_text("mine")


def become_file(path: Path, number: int) -> None:
    delete(path, number)
    path.write_text("in the way")


def become_fifo(path: Path, number: int) -> None:
    delete(path, number)
    os.mkfifo(path)


def move_out(path: Path, number: int) -> None:
    path.rename(free(top_of(path) / f"moved-{number}"))


def free(path: Path) -> Path:
    """The path, or one like it where nothing stands."""
    return path if not os.path.lexists(path) else free(path.with_name(path.name + "x"))


def top_of(path: Path) -> Path:
    while path.name != "app":
        path = path.parent
    return path


def swap(path: Path, number: int) -> None:
    """A directory is replaced by a link to a copy of it."""
    if path.is_dir() and not path.is_symlink():
        copy = free(top_of(path) / f"copy-{number}")
        path.rename(copy)
        path.symlink_to(copy)


DAMAGES = (delete, empty, overwrite, truncate, rename, relink, chmod, become_directory, become_file, become_fifo, move_out, swap)
damages = st.lists(st.tuples(st.sampled_from(DAMAGES), st.sampled_from(PLACES), st.integers(0, 9)), min_size=1, max_size=6)


@settings(max_examples=int(os.environ.get("GUARD_DAMAGES", "60")), suppress_health_check=list(HealthCheck))
@given(damages)
def test_restoring_after_any_damage_gives_the_manifest(done: list[tuple[object, str, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = build(Path(directory), git=False)
        before = tree(project.top)
        taken = project.snapshot()
        for damage, name, number in done:
            if os.path.lexists(project.top / name):
                damage(project.top / name, number)  # type: ignore[operator]
        middle = tree(project.top)
        moved = {os.path.relpath(each.path, project.top) for each in project.verify(taken) if each.kind == MOVED}
        outcomes = project.repair(taken)
        after = tree(project.top)
        assert {each.outcome for each in outcomes} <= {"restored"}, outcomes
        for name, stood in before.items():
            if damaged_only_by_edit(name, middle, stood):
                continue
            if name in moved and stood in [now for path, now in middle.items() if path.startswith(("specs", "memory"))]:
                continue
            assert after[name] == stood, name
        for name in after.keys() - before.keys():
            assert after[name] == middle[name], f"{name} is new"
        left = [each for each in project.verify(taken) if each.kind != CREATED]
        assert not [each for each in left if each.violation or each.old.kind == DIRECTORY], left
        assert_kept(project, middle, after)


def damaged_only_by_edit(name: str, middle: dict[str, Stood], old: Stood) -> bool:
    """A prompt or plan may be rewritten as a whole, and of another file the half may go."""
    now = middle.get(name)
    regular = now is not None and stat.S_ISREG(now.kind) and stat.S_ISREG(old.kind)
    if now is not None and regular and kind_of_change(old.content, now.content) == EDITED:
        return True
    return name == "PROMPT.md" and now is not None and now.kind == old.kind and now.content.strip(b"\n \0") != b""


def assert_kept(project: object, middle: dict[str, Stood], after: dict[str, Stood]) -> None:
    """What stood in the way can still be had from the vault."""
    vault = project.vault  # type: ignore[attr-defined]
    contents = {digest: b"".join(vault.read(digest)) for digest in vault.contents()}
    for name, stood in middle.items():
        if name not in after or after[name].content != stood.content:
            assert stood.content in contents.values() or stood.content == b"" or os.path.islink(name) or stood.kind == 0o120000, (
                name
            )
