"""Tools that write, compress, rename, download or convert foresee what the real ones lose."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from guard.effects import CREATE, EDIT, MOVE, OVERWRITE, TRUNCATE, At, Hole, Matching, Pattern, Somewhere
from tests.tool_harness import Ran, compare, losses, model
from tests.tools.test_remove import lines, needs
from tests.tools.trees import LATIN, NEWLINE, plant

WRITE = """
dd if=a of=b
dd if=/dev/null of=a
dd if=/dev/zero of=a bs=1 count=1
dd if=a of=b conv=notrunc
dd if=/dev/null of=b conv=notrunc
dd if=a of=b conv=notrunc,fsync bs=1
dd if=a of=b oflag=append conv=notrunc
dd if=a of=d/new
dd if=nope of=a
dd if=a of=b conv=excl
dd if=a of=c conv=nocreat
dd if=a of=d
dd if=a of=lf
dd if=a of=dang
dd if=a
dd of=a
dd if=a of=/dev/null
dd if=a of=nope/x
dd --help
truncate -s 0 a
truncate -s0 a b
truncate --size=0 a
truncate --siz 0 a
truncate -s 1 a
truncate -s +0 a
truncate -s +4 a
truncate -s -1 a
truncate -s -100 a
truncate -s '<3' a
truncate -s '<300' a
truncate -s '>3' a
truncate -s '>300' a
truncate -s '/4' a
truncate -s '%4' a
truncate -s 1K a
truncate -s 6 a
truncate -c -s 0 nope
truncate -s 0 nope
truncate -s 0 d
truncate -s 0 lf
truncate -s 0 l/f
truncate -r b a
truncate -r nope a
truncate -r b -s +1 a
truncate a
truncate -s x a
truncate -s 0 -- -dash
truncate -s 0 nope/x a
touch a
touch new
touch d
touch -c nope
touch -t 202001010000 a
touch nope/x
touch lf
touch -h lf
mkdir d
mkdir new
mkdir -p d/e/x/y
mkdir a
mkdir -p a/x
mktemp -d -p d
mktemp d/tXXXX
fallocate -l 100 a
fallocate -p -o 0 -l 4 a
fallocate -z -o 0 -l 4 a
split -l 1 a
split -b 1 a d/
split -l 1 s/f x
split -l 1 nope x
csplit -z a 1 d/x
split -n 1 a
split -n 3 a d/
split -b 2 a
split -d -l 1 a d/x
split -b 1 -a 1 a
split -l 1 --additional-suffix=.txt a
csplit -s -f d/ a 1
csplit -s -f d/ -b %d a 1
csplit -s -f a -b '' a 1
chmod 000 a
chown root a
chmod -R u+w d
rmdir d
gzip a
gzip -k a
gzip a b
gzip d/f
gzip d
gzip -r d
gzip -rk d
gzip -c a
gzip -t a
gzip -l a
gzip -d a
gzip nope
gzip twin
gzip -f twin
gzip lf
gzip -S .z a
gzip -9 a
gzip --best a
gzip --keep a
gzip --stdout a
gzip -v a
gzip -n a
gzip -- -dash
gzip old/f .hidden 'sp ace'
gunzip a
bzip2 a
bzip2 -k a
bzip2 -9 a b
bzip2 -d a
bunzip2 a
bzip2 d
bzip2 -z d/f
bzip2 lf
bzip2 twin
xz a
xz -k a
xz -9e a
xz -T0 a
xz -z d/f
xz -d a
xz -c a
xz -t a
xz -l a
xz -r d
xz lf
xz -f lf
unxz a
lzma a
zstd a
zstd -q a
zstd --rm a
zstd -19 --rm a
zstd -T0 --rm a
zstd -d a
zstd -f a -o b
zstd a -o c
zstd -r d
zstd -r --rm d
lz4 a
lz4 a c
lz4 -f a b
lz4 --rm a
lz4 -m a d/f
openssl rand -out a 4
openssl rand -hex 4
script -c true a
script -q -c true a
script -qc true a
script -a -c true a
script -q /dev/null -c true
ssh-keygen -q -t ed25519 -N '' -f a
ssh-keygen -q -t ed25519 -N '' -f new
ssh-keygen -l -f a
ssh-keygen -y -f a
"""


@pytest.mark.parametrize("command", lines(WRITE))
def test_writing_as_the_real_tool_does(tmp_path: Path, command: str) -> None:
    needs(command)
    compare(plant(tmp_path / "tree"), command)


STDIN = [
    ("tee a", "text\n"),
    ("tee a b", "text\n"),
    ("tee -a a", "text\n"),
    ("tee -a a", ""),
    ("tee a", ""),
    ("tee d", "x"),
    ("tee lf", "x"),
    ("tee nope/x a", "x"),
    ("tee -- -dash", "x"),
    ("tee -i a", "x"),
    ("tee --append a", "x"),
    ("tee --app a", "x"),
    ("tee --nonsense a", "x"),
    ("tee /dev/null", "x"),
    ("tee /dev/stderr a", "x"),
    ("dd of=a", "text\n"),
    ("dd of=a conv=notrunc", "te"),
    ("dd of=a", ""),
    ("cp /dev/stdin a", "x"),
    ("ssh-keygen -q -t ed25519 -N '' -f a", "y\n"),
    ("ssh-keygen -q -t ed25519 -N '' -f a", "n\n"),
]


@pytest.mark.parametrize(("command", "stdin"), STDIN)
def test_standard_input_as_the_real_tool_takes_it(tmp_path: Path, command: str, stdin: str) -> None:
    needs(command)
    compare(plant(tmp_path / "tree"), command, stdin)


@pytest.mark.parametrize("name", [NEWLINE, LATIN, "-dash", "sp ace"])
@pytest.mark.parametrize("words", [("tee", "--"), ("truncate", "-s0", "--"), ("gzip", "--"), ("xz", "--"), ("shred", "-u", "--")])
def test_awkward_names(tmp_path: Path, words: tuple[str, ...], name: str) -> None:
    compare(plant(tmp_path / "tree"), [*words, name], stdin="")


@pytest.mark.parametrize(
    "command", ["gunzip a.gz", "gzip -d a", "gunzip -f a.gz", "gunzip -k a.gz", "zcat a.gz", "gzip a.gz", "gzip -f a", "gzip a"]
)
@pytest.mark.parametrize("stdin", ["", "y\n", "n\n"])
def test_packed_files(tmp_path: Path, command: str, stdin: str) -> None:
    top = plant(tmp_path / "tree")
    (top / "a.gz").write_bytes(gzip.compress(b"packed\n"))
    compare(top, command, stdin)


def test_contents_are_known(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert [(e.action, e.content) for e in model(top, "tee a", "x\n").effects] == [(OVERWRITE, b"x\n")]
    assert [(e.action, e.content) for e in model(top, "tee -a a", "x\n").effects] == [(EDIT, b"alpha\nx\n")]
    assert [(e.action, e.content) for e in model(top, "tee new", "x\n").effects] == [(CREATE, b"x\n")]
    assert [(e.action, e.content) for e in model(top, "tee a").effects] == [(OVERWRITE, None)]
    assert [(e.action, e.content) for e in model(top, "truncate -s 3 a").effects] == [(OVERWRITE, b"alp")]
    assert [(e.action, e.content) for e in model(top, "truncate -s +2 a").effects] == [(EDIT, b"alpha\n\0\0")]
    assert [e.action for e in model(top, "truncate -s 0 a").effects] == [TRUNCATE]
    assert [(e.action, e.content) for e in model(top, "sponge a", "x\n").effects] == [(OVERWRITE, b"x\n")]
    assert [(e.action, e.content) for e in model(top, "touch new").effects] == [(CREATE, b"")]
    assert [(e.action, e.source) for e in model(top, "dd if=a of=b").effects] == [(OVERWRITE, str(top / "a"))]
    assert model(top, "tee a", "x\n").result.output == "x\n"


def test_a_new_directory_is_there_for_the_next_command(tmp_path: Path) -> None:
    ran = Ran(plant(tmp_path / "tree"))
    ran.run(("mkdir", "-p", "n/m"))
    ran.run(("mv", "a", "b", "n/m"))
    assert [e.to for e in ran.effects if e.action == MOVE] == [f"{ran.cwd}/n/m/a", f"{ran.cwd}/n/m/b"]


def test_mktemp_gives_a_name_that_nothing_has(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    out = lambda command, **env: model(tmp_path, command, env=env).result.output  # noqa: E731
    assert out("mktemp") == "/tmp/tmp.XXXXXXXXX0\n"
    assert out("mktemp -d") == "/tmp/tmp.XXXXXXXXX0\n"
    assert out("mktemp -d", TMPDIR=str(tmp_path)) == f"{tmp_path}/tmp.XXXXXXXXX0\n"
    assert out("mktemp x/aXXXX.txt") == "x/aXXX0.txt\n"
    assert out("mktemp -p x aXXXX") == "x/aXXX0\n"
    assert out("mktemp -t aXXXX") == "/tmp/aXXX0\n"
    assert out("mktemp aXXXX --suffix=.c") == "aXXX0.c\n"
    (tmp_path / "aXXX0").touch()
    assert out("mktemp aXXXX") == "aXXX1\n"


def test_mktemp_fails_where_there_is_no_directory(tmp_path: Path) -> None:
    for command in ("mktemp nope/aXXXX", "mktemp -d -p nope", "mktemp --tmpdir=nope aXXXX"):
        ran = model(tmp_path, command)
        assert (ran.result.status, ran.result.output) == (1, "")


RENAMED = [
    ("rename s/f/g/ d/f", {"d/f"}),
    ("rename s/zzz/g/ a b", set()),
    ("rename -n s/a/c/ a", set()),
    ("rename s/a/b/ a", set()),
    ("rename -f s/a/b/ a", {"a", "b"}),
    ("rename 's/md$/txt/' notes.md a", {"notes.md"}),
    ("rename 's/\\.md$//' notes.md", {"notes.md"}),
    ("rename 's{a}{c}' a", {"a"}),
    ("rename y/a-z/A-Z/ a b", {"a", "b"}),
    ("rename 's/(.*)/x_$1/' a", {"a"}),
    ("prename -e s/a/c/ a", {"a"}),
    ("rename 'lc($_)' a", {"a"}),
    ("rename a c a", {"a"}),
    ("rename .md .txt notes.md a", {"notes.md"}),
    ("rename -n a c a", set()),
    ("rename a b a", {"a", "b"}),
    ("rename -o a b a", set()),
    ("mmv '*.md' '#1.txt'", {"notes.md"}),
    ("mmv -n '*.md' '#1.txt'", set()),
    ("mcp a b", {"b"}),
]


@pytest.mark.parametrize(("command", "lost"), RENAMED)
def test_renaming_by_rule(tmp_path: Path, command: str, lost: set[str]) -> None:
    top = plant(tmp_path / "tree")
    assert losses(model(top, command), top) == lost


def test_names_to_rename_from_standard_input(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert losses(model(top, "rename s/a/c/", "a\nb\n"), top) == {"a"}


CLAIMED = [
    ("curl -o a https://x/y", {"a"}),
    ("curl -sSLo a https://x/y", {"a"}),
    ("curl -sL https://x/y -o a", {"a"}),
    ("curl --output a https://x/y", {"a"}),
    ("curl --output=a https://x/y", {"a"}),
    ("curl -O https://x/y/a", {"a"}),
    ("curl -O https://x/y/a?q=1", {"a"}),
    ("curl -OJ https://x/y/a", set()),
    ("curl --output-dir d -O https://x/y/f", {"d/f"}),
    ("curl -o a https://x/1 -o b https://x/2", {"a", "b"}),
    ("curl --remote-name-all https://x/a https://x/b", {"a", "b"}),
    ("curl https://x/y", set()),
    ("curl -o - https://x/y", set()),
    ("curl -o /dev/null https://x/y", set()),
    ("curl -d @a https://x/y", set()),
    ("curl -D a https://x/y", {"a"}),
    ("curl -c a https://x/y", {"a"}),
    ("curl -o a file:///nope/nothing", set()),
    ("curl -T a https://x/", set()),
    ("curl --help", set()),
    ("wget https://x/a", set()),
    ("wget -O a https://x/y", {"a"}),
    ("wget -qO a https://x/y", {"a"}),
    ("wget -qO- https://x/y", set()),
    ("wget --output-document=a https://x/y", {"a"}),
    ("wget -nc -O a https://x/y", set()),
    ("wget -N https://x/a", {"a"}),
    ("wget -P d -N https://x/f", {"d/f"}),
    ("wget -o a https://x/y", {"a"}),
    ("aria2c -o a https://x/y", set()),
    ("aria2c --allow-overwrite=true -o a https://x/y", {"a"}),
    ("http -o a https://x", {"a"}),
    ("gcc -o a x.c", {"a"}),
    ("gcc -oa x.c", {"a"}),
    ("gcc -O2 -Wall x.c -o a", {"a"}),
    ("gcc -c x.c", set()),
    ("gcc -I a x.c", set()),
    ("x86_64-linux-gnu-gcc x.c", set()),
    ("go build -o a .", {"a"}),
    ("pandoc notes.md -o a", {"a"}),
    ("pandoc notes.md --output=a", {"a"}),
    ("convert a b", {"b"}),
    ("convert a png:b", {"b"}),
    ("magick a -resize 10x10 b", {"b"}),
    ("mogrify -resize 10x10 a", {"a"}),
    ("xmllint --output a b", {"a"}),
    ("tcpdump -i eth0 -w a", {"a"}),
    ("pg_dump -f a db", {"a"}),
    ("strace -o a true", {"a"}),
    ("gpg -d -o a b", {"a"}),
    ("objcopy a b", {"b"}),
    ("strip a", {"a"}),
    ("dos2unix a", {"a"}),
    ("unix2dos -n a b", {"b"}),
    ("dos2unix -i a", set()),
    ("ffmpeg -i a -y b", {"b"}),
    ("ffmpeg -y -i a b", {"b"}),
    ("ffmpeg -n -i a b", set()),
    ("mkfs.ext4 a", {"a"}),
    ("black a", {"a"}),
    ("black --check a", set()),
    ("black d", set()),
    ("prettier --write notes.md", {"notes.md"}),
    ("prettier -w notes.md", {"notes.md"}),
    ("prettier notes.md", set()),
    ("ruff format a", {"a"}),
    ("ruff check --fix a", {"a"}),
    ("ruff check a", set()),
    ("gofmt -w a", {"a"}),
    ("gofmt -l a", set()),
    ("gofmt -s -w a", {"a"}),
    ("clang-format -i a", {"a"}),
    ("eslint --fix a", {"a"}),
    ("eslint a", set()),
    ("isort a", {"a"}),
    ("isort --check-only a", set()),
    ("autopep8 -i a", {"a"}),
    ("terraform plan -out=a", {"a"}),
    ("brotli a", set()),
    ("brotli -j a", {"a"}),
    ("pigz a", {"a"}),
    ("lzip a", {"a"}),
    ("compress a", {"a"}),
]


@pytest.mark.parametrize(("command", "lost"), CLAIMED)
def test_tools_that_may_be_missing_here(tmp_path: Path, command: str, lost: set[str]) -> None:
    top = plant(tmp_path / "tree")
    assert losses(model(top, command), top) == lost


def test_a_formatter_edits(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    for command in ("black a", "prettier --write a", "dos2unix a", "gofmt -w a"):
        assert [e.action for e in model(top, command).effects] == [EDIT], command


def test_what_arrives_is_not_known(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert [(e.target, e.certain) for e in model(top, "wget -r https://x").effects] == [(Somewhere(str(top)), False)]
    found = model(top, ("tee", Pattern((f"{top}/d/", Hole("unknown-variable", "$X"))))).effects
    assert [type(e.target) for e in found] == [Matching]
    found = model(top, ("dd", "if=a", Pattern(("of=d/", Hole("unknown-variable", "$X"))))).effects
    assert [(type(e.target), e.target.path) for e in found] == [(Matching, str(top / "d"))]


def test_a_local_download_has_a_source(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert [e.source for e in model(top, f"curl -s -o a file://{top}/b").effects] == [str(top / "b")]


def test_writing_to_a_disk_reaches_everything(tmp_path: Path) -> None:
    disks = [path for path in ("/dev/vda", "/dev/sda", "/dev/nvme0n1") if Path(path).is_block_device()]
    if not disks:
        pytest.skip("no disk here")
    assert [(e.target, e.certain) for e in model(tmp_path, f"dd if=/dev/zero of={disks[0]}").effects] == [(Somewhere("/"), False)]


def test_a_command_behind_script_runs(tmp_path: Path) -> None:
    top = plant(tmp_path / "tree")
    assert At(str(top / "a")) in [e.target for e in model(top, "script -q -c 'rm a' /dev/null").effects]
