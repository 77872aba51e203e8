"""Matching agrees with pathspec and with git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from guard import globs
from guard.builtin_rules import LISTS, MATCHERS
from guard.matching import DIRECTORY, KEEP, PATH, PRESENT, REGEX, Matcher, Rule, RuleList, decide, folded
from tests.policy_strategies import glob, path

GIT_ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}


def rule_list(*lines: str, name: str = KEEP) -> RuleList:
    return RuleList(name, "project", tuple(globs.matcher(Rule(name, line, "guard.toml", i)) for i, line in enumerate(lines, 1)))


@settings(max_examples=400, deadline=None)
@given(st.lists(glob, min_size=1, max_size=4), path, st.booleans())
def test_a_list_decides_as_pathspec_does(lines: list[str], where: str, directory: bool) -> None:
    asked = where + "/" if directory else where
    spec = GitIgnoreSpec.from_lines(lines, backend="simple")
    found = decide(rule_list(*lines).matchers, asked)
    result = spec.check_file(asked)
    assert (found.include if found else None) == result.include
    assert rule_list(*lines).rule(asked) == (
        None if not result.include else Rule(KEEP, lines[result.index], "guard.toml", result.index + 1)
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(glob, min_size=1, max_size=4), path, st.sampled_from([KEEP, PRESENT]))
def test_a_directory_that_holds_nothing_on_the_list_is_never_one_where_something_matches(
    lines: list[str], where: str, name: str
) -> None:
    rules = rule_list(*lines, name=name)
    if rules.rule(where) or rules.rule(where + "/"):
        parts = where.split("/")
        assert all(rules.inside("/".join(parts[:n])) for n in range(len(parts)))


@pytest.mark.parametrize("name", LISTS)
def test_the_generated_table_is_what_the_lists_compile_to(name: str) -> None:
    assert MATCHERS[name] == tuple(tuple(globs.matcher(Rule(name, text)))[2:] for text in LISTS[name]), "python -m guard.globs"
    assert all(globs.check(text) is None for text in LISTS[name])


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        (["/specs/*", "!/specs/generated/"], ["specs/a", "specs/generated/x", "specs/x/y", "x/specs/a"]),
        (["*.spec.md", "!/vendor/"], ["a.spec.md", "x/b.spec.md", "vendor/c.spec.md"]),
        (["/a/**/b"], ["a/b", "a/x/b", "a/x/y/b/c", "b"]),
        (["docs/*.md"], ["docs/a.md", "docs/x/a.md", "x/docs/a.md"]),
        (["*.b"], ["x\ny/z.b", "z.b\n"]),
        (["/\\#a", "/\\!b", "c\\*"], ["#a", "!b", "c*", "cd"]),
        (["**/deep/**"], ["deep/a", "x/deep/a/b", "a/deeper"]),
    ],
)
def test_files_are_matched_as_git_ignores_them(tmp_path: Path, lines: list[str], asked: list[str]) -> None:
    (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n")
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, env=GIT_ENV, check=True)
    for where in asked:
        (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
        if not (tmp_path / where).exists():
            (tmp_path / where).touch()
    stdin = b"".join(os.fsencode(where) + b"\0" for where in asked)
    out = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=tmp_path,
        env=GIT_ENV,
        input=stdin,
        capture_output=True,
        check=False,
    ).stdout
    ignored = {os.fsdecode(item) for item in out.split(b"\0") if item}
    rules = rule_list(*lines)
    assert {w for w in asked if rules.rule(w + "/" if (tmp_path / w).is_dir() else w)} == ignored


@pytest.mark.parametrize(
    ("text", "how", "literal"),
    [
        ("/specs/", DIRECTORY, "specs"),
        ("/CLAUDE.md", PATH, "CLAUDE.md"),
        ("docs/a.md", PATH, "docs/a.md"),
        ("!/a/b/", DIRECTORY, "a/b"),
        ("/a\\*b", PATH, "a*b"),
        ("/a/*/c", REGEX, "a"),
        ("/a/**", REGEX, "a"),
        ("*.md", REGEX, ""),
        ("notes", REGEX, ""),
    ],
)
def test_plain_anchored_globs_need_no_expression(text: str, how: str, literal: str) -> None:
    found = globs.matcher(Rule(KEEP, text))
    assert (found.how, found.literal, bool(found.regex)) == (how, literal, how == REGEX)


def test_unlike_git_a_path_can_be_taken_out_below_a_directory_that_is_on_the_list() -> None:
    rules = rule_list("/specs/", "!/specs/generated/")
    assert rules.rule("specs/a")
    assert not rules.rule("specs/generated/x")
    assert not rules.inside("specs/generated")


def test_case_is_ignored_where_the_root_folds_it() -> None:
    rules = rule_list("/Specs/", "*.MD", "/É/").folded()
    for where in ("specs/a", "x/y.md", "X.Md", "é/a", "e\u0301/a"):
        assert rules.rule(folded(where), fold=True), where
    assert not rule_list("/Specs/").rule("specs/a")


def test_names_that_are_not_utf8_are_matched() -> None:
    assert rule_list("/specs/").rule("specs/\udcff\udc80")
    assert rule_list("/a?b").rule("a\udcffb")


def test_what_is_to_be_present_is_the_path_and_not_what_is_below() -> None:
    rules = rule_list("/.git/", "/.git/objects/", name=PRESENT)
    assert rules.rule(".git/")
    assert rules.rule(".git/objects/")
    assert not rules.rule(".git/index.lock")
    assert not rules.rule(".git/objects/ab/")


BAD = {
    "": "names nothing",
    "/": "names nothing",
    "!": "names nothing",
    "#a": "comment",
    "a ": "ends with a blank",
    "/./specs": "as a component",
    "../x": "as a component",
    "a//b": "never matches",
    "specs/[ab": "never closed",
    "a[/]b": "never closed",
    "[z-a]": "no range",
    "[[:alpha:]]": "read differently",
    "[a\\]": "read differently",
    "a\\": "escapes nothing",
    "~/notes": "not expanded",
    "a\nb": "control character",
    "a\0": "control character",
}


@pytest.mark.parametrize("text", BAD)
def test_a_glob_that_would_silently_match_nothing_is_refused(text: str) -> None:
    assert BAD[text] in (globs.check(text) or "")


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab[]!^-\\*?/.#~ é\udcff|&"), max_size=8))
def test_a_glob_that_passes_the_check_always_compiles(text: str) -> None:
    if globs.check(text) is None:
        found = globs.matcher(Rule(KEEP, text))
        assert isinstance(found, Matcher)
        found.match("a/b")
