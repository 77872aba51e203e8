"""`Guard-Allow: PATH...` in a message: what it names, and who may write it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard import person
from guard.actor import AGENT, PERSON, Actor
from guard.commits.git import Git
from guard.commits.trailers import Trailer, allowing, of_message, paths, written
from guard.hot import git_hook
from tests.git_hooks.conftest import Repository


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("specs/a.md", ["specs/a.md"]),
        (" specs/a.md  b ", ["specs/a.md", "b"]),
        ("./specs//deep/", ["specs/deep"]),
        ("/specs/", ["specs"]),
        ('"a b.md" c', ["a b.md", "c"]),
        (r'"a \"b\".md"', ['a "b".md']),
        ("a, b", ["a", "b"]),
        ("", []),
        (".", []),
        ("/", []),
        ("../x", []),
        ("specs/../../x", []),
        ('"unclosed', []),
    ],
)
def test_what_a_trailer_names(value: str, found: list[str]) -> None:
    assert paths(value) == found


NAMES = st.lists(st.sampled_from(["a", "b c", 'd"e', "f\\g", "é", "h,i"]), min_size=1, max_size=3).map("/".join)


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_what_is_proposed_names_what_it_is_to_name(names: list[str]) -> None:
    assert paths(written(names).partition(": ")[2]) == names


def test_a_directory_allows_what_is_below_it_and_nothing_beside_it() -> None:
    trailers = [Trailer("specs/deep")]
    assert allowing(trailers, "specs/deep/c.md") is not None
    assert allowing(trailers, "specs/deep") is not None
    assert allowing(trailers, "specs/deeper.md") is None
    assert allowing(trailers, "specs") is None


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("subject\n\nGuard-Allow: a\n", ["a"]),
        ("subject\n\nbody\n\nguard-allow: a b\nSigned-off-by: A <a@b>\nGuard-Allow: c\n", ["a", "b", "c"]),
        ("subject\n\nGuard-Allow: a\n# a comment\n#\n# more\n", ["a"]),
        ("subject\n\nGuard-Allow: a is what one writes to say so.\n\nAnother paragraph.\n", []),
        ("Guard-Allow: a\n", []),
        ("subject\n\n# Guard-Allow: a\n", []),
        ("subject\n\n# ------------------------ >8 ------------------------\n\nGuard-Allow: a\n", []),
        ("", []),
    ],
)
def test_only_a_trailer_counts(repository: Repository, message: str, found: list[str]) -> None:
    assert [each.path for each in of_message(Git(str(repository.top), {}), message.encode())] == found


@pytest.fixture
def here(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The repository with a staged loss, the hook to be called in this very process."""
    repository.git("rm", "-q", "specs/a.md")
    monkeypatch.chdir(repository.top)
    monkeypatch.setenv("HOME", str(repository.home))
    return repository


def calling(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(person, "present", lambda: Actor(kind))


def message(r: Repository, text: str) -> str:
    path = r.top / ".git/COMMIT_EDITMSG"
    path.write_text(text)
    return os.path.relpath(path, r.top)


def with_the_hook(r: Repository) -> None:
    path = r.top / ".git/hooks/commit-msg"
    path.parent.mkdir(exist_ok=True)
    path.write_text('#!/bin/sh\nexec pathguard git-hook commit-msg "$1"\n')
    path.chmod(0o755)


def test_a_person_may_say_in_the_message_that_it_is_meant(
    here: Repository, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    calling(monkeypatch, PERSON)
    assert git_hook.main(["commit-msg", message(here, "less\n\nGuard-Allow: specs/a.md\n")]) == 0
    assert "may lose what Guard-Allow names: specs/a.md" in capfd.readouterr().err


def test_an_agent_may_not(here: Repository, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    calling(monkeypatch, AGENT)
    assert git_hook.main(["commit-msg", message(here, "less\n\nGuard-Allow: specs/a.md\n")]) == 1
    said = capfd.readouterr().err
    assert "stop and ask the user" in said
    assert "Guard-Allow" not in said


def test_a_person_without_the_trailer_is_told_how(
    here: Repository, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    calling(monkeypatch, PERSON)
    assert git_hook.main(["commit-msg", message(here, "less\n")]) == 1
    said = capfd.readouterr().err
    assert "git commit --edit -F .git/COMMIT_EDITMSG" in said
    assert "  Guard-Allow: specs/a.md\n" in said


def test_a_trailer_for_another_file_does_not_help(here: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    calling(monkeypatch, PERSON)
    assert git_hook.main(["commit-msg", message(here, "less\n\nGuard-Allow: specs/b.md\n")]) == 1


def test_before_the_editor_a_person_is_told_and_an_agent_refused(
    here: Repository, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with_the_hook(here)
    calling(monkeypatch, PERSON)
    assert git_hook.main(["pre-commit"]) == 0
    assert "end the message with the line\n  Guard-Allow: specs/a.md\n" in capfd.readouterr().err
    calling(monkeypatch, AGENT)
    assert git_hook.main(["pre-commit"]) == 1


@pytest.mark.parametrize("spoil", ["missing", "not executable", "foreign", "elsewhere"])
def test_without_a_hook_that_reads_the_message_a_person_is_refused_before_it(
    here: Repository, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    with_the_hook(here)
    path = here.top / ".git/hooks/commit-msg"
    if spoil == "missing":
        path.unlink()
    elif spoil == "not executable":
        path.chmod(0o644)
    elif spoil == "foreign":
        path.write_text("#!/bin/sh\nexit 0\n")
    else:
        here.git("config", "core.hooksPath", "elsewhere")
    calling(monkeypatch, PERSON)
    assert git_hook.main(["pre-commit"]) == 1


def test_pre_commits_hook_leaves_it_to_the_message_only_where_it_is_told_so(
    here: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_the_hook(here)
    (here.top / ".git/hooks/commit-msg").write_text("#!/bin/sh\n# File generated by pre-commit\n")
    calling(monkeypatch, PERSON)
    assert git_hook.main(["protected-files"]) == 1
    assert git_hook.main(["protected-files", "--message"]) == 0
    monkeypatch.setenv("SKIP", "x,guard-commit-message")
    assert git_hook.main(["protected-files", "--message"]) == 1


def test_a_message_that_cannot_be_read_is_an_error(here: Repository, tmp_path: Path) -> None:
    assert git_hook.main(["commit-msg", str(tmp_path / "nothing")]) == 64
    assert git_hook.main(["commit-msg"]) == 64
