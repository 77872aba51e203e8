"""What the policy says of effects: real trees, the real policy."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from guard.effects import Analysis, At, Below, Cause, Effect, Hole, Matching, Pattern, Somewhere, Unknown, join, unknown
from guard.policy import Policy
from guard.project import load
from guard.survey import possible
from guard.verdict import CODES, REASON_LIMIT, VICTIM_LIMIT, Verdict, headless, judge
from guard.world import Budget, World

PLAN = "".join(f"- [ ] task number {n} of the plan\n" for n in range(12))
SPEC = "".join(f"Requirement {n}: the system shall do thing {n}.\n" for n in range(20))

CONFIG = """
[protect]
keep = ["/specs/", "/plan.md", "/link.md"]
lock = ["/guard.toml", "/frozen.txt", "/sealed/"]
present = ["/.git/"]
rewrite = ["/plan.md"]
"""


class Tree:
    """A repository with its policy."""

    def __init__(self, top: Path, config: str = CONFIG) -> None:
        self.home = top / "home"
        self.top = Path(os.path.realpath(top)) / "home" / "app"
        for directory in ("specs/deep", "build", ".git/objects", ".git/hooks", "sealed"):
            (self.top / directory).mkdir(parents=True)
        for name, text in {
            "specs/a.md": SPEC,
            "specs/deep/b.md": SPEC,
            "specs/empty.md": " \n\n",
            "plan.md": PLAN,
            "build/o.o": "o",
            "frozen.txt": "x\n",
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/hooks/pre-commit": "#!/bin/sh\n",
            "guard.toml": config,
        }.items():
            (self.top / name).write_text(text)
        (self.top / "link.md").symlink_to("specs/a.md")
        self.environ = {"HOME": str(self.home), "GUARD_STATE_DIR": str(top / "state")}

    def world(self, budget: Budget | None = None) -> World:
        return World(self.environ, budget or Budget(30, 10**7))

    def policy(self) -> Policy:
        return load(str(self.top), self.environ, self.world())

    def path(self, name: str) -> str:
        return str(self.top / name) if name else str(self.top)

    def at(self, action: str, name: str, **more: object) -> Effect:
        return Effect(action, At(self.path(name)), cause=Cause(f"{action} {name}", self.path("")), **more)  # type: ignore[arg-type]

    def judge(self, *items: Effect | Unknown, command: str = "") -> Verdict:
        effects = tuple(item for item in items if isinstance(item, Effect))
        unknowns = tuple(item for item in items if isinstance(item, Unknown))
        return judge(Analysis(effects, unknowns), self.policy(), self.world(), command)

    def victims(self, verdict: Verdict) -> set[str]:
        return {os.path.relpath(victim.path, self.top) for victim in verdict.victims}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def codes(verdict: Verdict) -> set[str]:
    return {victim.code for victim in verdict.victims}


def test_no_effects_are_allowed(tree: Tree) -> None:
    assert tree.judge() == Verdict("allow")
    assert tree.judge().code == "allowed"


def test_deleting_what_is_not_protected_is_allowed(tree: Tree) -> None:
    assert tree.judge(tree.at("delete", "build"), tree.at("delete", "nope")).decision == "allow"


def test_deleting_a_directory_takes_all_that_is_kept_below_it(tree: Tree) -> None:
    verdict = tree.judge(tree.at("delete", "specs"))
    assert (verdict.decision, verdict.code, verdict.total) == ("deny", "delete-kept", 3)
    assert tree.victims(verdict) == {"specs/a.md", "specs/deep/b.md", "specs/empty.md"}
    assert [v.rule.glob for v in verdict.victims if v.rule and v.path.endswith("b.md")] == ["/specs/"]


def test_deleting_the_root_takes_everything(tree: Tree) -> None:
    verdict = tree.judge(Effect("delete", At(str(tree.home))))
    assert {"specs/a.md", "plan.md", "frozen.txt", ".git", "link.md"} <= tree.victims(verdict)


def test_below_leaves_the_directory_itself(tree: Tree) -> None:
    assert tree.judge(Effect("delete", Below(tree.path("plan.md")))).decision == "allow"
    assert tree.judge(Effect("delete", Below(tree.path("specs")))).total == 3


def test_what_must_be_present_must_stay_and_its_inside_may_go(tree: Tree) -> None:
    assert tree.judge(tree.at("delete", ".git")).code == "delete-present"
    assert tree.victims(tree.judge(tree.at("delete", ".git"))) == {".git"}
    assert tree.judge(tree.at("move", ".git", to=tree.path("specs/git"))).code == "move-present"
    assert tree.judge(tree.at("link", ".git", to="/tmp")).code == "replace-present"
    assert tree.judge(tree.at("delete", ".git/hooks")).decision == "allow"


@pytest.mark.parametrize(
    ("name", "to", "code"),
    [
        ("specs/a.md", "specs/c.md", None),
        ("specs", "specs/inner", None),
        ("specs/deep", "specs/other", None),
        ("specs/a.md", "build/a.md", "move-kept"),
        ("specs", "old", "move-kept"),
        ("specs", None, "move-kept"),
        ("frozen.txt", "specs/frozen.txt", "change-locked"),
        ("specs/a.md", "sealed/a.md", "create-locked"),
    ],
)
def test_moves(tree: Tree, name: str, to: str | None, code: str | None) -> None:
    verdict = tree.judge(tree.at("move", name, to=tree.path(to) if to is not None else None))
    assert verdict.code == (code or "allowed")


def test_a_file_that_was_moved_is_still_the_victim_where_it_went(tree: Tree) -> None:
    moved = tree.at("move", "specs/a.md", to=tree.path("specs/new/z.md"))
    verdict = tree.judge(moved, tree.at("delete", "specs/new"))
    assert tree.victims(verdict) == {"specs/a.md"}
    again = tree.at("move", "specs/new", to=tree.path("specs/newer"))
    assert tree.victims(tree.judge(moved, again, tree.at("truncate", "specs/newer/z.md"))) == {"specs/a.md"}
    assert tree.judge(moved, again).decision == "allow"
    assert tree.judge(moved, again, tree.at("edit", "specs/newer/z.md")).decision == "allow"


@pytest.mark.parametrize(
    ("action", "name", "content", "code"),
    [
        ("overwrite", "specs/a.md", None, "overwrite-kept"),
        ("overwrite", "specs/a.md", SPEC, None),
        ("overwrite", "specs/a.md", SPEC + "more\n", None),
        ("overwrite", "specs/a.md", "all new\n", "replace-kept"),
        ("overwrite", "specs/a.md", " \n\0", "empty-kept"),
        ("overwrite", "specs/empty.md", "now something\n", None),
        ("overwrite", "specs/empty.md", "", None),
        ("truncate", "specs/a.md", None, "truncate-kept"),
        ("truncate", "specs/empty.md", None, None),
        ("edit", "specs/a.md", None, None),
        ("edit", "specs/a.md", SPEC.replace("thing", "task"), None),
        ("edit", "specs/a.md", "", "empty-kept"),
        ("edit", "specs/a.md", "gone\n", "replace-kept"),
        ("overwrite", "plan.md", None, None),
        ("overwrite", "plan.md", "all new\n", None),
        ("overwrite", "plan.md", "", "empty-kept"),
        ("truncate", "plan.md", None, "truncate-kept"),
        ("revert", "plan.md", None, "revert-kept"),
        ("revert", "specs/a.md", None, "revert-kept"),
        ("leave", "specs/a.md", None, None),
        ("link", "specs/a.md", None, "link-kept"),
        ("edit", "frozen.txt", None, "change-locked"),
        ("edit", "frozen.txt", "x\n", None),
        ("overwrite", "frozen.txt", "x\n", None),
        ("overwrite", "frozen.txt", "x\ny\n", "change-locked"),
        ("truncate", "frozen.txt", None, "change-locked"),
        ("delete", "frozen.txt", None, "change-locked"),
        ("leave", "frozen.txt", None, None),
        ("overwrite", "link.md", SPEC, "replace-kept"),
        ("edit", "link.md", None, "replace-kept"),
        ("overwrite", "specs", None, "overwrite-kept"),
        ("overwrite", ".git", None, "replace-present"),
        ("overwrite", "build/o.o", None, None),
        ("create", "specs/new.md", None, None),
        ("create", "sealed/new", None, "create-locked"),
        ("overwrite", "sealed/new", None, "create-locked"),
        ("link", "sealed/new", None, "create-locked"),
        ("delete", "sealed/new", None, None),
    ],
)
def test_one_effect_on_one_path(tree: Tree, action: str, name: str, content: str | None, code: str | None) -> None:
    data = None if content is None else content.encode()
    verdict = tree.judge(tree.at(action, name, content=data))
    assert verdict.code == (code or "allowed")
    assert verdict.decision == ("deny" if code else "allow")


def test_a_source_counts_as_it_is_on_disk(tree: Tree) -> None:
    (tree.top / "build/copy").write_text(SPEC + "and more\n")
    (tree.top / "build/other").write_text("something else\n")
    assert tree.judge(tree.at("overwrite", "specs/a.md", source=tree.path("build/copy"))).decision == "allow"
    assert tree.judge(tree.at("overwrite", "specs/a.md", source=tree.path("build/other"))).code == "replace-kept"
    assert tree.judge(tree.at("overwrite", "specs/a.md", source=tree.path("build/none"))).code == "overwrite-kept"
    assert tree.judge(tree.at("overwrite", "specs/a.md", source=tree.path("link.md"))).code == "overwrite-kept"


def test_a_source_that_the_command_has_changed_is_not_known(tree: Tree) -> None:
    (tree.top / "build/copy").write_text(SPEC)
    taken = tree.at("overwrite", "specs/a.md", source=tree.path("build/copy"))
    assert tree.judge(tree.at("truncate", "build/copy"), taken).code == "overwrite-kept"
    assert tree.judge(tree.at("move", "build/o.o", to=tree.path("build/copy")), taken).code == "overwrite-kept"
    assert tree.judge(taken, tree.at("move", "build/copy", to=tree.path("specs/a.md"))).decision == "allow"


def test_a_link_that_is_there_already_changes_nothing(tree: Tree) -> None:
    assert tree.judge(tree.at("link", "link.md", to="specs/a.md")).decision == "allow"
    assert tree.judge(tree.at("link", "link.md", to="specs/b.md")).code == "link-kept"


def test_leaving_with_a_branch_is_a_loss_where_branches_are_pinned(tmp_path: Path) -> None:
    tree = Tree(tmp_path, CONFIG + '[answer]\nbranches = "pin"\n')
    assert tree.judge(tree.at("leave", "specs")).code == "leave-kept"


def test_lifting_protection_is_always_denied(tree: Tree) -> None:
    assert tree.judge(Effect("lift", At(tree.path("anything")))).code == "lift-guard"
    assert tree.judge(Effect("lift", Somewhere("/"), certain=False)).decision == "deny"


def test_an_open_shell_is_not_judged_here(tree: Tree) -> None:
    assert tree.judge(Effect("open_shell", Somewhere("/"))).decision == "allow"


def test_an_uncertain_loss_is_asked_about(tree: Tree) -> None:
    verdict = tree.judge(Effect("delete", At(tree.path("specs")), certain=False, cause=Cause("find -weird", "/")))
    assert (verdict.decision, verdict.code, verdict.total) == ("ask", "unknown-test", 3)
    assert verdict.reasons[0].what == "find -weird"
    assert tree.judge(Effect("delete", At(tree.path("build")), certain=False)).decision == "allow"


def test_somewhere_asks_where_anything_is_protected(tree: Tree) -> None:
    assert tree.judge(Effect("overwrite", Somewhere(tree.path("")))).code == "unknown-argument"
    assert tree.judge(Effect("edit", Somewhere(tree.path("specs")))).decision == "allow"
    assert tree.judge(Effect("overwrite", Somewhere(tree.path("build")))).decision == "allow"


def test_headless_turns_ask_into_deny(tree: Tree) -> None:
    verdict = headless(tree.judge(Effect("delete", Somewhere(tree.path("")))))
    assert verdict.decision == "deny"
    assert verdict.reasons[0].decision == "deny"
    assert {victim.decision for victim in verdict.victims} == {"deny"}
    assert headless(Verdict("allow")) == Verdict("allow")


def test_a_user_may_want_the_unknown_denied(tmp_path: Path) -> None:
    tree = Tree(tmp_path, CONFIG + '[answer]\nunknown = "deny"\n')
    assert tree.judge(Effect("delete", Somewhere(tree.path("")))).decision == "deny"
    assert tree.judge(Unknown("unknown-command", "$x")).decision == "deny"


def test_deny_beats_ask(tree: Tree) -> None:
    verdict = tree.judge(Effect("delete", Somewhere(tree.path(""))), tree.at("delete", "specs/a.md"))
    assert (verdict.decision, verdict.code, verdict.total) == ("deny", "delete-kept", 1)
    assert verdict.victims[0].path == tree.path("specs/a.md")


@pytest.mark.parametrize("code", ["syntax", "parser", "too-deep", "too-long", "too-many-steps", "out-of-time", "a-new-limit"])
def test_a_limit_is_denied(tree: Tree, code: str) -> None:
    assert tree.judge(Unknown(code, "x")).decision == "deny"
    assert tree.judge(Unknown(code, "x", Somewhere(tree.path("specs")))).decision == "deny"
    assert tree.judge(Unknown(code, "x", Somewhere(tree.path("build")))).decision == "allow"


def test_a_limit_without_reach_is_denied_even_where_nothing_is_protected(tmp_path: Path) -> None:
    assert judge(Analysis(unknowns=(Unknown("too-deep", ""),)), Policy(), World({})).decision == "deny"
    assert judge(Analysis(unknowns=(Unknown("unknown-command", ""),)), Policy(), World({})).decision == "allow"


def test_an_unknown_is_asked_about_where_protected_files_are_within_reach(tree: Tree) -> None:
    verdict = tree.judge(Unknown("unknown-command", "$CMD"))
    assert (verdict.decision, verdict.code, verdict.reasons[0].what) == ("ask", "unknown-command", "$CMD")
    assert verdict.reasons[0].total > 3
    assert tree.judge(Unknown("unknown-new", "x", At(tree.path("specs")))).decision == "ask"
    assert tree.judge(Unknown("unknown-command", "x", Below(tree.path("build")))).decision == "allow"


def hole(what: str = "$X") -> Pattern:
    return unknown("unknown-variable", what)


def matching(tree: Tree, base: str, *pieces: str | Pattern) -> Matching:
    pattern = join(tree.path(base), *pieces) if base is not None else join(*pieces)
    assert isinstance(pattern, Pattern)
    return Matching(tree.path(base), pattern)


def test_a_pattern_asks_about_what_it_could_name(tree: Tree) -> None:
    verdict = tree.judge(Effect("delete", matching(tree, "", "/", hole(), "/deep")))
    assert (verdict.decision, verdict.code, verdict.reasons[0].what) == ("ask", "unknown-variable", "$X")
    assert tree.victims(verdict) == {"specs/deep/b.md"}
    assert tree.judge(Effect("delete", matching(tree, "", "/", hole(), ".o"))).decision == "allow"
    assert tree.judge(Effect("delete", matching(tree, "build", "/", hole()))).decision == "allow"
    assert tree.judge(Effect("edit", matching(tree, "specs", "/", hole()))).decision == "allow"


def test_a_hole_at_the_start_may_be_anything(tree: Tree) -> None:
    everything = tree.judge(Effect("delete", Matching("/", hole())))
    assert {"specs/a.md", "plan.md", ".git"} <= tree.victims(everything)
    assert everything.decision == "ask"


def test_a_pattern_reaches_through_links_behind_its_hole(tree: Tree) -> None:
    (tree.top / "build/to").symlink_to("../specs")
    (tree.top / "specs/up").symlink_to("deep")
    verdict = tree.judge(Effect("truncate", matching(tree, "", "/", hole(), "/up/b.md")))
    assert tree.victims(verdict) == {"specs/deep/b.md"}


@pytest.mark.parametrize(
    ("pieces", "path", "could"),
    [
        (("/r/", None), "/r/specs/a", True),
        (("/r/", None), "/other/a", False),
        (("/r/s", None), "/r/specs/a", True),
        (("/r/", None, "/a"), "/r/a", True),
        (("/r/", None, "/a"), "/r/x/a", True),
        (("/r/", None, "/a"), "/r/x/a/b", True),
        (("/r/", None, "/a"), "/r/x/ab", False),
        (("/r/", None, ".md"), "/r/x/a.md", True),
        (("/r/", None, ".md"), "/r/x.md/a", True),
        (("/r/", None, "*.md"), "/r/x.md", False),
        (("/r/", None, "/"), "/r/specs/a", True),
        (("/r/", None, "/."), "/r/specs/a", True),
        (("/r/", None, "//specs//a"), "/r/specs/a", True),
        (("/r/", None, "/./specs"), "/r/specs/a", True),
        (("/r/x/", None, "/../specs"), "/r/specs/a", True),
        (("/r/x/", None, "/../specs"), "/r/plan", False),
        (("/r/", None, "/.."), "/q", True),
        (("/r/", None, "/..x"), "/r/y", False),
        (("/r/", None, "b", None, "d"), "/r/abcd", True),
        (("/r/", None, "b", None, "d"), "/r/adcb", False),
        (("/r/", None, "b", None, "b"), "/r/ab", False),
        (("/r/", None, "b", None, "b"), "/r/abb/x", True),
        ((None, "specs"), "/r/specs/a", True),
        ((None,), "/r", True),
        (("/r/a",), "/r/a/b", True),
        (("/r/a",), "/r/ab", False),
        (("/r/.", None), "/r/.git", True),
    ],
)
def test_what_a_pattern_could_name(pieces: tuple[str | None, ...], path: str, could: bool) -> None:
    pattern = Pattern(tuple(Hole("unknown-variable", "$X") if piece is None else piece for piece in pieces))
    assert possible(pattern)(path) is could


def test_many_holes_take_no_longer_than_few() -> None:
    pattern = Pattern(tuple(piece for _ in range(300) for piece in ("a", Hole("unknown-variable", "$X"))))
    assert not possible(pattern)("/" + "a" * 5000 + "b")


def test_running_out_of_steps_or_time_is_denied(tree: Tree) -> None:
    policy = tree.policy()
    analysis = Analysis(tuple(tree.at("delete", f"build/{n}") for n in range(50)))
    assert judge(analysis, policy, tree.world(Budget(30, 20))).code == "too-many-steps"
    assert judge(analysis, policy, tree.world(Budget(0))).code == "out-of-time"
    assert judge(Analysis(), policy, tree.world(Budget(0))).decision == "allow"


def test_victims_found_before_the_time_ran_out_are_told(tree: Tree) -> None:
    effects = [tree.at("delete", "specs"), *(tree.at("delete", f"build/{n}") for n in range(5000))]
    verdict = judge(Analysis(tuple(effects)), tree.policy(), tree.world(Budget(30, 3000)))
    assert verdict.code == "delete-kept"
    assert "too-many-steps" in {reason.code for reason in verdict.reasons}


def test_thousands_of_effects_are_judged_in_time(tree: Tree) -> None:
    effects = tuple(tree.at("edit", f"specs/{n}") for n in range(5000)) + (tree.at("delete", "specs"),) * 20_000
    verdict = judge(Analysis(effects), tree.policy(), World(tree.environ, Budget(5, 200_000)))
    assert verdict.total == 3


def test_victims_and_reasons_are_capped_and_counted(tree: Tree) -> None:
    for n in range(VICTIM_LIMIT + 50):
        (tree.top / f"specs/n{n}.md").write_text("x")
    effects = [tree.at("delete", "specs")]
    effects += [Effect("delete", matching(tree, "", "/", hole(f"${n}"))) for n in range(REASON_LIMIT + 50)]
    verdict = tree.judge(*effects)
    assert len(verdict.victims) == VICTIM_LIMIT
    assert len(verdict.reasons) <= REASON_LIMIT + 1
    deleted = {v.path for v in verdict.victims if v.decision == "deny"}
    assert len(deleted) == VICTIM_LIMIT
    assert verdict.total == VICTIM_LIMIT + 53


EXCEPT = '[[except]]\ncommand = "make specs"\npaths = ["/specs/deep/"]\nreason = "regenerated"\nexpires = '


def test_an_exception_allows_its_exact_command_on_its_paths(tmp_path: Path) -> None:
    tree = Tree(tmp_path, CONFIG + EXCEPT + "2999-01-01\n")
    effect = tree.at("delete", "specs/deep")
    allowed = tree.judge(effect, command="make specs")
    assert (allowed.decision, allowed.code) == ("allow", "excepted")
    assert tree.judge(effect, command="make  specs").decision == "deny"
    assert tree.judge(effect, tree.at("delete", "specs/a.md"), command="make specs").total == 2
    assert tree.judge(effect, Unknown("too-deep", ""), command="make specs").decision == "deny"
    assert tree.judge(effect, Effect("lift", At("/x")), command="make specs").decision == "deny"


def test_an_exception_ends(tmp_path: Path) -> None:
    tree = Tree(tmp_path, CONFIG + EXCEPT + "2020-01-01\n")
    assert tree.judge(tree.at("delete", "specs/deep"), command="make specs").decision == "deny"


def test_guards_own_directories_are_locked_before_they_exist(tree: Tree) -> None:
    state = str(Path(tree.environ["GUARD_STATE_DIR"]))
    assert tree.judge(Effect("create", At(f"{state}/grants/x"))).code == "create-locked"


def odd() -> Iterable[Effect | Unknown]:
    for target in (
        At("/\0"),
        At("/\udcff"),
        Below("/"),
        Somewhere("/\n"),
        Matching("/", Pattern(())),
        At("/" + "x/" * 5000 + "y"),
    ):
        for action in ("delete", "move", "overwrite", "truncate", "edit", "revert", "leave", "create", "link", "lift", "odd"):
            for certain in (True, False):
                yield Effect(action, target, certain, None, "/\0to", b"\xff", "/\0source")
        yield Unknown("odd\0", "\udcff", target)


def test_odd_input_gives_a_verdict(tree: Tree) -> None:
    for item in odd():
        assert tree.judge(item).decision in ("allow", "ask", "deny")


def test_the_table_of_codes() -> None:
    assert set(CODES.values()) == {"none", "loss", "limit", "unknown"}
    for code, kind in CODES.items():
        assert code == code.lower()
        assert code.startswith("unknown-") == (kind == "unknown")
