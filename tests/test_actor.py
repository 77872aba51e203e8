"""Who is calling: what is unclear is an agent."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from guard.actor import MARKS, PROGRAMS, SETTINGS, Actor, ancestors, audience, terminal, who

PERSONAL = {"HOME": "/home/x", "TERM": "xterm", "GEMINI_API_KEY": "k", "CODEX_HOME": "/c", "CLAUDE_CODE_USE_BEDROCK": "1"}


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("CLAUDECODE", "claude"),
        ("CLAUDE_CODE_ENTRYPOINT", "claude"),
        ("CLAUDE_CODE_SESSION_ID", "claude"),
        ("CODEX_THREAD_ID", "codex"),
        ("CODEX_CI", "codex"),
        ("GEMINI_CLI", "gemini"),
        ("QWEN_CODE", "qwen"),
        ("COPILOT_CLI", "copilot"),
        ("COPILOT_AGENT_SESSION_ID", "copilot"),
        ("CURSOR_AGENT", "cursor"),
        ("OPENCODE", "opencode"),
        ("GUARD_LOOP", "guard"),
        ("GUARD_EXEC", "guard"),
        ("CI", "ci"),
    ],
)
def test_a_mark_tells_an_agent_even_at_a_terminal(variable: str, name: str) -> None:
    actor = who({**PERSONAL, variable: "1"}, [], True)
    assert actor == Actor("agent", name, variable)
    assert audience({**PERSONAL, variable: "1"}, True) == "agent"


def test_a_person_has_a_terminal_and_no_mark() -> None:
    assert who(PERSONAL, ["bash", "sshd"], True).kind == "person"
    assert who(PERSONAL, ["bash", "sshd"], False).kind == "agent"
    assert audience(PERSONAL, True) == "person"
    assert audience(PERSONAL, False) == "agent"


def test_an_empty_mark_is_none() -> None:
    assert who({"CI": "", "CLAUDECODE": "0"}, [], True).kind == "person"


@pytest.mark.parametrize(
    ("ancestor", "name"),
    [
        ("claude", "claude"),
        ("/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", "claude"),
        ("/usr/lib/node_modules/@openai/codex/bin/codex.js", "codex"),
        ("gemini.mjs", "gemini"),
        ("cursor-agent", "cursor"),
        ("guard", "guard"),
    ],
)
def test_an_agent_above_tells_an_agent(ancestor: str, name: str) -> None:
    assert who(PERSONAL, ["bash", ancestor, "sshd"], True)[:2] == ("agent", name)


def test_the_tables() -> None:
    assert all(key == key.upper() for key in (*MARKS, *SETTINGS))
    assert all(key == key.lower() for key in PROGRAMS)


def test_ancestors_are_named() -> None:
    code = "from guard.actor import ancestors; print(ancestors())"
    shown = subprocess.run([sys.executable, "-c", f"import subprocess,sys; subprocess.run([sys.executable,'-c',{code!r}])"],
                           capture_output=True, text=True, check=True, cwd=os.getcwd())  # fmt: skip
    assert "python" in shown.stdout
    assert isinstance(ancestors(), list)


def test_a_terminal_can_be_asked_for_anywhere() -> None:
    assert terminal() in (True, False)
