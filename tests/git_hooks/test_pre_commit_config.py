"""guard's hooks in pre-commit's configuration: added to what is there, once."""

from __future__ import annotations

import pytest
import yaml

from guard import pre_commit
from guard.errors import GuardError
from tests.git_hooks.conftest import ROOT

TEXTS = [
    "repos:\n- repo: meta\n  hooks:\n  - id: identity\n",
    "# a comment\nfail_fast: true\nrepos:\n  # another\n  - repo: meta\n    hooks:\n      - id: identity  # why\nexclude: x\n",
    "repos:   # all of them\n    - repo: meta\n      hooks: [{id: identity}]",
    "repos: []\n",
    "repos: []   # none\nfail_fast: true\n",
    "repos:\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_guards_hooks_come_first_and_the_rest_stays(text: str) -> None:
    made = pre_commit.edited(text, "x")
    before, after = yaml.safe_load(text), yaml.safe_load(made)
    assert after["repos"][0]["hooks"][0]["id"] == pre_commit.OURS
    assert after["repos"][1:] == (before["repos"] or [])
    assert {key: value for key, value in after.items() if key != "repos"} == {k: v for k, v in before.items() if k != "repos"}
    assert [line for line in text.splitlines() if "#" in line and "repos" not in line] == [
        line for line in made.splitlines() if "#" in line and "repos" not in line
    ]
    assert pre_commit.edited(made, "x") == made


def test_a_new_file_installs_every_stage_that_has_a_hook() -> None:
    made = yaml.safe_load(pre_commit.edited(None, "x"))
    stages = {stage for repo in made["repos"] for hook in repo["hooks"] for stage in hook["stages"]} - {"manual"}
    assert stages == set(made["default_install_hook_types"]) == set(pre_commit.STAGES)


@pytest.mark.parametrize("text", ["", "hooks:\n", "repos: [{repo: meta, hooks: [{id: identity}]}]\n"])
def test_what_has_no_plain_list_is_left_alone(text: str) -> None:
    with pytest.raises(GuardError, match="repos:") as error:
        pre_commit.edited(text, "x")
    assert error.value.todo


def test_a_word_about_the_hook_is_not_the_hook() -> None:
    text = "# guard-protected-files would be nice\nrepos: []\n"
    assert pre_commit.OURS in pre_commit.edited(text, "x").partition("repos:")[2]


def test_both_lists_of_hooks_say_the_same() -> None:
    """Those that pre-commit takes from guard's repository, and those that guard init writes."""
    shipped = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    written = {hook["id"]: hook for hook in yaml.safe_load(pre_commit.HOOKS)[0]["hooks"]}
    assert list(shipped) == list(written)
    for name, hook in written.items():
        for key in ("name", "entry", "always_run", "pass_filenames", "require_serial", "stages", "verbose"):
            assert shipped[name].get(key) == hook.get(key), (name, key)
