"""The sandbox: what the kernel refuses in there, what it lets through, and what the plan says about that."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from guard import log, mounts, project, sandbox
from guard.effects import At, Below, Effect
from guard.errors import GuardError
from guard.overlay import View
from guard.policy import Policy
from guard.sandbox import bubblewrap
from guard.world import Budget, World
from tests.tool_harness import Ran

WHY = sandbox.available()
real = pytest.mark.skipif(WHY is not None, reason=f"no sandbox here: {WHY}")

TOML = """\
[protect]
keep = ["/specs/", "/memory/", "/CLAUDE.md", "/AGENTS.md"]
lock = ["/guard.toml", "/locked/", "/half/", "!/half/open"]
"""
FILES = ("specs/a.md", "specs/deep/er/b.md", "CLAUDE.md", "src/x.py", "locked/in/l.txt", "half/l.txt", "half/open")


class Project:
    """A repository with protected files, and the environment of whoever works in it."""

    def __init__(self, top: Path, home: Path) -> None:
        self.top = top
        self.environ = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        self.environ |= {"GIT_CONFIG_NOSYSTEM": "1", "PWD": str(top)}
        for role in ("AUTHOR", "COMMITTER"):
            self.environ |= {f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@example.org"}

    def path(self, name: str) -> str:
        return str(self.top / name)

    @property
    def tree(self) -> World:
        return World(self.environ, Budget(60.0, 50_000_000))

    @property
    def policy(self) -> Policy:
        return project.load(str(self.top), self.environ, self.tree)

    @property
    def plan(self) -> sandbox.Plan:
        return sandbox.plan(self.policy, [str(self.top)], self.tree)

    def inside(self, *argv: str, mode: str = "bwrap", **options: object) -> subprocess.CompletedProcess[bytes]:
        before = os.getcwd()
        os.chdir(self.top)
        try:
            made = sandbox.prepare(mode, argv, self.policy, [str(self.top)], self.tree)
        finally:
            os.chdir(before)
        settings: dict[str, object] = {"cwd": self.top, "env": self.environ, "capture_output": True, "timeout": 60}
        return subprocess.run(made.argv, **{**settings, **options})  # type: ignore[call-overload]

    def shell(self, text: str) -> subprocess.CompletedProcess[bytes]:
        return self.inside("sh", "-c", text)

    def git(self, *argv: str) -> str:
        run = subprocess.run(["git", *argv], cwd=self.top, env=self.environ, capture_output=True, check=True)
        return run.stdout.decode().rstrip("\n")

    def content(self) -> dict[str, bytes]:
        """Every file of the tree but git's own."""
        return {
            os.path.relpath(os.path.join(above, name), self.top): Path(above, name).read_bytes()
            for above, _, names in os.walk(self.top)
            for name in names
            if ".git" not in Path(above).parts and Path(above, name).is_file()
        }


@pytest.fixture
def place(tmp_path: Path) -> Project:
    top, home = tmp_path.resolve() / "project", tmp_path.resolve() / "home"
    (home / ".local/state/guard").mkdir(parents=True)
    for name in FILES:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name} {line}\n" for line in range(20)))
    (top / "memory").mkdir()
    (top / "guard.toml").write_text(TOML)
    found = Project(top, home)
    found.git("init", "-q", "-b", "main")
    return found


def bound(plan: sandbox.Plan, top: Path) -> dict[str, bool]:
    return {os.path.relpath(bind.path, top): bind.writable for bind in plan.binds}


def test_the_plan_binds_directories_files_and_what_is_locked(place: Project) -> None:
    assert bound(place.plan, place.top) == {
        ".": True,
        ".git": True,
        ".git/objects": True,
        ".git/refs": True,
        "CLAUDE.md": True,
        "guard.toml": False,
        "half": True,
        "half/l.txt": False,
        "locked": False,
        "memory": True,
        "specs": True,
        "specs/a.md": True,
        "specs/deep": True,
        "specs/deep/er": True,
        "specs/deep/er/b.md": True,
    }


def test_what_is_above_is_bound_before_what_is_below(place: Project) -> None:
    paths = [bind.path for bind in place.plan.binds]
    assert all(above not in paths[at:] for at, path in enumerate(paths) for above in map(str, Path(path).parents))


def test_a_plan_without_anything_to_hold_is_empty(tmp_path: Path) -> None:
    tree = World({"HOME": str(tmp_path)}, Budget(60.0, 1_000_000))
    assert sandbox.plan(Policy(), [str(tmp_path / "gone")], tree) == sandbox.Plan()


def test_guards_own_directories_get_no_write_access_but_for_the_spool(place: Project, tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "spool").mkdir(parents=True)
    own = [str(state), str(tmp_path / "not-there")]
    made = sandbox.plan(place.policy, [str(place.top)], place.tree, own, str(state / "spool"))
    found = {bind.path: bind.writable for bind in made.binds}
    assert found[str(state)] is False
    assert found[str(state / "spool")] is True
    assert str(tmp_path / "not-there") not in found


