"""rm and its kin foresee what the real tools remove."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from guard.effects import DELETE, At, Below, Hole, Matching, Pattern
from tests.tool_harness import compare, losses, model
from tests.tools.trees import LATIN, NEWLINE, plant

RM = """
rm a
rm a b
rm a nope b
rm -f nope a
rm d
rm -f d a
rm -r d
rm -R d
rm -rf d s
rm -rf d nope s
rm -fr -- d
rm d -rf
rm -rfv d
rm -r -f d
rm --recursive --force d
rm --recurs --forc d
rm --rec d
rm --r d
rm --f a
rm --no-preserve-root -rf d
rm --no-preserve -rf d
rm --preserve-root=all -rf d
rm --one-file-system -r d
rm --interactive=never -r d
rm --interactive=n a
rm --interactive=no a
rm -i a
rm -I a
rm -I a b s/x s/f
rm -I -r d
rm -i -f a
rm -f -i a
rm -fI a b
rm --interactive a
rm --interactive=always a
rm --interactive=once -r d
rm -if -r d
rm -d empty
rm -d d
rm -rd d
rm empty
rm -r empty
rm l
rm -r l
rm -rf l
rm -rf l/
rm -r l/
rm l/
rm -d l/
rm -rf l/.
rm -rf l//
rm -rf l/e
rm -r l/e/
rm l/f
rm lf
rm -r lf/
rm dang
rm loop
rm labs/f
rm -rf labs/
rm -rf d/.
rm -rf d/..
rm -rf .
rm -rf ./
rm -rf ..
rm -rf d/../s
rm -rf nope/../s
rm -rf a/../s
rm -rf ./d
rm -rf .//d//
rm -rf ''
rm -f a/
rm -rf a/
rm a/.
rm -- -dash
rm ./-dash
rm -dash
rm 'sp ace'
rm -z a
rm --nonsense a
rm -rf --nonsense d
rm --help a
rm --version a
rm -f
rm
rm hard
rm .hidden
rm d/f d/f
rm -r d/e d/e/g
rm -rf d d/e
rm -v a
rm -rf loop/x dang/x
rmdir empty
rmdir d
rmdir d empty
rmdir -p void/f
rmdir --ignore-fail-on-non-empty d
rmdir l/
rmdir a
rmdir void/f/.
unlink a
unlink a b
unlink d
unlink l
unlink lf
unlink nope
unlink a/
unlink -- -dash
unlink -dash
unlink --help
shred a
shred -u a
shred -u lf
shred -n1 -z a
shred -n 0 a
shred -n 0 -u a
shred -n0 -z a
shred --remove=unlink a
shred --rem a
shred -uz a b
shred d a
shred nope
shred dang
shred -- -dash
shred -s 1 -n1 a
shred --iterations=1 -u d/f s/f
"""


def lines(text: str) -> list[str]:
    """The command lines of a table."""
    return [line for line in text.splitlines() if line]


def needs(command: str) -> None:
    """Skips where the tool is missing."""
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"no {command.split()[0]} here")


@pytest.mark.parametrize("command", lines(RM))
def test_remove_as_the_real_tool_does(tmp_path: Path, command: str) -> None:
    needs(command)
    compare(plant(tmp_path / "tree"), command)


@pytest.mark.parametrize("name", [NEWLINE, LATIN, "-dash", "sp ace"])
def test_awkward_names_are_removed(tmp_path: Path, name: str) -> None:
    compare(plant(tmp_path / "tree"), ["rm", "-f", "--", name, "a"])


ANSWERED = [
    ("rm -i a", "y\n"),
    ("rm -i a", "n\n"),
    ("rm -i a b", "n\ny\n"),
    ("rm -i a b", "y\n"),
    ("rm -i a b", "Yes\nY\n"),
    ("rm -I -r d", "y\n"),
    ("rm -I -r d", "n\n"),
    ("rm -ri d", "y\n"),
    ("rm -ri d", "y\n" * 40),
    ("rm -ri d", "n\n"),
    ("rm -ri d s", "n\n" + "y\n" * 40),
    ("rm -ri empty a", "y\ny\n"),
]


@pytest.mark.parametrize(("command", "stdin"), ANSWERED)
def test_answers_from_standard_input_count(tmp_path: Path, command: str, stdin: str) -> None:
    top = plant(tmp_path / "tree")
    ran = model(top, command, stdin)
    assert all(effect.certain for effect in ran.effects) or command == "rm -ri d"
    if all(effect.certain for effect in ran.effects):
        compare(top, command, stdin)


def test_an_unknown_answer_is_uncertain(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert [effect.certain for effect in model(top, "rm -i a").effects] == [False]
    hole = Hole("unknown-output", "yes")
    assert [e.certain for e in model(top, "rm -ri d", Pattern(("y\ny\n", hole))).effects] == [True]
    assert [e.certain for e in model(top, "rm -ri d", Pattern((hole,))).effects] == [False]


def test_the_target_of_a_link_with_a_slash_is_emptied(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert [effect.target for effect in model(top, "rm -rf l/").effects] == [Below(str(top / "d"))]


def test_the_root_is_refused_but_asked_about(tmp_path: Path) -> None:
    ran = model(plant(tmp_path / "tree"), "rm -rf /")
    assert [(e.target, e.certain) for e in ran.effects] == [(At("/"), False)]
    ran = model(tmp_path, "rm -rf --no-preserve-root /")
    assert [(e.target, e.certain) for e in ran.effects] == [(At("/"), True)]


def test_a_hole_becomes_a_matching_target(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    ran = model(top, ("rm", "-rf", Pattern(("d/", Hole("unknown-variable", "$X")))))
    (effect,) = ran.effects
    assert effect.action == DELETE
    assert isinstance(effect.target, Matching)
    assert effect.target.path == str(top / "d")


def test_options_known_in_part_make_it_uncertain(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    ran = model(top, ("rm", Pattern(("-", Hole("unknown-variable", "$F"))), "d"))
    assert [(e.target, e.certain) for e in ran.effects] == [(At(str(top / "d")), False)]


def test_statuses(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    for command, status in {
        "rm nope": 1,
        "rm -f nope": 0,
        "rm a": 0,
        "rm": 1,
        "rm -f": 0,
        "rm d": 1,
        "rmdir empty": 0,
        "rmdir d": 1,
    }.items():
        assert model(top, command).result.status == status, command


def test_trash_takes_its_operands(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    for command in ("gio trash d", "trash-put d", "trash d", "rip d", "srm -r d", f"gio trash file://{top}/d", "rmtrash -rf d"):
        assert losses(model(top, command), top) == {"d/f", "d/e/g", "d/a", "d/.h", "d/ls"}, command
    for command in ("gio trash --empty", "gio list d", "trash --help", "srm d", "rip -u d", "gio remove d"):
        assert not losses(model(top, command), top), command
    assert losses(model(top, "gio move a b"), top) == {"a", "b"}
    assert losses(model(top, "gio remove a"), top) == {"a"}
