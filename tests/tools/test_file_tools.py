"""What holds for all models of file tools, whatever they are given."""

from __future__ import annotations

import contextlib
import random
import time
from pathlib import Path

import pytest

from guard.effects import Hole, Pattern, Somewhere, Text
from guard.overlay import View
from guard.tools import TABLE, model_of
from guard.tools.call import Call
from guard.world import Budget, OutOfBudget, World
from tests.tool_harness import CLEAN_ENV, Ran, model
from tests.tools.trees import LATIN, NEWLINE, plant

MODULES = (
    "blocks compress copy directories download formatters install link outputs pieces remote remove rename rsync transfer "
    "trash write"
).split()
NAMES = sorted(name for name, where in TABLE.items() if where.partition(".")[0] in MODULES)
HOLE = Hole("unknown-variable", "$X")
WORDS: list[Text] = [
    "a", "b", "d", "d/", "d/.", "s", "l", "l/", "lf", "dang", "loop", "loop/x", "nope", "nope/../a", ".", "..", "/", "",
    "-", "--", "\0", "\ud800",
    "a\0b", "x" * 5000, "-rf", "-r", "-f", "-i", "-n", "-b", "-t", "-T", "-S", "-u", "-o", "-O", "-a", "-d", "-k", "-c",
    "-s", "-D", "-p", "-e",
    "--backup", "--delete", "--suffix", "--target-directory", "--target-directory=d", "--exclude=x", "--filter", "if=a",
    "of=b", "of=", "seek=1",
    "s/a/b/", "s/(/b/", "y/a-z/", "*", "#1", "host:x", "file:///etc/hostname", "https://x/y", "\udcff", NEWLINE, LATIN,
    "-sf", "-sfn", "-9", "-l",
    "fmt", "format", "--write", "--in-place", "é" * 300, "~", "/dev/null", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/1",
    "-s0", "-s+1", "-s%0",
    Pattern((HOLE,)), Pattern(("-", HOLE)), Pattern(("d/", HOLE)), Pattern((HOLE, "/f")), Pattern(("--", HOLE)),
    Pattern(("of=", HOLE)),
    Pattern(("/", HOLE, "/x/", HOLE)), Pattern(("host:", HOLE)), Pattern(("a", HOLE, "/.")),
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_raised_on_any_arguments(tmp_path: Path, name: str) -> None:
    top = plant(tmp_path / "tree")
    chance = random.Random(name)
    for _ in range(60):
        words = tuple(chance.choice(WORDS) for _ in range(chance.randrange(6)))
        stdin = chance.choice([None, "", "y\nn\n", "\ud800", Pattern(("y\n", HOLE))])
        ran = Ran(top)
        with contextlib.suppress(OutOfBudget):  # gzip -r /
            ran.run((name, *words), stdin=stdin)
            ran.run(("rm", "-rf", "d", "s"))


def test_a_directory_that_is_not_known_is_no_excuse(tmp_path: Path) -> None:
    ran = Ran(plant(tmp_path / "tree"))
    for name in NAMES:
        ran.run((name, "a", "b"), cwd=Pattern((HOLE,)))


def test_used_up_budget_is_told() -> None:
    view = View(World(CLEAN_ENV, Budget(steps=3)))
    call = Call(
        ("rm", "-rf", "/usr/share/a/b/c", "/usr/lib"), "/", CLEAN_ENV, None, view, lambda *a, **k: None, lambda *a, **k: None
    )  # type: ignore[arg-type,return-value]
    tool = model_of("rm")
    assert tool is not None
    with pytest.raises(OutOfBudget):
        tool(call)


def test_every_name_has_a_model() -> None:
    assert all(callable(model_of(name)) for name in NAMES)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trees of 4,000 files with the same names."""
    where = tmp_path_factory.mktemp("large")
    for top in ("one", "two"):
        for i in range(40):
            (where / top / str(i)).mkdir(parents=True)
            for j in range(100):
                (where / top / str(i) / str(j)).write_text(top)
    return where


@pytest.mark.parametrize(
    "command", ["cp -r one/. two", "rsync -a --delete one/ two/", "rsync -a --delete two/1/ one/", "rm -rf one", "gzip -r one"]
)
def test_large_trees_are_widened_not_walked_for_ever(large: Path, command: str) -> None:
    start = time.process_time()
    ran = model(large, command)
    assert time.process_time() - start < 3
    whole = command.split()[0] in ("cp", "gzip")
    assert any(isinstance(e.target, Somewhere) and not e.certain for e in ran.effects) or not whole
