"""Editors that a script drives: what they write and run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from guard.effects import EDIT, Hole, Pattern
from tests.tool_harness import CLEAN_ENV, files, losses, model

LINES = "one\ntwo\nthree\nfour\ntwo words\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files to edit."""
    top = tmp_path / "tree"
    for name, text in {"a.md": LINES, "b.md": "b\n", "specs/c.md": "# c\nold\n", "script.vim": "%s/two/2/\nwq\n"}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "link").symlink_to("a.md")
    return top


ED = [
    "1d\nw\nq\n",
    "1,2d\nw\n",
    ",d\nw\n",
    "%d\nw\nq",
    "1,$d\nwq\n",
    "d\nw\n",
    "1s/one/ONE/\nw\n",
    "1s/#/##/\nw\n",
    ",s/two/2/\nw\n",
    ",s/o/0/g\nw\n",
    ",s/o/0/2\nw\n",
    "s/t/T/\nw\n",
    "g/two/d\nw\n",
    "v/two/d\nw\n",
    "g/two/s/t/T/\nw\n",
    "1a\nnew\nlines\n.\nw\n",
    "$a\nend\n.\nw\n",
    "a\nend\n.\nw\n",
    "0a\ntop\n.\nw\n",
    "2i\nbefore\n.\nw\n",
    "2,3c\nchanged\n.\nw\n",
    "c\nlast\n.\nw\n",
    "1m$\nw\n",
    "$m0\nw\n",
    "1t$\nw\n",
    "1,2j\nw\n",
    "/three/d\nw\n",
    "/three/,$d\nw\n",
    "?one?d\nw\n",
    "2;+1d\nw\n",
    "$-1d\nw\n",
    "1d\nu\nw\n",
    "1d\nq\nw\n",
    "1d\nQ\nw\n",
    "99d\nw\n",
    "/nomatch/d\nw\n",
    "s/nomatch/x/\nw\n",
    "1d\n",
    "w b.md\n",
    "1,2w b.md\n",
    "W b.md\n",
    "w specs/c.md\n",
    "w new.md\n",
    "r b.md\nw\n",
    "0r b.md\nw\n",
    "e b.md\n1d\nw\n",
    "f b.md\nw\n",
    "!rm b.md\n",
    "!rm b.md\nw\n",
    "r !cat b.md\nw\n",
    "1,2!sort\nw\n",
    "p\n1p\n,n\nw\n",
    "H\n1d\nw\n",
    "1\nd\nw\n",
    "\n\nw\n",
    "s/two/&&/\nw\n",
    "1s/\\(o\\)\\(n\\)/\\2\\1/\nw\n",
    "1kx\nw\n",
    "wq\n",
    "1d\nw\n1d\nw b.md\nq\n",
    "nonsense\nw\n",
]


@pytest.mark.parametrize("script", ED)
@pytest.mark.parametrize("file", ["a.md", "link"])
def test_ed_changes_what_the_real_one_changes(tree: Path, script: str, file: str) -> None:
    _claim(tree, ["ed", "-s", file], script)


