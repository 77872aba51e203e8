"""guard's own command line."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from guard.effects import LIFT, At
from guard.shell.analyse import analyse
from guard.world import World
from tests.tool_harness import CLEAN_ENV, losses, model
from tests.tools.interpreters import tree

HARMLESS = [
    "guard", "guard --version", "guard check -- 'rm -rf specs'", "guard explain 'rm -rf specs'", "guard explain r7f3", "guard list --builtin",
    "guard status", "guard log", "guard doctor --json", "guard verify", "guard snapshot", "guard restore", "guard restore specs/a.md", "guard diff",
    "guard demo", "guard monitor", "guard replay", "guard selftest", "guard env", "guard help allow", "guard init --dry-run", "guard init",
    "guard protect --help", "guard allow --help", "guard loop status", "guard loop pause", "guard loop stop", "guard run log", "guard vault gc",
    "guard shims status", "guard wrong r7f3", "pathguard status", "guard loop", "guard exec", "guard exec --help", "guard nonsense",
]  # fmt: skip
LIFTING = [
    "guard allow r7f3", "guard allow --always r7f3", "guard allow --path specs --for 10m --reason x", "guard suspend 15m --reason x",
    "guard unprotect specs", "guard protect docs", "guard uninstall", "guard uninstall --purge", "guard shims uninstall", "guard hooks uninstall", "guard service disable",
    "guard init --observe", "pathguard allow r7f3", "python3 -m guard allow r7f3", "python3 -m guard.main suspend 5m", "guard exec -- guard allow r7f3",
    "guard --cwd . allow r7f3", "/opt/guard/shims/wide/.judge shims uninstall",
]  # fmt: skip


@pytest.mark.parametrize("command", HARMLESS)
def test_looking_is_harmless(command: str, tmp_path: Path) -> None:
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


# the same in whole lines of a shell, below other programs
SPELLED = [
    "uvx pathguard allow r7f3", "uvx --from pathguard guard allow r7f3", "uvx --python 3.12 pathguard@latest suspend 5m",
    "uv tool run --from pathguard guard allow r7f3", "pipx run pathguard==1.0 allow r7f3", "pipx run --spec pathguard guard allow r7f3",
    "uv run guard allow r7f3", "uv run --with pathguard -- pathguard suspend 5m", "nix run nixpkgs#pathguard -- allow r7f3",
    "nix develop -c guard allow r7f3", "python3 -I -S /opt/guard/runtime/current/guard/hot/start.py suspend 5m",
    "python3 -c 'from guard.cli import main; main([])'", "python3 -c 'import guard.granting'", "python3 -c 'from guard import granting'",
    "python3 -c \"__import__('guard.granting')\"", "python3 -c \"import runpy; runpy.run_module('guard')\"",
    "python3 -c \"import runpy; runpy.run_path('/x/guard/main.py')\"", "python3 -c \"import importlib; importlib.import_module('guard.cli')\"",
    "python3 <<< 'from guard.commands import allow'", "expect -c 'spawn guard allow r7f3; interact'",
    "expect <<< 'spawn -noecho pathguard allow r7f3\nexpect Type'", "expect -c 'spawn bash; send \"guard allow r7f3\\r\"'",
    "socat EXEC:'guard allow r7f3',pty STDIO", "script -q /dev/null guard allow r7f3", "script -qec 'guard allow r7f3' /dev/null",
    "screen -dm guard allow r7f3", "screen -S x -X stuff 'guard allow r7f3\n'", "tmux send-keys guard Space allow Space r7f3 Enter",
    "tmux send-keys 'guard allow r7f3' Enter", "dtach -n s guard allow r7f3", "abduco -n s guard allow r7f3",
    "zellij run -- guard allow r7f3", "echo '* * * * * guard allow r7f3' | crontab -", "crontab - <<< '@reboot guard suspend 5m'",
    "(crontab -l; echo '*/5 1-3 * * mon guard allow r7f3') | crontab -", "echo '* * * * * guard allow r7f3' > c; crontab c",
    "echo 'guard allow r7f3' | at now", "systemd-run --user guard allow r7f3", "GUARD_STATE_DIR=/x guard restore --all",
]  # fmt: skip
LOOKING = [
    "uvx pathguard status", "uv run guard list", "uv run pytest", "uvx ruff check", "pipx run black .", "pipx list", "crontab -l",
    "python3 -c 'import guard; print(guard.__version__)'", "python3 -c 'from guard.policy import Policy'", "crontab -r", "screen -ls",
    "echo '0 5 * * * date' | crontab -", "expect -c 'spawn ls; interact'", "tmux send-keys 'ls' Enter", "socat - TCP:localhost:80",
    "$(which ls) -l", "echo guard allow r7f3", "git commit -m 'guard allow r7f3'", "grep -rn 'guard allow' .",
]  # fmt: skip


def lifts(command: str, top: Path) -> bool:
    """Would the line lift guard's protection?"""
    world = World({**CLEAN_ENV, "HOME": str(top)})
    return any(effect.action == LIFT for effect in analyse(command, str(top.resolve()), world).effects)


