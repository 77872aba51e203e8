"""The text filters and listings: what they write is what the real ones write; only those that write files harm any."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from guard.effects import Hole, Pattern
from tests.tool_harness import CLEAN_ENV, compare, model

LINES = "b 2 x\na 10 y\nc 1 z\na 10 y\n\nB 2 x\n  lead 7\nfoo.bar\tt1\tt2\n"
LINES += "specs/a.md\nspecs/deep/b.md\nCLAUDE.md\n-dash\n[ ] two\n- [x] one\nend\n"


DATA = '{"name":"x","n":7,"list":["b","a"],"scripts":{"wipe":"rm -rf specs","a-b":"c"},"none":null,"e":[],"o":{},"t":true}'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A few files of lines, and names to list."""
    top = tmp_path / "tree"
    for name, text in {
        "lines": LINES,
        "numbers": "10\n9\n2K\n1M\n-3\n1.5\n\n010\nv1.10\nv1.9\n",
        "bare": "no newline at\nthe end",
        "empty": "",
        "sorted1": "a\nb\nd\n",
        "sorted2": "b\nc\nd\n",
        "specs/a.md": "# a\nTODO one\n",
        "specs/deep/b.md": "# b\n",
        "specs/deep/c.txt": "todo two\n",
        ".hidden/x.md": "TODO hidden\n",
        "zero": "x\0y\0",
        "umlaut": "ärger\nstraße\n",
        "data.json": DATA,
        "long": "one two three four five six seven eight nine ten eleven twelve thirteen\nshort\n\n" + "x" * 100 + "\n",
        "sums": "d41d8cd98f00b204e9800998ecf8427e  empty\n",
        "bad-sums": "d41d8cd98f00b204e9800998ecf8427e  bare\n",
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "link").symlink_to("specs")
    (top / "file-link").symlink_to("specs/a.md")
    (top / "broken").symlink_to("nowhere/at-all")
    os.utime(top / "lines", (1, 1))
    (top / "numbers").chmod(0o755)
    return top