def test_what_a_protected_link_leads_to_is_held_and_the_link_is_named(place: Project, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "s.md").write_text("shared\n")
    shutil.rmtree(place.top / "memory")
    (place.top / "memory").symlink_to("../shared")
    (place.top / "AGENTS.md").symlink_to("CLAUDE.md")
    made = place.plan
    assert {str(shared), str(shared / "s.md")} <= {bind.path for bind in made.binds}
    assert {place.path("memory"), place.path("AGENTS.md")} <= set(made.loose)
    assert any("AGENTS.md" in note for note in made.notes)


def test_special_files_are_named_not_bound(place: Project) -> None:
    os.mkfifo(place.top / "specs/pipe")
    assert place.path("specs/pipe") in place.plan.loose


def fill(place: Project, files: int, directories: int = 1) -> None:
    for number in range(files):
        path = place.top / f"specs/d{number % directories}/f{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("text\n")


@pytest.mark.parametrize("files", [500, 2000])
def test_too_many_files_leave_the_directories_and_are_told(place: Project, files: int) -> None:
    fill(place, files, 20)
    made = place.plan
    assert len(made.binds) <= sandbox.LIMIT
    assert len(made.unheld) >= files
    assert made.dropped == ()
    assert {place.path(f"specs/d{number}") for number in range(20)} <= {bind.path for bind in made.binds}
    assert bound(made, place.top)["guard.toml"] is False
    assert any(str(len(made.unheld)) in note for note in made.notes)


def test_too_many_directories_keep_the_upper_ones_and_are_told(place: Project) -> None:
    fill(place, 300, 300)
    made = place.plan
    assert len(made.binds) <= sandbox.LIMIT
    assert made.dropped
    assert place.path("specs") in {bind.path for bind in made.binds}
    assert len(made.notes) == 2


def test_too_many_locked_files_are_told(place: Project) -> None:
    for number in range(300):
        (place.top / f"half/{number}").write_text("")
    made = place.plan
    assert len(made.binds) <= sandbox.LIMIT
    assert place.path("half/7") in made.unheld
    assert bound(made, place.top)["specs/a.md"] is True


def test_what_is_held_already_needs_no_bind(place: Project) -> None:
    first = place.plan
    mounted = {bind.path: bind.writable for bind in first.binds}
    assert sandbox.plan(place.policy, [str(place.top)], place.tree, mounted=mounted).binds == ()
    del mounted[place.path("specs/a.md")]
    mounted[place.path("guard.toml")] = True
    again = sandbox.plan(place.policy, [str(place.top)], place.tree, mounted=mounted)
    assert bound(again, place.top) == {"guard.toml": False, "specs/a.md": True}


def test_mount_points_are_read_with_their_escapes() -> None:
    table = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n23 27 8:1 / /a\\040b\\012c\\134\xff ro,nosuid - ext4 x rw\nbad\n"
    assert mounts.points(table) == {"/proc": True, "/a b\nc\\\udcff": False}


@pytest.mark.parametrize("text", ["auto", "bwrap", "none"])
def test_modes_are_known_by_name(text: str) -> None:
    assert sandbox.mode(text) == text


@pytest.mark.parametrize("text", ["", "docker", "AUTO", "yes"])
def test_other_modes_are_wrong_usage(text: str) -> None:
    with pytest.raises(GuardError) as caught:
        sandbox.mode(text)
    assert caught.value.code == 64


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["--sandbox", "ls"], ["--sandbox=auto", "ls"]),
        (["--sandbox", "--", "ls", "--sandbox"], ["--sandbox=auto", "--", "ls", "--sandbox"]),
        (["--sandbox=none", "ls", "--sandbox"], ["--sandbox=none", "ls", "--sandbox"]),
        (["--", "--sandbox"], ["--", "--sandbox"]),
        (["--sandbox"], ["--sandbox=auto"]),
        ([], []),
    ],
)
def test_a_bare_option_is_auto_and_the_commands_own_words_stay(given: list[str], read: list[str]) -> None:
    assert sandbox.spelled_out(given) == read


def test_none_leaves_the_command_alone(place: Project) -> None:
    assert sandbox.prepare("none", ["rm", "x"], place.policy, [str(place.top)], place.tree) == sandbox.Sandboxed(("rm", "x"))


