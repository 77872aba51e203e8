from __future__ import annotations

import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.shell import words
from guard.shell.nodes import Arithmetic, Literal, Parameter, Process, Substitution, Tilde, Word
from tests.shell import evaluator


def plain(text: str) -> Word:
    return Word(text, (Literal(text),))


PARTS = [
    ("a.b/c*", (Literal("a.b/c*"),)),
    ("", (Literal(""),)),
    ('""', (Literal("", True),)),
    ("a\"b\"'c'\\d", (Literal("a"), Literal("bcd", True))),
    ('"a"$x', (Literal("a", True), Parameter("x"))),
    ('"$x"', (Parameter("x", quoted=True),)),
    ('"$x"y', (Parameter("x", quoted=True), Literal("y"))),
    ("$1$23$@$$$-", (Parameter("1"), Parameter("2"), Literal("3"), Parameter("@"), Parameter("$"), Parameter("-"))),
    ("~", (Tilde(""),)),
    ("~/a~", (Tilde(""), Literal("/a~"))),
    ("~root/a", (Tilde("root"), Literal("/a"))),
    ("~+/a", (Tilde("+"), Literal("/a"))),
    ('~"root"', (Literal("~"), Literal("root", True))),
    ("'~'", (Literal("~", True),)),
    ("x:~", (Literal("x:~"),)),
    ("of=~/a:~", (Literal("of="), Tilde(""), Literal("/a:"), Tilde(""))),
    ("--of=~/a", (Literal("--of=~/a"),)),
    ("${x}", (Parameter("x"),)),
    ("${x[1]}", (Parameter("x", subscript="1"),)),
    ('"${x[@]}"', (Parameter("x", subscript="@", quoted=True),)),
    ("${x:-a}", (Parameter("x", ":-", (plain("a"),)),)),
    ("${x[1]%/*}", (Parameter("x", "%", (plain("/*"),), "1"),)),
    ("${x/a/b}", (Parameter("x", "/", (plain("a"), plain("b"))),)),
    ("${x//a}", (Parameter("x", "//", (plain("a"),)),)),
    ("${#x}", (Parameter("x", "length"),)),
    ("${#x[@]}", (Parameter("x", "length", (), "@"),)),
    ("${#}", (Parameter("#"),)),
    ("${##}", (Parameter("#", "length"),)),
    ("${#-1}", (Parameter("#", "-", (plain("1"),)),)),
    ("${!}", (Parameter("!"),)),
    ("${!x}", (Parameter("x", "indirect"),)),
    ("${!x:-a}", (Parameter("x", "indirect:-", (plain("a"),)),)),
    ("${!x*}", (Parameter("x*", "names"),)),
    ("${!x@}", (Parameter("x@", "names"),)),
    ("${!x[@]}", (Parameter("x", "keys", (), "@"),)),
    ("${x@Q}", (Parameter("x", "@Q"),)),
    ("${@:2}", (Parameter("@", ":", (Word("2", (Literal("2", True),)),)),)),
    ("${x y}", (Parameter("x y", "bad"),)),
    ("${}", (Parameter("", "bad"),)),
    ("${ rm a; }", (Substitution("rm a; "),)),
    ("$(a `b`)", (Substitution("a `b`"),)),
    ("`a \\`b\\` \\$c \\d`", (Substitution("a `b` $c \\d"),)),
    ('"`a \\"b\\"`"', (Substitution('a "b"', True),)),
    ("'a'$(rm x)'b'", (Literal("a", True), Substitution("rm x"), Literal("b", True))),
    ("a'$(rm x)'", (Literal("a"), Literal("$(rm x)", True))),
    ("${x:-$(rm y)}", (Parameter("x", ":-", (Word("$(rm y)", (Substitution("rm y"),)),)),)),
    ("$((1+$x))", (Arithmetic(Word("1+$x", (Literal("1+", True), Parameter("x", quoted=True)))),)),
    ("$((a); b)", (Substitution("(a); b"),)),
    ("<(a)x>(b)", (Process("<", "a"), Literal("x"), Process(">", "b"))),
    ('"<(a)"', (Literal("<(a)", True),)),
    ("$'a\\tb\\x41\\'\\u00e9'", (Literal("a\tbA'é", True),)),
    ("$'\\xc3\\xa9\\xff'", (Literal("é\udcff", True),)),
    ('$"a$x"', (Literal("a", True), Parameter("x", quoted=True))),
    ("\"$'a'\"", (Literal("$'a'", True),)),
    ("a\\\nb", (Literal("ab"),)),
    ("it's", (Parameter("it's", "bad"),)),
]


