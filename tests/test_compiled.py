"""The compiled policy: nothing is lost on the way, and a shell that reads it never passes what Python would refuse."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guard import compiled, globs, project
from guard.matching import KEEP, LOCK, PRESENT, REWRITE, Rule, RuleList, folded
from guard.policy import Except, Policy, Root, Source
from tests.policy_strategies import glob, path

SHELLS = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]
odd = st.text(st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("\\ \n\udc80\udcff0'\""), max_size=8)


def rule_list(name: str, origin: str, lines: list[str]) -> RuleList:
    return RuleList(name, origin, tuple(globs.matcher(Rule(name, line, "/r/g u\nard.toml", 3)) for line in lines))


@settings(max_examples=150, deadline=None)
@given(st.lists(glob, min_size=1, max_size=3), st.lists(glob, min_size=1, max_size=2), odd, odd, st.booleans())
def test_what_is_loaded_is_what_was_dumped(keep: list[str], lock: list[str], text: str, other: str, fold: bool) -> None:
    item = Except("make " + text, rule_list("except", "user", lock).matchers, other, "2027-01-31", "user", "/h/" + text, 9)
    roots = [
        Root("/r" + text, (rule_list(KEEP, "project", keep), rule_list(LOCK, "user", lock)), (("unknown", "deny"),), fold),
        Root(
            "/q",
            (rule_list(REWRITE, "project", keep),),
            sources=(Source("/q/" + other, -1, -1),),
            excepts=(item,),
            main="/m" + other,
        ),
    ]
    assert compiled.load(compiled.dump(roots)) == roots


def test_a_torn_file_is_no_policy() -> None:
    data = compiled.dump([project.builtin("/r")])
    assert compiled.load(data) == [project.builtin("/r")]
    for end in range(len(data)):
        assert compiled.load(data[:end]) is None
    assert compiled.load(data.replace(b"guard-policy 1", b"guard-policy 2")) is None
    assert compiled.load(data.replace(b"re keep", b"xe keep", 1)) is None
    assert compiled.load(None) is None


@given(st.binary(max_size=60))
@example(b"   ")
def test_garbage_is_no_policy(data: bytes) -> None:
    body = compiled.HEADER.encode() + b"\n" + data + b"\nend\n"
    assert compiled.load(body) is None or b"root" in data or not data


def test_storing_is_whole_and_never_an_error(tmp_path: Path) -> None:
    where = compiled.path_for(str(tmp_path / "state"), "/r")
    assert compiled.store(where, [project.builtin("/r")])
    assert compiled.load(Path(where).read_bytes()) == [project.builtin("/r")]
    assert os.listdir(Path(where).parent) == [Path(where).name]
    (tmp_path / "file").touch()
    assert not compiled.store(compiled.path_for(str(tmp_path / "file"), "/r"), [])


def test_a_file_that_has_just_changed_may_change_again_unseen() -> None:
    assert not compiled.settled([Source("/a", 1_000_000_001, 1)], 1_010_000_000)
    assert compiled.settled([Source("/a", 1_000_000_001, 1)], 1_100_000_000)
    assert not compiled.settled([Source("/a", 1_000_000_000, 1)], 2_900_000_000)
    assert compiled.settled([Source("/a", -1, -1)], 5_000_000_000)


def cases(data: bytes) -> list[bytes]:
    return [line[5:] for line in data.split(b"\n") if line.startswith(b"case ")]


# Asks of each path (parted by NUL on descriptor 3) whether one of the patterns (on descriptor 4) matches, as the shims do.
ASK = """
for path in "$@"; do
    found=0
    while read -r pattern; do case $path in $pattern) found=1 ;; esac; done <patterns
    printf %s "$found"
done
"""


def shell_says(shell: str, directory: Path, patterns: list[bytes], paths: list[str]) -> list[bool]:
    (directory / "patterns").write_bytes(b"".join(line + b"\n" for line in patterns))
    argv = [shell, "sh"] if shell == "busybox" else [shell]
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    asked = [os.fsencode(item) for item in paths]
    out = subprocess.run([*argv, "-c", ASK, "sh", *asked], cwd=directory, env=env, capture_output=True, check=True).stdout
    return [char == ord("1") for char in out]


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=60, deadline=None)
@given(
    st.lists(glob.filter(lambda text: not text.startswith("!")), min_size=1, max_size=3),
    st.lists(path, min_size=1, max_size=12),
    st.sampled_from(["/r", "/r [x]*y", "/é\udcff/b\\c", "/"]),
    st.sampled_from([KEEP, PRESENT]),
)
def test_whatever_is_protected_matches_a_pattern_of_the_shell(
    shell: str, tmp_path_factory: pytest.TempPathFactory, lines: list[str], paths: list[str], top: str, name: str
) -> None:
    root = Root(top, (rule_list(name, "project", lines),))
    policy = Policy([root])
    absolute = [("" if top == "/" else top) + "/" + item for item in paths]
    said = shell_says(shell, tmp_path_factory.mktemp("case"), cases(compiled.dump([root])), absolute)
    for item, shell_matches in zip(absolute, said, strict=True):
        assert shell_matches or not (policy.level(item) or policy.level(item, True)), item


def test_patterns_of_a_root_that_folds_case_match_any_case(tmp_path: Path) -> None:
    root = Root("/Users/Me", (rule_list(KEEP, "project", ["/Specs/", "*.MD"]).folded(),), fold=True)
    said = shell_says(
        SHELLS[0], tmp_path, cases(compiled.dump([root])), ["/users/me/SPECS/a", "/Users/ME/x/a.md", "/Users/Me/src/a.c"]
    )
    assert said == [True, True, False]
    assert root.rule(folded("SPECS/a"))


def test_harmless_paths_match_no_pattern_of_the_built_in_list(tmp_path: Path) -> None:
    patterns = cases(compiled.dump([project.builtin("/home/dev/app")]))
    paths = ["src/main.c", "build/specs.o", "node_modules/x/CLAUDE.md.js", ".git/index.lock", "spec", "specs2/a"]
    assert not any(shell_says(SHELLS[0], tmp_path, patterns, [f"/home/dev/app/{item}" for item in paths]))
    assert all(
        shell_says(
            SHELLS[0], tmp_path, patterns, [f"/home/dev/app/{item}" for item in ["specs/a", "CLAUDE.md", ".git", "guard.toml"]]
        )
    )


def test_escaped_fields_are_read_by_printf() -> None:
    text = "a b\nc\\d\x7fé"
    row = compiled.dump([Root("/" + text)]).split(b"\n")[1].split(b" ")[2]
    out = subprocess.run(["dash", "-c", 'printf %b "$1"', "sh", row], capture_output=True, check=True).stdout
    assert out == os.fsencode("/" + text)


def test_what_protected_links_lead_to_matches_a_pattern_too(tmp_path: Path) -> None:
    root = Root("/r", (rule_list(KEEP, "project", ["/specs/"]),), aliases=(("/shared [x]/specs", "specs"),))
    assert all(shell_says(SHELLS[0], tmp_path, cases(compiled.dump([root])), ["/shared [x]/specs", "/shared [x]/specs/a/b"]))
    assert "/shared [x]/specs" in compiled.names(root)


def test_names_lie_at_or_above_all_that_is_protected() -> None:
    root = Root("/r", (rule_list(KEEP, "project", ["/a/b/", "/c/*.md", "!/c/x.md"]), rule_list(REWRITE, "project", ["/z"])))
    assert compiled.names(root) == ["/r/a/b", "/r/c"]
    assert compiled.names(Root("/", (rule_list(KEEP, "project", ["*.md"]),))) == ["/"]