def broken(place: Project, monkeypatch: pytest.MonkeyPatch, program: str | None) -> None:
    """Another bwrap, or none at all."""
    tools = place.top.parent / "tools"
    tools.mkdir()
    if program is not None:
        (tools / "bwrap").write_text(program)
        (tools / "bwrap").chmod(0o755)
    place.environ["PATH"] = str(tools)
    monkeypatch.setattr(bubblewrap, "PLACES", str(tools))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (None, "not installed"),
        ("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n", "sysctl"),
        ("#!/bin/sh\necho 'bwrap: odd' >&2; exit 1\n", "odd"),
        ("no program", "cannot be started"),
    ],
)
def test_without_a_working_bwrap_auto_goes_on_and_bwrap_refuses(
    place: Project, monkeypatch: pytest.MonkeyPatch, program: str | None, said: str
) -> None:
    broken(place, monkeypatch, program)
    monkeypatch.chdir(place.top)
    assert said in str(sandbox.available(place.environ))
    made = sandbox.prepare("auto", ["true"], place.policy, [str(place.top)], place.tree)
    assert (made.argv, made.active) == (("true",), False)
    assert "no sandbox" in made.notes[0]
    assert said in made.notes[0]
    with pytest.raises(sandbox.NoSandbox, match="no sandbox") as caught:
        sandbox.prepare("bwrap", ["true"], place.policy, [str(place.top)], place.tree)
    assert caught.value.code == 69