KNOWN = r"""
fold lines
fold -w 20 long
fold -s -w 20 long
fold -w 20 -s bare
fold -80 bare
fmt bare -s
fmt -s empty
expand lines
expand -t 4 lines
unexpand lines
unexpand bare
column -t sorted1
column -t specs/a.md specs/deep/c.txt
column -s . -t specs/deep/c.txt
dd if=lines status=none
dd if=lines bs=4 count=2 skip=1 status=none
dd status=none
dd if=nowhere status=none
iconv -f utf8 -t latin1 umlaut
iconv -f UTF-8 -t UTF-16LE umlaut
iconv lines
iconv -t ascii//TRANSLIT lines
jq . data.json
jq -c . data.json
jq -S . data.json
jq -r .scripts.wipe data.json
jq -r '.scripts["wipe"]' data.json
jq '.scripts."a-b"' data.json
jq -r .list[] data.json
jq -r '.list[0], .list[-1], .nowhere' data.json
jq -r '.scripts | keys[]' data.json
jq -r '.scripts | to_entries[] | .key + "=" + .value' data.json
jq '.n = 8' data.json
jq '.list += ["c"] | .n |= . + 1' data.json
jq 'del(.scripts, .list[0])' data.json
jq '.scripts.new.deep = [1, {"a": null}]' data.json
jq -r '.list | join(" ")' data.json
jq '[.list[] | select(. != "a")]' data.json
jq -e .none data.json
jq -e .nowhere.deeper data.json
jq '.none // "else"' data.json
jq '.none.x?, (.name.x? // "failed")' data.json
jq 'map(type)' data.json
jq '.scripts | map(length)' data.json
jq -n '{"a": 1, "b": [true, false]}'
jq -rn '"rm -rf specs"'
jq -r --arg k wipe '.scripts[$k]' data.json
jq --argjson v '{"z": 1}' '.o = $v' data.json
jq -s 'length' data.json data.json
jq -j '.name, .n' data.json
jq --tab .scripts data.json
jq --indent 4 .scripts data.json
jq '. + {"n": 1, "x": {name, "y": .n}}' data.json
jq '.n > 3 and .name == "x"' data.json
md5sum lines empty
md5sum nowhere lines
md5sum
sha1sum -b lines
sha256sum lines
sha512sum bare
b2sum bare
md5sum -c sums
md5sum -c bad-sums
md5sum --status -c bad-sums
md5sum --quiet -c sums
cmp lines lines
cmp -s lines bare
cmp lines nowhere
cmp -s - lines
cmp empty lines
diff lines lines
diff -q lines bare
diff -u lines lines
diff -s lines lines
diff lines nowhere
diff lines -
diff -q specs/a.md specs/deep/b.md
diff specs/a.md specs
stat -c %s lines bare
stat -c '%n %F %a %A %u' lines empty specs link
stat -Lc %F link
stat --format=%Y lines
stat --printf '%s\n%%' lines
stat -c %s nowhere
stat -f%z lines
wc -c lines
openssl base64 -in lines
openssl enc -base64 -A -in lines
cat lines
cat lines bare
cat bare lines
cat -n lines
cat nowhere lines
cat -
cat lines - bare
tac lines
tac bare
tac lines bare
head lines
head -3 lines
head -n 3 lines
head -n3 lines
head -n -3 lines
head --lines=2 lines
head -c 5 lines
head -c -5 lines
head -n 1 lines bare
head -q -n 1 lines bare
head -1
tail lines
tail -3 lines
tail -n 3 lines
tail -n +3 lines
tail +3 lines
tail -c 5 lines
tail -c +5 lines
tail -q -n 1 lines bare
tail -n 1 bare
head -z -n 1 zero
sort lines
sort -r lines
sort -u lines
sort -f lines
sort -n numbers
sort -rn numbers
sort -h numbers
sort -g numbers
sort -V numbers
sort -k2 lines
sort -k 2,2n lines
sort -k2,2nr -k1,1 lines
sort -t / -k 2 lines
sort -t. -k1,1 lines
sort -s -k2,2n lines
sort -b lines
sort lines bare
sort -z zero
uniq lines
uniq -c lines
uniq -d lines
uniq -u lines
uniq -i lines
uniq
cut -d/ -f1 lines
cut -d / -f 2- lines
cut -d' ' -f2 lines
cut -d' ' -f1,3 lines
cut -d' ' -f-2 -s lines
cut -c1-3 lines
cut -c 2 lines
cut -f2 lines
cut -d' ' -f2 --complement lines
cut -d' ' -f1,2 --output-delimiter=: lines
tr a-z A-Z
tr '\n' ' '
tr '\n' '\0'
tr -d '\n'
tr -s ' '
tr -s a-z
tr -cd 'a-z\n'
tr '[:lower:]' '[:upper:]'
tr / '\n'
tr -d '[:space:]'
tr -s '[:space:]' '\n'
tr abc x
tr a-c A-C
tr -c 'a-z\n' _
tr ' \t' '\n\n'
wc -l lines
wc -l
wc -c lines
wc -w lines
nl lines
nl -ba lines
rev lines
rev bare
seq 5
seq 2 5
seq 1 2 9
seq 5 -1 1
seq -w 8 11
seq -s , 3
comm sorted1 sorted2
comm -12 sorted1 sorted2
comm -23 sorted1 sorted2
comm -13 sorted1 sorted2
paste sorted1 sorted2
paste -d, sorted1 sorted2
paste -s sorted1
paste -sd, lines
grep a lines
grep -v a lines
grep -i CLAUDE lines
grep -c a lines
grep -n md lines
grep -o 'a.md' lines
grep -w b lines
grep -x end lines
grep -E 'md$|^c' lines
grep -E '(a|b)\.md' lines
egrep '^(foo|end)' lines
grep '\(a\|b\)\.md' lines
grep -F '[ ]' lines
fgrep . lines
grep '\[ \]' lines
grep '^-' lines
grep -e -dash lines
grep -- -dash lines
grep '^$' lines
grep '^' lines
grep '' lines
grep -e foo -e end lines
grep -m 2 a lines
grep -P '\d+\s' lines
grep '[[:digit:]]' lines
grep '[^a-z]$' lines
grep '\bx$' lines
grep '\<two\>' lines
grep -E 'o{2}' lines
grep 'o\{2\}' lines
grep -h TODO specs/a.md lines
grep TODO specs/a.md lines
grep -H TODO specs/a.md
grep -l TODO specs/a.md lines specs/deep/b.md
grep -L TODO specs/a.md lines
grep -q TODO specs/a.md
grep nothing lines
grep -f sorted1 lines
grep -vE '^(specs|CLAUDE)' lines
grep -iv todo specs/deep/c.txt specs/a.md
grep -ni todo specs/deep/c.txt
grep -z x zero
grep md
grep -lZ TODO specs/a.md
grep -s x nowhere
grep x nowhere
grep 'a*b' lines
grep -E 'a+|^$' lines
grep '*' lines
grep -E 'ä' umlaut
grep -o '[^/]*$' lines
grep -E '^[^#]' lines specs/a.md
ls
ls -1
ls -a
ls -A
ls -d specs
ls -d */
ls -p
ls -F
ls specs
ls specs/
ls specs link
ls link
ls link/
ls lines specs/a.md
ls nowhere
ls specs nowhere lines
ls -r
ls -t specs/a.md lines
ls -d link
ls -S lines empty numbers
ls file-link
ls broken
ls -1 .
basename specs/a.md
basename specs/a.md .md
basename -s .md specs/a.md
basename -a specs/a.md specs/deep
basename specs/
basename /
basename .md .md
dirname specs/a.md
dirname specs/
dirname a
dirname /a
dirname /
dirname specs//a.md
dirname specs/a.md x/y
realpath specs
realpath link/a.md
realpath .
realpath nowhere
realpath no/where
realpath -e nowhere
realpath -m no/where
realpath -s link
realpath --relative-to=specs lines
readlink link
readlink lines
readlink -f link
readlink -f file-link
readlink -e broken
readlink -m broken/x
readlink -f broken
readlink -n link
readlink nowhere
"""


