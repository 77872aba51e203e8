"""The bundle: what judges, in one file that counts only where it is whole and for this interpreter."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guard import bundle, runtime

MODULES = {"guard.hot": (True, "x = 1"), "guard.hot.some": (False, "here = __file__, __name__, __package__")}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = {name: (package, compile(text, name, "exec")) for name, (package, text) in MODULES.items()}
    path = tmp_path / "guard" / bundle.FILE
    path.parent.mkdir()
    path.write_bytes(bundle.packed(made))
    return path


def table(path: Path) -> object:
    fd = os.open(path, os.O_RDONLY)
    try:
        return bundle._table(fd)
    finally:
        os.close(fd)


def test_modules_come_from_it_with_their_names_and_places(file: Path) -> None:
    (file.parent / "__init__.py").write_text("")
    (file.parent / "bundle.py").write_bytes(Path(bundle.__file__).read_bytes())
    (file.parent / "hot").mkdir()
    (file.parent / "hot/other.py").write_text("y = 2")
    code = (
        f"import sys; sys.path.insert(0, {str(file.parent.parent)!r}); from guard.bundle import install; install()\n"
        "from guard.hot import some, other; import guard.hot; print(some.here, other.y, guard.hot.x)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{(f'{file.parent}/hot/some.py', 'guard.hot.some', 'guard.hot')} 2 1\n"


def test_one_that_is_not_whole_does_not_count(file: Path) -> None:
    whole = file.read_bytes()
    assert table(file)
    for end in (0, 1, 7, 8, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:end])
        assert table(file) is None
    for other in (whole + b"x", b"x" + whole, whole[:-8] + b"\xff" * 8, whole[:-1] + b"\x7f"):
        file.write_bytes(other)
        assert table(file) is None


def test_one_of_another_interpreter_does_not_count(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_interpreter", lambda: ("cpython-99", 1))
    assert table(file) is None


def test_a_table_that_is_longer_than_what_is_read_at_once_counts(tmp_path: Path) -> None:
    code = compile("pass", "x", "exec")
    (tmp_path / "many").write_bytes(bundle.packed({f"guard.hot.{'m' * 40}{at}": (False, code) for at in range(2000)}))
    found = table(tmp_path / "many")
    assert isinstance(found, dict)
    assert len(found) == 2000
    _, at, length = found[f"guard.hot.{'m' * 40}1999"]
    assert marshal.loads((tmp_path / "many").read_bytes()[at : at + length]) == code


def test_what_judges_is_in_it_and_what_leads_there_is_not() -> None:
    assert all(map(runtime._judges, ("guard.main", "guard.verdict", "guard.hot", "guard.hot.git_hook", "guard.tools.git.index")))
    assert not any(
        map(runtime._judges, ("guard", "guard.bundle", "guard.__main__", "guard.commands.init", "click", "click.core"))
    )
    assert runtime._named("guard/tools/git/__init__.py") == ("guard.tools.git", True)
