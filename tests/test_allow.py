"""A person at a terminal lets pass what was refused; nobody else does."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard import config, granting, grants, policy_file, project
from guard.errors import GuardError
from tests import pseudo_terminal
from tests.pseudo_terminal import Seen
from tests.test_grants import check, environment, execute, refused, state, top

__all__ = ["top"]


def guard(top: Path, *words: str, answer: str | None = None, **more: str) -> Seen:
    """guard's command line at a person's terminal."""
    return pseudo_terminal.guard(top, top.parent / "home", top.parent, *words, answer=answer, **more)


def test_the_first_ten_minutes(top: Path) -> None:
    """A refusal, why, let pass, the deletion, and back again."""
    name = refused(top, "rm -rf specs")
    shown = guard(top, "check", "rm -rf specs").shown
    assert re.search(r"guard explain (\w{4}) · guard allow \1 · guard wrong \1", shown)
    assert "specs/a.md" in guard(top, "explain", name).shown
    allowed = guard(top, "allow", name)
    assert (allowed.status, allowed.answered) == (0, 1)
    assert "specs/a.md" in allowed.shown
    assert "specs/b.md" in allowed.shown
    assert execute(top, "rm", "-rf", "specs").returncode == 0
    assert not (top / "specs").exists()
    snapshot = re.search(r"guard restore --from (\S+) --all", allowed.shown)
    assert snapshot is not None
    assert guard(top, "restore", "--from", snapshot[1], "--all", "--yes").status == 0
    assert (top / "specs/a.md").read_text() == "specs/a.md\n" * 9
    said = guard(top, "log").shown
    assert [word for word in ("refused", "override", "passed") if word in said] == ["refused", "override", "passed"]


@pytest.mark.parametrize("answer", ["", "y", "yes", "abcde", "wxyw "])
def test_other_letters_leave_it(top: Path, answer: str) -> None:
    seen = guard(top, "allow", refused(top, "rm CLAUDE.md"), answer=answer)
    assert seen.status == 1
    assert "left as it was" in seen.shown
    assert grants.known(state(top), False) == []


VERBS = [
    ["allow", "{id}"],
    ["allow", "--always", "{id}", "--reason", "x"],
    ["allow", "--path", "CLAUDE.md", "--reason", "x"],
    ["allow", "--config"],
    ["suspend", "5m", "--reason", "x"],
    ["protect", "docs"],
    ["unprotect", "specs"],
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_agents_are_refused_and_told_no_way_round(top: Path, verb: list[str]) -> None:
    words = [word.replace("{id}", refused(top, "rm CLAUDE.md")) for word in verb]
    for seen in (guard(top, *words, CLAUDECODE="1"), _headless(top, *words)):
        assert seen.status == 1
        assert not seen.answered
        assert "Only a person may do that" in seen.shown
        assert not re.search(r"CLAUDECODE|env |unset|tty|--|sudo|xterm|script", seen.shown)
    assert grants.known(state(top), False) == []
    assert not (top / "guard.toml").exists()
    assert "refused" in guard(top, "log", "--kind", "refused").shown


def _headless(top: Path, *words: str) -> Seen:
    argv = [sys.executable, "-m", "guard", *words]
    run = subprocess.run(
        argv,
        cwd=top,
        env=environment(top),
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    return Seen(run.stdout + run.stderr, run.returncode, 0)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_the_text_layer_refuses_the_verbs(top: Path, verb: list[str]) -> None:
    assert check(top, " ".join(["guard", *verb]).replace("{id}", "r7f3")) == 1


def test_an_id_that_is_none(top: Path) -> None:
    for name in ("zzzz", "r7f3", "", "--", "../x", "a2bc\n"):
        assert guard(top, "allow", "--", name).status == 64
    assert check(top, "ls") == 0


def test_what_weakens_guard_is_not_let_pass(top: Path) -> None:
    seen = guard(top, "allow", refused(top, "guard suspend 5m --reason x"))
    assert seen.status == 64
    assert "do it yourself" in seen.shown
    seen = guard(top, "allow", refused(top, "echo > guard.toml"))
    assert seen.status == 64
    assert not seen.answered


def test_a_path_is_retired_once(top: Path) -> None:
    seen = guard(top, "allow", "--path", "specs", "--for", "5m", "--reason", "obsolete")
    assert (seen.status, seen.answered) == (0, 1)
    (found,) = grants.standing(state(top), False)
    assert 200 < found.expires - time.time() <= 300
    assert found.reason == "obsolete"
    assert set(found.victims) == {str(top / "specs/a.md"), str(top / "specs/b.md")}
    assert check(top, "git rm -r specs; echo x > specs/a.md") == 0
    assert check(top, "rm CLAUDE.md") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--path", "specs"], "needs a reason"),
        (["--path", "nothing", "--reason", "x"], "no such file"),
        (["--path", "docs/c.md", "--reason", "x"], "not protected"),
        (["--path", "specs", "--for", "61m", "--reason", "x"], "at most 60m"),
        (["--path", "specs", "--for", "0m", "--reason", "x"], "at most 60m"),
        (["--path", "specs", "--for", "soon", "--reason", "x"], "no time"),
        (["--path", "--always", "specs"], "three things"),
        (["--for", "5m", "r7f3"], "belongs to --path"),
        ([], "nothing is named"),
        (["r7f3", "q2f4"], "one id"),
        (["--config", "x"], "no id"),
        (["--always", "r7f3", "--reason", "x", "--expires", "2001-01-01"], "is over"),
        (["--always", "r7f3", "--reason", "x", "--expires", "tomorrow"], "is no day"),
    ],
)
def test_wrong_usage(top: Path, words: list[str], said: str) -> None:
    seen = guard(top, "allow", *words)
    assert seen.status == 64
    assert said in seen.shown


def test_a_rule_is_written_and_comments_stay(top: Path) -> None:
    before = "# mine\n[protect]  # what\nkeep = [\n  '/specs/',   # plans\n]\n"
    (top / "guard.toml").write_text(before)
    seen = guard(top, "allow", "--always", refused(top, "rm -rf specs"), "--reason", 'made "again"', "--expires", "2999-01-31")
    assert (seen.status, seen.answered) == (0, 1)
    assert "[[except]]" in seen.shown
    assert "Written. It passes" in seen.shown
    text = (top / "guard.toml").read_text()
    assert text.startswith(before)
    found = config.parse(str(top / "guard.toml"), text.encode())
    assert found is not None
    (rule,) = found.excepts
    assert (rule.command, rule.reason, rule.expires) == ("rm -rf specs", 'made "again"', "2999-01-31")
    assert check(top, "rm -rf specs") == 0
    assert check(top, "rm -r specs") == 1


def test_a_rule_is_not_written_for_what_cannot_be_told(top: Path) -> None:
    seen = guard(top, "allow", "--always", refused(top, "rm -rf specs/$(hostid)*"), "--reason", "x")
    assert seen.status == 64
    assert not (top / "guard.toml").exists()


def test_a_rule_goes_where_the_policy_stands(top: Path) -> None:
    (top / "pyproject.toml").write_text('[project]\nname = "x"\n\n[tool.guard.protect]\nkeep = ["/specs/"]\n')
    assert guard(top, "allow", "--config").status == 0
    assert guard(top, "allow", "--always", refused(top, "rm -rf specs"), "--reason", "x").status == 0
    assert not (top / "guard.toml").exists()
    assert "[[tool.guard.except]]" in (top / "pyproject.toml").read_text()
    assert check(top, "rm -rf specs") == 0


def test_a_file_that_nothing_can_be_added_to_is_left(tmp_path: Path) -> None:
    (tmp_path / "guard.toml").write_text("except = []\n")
    file = policy_file.find(str(tmp_path))
    with pytest.raises(GuardError, match="by hand"):
        policy_file.with_exception(file, policy_file.exception(file, "x", ["/a"], "r"))


def test_a_file_that_has_changed_meanwhile_is_left(tmp_path: Path) -> None:
    (tmp_path / "guard.toml").write_text("# one\n")
    file = policy_file.find(str(tmp_path))
    (tmp_path / "guard.toml").write_text("# two\n")
    with pytest.raises(GuardError, match="meanwhile"):
        policy_file.save(file, "# three\n")
    assert (tmp_path / "guard.toml").read_text() == "# two\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["guard.toml"]


# --- the table in pyproject.toml


TABLE = '[tool.guard.protect]\nkeep = ["/docs/"]\n'


def test_a_table_that_no_person_has_accepted_only_adds(top: Path) -> None:
    (top / "pyproject.toml").write_text(TABLE)
    assert (check(top, "rm docs/c.md"), check(top, "rm CLAUDE.md")) == (1, 1)
    seen = guard(top, "allow", "--config")
    assert (seen.status, seen.answered) == (0, 1)
    assert "+keep" in seen.shown
    assert (check(top, "rm docs/c.md"), check(top, "rm CLAUDE.md")) == (1, 0)


def test_what_was_accepted_last_stays_in_force(top: Path) -> None:
    (top / "pyproject.toml").write_text(TABLE)
    assert guard(top, "allow", "--config").status == 0
    rule = '[[tool.guard.except]]\ncommand = "rm docs/c.md"\npaths = ["/docs/"]\nreason = "x"\n'
    weaker = [
        "[tool.guard.protect]\nkeep = []\n",
        TABLE + rule,
        "",
        TABLE.replace("/docs/", "/specs/"),
        '[tool.guard.answer]\ncertain = "ask"\n',
    ]
    for text in weaker:
        (top / "pyproject.toml").write_text(text)
        assert check(top, "rm docs/c.md") == 1, text
    assert check(top, "rm CLAUDE.md") == 1  # built in, and a part of the last change
    (top / "pyproject.toml").write_text("# moved\n" + TABLE + "\n[tool.other]\nx = 1\n")
    assert (check(top, "rm docs/c.md"), check(top, "rm CLAUDE.md")) == (1, 0)


def test_it_is_named_where_it_matters(top: Path) -> None:
    (top / "pyproject.toml").write_text(TABLE)
    argv = [sys.executable, "-m", "guard", "check", "rm CLAUDE.md"]
    run = subprocess.run(argv, cwd=top, env=environment(top), capture_output=True, text=True, timeout=60)
    assert "pyproject.toml has a changed [tool.guard] table that no person has accepted" in run.stderr
    assert "guard allow --config" in guard(top, "list").shown


def test_a_forged_acceptance_does_nothing(top: Path) -> None:
    (top / "pyproject.toml").write_text(TABLE)
    place, _ = project.acceptances(str(top / "pyproject.toml"), state(top))
    granting.write(str(Path(place).parent), Path(place).name, b"guard-accepted 1 00000000\n" + TABLE.encode(), False)
    assert check(top, "rm CLAUDE.md") == 1


# --- [answer] certain = "ask"


def asked(top: Path, command: str, *options: str) -> int:
    argv = [sys.executable, "-m", "guard", "check", *options, "--", command]
    return subprocess.run(argv, cwd=top, env=environment(top), capture_output=True, timeout=60).returncode


def test_a_certain_loss_asks_only_with_a_fresh_copy_of_everything(top: Path) -> None:
    (top / "guard.toml").write_text('[answer]\ncertain = "ask"\n')
    assert asked(top, "rm -rf specs") == 1
    time.sleep(0.1)
    snapshot = [sys.executable, "-m", "guard", "snapshot"]
    subprocess.run(snapshot, cwd=top, env=environment(top), check=True, capture_output=True, timeout=60)
    assert asked(top, "rm -rf specs") == 3
    assert asked(top, "rm -rf specs", "--headless") == 1
    assert asked(top, "rm guard.toml") == 1
    assert asked(top, "rm -rf specs; guard suspend 5m") == 1
    (top / "specs/a.md").write_text("specs/a.md\n" * 9 + "more\n")
    assert asked(top, "rm -rf specs") == 1
    assert asked(top, "rm specs/b.md") == 3


def test_without_the_setting_a_certain_loss_is_refused(top: Path) -> None:
    snapshot = [sys.executable, "-m", "guard", "snapshot"]
    subprocess.run(snapshot, cwd=top, env=environment(top), check=True, capture_output=True, timeout=60)
    assert asked(top, "rm -rf specs") == 1
