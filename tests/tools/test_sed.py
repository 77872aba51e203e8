"""sed: the texts it makes, the files it edits and writes, the commands it runs."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from guard.effects import EDIT, OVERWRITE, Hole, Pattern
from tests.tool_harness import CLEAN_ENV, compare, files, losses, model

LINES = "one\ntwo two\nThree/3\nfour\n\n  six\n[ ] seven\nend.\n"
BARE = "x\ny\nz"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files to edit."""
    top = tmp_path / "tree"
    for name, text in {
        "a.md": LINES,
        "b.md": BARE,
        "specs/c.md": "# c\nuse foo here\n",
        "script.sed": "s/one/ONE/\n$d\n",
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "link").symlink_to("a.md")
    return top


PRINTS = r"""
sed '' a.md
sed p b.md
sed -n p b.md
sed -n '$p' a.md b.md
sed -n '$p' b.md a.md
sed -s -n '$p' a.md b.md
sed -n '2,3p' a.md
sed -n '2,1p' a.md
sed -n '/two/,/four/p' a.md
sed -n '/two/,+1p' a.md
sed -n '2,~4p' a.md
sed -n '4,~4p' a.md
sed -n '0~3p' a.md
sed -n '2~3p' a.md
sed -n '0,/one/p' a.md
sed -n '1,/one/p' a.md
sed -n '0,/four/p' a.md
sed -n '/one/,/one/p' a.md
sed -n '2,/o/p' a.md
sed -n '/two/,2p' a.md
sed -n '2!p' a.md
sed -n '2,3!p' a.md
sed -n '/o/!p' a.md
sed '/^$/d' a.md
sed '$!d' a.md
sed 1d a.md
sed '1,3d' a.md
sed '2,$d' a.md
sed 's/o/0/' a.md
sed 's/o/0/g' a.md
sed 's/two/2/2' a.md
sed 's/o/0/2g' a.md
sed -n 's/o/0/p' a.md
sed 's/TWO/x/i' a.md
sed 's/TWO/x/I' a.md
sed 's|/|-|' a.md
sed 's/\//-/' a.md
sed 's,/3,,' a.md
sed 's/[/]/_/' a.md
sed 's/\[ \]/[x]/' a.md
sed -E 's/(o)(n|u)/\2\1/' a.md
sed -r 's/^(.)(.*)$/\2\1/' a.md
sed 's/\(t\)\(w\)/\2\1/g' a.md
sed 's/./&&/g' a.md
sed 's/t/\&/' a.md
sed 's/x*/-/g' b.md
sed 's/o*/-/g' a.md
sed 's/\bt/T/g' a.md
sed 's/\w\+/<&>/g' a.md
sed 's/.*/\U&/' a.md
sed 's/\w\+/\u&/g' a.md
sed 's/\(.\)\(.*\)/\U\1\E\2/' a.md
sed 's/two/a\nb/' a.md
sed 's/two/a\tb/' a.md
sed 's/ /\n/g;P;D' a.md
sed 's/$/!/' a.md
sed 's/^/# /' a.md
sed '/two/s/$/ end/' a.md
sed '/two/{s/two/2/;s/2/3/}' a.md
sed -e 1d -e '$d' a.md
sed '1d;$d' a.md
sed '2q' a.md
sed '2q5' a.md
sed -n '2{p;q}' a.md
sed 2Q a.md
sed '1i top' a.md
sed '1i\top' a.md
sed '1i\  top' a.md
sed '$a bottom' a.md
sed '$a bottom' b.md
sed '2c changed' a.md
sed '2,3c changed' a.md
sed '$!c x' b.md
sed '/two/a\
after\
more' a.md
sed -e '/two/a\' -e 'after' a.md
sed y/abc/xyz/ a.md
sed 'y/\//|/' a.md
sed = b.md
sed -n '$=' a.md
sed 'n;d' a.md
sed 'N;s/\n/+/' a.md
sed '$!N;s/\n/+/' b.md
sed 'N;N;s/\n/,/g' b.md
sed -n 'H;${x;s/\n/,/g;p}' a.md
sed ':a;N;$!ba;s/\n/ /g' a.md
sed -e ':a' -e '$!{N;ba' -e '}' -e 's/\n/,/g' a.md
sed '1!G;h;$!d' a.md
sed -n '1!G;h;$p' a.md
sed 'G' b.md
sed '$!N;$!D' a.md
sed '$!N;/^\(.*\)\n\1$/!P;D' a.md
sed 's/two/x/;t;s/one/y/' a.md
sed 's/two/x/;tend;s/$/-/;:end' a.md
sed '/two/b;s/$/./' a.md
sed '/two/bx;s/$/./;:x;s/^/>/' a.md
sed 's/one/1/;T;s/1/uno/' a.md
sed 'x;p;x' b.md
sed '2z' a.md
sed '2r b.md' a.md
sed '$r b.md' b.md
sed 'r nowhere' b.md
sed -f script.sed a.md
sed --expression='s/o/0/' a.md
sed -n '/^\s*six/p' a.md
sed '/ONE/Id' a.md
sed '\,/3,d' a.md
sed '\|two|d' a.md
sed '/two/,$d' a.md
sed '/nothing/,$d' a.md
sed '#comment' a.md
sed '# x
s/o/0/' a.md
sed -n '#n' a.md
sed --quiet 2p a.md
sed '5,2d' a.md
sed '2{/two/!d}' a.md
sed '{p}' b.md
sed '{p;p}' b.md
sed 'p;}' b.md
sed 's/x/y' b.md
sed '{p' b.md
sed 'k' b.md
sed p
sed -z 's/\n/,/g' a.md
sed 's/a\|x/Q/' b.md
sed -E 's/x|y/Q/' b.md
sed 's/x\?y/Q/' b.md
sed 's/\./!/' a.md
sed 's/[[:space:]]\+$//' a.md
sed 's/[^a-z]//g' a.md
sed 's/^[ \t]*//' a.md
sed 's/\t/ /g' a.md
sed '0d' a.md
sed '/x/,/y/{//!d}' b.md
sed 's/one/a&b/;s//c/' a.md
sed '/two/s//2/' a.md
sed 's/\(.\).*/\1/;$s/./&&/' a.md
sed '1~2d' a.md
sed 's/.\{2\}/&-/' a.md
sed -E 's/.{2}/&-/' a.md
sed '1s/^/\xef\xbb/' nowhere
sed 's/o/\x41/' a.md
sed 'W /dev/stdout' b.md
sed 'w /dev/stdout' b.md
sed -n '2{p}' a.md nowhere
"""


