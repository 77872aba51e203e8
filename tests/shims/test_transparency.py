"""What a tool sees of its process behind a shim is what it sees without: the judge and the shell leave no trace."""

from __future__ import annotations

import os
import pty
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from guard.shims import STARTING, WIDE
from tests.shims.directory import Shims, tools

# Tells all that the kernel knows of its process, next to itself.
TELLS = """\
out=${0%/*}/seen
while read -r line; do printf '%s\\n' "$line"; done </proc/$$/status >"$out.status" # before there is any child
PATH=/usr/bin:/bin
rm -rf "$out"
mkdir "$out"
mv "$out.status" "$out/status"
for part in environ cmdline; do cat /proc/$$/$part >"$out/$part"; done
ls -l /proc/$$/fd >"$out.all" # in no pipe, which would add to them
sed -n 's/.* \\([0-9]*\\) -> /\\1 /p' "$out.all" | sort -n >"$out.fd"
mv "$out.fd" "$out/fd"
umask >"$out/umask"
pwd -P >"$out/pwd"
ulimit -a >"$out/limits"
exit 42
"""
# A call of each tool that the script passes by itself, where there is one, and one that the judge has to see.
FAST = {"rm": ["-f", "x"], "unlink": ["x"], "mv": ["x", "z"], "cp": ["x", "z"], "ln": ["x", "z"], "tee": ["z"], "dd": ["if=x"]}
FAST |= {"truncate": ["-s0", "x"], "git": ["status"], "find": ["."], "sed": ["p"], "rmdir": ["void"]}
SLOW = {name: ["--", "odd name", "*", ""] for name in WIDE} | {
    "git": ["clean", "-n", "odd name"],
    "find": [".", "-ok", "a b", ";"],
}
SLOW |= {"sed": ["s/e x/y/;ta", "", "a b"], "dd": ["if=odd name"], "tar": ["tf", "odd name"], "unzip": ["-l", "odd name"]}
CALLS = [(name, FAST[name]) for name in FAST] + [(name, SLOW[name]) for name in SLOW]

Facts = dict[str, object]


@pytest.fixture
def told(shims: Shims, app: Path) -> Shims:
    shims.behind = f"{tools(app.parent / 'behind', TELLS)}:/usr/bin:/bin"
    return shims


def facts(told: Shims) -> Facts:
    seen = told.home.parent / "behind" / "seen"
    status = dict(re.split(r":\s*", line, maxsplit=1) for line in (seen / "status").read_text().splitlines())
    kept = ["Name", "Umask", "PPid", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "SigCgt", "SigPnd", "NoNewPrivs", "Seccomp"]
    environ = dict(entry.split(b"=", 1) for entry in (seen / "environ").read_bytes().split(b"\0") if entry)
    path = environ.pop(b"PATH", None)
    environ.pop(b"GUARD_SHIM", None)
    environ.pop(b"_", None)
    descriptors = [line for line in (seen / "fd").read_text().splitlines() if "behind/" not in line and " pipe:" not in line]
    numbers = [line.split(" ")[0] for line in (seen / "fd").read_text().splitlines()]
    return {
        "status": {key: status[key] for key in kept if key in status},
        "environ": environ,
        "path": path is not None,
        "fd": [line for line in descriptors if "/proc/" not in line],
        "numbers": numbers,
        "cmdline": (seen / "cmdline").read_bytes().split(b"\0")[2:],
        **{name: (seen / name).read_text() for name in ("umask", "pwd", "limits")},
    }


def both(
    told: Shims, app: Path, name: str, arguments: list[str], environ: dict[str, str], **options: object
) -> tuple[Facts, Facts]:
    """The facts without and with the shim in front, from a process that differs in nothing else."""
    found = []
    for first in (f"{app.parent}/behind", str(told.top)):
        env = {**environ, "PATH": f"{told.top}:{told.behind}"}
        settings: dict[str, object] = {"cwd": app, "env": env, "timeout": 60, "capture_output": True}
        settings |= {"stdin": subprocess.DEVNULL}
        settings |= {"executable": f"{first}/{name}", **options}
        done = subprocess.run([name, *arguments], **settings)  # type: ignore[call-overload]
        assert done.returncode == 42, done.stderr
        found.append(facts(told))
    return found[0], found[1]


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[f"{name}-{len(rest)}" for name, rest in CALLS])
def test_every_shim_leaves_the_process_as_it_was(name: str, arguments: list[str], told: Shims, app: Path) -> None:
    environ = told.environ(PWD=str(app), OLDPWD="/usr", SHLVL="3", A="b c\n", EMPTY="", LC_CTYPE="C")
    without, with_shim = both(told, app, name, arguments, environ)
    assert with_shim == without


