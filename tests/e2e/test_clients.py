"""Real clients, wired by `guard init`: what would be lost is refused or comes back, the model is told, ordinary work goes on."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.clients import CLIENTS
from tests.e2e.conftest import PLAN, TREE, Place, new_place, wired
from tests.e2e.record import FILES_SERVER
from tests.e2e.server import Call, Turn

Make = Callable[[str], Place]

# How a client runs a command that its tool does not wait for.
BACKGROUND: dict[str, Callable[[str], Call]] = {
    "claude": lambda command: Call("Bash", {"command": command, "description": "do it", "run_in_background": True}),
    "gemini": lambda command: Call("run_shell_command", {"command": command, "description": "do it", "is_background": True}),
    "qwen": lambda command: Call("run_shell_command", {"command": command, "description": "do it", "is_background": True}),
    "copilot": lambda command: Call("bash", {"command": command, "description": "do it", "mode": "async", "shellId": "one"}),
}
every_client = pytest.mark.parametrize("name", CLIENTS)


def removing(name: str, path: str) -> str:
    """The command that removes a directory: Codex has a rule of its own against the usual one."""
    return f"rm {'-r' if name == 'codex' else '-rf'} {path}"


@every_client
def test_without_guard_the_client_destroys(make_place: Make, name: str) -> None:
    place = make_place(name)
    place.agent(place.client.shell(removing(name, "specs")))
    assert place.lost() == ["specs/a.md", "specs/deep/b.md"]


COMMANDS = [
    "rm -r specs",
    "rm -rf specs",
    "cd specs && rm -f *.md",
    "find . -name '*.md' -delete",
    "make wipe",
    "git rm -rfq specs",
    ": > CLAUDE.md",
    "python3 -c \"import shutil; shutil.rmtree('specs')\"",
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, etc: Path) -> Callable[[str], dict[str, str]]:
    """What a client's model was told of each of the commands, and "lost" of the files that were gone in the end."""
    found: dict[str, dict[str, str]] = {}

    def of(name: str) -> dict[str, str]:
        if name not in found:
            place = wired(new_place(name, tmp_path_factory.mktemp(name).resolve(), etc))
            ended = place.agent(*map(place.client.shell, COMMANDS))
            found[name] = {**dict(zip(COMMANDS, ended.results, strict=True)), "lost": " ".join(place.lost())}
        return found[name]

    return of


@every_client
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_destroys_is_refused_and_the_model_told_why(
    results: Callable[[str], dict[str, str]], name: str, command: str
) -> None:
    said = results(name)[command]
    if name == "codex" and command == "rm -rf specs":
        assert "not permitted" in said or "refused" in said  # Codex has a rule of its own against it
        return
    assert "guard: refused" in said
    assert "CLAUDE.md" in said or "specs/a.md" in said or "a.md" in said


@every_client
def test_nothing_is_lost_by_commands_that_destroy(results: Callable[[str], dict[str, str]], name: str) -> None:
    assert results(name)["lost"] == ""