def _commands(text: str) -> list[str]:
    """One a line; lines go on where a quote is open."""
    found: list[str] = []
    for line in text.strip("\n").split("\n"):
        if found and found[-1].count("'") % 2:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


@pytest.mark.parametrize("command", _commands(PRINTS))
def test_sed_prints_what_the_real_one_prints(tree: Path, command: str) -> None:
    argv = shlex.split(command)
    ran = model(tree, argv, stdin="stdin\n")
    real = subprocess.run(argv, cwd=tree, env=CLEAN_ENV, input=b"stdin\n", capture_output=True, check=False)
    if real.returncode not in (1, 4) or real.stdout:
        result = ran.result  # type: ignore[attr-defined]
        assert result.output == real.stdout.decode("utf-8", "surrogateescape")
    assert ran.result.status == real.returncode  # type: ignore[attr-defined]


EDITS = r"""
sed -i s/o/0/ a.md
sed -i s/o/0/ a.md b.md
sed -i '1,$d' a.md
sed -i d a.md
sed -n -i p a.md
sed -n -i 's/nomatch/x/p' a.md
sed -ni 's/two/x/p' a.md
sed -i.bak s/o/0/ a.md
sed -i.md s/o/0/ a.md
sed --in-place=.bak 1d a.md
sed -ibak/* 1d a.md
sed -i 'bnowhere' a.md
sed -ispecs/* 1d a.md
sed -i 2q a.md b.md
sed -i '$d' a.md b.md
sed -s -i 1d a.md b.md
sed -E -i 's/(o)/<\1>/' a.md
sed -i -e 1d -e 's/w/W/' a.md
sed -i 's/o/0/' link
sed -i --follow-symlinks 's/o/0/' link
sed -i 's/o/0/' nowhere
sed -i 's/o/0/' specs
sed -i 's/o/0/' nowhere a.md
sed -i
sed -i 's/o/0' a.md
sed -i '1i top' a.md
sed -i '/two/r b.md' a.md
sed 'w b.md' a.md
sed -n '/two/w b.md' a.md
sed -n '/nothing/w b.md' a.md
sed 's/two/2/w b.md' a.md
sed -i 's/two/2/w b.md' a.md
sed -n 's/nothing/2/w specs/c.md' a.md
sed 'w new.txt' a.md
sed --sandbox 'w b.md' a.md
sed '1e rm b.md' a.md
sed 's/one/rm b.md/e' a.md
sed -n '1{s/.*/rm specs\/c.md/;e
}' a.md
sed --version -i d a.md
sed -i -f script.sed a.md
sed -ie d a.md
sed -i -e 'd' -- a.md
sed -i 's/\r$//' a.md
sed -i '' a.md
sed -iE 's/o/0/' a.md
"""


