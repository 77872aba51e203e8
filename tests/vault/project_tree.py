"""A project with protected files, its vault, and what is needed to compare trees."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

from guard.policy import Policy
from guard.project import load
from guard.vault.restore import Restored, damaged, repair
from guard.vault.snapshot import Snapshot, snapshot, world
from guard.vault.store import Vault
from guard.vault.verify import Change, verify

FILES = {
    "CLAUDE.md": "# Manual\n\nRead the specs first.\nRun the tests.\n",
    "PROMPT.md": "Study the plan.\nDo the most important thing.\n",
    "specs/a.md": "".join(f"line {n} of a\n" for n in range(30)),
    "specs/deep/b.md": "".join(f"line {n} of b\n" for n in range(30)),
    "specs/deep/er/c.md": "c\n" * 20,
    "memory/lessons.md": "one\ntwo\nthree\n",
    "src/main.py": "print(1)\n",
    "README.md": "# app\n",
}


class Project:
    """A tree, its policy and vault."""

    def __init__(self, top: Path, state: Path) -> None:
        self.top = top
        self.vault = Vault(str(state), str(top))

    @property
    def policy(self) -> Policy:
        return load(str(self.top), os.environ, world())

    def snapshot(self) -> Snapshot:
        return snapshot(str(self.top), self.policy, self.vault)

    def verify(self, taken: Snapshot) -> list[Change]:
        return verify(taken.manifest, self.vault, self.policy, pause=lambda _: None)

    def kinds(self, taken: Snapshot) -> dict[str, str]:
        """What verify says, by path; violations with an exclamation mark."""
        return {os.path.relpath(each.path, self.top): each.kind + "!" * each.violation for each in self.verify(taken)}

    def repair(self, taken: Snapshot) -> list[Restored]:
        return repair(taken.manifest, self.vault, self.policy, damaged)


def build(place: Path, git: bool = True) -> Project:
    """The project in a directory, with a repository that has everything committed."""
    top = place.resolve() / "app"
    for name, text in FILES.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (top / "specs/empty").mkdir()
    (top / "specs/link.md").symlink_to("deep/b.md")
    (top / ".gitignore").write_text("memory/\n")
    if git:
        run(top, "init", "-q", "-b", "main")
        run(top, "add", "-A")
        commit(top, "first")
    else:
        (top / "guard.toml").write_text("[protect]\n")
    return Project(top, place.resolve() / "state")


def run(top: Path, *words: str) -> None:
    """Runs git."""
    settings = [
        "-c",
        "user.name=dev",
        "-c",
        "user.email=dev@example.invalid",
        "-c",
        "gc.auto=0",
        "-c",
        "advice.detachedHead=false",
    ]
    subprocess.run(["git", *settings, *words], cwd=top, check=True, capture_output=True)


def commit(top: Path, message: str) -> None:
    """Commits what is staged."""
    run(top, "commit", "-qm", message)


class Stood(NamedTuple):
    """What stood at a path."""

    kind: int
    mode: int
    content: bytes


def tree(top: Path, skip: tuple[str, ...] = (".git",)) -> dict[str, Stood]:
    """Everything below a directory, by its path."""
    found = {}
    for directory, directories, files in os.walk(top):
        directories[:] = [name for name in directories if name not in skip]
        for name in directories + files:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            data = b""
            if stat.S_ISLNK(status.st_mode):
                data = os.fsencode(os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                data = Path(path).read_bytes()
            mode = 0 if stat.S_ISLNK(status.st_mode) else stat.S_IMODE(status.st_mode)
            found[os.path.relpath(path, top)] = Stood(stat.S_IFMT(status.st_mode), mode, data)
    return found
