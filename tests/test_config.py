"""Configuration is read strictly: what cannot be meant is an error with file, line and remedy."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard import config, root_rules, toml_lines, typed
from guard.errors import GuardError
from guard.policy import Policy, Root
from guard.world import World

GOOD = """# What must survive here.
[protect]
keep = [                      # may be edited
    "/CLAUDE.md",
    "/specs/",
    "!/specs/generated/",     # rebuilt by make
]
lock    = ["/locked"]
present = ["/.git/"]
rewrite = ["/specs/plan.md"]

[[except]]
command = "make specs"
paths   = ["/specs/old/"]
reason  = "regenerated"
expires = 2027-01-31

[answer]
certain  = "ask"
unknown  = "deny"
branches = "pin"

[loop]
max_iterations = 100
verify         = "make test"
"""


def parse(text: str, origin: str = "project", path: str = "/r/guard.toml") -> config.Config:
    found = config.parse(path, text.encode(), origin)
    assert found is not None
    return found


def error(text: str, origin: str = "project", path: str = "/r/guard.toml") -> str:
    with pytest.raises(GuardError) as caught:
        config.parse(path, text.encode(errors="surrogateescape"), origin)
    assert caught.value.code == 64
    return str(caught.value)


def test_the_file_that_init_writes_is_read_with_its_lines() -> None:
    found = parse(GOOD)
    assert [(glob.text, glob.line) for glob in found.protect["keep"]] == [
        ("/CLAUDE.md", 4),
        ("/specs/", 5),
        ("!/specs/generated/", 6),
    ]
    assert found.excepts[0].expires == "2027-01-31"
    assert found.excepts[0].line == 12
    assert found.answer == {"certain": "ask", "unknown": "deny", "branches": "pin"}
    assert found.loop == {"max_iterations": 100, "verify": "make test"}


def test_an_empty_file_says_nothing() -> None:
    assert parse("") == config.Config("/r/guard.toml")


ERRORS = {
    "[protct]\n": '/r/guard.toml:1: unknown key "protct"; did you mean "protect"?',
    '[protect]\n\nkep = ["/a"]': '/r/guard.toml:3: unknown key "kep" in [protect]; did you mean "keep"?',
    '[answer]\ncertain = "denny"': "/r/guard.toml:2: \"certain\" has to be 'deny' or 'ask'; did you mean \"deny\"?",
    '[answer]\nkeep = ["/a"]': '/r/guard.toml:2: unknown key "keep" in [answer]; it belongs into [protect]',
    'keep = ["/a"]': '/r/guard.toml:1: unknown key "keep"; it belongs into [protect]',
    '[protect]\nkeep = "/a"': '/r/guard.toml:2: "keep" has to be a list of patterns; write it as ["..."]',
    '[protect]\nkeep = [\n  "/a",\n  3]': '/r/guard.toml:4: "keep" has to hold texts only',
    '[protect]\nkeep = [\n  "/a",\n  "b["]': "/r/guard.toml:4: bad pattern 'b[': a \"[\" is never closed",
    '[protect]\nkeep = ["/r/specs/"]': "patterns are relative to this file; write '/specs/'",
    '[protect]\nkeep = ["!/a"]': '/r/guard.toml:2: "keep" only takes paths out',
    "[protect]\nbuiltin = 1": '/r/guard.toml:2: "builtin" has to be true or false',
    "protect = 3": '/r/guard.toml:1: "protect" has to be a table; write [protect]',
    "[except]\ncommand = 'x'": '/r/guard.toml:1: "except" has to be an array of tables; write [[except]]',
    "[[except]]\ncommand = 'x'\npaths = ['/a']": '/r/guard.toml:1: [[except]] needs "reason"',
    "[[except]]\ncommand = ''": '/r/guard.toml:2: "command" has to be a text that is not empty',
    "[[except]]\nexpires = '2027-01-31'": '/r/guard.toml:2: "expires" has to be a date without quotes',
    "[[except]]\nexpires = 2027-01-31T00:00:00": '/r/guard.toml:2: "expires" has to be a date',
    "\n\n[[except]]\nexpires = 2027-02-31": "/r/guard.toml:4: not TOML",
    "[loop]\nmax_iterations = true": '/r/guard.toml:2: "max_iterations" has to be a whole number',
    "[loop]\nmax_iterations = 0": '/r/guard.toml:2: "max_iterations" has to be a whole number',
    'override = "terminal"': "only the user's and the system's file may hold it",
    "[protect\n": "/r/guard.toml:1: not TOML",
    "a = \udcff": "/r/guard.toml:1: not UTF-8",
    "a = 1\na = 2": "/r/guard.toml:2: not TOML",
}


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_names_file_line_and_remedy(text: str) -> None:
    assert ERRORS[text] in error(text)


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    assert "not TOML" in error("a = " + "[" * 5000)
    assert "/r/guard.toml" in error("a = " + "[" * 150 + "]" * 150)


def test_only_people_choose_how_the_override_is_proved() -> None:
    assert parse('override = "sudo"', "user").override == "sudo"
    assert "has to be" in error('override = "no"', "system")


def test_only_a_project_can_do_without_the_built_in_list() -> None:
    assert parse("[protect]\nbuiltin = false").builtin is False
    assert "only a project" in error("[protect]\nbuiltin = false", "user")


def test_a_table_of_pyproject_counts_with_its_own_lines() -> None:
    text = '[project]\nname = "x"\n\n[tool.guard.protect]\nkeep = ["/a"]\n'
    assert parse(text, path="/r/pyproject.toml").protect["keep"] == (typed.Glob("/a", 5),)
    assert config.parse("/r/pyproject.toml", b"[tool.other]\nx = 1") is None
    assert "pyproject.toml:2: unknown key" in error("[tool.guard]\nkep = 1", path="/r/pyproject.toml")


LINES = """a = 1
"b c" = [1,
  # "x" = 2 ]
  [2, '''
]
'''],
  3]
