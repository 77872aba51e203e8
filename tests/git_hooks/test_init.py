"""`guard init --git-hooks` and `--pre-commit`: told before, done once, taken back to the byte, and nothing where it cannot be."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from guard.git_hooks import NAMES
from tests.git_hooks.conftest import Repository, make
from tests.test_init import AS_PERSON

FOREIGN = b"#!/bin/sh\necho foreign >&2\n"


def guard(r: Repository, *words: str, cwd: Path | None = None) -> tuple[int, str]:
    done = r.run(sys.executable, "-c", AS_PERSON, *words, cwd=cwd)
    return done.returncode, (done.stdout + done.stderr).decode()


def tree(top: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a directory, mode and content; but for what git writes as it works, and policies compiled anew."""
    found = {}
    for directory, _, names in os.walk(top):
        for name in names:
            path = Path(directory, name)
            if name in ("index", "ORIG_HEAD", "COMMIT_EDITMSG") or {"objects", "logs", "policy"} & set(path.parts):
                continue
            kind = path.lstat().st_mode
            content = os.fsencode(os.readlink(path)) if stat.S_ISLNK(kind) else path.read_bytes()
            found[str(path.relative_to(top))] = kind, content
    return found


@pytest.fixture
def configured(repository: Repository) -> Repository:
    """With a guard.toml, a foreign hook of each kind, and an own configuration of pre-commit."""
    repository.write("guard.toml", "[protect]\nbuiltin = true\n")
    repository.write(".pre-commit-config.yaml", "# ours\nrepos:\n  - repo: local\n    hooks: []\n")
    repository.commit()
    hooks = repository.top / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_bytes(FOREIGN)
    (hooks / "pre-commit").chmod(0o755)
    (hooks / "pre-push").write_bytes(b"\xff not executable")
    os.symlink("../../nowhere", hooks / "post-merge")
    return repository


def test_hooks_come_once_and_go_to_the_byte(configured: Repository) -> None:
    before = tree(configured.top)
    status, said = guard(configured, "init", "--git-hooks", "--yes")
    assert status == 0, said
    assert {f".git/hooks/{name}" for name in NAMES} <= set(tree(configured.top))
    first = tree(configured.top)
    status, said = guard(configured, "init", "--git-hooks", "--yes")
    assert (status, "Everything is in place" in said) == (0, True), said
    assert tree(configured.top) == first
    configured.git("rm", "-q", "specs/a.md")
    refused = configured.run("git", "commit", "-m", "x")
    assert (refused.returncode, b"foreign" in refused.stderr, b"guard: refused" in refused.stderr) == (1, True, True)
    configured.git("reset", "-q", "--hard")
    status, said = guard(configured, "uninstall", "--yes")
    assert (status, "becomes what it was" in said) == (0, True), said
    assert tree(configured.top) == before


@pytest.mark.parametrize("option", ["--git-hooks", "--pre-commit"])
def test_a_dry_run_names_what_it_would_write_and_writes_nothing(configured: Repository, option: str) -> None:
    before = tree(configured.home)
    status, said = guard(configured, "init", option, "--dry-run")
    assert status == 0, said
    assert ("/.git/hooks/pre-push" in said) == (option == "--git-hooks")
    assert (".pre-commit-config.yaml" in said) == (option == "--pre-commit")
    assert tree(configured.home) == before


def test_without_a_person_nothing_is_written(configured: Repository) -> None:
    before = tree(configured.top)
    assert guard(configured, "init", "--git-hooks", "--pre-commit")[0] == 3
    assert tree(configured.top) == before


def test_the_configuration_of_pre_commit_comes_once_and_stays_when_edited(configured: Repository) -> None:
    path = configured.top / ".pre-commit-config.yaml"
    before = path.read_bytes()
    status, said = guard(configured, "init", "--pre-commit", "--yes")
    assert (status, "pre-commit install" in said) == (0, True), said
    after = path.read_bytes()
    assert after.startswith(b"# ours\nrepos:\n")
    assert after.endswith(b"  - repo: local\n    hooks: []\n")
    status, said = guard(configured, "init", "--pre-commit", "--yes")
    assert (status, path.read_bytes()) == (0, after), said
    status, said = guard(configured, "uninstall", "--team", "--yes")
    assert (status, path.read_bytes()) == (0, before), said


def test_a_configuration_that_cannot_be_read_is_named_and_left(configured: Repository) -> None:
    path = configured.top / ".pre-commit-config.yaml"
    path.write_text("- no repos here\n")
    before = tree(configured.top)
    status, said = guard(configured, "init", "--pre-commit", "--git-hooks", "--yes")
    assert (status, str(path) in said) == (64, True), said
    assert tree(configured.top) == before


