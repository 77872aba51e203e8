from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.shell import nodes, syntax
from guard.world import Budget, OutOfBudget
from tests.shell import oracle

# Text, and what runs in which order as oracle.py writes it: "S <assignments> [words]", "R <redirection>", operators, keywords.
TREES = [
    ("a b", ["S 0 ['a', 'b']"]),
    ("a; b\nc", ["S 0 ['a']", ";", "S 0 ['b']", ";", "S 0 ['c']"]),
    ("a && b || c & d", ["S 0 ['a']", "&&", "S 0 ['b']", "||", "S 0 ['c']", "&", "S 0 ['d']"]),
    ("a &", ["S 0 ['a']", "&"]),
    ("a |\n\nb |& c", ["S 0 ['a']", "|", "S 0 ['b']", "|", "S 0 ['c']"]),
    ("! a | b", ["!", "S 0 ['a']", "|", "S 0 ['b']"]),
    ("! ! a", ["S 0 ['a']"]),
    ("time -p -- a b", ["S 0 ['a', 'b']"]),
    ("! time a", ["!", "S 0 ['a']"]),
    ("time; !\na", ["S 0 []", ";", "!", "S 0 []", ";", "S 0 ['a']"]),
    ("a | time b", ["S 0 ['a']", "|", "S 0 ['time', 'b']"]),
    ("x=1 y+=2 a z=3", ["S 2 ['a', 'z=3']"]),
    (">f x=1 a <g b", ["S 1 ['a', 'b']", "R > f", "R < g"]),
    ("a 2>&1 >&- 3<&4 &>f &>>g >|h <>i >>j <<<k", "a,R >&,R >&,R >&,R &> f,R &>> g,R >| h,R <> i,R >> j,R <<< k"),
    ("{fd}>f a {fd}>&- {x", ["S 0 ['a', '{x']", "R > f", "R >&"]),
    ("if a\nthen b; fi", ["if", "S 0 ['a']", "then", "S 0 ['b']", "end"]),
    (
        "if a; then b; elif c; then d; elif e; then f; elif g; then h; else i; fi >o",
        "if,a,then,b,if,c,then,d,if,e,then,f,if,g,then,h,else,i,end,end,end,end,R > o",
    ),
    ("while a\ndo b\ndone", "while,a,do,b,end"),
    ("until a; do b & done </x", "until,a,do,b,&,end,R < /x"),
    ("for i in a 'b c'\ndo d; done", ["for i ['a', \"'b c'\"]", "S 0 ['d']", "end"]),
    ("for i; do d; done", ["for i ['\"$@\"']", "S 0 ['d']", "end"]),
    ("for i do d; done", ["for i ['\"$@\"']", "S 0 ['d']", "end"]),
    ("for i\nin a; { d; }", ["for i ['a']", "S 0 ['d']", "end"]),
    ("for i in; do d; done", ["for i []", "S 0 ['d']", "end"]),
    ("for ((i=0;i<3;i++)); do d; done", "arithmetic for,d,end"),
    ("for((;;)){ d; }", "arithmetic for,d,end"),
    ("select i in a; do { d; } done", ["select i ['a']", "group", "S 0 ['d']", "end", "end"]),
    (
        "case $x in a|'b') c;; (d) e;& f*)\n;;& *) g; esac >o",
        [
            "case $x",
            "in ['a', \"'b'\"]",
            "S 0 ['c']",
            "in ['d']",
            "S 0 ['e']",
            "in ['f*']",
            "in ['*']",
            "S 0 ['g']",
            "end",
            "R > o",
        ],
    ),
    ("case x\nin esac", ["case x", "end"]),
    ("case in in in) a;; esac", "case in,in ['in'],a,end"),
    ("case esac in (esac) a;; esac", ["case esac", "in ['esac']", "S 0 ['a']", "end"]),
    ("f() { a; }", "function f,group,a,end,end"),
    ("f ()\n( a ) >o", "function f,subshell,a,end,R > o,end"),
    ("function f { a; }", "function f,group,a,end,end"),
    ("function f() { a; }", "function f,group,a,end,end"),
    ("function f ( a )", "function f,subshell,a,end,end"),
    ("function f\nif a; then b; fi", "function f,if,a,then,b,end,end"),
    ("f-g.h() { a; }; w+() { b; }", "function f-g.h,group,a,end,end,;,function w+,group,b,end,end"),
    ("coproc a b", ["coproc", "S 0 ['a', 'b']", "end"]),
    ("coproc N { a; } >o", "coproc,group,a,end,R > o,end"),
    ("( (a); b )", "subshell,subshell,a,end,;,b,end"),
    ("((a) ; b)", "subshell,subshell,a,end,;,b,end"),
    ("((i++)) && a", "arithmetic,&&,a"),
    ("((x>0)); if ((y)) then a; fi", "arithmetic,;,if,arithmetic,then,a,end"),
    ("[[ -f x && ( $a < b || $c =~ ^(x|y)+$ ) ]] && a", "condition,&&,a"),
    ("!(a)", "!,subshell,a,end"),
    ("rm !(a|*.b) x@(c)", ["S 0 ['rm', '!(a|*.b)', 'x@(c)']"]),
    ("a } { ] esac if", ["S 0 ['a', '}', '{', ']', 'esac', 'if']"]),
    ("a # b\n# c '\nb#c", "a,;,b#c"),
    ("{ a;#c\n}; (a)#c\nb &#c", "group,a,end,;,subshell,a,end,;,b,&"),
    ("a\\\nb c\\\n d &\\\n& i\\\nf e; then g; fi", ["S 0 ['ab', 'c', 'd']", "&&", "if", "S 0 ['e']", "then", "S 0 ['g']", "end"]),
    ("a\\", ["S 0 ['a\\\\']"]),
    ("a\r\nb\r", ["S 0 ['a\\r']", ";", "S 0 ['b\\r']"]),
    ("\n\n  # c\n", []),
    ("", []),
    ("# c", []),
    ("cmd '${a'-", ["S 0 ['cmd', \"'${a'-\"]"]),
    ("a $'it\\'s' b", ["S 0 ['a', '*', 'b']"]),
]


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_the_tree_is_what_bash_would_run(text: str, tree: list[str] | str) -> None:
    found = oracle.ours(text)
    assert found is not None
    if isinstance(tree, list):
        assert found == tree
    else:
        assert [item.removeprefix("S 0 ['").removesuffix("']") if item[:1] == "S" else item for item in found] == tree.split(",")