def test_a_kernel_without_process_namespaces_is_good_enough(place: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(place, monkeypatch, '#!/bin/sh\ncase " $* " in *" --unshare-pid "*) exit 1 ;; esac\n')
    monkeypatch.chdir(place.top)
    made = sandbox.prepare("bwrap", ["true"], place.policy, [str(place.top)], place.tree)
    assert made.active
    assert not made.own_processes


def test_a_bwrap_among_the_shims_is_passed_over(place: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(place, monkeypatch, "#!/bin/sh\n")
    (place.top.parent / "tools/.guard-shims").touch()
    assert "not installed" in str(sandbox.available(place.environ))


def test_macos_is_told_that_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert sandbox.available() == "there is none for macOS"


@pytest.mark.parametrize("where", ["deleted", "hidden"])
def test_without_a_name_for_the_directory_there_is_no_sandbox(
    place: Project, monkeypatch: pytest.MonkeyPatch, where: str, tmp_path: Path
) -> None:
    """bwrap would run the command in HOME."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    if where == "hidden":
        gone.mkdir()
    made = sandbox.prepare("auto", ["true"], place.policy, [str(place.top)], place.tree)
    assert not made.active
    assert "current directory" in made.notes[0]


@real
def test_more_arguments_than_bwrap_takes_are_told(place: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.top)
    made = sandbox.prepare("auto", ["true", *["x"] * 9000], place.policy, [str(place.top)], place.tree)
    assert not made.active
    assert "arguments" in made.notes[0]
    assert place.inside("true", *["x"] * 8900).returncode == 0


@pytest.mark.parametrize("given", ["0", "root", "-1", "1e3", "99999999999"])
def test_a_bad_user_id_is_wrong_usage(place: Project, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.chdir(place.top)
    place.environ["GUARD_SANDBOX_UID"] = given
    with pytest.raises(GuardError, match="user id"):
        sandbox.prepare("auto", ["true"], place.policy, [str(place.top)], place.tree)


REFUSED = {
    "unlink": "rm -f specs/a.md",
    "unlink by an absolute path": "/bin/rm -f specs/a.md",
    "unlink from elsewhere": "cd / && rm -f $OLDPWD/specs/a.md",
    "rename over": "echo new > t && mv -f t specs/a.md",
    "rename away": "mv specs/a.md src/a.md",
    "rename of the directory": "mv specs specs2",
    "rename of a directory above": "mv specs/deep specs/deep2",
    "exchange by a new directory": "mkdir new && mv -T new specs",
    "rename of the root": "cd .. && mv project project2",
    "link over": "ln -sf /dev/null specs/a.md",
    "rmdir": "rmdir memory",
    "rm -rf": "rm -rf specs",
    "rm -rf of all": "rm -rf ./* .git",
    "python rmtree": "python3 -c \"import shutil; shutil.rmtree('specs')\"",
    "python replace": "echo new > t; python3 -c \"import os; os.replace('t', 'CLAUDE.md')\"",
    "perl unlink": "perl -e 'unlink \"specs/a.md\" or die'",
    "find -delete": "find specs -delete",
    "sed -i": "sed -i s/a/b/ specs/a.md",
    "rsync --delete": "mkdir e && rsync -a --delete e/ specs/",
    "git mv": "git add -A && git mv specs/a.md src/",
    "git clean": "git clean -fdxq",
    "append to what is locked": "echo more >> guard.toml",
    "delete what is locked": "rm -f guard.toml",
    "write in a locked directory": "echo new > locked/new",
    "append in a locked directory": "echo more >> locked/in/l.txt",
    "rename of a locked directory": "mv locked locked2",
    "append to a file locked alone": "echo more >> half/l.txt",
    "unmount": "umount specs/a.md",
    "mount over": "mount -t tmpfs none specs",
    "write to guard's state": "echo x > $HOME/.local/state/guard/x",
    "removal of guard's state": "rm -rf $HOME/.local/state/guard",
}
PROTECTED = ("specs/", "CLAUDE.md", "guard.toml", "locked/", "half/l.txt")


def protected(place: Project) -> dict[str, bytes]:
    return {name: data for name, data in place.content().items() if name.startswith(PROTECTED)}


@real
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_the_kernel_refuses(place: Project, text: str) -> None:
    if text.startswith(("perl", "mkdir e")) and not shutil.which(text.split(" ")[0] if text[0] == "p" else "rsync"):
        pytest.skip("not installed")
    before = protected(place)
    run = place.shell(text)
    assert protected(place) == before
    assert (place.top / "memory").is_dir()
    assert (place.top / ".git").is_dir()
    # `git clean` goes on behind what it cannot remove.
    assert run.returncode != 0 or text.startswith("git clean")


ALLOWED = {
    "append": ("echo more >> specs/a.md", "specs/a.md"),
    "an editor that writes in place": (
        "python3 -c \"f = open('specs/a.md', 'r+'); t = f.read(); f.seek(0); f.write(t.replace('7', 'seven'))\"",
        "specs/a.md",
    ),
    "ed": ("printf '7s/$/ changed/\\nw\\nq\\n' | ed -s specs/a.md", "specs/a.md"),
    "cp over": ("cp src/x.py specs/a.md", "specs/a.md"),
    "sed without -i": ("sed s/7/seven/ specs/a.md > t && cat t > specs/a.md", "specs/a.md"),
    "patch in a kept directory": ("echo new > specs/new.md", "specs/new.md"),
    "move within": ("echo new > specs/n && mv specs/n specs/m", "specs/m"),
    "move in": ("echo new > n && mv n specs/m", "specs/m"),
    "other files": ("rm -r src && mkdir src && echo new > src/new", "src/new"),
    "what a locked directory leaves open": ("echo more >> half/open", "half/open"),
    "what is outside": ("echo x > $HOME/x && cp $HOME/x t", "t"),
    "git add and commit": ("git add -A && git commit -qm all && git rev-parse HEAD > t", "t"),
}


@real
@pytest.mark.parametrize(("text", "changed"), ALLOWED.values(), ids=ALLOWED)
def test_work_goes_on(place: Project, text: str, changed: str) -> None:
    if "| ed" in text and not shutil.which("ed"):
        pytest.skip("not installed")
    before = place.content()
    run = place.shell(text)
    assert (run.returncode, run.stderr) == (0, b"")
    assert place.content()[changed] != before.get(changed)


@real
@pytest.mark.parametrize("text", ["> specs/a.md", "truncate -s 0 specs/a.md", "cp /dev/null specs/a.md", "echo new > specs/a.md"])
def test_emptying_and_overwriting_in_place_succeed_and_are_left_to_the_integrity_check(place: Project, text: str) -> None:
    assert place.shell(text).returncode == 0
    assert (place.top / "specs/a.md").read_text() in ("", "new\n")


@real
def test_sed_in_place_fails_and_leaves_nothing_behind(place: Project) -> None:
    before = place.content()
    run = place.shell("sed -i s/7/seven/ specs/a.md")
    assert run.returncode != 0
    assert b"busy" in run.stderr
    assert place.content() == before


@real
def test_a_link_goes_but_not_what_it_leads_to(place: Project, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/s.md").write_text("shared\n")
    (place.top / "memory").rmdir()
    (place.top / "memory").symlink_to("../shared")
    assert place.shell("rm memory && ! rm -rf ../shared").returncode == 0
    assert (tmp_path / "shared/s.md").read_text() == "shared\n"


@real
def test_odd_names_are_held(place: Project) -> None:
    names = ["two words", "new\nline", os.fsdecode(b"\xff\xfe"), "back\\slash", "tab\t", "-v", "ünï", "\\040"]
    for name in names:
        (place.top / "specs" / name).write_text("text\n")
        (place.top / "specs" / f"dir {name}").mkdir()
        (place.top / "specs" / f"dir {name}" / "x").write_text("text\n")
    before = protected(place)
    assert place.shell('rm -rf specs; for d in specs/dir*; do mv "$d" t; done').returncode != 0
    assert protected(place) == before


@real
def test_of_too_many_files_the_directories_stay(place: Project) -> None:
    fill(place, 500, 5)
    assert place.shell("mv specs t || mv specs/d0 specs/t || rmdir specs/d1").returncode != 0
    assert place.shell("rm specs/d0/f0.md").returncode == 0


@real
@pytest.mark.parametrize("status", [0, 1, 7, 126, 255])
def test_the_status_is_the_commands(place: Project, status: int) -> None:
    assert place.shell(f"exit {status}").returncode == status


@real
def test_a_signal_that_ends_the_command_is_its_status(place: Project) -> None:
    assert place.shell("kill -TERM $$").returncode == 128 + signal.SIGTERM
    assert place.shell("kill -KILL $$").returncode == 128 + signal.SIGKILL


@real
def test_what_cannot_be_started_has_the_status_that_a_shell_gives(place: Project) -> None:
    assert place.inside("no-such-command").returncode == 127
    assert place.inside("./src/x.py").returncode == 126


@real
def test_arguments_streams_and_environment_pass_unchanged(place: Project) -> None:
    words = ["-n", "--", "", "two words", "new\nline", "*", "$HOME", os.fsdecode(b"\xff\xfe")]
    place.environ |= {"odd-name%%": "1", "OLDPWD": "/somewhere"}
    show = "import sys, os; sys.stdout.buffer.write(b'|'.join(map(os.fsencode, sys.argv[1:])) + sys.stdin.buffer.read())"
    run = place.inside("python3", "-c", show, *words, input=b"<input")
    assert run.stdout == b"|".join(map(os.fsencode, words)) + b"<input"
    run = place.inside("python3", "-c", "import os; print(sorted(os.environb.items()))")
    assert run.stdout.decode().strip() == str(sorted((os.fsencode(k), os.fsencode(v)) for k, v in place.environ.items()))


@real
def test_the_directory_keeps_its_name(place: Project, tmp_path: Path) -> None:
    (tmp_path / "name").symlink_to(place.top)
    place.environ["PWD"] = str(tmp_path / "name")
    assert place.shell("pwd; pwd -P").stdout.decode().split() == [str(tmp_path / "name"), str(place.top)]


@real
def test_the_command_has_no_capabilities_and_sees_its_own_processes_only(place: Project) -> None:
    run = place.shell("grep -hE ^Cap[IPEA] /proc/self/status; ls -d /proc/[0-9]*")
    lines = run.stdout.decode().split()
    assert {line for line in lines if len(line) == 16} == {"0" * 16}
    assert len([line for line in lines if line.startswith("/proc/")]) < 8


def ended(process: subprocess.Popen[bytes]) -> bool:
    for _ in range(200):
        if process.poll() is not None:
            return True
        time.sleep(0.05)
    return False


def start(place: Project, argv: Sequence[str]) -> tuple[subprocess.Popen[bytes], sandbox.Sandboxed]:
    before = os.getcwd()
    os.chdir(place.top)
    try:
        made = sandbox.prepare("bwrap", argv, place.policy, [str(place.top)], place.tree)
    finally:
        os.chdir(before)
    process = subprocess.Popen(made.argv, cwd=place.top, env=place.environ, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process, made


TRAP = "trap 'echo ending; exit 7' TERM INT; echo ready; while :; do sleep 0.1; done"


@real
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_command_which_may_end_in_its_own_way(place: Project, number: signal.Signals) -> None:
    process, made = start(place, ["sh", "-c", TRAP])
    if not made.graceful:
        process.kill()
        pytest.skip("no env that sets signals")
    process.send_signal(number)
    target = sandbox.recipient(process.pid, made.own_processes)
    assert target is not None
    assert process.poll() is None
    os.kill(target, number)
    assert ended(process)
    assert process.returncode == 7


@real
def test_nothing_outlives_the_sandbox(place: Project) -> None:
    process, made = start(place, ["sh", "-c", "setsid sleep 600 & echo ready; wait"])
    inside = sandbox.recipient(process.pid, made.own_processes)
    process.kill()
    assert ended(process)
    for _ in range(100):
        if not os.path.exists(f"/proc/{inside}"):
            break
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{inside}")


@real
def test_what_has_gone_since_the_plan_was_made_is_left_out(place: Project) -> None:
    made = place.plan
    (place.top / "specs/a.md").unlink()
    argv = sandbox.command(made, ["sh", "-c", "rm CLAUDE.md; ls specs"], cwd=str(place.top))
    run = subprocess.run(argv, env=place.environ, capture_output=True, check=True)
    assert run.stdout == b"deep\n"
    assert (place.top / "CLAUDE.md").exists()


@real
def test_the_spool_can_be_written(place: Project) -> None:
    assert place.shell("echo event > $HOME/.local/state/guard/spool/1").returncode == 0
    assert (Path(place.environ["HOME"]) / ".local/state/guard/spool/1").read_text() == "event\n"


@real
def test_without_a_place_for_state_the_files_are_held_all_the_same(place: Project) -> None:
    place.environ["HOME"] = "relative"
    assert place.shell("rm specs/a.md").returncode != 0


@real
def test_a_sandbox_inside_works_and_holds(place: Project) -> None:
    if os.geteuid() == 0:
        place.environ["GUARD_SANDBOX_UID"] = "1000"
    inner = "bwrap --ro-bind / / --bind $PWD $PWD --dev /dev --unshare-pid --proc /proc --chdir $PWD"
    run = place.shell(f"{inner} sh -c 'echo more >> specs/a.md; echo x > src/new; rm -rf specs; mv specs t'")
    assert b"bwrap:" not in run.stderr
    assert run.returncode != 0
    assert (place.top / "src/new").exists()
    assert (place.top / "specs/a.md").read_text().endswith("more\n")


SECOND = """\
import os, sys
sys.path.insert(0, sys.argv[1])
from guard import project, sandbox
from guard.world import World
tree = World(dict(os.environ))
found = sandbox.prepare("bwrap", ["rm", "x"], project.load(os.getcwd(), os.environ, tree), [os.getcwd()], tree)
print(found.argv, found.active)
"""


@real
def test_a_second_sandbox_inside_is_the_first_one(place: Project) -> None:
    run = place.inside(sys.executable, "-c", SECOND, str(Path(__file__).parent.parent))
    assert (run.stdout, run.stderr) == (b"('rm', 'x') True\n", b"")


@pytest.fixture
def branches(place: Project) -> Project:
    """main; `edit` changes a protected file and adds another file; `lack` has lost a protected file; `other` touches neither."""
    place.git("add", "-A")
    place.git("commit", "-qm", "base")
    for name in ("edit", "lack", "other"):
        place.git("checkout", "-qb", name, "main")
        if name == "edit":
            path = place.top / "specs/a.md"
            path.write_text(path.read_text().replace("a.md 7\n", "a.md seven\n"))
        if name == "lack":
            place.git("rm", "-q", "CLAUDE.md")
        (place.top / f"src/{name}.py").write_text(f"{name}\n")
        place.git("add", "-A")
        place.git("commit", "-qm", name)
    place.git("checkout", "-q", "main")
    (place.top / "src/main.py").write_text("main\n")
    place.git("add", "-A")
    place.git("commit", "-qm", "more")
    return place


def state(place: Project) -> tuple[str, str, str]:
    """Branch and commit; what differs from the index or is untracked; what git is in the middle of."""
    where = place.git("rev-parse", "--abbrev-ref", "HEAD") + " " + place.git("log", "-1", "--format=%s")
    names = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "index.lock")
    middle = " ".join(name for name in names if (place.top / ".git" / name).exists())
    return where, place.git("status", "--short"), middle


# command, what is changed before, and the end: branch and commit, status, what is under way. "before" and "complete" are
# what they say; "kept" is complete but for protected files, which stay as they were; "half" is what guard must mend.
DIRTY = "echo more >> specs/a.md"
GIT = [
    ("git checkout other", "", "complete", "other other", ""),
    ("git merge -q --no-edit other", "", "complete", "main Merge branch 'other'", ""),
    ("git rebase -q other", "", "complete", "main more", ""),
    ("git cherry-pick other", "", "complete", "main other", ""),
    ("git reset -q --hard other", "", "complete", "main other", ""),
    ("git revert --no-edit HEAD", "", "complete", 'main Revert "more"', ""),
    ("echo y >> src/x.py; git stash -q; git stash pop -q", "", "complete", "main more", " M src/x.py"),
    ("git checkout edit", "", "kept", "edit edit", " M specs/a.md"),
    ("git switch edit", "", "kept", "edit edit", " M specs/a.md"),
    ("git checkout -f edit", DIRTY, "kept", "edit edit", " M specs/a.md"),
    ("git checkout lack", "", "kept", "lack lack", "?? CLAUDE.md"),
    ("git merge -q --no-edit lack", "", "kept", "main Merge branch 'lack'", "?? CLAUDE.md"),
    ("git rebase -q lack", "", "kept", "main more", "?? CLAUDE.md"),
    ("git reset -q --hard lack", "", "kept", "main lack", "?? CLAUDE.md"),
    ("git cherry-pick lack", "", "kept", "main lack", "?? CLAUDE.md"),
    ("git checkout edit", DIRTY, "before", "main more", " M specs/a.md"),
    ("git merge -q --no-edit edit", DIRTY, "before", "main more", " M specs/a.md"),
    ("git rebase -q edit", DIRTY, "before", "main more", " M specs/a.md"),
    ("git cherry-pick edit", DIRTY, "before", "main more", " M specs/a.md"),
    ("git checkout -- specs", DIRTY, "before", "main more", " M specs/a.md"),
    ("git restore specs", DIRTY, "before", "main more", " M specs/a.md"),
    ("git checkout edit -- specs/a.md", "", "half", "main more", "MM specs/a.md"),
    ("git reset -q --hard", DIRTY, "before", "main more", " M specs/a.md"),
    ("git stash -q", DIRTY, "half", "main more", " M specs/a.md"),
    ("git stash -q -u", DIRTY, "half", "main more", " M specs/a.md"),
    ("git stash pop -q", f"{DIRTY}; git stash -q", "before", "main more", ""),
    ("git merge -q --no-edit edit", "", "half", "main more", "?? src/edit.py"),
    ("git merge -q --ff-only edit", "git reset -q --hard main~1", "half", "main base", "?? src/edit.py"),
    ("git rebase -q edit", "", "half", "main more", " D src/main.py\n?? src/edit.py"),
    ("git reset -q --hard edit", "", "half", "main more", " D src/main.py\n?? src/edit.py"),
    ("git cherry-pick edit", "", "half", "main more", "?? src/edit.py"),
    ("git pull -q --no-rebase . edit", "", "half", "main more", "?? src/edit.py"),
    ("git pull -q --rebase . edit", "", "half", "main more", " D src/main.py\n?? src/edit.py"),
]


@real
@pytest.mark.parametrize(("text", "first", "end", "where", "status"), GIT, ids=[f"{c[2]}: {c[1]} {c[0]}".strip() for c in GIT])
def test_git_under_the_sandbox_ends_as_measured_and_loses_no_object(
    branches: Project, text: str, first: str, end: str, where: str, status: str
) -> None:
    if first:
        subprocess.run(["sh", "-c", first], cwd=branches.top, env=branches.environ, check=True)
    branches.git("update-index", "-q", "--refresh") if not first else None
    before, was = state(branches), protected(branches)
    run = branches.shell(text)
    after = state(branches)
    assert protected(branches) == was
    assert after == (where, status, ""), run.stderr.decode()
    branches.git("fsck", "--strict")
    assert (end == "before") <= (after == before)
    assert (end == "half") <= (run.returncode != 0)


# What a person, or guard outside of the sandbox, does afterwards: the state that the sandbox left, and what then holds.
MENDED = [
    ("git checkout edit", "", "git restore specs/a.md", "edit edit", ""),
    ("git stash -q", DIRTY, "git reset -q --hard", "main more", ""),
    ("git stash -q", DIRTY, "git stash drop -q", "main more", " M specs/a.md"),
    ("git merge -q --no-edit edit", "", "rm src/edit.py; git merge -q --no-edit edit", "main Merge branch 'edit'", ""),
    ("git rebase -q edit", "", "git restore src/main.py; rm src/edit.py; git rebase -q edit", "main more", ""),
    ("git reset -q --hard edit", "", "git reset -q --hard edit", "main edit", ""),
    ("git cherry-pick edit", "", "rm src/edit.py; git cherry-pick edit", "main edit", ""),
    ("git checkout edit -- specs/a.md", "", "git restore --staged specs/a.md", "main more", ""),
]


@real
@pytest.mark.parametrize(("text", "first", "then", "where", "status"), MENDED, ids=[f"{c[0]}: {c[2]}" for c in MENDED])
def test_what_git_left_half_done_can_be_mended_outside(
    branches: Project, text: str, first: str, then: str, where: str, status: str
) -> None:
    subprocess.run(["sh", "-c", first], cwd=branches.top, env=branches.environ, check=True)
    branches.git("update-index", "-q", "--refresh") if not first else None
    branches.shell(text)
    subprocess.run(["sh", "-ec", then], cwd=branches.top, env=branches.environ, check=True, capture_output=True)
    assert state(branches) == (where, status, "")


# git pull starts git merge or rebase by itself; where what it fetches is not there yet, nobody can tell.
UNFORESEEN = ("git pull -q --no-rebase . edit",)
FORESEEN = [case[:3] for case in GIT if case[0].startswith("git ") and case[0] not in UNFORESEEN]


@pytest.mark.parametrize(("text", "first", "end"), FORESEEN)
def test_it_can_be_told_beforehand_where_git_would_stop(branches: Project, text: str, first: str, end: str) -> None:
    subprocess.run(["sh", "-c", first], cwd=branches.top, env=branches.environ, check=True)
    branches.git("update-index", "-q", "--refresh") if not first else None
    held = {bind.path: bind.writable for bind in branches.plan.binds}
    ran = Ran(branches.top, branches.environ)
    ran.view = View(branches.tree)
    ran.run(tuple(shlex.split(text)))
    found = mounts.stopped(ran.effects, held)
    assert bool(found) or end not in ("half", "kept")
    assert not found or end != "complete"


def test_what_lies_below_a_target_stops_git_too() -> None:
    held = {"/r/specs": True, "/r/specs/a.md": True}
    assert mounts.stopped([Effect("delete", At("/r/specs"))], held) == ["/r/specs", "/r/specs/a.md"]
    assert mounts.stopped([Effect("delete", Below("/r/specs"))], held) == ["/r/specs/a.md"]
    assert mounts.stopped([Effect("create", At("/r/specs/a.md")), Effect("delete", At("/r/src"))], held) == []


def executed(place: Project, *argv: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    environ = {**place.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    settings: dict[str, object] = {"cwd": place.top, "env": environ, "capture_output": True, "timeout": 120}
    return subprocess.run([sys.executable, "-m", "guard", "exec", *argv], **{**settings, **options})  # type: ignore[call-overload]


SEEN = """import os, shutil, sys
try: shutil.rmtree("specs")
except OSError as error: print(error.strerror)
print(sorted(os.listdir("specs")))"""


@real
def test_under_exec_no_deletion_succeeds_even_for_a_moment(place: Project) -> None:
    before = place.content()
    run = executed(place, "--sandbox=bwrap", "--", sys.executable, "-S", "-c", SEEN)
    assert run.stdout.splitlines()[-1] == b"['a.md', 'deep']"
    assert run.returncode == 0
    assert run.stderr == b""
    assert place.content() == before


@real
def test_under_exec_what_is_emptied_in_place_is_restored(place: Project) -> None:
    before = place.content()
    run = executed(place, "--sandbox=bwrap", "--", "sh", "-c", "> CLAUDE.md")
    assert run.returncode == 4
    assert b"emptied: CLAUDE.md" in run.stderr
    assert place.content() == before


@real
def test_a_bare_option_takes_no_word_of_the_command(place: Project) -> None:
    assert executed(place, "--sandbox", "true").returncode == 0
    assert executed(place, "--sandbox=no-such", "true").returncode == 64


@real
def test_what_is_decided_inside_is_found_outside_afterwards(place: Project) -> None:
    run = executed(place, "--sandbox=bwrap", "--", "sh", "-c", "rm CLAUDE.md; exit 0")
    name = run.stderr.decode().rstrip().rpartition("[")[2].rstrip("]")
    state = project.state_dir(place.environ)
    assert state is not None
    event = log.find(state, name)
    assert event is not None
    assert (event["layer"], event["untrusted"], event["decision"]) == ("shim", True, "deny")
    assert os.listdir(f"{state}/spool") == []


def test_what_was_written_into_the_spool_cannot_pass_for_what_guard_says(place: Project) -> None:
    state = place.environ["HOME"] + "/.local/state/guard"
    real_one = {"id": "a2aa", "command": "true", "cwd": "/", "layer": "check", "decision": "deny", "total": 0, "time": 0.0}
    real_one["broken"] = None
    assert log.append(real_one, state)
    os.makedirs(f"{state}/spool")
    forged = [{**real_one, "decision": "allow"}, {"id": "b2bb"}, {**real_one, "id": "c2cc", "untrusted": False}]
    assert all(log.append(event, f"{state}/spool") for event in forged)
    with Path(state, "spool", log.NAME).open("ab") as file:
        file.write(b"torn\n\xff\0")
    assert log.collect(state) == 1
    found = {event["id"]: event for event in log.read(state)}
    assert found["a2aa"]["decision"] == "deny"
    assert set(found) == {"a2aa", "c2cc"}
    assert found["c2cc"]["untrusted"] is True
    os.symlink("/etc/passwd", f"{state}/spool/{log.NAME}")
    assert log.collect(state) == 0


@real
def test_the_state_is_known_inside_by_its_spool(place: Project) -> None:
    code = "import os; from guard import project; print(project.state_dir(os.environ))"
    run = executed(place, "--sandbox=bwrap", "--", sys.executable, "-c", code)
    assert run.stdout.decode().strip() == place.environ["HOME"] + "/.local/state/guard"


@real
@pytest.mark.parametrize("argv", [("checkout", "-q", "edit"), ("merge", "-q", "edit"), ("rebase", "-q", "edit")])
def test_git_does_not_begin_what_would_stop_half_way(branches: Project, argv: tuple[str, ...]) -> None:
    before = branches.content(), branches.git("rev-parse", "HEAD"), branches.git("status", "--porcelain")
    run = executed(branches, "--sandbox=bwrap", "--", "git", *argv)
    assert run.returncode == 126
    assert b"the sandbox keeps" in run.stderr
    assert (branches.content(), branches.git("rev-parse", "HEAD"), branches.git("status", "--porcelain")) == before


@real
@pytest.mark.parametrize("argv", [("checkout", "-q", "other"), ("merge", "-q", "other"), ("rebase", "-q", "other")])
def test_git_does_what_changes_nothing_protected(branches: Project, argv: tuple[str, ...]) -> None:
    run = executed(branches, "--sandbox=bwrap", "--", "git", *argv)
    assert (run.returncode, run.stderr) == (0, b"")
    assert (branches.top / "src/other.py").exists()


@real
def test_git_pull_is_sent_to_fetch_and_merge(branches: Project) -> None:
    run = executed(branches, "--sandbox=bwrap", "--", "git", "-c", "a.b=c", "pull")
    assert run.returncode == 126
    assert b"git fetch" in run.stderr
    assert executed(branches, "--sandbox=bwrap", "--", "git", "branch", "pull").returncode == 0


@real
def test_a_signal_for_guard_reaches_the_command_in_the_sandbox(place: Project) -> None:
    script = 'trap "echo caught; exit 9" TERM; echo ready; while :; do sleep 0.05; done'
    environ = {**place.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    argv = [sys.executable, "-m", "guard", "exec", "--sandbox=bwrap", "--", "sh", "-c", script]
    run = subprocess.Popen(argv, cwd=place.top, env=environ, stdout=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stdout.readline() == b"ready\n"
    run.send_signal(signal.SIGTERM)
    assert run.stdout.read() == b"caught\n"
    assert run.wait(20) == 9
