"""JSON is written as `json` writes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.json_text import dumps, loads

ROOT = Path(__file__).parents[1]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(VALUES)
def test_every_value_is_written_as_json_does(value: Any) -> None:
    assert dumps(value) == json.dumps(value, separators=(",", ":"))


def test_a_tuple_is_a_list_and_bytes_of_no_text_survive() -> None:
    assert dumps((1, "a\udcff")) == '[1,"a\\udcff"]'


@pytest.mark.parametrize("value", [b"x", {1: 2}, object(), [set()]])
def test_what_json_has_not_is_an_error(value: Any) -> None:
    with pytest.raises(TypeError):
        dumps(value)


@given(VALUES.filter(lambda value: value == value))
def test_every_text_is_read_as_json_does(value: Any) -> None:
    text = json.dumps(value, indent=1)
    assert repr(loads(f" \r\n{text}\n")) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", "{}{}", "1 2", "nul", '{"a" 1}', "'a'", "\ufeff{}", "[1]\x00"])
def test_what_is_no_json_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        loads(text)
    assert not isinstance(caught.value, UnicodeError)


def test_of_a_key_that_is_given_twice_the_last_counts() -> None:
    assert loads('{"a": 1, "a": {"b": 2}, "c": 3}') == {"a": {"b": 2}, "c": 3}


def test_depth_without_end_is_an_error() -> None:
    with pytest.raises(RecursionError):
        loads("[" * 200_000)


@pytest.mark.parametrize("text", ["{", '{"a":1', '["x"', '"', "[1,", "tru", "-"])
def test_a_torn_text_is_no_json_also_where_nothing_else_is_loaded(text: str) -> None:
    program = f"from guard.json_text import loads\ntry:\n    loads({text!r})\nexcept ValueError:\n    print('no')"
    run = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "no\n"
