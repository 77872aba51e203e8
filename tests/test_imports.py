"""The rules of who may import whom: the core stays light and knows nothing of the layers above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "guard"

# What `guard check` may load at its start, besides guard's own modules named below.
LIGHT = set(
    """__future__ _collections _posixsubprocess _signal errno fcntl itertools marshal math os posix resource select signal stat
    sys time zlib""".split()
)
# Modules outside the core and the hot path. They may import anything, but late where a hot module asks for them.
RICH = set(
    """__main__ acceptance agents ancestry cli commands completion config evaluate excuses findings fleet git git_hooks
    globs granting health history loop main monitor notify person policy_file pre_commit report root_rules running runtime
    sandbox service sessions shims supervise testing toml_lines typed vault""".split()
)
# What stands among rich modules and is light all the same, because hooks load it.
HOOKED = {"agents", *(f"agents.{name}" for name in "answer files heartbeat notebook read switches table variables".split())}
STARTING = {"build_expressions", "shell.build_tables", "hot.start"}  # files that are run
# The values, each importing only what stands before it.
VALUES = ["record", "effects", "policy", "verdict", "message"]


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        yield name, path


def imported(path: Path, late: bool) -> set[str]:
    """The modules that a file imports: when it is loaded, or (late) inside functions too. Imports for types do not count."""
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            todo += node.orelse
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not late:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {_module(str(node.module), alias.name) for alias in node.names}
        todo += ast.iter_child_nodes(node)
    return found


def _module(package: str, name: str) -> str:
    """What `from package import name` imports: a module of that name, else only the package."""
    place = ROOT.joinpath(*package.split("."), name)
    return f"{package}.{name}" if place.is_dir() or place.with_suffix(".py").exists() else package


def own(path: Path, late: bool = True) -> set[str]:
    """The modules of guard that a file imports, without the leading "guard."."""
    return {name.partition(".")[2] for name in imported(path, late) if name.startswith("guard.")}


def rich(name: str) -> bool:
    return name.partition(".")[0] in RICH and name not in HOOKED


HOT = [(name, path) for name, path in modules() if not rich(name) and name not in STARTING]


@pytest.mark.parametrize(("name", "path"), HOT, ids=[name for name, _ in HOT])
def test_hot_modules_load_only_light_ones(name: str, path: Path) -> None:
    outside = {module.partition(".")[0] for module in imported(path, late=False)} - {"guard"}
    assert outside <= LIGHT
    assert not {module for module in own(path, late=False) if rich(module)}


def test_values_import_only_the_values_before_them() -> None:
    for at, name in enumerate(VALUES):
        found = own(PACKAGE / f"{name}.py") & set(VALUES)
        assert found <= set(VALUES[:at]), f"{name} imports {found}"


def test_tools_know_neither_shell_nor_judges() -> None:
    for name, path in modules():
        if name.partition(".")[0] == "tools":
            assert not {top for top in (m.partition(".")[0] for m in own(path)) if top in ("shell", *JUDGES)}, name


def test_shell_knows_no_judges() -> None:
    for name, path in modules():
        if name.partition(".")[0] == "shell":
            assert not {top for top in (m.partition(".")[0] for m in own(path)) if top in JUDGES}, name


JUDGES = ("policy", "verdict", "agents", "log", "message", "hot")


def test_nobody_imports_the_command_line() -> None:
    for name, path in modules():
        if name.partition(".")[0] not in ("main", "__main__", "cli", "commands", "testing") and name not in STARTING:
            assert not {m for m in own(path) if m.partition(".")[0] in ("cli", "commands", "main")}, name


def test_the_full_command_line_loads_nothing_heavy_at_import() -> None:
    for name, path in modules():
        if name.partition(".")[0] == "commands":
            assert not {m.partition(".")[0] for m in imported(path, late=False)} & {"git", "pathspec", "tomlkit"}, name


def test_main_imports_next_to_nothing() -> None:
    assert imported(PACKAGE / "main.py", late=False) == {"__future__", "gc", "os", "sys"}


def loaded(command: str, tmp_path: Path) -> set[str]:
    """The modules that `guard check` has loaded when it ends, in an interpreter that starts with as little as possible."""
    code = (
        f"import sys; before = set(sys.modules); sys.path.insert(0, {str(ROOT)!r})\n"
        "from guard.hot import check\n"
        f"check.main(['--cwd', {str(tmp_path)!r}, '--', {command!r}])\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    argv = [sys.executable, "-I", "-S", "-c", code]
    run = subprocess.run(argv, capture_output=True, text=True, check=True, env={"HOME": str(tmp_path.parent)})
    return set(run.stdout.split())


# What no check loads, whatever the command is.
HEAVY = set(
    """ast bashlex click collections contextlib dataclasses datetime difflib enum fnmatch functools git inspect json logging
    pathlib pathspec re rich shlex signal subprocess threading tokenize tomlkit tomllib typing warnings""".split()
)


def test_a_harmless_command_loads_no_analysis(tmp_path: Path) -> None:
    modules = {name for name in loaded("ls -la src", tmp_path) if name.startswith("guard")}
    hot = {"guard.hot", "guard.hot.answer", "guard.hot.check", "guard.hot.limits"}
    assert modules == {"guard", *hot, "guard.expressions", "guard.shell", "guard.shell.quick"}


@pytest.mark.parametrize("command", ["rm -rf build", 'for f in a b; do rm -f "$f"; done', "cat <<'E' > x\nhello\nE"])
def test_a_check_loads_only_light_modules(command: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert loaded(command, tmp_path) & HEAVY == set()
