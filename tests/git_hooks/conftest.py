"""Real repositories, each with a home directory of its own, and guard's hooks called as git calls them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PATH = "/usr/local/bin:/usr/bin:/bin"
# How pip reaches packages here, if at all; taken before the environment is cleared for the tests.
PIP = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.lower().endswith("_proxy")}
LINES = "".join(f"line {at} of the file\n" for at in range(40))


@dataclass(frozen=True)
class Repository:
    """A repository; `home` is the directory around it, in which everything else stands that a test needs."""

    top: Path
    home: Path

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": PATH,
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            **more,
        }

    def run(
        self, *argv: str | bytes, stdin: bytes = b"", cwd: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            argv, cwd=cwd or self.top, env=self.environment(**more), input=stdin, capture_output=True, timeout=120, check=False
        )

    def git(self, *words: str | bytes, **options: object) -> str:
        done = self.run("git", *words, **options)  # type: ignore[arg-type]
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def hook(self, *words: str, stdin: bytes = b"", cwd: Path | None = None, **more: str) -> tuple[int, str]:
        """Status and standard error of guard's hook."""
        done = self.run(sys.executable, "-m", "guard", "git-hook", *words, stdin=stdin, cwd=cwd, **more)
        assert done.stdout == b""
        return done.returncode, done.stderr.decode("utf-8", "surrogateescape")

    def write(self, name: str, text: str = LINES) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, message: str = "work", *words: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "--allow-empty", "-m", message, *words)
        return self.git("rev-parse", "HEAD")


SETTINGS = """\
[user]
\tname = A Person
\temail = person@example.org
[protocol "file"]
\tallow = always
"""


def make(home: Path, name: str = "work") -> Repository:
    top = home / name
    top.mkdir(parents=True)
    made = Repository(top.resolve(), home.resolve())
    (home / ".gitconfig").write_text(SETTINGS)
    made.git("init", "-q", "-b", "main", "--template=")
    for directory in ("hooks", "info"):
        (top / ".git" / directory).mkdir(exist_ok=True)
    return made


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home directory of a repository with one commit, to be copied: that is faster than asking git again and again."""
    made = make(tmp_path_factory.mktemp("template"))
    for name in ("specs/a.md", "specs/b.md", "specs/deep/c.md", "CLAUDE.md", "PROMPT.md", "src/main.py", "src/util.py"):
        made.write(name, f"{name}\n{LINES}")
    made.commit("start")
    return made.home


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Repository:
    """One commit with protected files and others."""
    shutil.copytree(template, tmp_path, symlinks=True, dirs_exist_ok=True)
    made = Repository((tmp_path / "work").resolve(), tmp_path.resolve())
    made.git("update-index", "-q", "--refresh")  # the copies have other inodes
    return made


@pytest.fixture
def remote(repository: Repository) -> Path:
    """A bare repository that `origin` of the other one leads to, with its main branch."""
    top = repository.home / "remote.git"
    repository.git("init", "-q", "--bare", "-b", "main", str(top))
    repository.git("remote", "add", "origin", str(top))
    repository.git("push", "-q", "origin", "main")
    return top
