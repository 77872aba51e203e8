"""find: what it deletes, runs and writes is foreseen exactly."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from guard.effects import Hole, Matching, Pattern
from tests.tool_harness import CLEAN_ENV, compare, losses, model


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree of everything that find's tests tell apart."""
    top = tmp_path / "tree"
    for directory in ("specs/deep/deeper", "src/lib", "build", "void", ".hidden", "a b"):
        (top / directory).mkdir(parents=True)
    for name, text in {
        "CLAUDE.md": "# manual\n",
        "specs/a.md": "# a\n",
        "specs/deep/b.md": "# b\n",
        "specs/deep/deeper/c.JSON": "{}\n" * 300,
        "src/main.py": "print(1)\n" * 200,
        "src/main.py.orig": "x",
        "src/lib/empty.py": "",
        "build/o.o": "o" * 2048,
        ".hidden/x.md": "hidden\n",
        "a b/with space.md": "y\n",
        "exec.sh": "#!/bin/sh\n",
    }.items():
        (top / name).write_text(text)
    (top / "exec.sh").chmod(0o755)
    (top / "spec-link").symlink_to("specs")
    (top / "src/file-link").symlink_to("../CLAUDE.md")
    (top / "broken").symlink_to("nowhere")
    old = time.time() - 10 * 86400
    os.utime(top / "specs/a.md", (old, old))
    return top


