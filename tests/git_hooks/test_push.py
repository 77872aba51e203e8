"""What a push takes from a branch of the remote, and what a range of commits takes from where it began."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git_hooks.conftest import LINES, Repository

ZERO = "0" * 40


def push(r: Repository, *lines: tuple[str, str, str, str], **more: str) -> tuple[int, str]:
    text = "".join(" ".join(line) + "\n" for line in lines)
    return r.hook("pre-push", "origin", str(r.home / "remote.git"), stdin=text.encode(), **more)


def pushing(r: Repository, local: str = "main", name: str = "main", old: str | None = None) -> tuple[int, str]:
    """The hook's word on pushing a local revision to a branch that the remote has as `old`."""
    known = r.git("rev-parse", "origin/main") if old is None else old
    return push(r, (f"refs/heads/{local}", r.git("rev-parse", local), f"refs/heads/{name}", known))


def without(r: Repository, message: str = "without a", name: str = "specs/a.md") -> str:
    r.git("rm", "-q", name)
    return r.commit(message)


@pytest.mark.usefixtures("remote")
class TestPush:
    def test_nothing_to_push_is_nothing_to_say(self, repository: Repository) -> None:
        assert push(repository) == (0, "")

    def test_an_edit_passes(self, repository: Repository) -> None:
        repository.write("specs/a.md", f"specs/a.md\n{LINES}more\n")
        repository.commit()
        assert pushing(repository) == (0, "")

    def test_a_deletion_is_refused_and_the_way_back_works(self, repository: Repository) -> None:
        without(repository)
        status, said = pushing(repository)
        assert status == 1
        assert "`git push origin main` would delete a protected file: specs/a.md" in said
        assert "Nothing was pushed." in said
        instead = said.partition("Instead: ")[2].partition("\n")[0]
        assert repository.run("sh", "-c", instead).returncode == 0
        repository.commit("a again")
        assert pushing(repository) == (0, "")

    def test_a_deletion_that_a_later_commit_takes_back_is_none(self, repository: Repository) -> None:
        without(repository)
        repository.git("revert", "--no-edit", "HEAD")
        assert pushing(repository) == (0, "")

    def test_the_trailer_lets_pass_what_it_names_and_nothing_else(self, repository: Repository) -> None:
        without(repository, "less\n\nGuard-Allow: specs/a.md")
        status, said = pushing(repository)
        assert (status, "may lose what Guard-Allow names" in said) == (0, True)
        without(repository, "still less", "specs/b.md")
        status, said = pushing(repository)
        assert (status, "specs/b.md" in said, "specs/a.md" in said) == (1, True, False)

    def test_what_a_trailer_let_pass_stands_in_the_log(self, repository: Repository) -> None:
        commit = without(repository, "less\n\nGuard-Allow: specs/")
        assert pushing(repository)[0] == 0
        log = (repository.home / ".local/state/guard/decisions.jsonl").read_text()
        assert f"Guard-Allow: specs ({commit[:12]})" in log

    def test_a_trailer_in_a_commit_that_the_remote_has_is_used_up(self, repository: Repository) -> None:
        without(repository, "less\n\nGuard-Allow: specs/")
        repository.git("push", "-q", "origin", "main")
        without(repository, "more", "specs/b.md")
        assert pushing(repository)[0] == 1

    def test_a_new_branch_is_judged_from_where_it_left_what_the_remote_has(self, repository: Repository) -> None:
        repository.git("checkout", "-q", "-b", "topic")
        repository.commit("harmless")
        assert pushing(repository, "topic", "topic", ZERO) == (0, "")
        without(repository)
        assert pushing(repository, "topic", "topic", ZERO)[0] == 1

    def test_a_new_branch_on_what_the_remote_has_is_harmless(self, repository: Repository) -> None:
        without(repository)
        repository.git("push", "-q", "origin", "main")
        assert pushing(repository, "main", "copy", ZERO) == (0, "")

    def test_a_new_history_takes_nothing_away(self, repository: Repository) -> None:
        repository.git("checkout", "-q", "--orphan", "fresh")
        repository.git("rm", "-rfq", ".")
        repository.write("README")
        repository.commit("fresh")
        assert pushing(repository, "fresh", "fresh", ZERO) == (0, "")

    def test_forcing_is_judged_by_what_the_remote_has(self, repository: Repository) -> None:
        repository.write("specs/new.md")
        repository.commit("new")
        repository.git("push", "-q", "origin", "main")
        repository.git("reset", "-q", "--hard", "HEAD~1")
        status, said = pushing(repository)
        assert (status, "specs/new.md" in said) == (1, True)

    def test_forcing_over_small_steps_is_no_evolution(self, repository: Repository) -> None:
        for at in range(40):
            lines = [f"new {n}" if n <= at else f"line {n} of the file" for n in range(40)]
            repository.write("specs/a.md", "\n".join(lines) + "\n")
            repository.commit(f"step {at}")
        assert pushing(repository) == (0, "")
        repository.git("push", "-q", "origin", "main")
        repository.git("reset", "-q", "--hard", "HEAD~40")
        repository.commit("elsewhere")
        assert pushing(repository)[0] == 1

    def test_forcing_after_an_amend_that_keeps_all_passes(self, repository: Repository) -> None:
        repository.write("src/main.py", "changed\n")
        repository.commit("one")
        repository.git("push", "-q", "origin", "main")
        repository.git("commit", "-q", "--amend", "-m", "another message")
        assert pushing(repository) == (0, "")

    def test_what_has_changed_step_by_step_passes_and_what_was_lost_on_the_way_does_not(self, repository: Repository) -> None:
        repository.git("mv", "specs/a.md", "specs/z.md")
        repository.commit("moved")
        for at in range(0, 41, 10):
            lines = [f"quite new {n}" if n < at else f"line {n} of the file" for n in range(40)]
            repository.write("specs/z.md", "\n".join(lines) + "\n")
            repository.commit(f"step {at}")
        assert pushing(repository) == (0, "")
        without(repository, "gone after all", "specs/z.md")
        status, said = pushing(repository)
        assert (status, "specs/a.md" in said) == (1, True)

    def test_a_merge_that_drops_a_file_is_refused(self, repository: Repository) -> None:
        repository.git("checkout", "-q", "-b", "topic")
        repository.write("specs/a.md", f"specs/a.md\n{LINES}topic\n")
        repository.commit("topic")
        repository.git("checkout", "-q", "main")
        repository.write("src/main.py", "main\n")
        repository.commit("main")
        repository.git("merge", "-q", "--no-commit", "topic")
        repository.git("rm", "-qf", "specs/a.md")
        repository.git("commit", "-q", "--no-verify", "-m", "evil")
        assert pushing(repository)[0] == 1

    def test_what_the_remote_has_and_nobody_here_knows_cannot_be_told(self, repository: Repository) -> None:
        status, said = pushing(repository, old="1" * 40)
        assert status == 1
        assert "Instead: git fetch origin" in said

    def test_deleting_a_branch_that_is_merged_passes(self, repository: Repository) -> None:
        repository.git("push", "-q", "origin", "main:topic")
        tip = repository.git("rev-parse", "main")
        assert push(repository, ("(delete)", ZERO, "refs/heads/topic", tip)) == (0, "")

    def test_deleting_the_only_branch_that_has_a_file_is_refused(self, repository: Repository) -> None:
        repository.git("checkout", "-q", "-b", "topic")
        repository.write("specs/only-here.md")
        tip = repository.commit("topic")
        repository.git("push", "-q", "origin", "topic")
        status, said = push(repository, ("(delete)", ZERO, "refs/heads/topic", tip))
        assert (status, "specs/only-here.md" in said, "specs/a.md" in said) == (1, True, False)

    def test_deleting_a_branch_that_was_squashed_passes(self, repository: Repository) -> None:
        repository.git("checkout", "-q", "-b", "topic")
        repository.write("specs/new.md")
        tip = repository.commit("topic")
        repository.git("push", "-q", "origin", "topic")
        repository.git("checkout", "-q", "main")
        repository.git("merge", "-q", "--squash", "topic")
        repository.commit("squashed")
        repository.git("push", "-q", "origin", "main")
        assert push(repository, ("(delete)", ZERO, "refs/heads/topic", tip)) == (0, "")

    def test_each_ref_of_a_push_is_judged(self, repository: Repository) -> None:
        start = repository.git("rev-parse", "main")
        bad = without(repository)
        lines = [("refs/heads/x", start, "refs/heads/x", ZERO), ("refs/heads/main", bad, "refs/heads/main", start)]
        assert push(repository, *lines)[0] == 1
        assert push(repository, *reversed(lines))[0] == 1

    def test_from_a_bare_repository_the_built_in_list_counts(self, repository: Repository) -> None:
        bare = repository.home / "bare.git"
        start = repository.git("rev-parse", "main")
        bad = without(repository)
        repository.git("clone", "-q", "--bare", str(repository.top), str(bare))
        text = f"refs/heads/main {bad} refs/heads/main {start}\n"
        status, said = repository.hook("pre-push", "origin", "there", stdin=text.encode(), cwd=bare)
        assert (status, "specs/a.md" in said) == (1, True)

    def test_a_line_that_is_none_is_an_error(self, repository: Repository) -> None:
        status, said = repository.hook("pre-push", "origin", "there", stdin=b"nonsense\n")
        assert (status, "standard input" in said) == (64, True)

    def test_git_itself_pushes_nothing_when_refused(self, repository: Repository, remote: Path) -> None:
        hook = repository.top / ".git/hooks/pre-push"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text('#!/bin/sh\nexec python3 -m guard git-hook pre-push "$@"\n')
        hook.chmod(0o755)
        before = repository.git("rev-parse", "main", cwd=remote)
        without(repository)
        assert repository.run("git", "push", "-q", "origin", "main").returncode != 0
        assert repository.git("rev-parse", "main", cwd=remote) == before


