"""Laws of the shims, on random calls in random trees."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guard import shim_data
from guard.hot import shim
from tests.shims import directory
from tests.shims.directory import PRESENT, Shims, tools

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

# What trees are made of, and what calls are about.
FILES = [
    "x",
    "src/b.py",
    "specs/a.md",
    "specs/deep/c",
    "CLAUDE.md",
    ".claude/cache/c",
    "memory/m",
    "guard.toml",
    "sub/guard.toml",
]
FILES += ["sub/specs/a.md", "build/o.o", "a b", "@fix_plan.md"]
LINKS = {
    "l": "x",
    "tospecs": "specs",
    "toplan": "CLAUDE.md",
    "up": "..",
    "dangling": "nowhere",
    "specs/l": "../x",
    "src/s": "../specs",
}
PARTS = [".", "..", "", "src", "specs", "sub", "build", "tospecs", "up", "deep", "app", "empty", "*", ".git"]
LEAVES = [
    "x",
    "y",
    "b.py",
    "a.md",
    "CLAUDE.md",
    "guard.toml",
    "HEAD",
    "specs",
    "l",
    "toplan",
    "a b",
    "new",
    "-f",
    "@fix_plan.md",
    "",
]
path = st.builds(
    "/".join,
    st.lists(st.sampled_from(PARTS), max_size=3).flatmap(lambda up: st.sampled_from(LEAVES).map(lambda leaf: [*up, leaf])),
)
operand = path | st.sampled_from(["--", "-", ""]) | path.map(lambda p: "{app}/" + p)

OPTIONS = {
    "rm": "-f -r -rf -d -i -I -v --recursive --force -- --no-preserve-root".split(),
    "rmdir": "-p -v --ignore-fail-on-non-empty --parents".split(),
    "unlink": ["--"],
    "mv": "-f -n -t -T -b --backup -u -S -v --target-directory=specs --strip-trailing-slashes --exchange".split(),
    "cp": "-f -r -a -p -t -T -b -u -l -s --remove-destination --parents -n --attributes-only".split(),
    "ln": "-s -f -n -r -t -T -b -sf --force".split(),
    "truncate": "-s 0 -c -s0 --size=1 -r -o --no-create".split(),
    "tee": "-a -i -p --append --output-error".split(),
    "dd": "if=x of=CLAUDE.md of=y of=tospecs/a.md conv=notrunc bs=1 count=1 of=specs/a.md seek=1 status=none of=l".split(),
    "sed": "-n -i -e p -E -s -i.x --in-place -f s/a/b/ s/e/x/w s/x/CLAUDE.md/e 1w\\tspecs/l -ne -nei 1,$d s,e,y, -z w --".split(),
    "find": ". -name *.md -delete -exec rm {} ; + -type f -fprint CLAUDE.md -o -print -maxdepth 1 -execdir -ok ( ) !".split(),
    "git": "status -C . -c color.ui=never --no-pager log diff clean -fdx --output=CLAUDE.md show --git-dir=.git rm checkout "
    "-- -o core.fsmonitor=x alias.status=!rm --exec-path=. stash ls-files --others --help".split(),
}
wild = st.sampled_from(sorted(OPTIONS)).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(st.sampled_from(OPTIONS[name]) | operand, max_size=5))
)
# Calls that the script may well know all about.
PLAIN = (
    "x y l s src/b.py src src/new specs/a.md CLAUDE.md toplan tospecs/a.md empty new sub/specs/a.md build/o.o guard.toml".split()
)
plain = st.tuples(
    st.sampled_from("rm mv cp ln tee unlink truncate rmdir".split()),
    st.lists(st.sampled_from(["-f", "-v", "-s", *PLAIN]), min_size=1, max_size=4),
)
scripts = st.tuples(
    st.just("sed"),
    st.lists(st.text("sew/|,#;\\ \n1pgaxI{}y", max_size=9).map(lambda text: f"-es{text}") | st.just("x"), max_size=3),
)
calls = plain | wild | plain | scripts
trees = st.tuples(st.sets(st.sampled_from(FILES)), st.sets(st.sampled_from(sorted(LINKS))))


def grow(app: Path, files: set[str], links: set[str]) -> None:
    """A tree with these files and links, and some directories."""
    for entry in app.iterdir():
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink()
        elif entry.name != ".git":
            shutil.rmtree(entry)
    for name in ("src", "empty", "sub"):
        (app / name).mkdir()
    for name in files:
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        (app / name).write_text('[protect]\nkeep = ["/x", "specs/"]\n' if name.endswith(".toml") else "some text\n" * 5)
        if name.endswith(".toml"):
            os.utime(app / name, (1e9, 1e9))  # older than any data, so that the script takes what is made now for fresh
    for name in links:
        if (app / name).parent.is_dir():
            (app / name).symlink_to(LINKS[name])


@FUZZ
@given(data=st.data(), tree=trees, call=calls, where=st.sampled_from([".", "src", "sub", "empty", ".."]))
@pytest.mark.parametrize("shell", [name for name in ("dash", "bash") if name in PRESENT])
def test_what_the_script_passes_the_judge_allows(
    shell: str,
    data: st.DataObject,
    tree: tuple[set[str], set[str]],
    call: tuple[str, list[str]],
    where: str,
    shims: Shims,
    app: Path,
) -> None:
    grow(app, *tree)
    if data.draw(st.booleans()):
        shim_data.renew(str(shims.top))
    if not shims.asked.parent.joinpath("fixed").exists():
        shims.asked.parent.joinpath("fixed").touch()
        shims.behind = str(tools(app.parent / "behind", "exit 0\n"))
        shims.refuse_all()
    name, arguments = call[0], [argument.replace("{app}", str(app)) for argument in call[1]]
    cwd = app / where
    if shims.run(name, *arguments, cwd=cwd, shell=shell).returncode != 0:
        return
    places = shim_data.places(str(shims.top))
    assert places
    environ = shims.environ(PWD=str(cwd), PATH="/usr/bin:/bin")
    decision = shim.decide((name, *arguments), os.path.realpath(cwd), environ, str(shims.top), places)
    assert decision.verdict.decision == "allow", (name, arguments, decision.verdict)


# Notes each call, with its arguments as they came.
NOTES = """\
while read -r line; do printf x; done </dev/null
/bin/cat /proc/$$/cmdline >>"${0%/*}/calls"
printf '\\n\\0END\\0\\n' >>"${0%/*}/calls"
exit 9
"""
argument = st.binary(max_size=12).map(lambda raw: raw.replace(b"\0", b"")) | st.sampled_from(
    [
        b"-rf",
        b"--",
        b"$(x)",
        b"*",
        b"`x`",
        b"'",
        b'"',
        b"\\",
        b"\n",
        b" ",
        b"",
        b"~",
        b"-",
        b"specs",
        b"x",
        b"a=b",
        b"{a,b}",
        b"!",
        b"#",
    ]
)


@FUZZ
@given(name=st.sampled_from(directory.shims.WIDE), arguments=st.lists(argument, max_size=8))
@pytest.mark.parametrize("shell", [None, *PRESENT])
def test_the_tool_runs_once_with_the_very_arguments_or_not_at_all(
    shell: str | None, name: str, arguments: list[bytes], shims: Shims, app: Path
) -> None:
    """The judge says yes and no by turns; either way nothing hangs, and nothing is dropped or quoted again."""
    behind = app.parent / "behind"
    if not behind.exists():
        shims.behind = str(tools(behind, NOTES))
        (shims.top / ".judge").unlink()
        (shims.top / ".judge").write_text("#!/bin/sh\nfor a; do :; done\n[ ${#a} -ne 4 ]\n")
        (shims.top / ".judge").chmod(0o755)
    (behind / "calls").unlink(missing_ok=True)
    done = shims.run(name, *arguments, cwd=app, shell=shell, timeout=20)
    if done.returncode == 126:
        assert not (behind / "calls").exists()
        return
    assert done.returncode == 9
    shown = (behind / "calls").read_bytes().split(b"\n\0END\0\n")
    assert len(shown) == 2
    assert shown[0].split(b"\0")[2:-1] == arguments