VIM = [
    (["vim", "-es", "a.md"], "1d\nwq\n"),
    (["vim", "-es", "a.md"], "%s/two/2/\nx\n"),
    (["vim", "-es", "a.md"], "1d\nq!\n"),
    (["vim", "-es", "a.md"], "w! b.md\nq\n"),
    (["vim", "-es", "a.md"], "w b.md\nqa!\n"),
    (["vim", "-es", "a.md"], "saveas! b.md\nq\n"),
    (["vim", "-es", "a.md"], "$d\nw\n1d\nq!\n"),
    (["ex", "-s", "a.md"], "1d\nwq\n"),
    (["ex", "-s", "a.md"], "g/two/d\nx\n"),
    (["ex", "-s", "a.md"], "1i\nnew\n.\nwq\n"),
    (["ex", "-s", "-c", "1d|x", "a.md"], ""),
    (["ex", "-sc", "%d|x", "a.md"], ""),
    (["vim", "-es", "-c", "%d", "-c", "wq", "a.md"], ""),
    (["vim", "-E", "-s", "-c", "%d", "-c", "wq", "a.md"], ""),
    (["vim", "-e", "-s", "-c", "%s/one/1/g", "-c", "wq", "a.md"], ""),
    (["vim", "-c", "%d", "-c", "wq", "a.md"], ""),
    (["vim", "-c", ":%d | :wq", "a.md"], ""),
    (["vim", "+%d", "+wq", "a.md"], ""),
    (["vim", "+%s/one/1/", "+wq!", "a.md"], ""),
    (["vim", "-c", "normal ggdG", "-c", "wq", "a.md"], ""),
    (["vim", "-es", "-c", "1,2d", "-c", "w! b.md", "-c", "q!", "a.md"], ""),
    (["vim", "-es", "-c", "!rm b.md", "-c", "q", "a.md"], ""),
    (["vim", "-es", "-c", "call delete('b.md')", "-c", "q", "a.md"], ""),
    (["vim", "-es", "-c", "call delete('specs', 'rf')", "-c", "q"], ""),
    (["vim", "-es", "-c", "call writefile(['x'], 'b.md')", "-c", "q"], ""),
    (["vim", "-es", "-c", "call system('rm b.md')", "-c", "q"], ""),
    (["vim", "-es", "-c", "argdo 1d | update", "-c", "q", "a.md", "b.md"], ""),
    (["vim", "-es", "-c", "argdo %s/e/E/ge | w", "-c", "qa", "a.md", "specs/c.md"], ""),
    (["vim", "-es", "-S", "script.vim", "a.md"], ""),
    (["vim", "-es", "-u", "NONE", "-c", "g!/two/d", "-c", "wq", "a.md"], ""),
    (["vim", "-es", "-c", "set nu", "-c", "q!", "a.md"], ""),
    (["vim", "-es", "-c", "1d", "-c", "q!", "a.md"], ""),
    (["vim", "-Nes", "-u", "NONE", "-c", "e b.md", "-c", "%d", "-c", "w", "-c", "qa!"], ""),
    (["vim", "-es", "-u", "NONE", "-c", "e specs/c.md", "-c", "1d", "-c", "wq", "a.md"], ""),
    (["vim", "-es", "-u", "NONE", "+bufdo! %d", "+wqa!", "a.md", "b.md"], ""),
    (["vim", "-es", "-u", "NONE", "-c", "bufdo! %d", "-c", "qa!", "a.md", "b.md"], ""),
    (["vim", "-es", "-c", "1d", "-c", "cq", "a.md"], ""),
    (["vim", "-es", "-c", "silent! %s/nomatch/x/", "-c", "silent! 1d", "-c", "wq", "a.md"], ""),
    (["vim", "-es", "-c", "w", "-c", "q", "new.md"], ""),
    (["vim", "-es", "-c", "r b.md", "-c", "wq", "a.md"], ""),
    (["vim", "-es", "-c", "1,2w! b.md", "-c", "q", "a.md"], ""),
    (["vim", "--version"], ""),
]


@pytest.mark.parametrize(("argv", "script"), VIM)
def test_vim_changes_what_the_real_one_changes(tree: Path, argv: list[str], script: str) -> None:
    _claim(tree, argv, script)


def _claim(tree: Path, argv: list[str], script: str) -> None:
    """The changed files are foreseen, and where the new content is foreseen it is right."""
    ran = model(tree, argv, stdin=script)
    foreseen = losses(ran, tree)
    contents: dict[str, bytes | None] = {}
    for effect in ran.effects:
        if effect.action in ("edit", "overwrite", "create"):
            contents[str(Path(effect.target.path).relative_to(tree.resolve()))] = effect.content  # type: ignore[union-attr]
    before = files(tree)
    env = {**CLEAN_ENV, "HOME": str(tree.parent), "TERM": "dumb"}
    subprocess.run(argv, cwd=tree, env=env, input=script.encode(), capture_output=True, check=False, timeout=20)
    after = files(tree)
    changed = {path for path, data in before.items() if after.get(path) != data}
    assert changed <= foreseen
    for path, content in contents.items():
        assert content is None or after.get(path) == content, path
    for path in foreseen - changed:
        assert path in contents, path
        assert contents[path] in (None, after[path]), path


def test_an_unknown_script_is_an_edit_of_unknown_content(tree: Path) -> None:
    script = Pattern(("1s/one/", Hole("unknown-variable", "$X"), "/\nw\n"))
    [effect] = model(tree, "ed -s a.md", stdin=script).effects
    assert (effect.action, effect.content) == (EDIT, None)


def test_an_editor_without_a_script_does_nothing(tree: Path) -> None:
    for command in ("ed a.md", "vim a.md", "vi", "nano a.md", "emacs a.md", "code .", "view a.md"):
        assert not model(tree, command).effects


EMACS = {
    """emacs --batch --eval '(delete-file "b.md")'""": {"b.md"},
    """emacs -Q --batch --eval '(delete-directory "specs" t)'""": {"specs/c.md"},
    """emacs --batch --eval '(delete-directory "specs")'""": set(),
    """emacs --batch a.md --eval '(erase-buffer)' -f save-buffer""": {"a.md"},
    """emacs --batch --eval '(progn (find-file "a.md") (save-buffer))'""": {"a.md"},
    """emacs --batch --eval '(write-region "" nil "a.md")'""": {"a.md"},
    """emacs --batch --eval '(shell-command "rm b.md")'""": {"b.md"},
    """emacs --batch --eval '(call-process "rm" nil nil nil "-rf" "specs")'""": {"specs/c.md"},
    """emacs --batch --eval '(with-temp-file "a.md" (insert "x"))'""": {"a.md"},
    """emacs --batch --eval '(message "(hello)")'""": set(),
}


@pytest.mark.parametrize("command", EMACS)
def test_emacs_in_batch_mode_is_read(tree: Path, command: str) -> None:
    assert losses(model(tree, command), tree) == EMACS[command]
