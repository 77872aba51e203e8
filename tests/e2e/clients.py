"""Agents' clients as the tests start them: offline, against a scripted server, in a clean environment, unattended.

One row a client: where its program is, what it needs in its environment, how it is told to do something without asking, and
what its tools are called.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.e2e.server import Call, Json, Script, Turn, serving

PATH = "/usr/local/bin:/usr/bin:/bin"
INSTALLED = os.environ.get("GUARD_E2E_CLIENTS", "")  # read now: the tests clear the environment
SECONDS = 120  # for a whole conversation
PROMPT = "Do what is due."

Environment = Callable[[str], dict[str, str]]
Arguments = Callable[[str], list[str]]
Tool = Callable[..., Call]


@dataclass(frozen=True)
class Client:
    """How a client is run. `environment` and `arguments` are made from the server's address; `settings` are files below HOME.

    The tools make calls: `shell` of a command, `write` of a path and a text, `edit` of a path, an old and a new passage,
    `read` and `remove` of a path by the client's own means; None where it has no such tool.
    """

    name: str
    environment: Environment
    arguments: Arguments
    shell: Tool
    write: Tool
    edit: Tool
    read: Tool | None = None
    remove: Tool | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def program(self) -> str | None:
        """The program: in GUARD_E2E_CLIENTS/NAME as npm puts it there, else on PATH."""
        installed = f"{INSTALLED}/{self.name}/node_modules/.bin/{self.name}"
        return installed if INSTALLED and os.access(installed, os.X_OK) else shutil.which(self.name)


class Run(NamedTuple):
    """How a client ended, and what its tools gave to the model."""

    status: int
    output: str
    errors: str
    results: list[str]
    requests: list[Json]

    @property
    def told(self) -> str:
        """All that the model was told by its tools and by what came with their results."""
        return "\n".join([*self.results, repr(self.requests[-1]) if self.requests else ""])


def run(
    client: Client,
    calls: Sequence[Call],
    project: Path,
    home: Path,
    *,
    more: Sequence[str] = (),
    without: str = "",
    environ: Mapping[str, str] | None = None,
    wrapper: Sequence[str] = (),
    others: tuple[Turn, ...] = (Turn("Hello."),),
) -> Run:
    """Lets the client make the calls, one after the other, in the project.

    `without` is an argument that it does not get, `others` are the turns of its subagents.
    """
    program = client.program()
    assert program is not None
    turns = [*(Turn(calls=(call,)) for call in calls), Turn("All is done.")]
    clean = {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": str(_temporary(home))}
    with serving(Script(tuple(turns), PROMPT, others)) as script:
        own = [each for each in client.arguments(script.url) if each != without]
        full = {**clean, **client.environment(script.url), **(environ or {})}
        status, output, errors = _ended([*wrapper, program, *own, *more], project, full)
    return Run(status, output, errors, script.results, script.requests)


def _ended(argv: list[str], cwd: Path, environ: Mapping[str, str]) -> tuple[int, str, str]:
    """Runs a program to its end, or to that of our patience; gives status, output and errors."""
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        errors += f"\nkilled after {SECONDS} seconds"
    return process.returncode, output, errors


def _temporary(home: Path) -> Path:
    path = home / "tmp"
    path.mkdir(exist_ok=True)
    return path


def _patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) + "\n"


def _added(path: str, text: str) -> list[str]:
    return [f"*** Add File: {path}", *(f"+{line}" for line in text.splitlines())]


def _codex_provider(url: str) -> list[str]:
    provider = f'model_providers.scripted={{name="scripted",base_url="{url}/v1",env_key="SCRIPTED_KEY",wire_api="responses"}}'
    return ["-c", 'model_provider="scripted"', "-c", provider]


def _opencode_provider(url: str) -> str:
    options = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options, "models": {"scripted": {}}}
    return json.dumps({"provider": {"scripted": provider}, "share": "disabled", "autoupdate": False})


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude",
            lambda url: {
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "dummy",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "IS_SANDBOX": "1",
            },
            lambda url: ["-p", PROMPT, "--output-format", "json", "--dangerously-skip-permissions"],
            lambda command: Call("Bash", {"command": command, "description": "do it"}),
            lambda path, text: Call("Write", {"file_path": path, "content": text}),
            lambda path, old, new: Call("Edit", {"file_path": path, "old_string": old, "new_string": new}),
            read=lambda path: Call("Read", {"file_path": path}),
        ),
        Client(
            "codex",
            lambda url: {"SCRIPTED_KEY": "dummy"},
            lambda url: [
                *("exec", "--json", "-m", "gpt-5.5", "--skip-git-repo-check", *_codex_provider(url)),
                *("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", PROMPT),
            ],
            lambda command: Call("exec_command", {"cmd": command}),
            lambda path, text: Call("apply_patch", _patch(*_added(path, text))),
            lambda path, old, new: Call("apply_patch", _patch(f"*** Update File: {path}", "@@", f"-{old}", f"+{new}")),
            remove=lambda path: Call("apply_patch", _patch(f"*** Delete File: {path}")),
        ),
        Client(
            "gemini",
            lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
            lambda url: ["-p", PROMPT, "--yolo", "-m", "gemini-2.5-pro", "-o", "json"],  # without -m it asks which model to take
            lambda command: Call("run_shell_command", {"command": command, "description": "do it"}),
            lambda path, text: Call("write_file", {"file_path": path, "content": text}),
            lambda path, old, new: Call(
                "replace", {"file_path": path, "old_string": old, "new_string": new, "instruction": "change the passage"}
            ),
            read=lambda path: Call("read_file", {"file_path": path}),
            settings={
                ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n',
            },
        ),
        Client(
            "qwen",
            lambda url: {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "dummy", "OPENAI_MODEL": "scripted"},
            lambda url: ["-p", PROMPT, "--yolo", "--auth-type", "openai", "-o", "json"],
            lambda command: Call("run_shell_command", {"command": command, "description": "do it", "is_background": False}),
            lambda path, text: Call("write_file", {"file_path": path, "content": text}),
            lambda path, old, new: Call("edit", {"file_path": path, "old_string": old, "new_string": new}),
            read=lambda path: Call("read_file", {"file_path": path}),
        ),
        Client(
            "copilot",
            lambda url: {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
                "COPILOT_PROVIDER_API_KEY": "dummy",
                "COPILOT_MODEL": "scripted",
                "COPILOT_AUTO_UPDATE": "false",
            },
            lambda url: ["-p", PROMPT, "--allow-all", "--output-format", "json"],
            lambda command: Call("bash", {"command": command, "description": "do it"}),
            lambda path, text: Call("create", {"path": path, "file_text": text}),
            lambda path, old, new: Call("edit", {"path": path, "old_str": old, "new_str": new}),
            read=lambda path: Call("view", {"path": path}),
        ),
        Client(
            "opencode",
            lambda url: {
                "OPENCODE_CONFIG_CONTENT": _opencode_provider(url),
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
            },
            lambda url: ["run", "--auto", "--format", "json", "-m", "scripted/scripted", PROMPT],
            lambda command: Call("bash", {"command": command, "description": "do it"}),
            lambda path, text: Call("write", {"filePath": path, "content": text}),
            lambda path, old, new: Call("edit", {"filePath": path, "oldString": old, "newString": new}),
            read=lambda path: Call("read", {"filePath": path}),
        ),
    )
}
