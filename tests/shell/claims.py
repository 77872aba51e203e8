"""What a shell text loses in a small tree: as guard foresees it, and as bash really does it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from guard.effects import Analysis
from guard.shell.analyse import analyse
from guard.world import Budget, World
from tests.tool_harness import CLEAN_ENV, files

FILES = {
    "a.txt": "alpha\n",
    "b.txt": "beta\n",
    "c.md": "gamma\n",
    "sp ace.txt": "blank\n",
    "d/x": "x\n",
    "d/y.txt": "y\n",
    "d/deep/z": "z\n",
    "e/q": "q\n",
    ".hidden": "h\n",
    "names": "a.txt\nb.txt\n",
    "clean.sh": "#!/bin/sh\nrm -f a.txt\n",
    "cd.sh": '#!/bin/sh\ncd "$(dirname "$0")" && rm -rf d\n',
}


def make(top: Path) -> Path:
    """Builds the tree."""
    for name, text in FILES.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name.endswith(".sh"):
            path.chmod(0o755)
    (top / "link").symlink_to("d")
    (top / "home").mkdir()
    (top / "home" / "kept").write_text("home\n")
    return top


def environment(top: Path) -> dict[str, str]:
    """A clean environment whose home lies in the tree."""
    return {**CLEAN_ENV, "HOME": str(top / "home"), "PWD": str(top)}


def analysed(text: str, top: Path, seconds: float = 5) -> Analysis:
    """What guard says of the text."""
    return analyse(text, os.path.realpath(top), World(environment(top), Budget(seconds)))


def foreseen(analysis: Analysis, top: Path) -> set[str]:
    """The files that the analysis takes for lost or changed."""
    lost = set()
    for name in files(top):
        path = os.path.join(os.path.realpath(top), name)
        for effect in analysis.effects:
            if effect.action in ("create", "leave"):
                continue
            if effect.content is not None and effect.content == FILES.get(name, "").encode():
                continue
            where = getattr(effect.target, "path", None)
            kind = type(effect.target).__name__
            if (kind == "At" and (path == where or path.startswith(where + "/"))) or (
                kind == "Below" and path.startswith(where + "/")
            ):
                lost.add(name)
    return lost


def really(text: str, top: Path) -> set[str]:
    """What bash loses when it runs the text in the tree."""
    before = files(top)
    subprocess.run(
        ["bash", "-c", text],
        cwd=top,
        env=environment(top),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    after = files(top)
    return {name for name, data in before.items() if after.get(name) != data}