def simple(text: str) -> nodes.Simple:
    (command, _), *_ = syntax.parse(text).body.items
    assert isinstance(command, nodes.Simple)
    return command


def body(text: str) -> list[str]:
    """The here-documents of the first command, and the sources of those behind it."""
    parsed = syntax.parse(text)
    assert parsed.error is None
    first, *rest = (command for command, _ in parsed.body.items)
    assert isinstance(first, nodes.Simple)
    sources = [command.source for command in rest if isinstance(command, nodes.Simple)]
    return [redirect.target.raw for redirect in first.redirects if redirect.op == "<<"] + sources


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cat <<E\n$x\nE\nb", ["$x\n", "b"]),
        ("cat <<'E'\nit's\nE\nb", ["it's\n", "b"]),
        ('cat <<E"O"F\n"\nEOF\nb', ['"\n', "b"]),
        ("cat <<\\E\n`\nE\nb", ["`\n", "b"]),
        ("cat <<'a b'\nx\na b\nb", ["x\n", "b"]),
        ("cat <<-E\n\t\tx\n\tE\nb", ["x\n", "b"]),
        ("cat <<E <<-'F' >c\n1\nE\n\t2\n\tF\nb", ["1\n", "2\n", "b"]),
        ("cat <<E\nx\n", ["x\n"]),
        ("cat <<E\nx", ["x\n"]),
        ("cat <<E", [""]),
        ("cat <<E\nE\nb", ["", "b"]),
        ("cat <<E\na \\\nE\nE\nb", ["a E\n", "b"]),
        ("cat <<E\na \\\\\nE\nb", ["a \\\\\n", "b"]),
        ("cat <<'E'\na \\\nE\nb", ["a \\\n", "b"]),
        ("cat <<E; b\nx\nE\nc", ["x\n", "b", "c"]),
        ("cat <<$x\n1\n$x\nb", ["1\n", "b"]),
    ],
)
def test_here_documents_end_where_bash_ends_them(text: str, found: list[str]) -> None:
    assert body(text) == found