@pytest.mark.parametrize("command", [line for line in KNOWN.splitlines() if line])
def test_output_and_status_are_the_real_ones(tree: Path, command: str) -> None:
    argv = shlex.split(command)
    ran = model(tree, argv, stdin=LINES)
    real = subprocess.run(argv, cwd=tree, env=CLEAN_ENV, input=LINES.encode(), capture_output=True, check=False)
    assert ran.result.output == real.stdout.decode("utf-8", "surrogateescape")  # type: ignore[attr-defined]
    assert ran.result.status == real.returncode  # type: ignore[attr-defined]
    assert not ran.effects


ROUND_TRIPS = """
gzip -c|gunzip
gzip|zcat
xz|xz -dc
bzip2|bzcat
openssl base64|openssl base64 -d
openssl base64 -A|openssl enc -base64 -d -A
base64|base64 -d
"""


@pytest.mark.parametrize("commands", [line for line in ROUND_TRIPS.splitlines() if line])
def test_what_was_packed_comes_out_again(tree: Path, commands: str) -> None:
    there, back = commands.split("|")
    packed = model(tree, there, "rm -rf specs\n").result.output  # type: ignore[attr-defined]
    assert model(tree, back, packed).result.output == "rm -rf specs\n"  # type: ignore[attr-defined]
    real = subprocess.run(shlex.split(there), input=b"rm -rf specs\n", env=CLEAN_ENV, capture_output=True, check=True).stdout
    assert model(tree, back, real.decode("utf-8", "surrogateescape")).result.output == "rm -rf specs\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "command",
    ["jq 'input' data.json", "jq .x bare", "jq '.n / 2' data.json", "jq -R . bare", "fmt lines", "dd conv=swab",
     "gunzip -c lines", "iconv -f koi8 lines",
     "stat lines", "stat -c %y lines", "md5sum --tag lines", "cmp -n 1 lines bare", "diff -r specs link"],
)  # fmt: skip
def test_what_is_not_modelled_is_not_known(tree: Path, command: str) -> None:
    result = model(tree, command, LINES).result  # type: ignore[attr-defined]
    assert isinstance(result.output, Pattern)
    assert result.status is None


def test_yes_goes_on_for_ever(tree: Path) -> None:
    output = model(tree, "yes n").result.output  # type: ignore[attr-defined]
    assert output.prefix.startswith("n\nn\n")
    assert model(tree, "head -2", output).result.output == "n\nn\n"  # type: ignore[attr-defined]
    assert not model(tree, "rm -ri specs", output).effects
    assert model(tree, "rm -i lines bare", Pattern(("n\n", Hole("unknown-output", "cat")))).effects


RECURSIVE = """
grep -r TODO
grep -r TODO .
grep -rl TODO specs
grep -rl TODO specs .hidden
grep -rL TODO specs
grep -ril todo .
grep -rn TODO specs
grep -rh TODO specs
grep -r --include=*.md -l -i todo
grep -r --exclude=*.md -l -i todo
grep -r --exclude-dir=specs -l TODO .
grep -rc TODO specs
grep -Rl TODO link/
grep -rl nothing .
"""


