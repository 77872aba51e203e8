"""patch, and reading patches as text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.effects import Hole, Pattern, Somewhere
from guard.tools.patch import ADD, COPY, MODIFY, REMOVE, RENAME, applied, changes, reversed_
from tests.tool_harness import CLEAN_ENV, compare, losses, model, real_losses

A = "".join(f"line {number}\n" for number in range(1, 21))
MODIFIES = """--- a/a.md
+++ b/a.md
@@ -1,4 +1,4 @@
 line 1
-line 2
+LINE 2
 line 3
 line 4
"""
DELETES = """--- a/specs/b.md
+++ /dev/null
@@ -1,2 +0,0 @@
-# b
-end
"""
DELETES_OTHER = DELETES.replace("-end", "-other")
DELETES_PART = "--- a/a.md\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-line 1\n-line 2\n"
CREATES = "--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+new\n"
CREATES_OVER = "--- /dev/null\n+++ b/specs/b.md\n@@ -0,0 +1 @@\n+new\n"
CREATES_SAME = "--- /dev/null\n+++ b/specs/b.md\n@@ -0,0 +1,2 @@\n+# b\n+end\n"
EMPTIES = "--- a/specs/b.md\n+++ b/specs/b.md\n@@ -1,2 +0,0 @@\n-# b\n-end\n"
GIT_DELETES = "diff --git a/specs/b.md b/specs/b.md\ndeleted file mode 100644\nindex 123..000\n" + DELETES
GIT_RENAMES = "diff --git a/a.md b/c.md\nsimilarity index 100%\nrename from a.md\nrename to c.md\n"
GIT_RENAMES_OVER = GIT_RENAMES.replace("c.md", "specs/b.md")
GIT_RENAMES_EDITED = GIT_RENAMES + MODIFIES.replace("b/a.md", "b/c.md")
GIT_COPIES = GIT_RENAMES.replace("rename", "copy")
SHIFTED = MODIFIES.replace("-1,4 +1,4", "-3,4 +3,4")
CONTEXT = """*** a/a.md\tx
--- b/a.md\tx
***************
*** 1,3 ****
  line 1
! line 2
  line 3
--- 1,3 ----
  line 1
! LINE 2
  line 3
"""
DANGEROUS = MODIFIES.replace("a/a.md", "a/../tree/a.md").replace("b/a.md", "b/../tree/a.md")
TWO = MODIFIES + DELETES
EPOCH = DELETES.replace("/dev/null", "b/specs/b.md\t1970-01-01 00:00:00.000000000 +0000")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files to patch."""
    top = tmp_path / "tree"
    for name, text in {"a.md": A, "specs/b.md": "# b\nend\n", "empty.md": "", "specs/a.md": A}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "link.md").symlink_to("a.md")
    return top


CASES = {
    "modifies": MODIFIES, "deletes": DELETES, "deletes other": DELETES_OTHER, "deletes part": DELETES_PART, "creates": CREATES,
    "creates over": CREATES_OVER, "creates same": CREATES_SAME, "empties": EMPTIES, "git deletes": GIT_DELETES,
    "git renames": GIT_RENAMES, "git renames over": GIT_RENAMES_OVER, "git renames edited": GIT_RENAMES_EDITED,
    "git copies": GIT_COPIES, "shifted": SHIFTED, "context": CONTEXT, "dangerous": DANGEROUS, "two": TWO, "epoch": EPOCH,
    "garbage": "hello\n", "link": MODIFIES.replace("/a.md", "/link.md"),
}  # fmt: skip
OPTIONS = [
    "-p1",
    "-p0",
    "",
    "-p1 -E",
    "-p1 --dry-run",
    "-p1 -o out.md",
    "-p1 -t",
    "-p1 -N",
    "-p1 -R",
    "-p1 -b",
    "-p2",
    "-d specs -p2",
]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("options", OPTIONS)
def test_patch_loses_what_the_real_one_loses(tree: Path, name: str, options: str) -> None:
    ran = model(tree, ["patch", *options.split()], stdin=CASES[name])
    foreseen = losses(ran, tree)
    uncertain = not all(effect.certain for effect in ran.effects)
    before = {path: (tree / path).read_bytes() for path in ("a.md", "specs/b.md", "specs/a.md", "empty.md")}
    subprocess.run(
        ["patch", *options.split()],
        cwd=tree,
        env=CLEAN_ENV,
        input=CASES[name].encode(),
        capture_output=True,
        check=False,
        timeout=10,
    )
    real = {path for path, data in before.items() if not (tree / path).exists() or (tree / path).read_bytes() != data}
    assert real <= foreseen
    assert uncertain or real == foreseen or (name, options) == ("git renames over", "-p1 -R")