def ranged(r: Repository, old: str, new: str, name: str = "protected-files") -> tuple[int, str]:
    return r.hook(name, PRE_COMMIT="1", PRE_COMMIT_FROM_REF=old, PRE_COMMIT_TO_REF=new)


@pytest.mark.parametrize("name", ["protected-files", "pre-push"])
def test_a_range_is_judged_from_where_its_ends_part(repository: Repository, name: str) -> None:
    repository.git("checkout", "-q", "-b", "topic")
    repository.write("src/main.py", "topic\n")
    repository.commit("topic")
    repository.git("checkout", "-q", "main")
    repository.write("specs/later.md")
    repository.commit("what the topic has not seen")
    assert ranged(repository, "main", "topic", name) == (0, "")
    repository.git("checkout", "-q", "topic")
    without(repository)
    assert ranged(repository, "main", "topic", name)[0] == 1
    repository.commit("it is meant\n\nGuard-Allow: specs/a.md")
    assert ranged(repository, "main", "topic", name)[0] == 0


def test_a_range_whose_ends_are_not_here_is_an_error_that_says_what_to_do(repository: Repository) -> None:
    status, said = ranged(repository, "origin/main", "HEAD")
    assert (status, "origin/main" in said, "fetch" in said) == (64, True, True)
    repository.git("checkout", "-q", "--orphan", "fresh")
    repository.commit("fresh")
    status, said = ranged(repository, "main", "fresh")
    assert (status, "no common commit" in said) == (64, True)


def test_pre_commits_environment_names_the_ref(repository: Repository, remote: Path) -> None:
    start = repository.git("rev-parse", "main")
    bad = without(repository)
    names = {
        "PRE_COMMIT": "1", "PRE_COMMIT_LOCAL_BRANCH": "refs/heads/main", "PRE_COMMIT_REMOTE_BRANCH": "refs/heads/main",
        "PRE_COMMIT_REMOTE_NAME": "origin", "PRE_COMMIT_REMOTE_URL": str(remote),
    }  # fmt: skip
    assert repository.hook("pre-push", **names, PRE_COMMIT_FROM_REF=start, PRE_COMMIT_TO_REF=bad)[0] == 1
    assert repository.hook("pre-push", **names, PRE_COMMIT_FROM_REF=bad, PRE_COMMIT_TO_REF=start) == (0, "")
    assert repository.hook("pre-push", **names)[0] == 1
