"""Our trees against those of bash's own parser, on commands put together at random."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import random
import subprocess
import sys

import pytest

from guard.shell import bashlex_tables, productions

COMMANDS = (
    *(
        "a b",
        "if a; then b; fi",
        "if a; then b; elif c; then d; elif e; then f; else g; fi",
        "while a; do b; done",
        "until a\ndo b\ndone",
    ),
    *(
        "for i in a b; do c; done",
        "for i; do c; done",
        "for i do c; done",
        "for ((i=0;i<3;i++)); do c; done",
        "for ((;;)) { c; }",
    ),
    *("select x in a; do b; done", "case $x in a) b;; c|d) e;& (f) ;;& *) g;; esac", "case x in a) b; esac", "case x in esac"),
    *(
        "{ a; }",
        "( a )",
        "((1+2))",
        "[[ -f x && ( a < b || $c =~ ^(x|y)+$ ) ]]",
        "f() { a; }",
        "function f { a; }",
        "function f ( a )",
    ),
    *(
        "coproc a",
        "coproc N { a; }",
        "time a",
        "time -p a",
        "! a",
        "a=(1 2 [3]=4)",
        "a+=(x)",
        'declare -a z=(1 "2")',
        "x=1 y=2 cmd",
    ),
    *(
        "> f a",
        "a 2>&1",
        "a &> f",
        "a >& f",
        'a <<< "w"',
        "a >| f",
        "a <> f",
        "{fd}>f a",
        "cat <<E\nbody $x\nE\n",
        "cat <<'E'\nit's\nE\n",
    ),
    *(
        "cat <<-E\n\tb\n\tE\n",
        "cat <<E <<F\n1\nE\n2\nF\n",
        'cat <<"E F"\nx\nE F\n',
        "echo $(a; b)",
        "echo `a \\`b\\``",
        'echo "$(a "b")"',
    ),
    *(
        'echo "${x:-"y z"}"',
        "echo ${x/a/b}",
        "echo $((1+(2)))",
        'echo "a\\"b"',
        "echo 'a\"b'",
        "echo a\\ b",
        "echo {a,b}",
        "diff <(a) <(b)",
    ),
    *(
        "echo a # comment",
        "# it's",
        "rm -rf *",
        "echo }",
        "echo {",
        "[ a = b ]",
        "a[1]=2",
        "a[ 1 ]=2",
        "echo $#",
        "echo ${#x}",
        "echo $[1+2]",
    ),
    *(
        "echo a\\\nb",
        "echo esac",
        "echo $(case x in a) b;; esac)",
        "echo $(cat <<E\n)\nE\n)",
        "((a) ; b)",
        "( (a) )",
        "if (a) then b; fi",
    ),
    *("if [[ a ]] then b; fi", "while ((x)) do y; done", '"if"', "i\\\nf a; then b; fi", "a &\\\n& b", "echo $(\necho x # )\n)"),
    *(
        'echo "$(cat <<\\E\n"\nE\n)"',
        "echo ${x:-'}'}",
        "echo \"${x%'}'}\"",
        "a | b |& c",
        "a && b || c",
        "a & b",
        "a; b",
        "< f x=1 y",
    ),
)
SEPARATORS = ("; ", "\n", " && ", " || ", " | ", " & ", "\n\n", " ;\n", " && \n", "|\n", " |& ")
WRAPPINGS = (
    *(
        "if %s\nthen %s\nfi",
        "{ %s\n}",
        "( %s )",
        "while %s; do %s; done",
        "case x in a) %s ;; b) %s\n;; esac",
        "f() { %s; }",
        "echo $(%s)",
    ),
    *(
        "! { %s\n}",
        "%s",
        "for i in 1; do %s; done",
        "if x; then %s\nelif y; then %s\nelse %s\nfi",
        'echo "$(%s)"',
        "{ %s & }",
        "time { %s\n} >f",
    ),
)
ROOT = pathlib.Path(__file__).parents[2]
SPOILERS = "'\"`$(){}[];&|<>\\\n #!=*?+@-~"


def texts(count: int, seed: int) -> list[str]:
    """Random lists of commands, one in wrappings of others, and a third of them spoilt by a character more or less."""
    chance = random.Random(seed)

    def command(depth: int) -> str:
        if depth and chance.random() < 0.45:
            wrapping = chance.choice(WRAPPINGS)
            return wrapping % tuple(joined(depth - 1) for _ in range(wrapping.count("%s")))
        return chance.choice(COMMANDS)

    def joined(depth: int) -> str:
        return chance.choice(SEPARATORS).join(command(depth) for _ in range(chance.choice([1, 1, 2, 3])))

    def spoilt(text: str) -> str:
        if chance.random() > 0.3:
            return text
        at = chance.randrange(len(text))
        return text[:at] + (text[at + 1 :] if chance.random() < 0.4 else chance.choice(SPOILERS) + text[at:])

    return [spoilt(joined(2)) for _ in range(count)]


def test_commands_are_what_bash_parses(tmp_path: pathlib.Path) -> None:
    """What bash rejects is left out: it looks into substitutions at once, we when they are run; and we take extended patterns."""
    if importlib.util.find_spec("libbash") is None:
        pytest.skip("libbash is not installed")
    found = texts(2000, seed=1)
    (tmp_path / "texts").write_text(json.dumps(found))
    program = "import sys; from tests.shell.test_differential import compare; compare(*sys.argv[1:])"
    arguments = [sys.executable, "-c", program, str(tmp_path / "texts"), str(tmp_path / "script")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, cwd=ROOT)
    if done.returncode < 0 or "Bash initialization" in done.stderr or "shared object" in done.stderr:
        pytest.skip("libbash does not run here")
    assert done.returncode == 0, done.stdout + done.stderr
    compared = int(done.stdout.split()[-1])
    assert compared > 1200


def compare(texts_file: str, script: str) -> None:
    """Compares all texts of a file; libbash is kept to a process of its own, for it changes the one that it runs in."""
    from tests.shell import oracle

    compared = 0
    for text in json.loads(pathlib.Path(texts_file).read_text()):
        theirs = oracle.theirs(text, script)
        if theirs is None:
            continue
        ours = oracle.ours(text)
        if ours != theirs:
            sys.exit(f"{text!r}\nours   {ours}\ntheirs {theirs}")
        compared += 1
    print(compared)


def test_the_shipped_tables_are_those_of_the_installed_bashlex() -> None:
    assert pathlib.Path(bashlex_tables.FILE).read_bytes() == bashlex_tables.pack(bashlex_tables.build())


def test_tables_are_made_anew_where_the_file_is_damaged(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = bashlex_tables.load()
    damaged = tmp_path / "tables"
    for data in (b"", b"guard", pathlib.Path(bashlex_tables.FILE).read_bytes()[:-1]):
        damaged.write_bytes(data)
        monkeypatch.setattr(bashlex_tables, "FILE", str(damaged))
        assert bashlex_tables.load() == shipped


def test_every_production_has_its_function() -> None:
    tables = bashlex_tables.load()
    assert {function for _, _, function, _ in tables.productions} == set(productions.FUNCTIONS)
