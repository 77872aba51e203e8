"""Settings are merged in place: what stands there stays, twice is once, and taking guard out gives the file of before."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.agents import changes, hook_commands, json_edit, json_nodes, made, plans, settings, wiring, writing
from guard.agents.plans import Where
from guard.agents.settings import Document
from guard.agents.table import CLIENTS, READ
from guard.agents.wirings import JSON, JSONC, ME, PLUGIN, SYSTEM, TEAM, TOML, WIRINGS
from guard.errors import GuardError

HOME = "/home/u s/.local/share/guard"
STRICT = [client for client in WIRINGS if WIRINGS[client].me[0].format == JSON]
COMMENTED = [client for client in WIRINGS if WIRINGS[client].me[0].format == JSONC]


def wired(client: str, data: bytes, format: str | None = None, home: str = HOME) -> Document:
    document = settings.read("/settings", format or WIRINGS[client].me[0].format, data)
    return wiring.wired(client, document, hook_commands.commands(client, home))


def script(path: Path, arguments: str, status: int) -> None:
    """A program that ends with a status, saying why where that is a refusal, if it is called with these arguments."""
    path.write_text(f'#!/bin/sh\n[ "$*" = "{arguments}" ] || exit 9\n[ {status} = 2 ] && echo why >&2\nexit {status}\n')
    path.chmod(0o755)


def without_guard(value: Any) -> Any:
    """The value with everything that calls guard taken out by hand, and what is empty then."""
    if isinstance(value, list):
        kept = [without_guard(item) for item in value if not (isinstance(item, str) and "/guard/bin/" in item)]
        return [item for item in kept if item is not None]
    if not isinstance(value, dict):
        return value
    if any(isinstance(inner, str) and "/guard/bin/hook" in inner for inner in value.values()):
        return None
    found = {key: without_guard(inner) for key, inner in value.items()}
    if "hooks" in value and value["hooks"] and found["hooks"] == [] and set(value) <= {"matcher", "hooks"}:
        return None
    return {key: inner for key, inner in found.items() if not (inner in ([], {}) and value[key] not in ([], {}))}


CORPUS: dict[str, bytes] = {
    "empty object": b"{}",
    "empty object and newline": b"{}\n",
    "empty over two lines": b"{\n}\n",
    "minified": b'{"model":"opus","permissions":{"allow":["Bash(ls:*)"]}}',
    "one line": b'{"model": "opus", "env": {"A": "b"}}\n',
    "two blanks": b'{\n  "model": "opus"\n}\n',
    "four blanks, no newline": b'{\n    "model": "opus",\n    "env": {}\n}',
    "tabs": b'{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Notification": []\n\t}\n}\n',
    "odd indentation": b'{\n      "a" : 1 ,\n "b":\n   [ 1,\n2 ]\n  }\n\n\n',
    "CRLF": b'{\r\n  "model": "opus",\r\n  "x": [\r\n    1\r\n  ]\r\n}\r\n',
    "byte order mark": b'\xef\xbb\xbf{\n  "model": "opus"\n}\n',
    "foreign hooks": json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}], "Other": []}}, indent=3
    ).encode(),
    "escapes": '{"\\u0068ome": "ü\\ud83d\\ude00 \\"", "n": 1e3, "big": 123456789012345678901234567890}'.encode(),
    "brackets in texts": b'{"a": "}, ]//", "b": "/* x */"}',
}


@pytest.mark.parametrize("client", [client for client in WIRINGS if client != "codex"])
@pytest.mark.parametrize("name", CORPUS)
def test_everything_else_stays_and_twice_is_once(client: str, name: str) -> None:
    data = CORPUS[name]
    document = wired(client, data)
    assert wired(client, document.data).data == document.data
    events = [entry.event for entry in wiring.entries(client, document)]
    assert sorted(events) == sorted(WIRINGS[client].events or ["plugin"])
    before = json.loads(data.decode("utf-8-sig"))
    rest = without_guard(document.value)
    assert {key: rest[key] for key in before if key in rest} == {key: before[key] for key in before if key in rest}
    assert set(before) - set(rest) <= {"hooks"}
    assert document.data.startswith(settings.MARK) == data.startswith(settings.MARK)
    assert (b"\r\n" in document.data) == (b"\r\n" in data)
    assert b"\r\n" not in data or b"\n" not in document.data.replace(b"\r\n", b"")
    assert document.data.endswith(b"\n") == data.endswith(b"\n")
    lines = document.data.splitlines()
    touched = {b"}", b"]", b"{", b"[", b"{}"}  # a comma may have come behind the last element
    assert (
        all(line in lines or line + b"," in lines or line.strip() in touched for line in data.splitlines())
        or b"\n" not in data.strip()
    )


@pytest.mark.parametrize("client", COMMENTED)
def test_comments_and_trailing_commas_stay_where_the_client_reads_them(client: str) -> None:
    first = b'// top\r\n{\r\n  /* a */ "theme": "dark", // behind, with a comma\r\n'
    data = first + b'  "x": [1, 2,], // last\r\n  // before the end\r\n}\r\n// end'
    document = wired(client, data)
    for comment in (b"// top", b"/* a */", b"// behind, with a comma", b"// last", b"// before the end", b"// end"):
        assert document.data.count(comment) == 1
    assert wired(client, document.data).data == document.data
    assert wiring.unwired(client, document).value == {"theme": "dark", "x": [1, 2]}


@pytest.mark.parametrize("client", STRICT)
def test_a_comment_where_the_client_reads_none_is_an_error_with_its_line(client: str) -> None:
    with pytest.raises(GuardError, match=r"comment") as caught:
        wired(client, b'{\n  "a": 1 // no\n}')
    assert caught.value.where == "/settings:2:10"
    assert caught.value.code == 64


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b'{"a": }', "1:7"),
        (b'{\n  "a": 1,\n}', "3:1"),
        (b'{"a": 1} x', "1:10"),
        (b'{"a": tru}', "1:7"),
        (b'{"a": 01}', "1:7"),
        (b'{"a": "x\ny"}', "1:7"),
        (b"[1]", "1"),
        (b'"x"', "1"),
        (b'{"a": \xff}', "1"),
        (b'{"a"', "1:5"),
        (b"[" * 5000, "1:102"),
        (b'{"hooks": []}', "1"),
        (b'{\n"hooks": null}', "2"),
        (b'{"hooks": {"PreToolUse": null}}', "1"),
        (b'{\n"hooks": {\n"PreToolUse": {}}}', "3"),
    ],
)
def test_what_is_broken_is_told_with_its_place(data: bytes, where: str) -> None:
    with pytest.raises(GuardError) as caught:
        wired("claude", data)
    assert caught.value.where == f"/settings:{where}"
    assert caught.value.todo


def test_an_old_command_is_replaced_by_the_new_one() -> None:
    for client in WIRINGS:
        old = wired(client, b"", home="/old place/guard")
        new = wiring.wired(client, old, hook_commands.commands(client, HOME))
        assert new.value == wired(client, b"").value
        assert "/old place/" not in new.text


def test_foreign_hooks_of_the_same_group_stay() -> None:
    own = hook_commands.command("claude", "/old/guard", "PreToolUse")
    group = {"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}, {"type": "command", "command": own}]}
    document = wired("claude", json.dumps({"hooks": {"PreToolUse": [group]}}).encode())
    assert document.get("hooks", "PreToolUse", 0, "hooks") == [{"type": "command", "command": "a"}]
    assert wiring.unwired("claude", document).value == {
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}]}]}
    }


def test_what_the_user_has_tuned_stays() -> None:
    document = wired("claude", b"{}")
    tuned = document.text.replace('"timeout": 60', '"timeout": 90')
    assert wired("claude", tuned.encode()).text == tuned


@pytest.mark.parametrize("matcher", ["Bash", "Bash|Write", "Bash|Write|Edit|MultiEdit", "mcp__.*", "("])
def test_a_narrow_matcher_is_replaced(matcher: str) -> None:
    document = wired("claude", b"{}")
    narrowed = document.text.replace('"*"', json.dumps(matcher), 1)
    assert wired("claude", narrowed.encode()).get("hooks", "PreToolUse", 0, "matcher") == "*"


MATTERING = [tool for tool, kind in CLIENTS["claude"].tools.items() if kind != READ]


@pytest.mark.parametrize("matcher", ["*", "", ".*", "|".join([*MATTERING, "mcp__.*"]), "^(?!Read$).*"])
def test_a_wide_matcher_stays(matcher: str) -> None:
    document = wired("claude", b"{}")
    changed = document.text.replace('"*"', json.dumps(matcher), 1)
    assert wired("claude", changed.encode()).text == changed


def test_entries_are_found_in_every_form_that_guard_writes() -> None:
    for client in WIRINGS:
        if WIRINGS[client].shape == PLUGIN:
            continue
        for text in (
            *hook_commands.commands(client, HOME).values(),
            *hook_commands.shared(client).values(),
            *hook_commands.shared(client, hook_commands.WARN).values(),
            f"guard hook {client}",
        ):
            key = WIRINGS[client].key
            document = settings.read("/s", JSON, json.dumps({"hooks": {"E": [{key: text, "hooks": [{key: text}]}]}}).encode())
            assert [entry.command for entry in wiring.entries(client, document)] == [text]
        for text in ("echo hook claude", "my-guard-hook claude", "/x/bin/hook claude", "lifeguard hook claude"):
            document = settings.read("/s", JSON, json.dumps({"hooks": {"E": [{"hooks": [{"command": text}]}]}}).encode())
            assert not list(wiring.entries("claude", document))


@pytest.mark.parametrize("client", [client for client in WIRINGS if WIRINGS[client].shape != PLUGIN])
@pytest.mark.parametrize(("status", "result"), [(0, 0), (1, 2), (2, 2), (70, 2), (126, 2), (None, 2)])
def test_the_command_fails_closed(client: str, status: int | None, result: int, tmp_path: Path) -> None:
    home = tmp_path / "it's here/guard"
    (home / "bin").mkdir(parents=True)
    if status is not None:
        (home / "bin/hook").write_text(
            f'#!/bin/sh\n[ "$1" = {client} ] || exit 9\n[ {status} = 2 ] && echo why >&2\nexit {status}\n'
        )
        (home / "bin/hook").chmod(0o755)
    row = WIRINGS[client]
    for event, command in hook_commands.commands(client, str(home)).items():
        run = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        assert run.returncode == (row.missing if event in row.ending and result else result)
        assert run.stdout == ""
        assert bool(run.stderr) == (result == 2)


@pytest.mark.parametrize("client", [client for client in WIRINGS if wiring.places(client, TEAM)])
@pytest.mark.parametrize("missing", [hook_commands.BLOCK, hook_commands.WARN])
def test_a_committed_command_blocks_or_warns_where_guard_is_missing(client: str, missing: str, tmp_path: Path) -> None:
    row = WIRINGS[client]
    event = row.blocking[0]
    call = f"hook {client} {event}" if row.named else f"hook {client}"
    text = hook_commands.committed(client, event, missing)
    run = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, env={"PATH": "/nonexistent"})
    assert run.returncode == (2 if missing == hook_commands.BLOCK else WIRINGS[client].missing)
    assert "uv tool install pathguard" in run.stderr
    for status, result in ((0, 0), (2, 2), (1, 2), (70, 2)):
        (tmp_path / "pathguard").write_text(
            f'#!/bin/sh\n[ "$*" = "{call}" ] || exit 9\n[ {status} = 2 ] && echo why >&2\nexit {status}\n'
        )
        (tmp_path / "pathguard").chmod(0o755)
        run = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, env={"PATH": str(tmp_path)})
        assert run.returncode == result
        assert bool(run.stderr) == (result == 2)


def test_no_url_stands_in_a_command() -> None:
    assert all(
        "://" not in text
        for client in WIRINGS
        if WIRINGS[client].shape != PLUGIN
        for text in (*hook_commands.commands(client, HOME).values(), *hook_commands.shared(client).values())
    )


TOML_CORPUS = {
    "empty": b"",
    "comments": b'# mine\nmodel = "x"   # why\n\n[projects."/a b"]\ntrust_level = "trusted"\n',
    "features": b"[features]\nweb = true # yes\n",
    "features in one line": b"features = {web = true}\n",
    "features as dotted keys": b"features.web = true\nmodel = 'x'\n",
    "foreign hooks": b"[[hooks.PreToolUse]]\nmatcher = 'Bash'\n[[hooks.PreToolUse.hooks]]\ntype = 'command'\ncommand = 'mine'\n",
    "state": b'[hooks.state."/x:pre_tool_use:0:0"]\ntrusted_hash = "sha256:1"\n',
    "CRLF": b'model = "x" # c\r\n[features]\r\nweb = true\r\n',
    "byte order mark": b'\xef\xbb\xbfmodel = "x"\n',
    "no newline": b'model = "x"',
}


@pytest.mark.parametrize("name", TOML_CORPUS)
def test_toml_keeps_everything_else(name: str) -> None:
    data = TOML_CORPUS[name]
    document = wired("codex", data, TOML)
    assert wired("codex", document.data, TOML).data == document.data
    assert [entry.event for entry in wiring.entries("codex", document)] == list(WIRINGS["codex"].events)
    assert document.get("features", "hooks") is True
    before = tomllib.loads(data.decode("utf-8-sig"))
    after = wiring.unwired("codex", document).value
    after.get("features", {}).pop("hooks", None)
    assert {key: value for key, value in after.items() if value} == before
    assert (b"\r\n" in document.data) == (b"\r\n" in data)
    assert b"\r\n" not in data or b"\n" not in document.data.replace(b"\r\n", b"")
    for line in data.removeprefix(settings.MARK).splitlines():
        assert line in document.data.removeprefix(settings.MARK).splitlines() or line.startswith(b"features = {")


def test_a_switch_that_is_off_is_not_turned() -> None:
    document = wired("codex", b"[features]\nhooks = false\n", TOML)
    assert document.get("features", "hooks") is False


@pytest.mark.parametrize("data", [b"[[features]]\nx = 1\n", b"hooks = 3\n", b"hooks.PreToolUse = 'x'\n", b"x = \n", b"\xff"])
def test_toml_that_cannot_be_merged_is_an_error(data: bytes) -> None:
    with pytest.raises(GuardError) as caught:
        wired("codex", data, TOML)
    assert caught.value.where.startswith("/settings")


def test_hooks_in_one_line_of_toml_are_left_to_the_user() -> None:
    with pytest.raises(GuardError):
        wired("codex", b"hooks = {PreToolUse = []}\n", TOML)


KEYS = st.text(max_size=6) | st.sampled_from(["hooks", "PreToolUse", "matcher", "plugin", "version", "command"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
HOOK = st.fixed_dictionaries({"command": st.text(max_size=5)})
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(HOOK, min_size=1, max_size=2)}), max_size=2)
HOOKS = st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "BeforeTool", "x"]), GROUPS, max_size=3)
LAYOUT = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(
    rest=st.dictionaries(KEYS.filter(lambda key: key not in ("hooks", "plugin", "version")), VALUES, max_size=4),
    hooks=st.none() | HOOKS,
    layout=LAYOUT,
    client=st.sampled_from([client for client in WIRINGS if client != "codex"]),
    escaped=st.booleans(),
)
def test_merging_keeps_every_value_and_unwiring_inverts(
    rest: dict[str, Any], hooks: dict[str, Any] | None, layout: Any, client: str, escaped: bool
) -> None:
    value = rest if hooks is None else {**rest, "hooks": hooks}
    data = json.dumps(value, indent=layout, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    document = wired(client, data)
    assert {key: document.value[key] for key in rest} == rest
    for event, groups in (hooks or {}).items():
        assert document.value["hooks"][event][: len(groups)] == groups
    assert wired(client, document.data).data == document.data
    back = wiring.unwired(client, document).value
    emptied = {event for event, groups in (hooks or {}).items() if not groups}
    expected = dict(value)
    if hooks is not None and client != "opencode":
        kept = {event: groups for event, groups in hooks.items() if event not in emptied or event not in WIRINGS[client].events}
        expected = {**rest, "hooks": kept} if kept else rest
    assert back.keys() - {"version"} == expected.keys() - {"version"}
    assert {key: inner for key, inner in back.items() if key != "version"} == expected


@given(value=VALUES, layout=LAYOUT)
def test_the_parser_agrees_with_the_library(value: Any, layout: Any) -> None:
    text = json.dumps(value, indent=layout)
    assert json_nodes.parse(text).value == value


@given(text=st.text(alphabet='{}[]":,0123456789.eE+-truefalsn \n\t\\/*ux', max_size=24))
def test_the_parser_takes_what_the_library_takes(text: str) -> None:
    def strict(word: str) -> Any:
        raise ValueError(word)

    try:
        wanted = json.loads(text, parse_constant=strict)
    except (ValueError, RecursionError):
        with pytest.raises(json_nodes.NotJson):
            json_nodes.parse(text)
    else:
        assert json_nodes.parse(text).value == wanted


@given(value=st.dictionaries(KEYS, VALUES, max_size=4), layout=LAYOUT, new=VALUES, key=KEYS)
def test_insertion_and_removal_are_inverse(value: dict[str, Any], layout: Any, new: Any, key: str) -> None:
    if key in value:
        return
    text = json.dumps(value, indent=layout)
    added = json_edit.insert(text, (key,), new)
    assert json_nodes.parse(added).value == {**value, key: new}
    assert json_edit.remove(added, (key,)) == text or value == {}


@pytest.fixture
def where(tmp_path: Path) -> Where:
    return Where(ME, {"HOME": str(tmp_path)}, home=f"{tmp_path}/data/guard")


def around(where: Where, clients: list[str], between: Callable[[], None] = lambda: None) -> list[made.Made]:
    """Wires, does something, and takes the wiring away again; gives the record in between."""
    made = changes.write([plans.wire(client, where) for client in clients])
    between()
    planned, _, done = plans.unwire(where, made)
    changes.write(planned)
    plans.undone(made, done)
    return made


@pytest.mark.parametrize("data", [*CORPUS.values(), b"", b"\n", b" \t\n"], ids=[*CORPUS, "empty", "newline", "blanks"])
def test_out_again_gives_the_bytes_of_before(data: bytes, where: Where, tmp_path: Path) -> None:
    path = tmp_path / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(data)
    path.chmod(0o640)

    def between() -> None:
        assert path.read_bytes() != data
        assert path.stat().st_mode & 0o777 == 0o640

    around(where, ["claude"], between)
    assert path.read_bytes() == data


def test_what_was_made_is_gone_again(where: Where, tmp_path: Path) -> None:
    made = around(where, list(WIRINGS))
    assert len(made) == len(WIRINGS)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_the_client_has_rewritten_loses_only_guards_entries(where: Where, tmp_path: Path) -> None:
    path = tmp_path / ".claude/settings.json"

    def rewrite() -> None:
        value = json.loads(path.read_text())
        path.write_text(json.dumps({"theme": "dark", **value}, indent=4))

    around(where, ["claude"], rewrite)
    assert json.loads(path.read_text()) == {"theme": "dark"}


def test_a_link_is_written_through(where: Where, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".claude").mkdir()
    real, link = tmp_path / "dotfiles/claude.json", tmp_path / ".claude/settings.json"
    real.write_text('{"a": 1}')
    link.symlink_to("../dotfiles/claude.json")

    def between() -> None:
        assert link.is_symlink()
        assert "guard" in real.read_text()

    around(where, ["claude"], between)
    assert link.is_symlink()
    assert real.read_text() == '{"a": 1}'


def test_a_link_to_nowhere_is_an_error(where: Where, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").symlink_to("/no/such/place/settings.json")
    with pytest.raises(GuardError, match="link"):
        plans.wire("claude", where)


def test_a_read_only_file_is_left_alone_and_so_are_the_others(where: Where, tmp_path: Path) -> None:
    path = tmp_path / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text("x = 1\n")
    path.chmod(0o444)
    with pytest.raises(GuardError, match="read-only"):
        changes.write([plans.wire(client, where) for client in ("claude", "codex")])
    assert path.read_text() == "x = 1\n"
    assert not (tmp_path / ".claude").exists()


def test_when_one_write_fails_the_others_are_taken_back(where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"a": 1}')
    planned = [plans.wire(client, where) for client in ("claude", "gemini", "qwen")]
    put, count = writing.put, iter(range(9))

    def failing(path: str, data: bytes, mode: int | None = None) -> None:
        if next(count) == 2:
            raise OSError(28, "No space left on device", path)
        put(path, data, mode)

    monkeypatch.setattr(writing, "put", failing)
    with pytest.raises(GuardError, match="No space left"):
        changes.write(planned)
    assert (tmp_path / ".claude/settings.json").read_text() == '{"a": 1}'
    assert sorted(os.listdir(tmp_path)) == [".claude"]
    assert os.listdir(tmp_path / ".claude") == ["settings.json"]


def test_a_file_that_changes_meanwhile_is_not_overwritten(where: Where, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{}")
    planned = [plans.wire("claude", where)]
    (tmp_path / ".claude/settings.json").write_text('{"new": 1}')
    with pytest.raises(GuardError, match="somebody else"):
        changes.write(planned)
    assert (tmp_path / ".claude/settings.json").read_text() == '{"new": 1}'


def test_the_record_keeps_what_was_there_first(where: Where, tmp_path: Path) -> None:
    state = f"{tmp_path}/state"
    (tmp_path / ".claude").mkdir()
    path = tmp_path / ".claude/settings.json"
    path.write_text('{"a":1}')
    made.remember(state, changes.write([plans.wire("claude", where)]))
    later = Where(ME, where.environ, home="/other/guard")
    made.remember(state, changes.write([plans.wire("claude", later)]))
    record = made.remembered(state)
    assert [made.before for made in record] == [b'{"a":1}']
    assert os.stat(f"{state}/{made.RECORD}").st_mode & 0o777 == 0o600
    planned, _, _ = plans.unwire(later, record)
    changes.write(planned)
    assert path.read_text() == '{"a":1}'


def test_who_is_killed_while_writing_can_still_take_it_back(
    where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = f"{tmp_path}/state"
    (tmp_path / ".claude").mkdir()
    path = tmp_path / ".claude/settings.json"
    path.write_text('{"a":1}')
    planned = [plans.wire(client, where) for client in ("claude", "gemini")]
    child = os.fork()
    if child == 0:
        put, count = writing.put, iter(range(9))

        def dying(*words: Any) -> None:
            if next(count) == 2:  # the record, the first file, then death
                os._exit(9)
            put(*words)

        writing.put = dying
        changes.apply(state, planned)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert "guard" in path.read_text()
    record = made.remembered(state)
    back, _, done = plans.unwire(where, record)
    changes.take_back(state, back, done)
    plans.undone(record, done)
    assert path.read_text() == '{"a":1}'
    assert sorted(os.listdir(tmp_path)) == [".claude", "state"]
    assert made.remembered(state) == []


def test_a_failure_leaves_the_record_as_it_was(where: Where, tmp_path: Path) -> None:
    state = f"{tmp_path}/state"
    changes.apply(state, [plans.wire("claude", where)])
    before = made.remembered(state)
    planned = [plans.wire("gemini", where)]
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/settings.json").write_text("{}")
    with pytest.raises(GuardError, match="somebody else"):
        changes.apply(state, planned)
    assert made.remembered(state) == before


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"files": 3}', b'{"files": [{}]}', b'{"files": [{"path": 1}]}'])
def test_a_damaged_record_is_told(data: bytes, tmp_path: Path) -> None:
    (tmp_path / made.RECORD).write_bytes(data)
    with pytest.raises(GuardError, match="record"):
        made.remembered(str(tmp_path))


def test_codex_gets_its_hooks_where_the_user_has_them(where: Where, tmp_path: Path) -> None:
    assert plans.wire("codex", where).path.endswith("/.codex/config.toml")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text("")
    (tmp_path / ".codex/hooks.json").write_text("{}")
    assert plans.wire("codex", where).path.endswith("/.codex/hooks.json")


@pytest.mark.parametrize(
    ("variable", "value", "path"),
    [
        ("CLAUDE_CONFIG_DIR", "/c", "/c/settings.json"),
        ("CODEX_HOME", "/c/", "/c/config.toml"),
        ("GEMINI_CLI_HOME", "/c", "/c/.gemini/settings.json"),
        ("XDG_CONFIG_HOME", "/c", "/c/opencode/opencode.json"),
        ("CLAUDE_CONFIG_DIR", "relative", "/h/.claude/settings.json"),
    ],
)
def test_the_clients_own_variables_say_where_their_settings_are(variable: str, value: str, path: str) -> None:
    client = {"CLAUDE": "claude", "CODEX": "codex", "GEMINI": "gemini", "XDG": "opencode"}[variable.partition("_")[0]]
    directory = wiring.base(client, ME, {"HOME": "/h", variable: value}, "")
    assert wiring.target(client, ME, directory)[0] == path


def test_every_client_of_the_table_has_a_row() -> None:
    assert set(WIRINGS) == set(CLIENTS)
    for client, row in WIRINGS.items():
        events = CLIENTS[client].events
        assert set(row.events) <= set(events)
        assert set(row.blocking) <= {event for event in row.events if events[event] == "before"}
        assert bool(row.blocking) == (row.shape != PLUGIN)
        assert not set(row.trust) - {ME, TEAM, SYSTEM}
