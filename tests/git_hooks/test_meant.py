"""What a commit says in Guard-Allow is no violation for `guard verify`, and does not come back by itself."""

from __future__ import annotations

import json
import sys

import pytest

from tests.git_hooks.conftest import LINES, Repository


def guard(r: Repository, *words: str) -> tuple[int, str]:
    done = r.run(sys.executable, "-m", "guard", *words)
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture
def kept(repository: Repository) -> Repository:
    """The repository with a snapshot."""
    status, said = guard(repository, "snapshot")
    assert status == 0, said
    return repository


@pytest.mark.parametrize(
    ("trailer", "status"), [("", 1), ("Guard-Allow: specs/a.md", 0), ("Guard-Allow: specs/", 0), ("Guard-Allow: specs/b.md", 1)]
)
def test_a_committed_loss_is_as_bad_as_its_message_says(kept: Repository, trailer: str, status: int) -> None:
    kept.git("rm", "-q", "specs/a.md")
    kept.commit(f"less\n\n{trailer}")
    found, said = guard(kept, "verify")
    assert (found, "specs/a.md" in said) == (status, True), said
    assert ("let pass" in said) == (status == 0)
    told = json.loads(kept.run(sys.executable, "-m", "guard", "verify", "--json").stdout)
    assert (told["violations"], told["changes"][0].get("allowed", False)) == (status, status == 0)
    guard(kept, "restore", "--all", "--yes")
    assert (kept.top / "specs/a.md").exists() == (status == 1)


def test_what_counted_stands_in_the_log_once(kept: Repository) -> None:
    kept.git("rm", "-q", "specs/a.md", "specs/b.md")
    head = kept.commit("less\n\nGuard-Allow: specs/a.md")
    assert [guard(kept, "verify")[0] for _ in range(2)] == [1, 1]
    said = guard(kept, "log", "--kind", "passed", "--json")[1].splitlines()
    (event,) = map(json.loads, said)
    assert event["command"] == "guard verify"
    assert event["reasons"][0][2] == f"Guard-Allow: specs/a.md ({head[:12]})"


def test_it_counts_in_any_commit_since_and_in_none_before(kept: Repository) -> None:
    kept.git("rm", "-q", "specs/a.md")
    kept.commit("less")
    kept.commit("afterwards\n\nGuard-Allow: specs/a.md")
    assert guard(kept, "verify")[0] == 0
    assert guard(kept, "snapshot")[0] == 0
    kept.git("rm", "-q", "specs/b.md")
    kept.commit("less again")
    assert guard(kept, "verify")[0] == 1


def test_what_only_the_work_tree_lost_is_not_meant(kept: Repository) -> None:
    kept.commit("talk\n\nGuard-Allow: specs/")
    (kept.top / "specs/a.md").unlink()
    assert guard(kept, "verify")[0] == 1
    kept.git("rm", "-q", "--cached", "specs/a.md")
    assert guard(kept, "verify")[0] == 1


def test_an_edit_that_was_committed_does_not_excuse_a_deletion_that_was_not(kept: Repository) -> None:
    kept.write("specs/a.md", LINES + "more\n")
    kept.commit("edited\n\nGuard-Allow: specs/a.md")
    (kept.top / "specs/a.md").unlink()
    assert guard(kept, "verify")[0] == 1


def test_a_file_that_was_replaced_as_a_whole(kept: Repository) -> None:
    kept.write("specs/a.md", "quite another text\n")
    kept.commit("replaced")
    assert guard(kept, "verify")[0] == 1
    kept.commit("it is meant\n\nGuard-Allow: specs/a.md")
    assert guard(kept, "verify")[0] == 0


def test_a_project_below_the_top_of_its_repository(repository: Repository) -> None:
    repository.write("part/guard.toml", '[protect]\nkeep = ["/notes/"]\n')
    repository.write("part/notes/n.md")
    repository.commit()
    part = repository.top / "part"
    assert repository.run(sys.executable, "-m", "guard", "snapshot", cwd=part).returncode == 0
    repository.git("rm", "-q", "part/notes/n.md")
    repository.commit("less\n\nGuard-Allow: part/notes/n.md")
    assert repository.run(sys.executable, "-m", "guard", "verify", cwd=part).returncode == 0


def test_a_history_that_is_gone_says_nothing(kept: Repository) -> None:
    kept.git("checkout", "-q", "--orphan", "fresh")
    kept.git("rm", "-qf", "specs/a.md")
    kept.commit("anew\n\nGuard-Allow: specs/a.md")
    kept.git("branch", "-D", "main")
    kept.git("-c", "gc.reflogExpire=now", "-c", "gc.reflogExpireUnreachable=now", "gc", "-q", "--prune=now")
    assert guard(kept, "verify")[0] == 1


def test_the_hook_after_a_checkout_holds_its_peace(kept: Repository) -> None:
    kept.git("rm", "-q", "specs/a.md", "specs/b.md")
    head = kept.commit("less\n\nGuard-Allow: specs/a.md")
    status, said = kept.hook("post-checkout", head, head, "0")
    assert (status, "specs/b.md" in said, "specs/a.md" in said) == (0, True, False)
