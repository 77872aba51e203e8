"""hooks/agent: it passes only what the Python side consents to, hands on the rest as it is, and fails closed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guard.agents import read
from guard.agents.table import BEFORE, CLIENTS, SHELL
from guard.shell import quick
from tests.agents import hooking
from tests.agents.hooking import bash

SCRIPT = hooking.ROOT / "hooks/agent"
SHELLS = [shell for shell in (["dash"], ["bash", "-p"], ["busybox", "ash"]) if shutil.which(shell[0])]
ECHO = """#!/bin/sh
printf '%s\\n' "$@" > {top}/arguments
/bin/cat > {top}/rest
printf '%s' "$PATH" > {top}/environment
echo said by the judge >&2
exit {status}
"""


class Place:
    """The launcher beside something that stands for guard."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir()
        shutil.copy(SCRIPT, top / "hook")

    def judge(self, status: int) -> None:
        (self.top / "guard").write_text(ECHO.format(top=shlex.quote(str(self.top)), status=status))
        (self.top / "guard").chmod(0o755)

    def call(self, payload: bytes, *arguments: str, shell: list[str] | None = None, **environ: str) -> hooking.Said:
        argv = [*(shell or SHELLS[0]), str(self.top / "hook"), *(arguments or ("claude",))]
        return hooking.call(argv, self.top, payload, **environ)

    @property
    def handed(self) -> bytes:
        """The payload as the judge got it."""
        arguments = (self.top / "arguments").read_bytes()
        head = arguments.removeprefix(b"hook\n--given\n").rpartition(b"\nclaude\n")[0]
        return head + (self.top / "rest").read_bytes()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(Path(os.path.realpath(tmp_path)) / "it's a place")


def passes(place: Place, payload: bytes, *arguments: str, shell: list[str] | None = None) -> bool:
    """Does the launcher consent without asking?"""
    (place.top / "guard").unlink(missing_ok=True)
    return place.call(payload, *arguments, shell=shell) == (0, "", "")


