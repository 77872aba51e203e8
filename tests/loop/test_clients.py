"""`guard loop --agent NAME`: what each client is started with, and what comes of what it has printed (recorded streams)."""

from __future__ import annotations

import json
import os
import pty
import stat
from pathlib import Path
from typing import Any

import pytest

from guard import project
from guard.agents import hook_commands, launchers, settings, wiring
from guard.errors import MISSING, GuardError
from guard.loop import allowing, asking, clients
from guard.loop.facts import Tokens
from guard.loop.invocation import Invocation, plain
from guard.loop.reading import Reader, Reading
from guard.loop.spending import USAGE, Meter, spent
from guard.loop.state import Spent
from tests import pseudo_terminal
from tests.e2e.clients import CLIENTS, INSTALLED
from tests.e2e.server import Script, Turn, serving
from tests.loop.bench import EDIT, IP, START, Bench, step
from tests.loop.record_streams import MODELS

STREAMS = Path(__file__).parents[1] / "data/streams"
CALLS: dict[str, dict[str, Any]] = json.loads((STREAMS / "calls.json").read_text())
FAKE = """#!/bin/sh
printf '%s\\n' "$@" >> ../arguments
env > ../environment
cat > ../told
while [ $# -gt 0 ]; do
    [ "$1" = --usage-output-file ] && cat USAGE > "$2"
    shift
done
cat STREAM
exit EXIT
"""
every_client = pytest.mark.parametrize("name", sorted(clients.CLIENTS))
TOKENS = {"in": 500, "out": 100, "cache_read": 0, "cache_write": 0}
HOOK = "'/h/guard/bin/hook' x"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def install(bench: Bench, name: str, scene: str) -> None:
    """Puts a program in the client's place that prints what the client has printed."""
    call = CALLS[f"{name}-{scene}"]
    programs = bench.tmp / "programs"
    programs.mkdir(exist_ok=True)
    (bench.tmp / "usage").write_text(json.dumps(call.get("usage", {})))
    text = FAKE.replace("STREAM", str(STREAMS / f"{name}-{scene}.jsonl")).replace("EXIT", str(call["exit"]))
    (programs / name).write_text(text.replace("USAGE", str(bench.tmp / "usage")))
    (programs / name).chmod(0o755)
    bench.environ = {"PATH": f"{programs}:{os.environ['PATH']}"}
    if name in clients.BY_SETTINGS:
        wire(name, bench.environment())


def wire(name: str, environ: dict[str, str]) -> None:
    """What `guard init --agent` leaves behind."""
    home = project.data_dir(environ)
    assert home is not None
    launchers.ensure(home)
    path, form = wiring.target(name, "me", wiring.base(name, "me", environ, ""))
    document = wiring.wired(name, settings.read(path, form, b"{}"), hook_commands.commands(name, home))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_bytes(document.text.encode())


# --- through the command line


@every_client
def test_it_is_started_with_what_a_loop_needs_and_what_it_prints_is_read(name: str, bench: Bench) -> None:
    install(bench, name, "traps")
    seen = bench.guard("loop", "-n", "1", "--agent", name)
    assert seen.code == 2, seen.err
    arguments = (bench.tmp / "arguments").read_text()
    environment = (bench.tmp / "environment").read_text()
    assert "json" in arguments
    if name in clients.BY_SETTINGS:
        assert "hook" not in arguments
    else:
        assert "bin/hook" in arguments + environment or "bin/opencode.js" in environment
    assert "git *" not in arguments + environment
    assert "Work on the next task of the plan." in (bench.tmp / "told").read_text()
    (ended,), (*_, measured) = bench.events("call_ended"), bench.events("measured")
    assert ended["tokens"] == TOKENS
    assert ended["session"]
    assert (ended["failure"], ended["limit"]) == ("", None)
    reply = measured["reply"]
    assert (reply["format"], reply["explicit"], reply["gaps"]) == ("json", False, [])


def test_it_goes_on_with_a_session_and_each_call_is_counted_once(bench: Bench) -> None:
    install(bench, "codex", "traps")
    assert bench.guard("loop", "-n", "2", "--agent", "codex", "--continue").code == 2
    arguments = (bench.tmp / "arguments").read_text().splitlines()
    first, second = bench.events("call_ended")
    assert arguments.count("resume") == 1
    assert arguments[-3:] == ["resume", first["session"], "-"]
    assert (first["tokens"], set(second["tokens"].values())) == (TOKENS, {0})
    assert bench.status()["tokens"]["hour"] == 600


def test_a_prompt_that_is_too_long_gets_its_own_advice(bench: Bench) -> None:
    install(bench, "claude", "long")
    assert bench.guard("loop", "-n", "1", "--agent", "claude").code == 2
    found = bench.status()
    assert [alert["kind"] for alert in found["alerts"]][:1] == ["prompt_too_long"]
    assert "shorten the prompt" in found["alerts"][0]["detail"]
    assert found["last"]["outcome"] == "failed"