@pytest.mark.parametrize("command", _commands(EDITS))
def test_sed_changes_what_the_real_one_changes(tree: Path, command: str) -> None:
    argv = shlex.split(command)
    ran = model(tree, argv)
    before = files(tree)
    contents = {Path(effect.target.path).relative_to(tree.resolve()): effect.content for effect in ran.effects}  # type: ignore[union-attr]
    subprocess.run(argv, cwd=tree, env=CLEAN_ENV, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    after = files(tree)
    deleted = {str(path) for path, content in contents.items() if content is None}
    assert {str(path): content for path, content in contents.items() if str(path) not in deleted and path != Path("specs")} == {
        str(path): after.get(str(path)) for path in contents if str(path) not in deleted
    }
    changed = {path for path in before if before[path] != after.get(path)} | (set(after) - set(before))
    assert changed <= {str(path) for path in contents}


def test_an_edit_of_unknown_content_is_an_edit(tree: Path) -> None:
    script = Pattern(("s/one/", Hole("unknown-variable", "$X"), "/"))
    ran = model(tree, ["sed", "-i", script, "a.md"])
    assert [(effect.action, effect.content) for effect in ran.effects] == [(EDIT, None)]


def test_a_known_part_of_a_script_counts(tree: Path) -> None:
    script = Pattern(("s/one/", Hole("unknown-variable", "$X"), "/w b.md"))
    assert losses(model(tree, ["sed", script, "a.md"]), tree) == {"b.md"}


def test_the_link_itself_is_replaced(tree: Path) -> None:
    [effect] = model(tree, "sed -i s/o/0/ link").effects
    assert effect.action == OVERWRITE
    assert str(effect.target.path).endswith("/link")  # type: ignore[union-attr]


def test_a_script_that_never_ends_is_unknown(tree: Path) -> None:
    assert isinstance(model(tree, ["sed", ":a;ba", "a.md"]).result.output, Pattern)  # type: ignore[attr-defined]
    [effect] = model(tree, ["sed", "-i", ":a;s/o/oo/;ta", "a.md"]).effects
    assert effect.content is None


def test_a_file_of_unknown_operands_may_be_any(tree: Path) -> None:
    [effect] = model(tree, ["sed", "-i", "d", Pattern(("specs/", Hole("unknown-variable", "$X")))]).effects
    assert effect.action == EDIT


def test_written_files_are_lost(tree: Path) -> None:
    compare(tree, ["sed", "-n", "w b.md", "a.md"])
