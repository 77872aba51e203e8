"""The tree: what counts, what a meaningful change is, and what an iteration did."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guard.loop import sketch
from guard.loop.facts import Files
from guard.loop.ignore_rules import Rules
from guard.loop.similarity import same_approach
from guard.loop.tree import Tree

BASE = {
    ".gitignore": "build/\n.ralph/\n*.tmp\n!keep.tmp\n",
    "src/a.py": "a = 1\n# updated 2026-11-30 09:00\n",
    "tests/test_a.py": "def test_a(): pass\n",
    "CLAUDE.md": "notes\n",
    "plan.md": "- [ ] one\n",
    "bin/tool": "\0\1\2",
}


def sh(top: Path, command: str) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(top.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@b"}
    subprocess.run(["sh", "-ec", command], cwd=top, env=environ, check=True, stdout=subprocess.DEVNULL)


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(params=["git", "no git"])
def top(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    top = tmp_path / "app"
    write(top, BASE)
    if request.param == "git":
        sh(top, "git init -q; git add -A; git commit -qm start")
    return top


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "app"
    write(top, BASE)
    sh(top, "git init -q; git add -A; git commit -qm start")
    return top


def tree(top: Path, **more: object) -> Tree:
    found = Tree(str(top), "plan.md", **more)  # type: ignore[arg-type]
    assert found.before() == ()
    return found


def iteration(found: Tree, work: Callable[[], object]) -> Files:
    found.before()
    work()
    return found.after()


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("echo b=2 >> src/a.py", ["src/a.py"]),
        ("echo n > new.py", ["new.py"]),
        ("mkdir -p deep/er; echo n > deep/er/x", ["deep/er/x"]),
        ("rm src/a.py", ["src/a.py"]),
        ("rm -r src tests", ["src/a.py", "tests/test_a.py"]),
        ("printf '' > src/a.py", ["src/a.py"]),
        ("ln -s a.py src/link", ["src/link"]),
        ("ln -sf a.py bin/tool", ["bin/tool"]),
        ("printf '\\0\\1\\3' > bin/tool", ["bin/tool"]),
        ("echo k > keep.tmp", ["keep.tmp"]),
        ("mv src/a.py src/b.py", ["src/b.py"]),
        ("rm src/a.py; mkdir src/a.py; echo x > src/a.py/y", ["src/a.py", "src/a.py/y"]),
        # no change
        ("touch src/a.py", []),
        ("chmod +x src/a.py", []),
        ("touch new.py", []),
        ("printf ' \\n\\t\\n' > new.py", []),
        ("printf 'a  =  1\\n\\n# updated 2026-11-30 09:00\\r\\n' > src/a.py", []),
        ("sed -i s/09:00/10:17/ src/a.py", []),
        ("sed -i 's/11-30 09:00/12-01 08:11:02/' src/a.py", []),
        ("cp src/a.py x; mv x src/a.py", []),
        ("mkdir build empty; echo x > build/x", []),
        ("echo x > x.tmp; echo x > x.log; echo x > src/y.log", []),
        ("mkdir -p .ralph .claude memory; echo x > .ralph/x; echo x > .claude/x; echo x > memory/x", []),
        ("echo '- [x] one' > plan.md", []),
        ("mkfifo pipe", []),
        ("echo x >> src/a.py; git init -q .x; rm -rf .x; sed -i '$d' src/a.py", []),
    ],
)
def test_what_a_meaningful_change_is(top: Path, command: str, paths: list[str]) -> None:
    found = iteration(tree(top), lambda: sh(top, command))
    assert list(found.paths) == paths
    assert found.meaningful == len(paths)
    assert bool(found.approach) == bool(paths)
    assert (found.lines > 0) == bool(paths)


def test_a_commit_changes_nothing_and_hides_nothing(repository: Path) -> None:
    found = tree(repository)
    empty = iteration(found, lambda: sh(repository, "git commit -q --allow-empty -m x"))
    assert (empty.meaningful, len(empty.commits)) == (0, 1)
    work = iteration(found, lambda: sh(repository, "echo b >> src/a.py; echo n > n; git add -A; git commit -qm y"))
    assert (work.paths, len(work.commits)) == (("n", "src/a.py"), 1)
    assert work.head == work.commits[-1]


def test_a_tree_that_was_dirty_before_is_no_work(repository: Path) -> None:
    sh(repository, "echo dirty >> src/a.py; echo new > new; rm CLAUDE.md")
    assert iteration(tree(repository), lambda: None).meaningful == 0


def test_tracked_files_count_though_they_are_ignored(repository: Path) -> None:
    sh(repository, "mkdir build; echo x > build/x; echo y > build/y; git add -f build/x; git commit -qm x")
    found = tree(repository)
    assert iteration(found, lambda: sh(repository, "echo xx > build/x; echo yy > build/y; echo z > build/z")).paths == (
        "build/x",
    )


def test_staging_and_unstaging_changes_nothing(repository: Path) -> None:
    found = tree(repository)
    sh(repository, "echo n > n")
    found.before()
    for command in ("git add n", "git rm -q --cached n", "git stash -q -u; git stash pop -q", "git status"):
        assert iteration(found, lambda command=command: sh(repository, command)).meaningful == 0


def test_changes_of_others_are_external_and_no_progress(top: Path) -> None:
    found = tree(top)
    found.after()
    sh(top, "echo p >> src/a.py; touch CLAUDE.md")
    assert found.before() == ("src/a.py",)
    assert found.after(("src/a.py",)) == Files(external=("src/a.py",), tree=found.digest, head=found.after().head)


def test_unchanged_says_whether_a_call_left_anything(top: Path) -> None:
    found = tree(top)
    assert found.unchanged()
    sh(top, "chmod +x src/a.py")
    assert not found.unchanged()
    sh(top, "chmod -x src/a.py; touch src/a.py")
    assert found.unchanged()


def test_repositories_below_count_with_and_without_one_above(tmp_path: Path) -> None:
    top = tmp_path / "app"
    write(top, {"one/a": "a\n", "one/.gitignore": "out/\n", "two/b": "b\n", "c": "c\n"})
    sh(top, "for r in one two; do (cd $r; git init -q; git add -A; git commit -qm x); done")
    found = tree(top)
    edited = iteration(found, lambda: sh(top, "cd one; echo aa >> a; mkdir out; echo x > out/x; git add -A; git commit -qm y"))
    assert edited.paths == ("one/a",)
    sh(top, "git init -q; git add c; git commit -qm top")
    found = tree(top)
    assert iteration(found, lambda: sh(top, "echo n > two/n; echo z > one/out/z; rm one/a")).paths == ("one/a", "two/n")
    assert iteration(found, lambda: sh(top, "git init -q three; echo t > three/t")).paths == ("three/t",)


def test_submodules_count(tmp_path: Path) -> None:
    top, other = tmp_path / "app", tmp_path / "other"
    write(top, BASE)
    write(other, {"lib.c": "int x;\n"})
    sh(other, "git init -q; git add -A; git commit -qm x")
    sh(top, "git init -q; git -c protocol.file.allow=always submodule --quiet add ../other lib; git add -A; git commit -qm x")
    found = tree(top)
    assert iteration(found, lambda: sh(top, "echo 'int y;' >> lib/lib.c")).paths == ("lib/lib.c",)


def test_files_behind_a_link_are_not_those_that_stood_there(repository: Path) -> None:
    found = tree(repository)
    outside = repository.parent / "elsewhere"
    changed = iteration(found, lambda: sh(repository, f"cp -r src {outside}; rm -r src; ln -s {outside} src"))
    assert changed.paths == ("src", "src/a.py")


def test_a_broken_repository_falls_back_on_the_rules(repository: Path) -> None:
    found = tree(repository)
    command = "echo junk > .git/index; echo x > build_x; mkdir build; echo x > build/x"
    assert iteration(found, lambda: sh(repository, command)).paths == ("build_x",)


def test_a_tree_that_is_gone_is_all_deleted(top: Path) -> None:
    found = tree(top)
    gone = iteration(found, lambda: sh(top.parent, f"rm -rf {top.name}"))
    assert {"src/a.py", "CLAUDE.md"} <= set(gone.paths)


def test_lines_are_those_added_and_removed(top: Path) -> None:
    write(top, {"long": "".join(f"{n}\n" for n in range(1000))})
    found = tree(top)
    assert iteration(found, lambda: sh(top, "sed -i -e 5d -e 500s/.*/x/ -e '$a y' long")).lines == 4
    assert iteration(found, lambda: sh(top, "rm long")).lines == 1000
    assert iteration(found, lambda: sh(top, "ln -s x l; printf '\\0\\0' > b")).lines == 2


def test_test_paths_are_told_by_directory_and_name_never_below_protected_ones(top: Path) -> None:
    names = "tests/x pkg/__tests__/y.js a/testdata/z test_b.py c_test.go d.spec.ts e.bats FTest.java spec/g"
    found = tree(top, protected=lambda path: path.startswith("spec/"))
    work = iteration(found, lambda: write(top, dict.fromkeys([*names.split(), "src/contest.py", "latest/x"], "x\n")))
    assert (work.lines, work.test_lines) == (11, 8)
    own = tree(top, tests=["/checks/"])
    assert iteration(own, lambda: write(top, {"checks/a": "x\n", "tests/b": "x\n"})).test_lines == 1


def test_a_move_is_one_change_of_one_line(top: Path) -> None:
    write(top, {"big.md": "line\n" * 300})
    found = tree(top)
    work = iteration(found, lambda: sh(top, "mv big.md other.md; mv CLAUDE.md OTHER.md"))
    assert (work.meaningful, work.lines, len(work.approach)) == (2, 2, 4)
    assert found.documentation


def test_moving_there_and_back_is_a_circle(top: Path) -> None:
    found = tree(top)
    there, back = "mv src/a.py b.py", "mv b.py src/a.py"
    made = [iteration(found, lambda command=command: sh(top, command)) for command in (there, back, there, back)]
    assert same_approach(made[0].approach, made[2].approach)
    assert same_approach(made[1].approach, made[3].approach)
    assert not same_approach(made[0].approach, made[1].approach)
    assert [one.reverted for one in made] == [False, True, True, True]


def contents(top: Path, values: str, path: str = "src/a.py") -> list[bool]:
    found = tree(top)
    return [iteration(found, lambda value=value: write(top, {path: f"{value}{value}\n"})).reverted for value in values]


def test_reverts(top: Path) -> None:
    assert contents(top, "ABAB") == [False, False, True, True]
    assert contents(top, "XYZ") == [False, False, False]


def test_a_revert_reaches_twenty_iterations_back(top: Path) -> None:
    far = "A" + "".join(chr(ord("b") + n) for n in range(20))
    assert contents(top, far + "A")[-1] is False
    assert contents(top, far[:20] + "A")[-1] is True


def test_going_back_to_the_start_is_a_revert_however_long_ago(top: Path) -> None:
    write(top, {"n": "start\n"})
    found = tree(top)
    for number in range(25):
        iteration(found, lambda number=number: write(top, {"n": f"{number} words\n"}))
    assert iteration(found, lambda: write(top, {"n": "start\n"})).reverted


def test_what_others_wrote_is_nothing_to_revert_to(top: Path) -> None:
    found = tree(top)
    iteration(found, lambda: None)
    write(top, {"src/a.py": "theirs\n"})
    iteration(found, lambda: write(top, {"src/a.py": "mine\n"}))
    assert not iteration(found, lambda: write(top, {"src/a.py": "theirs\n"})).reverted


def test_reverts_are_seen_across_a_resumption(top: Path) -> None:
    first = tree(top)
    earlier = [iteration(first, lambda value=value: write(top, {"src/a.py": value})).approach for value in ("A\n", "B\n", "C\n")]
    again = tree(top, earlier=earlier)
    assert not iteration(again, lambda: write(top, {"src/a.py": "D\n"})).reverted
    assert iteration(again, lambda: write(top, {"src/a.py": "A\n"})).reverted


def test_ignore_setting_and_own_paths(top: Path) -> None:
    found = tree(top, ignore=["*.lock", "/gen/", "!/gen/x"], own=["state"])
    write(top, {"a.lock": "x", "gen/y": "x", "state/s": "x", "b": "x"})
    assert found.after().paths == ("b",)


def test_a_file_that_becomes_a_directory_is_ignored_as_one(top: Path) -> None:
    found = tree(top)
    assert iteration(found, lambda: sh(top, "echo x > build")).paths == ("build",)
    work = iteration(found, lambda: sh(top, "rm build; mkdir build; echo x > build/x; echo y > y"))
    assert work.paths == ("build", "y")


def test_what_is_ignored_follows_the_ignore_files(repository: Path) -> None:
    sh(repository, "mkdir -p deep/dist; echo x > deep/dist/x; echo y > deep/y; git add -A; git commit -qm x")
    found = tree(repository)
    excluding = iteration(found, lambda: sh(repository, "echo '*.o' >> .git/info/exclude; echo o > a.o; echo c > a.c"))
    assert excluding.paths == ("a.c",)
    nearer = iteration(found, lambda: sh(repository, "echo '!*.o' > deep/.gitignore; echo o > deep/b.o; echo o > b.o"))
    assert nearer.paths == ("deep/.gitignore", "deep/b.o")


def test_names_that_git_would_take_for_patterns(top: Path) -> None:
    found = tree(top)
    names = [":x", ":(icase)A", "*", "[a]", "-n", "!b", "a\\b", " "]
    work = iteration(found, lambda: write(top, dict.fromkeys([*names, ":x.tmp", "* [a].tmp"], "x\n")))
    assert set(work.paths) == set(names)


def test_empty_directories_are_watched(top: Path) -> None:
    (top / "a/b/c").mkdir(parents=True)
    (top / "logs").mkdir()
    write(top, {"logs/x.log": "x\n"})
    found = tree(top)
    time.sleep(0.05)
    assert iteration(found, lambda: write(top, {"a/b/c/d": "x\n", "logs/y": "x\n"})).paths == ("a/b/c/d", "logs/y")


def test_names_that_no_encoding_takes(top: Path) -> None:
    found = tree(top)
    name = os.fsencode(top) + b"/\xff\n name"
    changed = iteration(found, lambda: Path(os.fsdecode(name)).write_bytes(b"x"))
    assert changed.paths == ("\\xff\n name",)


def test_a_file_that_may_not_be_read_has_not_changed(top: Path) -> None:
    if os.geteuid() == 0:
        path = top / "src/a.py"
        known = sketch.sketch(str(path), os.lstat(path))
        assert sketch.value(sketch._unreadable(os.lstat(path), known)) == sketch.value(known)
        return
    assert iteration(tree(top), lambda: sh(top, "chmod 0 src/a.py")).meaningful == 0


def test_an_edit_that_keeps_size_and_time_is_seen(top: Path) -> None:
    found = tree(top)
    stat = os.stat(top / "src/a.py")

    def work() -> None:
        write(top, {"src/a.py": "a = 2\n# updated 2026-11-30 09:00\n"})
        os.utime(top / "src/a.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert iteration(found, work).paths == ("src/a.py",)


def test_the_digest_is_that_of_the_content_not_of_the_way_to_it(top: Path) -> None:
    found = tree(top)
    start = found.digest
    changed = iteration(found, lambda: sh(top, "echo x > x; chmod +x src/a.py")).tree
    assert changed != start
    assert iteration(found, lambda: sh(top, "rm x; chmod -x src/a.py; touch src/a.py")).tree == start
    assert Tree(str(top), "plan.md").digest != start  # not looked yet
    assert tree(top).digest == start


def test_many_paths_are_counted_and_cut(top: Path) -> None:
    found = tree(top)
    changed = iteration(found, lambda: write(top, {f"many/{n}": f"{n}\n" for n in range(4000)}))
    assert (changed.meaningful, len(changed.paths), len(changed.approach)) == (4000, 200, 200)
    write(top, {"many/77": "other\n"})
    assert found.before() == ("many/77",)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200)


@given(TEXTS, st.lists(st.tuples(st.integers(0, 200), st.sampled_from(" \t\r\n\u00a0\u3000")), max_size=20))
@example("\x1f", [(0, "\u00a0")])
def test_white_space_is_nothing_to_the_normal_form(text: str, blanks: list[tuple[int, str]]) -> None:
    other = text
    for at, blank in blanks:
        other = other[:at] + blank + other[at:]
    if not any(c.isdigit() or c in "abcdefABCDEF-:" for c in text):  # times and UUIDs are told by their blanks, too
        assert sketch.normal_form(text.encode()) == sketch.normal_form(other.encode())


DATES = st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31))


@given(DATES, DATES, st.uuids(), st.uuids(), TEXTS)
def test_times_and_uuids_are_nothing_to_the_normal_form(one: object, other: object, a: object, b: object, text: str) -> None:
    form = "{}\n{:%Y-%m-%d %H:%M:%S} {}\n"
    assert sketch.normal_form(form.format(text, one, a).encode()) == sketch.normal_form(form.format(text, other, b).encode())


@given(st.lists(st.integers(0, 9), max_size=40), st.lists(st.integers(0, 9), max_size=40))
def test_changed_lines_are_what_a_diff_would_show(old: list[int], new: list[int]) -> None:
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, a in enumerate(old):
        for j, b in enumerate(new):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    texts = ["".join(f"line {n}\n" for n in lines).encode() for lines in (old, new)]
    before, after = (b"f" + sketch.of_bytes(text) for text in texts)
    assert sketch.changed_lines(before, after) == max(1, len(old) + len(new) - 2 * table[-1][-1])


NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.txt", "x", "-", "a b"])
PARTS = ["a", "b", "*", "**", "*.py", "a*", "?", "[ab]", "[!a]*", "\\a", "x", "a b"]
PATTERNS = st.lists(
    st.builds(
        lambda bang, anchor, parts, end: bang + anchor + "/".join(parts) + end,
        st.sampled_from(["", "", "", "!"]),
        st.sampled_from(["", "/"]),
        st.lists(st.sampled_from(PARTS), min_size=1, max_size=3),
        st.sampled_from(["", "", "/"]),
    ),
    max_size=5,
)


@given(PATTERNS, st.lists(NAMES, min_size=1, max_size=4))
def test_ignore_rules_are_gits(tmp_path_factory: pytest.TempPathFactory, patterns: list[str], parts: list[str]) -> None:
    top = tmp_path_factory.getbasetemp() / "rules"
    if not top.exists():
        top.mkdir()
        sh(top, "git init -q")
    (top / ".gitignore").write_text("".join(f"{pattern}\n" for pattern in patterns))
    path = "/".join(parts)
    answer = subprocess.run(["git", "check-ignore", "-q", "--no-index", f"./{path}"], cwd=top).returncode
    assert Rules(patterns).ignores(path) == (answer == 0)


COMMANDS = """
echo $RANDOM > a/f
echo x > a/f
rm -f a/f
mkdir -p a/b; echo x > a/b/g
rm -rf a
mv a c
rm -rf c
git add -A
git reset -q
git commit -qm x
git stash -q -u
git checkout -q -f
git clean -fdq
echo b/ >> .gitignore
rm -f .gitignore
ln -s f a/l
git init -q a/r; echo r > a/r/r
rm -rf a/r/.git
echo '*.x' > a/.gitignore; echo x > a/y.x
ln -s a d; rm -rf a
git rm -rq --cached .
mkdir a/f; echo x > a/f/f
echo x > f; echo x > b
touch -d 2001-01-01 a/f a
cp -p src/a.py a/f
mkdir b; echo x > b/x
git add -f b
"""
WORK = st.lists(st.sampled_from(COMMANDS.strip().split("\n")), max_size=12)


@settings(max_examples=30)
@given(WORK)
def test_a_tree_that_was_watched_is_as_one_that_is_seen_for_the_first_time(
    tmp_path_factory: pytest.TempPathFactory, work: list[str]
) -> None:
    top = tmp_path_factory.mktemp("app")
    write(top, BASE)
    sh(top, "git init -q; git add -A; git commit -qm start")
    found = tree(top)
    for command in work:
        changed = iteration(found, lambda command=command: sh(top, f"({command}) 2>/dev/null || :"))
        fresh = Tree(str(top), "plan.md")
        fresh.before()
        assert changed.tree == fresh.digest, command
        assert found.before() == ()
