"""The simple commands in a text, taken apart as they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.segments import braced, plain, segments


def words(command: str) -> list[list[str]]:
    return [[word.text for word in segment.words] for segment in segments(command)]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("rm -rf a", [["rm", "-rf", "a"]]),
        ("a && b || c; d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a 'b && c' \"d;e\"", [["a", "'b && c'", '"d;e"']]),
        ("a 2>&1 && b &>/dev/null", [["a"], ["b"]]),
        ("a > b && c", [[], ["c"]]),
        ("a 2> /dev/null", [["a"]]),
        ("a $x; b", [[], ["b"]]),
        ('a "$x"; b', [[], ["b"]]),
        ("a '$x'", [["a", "'$x'"]]),
        ("a # b", [[]]),
        ("(a b)", [[]]),
        ("a 'b", []),
        ("", [[]]),
    ],
)
def test_words(command: str, found: list[list[str]]) -> None:
    assert words(command) == found


@given(st.text("ab '\"&;|>{},\n", max_size=20))
def test_every_word_stands_where_it_says(command: str) -> None:
    for segment in segments(command):
        for word in segment.words:
            assert command[word.start : word.end] == word.text
            assert segment.start <= word.start <= word.end <= segment.end
            plain(word.text)
            braced(word.text)


def test_quotes_come_off() -> None:
    assert plain("a'b c'\"d\"") == "ab cd"


def test_braces() -> None:
    assert braced("x{a,b}{c,d}") == ["xac", "xad", "xbc", "xbd"]
    for word in ("{a}", "'{a,b}'", "{a..c}", "}a,b{", "{a,{b,c}}"):
        assert braced(word) == [word]
