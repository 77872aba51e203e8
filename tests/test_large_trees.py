"""Trees of many thousand files: harmless commands pass within the steps of one judgement, losses in them are still seen."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from guard.decision import Request
from guard.message import render
from guard.project import load
from guard.shell.analyse import analyse
from guard.verdict import ALLOW, ASK, DENY, Verdict, judge
from guard.world import Budget, World

FILES = 20_000
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a"}
GIT |= {"GIT_COMMITTER_EMAIL": "a@b", "PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with 20,000 files in one directory, and 20,000 in the packages of another one that is ignored."""
    home = Path(os.path.realpath(tmp_path_factory.mktemp("large"))) / "home"
    app = home / "app"
    (app / "src").mkdir(parents=True)
    (app / "src/a.py").write_text("print(1)\n")
    (app / "AGENTS.md").write_text("Be careful.\n")
    (app / ".gitignore").write_text("node_modules/\n")
    (app / "flat").mkdir()
    for number in range(FILES):
        os.mknod(app / f"flat/f{number}.o")
    for package in range(FILES // 20):
        (app / f"node_modules/p{package}/lib").mkdir(parents=True)
        for number in range(20):
            os.mknod(app / f"node_modules/p{package}/lib/f{number}.js")
    for words in (["init", "-q"], ["add", "src", "AGENTS.md", ".gitignore"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=app, env={**GIT, "HOME": str(home)}, check=True)
    return home


def judged(home: Path, command: str, steps: int = 200_000) -> Verdict:
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "GUARD_STATE_DIR": str(home / ".local/state/guard")}
    world = World(environ, Budget(60, steps))
    policy = load(str(home / "app"), environ, world)
    return judge(analyse(command, str(home / "app"), world), policy, world, command)


HARMLESS = (
    "rm -f flat/*",
    "rm -rf **/*.o",
    "shopt -s globstar; rm -f **/*.o",
    'find . -name "*.o" -delete',
    'find . -name "*.o" -exec rm {} +',
    'find . -name "*.o" | xargs rm -f',
    "find node_modules -delete",
    "git clean -fdx",
    "git clean -fdX",
    "git stash -u",
    "git stash -u; git stash pop",
    "rm -rf node_modules/*",
    "rm -f node_modules/*/lib/*.js",
    'for f in flat/*; do rm "$f"; done',
    "sed -i s/a/b/ flat/*",
)


@pytest.mark.parametrize("command", HARMLESS)
def test_what_reaches_nothing_protected_is_allowed(home: Path, command: str) -> None:
    assert judged(home, command, 80_000).decision == ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "rm -f flat/* AGENTS.md",
        "find . -type f -delete",
        "mv AGENTS.md flat/a.o; rm -f flat/*",
        "mv AGENTS.md flat/zz.o; git clean -fdx",
    ],
)
def test_a_protected_file_among_many_is_seen(home: Path, command: str) -> None:
    verdict = judged(home, command)
    assert verdict.decision == DENY
    assert f"{home}/app/AGENTS.md" in {victim.path for victim in verdict.victims}


@pytest.mark.parametrize(("number", "decision"), [(1, DENY), (9999, ASK)])
@pytest.mark.parametrize(
    "command", ["rm -f flat/*", "rm -f flat/*.o", 'find flat -name "*.o" -delete', "find flat | xargs rm -f"]
)
def test_what_stands_behind_the_names_that_are_told_apart_is_asked_about(
    home: Path, command: str, number: int, decision: str
) -> None:
    config = home / "app/guard.toml"
    config.write_text(f'[protect]\nkeep = ["/flat/f{number}.o"]\n')
    try:
        verdict = judged(home, command)
        assert verdict.decision == decision
        assert [victim.path for victim in verdict.victims] == [f"{home}/app/flat/f{number}.o"]
    finally:
        config.unlink()


def test_rules_that_float_are_held_against_every_name_in_time(home: Path) -> None:
    config = home / "app/guard.toml"
    config.write_text('[protect]\nkeep = ["*.md", "/docs/"]\n')
    try:
        for command in ("rm -f flat/*", "rm -rf node_modules", "rm -rf node_modules flat", 'find . -name "*.o" -delete'):
            assert judged(home, command, 80_000).decision == ALLOW
    finally:
        config.unlink()


def test_a_count_that_was_cut_is_said_to_be_the_least(home: Path) -> None:
    config = home / "app/guard.toml"
    config.write_text('[protect]\nkeep = ["*.js"]\n')
    try:
        whole = judged(home, "rm -rf node_modules")
        assert (whole.decision, whole.total, whole.partial) == (DENY, FILES, False)
        cut = judged(home, "rm -rf node_modules", 60_000)
        assert cut.decision == DENY
        assert cut.partial
        assert 0 < cut.total < FILES
        request = Request("rm -rf node_modules", str(home / "app"), "")
        assert f"at least {cut.total:,} protected files" in render(cut, request)
        assert "at least" not in render(whole, request)
    finally:
        config.unlink()


def test_guards_own_files_are_victims_only_where_they_are_surely_hit_or_meant(home: Path) -> None:
    state = home / ".local/state/guard"
    (state / "log").mkdir(parents=True)
    for number in range(3):
        (state / f"log/{number}").write_text("{}\n")
    try:
        asked = judged(home, "cat list | xargs sed -i s/a/b/")
        assert not any(str(state) in victim.path for victim in asked.victims)
        for command in (f"rm -rf {state}", f"rm -rf {home}/.local"):
            refused = judged(home, command)
            assert (refused.decision, len(refused.victims)) == (DENY, 1)
            assert refused.total >= 3
        assert judged(home, f"rm -rf {state}/$UNHEARD_OF/log*").decision != ALLOW
    finally:
        subprocess.run(["rm", "-rf", str(state)], check=True)
