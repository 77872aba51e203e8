"""mv, cp, ln and install foresee what the real tools lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from guard.effects import CREATE, LINK, MOVE, OVERWRITE, At, Hole, Matching, Pattern, Somewhere
from tests.tool_harness import compare, losses, model
from tests.tools.test_remove import lines, needs
from tests.tools.trees import LATIN, NEWLINE, plant

MV = """
mv a b
mv a c
mv a a
mv a ./a
mv a hard
mv twin hard
mv a d
mv a d/
mv a nope/
mv a nope/x
mv a b/
mv a/ b
mv d new
mv d new/
mv d/ new
mv d s
mv d/ s/
mv d a
mv d d
mv d d/e
mv d d/new
mv d empty
mv d/f s
mv d/f s/f
mv s/f d/f lf old
mv d/f s/f empty
mv a b c
mv a b nope/
mv a b d
mv -t d a b
mv --target-directory=d a b
mv --target=d a
mv -td a
mv -T a d
mv -T d empty
mv -T d s
mv -T a b
mv -Tf d void
mv -n a b
mv --no-clobber a b
mv -nf a b
mv -fn a b
mv -i -f a b
mv -f a b
mv -u old/f s/f
mv -u s/f old/f
mv --update s/f old/f
mv -b a b
mv -S .bak a b
mv --backup=numbered a b
mv --backup=none a b
mv --backup=off a b
mv --backup=simple a b
mv --backup=t a b
mv -b a c
mv -b -T d s
mv -b a d
mv -bn a b
mv a l
mv a l/
mv a lf
mv a dang
mv l new
mv l/ new
mv --strip-trailing-slashes d/ s
mv l s
mv l d
mv lf d/f
mv d/f lf
mv lf a
mv dang a
mv loop a
mv d clash
mv d deep
mv clash/d .
mv d .
mv d ..
mv . new
mv ./ new
mv d/. new
mv d/.. new
mv nope a
mv nope a b d
mv a
mv
mv -- -dash d
mv -dash d
mv ./-dash d
mv 'sp ace' a
mv .hidden a
mv a .hidden
mv a b d s/x old
mv --nonsense a b
mv --help a b
mv -v a b
mv void/f empty
mv a void
mv a void/f
mv s/la a
mv s/la d
mv a nope/../b
mv -Z a b
mv a b b
mv d/f d/../a
mv labs d
mv labs/f a
mv a labs
mv -t labs a d/f
mv -t nope a
mv -t a b
mv -T a b c
mv -t d -T a
mv '' a
mv a ''
"""

CP = """
cp a b
cp a c
cp a a
cp a ./a
cp -f b a
cp twin hard
cp -f twin hard
cp a d
cp d/f s
cp a nope/
cp a nope/x
cp a b/
cp a/ b
cp d new
cp d s
cp -r d new
cp -r d s
cp -r d/. s
cp -r d/ s/
cp -rT d s
cp -R -T d s
cp -a d/. s
cp -a d/. s/
cp -r s/. l
cp -r s l
cp -rT s l
cp -f b a
cp -r s/. d
cp -rL s/. d
cp -rH l new
cp -r l s
cp -rL deep/d s
cp -r d a
cp -r d d
cp -r d d/new
cp -r d/e d
cp -r d deep
cp -r deep/d .
cp -r clash/. .
cp -r d clash
cp -r . s
cp -r d .
cp -r d/.. s
cp a b c
cp a b d
cp d/f s/f old
cp d/f s/f empty
cp -t d a b
cp -t s d/f
cp --target-directory s d/f
cp -T a d
cp -T a b
cp -n a b
cp --no-clobber a b
cp -nf a b
cp -n -i a b
cp -u s/f old/f
cp -u old/f s/f
cp -f a b
cp -p a b
cp -b a b
cp -b a c
cp -b a d/f
cp -bf a a
cp -S .o a b
cp --backup=numbered a b
cp --backup=none a b
cp -r -b d/. s
cp -bn a b
cp --remove-destination a b
cp --remove-destination a lf
cp --remove-destination a l
cp --remove-destination d/f lf
cp --remove-destination lf d/f
cp a lf
cp a l
cp a dang
cp -f a dang
cp --remove-destination a dang
cp lf d/f
cp d/f lf
cp -d lf d/f
cp -P lf d/f
cp -P lf a
cp -P d/f lf
cp -a lf a
cp -a l a
cp -a a lf
cp -d dang a
cp dang a
cp -L lf a
cp -r lf a
cp -r loop a
cp -l a b
cp -lf a b
cp -lf a hard
cp -l a c
cp -lr deep/. .
cp -lrf old/. s
cp -s a b
cp -sf a b
cp -sf d/f b
cp -s a c
cp --link --force a b
cp --symbolic-link -f a b
cp --attributes-only a b
cp --attributes-only a c
cp --parents d/f s
cp --parents d/e/g s
cp --parents -r d/e s
cp --parents d/f deep
cp --parents d/f nope
cp /dev/null a
cp -f /dev/null a b
cp /dev/null lf
cp /dev/null d/f
cp /dev/null d
cp -r /dev/null a
cp /dev/stdin a
cp nope a
cp nope a d
cp a
cp
cp -- -dash a
cp 'sp ace' a
cp -v a b
cp --nonsense a b
cp --help a b
cp s/la a
cp -P s/la a
cp -P s/la d
cp --sparse=always a b
cp --reflink=auto a b
cp --preserve=mode a b
cp --no-preserve=mode a b
cp -x a b
cp -H lf a
cp --strip-trailing-slashes -r l/ new
cp -r l/ s
cp labs/f a
cp a labs
cp -r labs/. d
cp '' a
cp a ''
cp -T a ''
cp -r empty d
cp -rT void d
cp -r void/. d
cp -rT d void
"""

LN = """
ln a b
ln a c
ln -f a b
ln -f a a
ln -f twin hard
ln -s a b
ln -s a c
ln -sf a b
ln -sf a a
ln -sf a hard
ln -sf twin hard
ln -sf nope b
ln -sf d/f
ln -sf s/f d
ln -sf s/f d/
ln -f s/f d
ln -sfn s l
ln -sf s l
ln -sfn s/f l
ln -sf s/f l
ln -sfT s l
ln -sfT s d
ln -sfT s a
ln -sfn s d
ln -sfn s/f d
ln -sn s l
ln -snf nope lf
ln -b a b
ln -sb a b
ln -s -S .o a b
ln --backup=numbered -s a b
ln -i a b
ln -fi a b
ln -if a b
ln -t d a
ln -sf -t d s/f
ln -sf s/f old/f d
ln -sf s/f s/x d
ln -sf a b c
ln -r -s -f d/f b
ln -rsf a lf
ln -L -f lf a
ln -P -f lf a
ln -f lf d/f
ln -sf lf d/f
ln -f d b
ln d new
ln -sf a dang
ln -sf a lf
ln -sf a nope/x
ln -sf a b/
ln -sf a
ln
ln --symbolic --force a b
ln --sym --forc a b
ln --no-dereference -sf s l
ln -sfv a b
ln --nonsense -sf a b
ln -sf -- -dash a
ln -sf /dev/null a
ln -sf /dev/null d
ln -f nope a
ln -sf d s
ln -sF a b
"""

INSTALL = """
install a b
install a c
install a a
install -m 644 a b
install -m644 a b
install -D a b
install -D a n/m/o
install -D a d/f
install a d
install d/f s
install d s
install a b d
install d/f s/f old
install d/f s/f empty
install -t d a
install -D -t d a
install -Dt n/m a b
install -t s d/f
install -T a d
install -T a b
install -d n/m a
install -d d
install -d n
install -b a b
install --backup=numbered a b
install -S .o a b
install -C a b
install --compare a b
install -p a b
install a lf
install a l
install a dang
install lf a
install lf d/f
install d/f lf
install dang a
install nope a
install /dev/null a
install -m 600 /dev/null d/f
install a b c
install a
install
install -v a b
install --nonsense a b
install a nope/x
install a b/
install -c a b
install -- -dash a
install twin hard
"""


@pytest.mark.parametrize("command", lines(MV) + lines(CP) + lines(LN) + lines(INSTALL))
def test_transfer_as_the_real_tool_does(tmp_path: Path, command: str) -> None:
    needs(command)
    if command.startswith(("mv -i ", "ln -i", "ln -fi")):
        compare(plant(tmp_path / "tree"), command, stdin="")
    compare(plant(tmp_path / "again"), command)


@pytest.mark.parametrize("name", [NEWLINE, LATIN, "-dash", "sp ace"])
@pytest.mark.parametrize("tool", ["mv", "cp", "install"])
def test_awkward_names(tmp_path: Path, tool: str, name: str) -> None:
    compare(plant(tmp_path / "one"), [tool, "--", name, "a"])
    compare(plant(tmp_path / "two"), [tool, "--", "a", name])
    compare(plant(tmp_path / "three"), [tool, "--", name, "d"])


@pytest.mark.parametrize("stdin", ["y\n", "n\n", "", "y\nn\n", "n\ny\n"])
@pytest.mark.parametrize("command", ["mv -i a b", "cp -i a b", "ln -i a b", "mv -i d/f a s", "cp -i d/f d/.h s", "ln -si a b"])
def test_answers_count(tmp_path: Path, command: str, stdin: str) -> None:
    compare(plant(tmp_path / "tree"), command, stdin)


@pytest.mark.parametrize(
    ("stdin", "certain"), [("y\n" * 20, {True}), ("n\n", set()), ("", set()), ("y\nn\n", {False}), (None, {False})]
)
def test_the_order_of_questions_about_a_tree_is_not_known(tmp_path: Path, stdin: str | None, certain: set[bool]) -> None:
    found = model(plant(tmp_path / "tree"), "cp -ri d/. s", stdin).effects
    assert {effect.certain for effect in found if effect.action == OVERWRITE} == certain


CHAINED = [
    ("mv a b", "mv b c"),
    ("mv d s", "rm -rf s"),
    ("mv s/f a", "cp a b"),
    ("cp -r d new", "rm -rf new"),
    ("ln -s d n", "cp a n/f"),
    ("ln -s d n", "rm -rf n"),
    ("ln -s d n", "rm -rf n/"),
    ("ln a n", "cp b n"),
    ("mv d other", "rm d/f"),
    ("mv d other", "rm other/f"),
    ("install -D a n/m", "rm -r n"),
    ("install -d n", "mv a b n"),
    ("rm -rf s", "mv d s"),
    ("rm -rf d", "cp a d"),
    ("mv d empty", "mv empty/d/f b"),
    ("rmdir empty", "mv a empty"),
    ("cp -r d new", "mv new/f a"),
]


@pytest.mark.parametrize("commands", CHAINED)
def test_a_tool_sees_what_earlier_ones_did(tmp_path: Path, commands: tuple[str, ...]) -> None:
    import shlex

    from tests.tool_harness import Ran, files, real_losses

    top = plant(tmp_path / "tree")
    ran = Ran(top)
    before = files(top)
    for command in commands:
        ran.run(tuple(shlex.split(command)))
    foreseen = {
        path for effect in ran.effects for path in before
        if effect.action != CREATE and isinstance(effect.target, At)
        and any((str(top / path) + "/").startswith(o + "/") for o in [effect.target.path])
    } | {p for e in ran.effects if not isinstance(e.target, At) for p in losses(ran, top)}  # fmt: skip
    for command in commands:
        real_losses(top, top, command)
    after = files(top)
    assert {path for path in before if after.get(path) != before[path]} <= foreseen | {
        path for path in before if any(e.action == MOVE and e.to and str(top / path).startswith(e.to) for e in ran.effects)
    }


def test_a_move_tells_where_to(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    overwrite, move = model(top, "mv d/f s").effects
    assert (overwrite.action, overwrite.target, overwrite.source) == (OVERWRITE, At(str(top / "s/f")), str(top / "d/f"))
    assert (move.action, move.target, move.to) == (MOVE, At(str(top / "d/f")), str(top / "s/f"))


def test_a_backup_is_a_move(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    found = [(e.action, e.target.path, e.to) for e in model(top, "cp -b s/f d/f").effects]
    assert found == [(MOVE, str(top / "d/f"), str(top / "d/f~")), (CREATE, str(top / "d/f"), None)]


def test_a_copied_tree_is_one_creation(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    (effect,) = model(top, "cp -r d new").effects
    assert (effect.action, effect.target, effect.source) == (CREATE, At(str(top / "new")), str(top / "d"))


def test_a_link_tells_where_to(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert [(e.action, e.to) for e in model(top, "ln -sf x/y a").effects] == [(LINK, "x/y")]


def test_content_from_standard_input_is_known(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert [e.content for e in model(top, "cp /dev/stdin a", "text\n").effects] == [b"text\n"]
    assert [e.content for e in model(top, "cp /dev/null a").effects] == [b""]


HOLE = Hole("unknown-variable", "$X")


def test_unknown_sources_and_places(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    found = model(top, ("mv", Pattern(("d/", HOLE)), "b")).effects
    assert [(e.action, type(e.target)) for e in found] == [(MOVE, Matching), (OVERWRITE, At)]
    found = model(top, ("cp", "a", Pattern((str(top), "/d/", HOLE)))).effects
    assert [(e.action, type(e.target)) for e in found] == [(OVERWRITE, Matching)]
    found = model(top, ("cp", "-r", Pattern((HOLE, "/.")), "d")).effects
    assert [(e.action, e.target, e.certain) for e in found] == [(OVERWRITE, Somewhere(str(top / "d")), False)]
    found = model(top, ("cp", Pattern((HOLE, "/f")), "d")).effects
    assert [(e.action, e.target) for e in found] == [(OVERWRITE, At(str(top / "d/f")))]
    found = model(top, ("cp", Pattern((HOLE,)), "a", "b")).effects
    assert [(e.action, e.target, e.certain) for e in found] == [(OVERWRITE, At(str(top / "b")), False)]


def test_scp(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert losses(model(top, "scp host:x/f d"), top) == {"d/f"}
    assert losses(model(top, "scp -P 22 me@host:f a"), top) == {"a"}
    assert losses(model(top, "scp a b"), top) == {"b"}
    assert not losses(model(top, "scp a b host:"), top)
    assert [type(e.target) for e in model(top, "scp -r host:x d").effects] == [Somewhere]
