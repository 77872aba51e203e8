"""awk: what it prints, and what it runs and writes on the way."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from guard.effects import EDIT, Hole, Pattern
from tests.tool_harness import CLEAN_ENV, compare, losses, model

LINES = "a 1 x\nb 22 y\n\nc 3 x\n  d  4\tz  \ne,5,q\na 1 x\n- [ ] two\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files to read and to lose."""
    top = tmp_path / "tree"
    for name, text in {
        "data": LINES,
        "other": "k v\nl w\n",
        "CLAUDE.md": "# m\n",
        "specs/a.md": "# a\n",
        "p.awk": "{print $2}\n",
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


PRINTS = r"""
awk '{print}' data
awk 1 data
awk '{print $1}' data
awk '{print $1, $3}' data
awk '{print $1 $3}' data
awk '{print $NF}' data
awk '{print $(NF-1)}' other
awk 'NR==2' data
awk 'NR==2{print $2}' data
awk 'NR>1 && NR<4' data
awk '/x/' data
awk '!/x/' data
awk '$1 == "a"' data
awk '$2 > 2' data
awk '$2 > 2 {print $1}' data
awk '$3 ~ /^x/ {print}' data
awk '$3 !~ /x/' data
awk -F, '{print $2}' data
awk -F '[ ,]' '{print $2}' data
awk -F'\t' '{print NF}' data
awk -Ft '{print $1}' other
awk -F: -v OFS=- '{$1=$1}1' data
awk 'BEGIN{FS=","}{print $1}' data
awk '{n+=$2} END{print n}' data
awk 'END{print NR}' data other
awk 'FNR==1{print FILENAME}' data other
awk '!seen[$0]++' data
awk '{c[$1]++} END{print c["a"], length(c)}' data
awk 'NF' data
awk '{$2=""; print}' data
awk '{sub(/x/,"Y")}1' data
awk '{gsub(/[ax]/,"<&>")}1' data
awk '{gsub("a","\\&")}1' data
awk '{n=gsub(/x/,"")} END{print n}' data
awk '{print length($0), length}' data
awk '{print toupper($1), tolower("ABC")}' data
awk '{print substr($0,2,3)}' data
awk '{print index($0,"x")}' data
awk '{split($0,p," "); print p[1]}' data
awk 'BEGIN{n=split("a:b:c",p,":"); for(i=n;i>0;i--) printf "%s ", p[i]; print ""}'
awk '{if(NR%2) print "odd"; else print "even"}' data
awk '{printf "%s-%d\n", $1, $2}' data
awk '{printf("%5s|%-5s|%05.1f\n", $1, $2, $2)}' data
awk 'BEGIN{while(i<3) print i++}'
awk 'BEGIN{do {print i} while(++i<3)}'
awk 'BEGIN{for(i=0;i<3;i++) {if(i==1) continue; print i}}'
awk 'BEGIN{print 1/4, 2^3, 7%3, -2+1, 1e3, 0.1}'
awk 'BEGIN{print 1==1.0, "a"<"b", "10"<"9", 10<9}'
awk 'BEGIN{x="3x"; print x+1, x ""}'
awk 'BEGIN{print length("abc") " " 1 " " 2}'
awk 'BEGIN{print (1,2) in a; a[1,2]; print (1,2) in a}'
awk 'BEGIN{a["x"]; if("x" in a) print "in"; delete a["x"]; if(!("x" in a)) print "out"}'
awk 'function f(x, y) {y=x*2; return y} BEGIN{print f(4), y}'
awk 'function g(a) {a["k"]=1} BEGIN{g(b); print b["k"]}'
awk '/a/,/c/' data
awk 'NR==2,NR==3{print NR": "$0}' data
awk '{print NR ": " $0}' data
awk -v n=2 'NR==n' data
awk 'NR==n' n=2 data
awk -v s='a\tb' 'BEGIN{print s}'
awk '{next; print "never"} END{print "end"}' data
awk 'NR==1{exit} END{print NR}' data
awk 'NR==1{exit 3}' data
awk 'BEGIN{exit} END{print "end"}' data
awk 'BEGIN{print "only"}' nowhere
awk '{print}' nowhere
awk -f p.awk data
awk 'match($0,/[0-9]+/){print RSTART,RLENGTH}' data
awk '{print ($1=="a")?"yes":"no"}' data
awk '{print $1 > "/dev/stdout"}' other
awk '{print $1
print $2}' other
awk '# comment
{ print $1 } # more' other
awk 'BEGIN { x = 5; x += 2; x ^= 2; print x; print x++ + ++x; print !x, -x }'
awk 'BEGIN{print substr("hello",-1) "|" substr("hello",4,9)}'
awk 'BEGIN{printf "%c%c %x %o %e %i%%\n", "abc", 65, 255, 8, 1.5, 3.9}'
awk '{$5="new"; print NF}' other
awk 'BEGIN{RS=""}{print NR": "$1}' data
awk 'BEGIN{RS=" "}{print}' other
awk 'BEGIN{ORS="|";OFS="-"}{print $1,$2}' other
awk '{getline; print}' other
awk 'BEGIN{while((getline l < "other")>0) print "<" l ">"}'
awk '{ if ($1 ~ "^[a-c]$") { print $1 } else if ($1 == "e,5,q") print "e" ; else print "other" }' data
awk 'length > 3' data
awk 'length($1) > 3' data
awk '{sum[$1]+=$2} END{print sum["a"]+0}' data
awk '/\[ \]/{sub(/\[ \]/,"[x]")}1' data
awk '$0 ~ "two"' data
awk '{print > "/dev/stderr"}' other
awk '{ print $1; } ; END { print "z" }' other
awk 'BEGIN { print "a" "b" > "/dev/stdout" }'
awk 'BEGIN{print 1>2 ? "a" : "b"}' nowhere
awk 'BEGIN{if(!(3 in a)) print "no"; print length()}'
awk 'BEGIN{print -3%2, int(-3.7), int("4z")}'
awk '{print $1 ":" ($2+0)}' data
awk "{print \"it's\"}" other
awk 'BEGIN { "echo hi" | getline x; print x }' nowhere
awk '{a=a $1 ","} END{print a}' data
awk '$1=="a"{c++} END{print c+0}' data
awk 'BEGIN{printf "no newline"}'
awk '{print; print ""}' other
"""


def _commands(text: str) -> list[str]:
    """One a line; lines go on where a quote is open."""
    found: list[str] = []
    for line in text.strip("\n").split("\n"):
        if found and found[-1].replace("it's", "").count("'") % 2:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


@pytest.mark.parametrize("command", [c for c in _commands(PRINTS) if "echo hi" not in c and "1>2" not in c])
def test_awk_prints_what_the_real_one_prints(tree: Path, command: str) -> None:
    argv = shlex.split(command)
    ran = model(tree, argv, stdin=LINES)
    real = subprocess.run(argv, cwd=tree, env=CLEAN_ENV, input=LINES.encode(), capture_output=True, check=False)
    result = ran.result  # type: ignore[attr-defined]
    assert result.output == real.stdout.decode("utf-8", "surrogateescape")
    assert result.status == real.returncode
    assert not ran.effects


HARMS = r"""
awk 'BEGIN{system("rm -rf specs")}'
awk '{system("rm -rf specs")}' data
awk 'NR==1{system("rm CLAUDE.md")}' data
awk 'NR==99{system("rm CLAUDE.md")}' data
awk 'BEGIN{cmd="rm"; f="CLAUDE.md"; system(cmd " " f)}'
awk 'BEGIN{while(("rm CLAUDE.md" | getline x) > 0) print x}'
awk '{print > "CLAUDE.md"}' data
awk '{print > "specs/" "a.md"}' data
awk '/nothing/{print > "CLAUDE.md"}' data
awk '{print >> "CLAUDE.md"}' data
awk '{print > $1}' data
awk '{print $1 > "new.txt"}' data
awk '{f="specs/" $1 ".md"; print > f}' data
awk '{print "CLAUDE.md" | "xargs rm"}' nowhere
awk 'BEGIN{printf "x" > "CLAUDE.md"; close("CLAUDE.md")}'
awk '{print "system(\"rm -rf specs\")"}' data
awk '/rm -rf specs/' data
"""


@pytest.mark.parametrize("command", _commands(HARMS))
def test_awk_loses_what_the_real_one_loses(tree: Path, command: str) -> None:
    compare(tree, shlex.split(command))


def test_a_command_in_a_program_that_cannot_be_worked_out_counts(tree: Path) -> None:
    for program in (
        'BEGIN{srand(); if(rand()<2) system("rm CLAUDE.md")}',
        '@load "x"; BEGIN{system("rm CLAUDE.md")}',
        'BEGIN{"date" | getline d; print d > "CLAUDE.md"}',
    ):
        assert losses(model(tree, ["awk", program]), tree) == {"CLAUDE.md"}, program


def test_a_command_made_of_unknown_input_has_holes(tree: Path) -> None:
    ran = model(tree, ["awk", '{system("rm " $1)}'])
    [(text, _)] = ran.shells
    assert isinstance(text, Pattern)
    assert text.prefix == "rm "


def test_an_unknown_program_is_read_as_far_as_it_goes(tree: Path) -> None:
    program = Pattern(('{system("rm -rf specs/', Hole("unknown-variable", "$X"), '")}'))
    ran = model(tree, ["awk", program, "data"])
    assert ran.shells[0][0] == Pattern(("rm -rf specs/", Hole("unknown-variable", "$X")))


def test_in_place_edits_have_their_new_content(tree: Path) -> None:
    ran = model(tree, ["gawk", "-i", "inplace", "FNR>1", "data", "CLAUDE.md"])
    assert [(effect.action, effect.content) for effect in ran.effects] == [(EDIT, LINES.partition("\n")[2].encode()), (EDIT, b"")]


def test_an_endless_program_is_unknown(tree: Path) -> None:
    assert isinstance(model(tree, ["awk", "BEGIN{while(1) x++}"]).result.output, Pattern)  # type: ignore[attr-defined]
    assert isinstance(model(tree, ["awk", "function f(){return f()} BEGIN{f()}"]).result.output, Pattern)  # type: ignore[attr-defined]


def test_no_program_makes_the_model_fail(tree: Path) -> None:
    for program in (
        "{",
        "}",
        "{print",
        "BEGIN{a[1]=1; print a}",
        "{$-1=2}",
        "$",
        "{f(}",
        '"',
        "/",
        "{print $1e99}",
        "{x=y=z=}",
        "\0",
        "{NF=-1}",
    ):
        model(tree, ["awk", program, "data"])
