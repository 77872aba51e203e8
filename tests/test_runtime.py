"""The runtime survives what happens to the environment that it was installed from."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard import runtime
from guard.shims import LIGHT_SHELLS, _shell

ROOT = Path(__file__).parent.parent
PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "data home/guard")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    top = tmp_path.resolve() / "project"
    (top / "specs").mkdir(parents=True)
    (top / "specs/a.md").write_text("a\n" * 5)
    (top / ".git").mkdir()
    return top


def launcher(home: str, **replaced: str) -> str:
    """Writes the launcher, with texts replaced in it; gives its path."""
    text = os.fsdecode(runtime.launcher(home, _shell(LIGHT_SHELLS)))
    for old, new in replaced.items():
        text = text.replace({"python": runtime.interpreters()[0], "places": " ".join(runtime.PLACES)}[old], new)
    path = Path(home, "launcher")
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def judge(path: str, project: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": PATH, "HOME": str(project.parent)}
    return subprocess.run([path, "check", "--", "rm -rf specs"], cwd=project, env=env, capture_output=True, text=True, timeout=60)


def versions(home: str) -> set[str]:
    return {name for name in os.listdir(f"{home}/runtime") if name != "current"}


def inventory(home: str) -> set[tuple[str, int, int]]:
    """Path, inode and time of everything below."""
    return {(str(path), path.lstat().st_ino, path.lstat().st_mtime_ns) for path in Path(home).rglob("*")}


def test_it_judges(home: str, project: Path) -> None:
    runtime.ensure(home)
    run = judge(launcher(home), project)
    assert run.returncode == 1
    assert "specs/a.md" in run.stderr


def test_a_second_time_changes_nothing(home: str) -> None:
    runtime.ensure(home)
    before = inventory(home)
    runtime.ensure(home)
    assert inventory(home) == before


def test_bytecode_is_valid_and_names_its_own_place(home: str, project: Path) -> None:
    top = Path(os.path.realpath(runtime.ensure(home)))
    argv = [runtime.interpreters()[0], "-I", "-S", "-v", f"{top}/guard/hot/start.py", "check", "--", "rm -rf specs"]
    run = subprocess.run(argv, cwd=project, env={"HOME": str(project.parent)}, capture_output=True, text=True)
    loaded = [line for line in run.stderr.splitlines() if str(top) in line]
    assert any("code object from" in line and line.endswith(".pyc'") for line in loaded)
    assert not [line for line in loaded if "wrote" in line or ("code object from" in line and line.endswith(".py"))]


def test_missing_bytecode_only_costs_time(home: str, project: Path) -> None:
    top = Path(runtime.ensure(home))
    for directory in list(top.rglob("__pycache__")):
        shutil.rmtree(directory)
    assert judge(launcher(home), project).returncode != 0  # the first one may have no time left, and refuses then
    for _ in range(5):
        run = judge(launcher(home), project)
    assert "specs/a.md" in run.stderr


def test_a_damaged_copy_is_made_again(home: str, project: Path) -> None:
    top = Path(runtime.ensure(home))
    (top / "guard/verdict.py").unlink()
    (top / "guard/__pycache__" / f"verdict.{sys.implementation.cache_tag}.pyc").unlink()
    assert judge(launcher(home), project).returncode not in (0, 3)
    runtime.ensure(home)
    assert "specs/a.md" in judge(launcher(home), project).stderr


def test_another_python_is_found_when_the_recorded_one_is_gone(home: str, project: Path) -> None:
    runtime.ensure(home)
    places = Path(home, "bin")
    places.mkdir()
    (places / "python3").symlink_to(runtime.interpreters()[0])
    run = judge(launcher(home, python="/no/such/python", places=f"'{places}'"), project)
    assert run.returncode == 1
    assert "specs/a.md" in run.stderr


def test_an_old_python_is_passed_over(home: str, project: Path) -> None:
    runtime.ensure(home)
    places = Path(home, "bin")
    places.mkdir()
    (places / "python3").write_text("#!/bin/sh\nexit 1\n")
    (places / "python3").chmod(0o755)
    (places / "python3.11").symlink_to(runtime.interpreters()[0])
    assert judge(launcher(home, python="/no/such/python", places=f"'{places}'"), project).returncode == 1


@pytest.mark.parametrize("kind", ["no python", "no runtime"])
def test_without_python_or_runtime_it_refuses_and_names_the_repair(home: str, project: Path, kind: str) -> None:
    runtime.ensure(home)
    path = launcher(home, python="/no/such/python", places="/no/such/place")
    if kind == "no runtime":
        runtime.remove(home)
    run = judge(path, project)
    assert run.returncode == 70
    assert "guard shims install" in run.stderr


def test_concurrent_installations_all_succeed(home: str, project: Path) -> None:
    code = f"from guard import runtime; runtime.ensure({home!r})"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(6)]
    failed = [run.wait(120) for run in runs if run.wait(120)]
    runtime.ensure(home)
    assert "specs/a.md" in judge(launcher(home), project).stderr
    assert len({name for name in versions(home) if not name.startswith(".")}) == 1
    assert not failed


def test_old_versions_go_when_nobody_can_be_using_them(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "PACKAGES", ("guard.data_of_a_test", "shellingham"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name, find=runtime.importlib.util.find_spec: find("shellingham"))
    for number in range(5):
        monkeypatch.setattr(runtime, "__version__", f"0.{number}")
        runtime.ensure(home)
    assert len(versions(home)) == 5
    long_ago = time.time() - 2 * runtime.UNUSED
    for name in versions(home):
        os.utime(f"{home}/runtime/{name}", (long_ago, long_ago + int(name[2])))
    os.makedirs(f"{home}/runtime/.new.1")
    os.utime(f"{home}/runtime/.new.1", (long_ago, long_ago))
    monkeypatch.setattr(runtime, "__version__", "0.5")
    runtime.ensure(home)
    assert sorted(name[:3] for name in versions(home)) == ["0.4", "0.5"]
    assert os.readlink(runtime.current(home)).startswith("0.5")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with a copy of guard, and nothing of the checkout."""
    top = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", top], check=True)
    packages = next(top.glob("lib/python3*/site-packages"))
    for name in runtime.PACKAGES:
        source = Path(str(runtime.importlib.util.find_spec(name).origin)).parent  # type: ignore[union-attr]
        shutil.copytree(source, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
    if not (packages / "guard/data/shims/shim").exists():
        (packages / "guard/data/shims").mkdir(parents=True)
        shutil.copy(ROOT / "shims/shim", packages / "guard/data/shims/shim")
    return top


def test_nothing_depends_on_the_environment_it_came_from(environment: Path, project: Path, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": PATH}
    subprocess.run([f"{environment}/bin/python", "-m", "guard", "shims", "install", "--wide"], cwd=project, env=env, check=True)
    data = tmp_path / ".local/share/guard"
    files = [path for path in data.rglob("*") if stat.S_ISREG(path.lstat().st_mode)]
    assert len(files) > 100
    for path in files:
        assert os.fsencode(environment) not in path.read_bytes(), path
    shutil.rmtree(environment)
    shims = data / "shims/wide"
    guarded = {**env, "PATH": f"{shims}:{PATH}"}
    run = subprocess.run(["sh", "-c", "rm -rf specs"], cwd=project, env=guarded, capture_output=True, text=True)
    assert (run.returncode, (project / "specs/a.md").exists()) == (126, True)
    assert "specs/a.md" in run.stderr
    subprocess.run([shims / ".judge", "shims", "uninstall", "--purge"], cwd="/", env=env, check=True)
    assert not list(data.rglob("*"))


def test_an_environment_made_from_another_leads_to_the_interpreter_behind_both(environment: Path, tmp_path: Path) -> None:
    subprocess.run([f"{environment}/bin/python", "-m", "venv", "--copies", "--without-pip", tmp_path / "inner"], check=True)
    code = "from guard import runtime; print(*runtime.interpreters(), sep='\\n')"
    env = {"PYTHONPATH": str(ROOT)}
    found = subprocess.run([tmp_path / "inner/bin/python", "-c", code], env=env, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == runtime.interpreters()
