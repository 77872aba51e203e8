"""What is read without the parser is what the parser would read."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from guard.shell import plain, syntax
from guard.shell.nodes import Literal, Pipeline, Redirect, Simple, Word

DATA = Path(__file__).parent.parent / "data"
WORDS = st.sampled_from(
    """rm -rf a 'b c' "d e" \\f g/h ; & && || | \n 2>&1 >/dev/null &>/dev/null </dev/null # if done x=1
    ! {} [ ] ~ a~ $x *.c =b ( ) { }
    time cat echo 'q''r' s"t"u""".split()
)


def shape(node: object) -> object:
    """A tree without what tells one spelling of the same words from another."""
    if isinstance(node, Word):
        assert all(isinstance(part, Literal) for part in node.parts)
        return "".join(part.text for part in node.parts if isinstance(part, Literal))
    if isinstance(node, Simple):
        return ("simple", [shape(w) for w in node.words], [shape(r) for r in node.redirects], node.assignments)
    if isinstance(node, Redirect):
        return (node.op, node.fd, shape(node.target))
    if isinstance(node, Pipeline):
        return ("pipeline", [shape(c) for c in node.commands], node.negated)
    return ("sequence", [(shape(c), operator) for c, operator in node.items])  # type: ignore[attr-defined]


def check(text: str) -> bool:
    found = plain.parse(text)
    if found is None:
        return False
    parsed = syntax.parse(text)
    assert parsed.error is None
    assert shape(found) == shape(parsed.body)
    return True


def test_plain_texts_of_agents_are_read_as_the_parser_reads_them() -> None:
    commands = [json.loads(line)["cmd"] for name in ("agent.jsonl", "dev.jsonl") for line in (DATA / name).open()]
    assert sum(check(command) for command in commands) > len(commands) / 2


@settings(max_examples=500, deadline=None)
@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_plain_texts_are_read_as_the_parser_reads_them(text: str) -> None:
    check(text)