def test_in_a_linked_worktree_they_come_for_all(repository: Repository) -> None:
    other = repository.home / "linked"
    repository.git("worktree", "add", "-q", str(other), "-b", "other")
    assert guard(repository, "init", "--git-hooks", "--yes", cwd=other)[0] == 0
    for top in (repository.top, other):
        repository.git("rm", "-q", "specs/a.md", cwd=top)
        assert repository.run("git", "commit", "-m", "x", cwd=top).returncode == 1
    assert guard(repository, "uninstall", "--yes", cwd=other)[0] == 0
    assert not (repository.top / ".git/hooks/pre-commit").exists()


def test_in_a_submodule_they_come_for_it_alone(repository: Repository) -> None:
    inner = make(repository.home, "inner")
    inner.write("specs/i.md")
    inner.commit()
    repository.git("submodule", "--quiet", "add", str(inner.top), "part")
    repository.commit()
    part = repository.top / "part"
    assert guard(repository, "init", "--git-hooks", "--yes", cwd=part)[0] == 0
    assert (repository.top / ".git/modules/part/hooks/pre-commit").exists()
    assert not (repository.top / ".git/hooks/pre-commit").exists()
    repository.git("rm", "-q", "specs/i.md", cwd=part)
    assert repository.run("git", "commit", "-m", "x", cwd=part).returncode == 1


def hooks_path(r: Repository) -> str:
    r.git("config", "core.hooksPath", str(r.home / "shared"))
    return "does not belong to the repository"


def husky(r: Repository) -> str:
    r.write(".husky/pre-commit", "npm test\n")
    r.git("config", "core.hooksPath", ".husky/_")
    return "add the line pathguard git-hook NAME"


def lefthook(r: Repository) -> str:
    r.write("lefthook.yml", "pre-commit:\n")
    hook = r.write(".git/hooks/pre-commit", "#!/bin/sh\nlefthook run pre-commit\n")
    hook.chmod(0o755)
    return "add jobs there"


def switched_off(r: Repository) -> str:
    r.git("config", "core.hooksPath", "/dev/null")
    return "git config --unset core.hooksPath"


def a_file_instead(r: Repository) -> str:
    shutil.rmtree(r.top / ".git/hooks", ignore_errors=True)
    (r.top / ".git/hooks").write_text("no directory")
    return "move it out of the way"


def broken_and_the_hooks_of_the_user(r: Repository) -> str:
    r.git("config", "--global", "core.hooksPath", str(r.home / "shared"))
    return not_readable_as_a_repository(r)


def not_readable_as_a_repository(r: Repository) -> str:
    (r.top / ".git/HEAD").write_text("broken")
    return "git takes this for no repository"


@pytest.mark.parametrize(
    "spoil",
    [
        hooks_path,
        husky,
        lefthook,
        switched_off,
        a_file_instead,
        not_readable_as_a_repository,
        broken_and_the_hooks_of_the_user,
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_where_it_cannot_be_nothing_at_all_is_written(repository: Repository, spoil: Callable[[Repository], str]) -> None:
    word = spoil(repository)
    before = tree(repository.home)
    status, said = guard(repository, "init", "--git-hooks", "--agent", "claude", "--yes")
    assert (status in (64, 70, 74), word in " ".join(said.split())) == (True, True), (status, said)
    assert tree(repository.home) == before


def test_a_directory_of_hooks_inside_of_the_repository_is_used(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", "tools/hooks")
    assert guard(repository, "init", "--git-hooks", "--yes")[0] == 0
    assert (repository.top / "tools/hooks/pre-commit").exists()
    repository.git("rm", "-q", "specs/a.md")
    assert repository.run("git", "commit", "-m", "x").returncode == 1


def test_outside_of_a_repository_it_says_so(tmp_path: Path) -> None:
    nowhere = Repository(tmp_path, tmp_path)
    status, said = guard(nowhere, "init", "--git-hooks", "--yes")
    assert (status, "git init" in said) == (64, True), said


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="takes root, and setpriv to be somebody else")
def test_who_may_not_write_there_is_told_and_nothing_is_half_written(repository: Repository) -> None:
    own = [path for path in repository.home.parents if path.name.startswith(("pytest-", "popen-", "test_"))]
    for directory in (*own, repository.home, repository.top):
        directory.chmod(directory.stat().st_mode | 0o055)
    other = {**repository.environment(), "HOME": str(repository.home / "nobody"), "GIT_CONFIG_COUNT": "1"}
    other |= {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    (repository.home / "nobody").mkdir()
    os.chown(repository.home / "nobody", 65534, 65534)
    repository.write("guard.toml", "[protect]\nbuiltin = true\n")
    before = tree(repository.top)
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", AS_PERSON]
    words += ["init", "--git-hooks", "--yes"]
    done = subprocess.run(words, cwd=repository.top, env=other, capture_output=True, text=True, timeout=60)
    if "ModuleNotFoundError" in done.stderr or (done.returncode == 127 and "Permission denied" in done.stderr):
        pytest.skip("this Python cannot be run by somebody else")
    assert done.returncode == 74, (done.stdout, done.stderr)
    assert "cannot be written" in done.stderr
    assert "make it writable" in done.stderr
    assert tree(repository.top) == before