@pytest.mark.parametrize("command", [*SPELLED, *LIFTING])
def test_no_spelling_hides_it(command: str, tmp_path: Path) -> None:
    assert lifts(command, tree(tmp_path))


@pytest.mark.parametrize("command", [*LOOKING, *HARMLESS])
def test_no_spelling_of_something_else_looks_like_it(command: str, tmp_path: Path) -> None:
    assert not lifts(command, tree(tmp_path))


def test_a_copy_of_the_command_or_a_link_to_it_is_the_command(tmp_path: Path) -> None:
    entry = tmp_path / "bin/pathguard"
    entry.parent.mkdir()
    entry.write_text("#!/usr/bin/python3\nimport sys\nfrom guard.main import main\nsys.exit(main())\n")
    entry.chmod(0o755)
    for command in (
        "bin/pathguard allow x",
        "python3 bin/pathguard allow x",
        "cp bin/pathguard other; ./other allow x",
        "ln -s bin/pathguard other; ./other allow x",
    ):
        assert lifts(command, tmp_path), command
    assert not lifts("python3 bin/pathguard status; bin/pathguard log", tmp_path)


def test_the_installed_launcher_is_the_command(tmp_path: Path) -> None:
    """The real text of one, however it is started."""
    from guard import runtime

    launcher = tmp_path / "bin/guard"
    launcher.parent.mkdir()
    launcher.write_bytes(runtime.launcher(str(tmp_path), "/bin/sh"))
    launcher.chmod(0o755)
    start = tmp_path / "runtime/current/guard/hot/start.py"
    start.parent.mkdir(parents=True)
    start.write_text("import sys\n")
    for command in ("bin/guard allow x", "sh bin/guard allow x", "exec bin/guard suspend 5m", "cat bin/guard | sh -s allow x"):
        assert lifts(command, tmp_path), command
    assert not lifts("bin/guard status; sh bin/guard status", tmp_path)


def test_what_is_left_for_later_is_judged(tmp_path: Path) -> None:
    """A table of cron's, and what a dialogue types, does to files what it does."""
    top = tree(tmp_path)
    world = World({**CLEAN_ENV, "HOME": str(top)})
    for command in (
        f"echo '* * * * * rm {top}/CLAUDE.md' | crontab -",
        f"printf '%s\\n' 'A=b' '# x' '@daily cd {top} && rm CLAUDE.md' > c; crontab c",
        "expect -c 'spawn rm CLAUDE.md'",
        'expect -c "spawn sh; send -- \\"rm CLAUDE.md\\\\r\\""',
        "socat SYSTEM:'rm CLAUDE.md' STDIO",
        "$(which rm) CLAUDE.md",
    ):
        found = analyse(command, str(top.resolve()), world).effects
        assert any(getattr(effect.target, "path", "").endswith("/CLAUDE.md") for effect in found), command


def test_every_option_of_a_loop_that_takes_a_value_is_known() -> None:
    import click

    from guard.commands.loop_cli import loop
    from guard.commands.supervise_cli import supervise
    from guard.tools.own import VALUES

    starts = (loop.commands["start"], supervise)
    options = [one for start in starts for one in start.params if isinstance(one, click.Option) and not one.is_flag]
    assert {name for one in options for name in one.opts} - {"--sandbox"} <= VALUES  # a bare --sandbox takes no word
