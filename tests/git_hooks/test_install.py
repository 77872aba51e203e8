"""guard's native hooks: beside what stands there, which runs first and comes back byte for byte."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from guard import git_hooks, pre_commit
from guard.errors import GuardError
from guard.findings import ABSENT, FINE, OFF
from tests.git_hooks.conftest import Repository, make

FOREIGN = b"#!/bin/sh\n# not guard's \xff\necho foreign ${0##*/} $#; cat >&2\n"


def environ(r: Repository) -> dict[str, str]:
    return {"HOME": str(r.home), "PATH": "/usr/bin:/bin"}


def install(r: Repository, cwd: Path | None = None) -> list[str]:
    return git_hooks.install(str(cwd or r.top), environ(r))


def uninstall(r: Repository) -> list[str]:
    return git_hooks.uninstall(str(r.top), environ(r))


def hooks(r: Repository) -> dict[str, tuple[int, bytes]]:
    """What stands in the directory of hooks: mode and content, of links where they lead."""
    top = r.top / ".git/hooks"
    found = {}
    for path in sorted(top.iterdir()) if top.is_dir() else ():
        content = b"" if path.is_dir() else path.read_bytes() if not path.is_symlink() else os.fsencode(os.readlink(path))
        found[path.name] = path.lstat().st_mode, content
    return found


def foreign(r: Repository, name: str, content: bytes = FOREIGN, mode: int = 0o755) -> Path:
    path = r.top / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def codes(r: Repository) -> dict[str, str]:
    return {each.code: each.severity for each in git_hooks.findings(str(r.top), environ(r))}


def test_every_name_gets_the_same_text_and_a_second_time_changes_nothing(repository: Repository) -> None:
    written = install(repository)
    assert [os.path.basename(path) for path in written] == list(git_hooks.NAMES)
    assert len({content for mode, content in hooks(repository).values() if stat.S_ISREG(mode) and git_hooks.MARK in content}) == 1
    before = hooks(repository)
    assert install(repository) == []
    assert hooks(repository) == before


def test_no_hook_names_a_virtual_environment_or_guard_by_name(repository: Repository) -> None:
    install(repository)
    text = (repository.top / ".git/hooks/pre-commit").read_text()
    assert f"guard_command='{repository.home}/.local/share/guard/bin/guard'" in text
    assert ".venv" not in text
    assert not text.startswith("#!/bin/sh")


def test_a_loss_is_refused_by_git_itself(repository: Repository) -> None:
    install(repository)
    repository.git("rm", "-q", "specs/a.md")
    refused = repository.run("git", "commit", "-qm", "less")
    assert refused.returncode == 1
    assert b"would delete a protected file: specs/a.md" in refused.stderr
    repository.git("restore", "--staged", "--worktree", "--", "specs/a.md")
    repository.write("src/main.py", "changed\n")
    assert repository.run("git", "commit", "-qam", "fine").returncode == 0


def test_foreign_hooks_run_first_with_all_that_git_gives_them(repository: Repository, remote: Path) -> None:
    foreign(repository, "pre-commit", b'#!/bin/sh\necho "foreign $# ${GIT_INDEX_FILE##*/}" >&2\n')
    foreign(repository, "pre-push", b'#!/bin/sh\nwhile read a b c d; do echo "foreign $1 $c" >&2; done\n')
    install(repository)
    repository.write("src/main.py", "changed\n")
    assert b"foreign 0 index" in repository.run("git", "commit", "-qam", "fine").stderr
    pushed = repository.run("git", "push", "-q", "origin", "main")
    assert (pushed.returncode, pushed.stderr.count(b"foreign origin refs/heads/main")) == (0, 1)


def test_a_foreign_hook_that_refuses_has_its_way(repository: Repository) -> None:
    foreign(repository, "pre-commit", b"#!/bin/sh\nexit 7\n")
    install(repository)
    repository.write("src/main.py", "changed\n")
    assert repository.run("git", "commit", "-qam", "fine").returncode != 0


def test_a_foreign_hook_sees_no_lines_where_there_are_none(repository: Repository, remote: Path) -> None:
    foreign(repository, "pre-push", b"#!/bin/sh\nwc -c >&2\n")
    install(repository)
    assert repository.run("git", "push", "-q", "origin", "main").stderr.split() in ([], [b"0"])


def test_a_foreign_hook_that_is_not_executable_stays_so(repository: Repository) -> None:
    foreign(repository, "pre-commit", b"#!/bin/sh\nexit 7\n", 0o644)
    install(repository)
    repository.write("src/main.py", "changed\n")
    assert repository.run("git", "commit", "-qam", "fine").returncode == 0


def test_uninstalling_puts_back_what_was_there(repository: Repository) -> None:
    foreign(repository, "pre-commit")
    foreign(repository, "commit-msg", b"", 0o644)
    script = repository.write("tools/hook.sh", "#!/bin/sh\n")
    os.symlink(os.path.relpath(script, repository.top / ".git/hooks"), repository.top / ".git/hooks/pre-push")
    os.symlink("nowhere", repository.top / ".git/hooks/post-merge")
    before = hooks(repository)
    install(repository)
    assert hooks(repository) != before
    install(repository)
    uninstall(repository)
    assert hooks(repository) == before
    assert uninstall(repository) == []
    assert hooks(repository) == before


def test_the_commands_of_pre_commit_in_between_change_nothing(repository: Repository) -> None:
    """pre-commit moves what it finds to NAME.legacy and runs it from there."""
    foreign(repository, "pre-commit")
    install(repository)
    top = repository.top / ".git/hooks"
    os.rename(top / "pre-commit", top / "pre-commit.legacy")
    generated = b'#!/bin/sh\n# File generated by pre-commit\nexec "$0.legacy"\n'
    foreign(repository, "pre-commit", generated)
    before = hooks(repository)
    assert install(repository) == []
    assert hooks(repository) == before
    assert codes(repository) == {"git-hooks": FINE}
    repository.git("rm", "-q", "specs/a.md")
    refused = repository.run("git", "commit", "-qm", "less")
    assert (refused.returncode, b"foreign pre-commit" in refused.stdout + refused.stderr) == (1, True)
    uninstall(repository)
    assert (top / "pre-commit").read_bytes() == generated
    assert (top / "pre-commit.legacy").read_bytes() == FOREIGN


def test_core_hooks_path_inside_of_the_repository_is_used(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".githooks")
    install(repository)
    assert (repository.top / ".githooks/pre-commit").exists()
    repository.git("rm", "-q", "specs/a.md")
    assert repository.run("git", "commit", "-qm", "less").returncode == 1


def test_a_linked_worktree_shares_the_hooks(repository: Repository) -> None:
    other = repository.home / "linked"
    repository.git("worktree", "add", "-q", str(other), "-b", "other")
    install(repository, other)
    assert (repository.top / ".git/hooks/pre-commit").exists()
    repository.git("rm", "-q", "specs/a.md", cwd=other)
    assert repository.run("git", "commit", "-qm", "less", cwd=other).returncode == 1


@pytest.mark.parametrize(
    ("value", "word"),
    [("/dev/null", "switched off"), (".husky/_", "husky"), (".husky", "husky"), ("{home}/shared", "does not belong")],
)
def test_hooks_that_others_manage_are_left_alone_and_it_says_how(repository: Repository, value: str, word: str) -> None:
    repository.git("config", "core.hooksPath", value.format(home=repository.home))
    before = hooks(repository)
    with pytest.raises(GuardError, match=word) as error:
        install(repository)
    assert error.value.todo
    assert hooks(repository) == before
    assert not (repository.home / "shared").exists()


def test_lefthook_is_recognised(repository: Repository) -> None:
    repository.write("lefthook.yml", "pre-commit:\n")
    foreign(repository, "pre-commit", b"#!/bin/sh\ncall_lefthook run pre-commit\n")
    before = hooks(repository)
    with pytest.raises(GuardError, match="lefthook") as error:
        install(repository)
    assert "pathguard git-hook pre-commit" in error.value.todo
    assert hooks(repository) == before


def a_file(top: Path) -> None:
    subprocess.run(["rm", "-rf", str(top)], check=True)
    top.write_text("no directory")


def a_directory_in_the_way(top: Path) -> None:
    (top / "post-merge").mkdir(parents=True)


def two_at_once(top: Path) -> None:
    top.mkdir(exist_ok=True)
    for name in ("post-merge", "post-merge.before-guard"):
        (top / name).write_text("#!/bin/sh\n")


def a_link_to_elsewhere(top: Path) -> None:
    subprocess.run(["rm", "-rf", str(top)], check=True)
    (top.parent.parent.parent / "elsewhere").mkdir()
    top.symlink_to(top.parent.parent.parent / "elsewhere")


@pytest.mark.parametrize("spoil", [a_file, a_directory_in_the_way, two_at_once, a_link_to_elsewhere])
def test_what_is_in_the_way_is_told_and_nothing_is_half_written(repository: Repository, spoil: object) -> None:
    spoil(repository.top / ".git/hooks")  # type: ignore[operator]
    before = hooks(repository)
    with pytest.raises(GuardError) as error:
        install(repository)
    assert error.value.todo
    assert error.value.where
    assert hooks(repository) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_told(repository: Repository) -> None:
    top = repository.top / ".git/hooks"
    top.mkdir(exist_ok=True)
    top.chmod(0o555)
    with pytest.raises(GuardError, match="written"):
        install(repository)
    top.chmod(0o755)


@pytest.mark.parametrize("at", range(1, len(git_hooks.NAMES) + 1))
def test_a_failure_half_way_leaves_all_as_it_was(repository: Repository, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    foreign(repository, "pre-commit")
    foreign(repository, "pre-push")
    before = hooks(repository)
    calls = 0
    write = git_hooks._write

    def failing(path: str, content: bytes) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise OSError(28, "No space left on device", path)
        write(path, content)

    monkeypatch.setattr(git_hooks, "_write", failing)
    with pytest.raises(GuardError, match="No space left"):
        install(repository)
    assert hooks(repository) == before


def test_outside_of_a_repository_there_is_nothing_to_install(tmp_path: Path) -> None:
    with pytest.raises(GuardError):
        git_hooks.install(str(tmp_path), {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert git_hooks.findings(str(tmp_path), {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}) == []


def test_in_a_bare_repository_the_hooks_stand_in_itself(tmp_path: Path) -> None:
    made = make(tmp_path)
    bare = tmp_path / "bare.git"
    made.git("init", "-q", "--bare", str(bare))
    install(made, bare)
    assert (bare / "hooks/pre-push").exists()


def test_findings_say_how_the_hooks_stand(repository: Repository) -> None:
    assert codes(repository) == {"git-hooks-absent": ABSENT}
    install(repository)
    assert codes(repository) == {"git-hooks": FINE}
    (repository.top / ".git/hooks/pre-push").chmod(0o644)
    assert codes(repository) == {"git-hooks-not-executable": OFF}
    (repository.top / ".git/hooks/pre-push").unlink()
    assert codes(repository) == {"git-hooks-incomplete": OFF}
    repository.git("config", "core.hooksPath", "elsewhere")
    assert codes(repository) == {"git-hooks-unused": OFF}


def test_without_guard_the_hooks_before_refuse_and_those_after_do_not(repository: Repository) -> None:
    install(repository)
    subprocess.run(["rm", "-rf", str(repository.home / ".local/share/guard")], check=True)
    repository.write("src/main.py", "changed\n")
    refused = repository.run("git", "commit", "-qam", "fine")
    assert (refused.returncode, b"pip install pathguard" in refused.stderr) == (1, True)
    looked = repository.run("git", "checkout", "-q", "-b", "new")
    assert (looked.returncode, b"nothing was looked at" in looked.stderr) == (0, True)


def test_functions_and_options_of_the_calling_shell_do_not_reach_the_hook(repository: Repository) -> None:
    install(repository)
    repository.git("rm", "-q", "specs/a.md")
    refused = repository.run("git", "commit", "-qm", "less", SHELLOPTS="noexec", **{"BASH_FUNC_command%%": "() { true; }"})
    assert refused.returncode == 1


def test_findings_know_pre_commit(repository: Repository) -> None:
    """Named in its configuration and not installed, in part, and whole."""
    repository.write(".pre-commit-config.yaml", pre_commit.edited(None, "x"))
    assert codes(repository) == {"git-hooks-not-installed": OFF}
    (found,) = git_hooks.findings(str(repository.top), environ(repository))
    assert found.repair.startswith("pre-commit install --hook-type pre-commit --hook-type pre-merge-commit ")
    for name in pre_commit.STAGES[1:]:
        hook = repository.write(f".git/hooks/{name}", "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n")
        hook.chmod(0o755)
    (found,) = git_hooks.findings(str(repository.top), environ(repository))
    assert (found.repair, found.severity) == ("pre-commit install --hook-type pre-commit", OFF)
    shutil.copy2(repository.top / ".git/hooks/pre-push", repository.top / ".git/hooks/pre-commit")
    assert codes(repository) == {"git-hooks-pre-commit": FINE}
    (repository.top / ".git/hooks/pre-push").chmod(0o644)
    assert codes(repository) == {"git-hooks-not-installed": OFF}
    repository.write(".pre-commit-config.yaml", "repos:\n- repo: x\n  hooks:\n  - id: guard-protected-files\n")
    assert codes(repository) == {"git-hooks-pre-commit": FINE}
    repository.write(".pre-commit-config.yaml", "repos:\n- repo: meta\n  hooks:\n  - id: identity\n")
    assert codes(repository) == {"git-hooks-absent": ABSENT}
