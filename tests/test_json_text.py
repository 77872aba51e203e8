"""JSON is written as `json` writes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.json_text import dumps

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
