"""`guard loop init` writes what is missing, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from guard.commands import loop_init
from guard.errors import GuardError
from guard.loop import plan, projects, prompt
from guard.loop.events import RunStarted
from guard.loop.reading import block
from guard.loop.settings import Config
from guard.loop.store import Store
from tests.loop.rig import START


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree, with no state and no configuration of its own around it."""
    for name in ("GUARD_STATE_DIR", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "state" / name))
    (tmp_path / "state/GUARD_STATE_DIR").mkdir(parents=True)
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def files(top: Path) -> dict[str, str]:
    """What is in a tree."""
    return {path.relative_to(top).as_posix(): path.read_text() for path in top.rglob("*") if path.is_file()}


def test_prompt_plan_and_configuration_are_written_where_a_loop_finds_them(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (top / "go.mod").write_text("module x\n")
    assert loop_init.run(None, False) == 0
    made = files(top)
    assert set(made) == {".ralph/PROMPT.md", ".ralph/fix_plan.md", ".ralph/.gitignore", "guard.toml", "go.mod"}
    assert prompt.find(str(top)) == f"{top}/.ralph/PROMPT.md"
    assert "`go test ./...`" in made[".ralph/PROMPT.md"]
    assert 'verify = "go test ./..."' in made["guard.toml"]
    told = capsys.readouterr().out
    assert "guard run --agent claude --dry-run" in told
    assert "go test ./..." in told


def test_the_plan_has_no_task_until_somebody_writes_one(top: Path) -> None:
    loop_init.run(None, False)
    with pytest.raises(GuardError, match="no task"):
        plan.find(str(top))
    path = top / ".ralph/fix_plan.md"
    path.write_text(path.read_text().replace("## Now\n", "## Now\n\n- [ ] first\n\n## Optional\n\n- [ ] later\n"))
    assert plan.find(str(top)) == ".ralph/fix_plan.md"
    assert plan.Tasks.of(plan.load(str(top), ".ralph/fix_plan.md")).required == 1


def test_the_prompt_describes_a_status_block_that_is_read(top: Path) -> None:
    loop_init.run(None, False)
    keys, _ = block.split((top / ".ralph/PROMPT.md").read_text())
    assert set(keys) == set(block.KEYS)
    assert (keys["STATUS"], keys["EXIT_SIGNAL"]) == ("in_progress", "false")


def test_nothing_is_overwritten_and_a_second_time_writes_nothing(top: Path) -> None:
    (top / ".ralph").mkdir()
    (top / ".ralph/PROMPT.md").write_text("mine\n")
    (top / "guard.toml").write_text("[protect]\nkeep = []\n")
    loop_init.run(None, False)
    before = files(top)
    assert before[".ralph/PROMPT.md"] == "mine\n"
    assert before["guard.toml"] == "[protect]\nkeep = []\n"
    assert ".ralph/fix_plan.md" in before
    loop_init.run(None, False)
    assert files(top) == before


def test_a_configuration_that_is_there_is_told_what_to_add(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (top / "pyproject.toml").write_text("[tool.pytest.ini_options]\n[tool.guard.protect]\nkeep = []\n")
    loop_init.run(None, False)
    told = capsys.readouterr().out
    assert "[tool.guard.loop]" in told
    assert 'verify = "python3 -m pytest -q"' in told
    assert "guard.toml" not in files(top)
    (top / "guard.toml").write_text("[loop]\nmax_iterations = 3\n")
    loop_init.run(None, False)
    assert "Add to" not in capsys.readouterr().out


@pytest.mark.parametrize(("there", "made"), [("PROMPT.md", "IMPLEMENTATION_PLAN.md"), ("@fix_plan.md", "PROMPT.md")])
def test_beside_a_prompt_or_a_plan_at_the_top(top: Path, there: str, made: str) -> None:
    (top / there).write_text("- [ ] mine\n")
    loop_init.run(None, False)
    assert set(files(top)) == {there, made, "guard.toml"}
    assert plan.NAMES[-1] == "IMPLEMENTATION_PLAN.md"


def test_a_dry_run_writes_nothing(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop_init.run(None, True)
    assert files(top) == {}
    assert not (top / ".ralph").exists()
    assert "would write  .ralph/PROMPT.md" in capsys.readouterr().out


def test_it_writes_nothing_through_a_link(top: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (top / ".ralph").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GuardError, match="no directory"):
        loop_init.run(None, False)
    (top / ".ralph").unlink()
    (top / "guard.toml").symlink_to(tmp_path / "elsewhere/guard.toml")
    with pytest.raises(GuardError, match="cannot be read"):
        loop_init.run(None, False)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_configuration_that_makes_no_sense_is_found_before_anything_is_written(top: Path) -> None:
    (top / "guard.toml").write_text("[loop]\nmax_iteration = 3\n")
    with pytest.raises(GuardError, match="max_iteration"):
        loop_init.run(None, False)
    assert set(files(top)) == {"guard.toml"}


def test_what_cannot_be_written_is_told_with_what_was(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, made = os.link, []

    def third(source: str, target: str, **more: bool) -> None:
        made.append(target)
        if len(made) == 3:
            raise OSError(28, "No space left on device")
        link(source, target, **more)

    monkeypatch.setattr(os, "link", third)
    with pytest.raises(GuardError, match=r"No space left on device\); written: .ralph/PROMPT.md, .ralph/fix_plan.md"):
        loop_init.run(None, False)
    assert set(files(top)) == {".ralph/PROMPT.md", ".ralph/fix_plan.md"}


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine\n")
    with pytest.raises(FileExistsError):
        loop_init.put(str(tmp_path / "x"), "ours\n")
    assert files(tmp_path) == {"x": "mine\n"}


def test_not_while_a_loop_is_at_work_in_the_tree(top: Path) -> None:
    from guard.loop import lock

    with Store.open(os.environ["GUARD_STATE_DIR"], str(top), START) as store:
        pid = os.getpid()
        started = RunStarted(store.state.loop, str(top), pid, lock.started(pid), "", "1", (), "sh", Config(), "", "", "")
        store.record(started, START, "r1")
        with pytest.raises(GuardError, match="at work"):
            loop_init.run(None, False)
    assert files(top) == {}


@pytest.mark.parametrize(
    ("tree", "command"),
    [
        ({}, ""),
        ({"Makefile": "build:\n\ttrue\ntest: build\n\ttrue\n", "go.mod": ""}, "make test"),
        ({"Makefile": "check:\n\ttrue\n"}, "make check"),
        ({"Makefile": "test := 1\n.PHONY: test\n", "Cargo.toml": ""}, "cargo test"),
        ({"package.json": json.dumps({"scripts": {"test": "vitest run"}})}, "npm test"),
        ({"package.json": json.dumps({"scripts": {"test": "x"}}), "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})}, ""),
        ({"package.json": "{"}, ""),
        ({"package.json": "[" * 100_000}, ""),
        ({"package.json": '{"scripts": {"test": ["x"]}}'}, ""),
        ({"package.json": '"text"'}, ""),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest -q"),
        ({"pyproject.toml": "[project]\n", "tests/test_a.py": ""}, "python3 -m pytest -q"),
        ({"pyproject.toml": "no toml ="}, ""),
        ({"setup.cfg": "[tool:pytest]\n"}, "python3 -m pytest -q"),
        ({"Cargo.toml": ""}, "cargo test"),
        ({"go.mod": ""}, "go test ./..."),
        ({"pom.xml": ""}, "mvn -q test"),
        ({"gradlew": ""}, "./gradlew test"),
        ({"test/a.bats": ""}, "bats test"),
    ],
)
def test_the_command_that_runs_the_tests_is_told_by_the_files(tmp_path: Path, tree: dict[str, str], command: str) -> None:
    for name, text in tree.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert projects.verify(str(tmp_path)) == command


def test_a_command_stands_in_the_configuration_as_it_is() -> None:
    import tomllib

    command = 'sh -c "a \\ b"'
    assert tomllib.loads(loop_init.section(command))["loop"]["verify"] == command
    assert tomllib.loads(loop_init.section(""))["loop"] == {}