@pytest.mark.parametrize("name", ["git", "find", "sed", "tar"])
@pytest.mark.parametrize("arguments", [["status"], ["-x", "odd name"]])
def test_tools_that_start_others_get_every_variable(name: str, arguments: list[str], told: Shims, app: Path) -> None:
    """Names that are no identifiers, and what bash and dash think to know better."""
    odd = {"BASH_FUNC_f%%": "() { :; }", "a-b": "1", "PWD": "/nowhere", "OLDPWD": "/gone", "PS1": "$ ", "IFS": "x", "x.y": "é"}
    for environ in (odd, {}, {"PWD": str(app)}, {"SHLVL": "7"}, {"SHLVL": "1", "PS4": "+"}):
        without, with_shim = both(told, app, name, [*arguments, "p"], {**environ, "HOME": str(told.home)})
        assert with_shim == without


def test_the_tools_that_start_others_are_those_that_do() -> None:
    assert set(WIDE) >= STARTING


def dispositions() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
    os.umask(0o27)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))


def ignoring_pipes() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


@pytest.mark.parametrize("prepare", [dispositions, ignoring_pipes])
@pytest.mark.parametrize(
    ("name", "arguments"), [("rm", ["-f", "x"]), ("rm", ["a b"]), ("git", ["status"]), ("git", ["clean", "-n"])]
)
def test_signals_masks_limits_and_descriptors(
    prepare: Callable[[], None], name: str, arguments: list[str], told: Shims, app: Path
) -> None:
    environ = told.environ(PWD=str(app), SHLVL="1")
    without, with_shim = both(told, app, name, arguments, environ, preexec_fn=prepare)
    if (name, arguments) == ("rm", ["a b"]):  # dash blocks no signals any more once it has waited for a child
        for found in (without, with_shim):
            del found["status"]["SigBlk"]  # type: ignore[attr-defined]
    assert with_shim == without


@pytest.mark.parametrize(
    ("name", "arguments"), [("rm", ["-f", "x"]), ("rm", ["a b"]), ("git", ["status"]), ("git", ["clean", "-n"])]
)
def test_open_descriptors_stay_open_and_no_other_joins_them(name: str, arguments: list[str], told: Shims, app: Path) -> None:
    opening = " ".join(f"{number}</dev/zero" for number in (3, 4, 9, 10, 11, 12, 63, 99, 254, 255))
    found = []
    for first in (f"{app.parent}/behind", str(told.top)):
        script = f'exec {opening}; exec -a "$0" "{first}/$0" "$@"'
        done = subprocess.run(["bash", "-c", script, name, *arguments], cwd=app, env=told.environ(), timeout=60)
        assert done.returncode == 42
        found.append(facts(told))
    assert found[0] == found[1]
    assert "255" in found[0]["numbers"]  # type: ignore[operator]


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
@pytest.mark.parametrize(
    ("name", "arguments"), [("rm", ["-f", "x"]), ("rm", ["a b"]), ("git", ["status"]), ("git", ["clean", "-n"])]
)
def test_closed_streams_stay_closed(closed: list[int], name: str, arguments: list[str], told: Shims, app: Path) -> None:
    def close() -> None:
        for number in closed:
            os.close(number)

    without, with_shim = both(told, app, name, arguments, told.environ(PWD=str(app), SHLVL="1"), preexec_fn=close)
    assert with_shim["numbers"] == without["numbers"]
    assert with_shim["fd"] == without["fd"]


@pytest.mark.parametrize(
    ("name", "arguments"), [("rm", ["-f", "x"]), ("rm", ["a b"]), ("git", ["status"]), ("git", ["clean", "-n"])]
)
def test_the_tool_has_the_process_id_of_the_shim(name: str, arguments: list[str], shims: Shims, app: Path) -> None:
    shims.behind = f"{tools(app.parent / 'behind', 'echo $$')}:/usr/bin:/bin"
    process = subprocess.Popen(
        [shims.top / name, *arguments], env=shims.environ(), cwd=app, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    output, _ = process.communicate(timeout=60)
    assert int(output) == process.pid


@pytest.mark.parametrize("status", [0, 1, 7, 125, 126, 127, 128, 255])
def test_exit_statuses(status: int, shims: Shims, app: Path) -> None:
    shims.behind = f"{tools(app.parent / 'behind', f'exit {status}')}:/usr/bin:/bin"
    for name, argument in (("rm", "x"), ("rm", "a b"), ("git", "status"), ("tar", "tf")):
        assert shims.run(name, argument, cwd=app).returncode == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGPIPE, signal.SIGINT])
