"""`guard exec`: the command runs as if guard were not there, but for what it may not lose."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard import roots
from guard.commands import place

ROOT = Path(__file__).parent.parent
PATH = "/usr/local/bin:/usr/bin:/bin"


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": PATH, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **more}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small repository with protected files, a script and a makefile."""
    top = tmp_path.resolve() / "project"
    for name in ("specs/a.md", "specs/b.md", "build/x.o", "CLAUDE.md"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n" * 5)
    (top / "clean.sh").write_text("rm -rf build specs\n")
    (top / "Makefile").write_text("all:\n\tmkdir -p build && echo 1 > build/y && rm -f build/x.o\npurge:\n\trm -rf specs\n")
    subprocess.run(["git", "init", "-q", top], check=True)
    return top


def guard(project: Path, *argv: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    settings: dict[str, object] = {"capture_output": True, "timeout": 60, "env": environment(project.parent), "cwd": project}
    return subprocess.run([sys.executable, "-m", "guard", "exec", *argv], **{**settings, **options})  # type: ignore[call-overload]


@pytest.mark.parametrize("status", [0, 1, 2, 64, 125, 126, 255])
def test_the_exit_status_is_the_commands(project: Path, status: int) -> None:
    assert guard(project, "--", "sh", "-c", f"exit {status}").returncode == status


def test_outside_of_any_project_it_says_that_nothing_is_protected(project: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    run = guard(project, "--", "true", cwd=nowhere)
    assert (run.returncode, run.stderr.count(b"\n")) == (0, 1)
    assert b"nothing is protected here" in run.stderr
    assert guard(project, "--", "true").stderr == b""


def test_no_command_is_wrong_usage(project: Path) -> None:
    assert guard(project).returncode == 64
    assert guard(project, "--").returncode == 64
    assert guard(project, "--no-such-option", "true").returncode == 64


def test_a_command_that_is_not_there_is_127_and_one_that_cannot_run_126(project: Path) -> None:
    (project / "text").write_text("no program")
    (project / "bad").write_text("#!/no/such/interpreter\n")
    (project / "bad").chmod(0o755)
    assert guard(project, "no-such-command").returncode == 127
    assert guard(project, "./no-such-command").returncode == 127
    assert guard(project, "./text").returncode == 126
    assert guard(project, "./specs").returncode == 126
    assert guard(project, "./bad").returncode == 126
    assert guard(project, "").returncode == 127


def test_a_script_without_an_interpreter_line_runs(project: Path) -> None:
    (project / "plain").write_text('echo "$0 $1"; exit 3\n')
    (project / "plain").chmod(0o755)
    run = guard(project, "./plain", "an argument")
    assert (run.returncode, run.stdout) == (3, b"./plain an argument\n")


def test_arguments_and_streams_pass_unchanged(project: Path) -> None:
    arguments = ["-n", "--", "", "two words", "new\nline", "*", "$HOME", "'\"\\", os.fsdecode(b"\xff\xfe")]
    run = guard(project, "--", "sh", "-c", 'cat; printf "%s|" "$@"; echo error >&2', "sh", *arguments, input=b"input|")
    assert run.stdout == b"input|" + b"".join(os.fsencode(argument) + b"|" for argument in arguments)
    assert run.stderr == b"error\n"


def test_a_script_is_stopped(project: Path) -> None:
    run = guard(project, "sh", "-e", "clean.sh")
    assert run.returncode == 126
    assert b"specs/a.md" in run.stderr
    assert (project / "specs/a.md").exists()
    assert (project / "build").exists()


def test_a_make_target_is_stopped_and_a_harmless_one_goes_through(project: Path) -> None:
    assert guard(project, "make", "all").returncode == 0
    assert sorted(path.name for path in (project / "build").iterdir()) == ["y"]
    assert guard(project, "make", "purge").returncode == 2
    assert (project / "specs/b.md").exists()


def test_what_the_project_protects_is_protected_from_elsewhere(project: Path) -> None:
    run = guard(project, "sh", "-c", 'cd / && rm -rf "$0"/specs; cd "$0"/.. && rm -rf project', str(project))
    assert run.returncode == 126
    assert (project / "specs/a.md").exists()


def test_from_above_the_repositories_are_protected_that_stand_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    monkeypatch.setattr(roots, "below", lambda *_: False)  # a test stands in a temporary directory, which is scratch
    place.register(str(project.parent / "state"), {"HOME": str(project.parent)})
    assert str(project) in roots.registered(str(project.parent / "state"), place.world())


def test_the_environment_gains_the_shims_and_little_else(project: Path) -> None:
    show = ["/usr/bin/env", "-0"]
    for extra in ({}, {"LC_ALL": ""}, {"LC_CTYPE": "C.UTF-8"}, {"PATH": ""}, {"odd name": "1", "IFS": ":"}):
        before = {**environment(project.parent), **extra}
        after = dict(entry.split("=", 1) for entry in guard(project, *show, env=before).stdout.decode().split("\0")[:-1])
        gained = {name for name in after.keys() | before.keys() if after.get(name) != before.get(name)}
        assert gained <= {"PATH", "GUARD_EXEC", "ac_cv_path_SED", "ac_cv_path_install", "ac_cv_path_lt_DD"}
        first, _, rest = after["PATH"].partition(":")
        assert first.endswith("/shims/wide")
        assert rest == before["PATH"]


def test_nested_calls_have_the_shims_once(project: Path) -> None:
    nested = [sys.executable, "-m", "guard", "exec", "--", "sh", "-c", 'echo "$PATH"']
    assert guard(project, *nested).stdout.decode().strip().count("shims") == 1


def test_configure_scripts_are_given_the_real_tools(project: Path) -> None:
    script = 'echo "$ac_cv_path_SED,$ac_cv_path_install,$ac_cv_path_lt_DD"'
    sed, install, dd = guard(project, "sh", "-c", script).stdout.decode().strip().split(",")
    assert (sed, install, dd) == ("/usr/bin/sed", "/usr/bin/install -c", "/usr/bin/dd")


def test_without_a_place_for_state_nothing_runs(project: Path) -> None:
    if os.path.isdir(f"/run/user/{os.getuid()}"):
        pytest.skip("this user has a runtime directory")
    run = guard(project, "touch", "ran", env={"PATH": PATH, "PYTHONPATH": str(ROOT), "HOME": "/proc/none"})
    assert run.returncode == 70
    assert b"GUARD_STATE_DIR" in run.stderr
    assert not (project / "ran").exists()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
@pytest.mark.parametrize("more", [{}, {"GUARD_STATE_DIR": "/tmp/state"}])
def test_a_data_directory_that_is_read_only(project: Path, more: dict[str, str]) -> None:
    guard(project, "true")
    home = project.parent
    box = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/tmp", "--bind", str(home), str(home)]
    for path in {str(ROOT), sys.prefix, sys.base_prefix}:
        box += ["--ro-bind", path, path]
    box += ["--ro-bind", f"{home}/.local/share", f"{home}/.local/share", "--chdir", str(project)]
    argv = [*box, sys.executable, "-m", "guard", "exec", "--", "sh", "-c", 'rm -rf specs; echo "$?" "$PATH"']
    run = subprocess.run(argv, env=environment(home, **more), capture_output=True, text=True, timeout=60)
    if "bwrap:" in run.stderr:
        pytest.skip(run.stderr)
    assert run.stdout.startswith("126 /tmp/state/" if more else f"126 {home}/.local/share/"), run.stderr
    assert (project / "specs/a.md").exists()


def test_a_deleted_directory(project: Path) -> None:
    script = f'mkdir gone; cd gone; rmdir ../gone; exec "{sys.executable}" -m guard exec -- sh -c "exit 5"'
    run = subprocess.run(["sh", "-c", script], cwd=project, env=environment(project.parent), capture_output=True)
    assert run.returncode == 5


OPEN = """import os, sys
found = [n for n in range(3) if os.path.exists(f"/proc/self/fd/{n}")]
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), repr(found).encode())"""


@pytest.mark.parametrize(("closing", "left"), [("<&-", [1, 2]), (">&-", [0, 2]), ("2>&-", [0, 1]), ("<&- >&- 2>&-", [])])
def test_closed_streams_stay_closed(project: Path, closing: str, left: list[int]) -> None:
    result = project / "result"
    argv = [sys.executable, "-m", "guard", "exec", "--", sys.executable, "-S", "-c", OPEN, str(result)]
    env = environment(project.parent)
    run = ["sh", "-c", f'exec "$@" {closing}', "sh", *argv]
    subprocess.run(run, cwd=project, env=env, stdin=subprocess.DEVNULL, check=True)
    assert result.read_text() == repr(left)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL, signal.SIGSEGV])
def test_guard_ends_by_the_signal_that_ends_the_command(project: Path, number: signal.Signals) -> None:
    assert guard(project, "sh", "-c", f"ulimit -c 0; kill -{number.value} $$").returncode == -number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
def test_signals_are_passed_on(project: Path, number: signal.Signals) -> None:
    script = f'trap "echo caught; exit 9" {number.value}; echo ready; while :; do sleep 0.05; done'
    argv = [sys.executable, "-m", "guard", "exec", "--", "sh", "-c", script]
    run = subprocess.Popen(argv, cwd=project, env=environment(project.parent), stdout=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stdout.readline() == b"ready\n"
    run.send_signal(number)
    assert run.stdout.read() == b"caught\n"
    assert run.wait(20) == 9


def test_the_command_has_the_signals_of_the_caller(project: Path) -> None:
    show = ["grep", "-E", "^(Sig(Blk|Ign)|Umask)", "/proc/self/status"]
    for setup in ("", "trap '' INT HUP; umask 027; "):
        plain = f'{setup} exec "$@"'
        env = environment(project.parent)
        before = subprocess.run(["sh", "-c", plain, "sh", *show], env=env, capture_output=True, cwd=project).stdout
        argv = ["sh", "-c", plain, "sh", sys.executable, "-m", "guard", "exec", "--", *show]
        assert subprocess.run(argv, env=env, capture_output=True, cwd=project).stdout == before


def test_a_pipe_that_nobody_reads_ends_the_command(project: Path) -> None:
    script = f'"{sys.executable}" -m guard exec -- yes | head -n 1; echo "${{PIPESTATUS[0]}}"'
    run = subprocess.run(["bash", "-c", script], env=environment(project.parent), capture_output=True, cwd=project, timeout=60)
    assert run.stdout == b"y\n141\n"


def test_what_a_terminal_sends_reaches_the_command_once(project: Path) -> None:
    import pty

    script = 'n=0; trap "n=\\$((n+1))" INT; echo ready; sleep 1; sleep 0.3; echo "count $n"'
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(project)
        os.execve(sys.executable, [sys.executable, "-m", "guard", "exec", "--", "sh", "-c", script], environment(project.parent))
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 1000)
    time.sleep(0.2)
    os.write(terminal, b"\x03")
    try:
        while part := os.read(terminal, 1000):
            seen += part
    except OSError:
        pass
    assert b"count 1" in seen
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(terminal)


DELETE = "import os, shutil; shutil.rmtree('specs'); os.unlink('CLAUDE.md')"


def python(project: Path, code: str, *options: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    return guard(project, *options, "--", sys.executable, "-S", "-c", code, **more)


def git(project: Path, *argv: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    run = subprocess.run(["git", *identity, *argv], cwd=project, env=environment(project.parent), capture_output=True, check=True)
    return run.stdout.decode()


def files(project: Path) -> dict[str, bytes]:
    found = {path for path in project.rglob("*") if path.is_file() and ".git" not in path.parts}
    return {str(path.relative_to(project)): path.read_bytes() for path in found}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (DELETE, b"deleted: "),
        ("open('CLAUDE.md', 'w')", b"emptied: CLAUDE.md"),
        ("open('CLAUDE.md', 'w').write('all new')", b"overwritten: CLAUDE.md"),
        ("import os; os.unlink('CLAUDE.md'); os.symlink('clean.sh', 'CLAUDE.md')", b"replaced: CLAUDE.md"),
        ("import os; os.rename('specs', 'elsewhere')", b"specs/a.md"),
        ("import os; os.rename('clean.sh', 'CLAUDE.md')", b"overwritten: CLAUDE.md"),
    ],
)
def test_what_an_interpreter_loses_is_restored(project: Path, code: str, kind: bytes) -> None:
    before = files(project)
    run = python(project, code)
    assert run.returncode == 4
    assert kind in run.stderr
    assert before.items() <= {**files(project), "clean.sh": before["clean.sh"]}.items()
    assert len(run.stderr.splitlines()) <= 7


def test_what_a_redirection_empties_is_restored(project: Path) -> None:
    before = files(project)
    assert guard(project, "--", "sh", "-c", "> CLAUDE.md").returncode == 4
    assert files(project) == before


def test_the_commands_own_failure_is_the_status_after_a_restoration(project: Path) -> None:
    before = files(project)
    assert python(project, DELETE + "; raise SystemExit(7)").returncode == 7
    assert python(project, DELETE + "; import os, signal; os.kill(os.getpid(), signal.SIGKILL)").returncode == -signal.SIGKILL
    assert files(project) == before


def test_edits_and_additions_stay(project: Path) -> None:
    code = "open('CLAUDE.md', 'a').write('more\\n'); open('specs/new.md', 'w').write('new')"
    run = python(project, code)
    assert (run.returncode, run.stderr) == (0, b"")
    assert (project / "CLAUDE.md").read_text().endswith("more\n")
    assert (project / "specs/new.md").exists()


def test_what_stood_in_the_way_is_kept_and_its_place_named(project: Path) -> None:
    run = python(project, "open('CLAUDE.md', 'w').write('all new')")
    line = next(line for line in run.stderr.decode().splitlines() if "guard restore --from" in line)
    argv = line.partition("guard ")[2].split()
    settings = {"cwd": project, "env": environment(project.parent), "check": True}
    subprocess.run([sys.executable, "-m", "guard", *argv, "--yes"], **settings)  # type: ignore[call-overload]
    assert (project / "CLAUDE.md").read_text() == "all new"


def test_a_lost_file_can_be_explained_by_its_id(project: Path) -> None:
    run = python(project, DELETE)
    name = run.stderr.decode().splitlines()[0].rpartition("[")[2].rstrip("]")
    settings = {"cwd": project, "env": environment(project.parent), "capture_output": True, "check": True}
    told = subprocess.run([sys.executable, "-m", "guard", "explain", name], **settings)  # type: ignore[call-overload]
    assert b"CLAUDE.md" in told.stdout
    assert b"delete-kept" in told.stdout


def test_uncommitted_work_that_git_throws_back_is_restored(project: Path) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-qm", "start")
    (project / "CLAUDE.md").write_text("CLAUDE.md\n" * 5 + "uncommitted\n")
    run = guard(project, "--", shutil.which("git") or "git", "reset", "-q", "--hard")
    assert run.returncode == 4
    assert b"thrown back: CLAUDE.md" in run.stderr
    assert (project / "CLAUDE.md").read_text().endswith("uncommitted\n")


def test_a_file_that_leaves_with_its_branch_is_told_and_not_restored(project: Path) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-qm", "start")
    commit = git(project, "rev-parse", "HEAD").strip()[:12]
    git(project, "checkout", "-qb", "other")
    git(project, "rm", "-q", "specs/a.md")
    git(project, "commit", "-qm", "without")
    git(project, "checkout", "-q", "-")
    run = guard(project, "--", "git", "checkout", "-q", "other")
    assert run.returncode == 0
    assert not (project / "specs/a.md").exists()
    assert f"git restore --source={commit} -- ".encode() in run.stderr
    assert b"specs/a.md" in run.stderr


def test_a_lost_repository_is_reported(project: Path) -> None:
    run = python(project, "import shutil; shutil.rmtree('.git')")
    assert run.returncode == 1
    assert b"not restored: .git" in run.stderr
    before = files(project)
    assert python(project, DELETE).returncode == 4, "a project that is known stays one"
    assert files(project) == before


def test_the_whole_project_comes_back(project: Path) -> None:
    specs = (project / "specs/a.md").read_bytes()
    run = python(project, "import os, shutil; shutil.rmtree(os.getcwd())")
    assert run.returncode == 1
    assert (project / "specs/a.md").read_bytes() == specs


def test_a_configuration_that_is_new_is_taken_away(project: Path) -> None:
    run = python(project, "open('guard.toml', 'w').write('')")
    assert run.returncode == 4
    assert b"created" in run.stderr
    assert not (project / "guard.toml").exists()


def test_only_the_outermost_guard_restores(project: Path) -> None:
    inner = f'"{sys.executable}" -m guard exec -- "{sys.executable}" -S -c "{DELETE}"; echo $?; ls specs'
    run = guard(project, "--", "sh", "-c", inner)
    assert run.returncode != 0
    assert run.stdout == b"0\n"
    assert run.stderr.count(b"restored") == 1
    assert (project / "specs/a.md").exists()


def test_an_exception_that_a_person_has_written_holds(project: Path) -> None:
    text = "rm -rf specs"
    rule = f'[protect]\nkeep = ["/specs/"]\n[[except]]\ncommand = "{text}"\npaths = ["/specs/"]\nreason = "made again"\n'
    (project / "guard.toml").write_text(rule)
    real = shutil.which("rm")
    (project / "guard.toml").write_text(rule.replace(text, f"{real} -rf specs"))
    run = guard(project, "--", "sh", "-c", f"{real} -rf specs")
    assert (run.returncode, run.stderr) == (0, b"")
    assert not (project / "specs").exists()


def test_where_nothing_is_protected_there_is_no_vault(project: Path) -> None:
    (project / "guard.toml").write_text("[protect]\nbuiltin = false\n")
    shutil.rmtree(project / ".git")
    (project.parent / "plain").mkdir()
    assert guard(project, "true", cwd=project.parent / "plain").returncode == 0
    state = project.parent / ".local/state/guard"
    assert not list(state.glob("*/manifests"))


def test_a_vault_that_cannot_be_written_is_70_and_nothing_runs(project: Path) -> None:
    from guard.vault.names import identity

    state = project.parent / ".local/state/guard"
    state.mkdir(parents=True)
    (state / identity(str(project))).write_text("no directory")
    run = guard(project, "touch", "ran")
    assert run.returncode == 70
    assert b"state cannot be written" in run.stderr
    assert not (project / "ran").exists()


def test_a_signal_that_comes_during_the_restoration_does_not_stop_it(project: Path) -> None:
    before = files(project)
    code = DELETE + "; import signal; os.kill(os.getppid(), signal.SIGINT); signal.signal(2, signal.SIG_IGN)"
    run = python(project, "import signal; signal.signal(2, signal.SIG_IGN); " + code)
    assert run.returncode == 4
    assert files(project) == before


def test_many_at_once_lose_nothing(project: Path) -> None:
    before = files(project)
    argv = [sys.executable, "-m", "guard", "exec", "--", sys.executable, "-S", "-c"]
    code = "import os; open('CLAUDE.md', 'w').write('x'); os.path.exists('specs/a.md') and os.unlink('specs/a.md')"
    settings = {"cwd": project, "env": environment(project.parent), "stderr": subprocess.DEVNULL}
    assert guard(project, "true").returncode == 0
    runs = [subprocess.Popen([*argv, code], **settings) for _ in range(8)]  # type: ignore[call-overload]
    for run in runs:
        run.wait(60)
    name = sorted((project.parent / ".local/state/guard").glob("project-*/manifests/*"))[0].stem
    argv = [sys.executable, "-m", "guard", "restore", "--all", "--yes", "--from", name]
    subprocess.run(argv, cwd=project, env=environment(project.parent), check=True, capture_output=True)
    assert files(project) == before


def test_a_stash_that_is_made_and_dropped_is_undone_and_one_from_before_is_not_dropped(project: Path) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-qm", "start")
    (project / "CLAUDE.md").write_text("CLAUDE.md\n" * 5 + "uncommitted\n")
    run = guard(project, "--", "sh", "-c", "git stash push -q && git stash drop -q")
    assert run.returncode == 4
    assert (project / "CLAUDE.md").read_text().endswith("uncommitted\n")
    git(project, "-c", "user.name=n", "-c", "user.email=e", "stash", "push", "-q")
    time.sleep(1.1)
    run = guard(project, "--", "git", "stash", "drop", "-q")
    assert run.returncode == 126
    assert b"uncommitted changes of a protected file: CLAUDE.md" in run.stderr


def test_a_guard_within_a_guard_with_a_home_of_its_own_refuses_as_well(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    inner = f"HOME={other} {sys.executable} -m guard exec -- sh -c 'rm -rf CLAUDE.md; echo $?'"
    run = guard(project, "--", "sh", "-c", inner)
    assert run.stdout == b"126\n"
    assert b"would delete a protected file: CLAUDE.md" in run.stderr
