"""The fast path only ever says yes, and only to what the full analysis finds harmless too."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guard.shell.quick import EXCEPT, ONLY, PLAIN, SPECIAL, commands, harmless
from guard.world import World

DATA = Path(__file__).parent / "data"

HARMLESS = (
    r"""
ls -la
cat src/main.py | head -20
cd src && grep -rn "def main" . | wc -l
git status
git -C app log --oneline -5
git --no-pager diff HEAD~1 -- src
git branch -a
git stash list
git config --get user.name
git remote -v
git show HEAD:README.md
find . -name '*.py' -type f
find . \( -name a -o -name b \) -print
sort -u names.txt | uniq -c | sort -rn
sed -n '1,40p' file.txt
sed 's/a/b/g' file.txt
sed -e 's|/usr|/opt|' -e '/^#/d' file.txt
awk '{print $1}' file.txt
awk -F: '{print $1, $3}' /etc/passwd
xxd -l 16 image.bin
echo "rm -rf specs"
echo "it's $HOME" 2>/dev/null
printf '%s\n' "$x" >&2
grep -E "^rm -rf$" notes.txt || true
ls *.md ~/notes
cat < /etc/passwd
[ -f specs/a.md ] && echo yes
test -d specs || exit 1
set -euo pipefail; pwd
command -v python3
python3 --version
# a note: rm -rf specs
ls \
  -l