def compact(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()


def of(client: str, command: str) -> bytes:
    """What a client says before a harmless-looking command."""
    found = json.loads((hooking.CALLS / client / "before-shell.json").read_text())
    arguments = next((found[key] for key in ("tool_input", "toolArgs") if key in found), found)
    arguments["command"] = command
    return compact(found)


READING = [
    "ls",
    "ls -la src",
    "git status",
    "git log --oneline -5 | head -3",
    "cd src && ls ; pwd",
    "cat a.md 2>/dev/null || true",
]
FORWARDED = """
rm -rf specs
ls | rm x
ls > specs/a.md
ls &
ls &&
&& ls
ls $(rm x)
find . -delete
find . -exec rm x +
A=b ls
git clean -fdx
git log --output=x
git -c a=b status
rg --pre=x y
ls `rm x`
ls|rm x
ls;rm x
ls ; rm x
ls ;; ls
; ls
| ls
ls |
git diff --ext-diff
git grep -O x
ls>x
ls 2> x
ls <x
eval ls
bash
python3
env ls
cat x>y
x
git
""".strip().splitlines()


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
@pytest.mark.parametrize("command", READING)
def test_reading_passes_without_python(command: str, shell: list[str], place: Place) -> None:
    assert passes(place, of("claude", command), shell=shell)
    assert passes(place, of("claude", command) + b"\n", shell=shell)


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_what_is_not_surely_harmless_is_handed_on(shell: list[str], place: Place) -> None:
    for command in FORWARDED:
        assert not passes(place, of("claude", command.strip()), shell=shell), command


@pytest.mark.parametrize(
    ("client", "event"), [(name, "preToolUse" if name == "copilot" else "") for name in sorted(CLIENTS) if name != "cursor"]
)
def test_every_client_that_takes_silence_is_understood(client: str, event: str, place: Place) -> None:
    arguments = (client, event) if event else (client,)
    assert passes(place, of(client, "ls -la"), *arguments)
    assert not passes(place, of(client, "rm x"), *arguments)


def test_a_client_that_wants_words_is_not(place: Place) -> None:
    assert not passes(place, of("cursor", "ls"), "cursor")


PLAIN = bash(Path("/p"), "ls")
ODD: dict[str, bytes] = {
    "another tool": compact({**PLAIN, "tool_name": "Write"}),
    "another event": compact({**PLAIN, "hook_event_name": "PostToolUse"}),
    "two commands": b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm x","command":"ls"}}',
    "two tools": b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_name":"Bash","tool_input":{"command":"ls"}}',
    "two inputs": compact(PLAIN)[:-1] + b',"tool_input":{"command":"ls"}}',
    "both spellings": compact({**PLAIN, "toolArgs": {"command": "ls"}, "tool_input": {"command": "rm x"}}),
    "half a name in each": compact({**PLAIN, "tool_name": "Ba", "toolName": "sh"}),
    "an escape": compact({**PLAIN, "tool_input": {"command": 'ls "a"'}}),
    "a nested command": compact({**PLAIN, "tool_input": {"x": {"command": "ls"}}}),
    "a command elsewhere": compact({**PLAIN, "tool_input": {}, "other": {"command": "ls"}}),
    "a list": compact({**PLAIN, "tool_input": ["ls"]}),
    "a command that is no text": compact({**PLAIN, "tool_input": {"command": 1}}),
    "a tool that is no text": b'{"hook_event_name":"PreToolUse","tool_name":Bash,"tool_input":{"command":"ls"}}',
    "more behind it": compact(PLAIN) + b"{}",
    "a tail": compact(PLAIN) + b"}",
    "no end": compact(PLAIN)[:-1],
    "a bad number": b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","timeout":007}}',
    "a number where none is": compact({**PLAIN, "session_id": 5}),
    "no UTF-8": compact(PLAIN).replace(b"s-1", b"\xff"),
    "an empty object": b"{}",
    "nothing": b"",
    "a blank": b" ",
    "a command in blanks": compact({**PLAIN, "tool_input": {"command": " "}}),
}


@pytest.mark.parametrize("data", ODD.values(), ids=list(ODD))
def test_what_is_not_told_plainly_is_handed_on(data: bytes, place: Place) -> None:
    assert not any(passes(place, data, shell=shell) for shell in SHELLS)


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"\n\n",
        b"a\n",
        compact(bash(Path("/p"), "rm -rf 'a  b' \\ *")),
        b"\xff\xfe'$(x)`\"\n\n",
        b"-n",
        b"x" * 4096,
        b"{" * 300_000,
    ],
    ids=lambda data: repr(data[:20]),
)
def test_the_payload_is_handed_on_byte_by_byte(data: bytes, shell: list[str], place: Place) -> None:
    place.judge(0)
    assert place.call(data, shell=shell) == (0, "", "said by the judge\n")
    assert place.handed == data


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
@pytest.mark.parametrize("status", [0, 2])
def test_the_judges_status_counts(status: int, shell: list[str], place: Place) -> None:
    place.judge(status)
    assert place.call(of("claude", "rm x"), shell=shell) == (status, "", "said by the judge\n")


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
@pytest.mark.parametrize("end", ["exit 1", "exit 3", "exit 70", "exit 126", "exit 127", "exit 255", "kill -9 $$", "kill -15 $$"])
def test_any_other_end_is_a_refusal(end: str, shell: list[str], place: Place) -> None:
    (place.top / "guard").write_text(f"#!/bin/sh\n{end}\n")
    (place.top / "guard").chmod(0o755)
    said = place.call(of("claude", "rm x"), shell=shell)
    assert said.status == 2
    assert "guard doctor" in said.error


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_without_guard_everything_but_reading_is_refused(shell: list[str], place: Place) -> None:
    said = place.call(of("claude", "rm x"), shell=shell)
    assert said.status == 2
    assert said.error.startswith("guard: refused: guard itself is gone from ")
    assert place.call(of("claude", "ls"), shell=shell) == (0, "", "")
    (place.top / "guard").write_text("#!/nowhere\n")
    (place.top / "guard").chmod(0o755)
    assert place.call(of("claude", "rm x"), shell=shell).status == 2


HOSTILE = {
    "IFS": "a-z/",
    "PATH": "/nowhere",
    "ENV": "/nowhere/env",
    "BASH_ENV": "/nowhere/env",
    "SHELLOPTS": "noexec",
    "BASH_FUNC_echo%%": "() { exit 0; }",
    "BASH_FUNC_case%%": "() { exit 0; }",
    "guard_head": "{}",
    "guard_command": "ls",
    "guard_status": "0",
    "guard_seen": "x",
    "CDPATH": "/",
    "POSIXLY_CORRECT": "1",
}


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_the_environment_has_no_say(shell: list[str], place: Place) -> None:
    place.judge(2)
    program = shutil.which(shell[0])
    assert program is not None
    for payload, status in ((of("claude", "rm -rf specs"), 2), (of("claude", "ls -la"), 0)):
        argv = [program, *shell[1:], str(place.top / "hook"), "claude"]
        assert hooking.call(argv, place.top, payload, **HOSTILE).status == status
    assert (place.top / "environment").read_text() == "/nowhere"


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_it_writes_nothing(shell: list[str], place: Place) -> None:
    before = sorted(os.listdir(place.top))
    place.call(of("claude", "ls"), shell=shell)
    place.call(of("claude", "rm x"), shell=shell)
    assert sorted(os.listdir(place.top)) == before


