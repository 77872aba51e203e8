"""What `guard env` prints, evaluated by the real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from guard.commands import env

SHELLS = [name for name in ("bash", "zsh", "dash", "ksh", "mksh", "fish") if shutil.which(name)]
ODD = [
    "plain",
    "two words",
    "it's",
    "a\\b",
    "do$lar",
    "st*r",
    "a\nline",
    "caf\u00e9",
    '"quoted"',
    "[x]",
    "-dash",
    "!bang",
    "`id`",
    "~",
    "a;b",
]
PATH = "/usr/local/bin:/usr/bin:/bin"


def evaluate(shell: str, text: str, script: str, tmp_path: Path, **environ: str) -> list[str]:
    """What the shell prints as NUL-terminated fields after evaluating `text`, which is in $SNIPPET."""
    options = {"zsh": ["-f"], "fish": ["--no-config"]}.get(shell, [])
    environ = {"HOME": str(tmp_path), "PATH": PATH, "LC_ALL": "C.UTF-8", "SNIPPET": text, **environ}
    run = subprocess.run([shell, *options, "-c", script], env=environ, capture_output=True, timeout=60, cwd=tmp_path)
    assert run.stderr == b""
    return [os.fsdecode(field) for field in run.stdout.split(b"\0")[:-1]]


def load(shell: str) -> str:
    return "echo $SNIPPET | source; " if shell == "fish" else 'eval "$SNIPPET"; '


def show(*names: str) -> str:
    """A script that prints variables."""
    fields = " ".join(f'"${name}"' for name in names)
    return f"printf '%s\\0' {fields}; "


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", ODD)
def test_any_directory_comes_first_on_path(shell: str, name: str, tmp_path: Path) -> None:
    directory = f"{tmp_path}/{name}"
    text = env.SHELLS[shell](directory, {})
    assert evaluate(shell, text, load(shell) + show("PATH"), tmp_path) == [f"{directory}:{PATH}"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", ["plain", "st*r [x]", "it's"])
def test_evaluating_twice_is_evaluating_once(shell: str, name: str, tmp_path: Path) -> None:
    text = env.SHELLS[shell](f"{tmp_path}/{name}", {"ac_cv_path_SED": "/bin/sed"})
    twice = load(shell) * 2 + show("PATH", "ac_cv_path_SED")
    assert evaluate(shell, text, twice, tmp_path) == [f"{tmp_path}/{name}:{PATH}", "/bin/sed"]


@pytest.mark.parametrize("shell", SHELLS)
def test_shims_that_are_not_first_become_first(shell: str, tmp_path: Path) -> None:
    text = env.SHELLS[shell](f"{tmp_path}/d", {})
    path = f"/usr/bin:{tmp_path}/d:/bin:{tmp_path}/d"
    script = load(shell) + show("PATH")
    assert evaluate(shell, text, script, tmp_path, PATH=path) == [f"{tmp_path}/d:/usr/bin:/bin"]


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell != "fish"])
@pytest.mark.parametrize(("path", "rest"), [("", ""), ("/bin", ":/bin"), ("/bin:", ":/bin:"), (":/bin", "::/bin")])
def test_empty_entries_stay(shell: str, path: str, rest: str, tmp_path: Path) -> None:
    text = env.SHELLS[shell](f"{tmp_path}/d", {})
    script = 'PATH="$GIVEN"; ' + load(shell) + show("PATH")
    assert evaluate(shell, text, script, tmp_path, GIVEN=path) == [f"{tmp_path}/d{rest}"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("status", ["0", "1", "77"])
def test_the_status_is_kept_and_nothing_else_left(shell: str, status: str, tmp_path: Path) -> None:
    text = env.SHELLS[shell](f"{tmp_path}/d", {"ac_cv_path_install": "/usr/bin/install -c"})
    variable = "$status" if shell == "fish" else "$?"
    if shell == "fish":  # source keeps the status that its own last command leaves, and sees the one before the pipe
        path = tmp_path / "text.fish"
        path.write_text(text)
        unset = "set -q guard_status; or set -q guard_path; or printf 'none\\0'"
        script = f"sh -c 'exit {status}'; source {path}; printf '%s\\0' {variable}; {unset}"
    else:
        script = f"(exit {status}); {load(shell)} printf '%s\\0' {variable} \"${{guard_status-none}}${{guard_path-}}\""
    assert evaluate(shell, text, script, tmp_path) == [status, "none"]


@pytest.mark.parametrize("shell", SHELLS)
def test_variables_are_exported_unless_there_is_a_value(shell: str, tmp_path: Path) -> None:
    text = env.SHELLS[shell](f"{tmp_path}/d", {"ac_cv_path_SED": "/bin/it's sed", "ac_cv_path_lt_DD": "/bin/dd"})
    script = load(shell) + """sh -c 'printf "%s\\0" "$ac_cv_path_SED" "$ac_cv_path_lt_DD"'"""
    assert evaluate(shell, text, script, tmp_path, ac_cv_path_lt_DD="mine") == ["/bin/it's sed", "mine"]


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell != "fish"])
def test_strict_shells_go_on(shell: str, tmp_path: Path) -> None:
    text = env.SHELLS[shell](f"{tmp_path}/d", {"ac_cv_path_SED": "/bin/sed"})
    script = "set -eu; " + load(shell) + show("PATH")
    assert evaluate(shell, text, script, tmp_path) == [f"{tmp_path}/d:{PATH}"]