DELETIONS = r"""
find . -delete
find . -name *.md -delete
find . -delete -name *.md
find . -iname *.json -delete
find . -type f -delete
find . -type d -empty -delete
find . -type f,l -name *e* -delete
find . -empty -delete
find specs -delete
find specs/ -name a.md -delete
find spec-link -delete
find spec-link/ -delete
find spec-link/ -name a.md -delete
find -H spec-link -name a.md -delete
find -L spec-link -name a.md -delete
find -L . -name a.md -delete
find -P spec-link -name a.md -delete
find . -follow -name b.md -delete
find -L . -type l -delete
find . -type l -delete
find . -xtype l -delete
find . -xtype f -type l -delete
find . -xtype d -type l -delete
find . -lname specs -delete
find . -name *.md -o -name *.py -delete
find . ( -name *.md -o -name *.py ) -delete
find . ( -name *.md , -name *.py ) -delete
find . -name *.md , -name *.py -delete
find . -not -name *.md -type f -delete
find . ! -name *.md ! -type d -delete
find . -not ( -name *.md -or -name *.py ) -type f -delete
find . -type f -a -name *.md -and -path */deep/* -delete
find . -path ./specs -prune -o -type f -delete
find . -path ./specs -prune -o -type f -exec rm {} ;
find . -path ./specs -prune -o -type f -print -exec rm {} ;
find . -name specs -prune -exec rm -rf {} ;
find . -type d -name specs -exec rm -rf {} +
find . -maxdepth 1 -type f -delete
find . -delete -maxdepth 1
find . -type f -delete -maxdepth 1
find . -mindepth 2 -name *.md -delete
find . -mindepth 1 -maxdepth 2 -delete
find . -maxdepth 0 -delete
find . -path ./specs/* -delete
find . -wholename */a.md -delete
find . -ipath ./SPECS/* -type f -delete
find . -regex .*/[ab]\.md -delete
find . -regex .*md -delete
find . -regex ./a.md -delete
find . -iregex .*\.json -delete
find . -regextype posix-extended -regex .*\.(md|py) -delete
find . -regextype egrep -regex ./(specs|src)/.* -type f -delete
find . -regex .*\.\(md\|py\) -delete
find . -size -1k -type f -delete
find . -size +1k -type f -delete
find . -size 1k -type f -delete
find . -size -2 -type f -delete
find . -size 2048c -delete
find . -size +4b -type f -delete
find . -size -1M -type f -delete
find . -size 0 -delete
find . -mtime +5 -type f -delete
find . -mtime -5 -type f -delete
find . -mtime 10 -delete
find . -mmin +60 -delete
find . -mmin -60 -type f -delete
find . -newer specs/a.md -type f -delete
find . ! -newer specs/a.md -type f -delete
find . -newermt 2001-01-01 -type f -delete
find . ! -newermt 2001-01-01 -type f -delete
find . -perm 755 -type f -delete
find . -perm /111 -type f -delete
find . -perm -u=x -type f -delete
find . -perm -644 -type f -delete
find . -executable -type f -delete
find . -readable -type f -delete
find . -links 1 -type f -delete
find . -samefile CLAUDE.md -delete
find . -user root -type f -name *.py -delete
find . -uid 0 -type f -name *.py -delete
find . -user nobody-of-that-name -delete
find . -true -name *.o -delete
find . -false -delete
find . -false -o -name *.o -delete
find . -name CLAUDE.md -delete -quit
find . -name a.md -quit -o -name nothing -delete
find . -quit -delete
find specs src -name *.md -delete
find specs nowhere -name *.md -delete
find nowhere -delete
find -name *.md -delete
find . -name
find . -nonsense -delete
find . -delete )
find . ( -name x -delete
find . -maxdepth x -delete
find . -type q -delete
find . -exec rm
find . -exec ; -delete
find . -xdev -name *.md -delete
find . -depth -name deep -exec rm -r {} ;
find . -name deep -exec rm -r {} ;
find . -type f -exec rm -f {} +
find . -name *.md -exec rm {} ;
find . -name *.md -exec rm {} +
find . -name *.md -exec rm -- {} ; -exec rm CLAUDE.md ;
find . -name a.md -exec rm ./{} ;
find . -name a.md -execdir rm {} ;
find . -name *.md -execdir rm -f {} +
find specs -maxdepth 0 -execdir rm -r {} ;
find . -name a.md -ok rm {} ;
find . -name a.md -okdir rm {} ;
find . -name *.md -exec grep -q a {} ; -delete
find . -name *.md ! -exec grep -q a {} ; -delete
find . -fprint CLAUDE.md
find . -name nothing -fprint CLAUDE.md
find . -fprintf CLAUDE.md %p
find . -fls specs/a.md
find . -fprint0 new.txt
find . -name *.md -print
find . -printf %p\n
find . -ls
find . -name [ac]*.md -delete
find . -name [!a]*.md -delete
find . -name ?.md -delete
find . -name \?.md -delete
find . -name .* -delete
find . -name .*  -type d -exec rm -r {} +
find ./ -name . -delete
find .//specs -name *.md -delete
find ./specs/../src -name *.py -delete
find . -daystart -mtime +5 -delete
find . -noleaf -name *.o -delete
find . -type d -exec rm -r {} +
find . -type d -name d* -exec mv {} gone ;
find . -name *.md -print -delete
find . -name *.md -newer nowhere -delete
find . -path ./specs -prune -o -depth -type f -delete
find -L . -samefile specs/a.md -delete
find . -inum 0 -delete
"""


@pytest.mark.parametrize("command", [line for line in DELETIONS.splitlines() if line])
def test_find_loses_what_the_real_one_loses(tree: Path, command: str) -> None:
    compare(tree, command.split())


PRINTS = r"""
find .
find . -name *.md
find specs -type d
find . -maxdepth 1
find . -mindepth 1 -maxdepth 1 -type d
find . -path ./specs -prune -o -print
find . -path ./specs -prune -o -name *.py
find . -name specs -prune
find . -depth
find specs src -type f
find . -printf %f|%h|%P|%d|%y|%s\n
find specs -printf %p\0
find specs/ -name specs
find . -print0
find . -name *.md -print -print
find -L spec-link -type f
find . -type l -printf %p->%l\n
find . -name a.md -exec basename {} ;
find . -not -name *.md -o -size 1
find . -regex .*\(a\|b\).md
find . ! -path */.*
find . -type f -not -path ./specs/* -not -path ./.hidden/*
"""


