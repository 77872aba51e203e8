"""rsync: both trees are walked, and what is foreseen is what the real rsync loses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from guard.effects import MOVE, Hole, Pattern, Somewhere
from guard.tools.rsync_rules import Rules, expression
from tests.tool_harness import compare, losses, model
from tests.tools.test_remove import lines, needs
from tests.tools.trees import plant

RSYNC = """
rsync -a d/ s/
rsync -a d s
rsync -a d/ s
rsync -r d/ s/
rsync d/ s/
rsync d/f s/
rsync d/f s/f
rsync d/f a
rsync a b
rsync a b s
rsync a nope/
rsync -a --delete d/ s/
rsync -a --delete d/ s
rsync -a --delete d s
rsync -a --del d/ s/
rsync -a --delete-after d/ s/
rsync -a --delete-before d/ s/
rsync -r --delete d/ s/
rsync --delete d/ s/
rsync -a --delete nope/ s/
rsync -a --delete d/ nope/ s/
rsync -a --delete empty/ d/
rsync -a --delete empty/ d
rsync -a --delete empty d
rsync -a --delete d/ old/ s/
rsync -a --delete d/ a s/
rsync -a --delete -n d/ s/
rsync -an --delete d/ s/
rsync -a --delete --dry-run empty/ d/
rsync -a --delete --exclude=x d/ s/
rsync -a --delete --exclude x --exclude e d/ s/
rsync -a --delete --exclude='*.h' empty/ d/
rsync -a --delete --exclude=/e empty/ d/
rsync -a --delete --exclude=e/g empty/ d/
rsync -a --delete --exclude='e/' empty/ d/
rsync -a --delete --exclude='g' empty/ d/
rsync -a --delete --exclude='/g' empty/ d/
rsync -a --delete --exclude='**/g' empty/ d/
rsync -a --delete --include=f --exclude='*' d/ s/
rsync -a --delete --exclude='e/***' empty/ d/
rsync -a --delete --exclude=x --delete-excluded d/ s/
rsync -a --delete-excluded --exclude=f d/ s/
rsync -a --delete -f 'P x' d/ s/
rsync -a --delete -f 'protect x' d/ s/
rsync -a --delete -f '- x' d/ s/
rsync -a --delete --filter='- x' d/ s/
rsync -a --delete --filter='exclude x' d/ s/
rsync -a --delete --filter='+ f' --filter='- *' d/ s/
rsync -a --delete --filter='H f' d/ s/
rsync -a --delete -C d/ s/
rsync -a --delete --max-delete=0 d/ s/
rsync -a --ignore-existing d/ s/
rsync -a --existing d/ s/
rsync -a --existing --ignore-existing --delete d/ s/
rsync -a -u old/ s/
rsync -a -u s/ old/
rsync -a --update s/ old/
rsync -a -b d/ s/
rsync -a --backup --suffix=.o d/ s/
rsync -a -b --backup-dir=../old d/ s/
rsync -a -b --delete d/ s/
rsync -a -b --delete empty/ d/
rsync -a -b --backup-dir=../bak --delete empty/ d/
rsync -a -b --backup-dir=/nope/x --delete d/ s/
rsync -a --inplace d/ s/
rsync -ac d/ s/
rsync -aI d/ s/
rsync -a --append d/ s/
rsync -a --remove-source-files d/ new/
rsync -a --remove-source-files d/ s/
rsync -a --remove-source-files d s
rsync --remove-source-files a b s/
rsync --remove-source-files a new
rsync -a --remove-source-files --exclude=f d/ new/
rsync -aR d/e/g s
rsync -aR d/./e/g s
rsync -a --relative d s
rsync -aL s/ d/
rsync -rL d/ new/
rsync -a l s
rsync -a l/ s/
rsync -a labs d
rsync -a d/ l/
rsync -a --delete s/ l/
rsync -a s/ labs/
rsync -a clash/ .
rsync -a --force clash/ .
rsync -a --delete clash/ .
rsync -a d/ a
rsync -avz --delete d/ s/
rsync -avP d/ s/
rsync -rtvu d/ s/
rsync -a --no-r d/ s/
rsync -d --delete d/ s/
rsync -a --size-only d/ s/
rsync -a d
rsync
rsync --version
rsync -a --nonsense d/ s/
rsync -a -- d/ s/
rsync -a './-dash' a
rsync -a 'sp ace' a
rsync -a void/ d/
rsync -a --delete --exclude-from=nope d/ s/
rsync -a --delete d/e/ s/e/
rsync -a lf a
rsync lf a
rsync -l lf a
rsync -a --delete ./ new/
rsync -a d/../s/ d/
rsync -a --mkpath d/f n/m/o
rsync -a --del d/ s/ --exclude x
"""


@pytest.mark.parametrize("command", lines(RSYNC))
def test_rsync_as_the_real_one(tmp_path: Path, command: str) -> None:
    needs(command)
    compare(plant(tmp_path / "tree"), command)


def test_exclude_from_a_file(tmp_path: Path) -> None:
    needs("rsync")
    top = plant(tmp_path / "tree")
    (top / "rules").write_text("# comment\nx\n")
    compare(top, "rsync -a --delete --exclude-from=rules d/ s/")


def test_another_machine(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert not losses(model(top, "rsync -a --delete d/ host:s/"), top)
    assert losses(model(top, "rsync -a --remove-source-files d/ host:s/"), top) == {"d/f", "d/e/g", "d/a", "d/.h", "d/ls"}
    found = model(top, "rsync -a --delete host:d/ s/").effects
    assert [(e.action, e.target, e.certain) for e in found] == [("delete", Somewhere(str(top / "s")), False)]
    assert losses(model(top, "rsync host:x/f s"), top) == {"s/f"}
    assert not model(top, "rsync -a host:x nope").effects


def test_what_is_removed_at_the_source_moves(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    moves = [(e.target.path, e.to) for e in model(top, "rsync --remove-source-files a s/").effects if e.action == MOVE]
    assert moves == [(str(top / "a"), str(top / "s/a"))]


def test_unknown_ends(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    hole = Hole("unknown-variable", "$X")
    found = model(top, ("rsync", "-a", "--delete", Pattern((hole, "/")), "s/")).effects
    assert [(e.target, e.certain) for e in found] == [(Somewhere(str(top / "s")), False)]
    found = model(top, ("rsync", "-a", "--delete", "--exclude", Pattern((hole,)), "empty/", "s/")).effects
    assert found
    assert not any(e.certain for e in found)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("x", "x", True), ("x", "a/x", True), ("/x", "a/x", False), ("a/x", "b/a/x", True), ("*.o", "a/b.o", True),
        ("a/*", "a/b", True),
        ("a/*", "a/b/c", False), ("a/**", "a/b/c", True), ("?", "a", True), ("[ab]", "b", True), ("[!ab]", "b", False),
        ("a/***", "a", True),
    ],
)  # fmt: skip
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert (re.fullmatch(expression(pattern), path) is not None) == matches


def test_a_rule_that_cannot_be_read_makes_unsure() -> None:
    for text in (": .rsync-filter", ". nope", "-C", "frobnicate x"):
        rules = Rules(lambda name: None)
        rules.add_filter(text)
        assert rules.unsure, text