@pytest.mark.parametrize(("raw", "parts"), PARTS)
def test_a_word_has_the_parts_that_bash_sees(raw: str, parts: tuple[object, ...]) -> None:
    found = words.word(raw)
    assert found.raw == raw
    assert found.parts == parts
    assert list(map(type, found.parts)) == list(map(type, parts))


def test_the_value_of_an_assignment_has_tildes_behind_colons() -> None:
    assert words.word("a:~/b:~c", assignment=True).parts == (Literal("a:"), Tilde(""), Literal("/b:"), Tilde("c"))


def test_here_documents_keep_their_double_quotes() -> None:
    assert words.here_document('"a" \\" \\$ `b \\"`', False).parts == (Literal('"a" \\" $ ', True), Substitution('b \\"', True))
    assert words.here_document("$x", True).parts == (Literal("$x", True),)


def test_text_can_be_read_as_between_double_quotes() -> None:
    assert words.double_quoted("a '$x' \\$").parts == (Literal("a '", True), Parameter("x", quoted=True), Literal("' $", True))


def test_words_are_what_bash_makes_of_them() -> None:
    texts = [*evaluator.PIECES, *evaluator.arguments(3000, seed=1)]
    compared = 0
    for text, expected in zip(texts, evaluator.bash(texts), strict=True):
        try:
            found = evaluator.ours(text)
        except evaluator.CannotSayError:
            continue
        compared += 1
        assert found == expected, text
    assert compared > 2500


BRACES = [
    *("{a,b}", "x{a,b}y", "{a,b}{c,d}", "{a,{b,c}}", "{a{b,c}}", "{{a,b}", "{a,b}}", "{a}", "{}", "{,}", "{a,}", "a{,}b"),
    *("{1..3}", "{3..1}", "{1..10..3}", "{10..1..3}", "{1..3..0}", "{1..3..-1}", "{01..10}", "{-01..1}", "{a..e}", "{e..a..2}"),
    *("{a..1}", "{1..a}", "{a..}", "{..3}", "{1..2,3}", "{1.5..2}", "{'a,b'}", "{'a',b}", '{"a,b",c}', "{a\\,b,c}", "\\{a,b}"),
    *("{a,b\\}", "{a\\{,b}", "${n}{a,b}", "${n:-{a,b}}", '"$n"{a,b}', "$(echo {a,b}){c,d}", "`echo {a,b}`", "{$(echo a,b),c}"),
    *("{a,b}{1..2}{x,y}", "{a,b,{c,d{e,f}}}", "{a..c}{1..2}", "{{1..2},{a..b}}", "{a,b{1..2}c}", "{x,y}{", "{x,y}{a", "}{a,b}{"),
    *(
        "{A..c..9}",
        "{0x1..3}",
        "{+1..3}",
        "{1..+3}",
        "{99999999999999999999..1}",
        '{a,"}"}',
        "{a,'{'}",
    ),
]


def test_braces_expand_as_in_bash() -> None:
    script = (
        "n=3; IFS=; r() { printf '%s\\0' \"$@\"; }; set -f; while IFS= read -r -d '' w; do eval \"r $w\"; printf '\\1\\0'; done"
    )
    done = subprocess.run(["bash", "-c", script], input="\0".join([*BRACES, ""]).encode(), capture_output=True, check=True)
    expected = [text.split("\0")[:-1] for text in done.stdout.decode().split("\1\0")[:-1]]
    for raw, wanted in zip(BRACES, expected, strict=True):
        found = [evaluator.text_of(words.word(each)) for each in words.braces(raw)]
        assert [text for text in found if text] == [text for text in wanted if text], raw


def test_raw_text_stays_raw_in_braces() -> None:
    assert words.braces("a{'b c',\"$d\"}") == ["a'b c'", 'a"$d"']
    assert words.braces("'{a,b}'") == ["'{a,b}'"]


@pytest.mark.parametrize(
    "raw",
    ["{1..1000000000}", "{a,b}" * 30, "{,a" * 50_000, "{a," * 200 + "b" + "}" * 200, "{1..9}" * 8, "{a}" * 20_000 + "{a,b}"],
)
def test_too_many_words_are_refused_at_once(raw: str) -> None:
    begun = time.process_time()
    with pytest.raises(words.TooMany):
        words.braces(raw)
    assert time.process_time() - begun < 3


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.sampled_from([*evaluator.PIECES, "\\", "'", '"', "`", "$(", "${", "$((", "{", "\udcff"]), max_size=12).map(
        "".join
    )
)
def test_no_text_raises(raw: str) -> None:
    for read in (
        words.word,
        words.double_quoted,
        words.arithmetic,
        words.argument,
        lambda text: words.here_document(text, False),
    ):
        assert read(raw).parts
    assert words.braces(raw)
