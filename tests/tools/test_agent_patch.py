"""The patch grammar: what it names, and what its hunks make of a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.tools.agent_patch import ADD, REMOVE, UPDATE, Hunk, Part, applied, parts

OLD = "one\ntwo\nthree\nfour\n"


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) + "\n"


def test_each_part_is_named() -> None:
    found = parts(
        patch(
            "*** Add File: new.md",
            "+a",
            "+",
            "*** Delete File: gone file.md",
            "*** Update File: specs/a.md",
            "*** Move to: build/a.md",
            "@@ def f():",
            " one",
            "-two",
            "+2",
        )
    )
    assert found == [
        Part(ADD, "new.md", content="a\n\n"),
        Part(REMOVE, "gone file.md"),
        Part(UPDATE, "specs/a.md", "build/a.md", "", (Hunk("def f():", ("one", "two"), ("one", "2")),)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "*** Delete File: a",
        "*** Begin Patch\r\n*** Delete File: a\r\n*** End Patch\r\n",
        "  *** Begin Patch\n  *** Delete File: a  \n",
        "<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\n",
        "*** Begin Patch\n*** Environment ID: x\n*** Delete File: a\n",
        "*** Begin Patch\n*** End Patch\n*** Begin Patch\n*** Delete File: a\n*** End Patch",
    ],
)
def test_no_header_is_missed(text: str) -> None:
    assert parts(text) == [Part(REMOVE, "a")]


@pytest.mark.parametrize("text", ["", "no patch", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", "*** Begin Patch\n*** End Patch"])
def test_what_is_no_patch_has_no_parts(text: str) -> None:
    assert parts(text) == []


def change(*lines: str) -> str | None:
    return applied(parts(patch("*** Update File: a", *lines))[0].hunks, OLD)


@pytest.mark.parametrize(
    ("lines", "new"),
    [
        (["@@", "-two", "+2"], "one\n2\nthree\nfour\n"),
        (["-two", "+2"], "one\n2\nthree\nfour\n"),
        (["@@ one", " two", "+more", " three"], "one\ntwo\nmore\nthree\nfour\n"),
        (["@@", " one", "-two  ", " three"], "one\nthree\nfour\n"),
        (["@@", "+five", "*** End of File"], OLD + "five\n"),
        (["@@", "-one", "@@", "-four"], "two\nthree\n"),
        (["@@", "-one", "-two", "-three", "-four"], ""),
        (["@@", "-one", "-nothing of the kind"], None),
    ],
)
def test_hunks_are_applied_as_clients_do(lines: list[str], new: str | None) -> None:
    assert change(*lines) == new


LINES = st.lists(st.sampled_from(["a", "b", "c", "", " d"]), max_size=8)


@given(LINES, LINES)
def test_a_whole_replacement_gives_the_new_file(old: list[str], new: list[str]) -> None:
    text = patch("*** Update File: a", "@@", *("-" + line for line in old), *("+" + line for line in new))
    hunks = parts(text)[0].hunks
    content = "".join(line + "\n" for line in old)
    assert applied(hunks, content) == "".join(line + "\n" for line in new)


@given(st.text(alphabet="*+-@ \nabDeltFi:", max_size=200))
def test_nothing_raises(text: str) -> None:
    for part in parts("*** Update File: a\n" + text):
        applied(part.hunks, OLD)
