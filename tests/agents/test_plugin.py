"""The plugin of OpenCode: it asks the hook beside it, and nothing runs that the hook does not consent to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents import hooking

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node runs the plugin")

DRIVER = """
import { Guard } from %(plugin)s
const hooks = await Guard({ directory: %(directory)s })
const output = %(output)s
try {
  await hooks[%(hook)s](%(input)s, output)
  console.log(JSON.stringify({ thrown: null, output }))
} catch (error) {
  console.log(JSON.stringify({ thrown: error.message, output }))
}
"""


class Plugin:
    """The plugin beside a hook, as an installation has them."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.top = project.parent / "a home/bin"
        self.top.mkdir(parents=True)
        shutil.copy(hooking.ROOT / "hooks/opencode.js", self.top / "opencode.mjs")

    def hook(self, text: str) -> None:
        (self.top / "hook").write_text(text)
        (self.top / "hook").chmod(0o755)

    def real(self) -> None:
        shutil.copy(hooking.ROOT / "hooks/agent", self.top / "hook")
        (self.top / "guard").write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {hooking.START} "$@"\n')
        (self.top / "guard").chmod(0o755)

    def call(self, hook: str, given: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
        values = {"plugin": str(self.top / "opencode.mjs"), "directory": str(self.project), "hook": hook}
        values |= {"input": given, "output": output}
        script = DRIVER % {key: json.dumps(value) for key, value in values.items()}
        run = subprocess.run(
            [str(NODE), "--input-type=module", "-"],
            input=script.encode(),
            cwd=self.project,
            env=hooking.environment(self.project, PATH=os.environ["PATH"]),
            capture_output=True,
            timeout=60,
            check=True,
        )
        found = json.loads(run.stdout)
        assert isinstance(found, dict)
        return found

    def before(self, tool: str, args: dict[str, Any]) -> str | None:
        """The error that keeps a tool from running; None where it runs."""
        given = {"tool": tool, "sessionID": "ses_1", "callID": "call_1"}
        thrown = self.call("tool.execute.before", given, {"args": args})["thrown"]
        assert thrown is None or isinstance(thrown, str)
        return thrown


@pytest.fixture
def plugin(project: Path) -> Plugin:
    return Plugin(project)


def test_what_guard_refuses_does_not_run(plugin: Plugin) -> None:
    plugin.real()
    said = plugin.before("bash", {"command": "rm -rf specs", "description": "x"})
    assert said is not None
    assert said.startswith("guard: refused. `rm -rf specs` would delete 2 protected files:")
    assert plugin.before("write", {"filePath": "specs/a.md", "content": ""}) is not None
    assert plugin.before("bash", {"command": "rm -rf a.md", "workdir": "specs"}) is not None


def test_work_goes_on(plugin: Plugin) -> None:
    plugin.real()
    assert plugin.before("bash", {"command": "ls -la"}) is None
    assert plugin.before("bash", {"command": "rm -rf build"}) is None
    assert plugin.before("edit", {"filePath": "specs/a.md", "oldString": "one", "newString": "1"}) is None


@pytest.mark.parametrize(
    "hook",
    ["", "#!/bin/sh\nexit 1\n", "#!/bin/sh\nexit 2\n", "#!/bin/sh\nkill -9 $$\n", "#!/nowhere\n", "#!/bin/sh\nexit 127\n"],
    ids=["missing", "1", "silent", "killed", "unrunnable", "127"],
)
def test_a_hook_that_cannot_say_is_a_refusal(hook: str, plugin: Plugin) -> None:
    if hook:
        plugin.hook(hook)
    said = plugin.before("bash", {"command": "ls"})
    assert said is not None
    assert "guard doctor" in said


def test_a_hook_that_reads_nothing_is_no_crash(plugin: Plugin) -> None:
    plugin.hook("#!/bin/sh\nexec <&-\necho no >&2\nexit 2\n")
    assert plugin.before("write", {"filePath": "x", "content": "x" * 3_000_000}) == "no"


def test_what_was_lost_is_told_behind_the_output(plugin: Plugin) -> None:
    plugin.real()
    assert plugin.before("bash", {"command": "make clean"}) is None
    (plugin.project / "specs/a.md").unlink()
    given = {"tool": "bash", "sessionID": "ses_1", "callID": "call_1"}
    found = plugin.call("tool.execute.after", given, {"title": "x", "output": "made"})
    assert (plugin.project / "specs/a.md").read_text() == hooking.CONTENT
    assert found["output"]["output"].startswith("made\n")
    assert "specs/a.md" in found["output"]["output"]
    assert plugin.call("tool.execute.after", given, {"output": "made"})["output"] == {"output": "made"}