@pytest.mark.parametrize(
    "command", ["patch a.md", "patch specs/b.md", "patch -o specs/b.md a.md", "patch -o new.md a.md", "patch -R a.md"]
)
@pytest.mark.parametrize("text", ["@@ -1 +0,0 @@\n-line 1\n", "@@ -1 +1 @@\n-line 1\n+LINE 1\n", "@@ -1,2 +0,0 @@\n-# b\n-end\n"])
def test_hunks_without_a_header_are_for_the_operand(tree: Path, command: str, text: str) -> None:
    ran = model(tree, command, stdin=text)
    foreseen, certain = losses(ran, tree), all(effect.certain for effect in ran.effects)
    real = real_losses(tree, tree, command, text)
    assert real <= foreseen
    assert real == foreseen or not certain


@pytest.mark.parametrize(
    "command", ["patch -p1 -i ../p", "patch -d specs -p2 -i ../../p", "patch a.md ../p", "patch a.md", "patch -p1 -i nowhere"]
)
def test_a_patch_from_a_file(tree: Path, command: str) -> None:
    (tree.parent / "p").write_text(MODIFIES)
    compare(tree, command)


def test_the_new_content_is_known(tree: Path) -> None:
    [effect] = model(tree, "patch -p1", stdin=MODIFIES).effects
    assert effect.content == A.replace("line 2\n", "LINE 2\n").encode()


def test_a_patch_that_nobody_has_seen_may_delete(tree: Path) -> None:
    [effect] = model(tree, "patch -p1", stdin=Pattern((Hole("unknown-output", "curl"),))).effects
    assert isinstance(effect.target, Somewhere)
    assert not effect.certain


def test_changes_are_read_with_names_and_actions() -> None:
    text = GIT_DELETES + GIT_RENAMES + GIT_COPIES + CREATES + MODIFIES
    assert [(change.action, change.path, change.to) for change in changes(text)] == [
        (REMOVE, "specs/b.md", None),
        (RENAME, "a.md", "c.md"),
        (COPY, "a.md", "c.md"),
        (ADD, "new.md", None),
        (MODIFY, "a.md", None),
    ]


def test_git_patches_of_binaries_and_modes_are_read() -> None:
    text = "diff --git a/x.png b/x.png\ndeleted file mode 100644\nindex 1..0\nGIT binary patch\nliteral 0\n\n"
    text += "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    text += "diff --git a/new.bin b/new.bin\nnew file mode 100644\nindex 0..1\nBinary files /dev/null and b/new.bin differ\n"
    assert [(change.action, change.path) for change in changes(text)] == [(REMOVE, "x.png"), (MODIFY, "run.sh"), (ADD, "new.bin")]


def test_quoted_names_are_read() -> None:
    text = '--- "a/sp\\303\\251cs/\\"q\\".md"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n'
    assert changes(text)[0].path == 'spécs/"q".md'


def test_removed_lines_that_look_like_headers_are_no_headers() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- a/y\n line\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-q\n"
    assert [(change.action, change.path) for change in changes(text)] == [(MODIFY, "x"), (REMOVE, "z")]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12), st.booleans())
def test_a_diff_applies_and_is_taken_back(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str], bare: bool
) -> None:
    where = tmp_path_factory.mktemp("diff")
    before, after = "\n".join(old) + "\n" * (not bare and bool(old)), "\n".join(new) + "\n" * bool(new)
    (where / "old").write_text(before)
    (where / "new").write_text(after)
    text = subprocess.run(["diff", "-u", "old", "new"], cwd=where, capture_output=True, text=True, check=False).stdout
    for change in changes(text, 0):
        assert applied(change, before.encode()) == after.encode()
        assert applied(reversed_(change), after.encode()) == before.encode()


@given(st.text(alphabet='-+@ ,0123456789\n/abdiffgtrenmo"\\', max_size=200))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    for change in changes("--- a/x\n+++ b/x\n" + text) + changes("diff --git a/x b/y\n" + text, 0, True):
        applied(change, b"a\nb\n")
