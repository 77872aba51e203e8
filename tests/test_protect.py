"""`guard protect` and `guard unprotect` edit the file that says what is protected, in place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from guard import config, policy_file
from guard.commands import template
from guard.policy_file import PolicyFile
from tests import pseudo_terminal
from tests.test_allow import guard
from tests.test_grants import check, top

__all__ = ["top"]


def test_the_first_protection_keeps_the_built_in_list(top: Path) -> None:
    assert check(top, "rm docs/c.md") == 0
    seen = guard(top, "protect", "docs")
    assert seen.status == 0
    assert "docs is protected as keep by /docs/" in seen.shown.replace("\x1b[1m", "").replace("\x1b[0m", "").replace(
        "\x1b[36m", ""
    )
    assert (check(top, "rm docs/c.md"), check(top, "rm CLAUDE.md")) == (1, 1)


def test_comments_and_spelling_stay(top: Path) -> None:
    before = "# mine\n[protect]\nkeep = [  # kept\n    '/specs/',   # plans\n]\nlock = []\n# end\n"
    (top / "guard.toml").write_text(before)
    assert guard(top, "protect", "docs/c.md").status == 0
    assert guard(top, "protect", "--lock", "docs").status == 0
    after = (top / "guard.toml").read_text()
    assert after == before.replace("# plans\n", '# plans\n    "/docs/c.md",\n').replace("lock = []", 'lock = ["/docs/"]')
    assert check(top, "echo x >> docs/c.md") == 1


def test_taking_out_what_a_pattern_names(top: Path) -> None:
    (top / "guard.toml").write_text('[protect]\nkeep = ["/specs/", "/docs/"]  # two\n')
    seen = guard(top, "unprotect", "docs")
    assert (seen.status, seen.answered) == (0, 1)
    assert (top / "guard.toml").read_text() == '[protect]\nkeep = ["/specs/"]  # two\n'
    assert (check(top, "rm docs/c.md"), check(top, "rm -r specs")) == (0, 1)


def test_taking_out_what_a_wider_pattern_matches(top: Path) -> None:
    assert guard(top, "unprotect", "specs/a.md").status == 0
    assert (check(top, "rm specs/a.md"), check(top, "rm specs/b.md"), check(top, "rm CLAUDE.md")) == (0, 1, 1)
    assert guard(top, "protect", "specs/a.md").status == 0
    assert check(top, "rm specs/a.md") == 1


@pytest.mark.parametrize(
    "begun", [None, "# only a comment\n", "init", "[protect]\nbuiltin = true\n", '[protect]\nlock = ["/x"]\n']
)
def test_taking_out_what_the_built_in_list_protects(top: Path, begun: str | None) -> None:
    text = template.TEMPLATE.format(here="/specs/ /CLAUDE.md") if begun == "init" else begun
    if text is not None:
        (top / "guard.toml").write_text(text)
    assert guard(top, "unprotect", "specs").status == 0
    after = (top / "guard.toml").read_text()
    assert '"!/specs/"' in after
    assert [line for line in (text or "").splitlines() if line.strip() and line not in after] == []
    assert (check(top, "rm -r specs"), check(top, "rm CLAUDE.md"), check(top, "rm guard.toml")) == (0, 1, 1)
    assert guard(top, "unprotect", "/CLAUDE.md").status == 0
    assert check(top, "rm CLAUDE.md") == 0
    assert guard(top, "protect", "specs").status == 0
    assert (check(top, "rm -r specs"), check(top, "rm CLAUDE.md")) == (1, 0)


def test_what_is_not_there_any_more_can_be_taken_out(top: Path) -> None:
    shutil.rmtree(top / "specs")
    seen = guard(top, "unprotect", "specs")
    assert (seen.status, "is not protected" in seen.shown) == (0, True)
    (top / "specs").mkdir()
    (top / "specs/new.md").write_text("new\n" * 5)
    assert check(top, "rm -r specs") == 0


@pytest.mark.parametrize(
    ("name", "pattern"), [("/docs/c.md", "/docs/c.md"), ("/docs/", "/docs/"), ("/nowhere.md", "/nowhere.md")]
)
def test_a_pattern_as_lists_print_it_is_one_of_the_project(top: Path, name: str, pattern: str) -> None:
    (top / "src").mkdir()
    seen = pseudo_terminal.guard(top / "src", top.parent / "home", top.parent, "protect", name)
    assert seen.status == 0, seen
    assert f'"{pattern}"' in (top / "guard.toml").read_text()
    assert guard(top, "unprotect", name).status == 0
    assert check(top, "rm -rf docs nowhere.md") == 0


def test_a_path_of_this_disk_is_no_pattern(top: Path) -> None:
    (top / "etc").mkdir()
    (top / "etc/passwd").write_text("x\n")
    assert guard(top, "protect", "/etc/passwd").status == 64
    assert guard(top, "protect", "/usr/nothing-of-this-name").status == 64


def test_other_letters_leave_it(top: Path) -> None:
    assert guard(top, "unprotect", "specs", answer="no").status == 1
    assert not (top / "guard.toml").exists()


def test_in_pyproject_it_is_accepted_with_it(top: Path) -> None:
    before = '[project]\nname = "x"  # x\n\n[tool.guard.protect]\nkeep = ["/specs/"]\n\n[tool.ruff]\nline-length = 99\n'
    (top / "pyproject.toml").write_text(before)
    assert guard(top, "protect", "docs").status == 0
    assert (top / "pyproject.toml").read_text() == before.replace('["/specs/"]', '["/specs/", "/docs/"]')
    assert (check(top, "rm docs/c.md"), check(top, "rm CLAUDE.md")) == (1, 0)
    assert not (top / "guard.toml").exists()


@pytest.mark.parametrize(
    "name", ["a b.md", "x[1].md", "st*r.md", "q?.md", "!bang.md", "#hash.md", "back\\slash.md", "ü.md", "end ", "'q\".md"]
)
def test_a_path_is_protected_whatever_its_name_is(top: Path, name: str) -> None:
    (top / name).write_text("x\n")
    assert guard(top, "protect", name).status == 0
    import shlex

    assert check(top, f"rm ./{shlex.quote(name)}") == 1
    assert guard(top, "unprotect", name).status == 0
    assert check(top, f"rm ./{shlex.quote(name)}") == 0


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("protect", "."),
        ("protect", ".."),
        ("protect", "/etc/passwd"),
        ("unprotect", "docs"),
        ("unprotect", "guard.toml"),
        ("protect", "a["),
    ],
)
def test_what_cannot_be_done_changes_nothing(top: Path, verb: str, name: str) -> None:
    seen = guard(top, verb, name)
    assert seen.status == 64
    assert not seen.answered
    assert not (top / "guard.toml").exists()


def test_a_broken_file_is_left_as_it_is(top: Path) -> None:
    (top / "guard.toml").write_text("[protect\n")
    assert guard(top, "protect", "docs").status == 64
    assert (top / "guard.toml").read_text() == "[protect\n"


def test_a_link_stays_one_and_its_mode_too(top: Path) -> None:
    (top / "real.toml").write_text('[protect]\nkeep = ["/specs/"]\n')
    (top / "real.toml").chmod(0o640)
    (top / "guard.toml").symlink_to("real.toml")
    assert guard(top, "protect", "docs").status == 0
    assert (top / "guard.toml").is_symlink()
    assert "/docs/" in (top / "real.toml").read_text()
    assert (top / "real.toml").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        "[answer]\nunknown = 'deny'\n",
        '[protect]\nlock = ["/x"]\n',
        "[protect]\nbuiltin = false\n",
        'protect.keep = ["/x"]\n',
        'protect = { keep = ["/x"] }\n',
        '[protect]\nkeep = ["/x", "!/y"]\n\n[[except]]\ncommand = "x"\npaths = ["/x"]\nreason = "r"\n',
        '[[except]]\ncommand = "x"\npaths = ["/x"]\nreason = "r"\n\n[protect]\nkeep = [\n]\n',
        '[protect]\r\nkeep = ["/x"]\r\n',
    ],
)
def test_whatever_the_file_looks_like(tmp_path: Path, text: str) -> None:
    path = str(tmp_path / "guard.toml")
    (tmp_path / "guard.toml").write_bytes(text.encode())
    before = policy_file.patterns(PolicyFile(path, text, False), "keep")
    file = policy_file.find(str(tmp_path))
    after = policy_file.with_patterns(file, "keep", ["/new/"])
    found = config.parse(path, after.encode())
    assert found is not None
    given = [glob.text for glob in found.protect["keep"]]
    assert given == [*(before if found.builtin is not True else [x for x in before if x in given]), "/new/"]
    policy_file.save(file, after)
    again = policy_file.find(str(tmp_path))
    config.parse(path, policy_file.without_patterns(again, "keep", ["/new/"]).encode())


def test_outside_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "nowhere").mkdir()
    assert guard(tmp_path / "nowhere", "protect", "x").status == 64