@every_client
def test_a_write_that_empties_is_refused(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    calls = [place.client.write(place.path("CLAUDE.md"), "\n")]
    ended = place.agent(*place.reading("CLAUDE.md"), *calls)
    assert place.lost() == []
    assert "refused" in ended.results[-1], ended.results


@every_client
def test_an_edit_goes_through(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    edit = place.client.edit(place.path("CLAUDE.md"), "Write short functions.", "Write functions of one screen.")
    ended = place.agent(*place.reading("CLAUDE.md"), edit)
    assert place.read("CLAUDE.md") == TREE["CLAUDE.md"].replace("Write short functions.", "Write functions of one screen.")
    assert not any("refused" in result for result in ended.results)


@every_client
def test_what_no_text_tells_comes_back_and_the_model_is_told(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    with zipfile.ZipFile(place.project / "wipe.pyz", "w") as program:
        program.writestr("__main__.py", "import os, shutil\nshutil.rmtree('specs')\nprint(os.path.exists('specs'))\n")
    ended = place.agent(place.client.shell("python3 wipe.pyz"))
    assert "False" in ended.results[0], "it has to run"
    assert place.lost() == []
    assert "specs/a.md" in ended.told, ended.requests[-1]
    assert "restored" in ended.told, ended.requests[-1]


@every_client
def test_a_python_one_liner_that_hides_what_it_does_is_undone(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    code = "__import__('shutil').__dict__['rm' + 'tree']('sp' + 'ecs'); print(__import__('os').path.exists('sp' + 'ecs'))"
    ended = place.agent(place.client.shell(f'python3 -c "{code}"'))
    assert "False" in ended.results[0], "it has to run"
    assert place.lost() == []
    assert "restored" in ended.told, ended.requests[-1]


@pytest.mark.parametrize("name", BACKGROUND)
def test_what_a_background_command_loses_comes_back(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    with zipfile.ZipFile(place.project / "wipe.pyz", "w") as program:
        program.writestr("__main__.py", "import shutil, time\ntime.sleep(1)\nshutil.rmtree('specs')\n")
    place.agent(BACKGROUND[name]("python3 wipe.pyz"), place.client.shell("sleep 1.5"), place.client.shell("touch src/new.py"))
    assert place.lost() == []


@every_client
def test_ordinary_work_goes_on(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    ended = place.agent(
        place.client.shell(removing(name, "build")),
        place.client.shell("sed -i 's/- \\[ \\] write the parser/- [x] write the parser/' IMPLEMENTATION_PLAN.md"),
        place.client.shell(
            "echo 'rm -rf specs' > src/note.txt && git add -A && git commit -qm 'do not rm -rf specs' && git status"
        ),
        place.client.write(place.path("specs/new.md"), "# New\n"),
    )
    assert place.read("build/x.o") is None
    assert place.read("IMPLEMENTATION_PLAN.md") == PLAN.replace("[ ] write the parser", "[x] write the parser")
    assert place.read("src/note.txt") == "rm -rf specs\n"
    assert place.read("specs/new.md") == "# New\n"
    assert not any("refused" in result for result in ended.results), ended.results


def test_a_patch_that_deletes_is_refused_in_codex(make_guarded: Make) -> None:
    place = make_guarded("codex")
    remove = place.client.remove
    assert remove is not None
    ended = place.agent(remove("specs/a.md"), remove("src/main.py"))
    assert place.lost() == []
    assert "refused" in ended.results[0]
    assert place.read("src/main.py") is None


def test_a_notebook_may_be_edited_but_not_emptied_in_claude(make_guarded: Make) -> None:
    place = make_guarded("claude")
    cells = [
        {"cell_type": "markdown", "id": name, "metadata": {}, "source": [text]}
        for name, text in (("one", "# One"), ("two", "# Two"))
    ]
    book = place.project / "specs/book.ipynb"
    book.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    path = str(book)
    ended = place.agent(
        Call("Read", {"file_path": path}),
        Call("NotebookEdit", {"notebook_path": path, "cell_id": "one", "new_source": "# Ein", "edit_mode": "replace"}),
        Call("NotebookEdit", {"notebook_path": path, "cell_id": "two", "new_source": "", "edit_mode": "delete"}),
        Call("NotebookEdit", {"notebook_path": path, "cell_id": "one", "new_source": "", "edit_mode": "delete"}),
        Call("NotebookEdit", {"notebook_path": path, "cell_id": "one", "new_source": " ", "edit_mode": "replace"}),
    )
    assert ["guard: refused" in result for result in ended.results] == [False, False, False, True, True], ended.results
    assert [cell["source"] for cell in json.loads(book.read_text())["cells"]] in (["# Ein"], [["# Ein"]])


def test_claude_shows_the_reason_and_nothing_of_the_hooks_command(make_guarded: Make) -> None:
    place = make_guarded("claude")
    ended = place.agent(place.client.shell("rm -rf specs"))
    assert "bin/hook" not in ended.results[0], ended.results
    assert ended.results[0].removeprefix("PreToolUse:Bash hook error: ").startswith("guard: refused."), ended.results
    assert place.lost() == []


def test_tools_of_a_foreign_server_are_judged_in_claude(make_guarded: Make) -> None:
    place = make_guarded("claude")
    server = {"command": sys.executable, "args": [str(FILES_SERVER)]}
    (place.home / ".claude.json").write_text(json.dumps({"mcpServers": {"files": server}}))
    ended = place.agent(
        Call("mcp__files__delete_file", {"path": place.path("specs/a.md")}),
        Call("mcp__files__move_file", {"source": place.path("CLAUDE.md"), "destination": place.path("src/CLAUDE.md")}),
        Call("mcp__files__write_file", {"path": place.path("AGENTS.md"), "content": "\n"}),
        Call("mcp__files__delete_file", {"path": place.path("src/main.py")}),
    )
    assert place.lost() == []
    assert ["refused" in result for result in ended.results] == [True, True, True, False]
    assert place.read("src/main.py") is None


def test_a_subagent_of_claude_is_judged(make_guarded: Make) -> None:
    place = make_guarded("claude")
    task = Call("Agent", {"description": "look", "prompt": "Say hello.", "subagent_type": "general-purpose"})
    wait = place.client.shell("for i in $(seq 40); do [ -e ran ] && break; sleep 1; done")
    commands = ("touch seen; rm -r specs", "touch ran")
    ended = place.agent(task, wait, others=(*(Turn(calls=(place.client.shell(each),)) for each in commands), Turn("Hello.")))
    assert place.read("ran") == "", ended.results
    assert place.read("seen") is None
    assert place.lost() == []
