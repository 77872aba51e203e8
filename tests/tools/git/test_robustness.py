"""Whatever the arguments and the repository's own files hold, a model gives an analysis."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guard.effects import Hole, Pattern
from guard.overlay import View
from guard.tools.call import Call
from guard.tools.git import COMMANDS, HARMLESS, git
from guard.tools.git.index import read
from guard.tools.git.pathspec import Defaults, pathspec
from guard.tools.git.wildmatch import matcher
from guard.tools.options import Table
from guard.world import Budget, OutOfBudget, World
from tests.tool_harness import Ran
from tests.tools.git.harness import build, environment, foresee

NAMES = """
    . -- - @ HEAD HEAD~1 v1 no-specs specs specs/a.md memory nope -f -q -n -x -d -X -e -p -u -a -m -b new
    --hard --force --cached :/ :!x :( :(glob)** * [ [!] [[:alpha:] ** a**b \\ --pathspec-from-file=-
    --source=v1 -s --orphan -- -z 12 @{1} @{-1} HEAD^{tree} stash@{0} ^ ~ .. ... a..b :0:x -- --no-x --onto set
    add remove --prefix=x / // ../.. ./ "" é
"""
HOLES = st.builds(lambda text: Pattern((text, Hole("unknown-variable", "$X"))), st.text(max_size=4))
WORDS = st.sampled_from(NAMES.split()) | st.text(max_size=8) | HOLES


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("robust") / "home").parent


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(sorted(COMMANDS)), args=st.lists(WORDS, max_size=4), stdin=st.none() | st.text(max_size=9))
def test_any_arguments_give_an_analysis(name: str, args: list[str], stdin: str | None, home: Path) -> None:
    ran = Ran(home / "app", environment(home))
    ran.view = View(World(ran.env, Budget(60, 10**7)))
    result = ran.run(("git", name, *args), stdin=stdin)
    assert not any(getattr(unknown, "what", "").startswith("git: ") for unknown in result.unknowns), result.unknowns


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=80), st.integers(0, 5), st.integers(0, 5))
def test_any_index_is_read_or_refused(tail: bytes, version: int, count: int) -> None:
    read(b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big") + tail + b"\0" * 20)


@settings(max_examples=200)
@given(st.text("*?[]!^\\/ab-:.", max_size=30), st.text("ab/", max_size=30), st.booleans())
def test_any_pattern_can_be_matched(pattern: str, text: str, by_component: bool) -> None:
    matcher(pattern, by_component)(text)
    pathspec([pattern], "a", "/top", Defaults()).match(text)


def test_many_stars_take_no_time() -> None:
    assert not matcher("*a" * 40 + "b", False)("a" * 300)
    assert not matcher("*a" * 40 + "b", True)("a" * 300)


def test_a_limit_is_never_harmless(home: Path) -> None:
    ran = Ran(home / "app", environment(home))
    view = View(World(ran.env, Budget(60, 5)))
    with pytest.raises(OutOfBudget):
        git(Call(("git", "clean", "-fd"), str(home / "app"), ran.env, None, view, ran.run, ran.shell))


def test_without_git_a_destructive_command_is_unknown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guard.tools.git.questions.real_git", lambda world, directory: None)
    assert foresee(home, "git reset --hard no-specs").unknowns


def test_no_command_is_both_destructive_and_harmless() -> None:
    assert not set(COMMANDS) & HARMLESS


def test_option_tables_hold_whole_names() -> None:
    """A line of a table may end behind a hyphen, in the middle of a name."""
    for module in {where.partition(".")[0] for where in COMMANDS.values()}:
        for found in vars(import_module(f"guard.tools.git.{module}")).values():
            if isinstance(found, Table):
                assert not [name for name in found.long if name.endswith("-") or set(name) & set("/=? ")]
