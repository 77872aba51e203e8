"""A commit past the hook while protected deletions are staged is refused by the layers that see commands."""

from __future__ import annotations

import sys

import pytest

from tests.git_hooks.conftest import Repository

PAST = [
    "git commit -n -m less",
    "git commit --no-verify -m less",
    "git commit --no-veri -qm less",
    "git commit -anm less",
    "SKIP=guard-protected-files git commit -m less",
    "SKIP=flake8,guard-protected-files git commit -m less",
    "export SKIP=guard-commit-message; git commit -m less",
    "env SKIP=guard-protected-files git commit -m less",
    "SKIP=$(cat skipped) git commit -m less",
    "git -c core.hooksPath=/dev/null commit -m less",
    "git -c core.hookspath=empty commit -m less",
    "git config core.hooksPath /dev/null && git commit -m less",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null git commit -m less",
    "git commit -m 'less\n\nGuard-Allow: specs/a.md'",
    "git commit -m less -m 'guard-allow: specs/a.md'",
    "git commit -m less --trailer 'Guard-Allow: specs/a.md'",
    "git commit -F - <<'E'\nless\n\nGuard-Allow: specs/a.md\nE",
    "printf 'less\\n\\nGuard-Allow: specs/\\n' > message; git commit -F message",
    "git commit -m \"$(printf 'less\\n\\nGuard-Allow: specs/a.md')\"",
    "bash -c 'git commit -nm less'",
]
JUDGED = [
    "git commit -m less",
    "git commit -qam less",
    "SKIP=flake8 git commit -m less",
    "git commit -m 'less, without Guard'",
    "git -c user.name=x commit -m less",
    "git commit --dry-run -n",
    "git restore --staged --worktree -- specs/a.md && git commit -n --allow-empty -m fine",
    "echo git commit -n -m less",
]


def check(r: Repository, command: str) -> tuple[int, str]:
    done = r.run(sys.executable, "-m", "guard", "check", "--", command)
    return done.returncode, done.stderr.decode()


@pytest.fixture
def less(repository: Repository) -> Repository:
    repository.git("rm", "-q", "specs/a.md")
    repository.write("skipped", "guard-protected-files")
    return repository


@pytest.mark.parametrize("command", PAST)
def test_past_the_hook_it_is_refused(less: Repository, command: str) -> None:
    status, said = check(less, command)
    assert status == 1, said
    assert "specs/a.md" in said
    assert "past the hook" in said


@pytest.mark.parametrize("command", JUDGED)
def test_what_the_hook_judges_is_allowed(less: Repository, command: str) -> None:
    assert check(less, command) == (0, "")


@pytest.mark.parametrize("command", PAST)
def test_where_nothing_protected_goes_nobody_minds(repository: Repository, command: str) -> None:
    repository.git("rm", "-q", "src/util.py")
    repository.write("skipped", "guard-protected-files")
    assert check(repository, command)[0] == 0


def test_a_file_that_stays_on_the_disk_is_lost_from_the_branch_all_the_same(repository: Repository) -> None:
    repository.git("rm", "-q", "--cached", "specs/a.md")
    assert check(repository, "git commit -nm less")[0] == 1


@pytest.mark.parametrize(
    "back", ["git reset -q --hard", "git restore --staged --worktree specs/a.md", "git checkout HEAD -- specs/a.md"]
)
@pytest.mark.parametrize("then", ["&&", ";"])
def test_what_the_command_itself_has_brought_back_may_not_go_either(less: Repository, back: str, then: str) -> None:
    """On the disk the file is the command's own by then; on the branch it is not."""
    status, said = check(less, f"{back} {then} git rm -q --cached specs/a.md {then} git commit -nm less")
    assert (status, "past the hook" in said) == (1, True), said
    assert check(less, f"{back} {then} git commit -n --allow-empty -m fine") == (0, "")


def test_a_move_among_protected_paths_passes_and_one_out_of_them_does_not(repository: Repository) -> None:
    repository.git("mv", "specs/a.md", "specs/z.md")
    assert check(repository, "git commit -nm moved")[0] == 0
    repository.git("mv", "specs/z.md", "src/z.md")
    assert check(repository, "git commit -nm moved")[0] == 1


def test_with_guards_hooks_there_the_same_holds(less: Repository) -> None:
    from guard import git_hooks

    git_hooks.install(str(less.top), {"HOME": str(less.home), "PATH": "/usr/bin:/bin"})
    assert check(less, "git commit -m less") == (0, "")
    for command in PAST:
        assert check(less, command)[0] == 1, command
    assert check(less, "git commit -m less && rm -rf specs")[0] == 1
    assert check(less, "git commit -m less; rm -rf specs")[0] == 1


def test_the_shims_refuse_it_too(less: Repository) -> None:
    guard = (sys.executable, "-m", "guard")
    for words in (("-nm", "less"), ("-m", "less\n\nGuard-Allow: specs/a.md")):
        refused = less.run(*guard, "exec", "--", "git", "commit", *words)
        assert (refused.returncode, b"past the hook" in refused.stderr) == (126, True), refused.stderr
    assert less.git("log", "--format=%s") == "start"


@pytest.mark.parametrize("name", ["/bin/ls", "if", "./x"])
def test_what_has_a_slash_or_is_a_word_of_the_shell_may_be_found(repository: Repository, name: str) -> None:
    """An installed hook asks for its program by its path; that must not hide what runs behind it."""
    assert check(repository, f"command -v {name} && rm -rf specs")[0] == 1
