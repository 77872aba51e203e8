"""Globs and paths from a small alphabet, so that they often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from guard import globs

ATOMS = ["a", "b", "A", ".", "-", "é", " ", "*", "?", "**", "[ab]", "[!a]", "[^b]", "[a-c]", "\\*", "\\[", "ab"]
part = st.one_of(
    st.sampled_from(["a", "b", "ab", "*", "**", "?", ".a", "a*", "*.b", "[ab]", "[!a]b", "a b", "é", "\\*", "a?b"]),
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3).map("".join),
)
parts = st.lists(part, min_size=1, max_size=3).map("/".join)
glob = (
    st.tuples(st.sampled_from(["", "", "!"]), st.sampled_from(["", "/"]), parts, st.sampled_from(["", "/"]))
    .map("".join)
    .filter(lambda text: globs.check(text) is None)
)
name = st.one_of(
    st.sampled_from(["a", "b", "ab", ".a", "x.b", "aab", "bb", "a b", "é", "*", "[", "A", "B", "c", "\udcff", "a\udc80b"]),
    st.text("abA.é *[-", min_size=1, max_size=3).filter(lambda text: text not in (".", "..")),
)
path = st.lists(name, min_size=1, max_size=4).map("/".join)
