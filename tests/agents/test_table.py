"""The table of clients keeps its own rules."""

from __future__ import annotations

import pytest

from guard import actor
from guard.agents import table
from guard.agents.table import CLIENTS, Client, kind

ROWS = pytest.mark.parametrize("client", CLIENTS.values(), ids=list(CLIENTS))
KINDS = {table.SHELL, table.TYPE, table.WRITE, table.EDIT, table.NOTEBOOK, table.PATCH, table.DELETE, table.MOVE, table.READ}


@ROWS
def test_every_row_says_what_it_has_to(client: Client) -> None:
    assert CLIENTS[client.name] is client
    assert set(client.events.values()) <= {table.BEFORE, table.AFTER, table.START, table.END, table.OTHER}
    assert {table.BEFORE, table.AFTER, table.START} <= set(client.events.values())
    assert set(client.tools.values()) <= KINDS
    assert table.SHELL in client.tools.values()
    assert {table.WRITE, table.PATCH} & set(client.tools.values())
    assert all(key in client.tools for key in client.typing)
    assert client.ask == bool(client.attended)


@ROWS
def test_marks_and_programs_are_those_by_which_an_agent_is_told(client: Client) -> None:
    for variable in client.marks:
        found = actor.mark({variable: "1"})
        assert found is not None
        assert found.name == client.name, variable
    assert all(actor.PROGRAMS[program] == client.name for program in client.programs)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("mcp__files__write_file", table.WRITE),
        ("mcp__files__write", table.WRITE),
        ("mcp_files_edit_file", table.EDIT),
        ("files-move_file", table.MOVE),
        ("MCP:delete_file", table.DELETE),
        ("filesystem.create_file", table.WRITE),
        ("Delete", table.DELETE),
        ("shell", table.SHELL),
        ("mcp__x__read_file", ""),
        ("mcp__mail__write_message", ""),
        ("exit_plan_mode", ""),
        ("", ""),
    ],
)
def test_tools_that_no_row_names_are_told_by_the_end_of_their_names(tool: str, expected: str) -> None:
    assert kind(CLIENTS["claude"], tool, {}) == expected


def test_what_a_row_says_of_a_tool_counts() -> None:
    assert kind(CLIENTS["opencode"], "todowrite", {"command": "x"}) == table.READ
    assert kind(CLIENTS["claude"], "NewShell", {"command": "x"}) == table.SHELL
    assert kind(CLIENTS["claude"], "NewShell", {"command": ["x"]}) == ""
    assert kind(CLIENTS["claude"], "mcp__remote__run", {"command": "x"}) == ""