@pytest.mark.parametrize(
    "wrapping",
    ["if a; then\n%s\nfi", "{\n%s\n}", "(\n%s\n)", "f() {\n%s\n}", "while a; do\n%s\ndone", "case x in\na)\n%s\n;; esac"],
)
def test_here_documents_in_a_compound_swallow_nothing(wrapping: str) -> None:
    text = wrapping % "cat >f <<E\nE\nrm -rf /real\ncat >g <<E\nx\nE"
    assert "S 0 ['rm', '-rf', '/real']" in (oracle.ours(text) or [])


def test_a_quoted_delimiter_leaves_the_body_alone() -> None:
    (redirect,) = simple("cat <<'E'\n$x `y`\nE").redirects
    assert redirect.target.parts == (nodes.Literal("$x `y`\n", True),)


def test_an_unquoted_body_has_its_expansions() -> None:
    (redirect,) = simple('cat <<E\n"$x" \\$y $(z "a") \\a\nE').redirects
    quoted = nodes.Literal('"', True), nodes.Parameter("x", quoted=True), nodes.Literal('" $y ', True)
    assert redirect.target.parts == (*quoted, nodes.Substitution('z "a"', True), nodes.Literal(" \\a\n", True))


def test_arrays() -> None:
    (first, second) = simple("a=(1 'b c' [5]=x [ k ]=y # it's\n $(z)) b+=(2)").assignments
    assert first.name == "a"
    assert [item[0] if not isinstance(item, nodes.Word) else item.raw for item in first.items or ()] == [
        "1",
        "'b c'",
        "5",
        " k ",
        "$(z)",
    ]
    assert second.append
    assert second.items is not None


def test_subscripts_may_hold_blanks_where_an_assignment_stands() -> None:
    (found,) = simple("a[ i + 1 ]+=x").assignments
    assert (found.name, found.subscript, found.append, found.value) == (
        "a",
        " i + 1 ",
        True,
        nodes.Word("x", (nodes.Literal("x"),)),
    )
    assert len(simple("echo a[ i ]").words) == 4


def test_declarations_have_their_arrays_as_words_and_as_assignments() -> None:
    found = simple("x=1 declare -a y=(a b) z w=(c)")
    assert [word.raw for word in found.words] == ["declare", "-a", "y=(a b)", "z", "w=(c)"]
    assert [each.name for each in found.assignments] == ["x", "y", "w"]
    assert found.declared == 2


def test_a_case_keeps_its_terminators() -> None:
    ((case, _),) = syntax.parse("case x in a) b;; c) d;& e) f;;& g) h; esac").body.items
    assert isinstance(case, nodes.Case)
    assert [end for _, _, end in case.clauses] == [";;", ";&", ";;&", ";;"]


def test_a_condition_has_its_operators_as_words() -> None:
    ((condition, _),) = syntax.parse("[[ ! -f $x && ( a == b* || c =~ ^(d|e f)$ ) ]]").body.items
    assert isinstance(condition, nodes.Condition)
    assert [word.raw for word in condition.words] == [
        "!",
        "-f",
        "$x",
        "&&",
        "(",
        "a",
        "==",
        "b*",
        "||",
        "c",
        "=~",
        "^(d|e f)$",
        ")",
    ]


def test_the_source_of_a_command_is_its_own_text() -> None:
    parsed = syntax.parse("a  'b' >f &&  c=1 d; e")
    assert [command.source for command, _ in parsed.body.items if isinstance(command, nodes.Simple)] == [
        "a  'b' >f",
        "c=1 d",
        "e",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "echo $(case x in a) b;; esac)",
        "echo $(a # )\n)",
        "echo $(cat <<E\n)\nE\n)",
        'echo "$(echo ")" \')\')"',
        "echo $(a; ) $(b &) <(c&)",
        'echo `a \\`b\\`` "`c \\"d\\"`"',
        "z'`'",
        'echo "${x:-"}"$(a)"}"}"',
        "echo $(!\n)",
        "echo ${x:-$(rm y)} 'a'$(rm x)'b'",
    ],
)
def test_substitutions_end_where_bash_ends_them(text: str) -> None:
    parsed = syntax.parse(text)
    assert parsed.error is None
    assert len(parsed.body.items) == 1


