"""A directory of shims for tests, with a home of its own, in front of real or recording tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from guard import project, roots, shim_data, shims

SHELLS = {"dash": ["dash"], "bash": ["bash", "-p"], "busybox": ["busybox", "ash"], "zsh": ["zsh", "-f"]}
PRESENT = {name: [path, *argv[1:]] for name, argv in SHELLS.items() if (path := shutil.which(argv[0]))}
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
# Stands for the judge: notes that it was asked, and says no.
NO = "#!/bin/sh\necho asked >>{asked}\nexit 1\n"


class Shims:
    """The shims under `top`, for the home directory `home`; `behind` is what comes after them on PATH."""

    def __init__(self, top: Path, home: Path, behind: str = SYSTEM) -> None:
        self.top, self.home, self.behind = top, home, behind
        self.asked = home / "asked"

    def environ(self, **more: str) -> dict[str, str]:
        path = f"{self.top}:{self.behind}"
        return {"HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", **more}

    def prepare(self) -> None:
        shim_data.prepare(str(self.top), self.environ())

    def register(self, *tops: Path) -> None:
        """Makes directories roots, and the shims know it."""
        for top in tops:
            state = project.state_dir(self.environ())
            assert state is not None
            roots.register(state, os.path.realpath(top))
        self.prepare()
        for path in (f"{state}/{roots.REGISTER}", f"{self.top}/{shim_data.PLACES}"):
            os.utime(path, (1e9, 1e9))  # so that shells that compare times by the second see it, too

    def refuse_all(self) -> None:
        """From now on whatever the script asks the judge is refused."""
        (self.top / ".judge").unlink()
        (self.top / ".judge").write_text(NO.format(asked=self.asked))
        (self.top / ".judge").chmod(0o755)

    def take_asked(self) -> bool:
        """Was the judge asked since the last time?"""
        found = self.asked.exists()
        self.asked.unlink(missing_ok=True)
        return found

    def run(
        self, *argv: str | bytes, cwd: Path, shell: str | None = None, environ: dict[str, str] | None = None, **options: object
    ) -> subprocess.CompletedProcess[bytes]:
        """Calls a shim; with `shell` by that shell instead of its interpreter line."""
        name, *rest = argv
        command = [*(PRESENT[shell] if shell else []), os.fsencode(self.top) + b"/" + os.fsencode(name), *rest]
        settings: dict[str, object] = {"capture_output": True, "stdin": subprocess.DEVNULL, "timeout": 60, "cwd": cwd}
        settings |= {"env": environ or self.environ(PWD=str(cwd))}
        return subprocess.run(command, **{**settings, **options})  # type: ignore[call-overload, no-any-return]


def install(home: Path) -> Path:
    """The directory of the wide set of shims, with its runtime, in a home directory."""
    return Path(shims.ensure("wide", {"HOME": str(home), "PATH": SYSTEM}))


def tools(top: Path, script: str, names: Iterable[str] = shims.WIDE) -> Path:
    """A directory of tools that are a shell script."""
    top.mkdir(parents=True, exist_ok=True)
    for name in names:
        (top / name).write_text("#!/bin/dash\n" + textwrap.dedent(script))
        (top / name).chmod(0o755)
    return top


def tree(top: Path, files: Iterable[str] = ("specs/a.md", "src/b.py", "x", "y", "CLAUDE.md")) -> Path:
    """A small project that looks like a repository."""
    for name in (".git/HEAD", *files):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"{name}\n" * 3)
    return top


PYTHON = sys.executable