/bin/ls /tmp
git log --format='%h %s' | head
""".strip()
    .replace("\\\n", "\\\0")
    .splitlines()
)

NOT_HARMLESS = r"""
rm -rf specs
ls; rm -rf specs
ls & rm -rf specs
ls
cat $(rm -rf specs)
cat `rm -rf specs`
echo "$(rm -rf specs)"
echo hi > specs/a.md
echo hi >> specs/a.md
echo hi >| specs/a.md
ls 2> specs/a.md
ls &> specs/a.md
ls <> specs/a.md
cat <(rm x)
cat <<E
find . -delete
find . -name '*.md' -exec rm {} ;
find . -fprint specs/a.md
find $x
sort -o specs/a.md x
sort -uo specs/a.md x
sort --outpu=specs/a.md x
sort --compress-program=evil x
uniq in specs/a.md
xxd -r dump specs/a.md
xxd in specs/a.md
sed -i s/a/b/ specs/a.md
sed -n '1w specs/a.md' x
sed 's/a/b/w specs/a.md' x
sed 's/a/rm x/e' x
sed -n 1p x -i
awk '{print > "specs/a.md"}' x
awk 'BEGIN{system("rm x")}'
awk -f prog x
awk -i inplace '{print}' specs/a.md
tree -o specs/a.md
git diff --output=specs/a.md
git diff --outp=specs/a.md
git log --ext-diff
git grep -Ovi x
git -c alias.st='!rm -rf specs' st
git st
git clean -fdx
git checkout -- .
git branch -D x
git stash
git stash pop
git remote add a b
git config alias.x '!rm'
git symbolic-ref HEAD refs/heads/x
git tag -d v1
rg --pre evil x
file -C -m specs/a.md
test -v 'a[$(rm x)]'
[ -v 'a[$(rm x)]' ]
printf -v 'a[$(rm x)]' y
PATH=/evil ls
ls() { rm x; }
alias ls=rm
eval ls
env rm x
bash version
make version
xargs cat
tee specs/a.md
if true; then rm x; fi
$x
"$x" specs
{ rm,-rf,specs }
! rm x
time rm x
source x
. x
""".strip().splitlines()


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless(text: str) -> None:
    assert harmless(text.replace("\0", "\n"))


@pytest.mark.parametrize("text", [text for text in NOT_HARMLESS if text != "ls"])
def test_not_decided_here(text: str) -> None:
    assert not harmless(text)


@pytest.mark.parametrize(
    "text", ["ls\nrm -rf specs", "ls |\nrm x", "ls\\\n;rm x", "ls 'a\nb'\nrm x", "# x\nrm x", "ls #\\\nrm x", "cat <<E\nE\nrm x"]
)
def test_every_line_counts(text: str) -> None:
    assert not harmless(text)


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "# only a comment", "ls\n\n# then\ncat x\n", "ls;\npwd", "ls &&\npwd", "ls |\n\nwc"]
)
def test_line_ends_and_comments(text: str) -> None:
    assert harmless(text)


@pytest.mark.parametrize(
    "text", [";", "ls &&", "ls ;; ls", "| ls", "ls |", "&& ls", "ls\0", "'", '"', "ls '", "ls \\", "ls &", "ls " + "a" * 9000]
)
def test_what_is_no_complete_command_is_not_decided(text: str) -> None:
    assert not harmless(text)


def test_no_input_takes_long() -> None:
    for piece in ("a", "a=", "'", '"', "$a", "\\a", " ", "1p;", "/", "[", "s/", "${a", "#"):
        for start in ("", "ls ", "sed ", "printf ", "test ", "sort -"):
            harmless(start + piece * 2000)
            harmless(start + piece * 2000 + "\x01")


def test_the_tables_do_not_overlap() -> None:
    tables = [set(PLAIN), set(EXCEPT), set(ONLY), set(SPECIAL)]
    assert sum(map(len, tables)) == len(set().union(*tables))


def bench(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def test_passes_no_recorded_harm_and_many_commands_of_agents() -> None:
    assert [row["cmd"] for row in bench("dev.jsonl") if row["harm"] and harmless(str(row["cmd"]))] == []
    agents = bench("agent.jsonl")
    assert sum(harmless(str(row["cmd"])) for row in agents) > len(agents) / 4


def effects(text: str, cwd: Path) -> tuple[object, ...]:
    from guard.shell.analyse import analyse

    found = analyse(text, str(cwd), World({"PATH": "/usr/bin:/bin", "HOME": str(cwd)}))
    return (*found.effects, *found.unknowns)


@pytest.mark.parametrize("name", ["dev.jsonl", "agent.jsonl"])
def test_what_passes_has_no_effects_for_the_full_analysis(name: str, tmp_path: Path) -> None:
    for row in bench(name):
        if harmless(str(row["cmd"])):
            assert effects(str(row["cmd"]), tmp_path) == (), row["cmd"]


NAMES = sorted({*PLAIN, *EXCEPT, *ONLY, *SPECIAL, "rm", "mv", "tee", "git", "python3", "eval"})
WORDS = r"""
    -o -i -r -v -n -e -exec -delete
    --output=f -- - > >> < 2>&1 >/dev/null 2>/dev/null | || && ; & ! [ ] { } {} ( ) $( ` ' " \ # = * ? ~
    $x ${x} ${x:=y} $? a b=c specs/a.md 's/a/b/w' 1,3p '{print}' status clean log checkout branch stash list config diff
""".split()
PIECES = st.sampled_from([*NAMES, *WORDS, " ", "  ", "\n", "\\\n", "\t"])


@given(st.lists(PIECES, max_size=12), st.sampled_from(["", " "]))
@example(["arch", "git", ":"], " ")  # runs a program where it is setarch's
@settings(max_examples=400, deadline=None)
def test_what_passes_is_harmless_whatever_is_put_together(pieces: list[str], glue: str) -> None:
    text = glue.join(pieces)
    if harmless(text):
        assert effects(text, Path("/")) == (), text


QUOTING = st.text(alphabet="ab/.=-%'\"\\$ \n#*~!;|", max_size=14)


@given(QUOTING)
@settings(max_examples=300, deadline=None)
def test_words_are_what_bash_makes_of_them(text: str) -> None:
    found = commands("cat " + text)
    if found is None or len(found) != 1 or None in found[0]:
        return
    script = 'cat() { printf "%s\\0" "$@"; }\ncat x ' + text
    run = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, env={}, check=False, cwd="/", stdin=subprocess.DEVNULL
    )
    assert run.stdout.decode().split("\0")[:-1] == ["x", *map(str, found[0][1:])]