def test_a_here_document_may_stand_behind_the_line_of_its_substitution() -> None:
    found = simple("echo $(cat <<E) b\n)x\nE\nc")
    (substitution,) = found.words[1].parts
    assert isinstance(substitution, nodes.Substitution)
    assert body(substitution.text) == [")x\n"]
    assert found.words[2].raw == "b"


@pytest.mark.parametrize(
    "text",
    [
        "if",
        "a; if b",
        "a |",
        "( a",
        "a )",
        "fi",
        "a;;",
        "'",
        '"',
        "`",
        "$(",
        "${x",
        "a && && b",
        "for",
        "case x in a",
        "[[ a",
        "f(",
        "{ a",
        "}",
        "a <",
        "<<",
        "for ((a;b)); do c; done",
        "a=( ;",
    ],
)
def test_what_bash_rejects_is_a_syntax_error(text: str) -> None:
    assert syntax.parse(text).error == "syntax"


@pytest.mark.parametrize("rest", ["if", "'", "b | | c", "(((", "$(", "`"])
def test_lines_before_a_syntax_error_are_there(rest: str) -> None:
    parsed = syntax.parse("echo a\nrm -rf b; c\n" + rest)
    assert parsed.error == "syntax"
    assert [command.source for command, _ in parsed.body.items if isinstance(command, nodes.Simple)] == [
        "echo a",
        "rm -rf b",
        "c",
    ]


@pytest.mark.parametrize(
    "opening",
    [
        "(",
        "( ",
        "{ ",
        "$(",
        "`\\",
        '"$(',
        "${a:-",
        "((",
        "$((",
        "<(",
        "if ",
        "!(",
        "a=(",
        '"${x:-"',
        "[[ ",
        "case x in a) ",
        "echo $[",
        "a[",
    ],
)
def test_depth_is_refused_at_once(opening: str) -> None:
    for text in (opening * 10_000, "b\n" + opening * 300 + "y"):
        begun = time.process_time()
        assert syntax.parse(text).error in ("too-deep", "syntax")
        assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    "text",
    [
        "echo " + "abcd " * 200_000,
        "echo abc;" * 110_000,
        "\n" * 1_000_000,
        'echo "' + "a$b " * 240_000 + '"',
        "a \\\n" * 250_000,
        "x" * (1 << 20) + "y",
        "a=(" + "[1]=" * 250_000,
        "$(a) " * 200_000,
        "((a) " * 200_000,
        "{,a" * 300_000,
    ],
)
def test_a_megabyte_takes_no_time(text: str) -> None:
    begun = time.process_time()
    assert syntax.parse(text).error in ("too-long", "too-deep", "syntax", None)
    assert time.process_time() - begun < 5


def test_a_long_here_document_is_no_burden() -> None:
    parsed = syntax.parse("cat <<'E'\n" + "some text $here `there\n" * 40_000 + "E\nb")
    assert parsed.error is None
    assert len(parsed.body.items) == 2


def test_nul_bytes_are_never_taken_for_harmless() -> None:
    parsed = syntax.parse("echo a\0b; rm -rf x")
    assert parsed.error == "syntax"
    assert len(parsed.body.items) == 2


def test_names_that_are_no_text_come_through() -> None:
    assert simple("rm a\udcff\ud800").words[1].parts == (nodes.Literal("a\udcff\ud800"),)


def test_a_budget_that_is_used_up_is_told() -> None:
    with pytest.raises(OutOfBudget):
        syntax.parse("a b\n" * 5_000, Budget(steps=100))


def test_a_damaged_parser_answers_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "_PARSER", None)
    assert syntax.parse("a").error == "parser"


_BITS = st.sampled_from(
    "a b x= $ $( ${ ` ' \" \\ \n "
    ";  & | ( ) { } [ ] [[ ]] (( )) < > << <<- <<< <( >( <<E E # ! * ? ~ = :- / % if then elif else fi case "
    "in esac for do done while until select function coproc time $' $\" ;; ;& && || \0 \udcff é \t".split(" ")
) | st.just(" ")


@settings(max_examples=1500, deadline=None)
@given(st.lists(_BITS, max_size=40).map("".join))
def test_nothing_raises_or_hangs(text: str) -> None:
    begun = time.process_time()
    parsed = syntax.parse(text)
    assert parsed.error in (None, "syntax", "too-deep")
    assert time.process_time() - begun < 2
    repr(parsed)