@pytest.mark.parametrize("command", [line for line in PRINTS.splitlines() if line])
def test_find_prints_what_the_real_one_prints(tree: Path, command: str) -> None:
    real = subprocess.run(command.split(), cwd=tree, env=CLEAN_ENV, capture_output=True, text=True, check=False).stdout
    output = model(tree, command.split()).result.output  # type: ignore[attr-defined]
    separator = "\0" if "\0" in real else "\n"
    assert sorted(output.split(separator)) == sorted(real.split(separator))


def test_hard_links_are_counted(tree: Path) -> None:
    os.link(tree / "CLAUDE.md", tree / "hard.md")
    assert losses(model(tree, ["find", "-links", "2", "-type", "f", "-exec", "rm", "{}", "+"]), tree) == {"CLAUDE.md", "hard.md"}
    compare(tree, ["find", ".", "-samefile", "CLAUDE.md", "-delete"])


def test_answers_on_standard_input_let_ok_run(tree: Path) -> None:
    compare(tree, ["find", ".", "-name", "*.md", "-ok", "rm", "{}", ";"], stdin="y\n" * 20)


def test_an_unknown_starting_point_may_be_anywhere(tree: Path) -> None:
    start = Pattern((Hole("unknown-variable", "$X"),))
    ran = model(tree, ["find", start, "-name", "*.md", "-delete"])
    [effect] = ran.effects
    assert not effect.certain
    assert isinstance(effect.target, Matching)
    assert effect.target.pattern.suffix == ".md"


def test_a_half_known_starting_point_stays_below_what_is_known(tree: Path) -> None:
    start = Pattern(("specs/", Hole("unknown-variable", "$X")))
    ran = model(tree, ["find", start, "-exec", "rm", "-rf", "{}", "+"])
    assert ran.effects
    assert all(isinstance(e.target, Matching) and e.target.path.endswith("/specs") for e in ran.effects)


def test_a_test_that_cannot_be_told_counts_as_true_but_is_not_certain(tree: Path) -> None:
    for test in (["-newermt", "last tuesday"], ["!", "-fstype", "ext4"], ["-name", Pattern((Hole("unknown-variable", "$N"),))]):
        ran = model(tree, ["find", ".", *test, "-type", "f", "-delete"])
        assert "specs/a.md" in losses(ran, tree)
        assert not any(effect.certain for effect in ran.effects)


def test_a_branch_that_is_not_taken_for_sure_is_taken_as_well(tree: Path) -> None:
    ran = model(tree, ["find", ".", "-fstype", "x", "-o", "-name", "a.md", "-delete"])
    assert losses(ran, tree) == {"specs/a.md"}


def test_a_directory_that_is_emptied_goes_as_a_whole(tree: Path) -> None:
    assert "specs/deep/deeper/c.JSON" in losses(model(tree, ["find", "specs", "-delete"]), tree)


def test_many_matches_stay_within_the_budget(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"f{number}.pyc").touch()
    ran = model(tmp_path, ["find", ".", "-name", "*.pyc", "-delete"])
    assert len(losses(ran, tmp_path)) == 3000
    ran = model(tmp_path, ["find", ".", "-name", "*.pyc", "-exec", "rm", "{}", ";"])
    assert ran.result.status == 0  # type: ignore[attr-defined]


def test_starting_points_come_from_a_file(tree: Path) -> None:
    (tree / "list").write_bytes(b"specs\0src\0")
    ran = model(tree, ["find", "-files0-from", "list", "-name", "*.md", "-delete"])
    assert losses(ran, tree) == {"specs/a.md", "specs/deep/b.md"}


def test_what_an_earlier_action_took_is_not_visited(tree: Path) -> None:
    ran = model(tree, ["find", ".", "-name", "specs", "-exec", "rm", "-rf", "{}", ";", "-o", "-print"])
    assert "specs/a.md" not in ran.result.output  # type: ignore[attr-defined]