def test_a_client_that_would_not_call_guard_is_not_started(bench: Bench) -> None:
    install(bench, "gemini", "traps")
    (bench.home / ".gemini/settings.json").write_text('{"hooksConfig": {"enabled": false}}')
    seen = bench.guard("loop", "--agent", "gemini")
    assert seen.code == 64
    assert "guard init --agent gemini" in seen.err
    assert not (bench.tmp / "arguments").exists()


def test_v15_a_status_without_a_signal_is_a_claim_and_refused_while_tasks_are_open(bench: Bench) -> None:
    out = "---RALPH_STATUS---\nSTATUS: COMPLETE\nTESTS_STATUS: PASSING\n---END_RALPH_STATUS---\n"
    assert bench.loop([step(EDIT, out=out)], "-n", "1").code == 2
    last = json.loads((bench.directory / "exit_decisions.log").read_text().splitlines()[-1])
    assert (last["claim"], last["explicit"], last["decision"]) == (True, None, "continue")
    assert "tasks_open" in last["refused"]


def test_a_limit_beyond_the_end_of_the_run_ends_it_at_once(bench: Bench) -> None:
    text = f"Claude AI usage limit reached|{START + 30 * 3600}"
    limit = json.dumps({"type": "result", "is_error": True, "result": text, "session_id": "s"})
    assert bench.loop([step(out=limit, exit=1)]).code == 2
    assert (bench.calls, float(bench.time.read_text())) == (1, START)


def test_the_log_says_why_a_call_ended_badly_and_what_a_run_waits_for(bench: Bench) -> None:
    limit = json.dumps({"type": "result", "is_error": True, "result": f"usage limit reached|{START + 7200}", "session_id": "s"})
    steps = [
        step(out='{"type":"error","message":"Overloaded"}', exit=1, err="API Error: 529"),
        step(EDIT),
        step(out=limit, exit=1),
    ]
    assert bench.loop([*steps, step(EDIT)], "-n", "2").code == 2
    text = (bench.directory / "loop.log").read_text()
    assert "[WARN] iteration 1: call 1: failed (exit 1, 529)" in text
    assert "[WARN] iteration 2: call 3: the client's limit is used up (usage), until 2026-11-30T14:00:00Z" in text
    assert "WAIT_USAGE: usage, until 2026-11-30T14:01:" in text
    assert "call 2:" not in text
    assert "call 4:" not in text


def test_words_in_place_of_the_json_that_was_promised_are_kept_for_review(bench: Bench) -> None:
    install(bench, "claude", "traps")
    program = bench.tmp / "programs/claude"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 'Sorry, plain words.'\n")
    assert bench.guard("loop", "-n", "1", "--agent", "claude").code == 2
    assert "review_output" in [event["kind"] for event in bench.events("alert")]
    assert bench.events("measured")[-1]["reply"]["message"] == "sorry, plain words."


def test_documentation_alone_is_a_strong_signal(bench: Bench) -> None:
    bench.loop([step("echo 'A line.' >> README.md"), step(EDIT)], "-n", "2")
    *_, first, second = bench.events("measured")
    assert (first["reply"]["strong"], second["reply"]["strong"]) == (True, False)


def test_a_person_at_the_terminal_is_asked_whether_to_wait_for_the_limit(bench: Bench) -> None:
    limit = json.dumps(
        {"type": "result", "is_error": True, "result": "5-hour limit reached ∙ resets 2am (UTC)", "session_id": "s"}
    )
    argv = bench.argv("loop", "--on-limit", "ask", *bench.agent([step(out=f"{limit}\n", exit=1)]))
    environ = {**bench.environment(), "TERM": "xterm"}
    question = "API 5-hour limit reached. Retry? (y/n)"
    seen = pseudo_terminal.run(argv, bench.top, environ, bench.tmp, says={question: "n"})
    assert (seen.status, bench.calls) == (2, 1), seen
    assert question in seen.shown
    assert bench.status()["exit"]["code"] == 2


