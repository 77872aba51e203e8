"""What an analysis says where something cannot be told, and that nothing makes it fail."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guard.effects import Analysis, Matching, Somewhere
from tests.shell.claims import analysed, foreseen, make, really
from tests.shell.programs import program


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make(tmp_path)


def doubtful(analysis: Analysis) -> bool:
    """True when something of the text could not be told."""
    loose = any(isinstance(e.target, (Matching, Somewhere)) or not e.certain for e in analysis.effects)
    return loose or bool(analysis.unknowns)


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf $(no-such-tool-but-/x 2>/dev/null || ./unknown-binary)",
        'rm -rf "$(/usr/bin/date)"',
        "rm $RANDOM",
        "read x; rm $x",
        "rm -rf $(/usr/bin/uuidgen)/*",
        'x=$(/usr/bin/uptime); cd "$x" && rm -rf *',
        "$(/usr/bin/uptime) a.txt",
        "for i in $(/usr/bin/date); do rm $i; done",
        "/usr/bin/date | xargs rm",
        "if",
        "rm -rf 'a",
        "echo $(",
        'eval "rm $(/usr/bin/date)"',
        'sh -c "rm $(/usr/bin/date)"',
        'cat > "$(/usr/bin/date)"',
    ],
)
def test_what_cannot_be_told_is_said(text: str, top: Path) -> None:
    assert doubtful(analysed(text, top))


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf /tmp/build-$(/usr/bin/date +%s)",
        "rm -f d/$RANDOM.o",
        'T=$(mktemp -d); rm -rf "$T"',
        'cd "$(mktemp -d)" && rm -rf *',
        "cp a.txt /tmp/$(/usr/bin/uptime).txt",
    ],
)
def test_a_hole_reaches_only_what_the_known_text_lets_it(text: str, top: Path) -> None:
    for effect in analysed(text, top).effects:
        assert isinstance(effect.target, Matching)
        assert effect.target.path != "/"


@pytest.mark.parametrize(
    "text",
    [
        "echo $(/usr/bin/date)",
        "x=$(curl -s http://127.0.0.1:9/)",
        "ls $RANDOM",
        'cat "$(/usr/bin/date)"',
        "true",
        "",
        "# nothing",
        "\n\n",
    ],
)
def test_doubt_about_harmless_commands_is_no_doubt(text: str, top: Path) -> None:
    analysis = analysed(text, top)
    assert not analysis.effects
    assert not analysis.unknowns


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("f() { f; }; f", "too-deep"),
        ("bash -c " * 60 + "true", None),
        ("echo " + "$(" * 3000 + "rm a.txt" + ")" * 3000, None),
        ("( " * 10_000 + "rm a.txt" + " )" * 10_000, None),
        ("{ " * 10_000 + "rm a.txt; " + "}" * 10_000, None),
        ("rm a.txt; " + "echo x; " * 200_000, None),
        ("rm " + "a.txt " * 200_000, None),
        ("rm {1..100000000}", None),
        ("rm {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", None),
        ("x=a; for i in {1..60}; do x=$x$x; done; rm $x", None),
        ("while true; do x=x$x; done; rm a.txt", None),
        ("for i in {1..3000}; do for j in {1..3000}; do echo $i$j; done; done; rm a.txt", None),
        ("cmd '${a'-", None),
        ("`" * 10_001, None),
        ("'" * 999_999, None),
        ("$((" * 5000, None),
        ("[[ " + "( " * 5000, None),
        ("a=(" * 5000, None),
        ("cat <<EOF\n" * 5000, None),
        ("if true; then " * 3000, None),
    ],
)
def test_a_limit_is_said_and_takes_no_time(text: str, code: str | None, top: Path) -> None:
    start = time.monotonic()
    analysis = analysed(text, top, seconds=0.7)
    assert time.monotonic() - start < 20  # one second on a quiet machine
    codes = {u.code for u in analysis.unknowns}
    assert code is None or code in codes
    assert doubtful(analysis) or "rm" not in text or "a.txt" in foreseen(analysis, top) or text.startswith("while true")


SHELLISH = st.lists(
    st.sampled_from(
        [
            *"""rm a.txt -rf * $x ${x} ${x:-} $( ) ` " ' \\ ; & | && || ( ) { } < > << <<EOF EOF >> 2>&1 if then
            else fi for in do done while case esac ;; [[ ]] (( )) ! # ~ = a=( x= $'\\x41' $" ${#x} ${!x}
            ${x/a/b} {a,b} {1..3} cd .. d eval bash -c xargs git clean -fdx sed -i s/a/b/ find . -delete é""".split(),
            "\n",
            "\t",
            "\0",
            "\udcff",
            "${x:- }",
        ]
    ),
    max_size=25,
).map(" ".join)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(SHELLISH, st.text(max_size=80), SHELLISH.map(lambda t: t.replace(" ", ""))))
def test_no_text_makes_it_fail(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    top = tmp_path_factory.getbasetemp() / "shellish"
    if not top.exists():
        top.mkdir()
        make(top)
    analysed(text, top, seconds=0.5)


@pytest.mark.parametrize("seed", range(0, 3000, 25))
def test_random_programs_lose_nothing_unforeseen(seed: int, tmp_path: Path) -> None:
    top = tmp_path / "above" / "tree"
    top.mkdir(parents=True)
    make(top)
    text = program(seed)
    analysis = analysed(text, top)
    said = foreseen(analysis, top)
    assert doubtful(analysis) or really(text, top) <= said, text


def test_a_script_file_that_cannot_be_read_is_no_doubt(top: Path) -> None:
    (top / "odd.sh").write_text("if then fi ((\n")
    (top / "long.sh").write_text("while true; do x=x$x; done\n")
    for name in ("odd.sh", "long.sh", "nope.sh"):
        assert not doubtful(analysed(f"sh {name}", top))
    assert foreseen(analysed("sh long.sh; rm a.txt", top), top) == {"a.txt"}


def test_the_trace_says_where_each_command_ran(top: Path) -> None:
    steps = analysed("cd d && rm $(echo x)", top).trace
    assert [(Path(s.cwd).name, s.command) for s in steps] == [(top.name, "cd d"), ("d", "echo x"), ("d", "rm x")]
