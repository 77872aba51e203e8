"""Archivers: what they unpack over, write and remove."""

from __future__ import annotations

import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest

from guard.effects import Hole, Pattern, Somewhere
from guard.tools.options import Table
from guard.tools.tar_options import TABLE
from tests.tool_harness import CLEAN_ENV, compare, losses, model


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree, and archives of an older state of it beside it."""
    top = tmp_path / "tree"
    _fill(top, "old")
    archives = tmp_path
    run = {"cwd": top, "env": CLEAN_ENV, "check": True, "capture_output": True}
    subprocess.run(["tar", "cf", "../a.tar", "CLAUDE.md", "specs"], **run)  # type: ignore[call-overload]
    subprocess.run(["tar", "czf", "../a.tgz", "."], **run)  # type: ignore[call-overload]
    subprocess.run(["tar", "cJf", "../a.tar.xz", "specs/a.md"], **run)  # type: ignore[call-overload]
    subprocess.run(["zip", "-qr", "../a.zip", "CLAUDE.md", "specs"], **run)  # type: ignore[call-overload]
    subprocess.run(["ar", "rc", "../a.a", "CLAUDE.md", "specs/a.md"], **run)  # type: ignore[call-overload]
    with tarfile.open(archives / "bad.tar", "w") as bad:
        for name in ("../outside.md", "/absolute.md", "link", "specs"):
            item = tarfile.TarInfo(name)
            if name == "link":
                item.type, item.linkname = tarfile.SYMTYPE, "CLAUDE.md"
            bad.addfile(item)
    (archives / "broken.tar").write_bytes(b"this is no archive" * 100)
    _fill(top, "new")
    (top / "link").unlink(missing_ok=True)
    (top / "link").write_text("a file here")
    (top / "spec-link").symlink_to("specs")
    (top / "a.md").symlink_to("CLAUDE.md")
    for name in ("a.tar", "a.zip", "a.a"):
        (top / name).write_bytes((archives / name).read_bytes())
    return top


def _fill(top: Path, text: str) -> None:
    for name in ("CLAUDE.md", "specs/a.md", "specs/deep/b.md", "src/main.py"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"{name} {text}\n" * (2 if text == "new" else 1))


COMMANDS = r"""
tar xf ../a.tar
tar -xf ../a.tar
tar -x -f ../a.tar
tar --extract --file=../a.tar
tar xvf ../a.tar
tar xzf ../a.tgz
tar xf ../a.tgz
tar xf ../a.tar.xz
tar -xf ../a.tar specs/a.md
tar -xf ../a.tar specs
tar -xf ../a.tar specs/
tar -xf ../a.tar nothing
tar xf ../a.tar -C src
tar xf ../a.tar -C specs --strip-components=1
tar xf ../a.tar --strip-components=1
tar xf ../a.tar --strip-components 2
tar xf ../a.tar -C nowhere
tar -C specs -xf ../a.tar
tar xkf ../a.tar
tar xf ../a.tar --keep-old-files
tar xf ../a.tar --skip-old-files
tar xf ../a.tar --keep-newer-files
tar xf ../a.tar --overwrite
tar xf ../a.tar --exclude=a.md
tar xf ../a.tar --exclude specs
tar xf ../a.tar --exclude=*.md
tar xf ../a.tar --wildcards *.md
tar xf ../a.tar --wildcards specs/*
tar xOf ../a.tar
tar xf ../a.tar --to-stdout
tar xf ../a.tar --one-top-level
tar xf ../a.tar --one-top-level=src
tar tf ../a.tar
tar tvf ../a.tar
tar df ../a.tar
tar xf ../nowhere.tar
tar xf ../bad.tar
tar xf ../bad.tar --recursive-unlink
tar cf CLAUDE.md src
tar -cf CLAUDE.md src
tar cfz CLAUDE.md src
tar czf new.tgz specs
tar -c -f specs/a.md -C src main.py
tar cf CLAUDE.md
tar cf /dev/null specs
tar cf new.tar specs --remove-files
tar cf new.tar --remove-files specs CLAUDE.md
tar cf new.tar --remove-files -C specs a.md
tar cf new.tar --remove-files --exclude=*.md specs
tar cf new.tar --remove-files --exclude=deep specs
tar cf new.tar --remove-files nothing
tar rf a.tar src
tar uf a.tar src
tar --delete -f a.tar CLAUDE.md
tar xf ../a.tar --to-command=cat
tar cf new.tar src --index-file=CLAUDE.md -v
tar xf ../a.tar -T ../list
tar cf new.tar -T ../list --remove-files
tar x
tar
tar --version
unzip ../a.zip
unzip -o ../a.zip
unzip -oq ../a.zip
unzip -o ../a
unzip -n ../a.zip
unzip -o ../a.zip CLAUDE.md
unzip -o ../a.zip specs/*
unzip -o ../a.zip *.md
unzip -o ../a.zip -x CLAUDE.md
unzip -o ../a.zip -x specs/*
unzip -o ../a.zip -d src
unzip -o -d specs ../a.zip
unzip -od specs ../a.zip
unzip -oj ../a.zip
unzip -oj ../a.zip -d specs
unzip -l ../a.zip
unzip -p ../a.zip
unzip -t ../a.zip
unzip -o nowhere.zip
unzip -fo ../a.zip
unzip -uo ../a.zip
unzip
zip -r CLAUDE.md src
zip -r a.zip src
zip -r new.zip specs
zip -rm new.zip specs
zip -m new.zip CLAUDE.md
zip -m new.zip specs
zip -rm new.zip specs -x specs/a.md
zip -mr new.zip . -i *.md
zip -d a.zip CLAUDE.md
zip -rq new specs
zip -r --move new specs
zip a.zip
zip
ar x ../a.a
ar x ../a.a a.md
ar t ../a.a
ar rcs a.a src/main.py
ar rcs CLAUDE.md src/main.py
ar d a.a CLAUDE.md
jar xf ../a.zip
jar xf ../a.zip CLAUDE.md
jar cf CLAUDE.md src
jar tf ../a.zip
"""


@pytest.mark.parametrize("command", [line for line in COMMANDS.splitlines() if line])
def test_archivers_lose_what_the_real_ones_lose(tree: Path, command: str) -> None:
    (tree.parent / "list").write_text("CLAUDE.md\n")
    compare(tree, shlex.split(command))


@pytest.mark.parametrize("answers", ["", "A\n", "y\nn\n", "N\n", "n\ny\ny\n", "x\ny\n", "y\n"])
def test_unzip_hears_the_answers(tree: Path, answers: str) -> None:
    compare(tree, ["unzip", "../a.zip"], stdin=answers)


def test_the_content_of_members_is_known(tree: Path) -> None:
    for command in ("tar xf ../a.tar CLAUDE.md", "unzip -o ../a.zip CLAUDE.md", "tar xzf ../a.tgz ./CLAUDE.md"):
        [effect] = model(tree, command).effects
        assert effect.content == b"CLAUDE.md old\n", command


@pytest.mark.parametrize(
    "command",
    [
        "tar xf ../broken.tar",
        "tar xf ../a.tar --transform=s/a/b/",
        "7z x -y ../broken.tar",
        "unrar x -y x.rar",
        "unzip -o ../broken.tar",
    ],
)
def test_what_cannot_be_read_may_be_anywhere_below(tree: Path, command: str) -> None:
    ran = model(tree, command)
    assert any(isinstance(effect.target, Somewhere) and not effect.certain for effect in ran.effects)


def test_an_archive_on_standard_input_is_read_where_it_is_known(tree: Path) -> None:
    data = (tree.parent / "a.tar").read_bytes().decode("utf-8", "surrogateescape")
    assert losses(model(tree, "tar x", stdin=data), tree) == {"CLAUDE.md", "specs/a.md", "specs/deep/b.md"}
    [effect] = model(tree, "tar xz -C src", stdin=Pattern((Hole("unknown-output", "curl"),))).effects
    assert effect.target == Somewhere(str(tree.resolve() / "src"))


def test_programs_that_tar_runs(tree: Path) -> None:
    for command, env in (
        ("tar xf ../a.tar --to-command='rm CLAUDE.md'", {}),
        ("tar cf new.tar src --checkpoint=1 --checkpoint-action=exec='rm CLAUDE.md'", {}),
        ("tar cf new.tar src -I 'rm CLAUDE.md'", {}),
        ("tar cf new.tar src", {"TAR_OPTIONS": "--checkpoint=1 --checkpoint-action=exec=rm\\ CLAUDE.md"}),
        ("zip -T -TT 'rm CLAUDE.md' new.zip src", {}),
    ):
        ran = model(tree, command, env=env)
        assert any("rm" in str(text) for text, _ in ran.shells), command


def test_options_from_the_environment_count(tree: Path) -> None:
    assert losses(model(tree, "tar cf new.tar specs", env={"TAR_OPTIONS": "--remove-files"}), tree) == {
        "specs/a.md",
        "specs/deep/b.md",
    }


OTHERS = {
    "7z x -y ../a.zip": {"CLAUDE.md", "specs/a.md", "specs/deep/b.md"},
    "7z x -aoa -osrc ../a.zip": set(),
    "7z e -y ../a.zip -ospecs": {"specs/a.md"},
    "7z x ../a.zip": set(),
    "7z x -aos ../a.zip": set(),
    "7z l ../a.zip": set(),
    "7z a new.7z specs": set(),
    "7z a -sdel new.7z specs": {"specs/a.md", "specs/deep/b.md"},
    "7z a CLAUDE.md src": {"CLAUDE.md"},
    "bsdtar -xf ../a.tar": {"CLAUDE.md", "specs/a.md", "specs/deep/b.md"},
    "bsdtar -xf ../a.zip specs": {"specs/a.md", "specs/deep/b.md"},
    "rar m new.rar specs": {"specs/a.md", "specs/deep/b.md"},
    "rar a -df new.rar CLAUDE.md": {"CLAUDE.md"},
    "pax -rf ../a.tar": {"CLAUDE.md", "specs/a.md", "specs/deep/b.md"},
    "pax -wf CLAUDE.md src": {"CLAUDE.md"},
    "cpio -o -F CLAUDE.md": {"CLAUDE.md"},
    "cpio -t -F ../a.tar": set(),
}


@pytest.mark.parametrize("command", OTHERS)
def test_archivers_that_are_seldom_installed(tree: Path, command: str) -> None:
    assert losses(model(tree, command), tree) == OTHERS[command]


def test_cpio_passes_named_files_on(tree: Path) -> None:
    assert losses(model(tree, "cpio -pdu src/../specs/..", stdin="CLAUDE.md\n"), tree) == {"CLAUDE.md"}
    ran = model(tree, "cpio -pdm /tmp/nowhere", stdin=Pattern((Hole("unknown-output", "find"),)))
    assert not losses(ran, tree)


def test_the_option_table_is_whole() -> None:
    assert isinstance(TABLE, Table)
    assert all(kind in ("", "=", "?") for kind in TABLE.long.values())
    assert set(TABLE.same) <= set(TABLE.long)
    assert not set(TABLE.flags) & set(TABLE.values)


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\3\4", b"PK\5\6" + b"\0" * 18, b"!<arch>\nxx" + b" " * 58, b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"BZh9", b"\0" * 600],
)
def test_damaged_archives_do_not_make_the_model_fail(tree: Path, data: bytes) -> None:
    (tree / "x").write_bytes(data)
    for command in ("tar xf x", "unzip -o x", "ar x x", "7z x -y x", "jar xf x"):
        model(tree, command)