[t.u]   # comment
x.y = { p = 1, q = [ "]" ] }
z = \"\"\"
[no]
\\"\"\"\"\"\"
[[l]]
k = 1
[[l]]
k = 2
[l.m]
n = 1979-05-27
"""


def test_lines_are_found_behind_every_kind_of_value() -> None:
    tomllib.loads(LINES)
    found = toml_lines.lines(LINES)
    expected = {
        ("a",): 1, ("b c",): 2, ("b c", 0): 2, ("b c", 1): 4, ("b c", 1, 1): 4, ("b c", 2): 7, ("t", "u"): 8,
        ("t", "u", "x", "y", "q", 0): 9, ("t", "u", "z"): 10, ("l", 0): 13,
        ("l", 0, "k"): 14, ("l", 1, "k"): 16, ("l", 1, "m", "n"): 18,
    }  # fmt: skip
    assert {key: found.get(key) for key in expected} == expected
    assert ("no",) not in found


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("[]{}=\"'#\n ,.ab1\\guardtoolprotect"), max_size=40))
def test_any_text_is_read_or_is_an_error_that_a_user_can_read(text: str) -> None:
    toml_lines.lines(text)
    for path in ("/r/guard.toml", "/r/pyproject.toml"):
        message = path
        try:
            config.parse(path, text.encode())
        except GuardError as caught:
            message = str(caught)
        assert message.startswith(path)


def compiled(tmp_path: Path, **files: str) -> Root:
    """The root of a project whose files by origin have these texts."""
    found = []
    for origin, text in files.items():
        path = tmp_path / origin / "guard.toml"
        path.parent.mkdir()
        path.write_text(text)
        found.append((origin, str(path)))
    return root_rules.compile_root("/r", found, World())


def test_a_projects_list_replaces_the_built_in_list_of_that_name_only(tmp_path: Path) -> None:
    policy = Policy([compiled(tmp_path, project='[protect]\nkeep = ["/docs/"]')])
    assert policy.level("/r/docs/a") == "keep"
    assert policy.level("/r/specs/a") is None
    assert policy.level("/r/.git") == "present"
    rule = policy.rule("/r/docs/a")
    assert rule is not None
    assert (rule.glob, rule.line, rule.source) == ("/docs/", 2, str(tmp_path / "project/guard.toml"))


def test_builtin_puts_the_built_in_list_first(tmp_path: Path) -> None:
    policy = Policy([compiled(tmp_path, project='[protect]\nbuiltin = true\nkeep = ["!/specs/generated/"]')])
    assert policy.level("/r/specs/a") == "keep"
    assert policy.level("/r/specs/generated/a") is None


def test_without_builtin_nothing_but_guards_own_file_is_left(tmp_path: Path) -> None:
    policy = Policy([compiled(tmp_path, project="[protect]\nbuiltin = false\nlock = ['!/x', '/y', '!/guard.toml']")])
    assert policy.level("/r/.git") is None
    assert policy.level("/r/CLAUDE.md") is None
    assert policy.level("/r/guard.toml") == "lock"


def test_a_project_cannot_take_from_the_users_and_the_systems_lists(tmp_path: Path) -> None:
    project = '[protect]\nbuiltin = false\nkeep = ["/specs/", "!/specs/x"]\nrewrite = ["*"]\n'
    project += '[answer]\nbranches = "follow"\nunknown = "ask"'
    user = '[protect]\nkeep = ["/specs/x", "/notes/"]\n[answer]\nbranches = "pin"'
    policy = Policy([compiled(tmp_path, project=project, user=user, system='[protect]\nlock = ["/notes/l"]')])
    assert policy.level("/r/specs/x") == "keep"
    assert policy.level("/r/notes/l") == "lock"
    assert policy.rewrites("/r/specs/a")
    assert not policy.rewrites("/r/specs/x")
    assert policy.setting("/r/a", "branches") == "pin"
    assert policy.setting("/r/a", "unknown") == "ask"


def test_a_users_list_can_bring_the_built_in_one_into_every_project(tmp_path: Path) -> None:
    policy = Policy([compiled(tmp_path, project="[protect]\nbuiltin = false", user="[protect]\nbuiltin = true")])
    assert policy.level("/r/CLAUDE.md") == "keep"
    assert policy.rewrites("/r/IMPLEMENTATION_PLAN.md")
    assert not policy.rewrites("/r/CLAUDE.md")


def test_an_exception_lifts_only_what_its_own_file_or_a_lesser_one_protects(tmp_path: Path) -> None:
    item = '[[except]]\ncommand = "make x"\npaths = ["/specs/", "!/specs/no"]\nreason = "r"\nexpires = 2027-01-31\n'
    policy = Policy([compiled(tmp_path, project=item, user='[protect]\nkeep = ["/specs/mine"]')])
    today = "2027-01-31"
    assert policy.excuse("make x", "/r/specs/a", today)
    assert not policy.excuse("make x ", "/r/specs/a", today)
    assert not policy.excuse("make x", "/r/specs/a", "2027-02-01")
    assert not policy.excuse("make x", "/r/specs/no", today)
    assert not policy.excuse("make x", "/r/specs/mine", today)
    assert not policy.excuse("make x", "/r/CLAUDE.md", today)
    assert policy.excepts[0].paths == ("/specs/", "!/specs/no")


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "guard.toml").mkdir()
    with pytest.raises(GuardError, match="cannot be read"):
        root_rules.compile_root(str(tmp_path), [("project", str(tmp_path / "guard.toml"))], World())
