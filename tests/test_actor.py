"""Who is calling: what is unclear is an agent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from guard.actor import MARKS, PROGRAMS, SETTINGS, Actor, Process, Surroundings, agent, audience, called, mark, who
from guard.ancestry import surroundings

PERSONAL = {"HOME": "/home/x", "TERM": "xterm", "GEMINI_API_KEY": "k", "CODEX_HOME": "/c", "CLAUDE_CODE_USE_BEDROCK": "1"}
PERSONAL |= {"CLAUDE_CODE_OAUTH_TOKEN": "t", "CODEX_API_KEY": "k"}
INIT = Process(1, ("systemd", "init"), "systemd", None, 1)


def process(number: int, name: str, session: int = 0, **more: object) -> Process:
    """A process that runs what it is called."""
    fields = {"names": (name, name), "program": name, "environ": {}, "session": session or number, **more}
    return Process(number, **fields)  # type: ignore[arg-type]


def below(*names: str, terminal: str = "/dev/pts/3", session: int = 50) -> Surroundings:
    """A command in the foreground of a terminal, whose shell is process 50, below processes of these names, nearest first."""
    above = [process(40 - at, name) for at, name in enumerate(names)]
    return Surroundings(
        (process(60, "guard", session), process(50, "bash", 50), *above, INIT), whole=True, foreground=True, terminal=terminal
    )


AT_HOME = below("xterm", "gnome-shell")


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
    found = Actor("agent", name, variable)
    assert who({**PERSONAL, variable: "1"}, AT_HOME) == found
    assert audience({**PERSONAL, variable: "1"}, True) == "agent"
    shell = AT_HOME.line[1]._replace(environ={**PERSONAL, variable: "1"})
    assert who(PERSONAL, AT_HOME._replace(line=(AT_HOME.line[0], shell, *AT_HOME.line[2:]))) == found


def test_a_mark_of_the_first_process_is_a_setting() -> None:
    container = AT_HOME._replace(line=(*AT_HOME.line[:-1], INIT._replace(environ={"CI": "1"})))
    assert who(PERSONAL, container).kind == "person"


def test_a_person_has_a_terminal_and_no_mark() -> None:
    assert who(PERSONAL, AT_HOME) == Actor("person")
    assert who(PERSONAL, AT_HOME._replace(foreground=False)).kind == "agent"
    assert audience(PERSONAL, True) == "person"
    assert audience(PERSONAL, False) == "agent"


def test_an_empty_mark_is_none() -> None:
    assert mark({"CI": "", "CLAUDECODE": "0", "OPENCODE": "false"}) is None
    assert who({"CI": "", "CLAUDECODE": "0"}, AT_HOME).kind == "person"


@pytest.mark.parametrize("holder", ["sshd", "login", "tilix", "gnome-terminal-", "containerd-shim", "Relay(1234)"])
def test_programs_that_show_a_terminal_to_people(holder: str) -> None:
    assert who(PERSONAL, below(holder)).kind == "person"


@pytest.mark.parametrize(
    "holder", ["script", "expect", "screen", "SCREEN", "python3", "node", "socat", "code", "tmux: server", "sh", "make"]
)
def test_programs_that_do_not(holder: str) -> None:
    found = who(PERSONAL, below(holder, "xterm"))
    assert (found.kind, found.name) == ("agent", "")
    assert found.mark


def test_what_is_only_called_like_a_terminal_is_none() -> None:
    forged = process(40, "xterm", program="python3.11")
    assert who(PERSONAL, AT_HOME._replace(line=(*AT_HOME.line[:2], forged, INIT))).kind == "agent"


def test_nothing_unclear_above_a_terminal() -> None:
    """Whatever opened the terminal may have been left there by an agent."""
    for between in ("expect", "cron", "at", "zellij"):
        assert who(PERSONAL, below("xterm", between)).kind == "agent"


def test_the_line_has_to_be_whole_and_the_session_its_own() -> None:
    assert who(PERSONAL, AT_HOME._replace(whole=False)).kind == "agent"
    assert who(PERSONAL, Surroundings()).kind == "agent"
    assert who(PERSONAL, below("xterm", session=77)).kind == "agent"  # its leader is gone: it was left behind


def test_a_terminal_inside_of_sudo_is_the_one_around_it() -> None:
    line = (process(60, "guard", 58), process(58, "bash"), process(55, "sudo", 50), process(50, "bash"))
    for holder, kind in (("xterm", "person"), ("script", "agent")):
        where = Surroundings((*line, process(40, holder), INIT), True, True, "/dev/pts/4")
        assert who(PERSONAL, where).kind == kind


def test_a_console_is_held_by_the_first_process() -> None:
    line = (process(60, "guard", 50), process(50, "bash"), INIT)
    assert who(PERSONAL, Surroundings(line, True, True, "/dev/tty1")).kind == "person"
    assert who(PERSONAL, Surroundings(line, True, True, "/dev/pts/1")).kind == "agent"


@pytest.mark.parametrize("from_here", ["127.0.0.1 5 127.0.0.1 22", "10.0.0.7 5 10.0.0.7 22", "::1 5 ::1 22"])
def test_a_connection_from_this_very_machine_is_no_person(from_here: str) -> None:
    assert who({**PERSONAL, "SSH_CONNECTION": from_here}, below("sshd")).kind == "agent"
    assert who({**PERSONAL, "SSH_CONNECTION": "10.0.0.8 5 10.0.0.7 22"}, below("sshd")).kind == "person"


def test_a_window_of_tmux_is_as_good_as_who_looks_at_it() -> None:
    inside = below("tmux: server")
    assert who(PERSONAL, inside._replace(watching=(below("xterm"),))).kind == "person"
    for watching in ((), (below("script", "xterm"),), (below("claude", "xterm"),)):
        assert who(PERSONAL, inside._replace(watching=watching)).kind == "agent"


@pytest.mark.parametrize(
    ("ancestor", "name"),
    [
        ("claude", "claude"),
        ("/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", "claude"),
        ("/usr/lib/node_modules/@openai/codex/bin/codex.js", "codex"),
        ("gemini.mjs", "gemini"),
        ("cursor-agent", "cursor"),
        ("guard", "guard"),
        ("/home/x/.local/share/guard/runtime/current/guard/hot/start.py", "guard"),
    ],
)
def test_an_agent_above_tells_an_agent(ancestor: str, name: str) -> None:
    assert who(PERSONAL, below(ancestor, "sshd"))[:2] == ("agent", name)


def test_what_only_stands_in_guards_directory_is_not_guard() -> None:
    assert agent(("sh", "/home/x/.local/share/guard/shims/default/rm")) == ""


def test_what_a_process_is_called() -> None:
    assert called("node", ["node", "--flag", "/a/claude-code/cli.js", "x"])[2:] == ("/a/claude-code/cli.js",)
    assert called("bash", ["-bash"])[:2] == ("bash", "bash")
    assert called("sh", ["sh", "-c", "claude"]) == ("sh", "sh")  # a text is no script
    assert called("python3", ["/usr/bin/python3", "-m", "guard", "exec"])[2:] == ("guard",)


def test_the_tables() -> None:
    assert all(key == key.upper() for key in (*MARKS, *SETTINGS))
    assert all(key == key.lower() for key in PROGRAMS)


def test_what_is_above_is_read_from_the_system(tmp_path: Path) -> None:
    """A script below a shell below this: all are named, in order, with what they were started with."""
    script = tmp_path / "codex.py"
    script.write_text(
        "from guard.ancestry import surroundings\n"
        "found = surroundings()\n"
        "print(found.whole, found.foreground)\n"
        "for each in found.line[:3]: print(each.number, each.session, each.names, (each.environ or {}).get('MARK'))\n"
    )
    root = Path(__file__).parent.parent
    environ = {**os.environ, "PYTHONPATH": str(root), "MARK": "here"}
    shell = ["sh", "-c", f"{sys.executable} {script}; exit $?"]
    with subprocess.Popen(shell, env=environ, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        said = run.communicate(timeout=60)[0].splitlines()
    assert said[0] == "True False"
    assert f"{script}" in said[1]
    assert said[2].startswith(f"{run.pid} {run.pid} ('sh'")
    assert said[2].endswith("here")
    assert said[3].startswith(f"{os.getpid()} ")


def test_a_test_is_no_person() -> None:
    assert who({}, surroundings()).kind == "agent"
