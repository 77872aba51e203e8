"""Regular expressions that are shipped or made here are those that `re` would make."""

from __future__ import annotations

import marshal
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard import build_expressions, expressions

SHIPPED = Path(expressions.FILE)
served = pytest.mark.skipif(
    expressions.engine() not in build_expressions.ENGINES, reason="nothing is shipped for this Python, and re does it all"
)
ITEMS = st.sampled_from(
    ["a", "b", "\\.", "\\*", ".", "[^/]", "/", "é", "\n", "\\\\", " ", "#", "\\-", "[ab]", "(a)", "\\w", "|", "{2}"]
)
COUNTS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "??", "+?", "**"])
PATTERNS = st.builds(
    lambda start, items, end: start + "".join(item + count for item, count in items) + end,
    st.sampled_from(["", "^", "\\A"]),
    st.lists(st.tuples(ITEMS, COUNTS), max_size=6),
    st.sampled_from(["", "$", "\\Z", "\\"]),
)


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing has been compiled or read yet."""
    monkeypatch.setattr(expressions, "_kept", {})
    monkeypatch.setattr(expressions, "_file", [])
    return monkeypatch


@served
def test_what_is_shipped_is_what_the_code_uses_now() -> None:
    assert SHIPPED.read_bytes() == build_expressions.pack(), "python -m guard.build_expressions makes it anew"


def test_a_shipped_expression_is_equal_to_the_one_that_re_makes() -> None:
    for pattern, flags in build_expressions.patterns():
        made = build_expressions.compiled(pattern, flags)
        if made is not None:
            assert expressions.compile(pattern, flags) == re.compile(pattern, flags)


@given(PATTERNS, st.sampled_from([0, re.S]), st.lists(st.text("ab./é\n\\ #-*", max_size=6), max_size=5))
@settings(max_examples=400)
def test_a_plain_expression_matches_what_re_matches(pattern: str, flags: int, texts: list[str]) -> None:
    made = expressions._loaded(pattern, flags)
    if made is None:
        return
    real = re.compile(pattern, flags)
    assert (made.flags, made.groups) == (real.flags, real.groups)
    for text in texts:
        for how in ("match", "search", "fullmatch"):
            found, wanted = getattr(made, how)(text), getattr(real, how)(text)
            assert (found and found.span()) == (wanted and wanted.span())


@served
@pytest.mark.parametrize("pattern", ["abc", "a.*b", "[^/]*\\.md\\Z", "\\Aé?$", "a+?"])
def test_globs_and_fixed_texts_need_no_re(pattern: str) -> None:
    assert expressions._loaded(pattern, 0) is not None


@pytest.mark.parametrize("pattern", ["(", "a**", "*", "\\", "[", "a{2,1}"])
def test_what_is_no_expression_is_an_error(pattern: str) -> None:
    with pytest.raises(re.error):
        expressions.compile(pattern)


@pytest.mark.parametrize("content", [None, b"", b"x", SHIPPED.read_bytes()[:-900], marshal.dumps(((), {}, {}), 2)])
def test_a_file_that_is_missing_or_damaged_only_costs_time(
    content: bytes | None, tmp_path: Path, anew: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "expressions.bin"
    if content is not None:
        other.write_bytes(content)
    anew.setattr(expressions, "FILE", str(other))
    for pattern, flags in sorted(build_expressions.patterns(), key=repr)[:40]:
        if build_expressions.compiled(pattern, flags) is not None:
            assert expressions.compile(pattern, flags) == re.compile(pattern, flags)


def test_code_that_the_engine_rejects_is_compiled_anew(tmp_path: Path, anew: pytest.MonkeyPatch) -> None:
    other = tmp_path / "expressions.bin"
    other.write_bytes(marshal.dumps(((expressions.engine(),), {("a|b", 0): (32, 0, {}, b"\xff\xff\xff\xff")}, {}), 2))
    anew.setattr(expressions, "FILE", str(other))
    assert expressions.compile("a|b") == re.compile("a|b")


REPLACEMENTS = st.text("ab\\12", max_size=6)


@given(REPLACEMENTS, st.text("abc", max_size=6))
def test_replacements_are_those_of_re(replacement: str, text: str) -> None:
    try:
        wanted = re.sub("(a)|(b)", replacement, text)
    except re.error:
        return
    assert expressions.sub("(a)|(b)", replacement, text) == wanted


@given(st.text())
def test_escaping_is_that_of_re(text: str) -> None:
    assert expressions.escape(text) == re.escape(text)


def test_each_function_is_that_of_re() -> None:
    pattern, text = r"(\w)(\d)?", "a1 b c2"
    for name in ("match", "search", "fullmatch"):
        found, wanted = getattr(expressions, name)(pattern, text), getattr(re, name)(pattern, text)
        assert (found and found.groups()) == (wanted and wanted.groups())
    assert expressions.findall(pattern, text) == re.findall(pattern, text)
    assert [m.span() for m in expressions.finditer(pattern, text)] == [m.span() for m in re.finditer(pattern, text)]
    assert expressions.split(" ", text, 1) == re.split(" ", text, maxsplit=1)
    assert expressions.match("A.", "a\n", expressions.I | expressions.S) is not None
    for short, long in (
        ("I", "IGNORECASE"),
        ("M", "MULTILINE"),
        ("S", "DOTALL"),
        ("X", "VERBOSE"),
        ("A", "ASCII"),
        ("U", "UNICODE"),
    ):
        assert getattr(expressions, short) == getattr(expressions, long) == getattr(re, short)


@served
def test_re_is_not_imported_for_what_is_shipped() -> None:
    code = "from guard import expressions as r; r.compile(r'[^/]*\\.md\\Z', r.S); r.sub(r'\\\\(.)', r'\\1', 'x', flags=r.S)"
    check = f"import sys; sys.path.insert(0, {str(SHIPPED.parent.parent)!r}); {code}; print('re' in sys.modules)"
    run = subprocess.run([sys.executable, "-I", "-S", "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
