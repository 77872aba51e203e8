"""Every command that the documentation shows works as shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from guard.commands import demo

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(kind: str) -> list[tuple[str, str]]:
    """The fenced blocks of a kind in all documents, each with the name of its document."""
    pattern = re.compile(rf"^```{kind}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(path.name, text) for path in DOCUMENTS for text in pattern.findall(path.read_text())]


def lines() -> list[tuple[str, str]]:
    """The command lines of the shell blocks, without the installation of guard itself."""
    found = [(name, line) for name, text in blocks("sh") for line in text.splitlines()]
    return [(name, line) for name, line in found if line.strip() and not line.startswith(("python3 -m venv", "pip ", ".ci/"))]


@pytest.fixture
def shell(tmp_path: Path) -> tuple[str, dict[str, str]]:
    """The directory of a small protected project, and an environment in which `guard` is this one."""
    top = tmp_path / "project"
    for name, content in {**demo.FILES, "README.md": "# project\n"}.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("guard", "pathguard"):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m guard "$@"\n')
        (programs / name).chmod(0o755)
    environ = {"HOME": str(tmp_path), "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "command": "ls"}
    subprocess.run(["git", "init", "-q", top], check=True, env=environ)
    return str(top), environ


@pytest.mark.parametrize(("document", "line"), lines())
def test_the_command_works(document: str, line: str, shell: tuple[str, dict[str, str]]) -> None:
    cwd, environ = shell
    run = subprocess.run(
        ["bash", "-c", line], cwd=cwd, env=environ, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )
    assert run.returncode == 0, f"{document}: {line}\n{run.stdout}{run.stderr}"


@pytest.mark.parametrize(("document", "text"), blocks("console"))
def test_the_dialogue_goes_as_shown(document: str, text: str, shell: tuple[str, dict[str, str]]) -> None:
    cwd, environ = shell
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        run = subprocess.run(
            ["bash", "-c", command],
            cwd=cwd,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        said = re.sub(r"\[[a-z][2-9][a-z2-9]{2}\]$", "[r7f3]", run.stdout, flags=re.MULTILINE)
        assert not expected or said == expected, f"{document}: {command}"


@pytest.mark.parametrize(("document", "text"), blocks("toml"))
def test_the_configuration_is_understood(document: str, text: str, shell: tuple[str, dict[str, str]]) -> None:
    cwd, environ = shell
    personal = re.search(r"override|\[(?:notify|fleet)\]", text)
    path = Path(environ["HOME"], ".config/guard/config.toml") if personal else Path(cwd, "guard.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    run = subprocess.run(["guard", "list"], cwd=cwd, env=environ, capture_output=True, text=True)
    assert run.returncode == 0, f"{document}: {run.stderr}"


def test_links_between_documents_lead_somewhere() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