def test_a_tool_that_ends_by_a_signal(number: signal.Signals, shims: Shims, app: Path) -> None:
    shims.behind = f"{tools(app.parent / 'behind', f'kill -{int(number)} $$')}:/usr/bin:/bin"
    for name, argument in (("rm", "x"), ("rm", "a b"), ("git", "status")):
        assert shims.run(name, argument, cwd=app).returncode == -number


@pytest.mark.parametrize("last", ["head -c1", "true"])
def test_a_pipe_ends_by_sigpipe(last: str, shims: Shims, app: Path) -> None:
    for first in ("seq 1 1000000 | tee z", "seq 1 1000000 | sed p", "dd if=/dev/zero", "find /proc/self/ /usr", "git --help"):
        script = f'{first} 2>/dev/null | {last} >/dev/null; echo "${{PIPESTATUS[@]}}"'
        statuses = []
        for path in (f"{shims.top}:/usr/bin:/bin", "/usr/bin:/bin"):
            done = subprocess.run(
                ["bash", "-c", script],
                env=shims.environ(PATH=path),
                cwd=app,
                capture_output=True,
                timeout=60,
                preexec_fn=default_pipe,
            )
            statuses.append(re.sub(rb"\b0\b", b"141", done.stdout) if last == "true" else done.stdout)
        assert statuses[0] == statuses[1], first


def default_pipe() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def test_input_reaches_the_tool_unread(shims: Shims, app: Path) -> None:
    for argv in (
        ["tee", "z"],
        ["tee", "a b"],
        ["sed", "s/a/a/;te;:e"],
        ["sed", "p;d"],
        ["dd", "status=none"],
        ["tar", "xOf", "-"],
    ):
        plain = subprocess.run(argv, input=b"one\ntwo\n", cwd=app, capture_output=True, env=shims.environ(PATH="/usr/bin:/bin"))
        done = shims.run(*argv, cwd=app, stdin=None, input=b"one\ntwo\n")
        assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_messages_of_tools_are_the_same(shims: Shims, app: Path) -> None:
    calls = """rm nothing|rm no*thing|mv a b|cp -Q|ln|rmdir src|git frob|find nowhere|sed s/|tar x|unzip nothing|truncate|
        unlink no*where|dd if=nothing|tee src|shred nothing|install|rsync --frob""".split("|")
    for argv in map(str.split, calls):
        if shutil.which(argv[0]) is None:
            continue
        plain = subprocess.run(
            argv, cwd=app, capture_output=True, env=shims.environ(PATH="/usr/bin:/bin"), stdin=subprocess.DEVNULL
        )
        done = shims.run(*argv, cwd=app)
        assert (argv, done.returncode, done.stdout, done.stderr) == (argv, plain.returncode, plain.stdout, plain.stderr)


@pytest.mark.parametrize(("name", "arguments"), [("rm", ["x"]), ("rm", ["a b"]), ("git", ["status"]), ("git", ["clean", "-n"])])
def test_a_terminal_is_the_tools_own(name: str, arguments: list[str], shims: Shims, app: Path) -> None:
    """Behind a shim the tool is in the foreground, and its settings of the terminal last."""
    script = "test -t 0 && test -t 1 && stty -echo && stty -a | tr -s ' ' '\\n' | grep -x -- -echo && echo done\n"
    shims.behind = f"{tools(app.parent / 'behind', script)}:/usr/bin:/bin"
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(app)
        os.execve(shims.top / name, [name, *arguments], shims.environ())
    output = b""
    try:
        while chunk := os.read(terminal, 1024):
            output += chunk
    except OSError:
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert b"done" in output


def test_an_interrupt_during_the_judgement_ends_the_call(shims: Shims, app: Path) -> None:
    """Neither the tool nor the judge goes on."""
    (shims.top / ".judge").unlink()
    (shims.top / ".judge").write_text("#!/bin/sh\necho $$ >judging\nexec sleep 60\n")
    (shims.top / ".judge").chmod(0o755)
    for name in ("rm", "git"):
        process = subprocess.Popen([shims.top / name, "clean"] if name == "git" else [shims.top / name, "-r", "src"],
                                   env=shims.environ(), cwd=app, start_new_session=True)  # fmt: skip
        while not (app / "judging").exists() or not (app / "judging").read_text():
            assert process.poll() is None
        (app / "judging").unlink()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) != 0
        assert (app / "src/b.py").exists()
