"""`guard completion`: real shells complete commands, options, paths and ids."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard import log

ROOT = Path(__file__).parent.parent
SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"there is no {name}"))
    for name in ("bash", "zsh", "fish")
]
PATIENCE = 20.0  # seconds for a shell to show what is waited for


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with a program `guard` on PATH, a project below, and decisions in the log."""
    home = tmp_path.resolve()
    (home / "bin").mkdir()
    script = home / "bin/guard"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m guard "$@"\n')
    script.chmod(0o755)
    (home / "specsdirectory").mkdir()
    (home / "specsfile.md").write_text("")
    for name, command in (("r7f3", "rm -rf specs"), ("k2p4", "mv a\nb")):
        log.append({"id": name, "command": command, "time": 1.0}, str(home / ".local/state/guard"))
    return home


def environ(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home), "PATH": f"{home}/bin:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8",
        "TERM": "dumb", "PS1": "ready> ", "XDG_CONFIG_HOME": f"{home}/config", "GUARD_TEST": "1",
    }  # fmt: skip


START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(guard completion bash)"; bind "set show-all-if-ambiguous on"'),
    "zsh": (["zsh", "-f", "-i"], 'eval "$(guard completion zsh)"; unsetopt LIST_BEEP; PS1="ready> "'),
}


class Shell:
    """An interactive shell on a terminal of its own, that has evaluated guard's completion."""

    def __init__(self, name: str, home: Path) -> None:
        argv, start = START[name]
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(home)
            os.execvpe(argv[0], argv, environ(home))
        self.type(f"{start}; echo guard-is-$((1+1))-ready\n")
        self.until("guard-is-2-ready")

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def until(self, wanted: str) -> str:
        """All that the shell shows until the wanted text stands there."""
        seen, end = "", time.monotonic() + PATIENCE
        while wanted not in seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{wanted!r} did not come up in {seen!r}"
            seen += os.read(self.terminal, 4096).decode(errors="replace")
        return seen

    def close(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


@pytest.mark.parametrize("name", [shell for shell in SHELLS if shell.values[0] in START])
def test_tab_completes_in_a_real_shell(name: str, home: Path) -> None:
    shell = Shell(name, home)
    try:
        for typed, wanted in (
            ("guard selft\t", "guard selftest"),
            ("guard shims inst\t", "guard shims install"),
            ("guard doctor --requ\t", "guard doctor --require"),
            ("guard doctor --require sand\t", "guard doctor --require sandbox"),
            ("guard explain r7\t", "guard explain r7f3"),
            ("guard verify --cwd specsd\t", "guard verify --cwd specsdirectory"),
            ("guard restore specsf\t", "guard restore specsfile.md"),
            ("guard explain specsf\t", "guard explain specsfile.md"),
            ("pathguard selft\t", "pathguard selftest"),
        ):
            if typed.startswith("pathguard"):
                (home / "bin/pathguard").symlink_to("guard")
                shell.type("hash -r\n" if name == "bash" else "rehash\n")
            shell.type(typed)
            shell.until(wanted)
            shell.type("\x15")  # takes the line away again
    finally:
        shell.close()


def fish(line: str, home: Path) -> list[str]:
    script = f"guard completion fish | source; complete -C {line!r}"
    run = subprocess.run(
        ["fish", "--no-config", "-c", script], env=environ(home), cwd=home, capture_output=True, text=True, timeout=60
    )
    return [row.partition("\t")[0] for row in run.stdout.splitlines()]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes(home: Path) -> None:
    assert fish("guard selft", home) == ["selftest"]
    assert fish("guard doctor --require sand", home) == ["sandbox"]
    assert "r7f3" in fish("guard explain r", home)
    assert fish("guard verify --cwd specsd", home) == ["specsdirectory/"]
    assert "specsfile.md" in fish("guard restore specsf", home)
    assert fish("pathguard selft", home) == [], "there is no such program here"


def asked(home: Path, words: str, index: int) -> list[str]:
    """What guard answers a bash that completes the word with an index."""
    more = {"_GUARD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(index)}
    run = subprocess.run(
        ["guard"], env=environ(home) | more, executable=f"{home}/bin/guard", cwd=home, capture_output=True, text=True
    )
    return run.stdout.split()


@pytest.mark.parametrize(
    ("words", "index", "answer"),
    [
        ("guard explain r", 2, ["file,r", "plain,r7f3"]),
        ("guard help repl", 2, ["plain,replay"]),
        ("guard completion fi", 2, ["plain,fish"]),
        ("guard replay x", 2, ["file,x"]),
        ("guard check --cwd x", 3, ["dir,x"]),
        ("guard nonsense x", 2, []),
    ],
)
def test_what_a_parameter_takes_is_told_by_its_metavar(words: str, index: int, answer: list[str], home: Path) -> None:
    assert asked(home, words, index) == answer


def test_the_first_word_of_a_guarded_command_is_a_program_on_path(home: Path) -> None:
    (home / "bin/guardedprogram").touch()
    assert "plain,guardedprogram" in asked(home, "guard exec -- guardedpr", 3)
    assert asked(home, "guard exec -- guardedprogram guardedpr", 4) == ["file,guardedpr"]


def test_snapshots_are_completed_in_a_project(home: Path) -> None:
    (home / ".git").mkdir()
    top = home / "project"
    (top / "specs").mkdir(parents=True)
    (top / "specs/a.md").write_text("a")
    subprocess.run(["git", "init", "-q", top], check=True)
    subprocess.run([f"{home}/bin/guard", "snapshot"], env=environ(home), cwd=top, check=True, capture_output=True)
    more = {"_GUARD_COMPLETE": "bash_complete", "COMP_WORDS": "guard verify --from ", "COMP_CWORD": "3"}
    run = subprocess.run([f"{home}/bin/guard"], env=environ(home) | more, cwd=top, capture_output=True, text=True)
    assert run.stdout.startswith("plain,")


def test_the_text_is_sound_in_its_shell(home: Path) -> None:
    for shell in ("bash", "zsh"):
        if shutil.which(shell):
            text = subprocess.run(
                [f"{home}/bin/guard", "completion", shell], env=environ(home), capture_output=True, check=True
            ).stdout
            subprocess.run([shell, "-n"], input=text, check=True, capture_output=True)


def test_an_unknown_shell_is_wrong_usage(home: Path) -> None:
    run = subprocess.run([f"{home}/bin/guard", "completion", "tcsh"], env=environ(home), capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (64, "")
    assert "name one of bash, zsh, fish" in run.stderr


def test_the_calling_shell_is_the_default(home: Path) -> None:
    run = subprocess.run(["bash", "-c", "guard completion; true"], env=environ(home), capture_output=True, text=True)
    assert "COMPREPLY" in run.stdout