@pytest.mark.parametrize("command", [line for line in RECURSIVE.splitlines() if line])
def test_recursive_grep_names_what_the_real_one_names(tree: Path, command: str) -> None:
    argv = shlex.split(command)
    ran = model(tree, argv)
    real = subprocess.run(argv, cwd=tree, env=CLEAN_ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert sorted(ran.result.output.splitlines()) == sorted(real.stdout.splitlines())  # type: ignore[attr-defined]
    assert ran.result.status == real.returncode  # type: ignore[attr-defined]


WRITERS = """
sort -o lines lines
sort lines -o specs/a.md
sort --output=specs/a.md lines
sort -o new lines
sort -o specs/a.md nowhere
sort -c -o specs/a.md lines
uniq lines specs/a.md
uniq lines new
uniq nowhere specs/a.md
shuf -o specs/a.md lines
iconv -f utf-8 -t latin1 -o specs/a.md lines
xxd lines specs/a.md
sort lines
sort -o link lines
sort -o file-link lines
"""


@pytest.mark.parametrize("command", [line for line in WRITERS.splitlines() if line])
def test_writers_lose_what_the_real_ones_lose(tree: Path, command: str) -> None:
    compare(tree, shlex.split(command))


def test_what_is_overwritten_is_known(tree: Path) -> None:
    ran = model(tree, "sort -u -o lines lines")
    argv = ["sort", "-u", "lines"]
    assert ran.effects[0].content == subprocess.run(argv, cwd=tree, env=CLEAN_ENV, capture_output=True, check=False).stdout


@pytest.mark.parametrize(
    "command",
    ["tail -f lines", "sort -R lines", "cat -A lines", "date", "stat lines", "grep -P '(a+)+$' lines", "ls -R", "wc lines"],
)
def test_what_cannot_be_told_is_unknown_and_harmless(tree: Path, command: str) -> None:
    ran = model(tree, command)
    assert isinstance(ran.result.output, Pattern)  # type: ignore[attr-defined]
    assert not ran.effects


def test_nothing_is_known_of_an_unknown_input(tree: Path) -> None:
    for command in ("head -2", "sort", "grep x", "tr a b", "uniq", "cut -c1", "tac", "wc -l"):
        for stdin in (None, Pattern(("x\n", Hole("unknown-output", "y")))):
            assert isinstance(model(tree, command, stdin).result.output, Pattern)  # type: ignore[attr-defined]


def test_cat_passes_on_what_is_known_in_part(tree: Path) -> None:
    stdin = Pattern(("specs/", Hole("unknown-output", "y")))
    assert model(tree, "cat", stdin).result.output == stdin  # type: ignore[attr-defined]


def test_a_name_that_is_known_in_part_is_taken_apart(tree: Path) -> None:
    path = Pattern((Hole("unknown-variable", "$X"), "/specs/a.md"))
    assert model(tree, ["basename", path]).result.output == "a.md\n"  # type: ignore[attr-defined]
    output = model(tree, ["dirname", path]).result.output  # type: ignore[attr-defined]
    assert output.suffix == "/specs\n"


def test_many_files_do_not_use_up_the_budget(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"f{number}.py").write_text("x = 1\n" * 20)
    assert isinstance(model(tmp_path, "grep -rl x .").result.output, Pattern)  # type: ignore[attr-defined]
    assert not model(tmp_path, ["find", ".", "-type", "f", "-exec", "grep", "-l", "x", "{}", "+"]).unknowns


LETTERS = st.text(alphabet="ab ./\n\t1-", max_size=40)


FILTERS = r"""
sort
sort -r
sort -u
sort -n
sort -f
sort -nr
sort -k2
sort -t/ -k2,2
uniq -c
uniq -d
tac
rev
nl
cat -n
head -n 2
head -c 3
tail -n 2
tail -c 3
cut -d/ -f2
cut -c2-
tr a b
tr -d a
tr -s ab
wc -l
wc -w
paste -sd:
grep a
grep -v a
grep -c ^
grep -o b
grep -w a
grep -x ab
sed s/a/b/
sed -n 2p
sed 1d
sed '$d'
sed s/a*/x/g
sed 's/[ab]/<&>/2'
sed -n '/a/,/b/p'
sed G
sed N
sed y/ab/ba/
sed '$!N;P;D'
sed -n '$='
sed 2q
sed '/a/!d'
sed 's/^/> /'
sed 's/b$//'
sed -E 's/(a+)b/\1/'
awk '{print $1}'
awk 'NR==2'
awk '/a/'
awk -F/ '{print $NF}'
awk '{print NR": "$0}'
awk 'NF'
awk '{n+=NF} END {print n}'
awk '!s[$0]++'
awk '{sub(/a/,"x")}1'
awk '{gsub(/a|b/,"<&>")}1'
awk '{$1=""}1'
"""


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(stdin="\n1", command="sed 2q")
@given(stdin=LETTERS, command=st.sampled_from(FILTERS.strip().splitlines()))
def test_filters_agree_with_the_real_ones_on_any_text(tmp_path: Path, stdin: str, command: str) -> None:
    ran = model(tmp_path, command, stdin)
    real = subprocess.run(
        shlex.split(command), cwd=tmp_path, env=CLEAN_ENV, input=stdin.encode(), capture_output=True, check=False
    )
    assert ran.result.output == real.stdout.decode()  # type: ignore[attr-defined]
