"""pre-commit itself, in real repositories: it installs guard from a repository of its own and calls it for each stage."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.git_hooks.conftest import PATH, PIP, ROOT, Repository, make

SHIPPED = ("guard", "hooks", "shims", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
PRE_COMMIT = Path(sys.executable).parent / "pre-commit"
STAGES = ("pre-commit", "pre-merge-commit", "commit-msg", "pre-push", "post-checkout", "post-merge", "post-rewrite")
CONFIG = """\
repos:
- repo: {source}
  rev: {revision}
  hooks:
  - id: guard-protected-files
    args: [--message]
  - id: guard-commit-message
  - id: guard-pre-push
  - id: guard-verify
"""


class Framed(Repository):
    """A repository in which pre-commit is installed for all stages."""

    def environment(self, **more: str) -> dict[str, str]:
        cache = {"PRE_COMMIT_HOME": str(self.home.parent / "cache"), "PIP_NO_COMPILE": "1", **PIP}
        plain = {name: value for name, value in super().environment().items() if name != "PYTHONPATH"}
        return {**plain, "PATH": f"{PRE_COMMIT.parent}:{PATH}", **cache, **more}

    def pre_commit(self, *words: str, **more: str) -> tuple[int, str]:
        done = self.run(str(PRE_COMMIT), *words, **more)
        return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Framed:
    """guard as a repository that pre-commit can take its hooks from, installed once."""
    if not PRE_COMMIT.exists():
        pytest.skip("pre-commit is not installed")
    top = tmp_path_factory.mktemp("framed")
    made = make(top / "source", "guard")
    for name in SHIPPED:
        path = ROOT / name
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(path, made.top / name, ignore=skipped, symlinks=True) if path.is_dir() else shutil.copy(path, made.top)
    made.commit("guard")
    first = prepared(Framed(made.top, made.home), top / "first")
    done = subprocess.run(
        [str(PRE_COMMIT), "install-hooks"], cwd=first.top, env=first.environment(), capture_output=True, timeout=580, check=False
    )
    if done.returncode:
        pytest.skip(f"packages cannot be installed here: {done.stdout[-300:]!r}")
    return Framed(made.top, made.home)


def prepared(source: Repository, home: Path) -> Framed:
    made = make(home)
    found = Framed(made.top, made.home)
    for name in ("specs/a.md", "specs/b.md", "src/main.py"):
        found.write(name)
    revision = source.git("rev-parse", "HEAD")
    found.write(".pre-commit-config.yaml", CONFIG.format(source=source.top, revision=revision))
    found.commit("start")
    return found


@pytest.fixture
def framed(source: Framed, tmp_path_factory: pytest.TempPathFactory) -> Framed:
    home = source.home.parent / tmp_path_factory.mktemp("one").name
    made = prepared(source, home)
    status, said = made.pre_commit("install", *(f"--hook-type={stage}" for stage in STAGES))
    assert status == 0, said
    return made


def test_a_commit_is_refused_allowed_and_merged(framed: Framed) -> None:
    framed.git("rm", "-q", "specs/a.md")
    refused = framed.run("git", "commit", "-m", "deletions only")
    assert (refused.returncode, b"would delete a protected file: specs/a.md" in refused.stdout + refused.stderr) == (1, True)
    framed.git("restore", "--staged", "--worktree", "--", "specs/a.md")
    framed.git("mv", "specs/a.md", "specs/z.md")
    assert framed.run("git", "commit", "-qm", "renamed within").returncode == 0
    framed.git("mv", "specs/z.md", "src/z.md")
    assert framed.run("git", "commit", "-qm", "renamed away").returncode == 1
    framed.git("reset", "-q", "--hard")
    (framed.top / "specs/z.md").unlink()
    (framed.top / "specs/z.md").symlink_to("../src/main.py")
    framed.git("add", ".")
    assert framed.run("git", "commit", "-qm", "another type").returncode == 1
    assert framed.git("log", "--format=%s").split("\n") == ["renamed within", "start"]


def test_a_merge_that_loses_is_refused(framed: Framed) -> None:
    framed.git("checkout", "-q", "-b", "other")
    framed.git("rm", "-q", "specs/a.md")
    framed.commit("less")
    framed.git("checkout", "-q", "main")
    framed.write("src/main.py", "main\n")
    framed.commit("main")
    merged = framed.run("git", "merge", "--no-edit", "other")
    assert merged.returncode != 0
    assert b"`git merge` would delete a protected file: specs/a.md" in merged.stdout + merged.stderr
    assert framed.git("log", "-1", "--format=%s") == "main"


def test_a_trailer_needs_a_person(framed: Framed) -> None:
    framed.git("rm", "-q", "specs/a.md")
    assert framed.run("git", "commit", "-qm", "less\n\nGuard-Allow: specs/a.md").returncode == 1


def test_a_range_is_judged_and_nothing_to_look_at_is_told(framed: Framed) -> None:
    status, said = framed.pre_commit("run", "guard-protected-files", "--all-files", "--verbose")
    assert (status, "nothing was checked" in said) == (0, True), said
    framed.git("rm", "-q", "specs/a.md")
    framed.commit("less")
    words = ("run", "guard-protected-files", "--from-ref", "HEAD~1", "--to-ref", "HEAD")
    assert framed.pre_commit(*words)[0] == 1
    framed.commit("it is meant\n\nGuard-Allow: specs/a.md")
    assert framed.pre_commit("run", "guard-protected-files", "--from-ref", "HEAD~2", "--to-ref", "HEAD")[0] == 0


def test_a_push_is_judged(framed: Framed) -> None:
    remote = framed.home / "remote.git"
    framed.git("init", "-q", "--bare", "-b", "main", str(remote))
    framed.git("remote", "add", "origin", str(remote))
    first = framed.run("git", "push", "-q", "origin", "main")
    assert first.returncode == 0, first.stdout + first.stderr
    framed.git("rm", "-q", "specs/a.md")
    framed.commit("less")
    refused = framed.run("git", "push", "-q", "origin", "main")
    assert (refused.returncode, b"Nothing was pushed" in refused.stdout + refused.stderr) == (1, True)
    assert framed.run("git", "push", "-q", "origin", "main:topic").returncode == 1
    framed.commit("it is meant\n\nGuard-Allow: specs/a.md")
    assert framed.run("git", "push", "-q", "origin", "main").returncode == 0
    framed.git("reset", "-q", "--hard", "HEAD~1")
    framed.git("rm", "-q", "specs/b.md")
    framed.commit("another history")
    assert framed.run("git", "push", "-q", "--force", "origin", "main").returncode == 1


def test_a_checkout_tells_what_the_branch_lacks_and_goes_on(framed: Framed) -> None:
    framed.git("checkout", "-q", "-b", "other")
    framed.git("rm", "-q", "specs/a.md")
    framed.commit("less")
    framed.git("checkout", "-q", "main")
    done = framed.run("git", "checkout", "-q", "other")
    assert (done.returncode, b"this branch lacks a protected file: specs/a.md" in done.stdout + done.stderr) == (0, True)


def test_worktrees_and_a_first_commit(framed: Framed) -> None:
    other = framed.home / "linked"
    framed.git("worktree", "add", "-q", str(other), "-b", "other")
    framed.git("rm", "-q", "specs/a.md", cwd=other)
    assert framed.run("git", "commit", "-qm", "less", cwd=other).returncode == 1
    framed.git("checkout", "-q", "--orphan", "fresh")
    first = framed.run("git", "commit", "-qm", "the first of its own")
    assert first.returncode == 0, first.stdout + first.stderr


def test_try_repo(source: Framed, framed: Framed) -> None:
    framed.git("rm", "-q", "specs/a.md")
    quick = {"VIRTUALENV_NO_SETUPTOOLS": "1", "VIRTUALENV_NO_WHEEL": "1"}
    status, said = framed.pre_commit("try-repo", str(source.top), "guard-protected-files", "--ref", "HEAD", **quick)
    assert (status, "would delete a protected file: specs/a.md" in said) == (1, True), said


def test_a_submodule_that_is_removed(framed: Framed) -> None:
    inner = make(framed.home / "more", "inner")
    inner.write("file")
    inner.commit()
    moved = replace(framed)
    moved.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.top), "specs/inner")
    moved.commit("with a submodule")
    moved.git("rm", "-qf", "specs/inner")
    assert moved.run("git", "commit", "-qm", "without").returncode == 1
