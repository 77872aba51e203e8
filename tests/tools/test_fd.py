"""fd: the commands that -x and -X run are foreseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tool_harness import compare


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree without ignore files."""
    top = tmp_path / "tree"
    for name in ("CLAUDE.md", "specs/a.md", "specs/deep/b.MD", "src/main.py", ".hidden/x.md", "build/o.o"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    return top


COMMANDS = r"""
fdfind md -x rm
fdfind -e md -x rm
fdfind -e md -X rm
fdfind -e md . specs -x rm {}
fdfind -H -e md -x rm {}
fdfind -g *.md -X rm -f
fdfind -t d deep -x rm -r {}
fdfind -t f . specs -X rm
fdfind -d 1 -t f . -x rm
fdfind --max-depth 1 -t f -x rm
fdfind -e md -E deep -x rm
fdfind ^a -x rm
fdfind -s MD -x rm
fdfind -p specs -t f -x rm
fdfind a.md -x rm {//}/deep/b.MD
fdfind a.md -x mv {} {.}.bak
fdfind -a a.md -x rm
fdfind --exec rm
fdfind md
"""


@pytest.mark.parametrize("command", [line for line in COMMANDS.splitlines() if line])
def test_fd_loses_what_the_real_one_loses(tree: Path, command: str) -> None:
    compare(tree, command.split())
