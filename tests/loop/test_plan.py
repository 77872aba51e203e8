"""The plan: which lines are tasks, who they are, and what an iteration did to them."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.errors import GuardError
from guard.loop import facts
from guard.loop.plan import MOST, NAMES, Progress, Tasks, find, load
from guard.loop.tasks import tasks

PLAN = "# Plan\n\n- [ ] one\n- [ ] two\n- [ ] three\n"


def shown(text: str) -> list[tuple[str, bool, bool]]:
    return [(task.identity, task.ticked, task.optional) for task in tasks(text)]


@pytest.mark.parametrize(
    ("line", "ticked"),
    [
        ("- [ ] x", False),
        ("* [x] x", True),
        ("+ [X] x", True),
        ("1. [ ] x", False),
        ("12) [x] x", True),
        ("        - [ ] x", False),
        ("\t- [ ] x", False),
        ("-   [ ]   x  ", False),
        ("\ufeff- [ ] x", False),
        ("- [ ] <!-- note --> x", False),
    ],
)
def test_a_box_at_the_start_of_a_list_item_is_a_task(line: str, ticked: bool) -> None:
    for end in ("", "\n", "\r\n"):
        assert shown(line + end) == [("x", ticked, False)]


@pytest.mark.parametrize(
    "text",
    [
        *("[ ] x", "- [] x", "- [ ]x", "- [y] x", "- [ ]", "- [ ]  ", "- (x) x", "-[ ] x", "text - [ ] x", "- [2026-11-30] x"),
        *("- [x](link)", "> - [ ] x", "- see [ ] x", "```\n- [ ] x\n```", "~~~~md\n- [ ] x\n~~~\n- [ ] y\n~~~~"),
        *("- ```\n  - [ ] x\n  ```", "<!-- - [ ] x -->", "<!--\n- [ ] x\n-->", "<!-- a\n```\n- [ ] x\n-->", "```\n- [ ] x"),
        *("<!--\n- [ ] x", "<!-- a --><!-- \n- [ ] x\n -->"),
    ],
)
def test_what_is_no_task(text: str) -> None:
    assert shown(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\n```\n- [ ] x",
        "~~~\n```\n~~~\n- [ ] x",
        "``` `a` ```\n- [ ] x",
        "<!-- a -->\n- [ ] x",
        "say `<!--` here\n- [ ] x",
        "<!-- ``` -->\n- [ ] x",
        "```\n<!--\n```\n- [ ] x",
    ],
)
def test_what_ends_fences_and_comments(text: str) -> None:
    assert [identity for identity, _, _ in shown(text)] == ["x"]


def test_identity_is_heading_path_text_and_ordinal() -> None:
    text = "- [ ] a\n# One\n- [ ] a\n- [x] a\n## Two ##\n- [ ]  a  b\n# Three\n- [ ] a\nFour\n----\n- [ ] a\n"
    assert [identity for identity, _, _ in shown(text)] == [
        *("a", "One › a", "One › a ⟨2⟩", "One › Two › a b", "Three › a", "Three › Four › a"),
    ]


def test_optional_sections_reach_to_the_next_heading_of_their_level() -> None:
    text = (
        "## Now\n- [ ] a\n## **Optional:**\n- [ ] b\n### deeper\n- [ ] c\n## Later\n- [ ] d\n"
        "# Nice to have\n- [ ] e\n## Optionals\n- [ ] f\n"
    )
    assert [(identity[-1], optional) for identity, _, optional in shown(text)] == [
        *(("a", False), ("b", True), ("c", True), ("d", False), ("e", True), ("f", True)),
    ]
    assert [task.optional for task in tasks(text, ["later"])] == [False, False, False, True, False, False]


WORDS = st.sampled_from(["one", "two", "three", "two ⟨2⟩", "a › b", "b", "x  y", "`code`", "**bold**", "done?", "#4"])
ITEMS = st.lists(st.tuples(st.sampled_from(["task", "task", "task", "# ", "## ", "text"]), WORDS), max_size=15)


def written(items: list[tuple[str, str]], ticks: random.Random, end: str = "\n") -> str:
    lines = []
    for kind, word in items:
        box = f"{ticks.choice('-*+')} [{ticks.choice(' xX')}] "
        lines.append(box + word if kind == "task" else word if kind == "text" else f"{kind}{word}")
    return "".join(line + end for line in lines)


@given(ITEMS, st.randoms(use_true_random=False), st.randoms(use_true_random=False))
def test_identity_does_not_depend_on_ticks_bullets_or_line_ends(items: object, one: random.Random, other: random.Random) -> None:
    first = tasks(written(items, one))  # type: ignore[arg-type]
    second = tasks("\ufeff" + written(items, other, "\r\n"))  # type: ignore[arg-type]
    assert [task.identity for task in first] == [task.identity for task in second]
    assert len({task.identity for task in first}) == len(first)


@given(ITEMS, st.integers(0, 15), st.randoms(use_true_random=False))
def test_another_task_changes_no_identity(items: list[tuple[str, str]], at: int, ticks: random.Random) -> None:
    more = [*items[:at], ("task", "quite another"), *items[at:]]
    before = {task.identity for task in tasks(written(items, ticks))}
    after = {task.identity for task in tasks(written(more, ticks))}
    assert before < after
    assert len(after) == len(before) + 1


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert len(tasks(text)) <= len(text)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "plan.md").write_text(PLAN)
    return tmp_path


def at(top: Path, **states: str) -> None:
    """Writes the plan with these boxes."""
    (top / "plan.md").write_text("# Plan\n\n" + "".join(f"- [{box}] {name}\n" for name, box in states.items()))


def step(progress: Progress, top: Path, **states: str) -> facts.Plan:
    progress.before()
    at(top, **states)
    return progress.after()


def test_a_task_is_completed_when_it_is_ticked_after_it_was_open(top: Path) -> None:
    progress = Progress(str(top), "plan.md", seen=["Plan › one", "Plan › two", "Plan › three"])
    assert progress.before().current == "Plan › one"
    done = step(progress, top, one="x", two=" ", three=" ", four="x")
    assert done == facts.Plan(required=4, open=2, missing=0, opened=(), completed=("Plan › one",))
    assert step(progress, top, one=" ", two=" ", three=" ", four="x").completed == ()
    assert step(progress, top, one="x", two="x", three=" ", four="x").completed == ("Plan › one", "Plan › two")


def test_what_others_tick_is_completed_by_nobody(top: Path) -> None:
    progress = Progress(str(top), "plan.md")
    step(progress, top, one=" ", two=" ", three=" ")
    at(top, one="x", two=" ", three=" ")
    assert step(progress, top, one="x", two=" ", three=" ").completed == ()


def test_tasks_that_others_add_are_named_as_opened_and_can_be_completed(top: Path) -> None:
    progress = Progress(str(top), "plan.md")
    step(progress, top, one=" ", two=" ", three=" ")
    at(top, one=" ", two=" ", three=" ", five=" ")
    found = step(progress, top, one=" ", two=" ", three=" ", five="x", six=" ")
    assert (found.opened, found.completed, found.missing) == (("Plan › five", "Plan › six"), ("Plan › five",), 0)


def test_tasks_that_an_iteration_takes_away_are_missing_until_they_are_back(top: Path) -> None:
    progress = Progress(str(top), "plan.md")
    assert step(progress, top, one="x").missing == 2
    assert step(progress, top, one="x").missing == 2
    assert step(progress, top, one="x", two="x", three="x").missing == 0
    (top / "plan.md").unlink()
    assert progress.after() == facts.Plan(required=0, open=0, missing=3)


def test_subtasks_in_a_task_s_place_are_not_missing(top: Path) -> None:
    assert step(Progress(str(top), "plan.md"), top, one="x", two="x", three_a=" ", three_b=" ").missing == 0


def test_what_others_take_away_sets_the_mark_anew(top: Path) -> None:
    progress = Progress(str(top), "plan.md")
    assert step(progress, top, one="x", two="x", three=" ").missing == 0
    at(top, one="x", two="x")
    assert step(progress, top, one="x", two="x").missing == 0
    assert step(progress, top, one="x").missing == 1
    (top / "plan.md").write_text((top / "plan.md").read_text() + "\nA note.\n")
    assert step(progress, top, one="x").missing == 1


def test_a_run_that_goes_on_knows_what_was_missing(top: Path) -> None:
    at(top, one="x")
    last = facts.Plan(required=1, open=0, missing=2)
    assert step(Progress(str(top), "plan.md", last=last), top, one="x").missing == 2
    at(top, one="x", two=" ")
    assert step(Progress(str(top), "plan.md", last=last), top, one="x", two=" ").missing == 0


def test_optional_tasks_are_none_of_the_plan(top: Path) -> None:
    (top / "plan.md").write_text("- [x] a\n# Optional\n- [ ] b\n")
    assert Tasks.of(load(str(top), "plan.md")) == Tasks((), ("a",))


def test_the_first_plan_with_a_task_is_found(tmp_path: Path) -> None:
    assert find(str(tmp_path)) is None
    (tmp_path / "IMPLEMENTATION_PLAN.md").write_text(PLAN)
    (tmp_path / "fix_plan.md").write_text("nothing yet\n")
    assert find(str(tmp_path)) == "IMPLEMENTATION_PLAN.md"
    for name in reversed(NAMES[:-1]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(PLAN)
        assert find(str(tmp_path)) == name
    (tmp_path / "own.md").write_text(PLAN)
    assert find(str(tmp_path), "own.md") == "own.md"


@pytest.mark.parametrize(
    ("files", "named", "where"),
    [
        ({}, "own.md", "own.md"),
        ({"own.md": "text\n"}, "own.md", "own.md"),
        ({".ralph/fix_plan.md": "text\n", "fix_plan.md": PLAN}, None, ".ralph/fix_plan.md"),
        ({".ralph/PROMPT.md": "x"}, None, ".ralph/fix_plan.md"),
        ({"own.md/x": "x"}, "own.md", "own.md"),
        ({"own.md": PLAN + "x" * (9 << 20)}, "own.md", "own.md"),
    ],
)
def test_a_plan_that_must_be_there_and_is_not_says_so(
    tmp_path: Path, files: dict[str, str], named: str | None, where: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(GuardError) as error:
        find(str(tmp_path), named)
    assert error.value.code == 64
    assert error.value.where.endswith(where)
    assert error.value.todo


@pytest.mark.parametrize("damage", ["link", "loop", "directory", "fifo", "large", "many", "fence", "comment", "empty", "gone"])
def test_a_plan_that_cannot_be_read_any_more_is_missing_and_comes_back(top: Path, damage: str) -> None:
    path, progress = top / "plan.md", Progress(str(top), "plan.md")
    step(progress, top, one="x", two=" ", three=" ")
    progress.before()
    path.unlink()
    (top / "other.md").write_text("# Plan\n")
    if damage == "link":
        path.symlink_to("other.md")
    elif damage == "loop":
        path.symlink_to("plan.md")
    elif damage == "directory":
        path.mkdir()
    elif damage == "fifo":
        os.mkfifo(path)
    elif damage != "gone":
        texts = {
            "large": PLAN + "x" * (20 << 20),
            "many": "- [ ] x\n" * (MOST + 1),
            "fence": f"```\n{PLAN}",
            "comment": f"<!--\n{PLAN}",
        }
        path.write_text(texts.get(damage, ""))
    assert progress.after() == facts.Plan(required=0, open=0, missing=3)
    assert progress.gone() == ("Plan › one", "Plan › two", "Plan › three")
    progress.before()
    path.rmdir() if damage == "directory" else path.unlink(missing_ok=True)
    at(top, one="x", two="x", three=" ")
    found = progress.after()
    assert (found.required, found.open, found.missing) == (3, 1, 0)
    assert found.completed == ("Plan › one", "Plan › two")  # the run counts each of them once
    assert progress.gone() == ()


def test_missing_tasks_are_named_as_long_as_they_are_missing(top: Path) -> None:
    progress = Progress(str(top), "plan.md")
    step(progress, top, one=" ", three=" ")
    assert progress.gone() == ("Plan › two",)
    at(top, one=" ", four=" ")  # by others: whatever they leave is the plan
    progress.before()
    assert progress.gone() == ()


def test_what_others_leave_is_told_once(top: Path) -> None:
    progress = Progress(str(top), "plan.md")
    step(progress, top, one=" ", two=" ", three=" ")
    progress.before()
    assert progress.external() is None
    at(top, one="x", two="x", three="x", four="x")
    progress.before()
    assert progress.external() == facts.Plan(required=4, open=0)
    progress.before()
    assert progress.external() is None
    (top / "plan.md").write_text((top / "plan.md").read_text() + "\nA note.\n")
    progress.before()
    assert progress.external() is None


@pytest.mark.parametrize(
    ("text", "identities"),
    [
        ("Two words\n=========\n- [ ] a", ["Two words › a"]),
        ("Two\n---\n- [ ] a\n---\n- [ ] b", ["Two › a", "Two › b"]),
        ("- [ ] a\n===\n- [ ] b", ["a", "b"]),
        ("#No heading\n- [ ] a", ["a"]),
        ("####### seven\n- [ ] a", ["a"]),
        ("# One ### \n- [ ] a", ["One › a"]),
        ("# C#\n- [ ] a", ["C# › a"]),
        ("#\n- [ ] a", [" › a"]),
        ("- [ ] a\n  - [x] b\n    1. [ ] c", ["a", "b", "c"]),
        ("`` `<!-- ` `` \n- [ ] a", ["a"]),
        ("` <!-- \n- [ ] a\n-->\n- [ ] b", ["b"]),
        ("a <!-- x --> b <!-- y\n- [ ] a -->\n- [ ] b", ["b"]),
        ("<!-- ` --> <!-- `\n- [ ] a\n-->\n- [ ] b", ["b"]),
    ],
)  # fmt: skip
def test_headings_and_comments(text: str, identities: list[str]) -> None:
    for end in ("\n", "\r\n", "\r"):
        assert [identity for identity, _, _ in shown(text.replace("\n", end))] == identities


def test_a_long_task_has_a_short_identity_of_its_own() -> None:
    one, other = (identity for identity, _, _ in shown(f"- [ ] {'x' * 5000}1\n- [ ] {'x' * 5000}2\n"))
    assert one != other
    assert max(len(one), len(other)) < 500


@pytest.mark.parametrize(
    "text",
    [
        "`" * 300_000,
        "a``b`" * 60_000,
        "<!--x-->" * 40_000,
        "<!--`" * 60_000,
        "# " + " #" * 100_000 + "x",
        " " * 300_000,
        "[" * 300_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    tasks(text)
    tasks(f"- [ ] {text}")
    assert time.process_time() - start < 2


def test_a_plan_that_is_no_text_has_no_task(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_bytes(bytes(range(256)) * 50 + b"\n- [ ] \xff\n")
    assert len(load(str(tmp_path), "plan.md")) == 1