@pytest.mark.parametrize(
    ("typed", "declines"),
    [("n\n", True), ("No\n", True), ("y\n", False), ("what?\n", False), ("", False), ("n", False), ("n" * 300 + "\n", False)],
)
def test_only_a_no_ends_the_run_and_no_answer_in_time_waits(typed: str, declines: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PATIENCE_S", 5.0 if typed.endswith("\n") else 0.1)
    child, fd = pty.fork()
    if child == 0:
        os._exit(asking.declines())
    shown = b""
    while b"(y/n) " not in shown:
        shown += os.read(fd, 1000)
    os.write(fd, typed.encode())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == declines
    os.close(fd)
    assert shown == b"API 5-hour limit reached. Retry? (y/n) "


# --- arguments


def made(name: str, *more: str, allowed: tuple[str, ...] = (), **environ: str) -> Invocation:
    return clients.CLIENTS[name](more, {"PATH": "/usr/bin", **environ}, HOOK, allowed)


def test_what_is_allowed_is_said_in_the_words_of_each_client() -> None:
    allowed = (
        "Read",
        "Edit",
        "Bash(git add *)",
        "Bash(git log:*)",
        "Bash(pytest)",
        "Bash(npm test)",
        "Bash(git * main)",
        "WebFetch",
    )
    gemini, qwen, copilot = (made(name, allowed=allowed) for name in ("gemini", "qwen", "copilot"))
    prefixes = [f"--allowed-tools=run_shell_command({words})" for words in ("git add", "git log", "pytest", "npm test")]
    for one, mode in ((gemini, "auto_edit"), (qwen, "auto-edit")):
        assert [word for word in one.words if word.startswith("--allowed")] == [*prefixes, "--allowed-tools=WebFetch"]
        assert one.words[one.words.index("--approval-mode") + 1] == mode
        assert "Bash(git * main)" in one.notes[0]
        assert one.allowed == tuple(entry for entry in allowed if entry != "Bash(git * main)")
    assert [word for word in copilot.words if word.startswith("--allow")] == [
        *("--allow-tool=write", "--allow-tool=shell(git add:*)", "--allow-tool=shell(git log:*)"),
        *("--allow-tool=shell(pytest:*)", "--allow-tool=WebFetch"),
    ]
    assert "Bash(npm test), Bash(git * main)" in copilot.notes[0]
    permission = json.loads(made("opencode", allowed=allowed).environ[clients.OPENCODE])["permission"]
    assert permission["bash"] == {
        "*": "deny",
        "git add *": "allow",
        "git log *": "allow",
        "pytest": "allow",
        "npm test": "allow",
        "git * main": "allow",
    }
    assert (permission["edit"], permission["WebFetch"]) == ("allow", "allow")
    assert next(iter(permission["bash"])) == "*"  # the last one that matches counts


def test_without_a_list_no_client_may_do_everything() -> None:
    for name in clients.CLIENTS:
        text = " ".join((*made(name).words, made(name).environ.get(clients.OPENCODE, "")))
        assert not any(
            wide in text for wide in ("yolo", "--allow-all", "Bash(git *)", "shell(git:*)", "(git)", "bypass-approvals")
        )
        assert "make" not in text
    assert "Bash" not in allowing.NARROW
    for name in ("gemini", "qwen", "copilot"):
        assert not any("write" in word or "edit" in word for word in made(name, allowed=("Read",)).words)
    assert json.loads(made("opencode", allowed=("Read",)).environ[clients.OPENCODE])["permission"]["edit"] == "deny"


def test_a_whole_shell_is_given_only_where_the_list_says_so() -> None:
    assert "--allowed-tools=run_shell_command" in made("gemini", allowed=("Bash",)).words
    assert "--allow-tool=shell" in made("copilot", allowed=("Bash(*)",)).words
    assert json.loads(made("opencode", allowed=("Bash",)).environ[clients.OPENCODE])["permission"]["bash"] == {"*": "allow"}


def test_codex_takes_no_list_and_says_so() -> None:
    with pytest.raises(GuardError) as raised:
        made("codex", allowed=("Read",))
    assert raised.value.code == 64
    assert "--sandbox" in raised.value.todo


@pytest.mark.parametrize(
    ("name", "more", "option", "value"),
    [
        ("codex", ("--sandbox=read-only",), "--sandbox", "workspace-write"),
        ("codex", ("-s", "read-only"), "--sandbox", "workspace-write"),
        ("gemini", ("--yolo",), "--approval-mode", "auto_edit"),
        ("qwen", ("--approval-mode", "plan"), "--approval-mode", "auto-edit"),
    ],
)
def test_what_the_user_says_is_not_said_again(name: str, more: tuple[str, ...], option: str, value: str) -> None:
    words = made(name, *more).words
    assert value not in words
    assert words.count(option) == more.count(option)
    assert value in made(name).words


def test_hooks_are_given_where_nothing_in_the_tree_reaches_them() -> None:
    import tomllib

    words = made("codex").words
    given = tomllib.loads("\n".join(words[at + 1] for at, word in enumerate(words) if word == "-c"))
    assert given["features"] == {"hooks": True}
    assert given["allow_login_shell"] is False
    assert given["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == HOOK
    own = {"plugin": ["mine"], "model": "a/b"}
    config = json.loads(made("opencode", **{clients.OPENCODE: json.dumps(own)}).environ[clients.OPENCODE])
    assert (config["plugin"], config["model"]) == (["mine", HOOK], "a/b")
    with pytest.raises(GuardError):
        made("opencode", **{clients.OPENCODE: "[]"})
    gemini = made("gemini", **{clients.TRUST: "true"})
    assert "--skip-trust" in gemini.words  # so that the project's own settings, which may switch hooks off, are not loaded
    assert clients.TRUST not in gemini.environ


@every_client
def test_a_session_is_named_where_the_client_looks_for_it(name: str) -> None:
    fresh, resumed = made(name, "--model", "m"), made(name, "--model", "m").resumed("s-1")
    rest = [word for word in resumed.words if word not in fresh.words]
    assert rest in (["--resume", "s-1"], ["resume", "s-1"], ["--resume=s-1"], ["--session", "s-1"])
    assert fresh.resumed("") == fresh


def test_values_are_written_as_toml() -> None:
    import tomllib

    value = {"a b": [1, True, "q\"'\\\n\u2028é"], "c": {"d": []}}
    assert tomllib.loads(f"x={clients.toml(value)}") == {"x": value}


def test_a_program_that_is_a_client_is_read_as_one(tmp_path: Path) -> None:
    program = tmp_path / "copilot"
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    found = plain((str(program), "-p", "{prompt}"), {"PATH": "/usr/bin"})
    assert (found.name, found.form, found.reads_input) == ("", "copilot", False)
    with pytest.raises(GuardError) as raised:
        plain(("no-such-program",), {"PATH": "/usr/bin"})
    assert raised.value.code == MISSING


# --- what one call took


def reading(session: str, cost: float = 0.0, tokens: int = 0, goes_on: bool = False) -> Reading:
    made = Reader().finish(0)
    return Reading(made.reply, session=session, cost_usd=cost, tokens=Tokens(input=tokens, output=1), goes_on=goes_on)


def test_a_resumed_session_costs_the_difference() -> None:
    assert spent(reading("a", 0.75), Spent("a", 0.5))[1] == 0.25
    assert spent(reading("a", 0.3), Spent("a", 0.1 + 0.2))[1] == 0  # not all of it
    assert spent(reading("b", 0.5), Spent("a", 0.25))[1] == 0.5
    assert spent(reading("a", 0.25), Spent("a", 0.5))[1] == 0.25  # it began anew
    assert spent(reading("", 0.25), Spent("", 0.1))[1] == 0.25


def test_tokens_that_are_counted_on_are_subtracted() -> None:
    before = Spent("a", 0, Tokens(input=100))
    assert spent(reading("a", 0, 250, True), before)[0].input == 150
    assert spent(reading("a", 0, 40, True), before)[0].input == 40
    assert spent(reading("a", 0, 250), before)[0].input == 250


def test_the_file_of_tokens_is_read_once_and_only_if_it_is_one(tmp_path: Path) -> None:
    meter = Meter(str(tmp_path))
    (tmp_path / USAGE).write_text("{}")
    assert (meter.told(), meter.told()) == (b"{}", b"")
    os.mkfifo(tmp_path / USAGE)
    assert meter.told() == b""
    (tmp_path / "secret").write_text("secret")
    os.symlink(tmp_path / "secret", tmp_path / USAGE)
    assert meter.told() == b""


# --- the clients themselves


@pytest.mark.skipif(not os.environ.get("GUARD_E2E"), reason="needs GUARD_E2E=1, and the clients in GUARD_E2E_CLIENTS")
@every_client
def test_the_client_itself_works_in_a_loop(name: str, bench: Bench) -> None:
    if not os.access(f"{INSTALLED}/{name}/node_modules/.bin/{name}", os.X_OK):
        pytest.skip("it is not installed")
    client = CLIENTS[name]
    for path, text in client.settings.items():
        (bench.home / path).parent.mkdir(parents=True, exist_ok=True)
        (bench.home / path).write_text(text)
    turns = (Turn("", (client.shell("rm -r specs"),)), Turn("", (client.shell("git status; make all"),)), Turn(f"I go on.\n{IP}"))
    with serving(Script(turns, "Work on")) as server:
        bench.clock = False
        bench.environ = {**client.environment(server.url), "TERM": "dumb"}
        bench.environ["PATH"] = f"{INSTALLED}/{name}/node_modules/.bin:{os.environ['PATH']}"
        if name in clients.BY_SETTINGS:
            assert bench.guard("init", "--yes", "--agent", name).code == 0
        seen = bench.guard("loop", "-n", "1", "--agent", name, "--", *MODELS[name](server.url))
    assert seen.code == 2, seen.err
    assert (bench.top / "specs/a.md").exists()
    last, (ended,) = bench.status()["last"], bench.events("call_ended")
    assert last["outcome"] == "ok"
    assert ended["tokens"]["in"] >= 300
    assert bool(last["gaps"]) is (name != "codex")
    assert last["refusal"] == ("" if name == "qwen" else "specs/a.md")