def test_closed_descriptors_fail_closed(place: Place) -> None:
    place.judge(2)
    argv = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *SHELLS[0], str(place.top / "hook"), "claude"]
    assert hooking.call(argv, place.top, b"").status == 2


def words(pattern: str) -> set[str]:
    """The names that a branch of the script lists."""
    found = re.search(pattern, SCRIPT.read_text().replace("\\\n", ""), re.S)
    assert found is not None
    return set(re.findall(r"[\w-]+", found[1]))


def test_its_tables_are_parts_of_the_tables_of_the_fast_path() -> None:
    assert words(r"\n +(b2sum \|.*?)\) guard_kind=any") <= quick.PLAIN - set(quick.EXCEPT)
    assert words(r"\n +(blame \|.*?)\) guard_kind=git") <= quick.GIT_READS


NAMES = ["ls", "cat", "git", "status", "log", "find", "rg", "echo", "cd", "head", "rm", "sort", "grep", "diff"]
WORDS = """&& || | ; & > < >> 2>&1 2>/dev/null >/dev/null -exec -delete -la --output=x --oneline -o --pre x= x=y ../a . - -- --ext
--textconv -O -c specs/a.md {} $x * ~ # ! ( ) : , @ % + ^ = 2>&1x a|b a;b a&b""".split()
COMMANDS = st.lists(st.sampled_from([*NAMES, *WORDS, "", " "]), max_size=9).map(" ".join)
KEYS = st.sampled_from(
    ["command", "description", "timeout", "cwd", "tool_name", "tool_input", "session_id", "hook_event_name", "x", ""]
)
VALUES = st.one_of(
    st.sampled_from(["ls", "rm x", "Bash", "PreToolUse", "", "a b"]), st.integers(-1, 12), st.booleans(), st.none()
)
OBJECTS = st.dictionaries(KEYS, st.one_of(VALUES, st.dictionaries(KEYS, VALUES, max_size=3)), max_size=4)
DAMAGE = st.sampled_from(["", "", "", '"', "}", "{", ",", ":", "\\", " ", "\n", "ä", ',"command":"rm x"', '"x":1,'])


@given(COMMANDS, OBJECTS, OBJECTS, DAMAGE, st.integers(0, 400), st.sampled_from(SHELLS))
@example("ls", {}, {"timeout": 10, "run_in_background": True}, "", 0, SHELLS[0])
@settings(max_examples=120, deadline=None)
def test_what_it_passes_the_python_side_consents_to(
    command: str, outer: dict[str, Any], inner: dict[str, Any], damage: str, at: int, shell: list[str]
) -> None:
    payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command, **inner}, **outer}
    text = json.dumps(payload, separators=(",", ":"))
    data = (text[:at] + damage + text[at:]).encode()
    run = subprocess.run([*shell, str(SCRIPT), "claude"], input=data, capture_output=True, env={}, check=False, timeout=60)
    assert run.returncode in (0, 2)
    if run.returncode == 0:
        call = read.call(CLIENTS["claude"], read.payload(data))
        assert (call.phase, call.kind) == (BEFORE, SHELL)
        assert quick.harmless(call.arguments["command"]), data


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "copilot", "qwen"])
def test_recorded_payloads_pass_where_they_read(client: str) -> None:
    passed = set()
    for path in hooking.named(f"{client}/*Tool*-*.json", hooking.PAYLOADS)[:40]:
        payload = json.loads(path.read_text())
        arguments = [client, *(["preToolUse"] if client == "copilot" else [])]
        run = subprocess.run(
            [*SHELLS[0], str(SCRIPT), *arguments], input=compact(payload), capture_output=True, env={}, check=False
        )
        if run.returncode == 0:
            passed.add(payload.get("tool_input", payload.get("toolArgs"))["command"])
    assert "ls" in passed  # the commonest of all has to be quick
    assert all(map(quick.harmless, passed))


def test_it_is_found_where_its_directory_is_the_current_one(place: Place) -> None:
    place.judge(2)
    argv = [*SHELLS[0], "hook", "claude"]
    assert hooking.call(argv, place.top, of("claude", "rm x")) == (2, "", "said by the judge\n")


def test_the_real_thing(place: Place, project: Path) -> None:
    start = f'exec {sys.executable} -I -S {hooking.START} "$@"'
    (place.top / "guard").write_text(f"#!/bin/sh\n{start}\n")
    (place.top / "guard").chmod(0o755)
    for command in ("rm -rf specs", "echo ä; rm -r specs # " + "x" * 10_000):
        said = place.call(compact(bash(project, command)))
        assert said.refused
        assert "specs/a.md" in said.error
    assert place.call(compact(bash(project, "rm -rf build # ä"))).consented
