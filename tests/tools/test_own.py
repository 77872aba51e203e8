"""guard's own command line."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from guard.effects import LIFT, At
from tests.tool_harness import losses, model
from tests.tools.interpreters import tree

HARMLESS = [
    "guard", "guard --version", "guard check -- 'rm -rf specs'", "guard explain 'rm -rf specs'", "guard explain r7f3", "guard list --builtin",
    "guard status", "guard log", "guard doctor --json", "guard verify", "guard snapshot", "guard restore", "guard restore specs/a.md", "guard diff",
    "guard demo", "guard monitor", "guard replay", "guard selftest", "guard env", "guard help allow", "guard init --dry-run", "guard init",
    "guard protect docs", "guard allow --help", "guard loop status", "guard loop pause", "guard loop stop", "guard run log", "guard vault gc",
    "guard shims status", "guard wrong r7f3", "pathguard status", "guard loop", "guard exec", "guard exec --help", "guard nonsense",
]  # fmt: skip
LIFTING = [
    "guard allow r7f3", "guard allow --always r7f3", "guard allow --path specs --for 10m --reason x", "guard suspend 15m --reason x",
    "guard unprotect specs", "guard uninstall", "guard uninstall --purge", "guard shims uninstall", "guard hooks uninstall", "guard service disable",
    "guard init --observe", "pathguard allow r7f3", "python3 -m guard allow r7f3", "python3 -m guard.main suspend 5m", "guard exec -- guard allow r7f3",
    "guard --cwd . allow r7f3", "/opt/guard/shims/wide/.judge shims uninstall",
]  # fmt: skip


@pytest.mark.parametrize("command", HARMLESS)
def test_looking_and_protecting_is_harmless(command: str, tmp_path: Path) -> None:
    assert not model(tree(tmp_path), command).effects


@pytest.mark.parametrize("command", LIFTING)
def test_weakening_the_protection_is_an_effect(command: str, tmp_path: Path) -> None:
    (tree(tmp_path) / ".git").mkdir()
    ran = model(tmp_path, command)
    assert [(e.action, e.target) for e in ran.effects] == [(LIFT, At(str(tmp_path.resolve() / "guard.toml")))]


@pytest.mark.parametrize(
    "command",
    [
        "guard exec -- rm CLAUDE.md",
        "guard exec rm CLAUDE.md",
        "guard run -- rm CLAUDE.md",
        "guard loop --max-iterations 3 -- rm CLAUDE.md",
    ],
)
def test_what_guard_runs_is_judged(command: str, tmp_path: Path) -> None:
    assert losses(model(tree(tmp_path), command), tmp_path) == {"CLAUDE.md"}
