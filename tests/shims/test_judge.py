"""The judge of the shims: the same verdicts as for texts, on policy that no caller's environment can talk away."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from guard import log, project, roots, shim_data
from guard.hot import shim
from tests.shims import directory
from tests.shims.directory import Shims


def decide(shims: Shims, cwd: Path, *argv: str) -> str:
    places = shim_data.places(str(shims.top))
    assert places
    return shim.decide(argv, str(cwd), shims.environ(PWD=str(cwd)), str(shims.top), places).verdict.decision


def test_a_refusal_names_the_victims_and_is_logged(shims: Shims, app: Path) -> None:
    done = shims.run("rm", "-rf", "specs", "src", cwd=app)
    assert done.returncode == 126
    assert b"guard: refused. `rm -rf specs src` would delete a protected file: specs/a.md" in done.stderr
    assert b"Instead: rm -rf src" in done.stderr
    assert shims.run("rm", "-rf", "src", cwd=app).returncode == 0
    events = list(log.read(project.state_dir(shims.environ())))
    assert [(event["layer"], event["decision"]) for event in events] == [("shim", "deny"), ("shim", "allow")]


@pytest.mark.parametrize(
    "more",
    [
        {"HOME": "/nonexistent"},
        {"HOME": ""},
        {"XDG_STATE_HOME": "/tmp", "XDG_DATA_HOME": "/tmp", "XDG_CONFIG_HOME": "/tmp"},
        {"GUARD_STATE_DIR": "/nonexistent"},
        {"GUARD_STATE_DIR": "relative"},
    ],
)
def test_the_callers_environment_takes_no_protection_away(more: dict[str, str], shims: Shims, app: Path) -> None:
    for argv in (["rm", "specs/a.md"], ["rm", "-rf", "specs"], ["rm", "-rf", str(shims.home / ".local/state")]):
        environ = shims.environ(**more, PWD=str(app))
        assert shims.run(*argv, cwd=app, environ=environ).returncode == (126 if "specs" in argv[-1] else 0) or "state" in argv[-1]
    assert (app / "specs/a.md").exists()


def test_guards_own_files_are_locked(shims: Shims, app: Path) -> None:
    state = shims.home / ".local/state/guard"
    assert (state / roots.REGISTER).exists()
    for argv in (["rm", f"{state}/{roots.REGISTER}"], ["rm", "-rf", str(state)], ["rm", "-rf", str(shims.home / ".local")]):
        assert shims.run(*argv, cwd=app).returncode == 126


def test_protection_is_where_the_file_is_and_not_where_one_stands(shims: Shims, app: Path) -> None:
    scratch = directory.tree(app.parent / "scratch")
    assert shims.run("rm", str(app / "specs/a.md"), cwd=scratch).returncode == 126
    assert shims.run("rm", "-rf", str(app), cwd=Path("/")).returncode == 126
    assert shims.run("rm", "-rf", "specs", "CLAUDE.md", cwd=scratch).returncode == 0
    assert not (scratch / "specs").exists()


def test_several_places_all_protect(shims: Shims, app: Path) -> None:
    other = app.parent / "state"
    second = directory.tree(app.parent / "second")
    roots.register(str(other), str(second))
    shim_data.prepare(str(shims.top), shims.environ(GUARD_STATE_DIR=str(other)))
    shim_data.prepare(str(shims.top), shims.environ(GUARD_STATE_DIR=str(other)))
    assert len(shim_data.places(str(shims.top)) or ()) == 2
    for top in (app, second):
        assert shims.run("rm", "specs/a.md", cwd=top).returncode == 126
        assert shims.run("rm", "-rf", "src", cwd=top).returncode == 0
    shutil.rmtree(other)
    shims.prepare()
    assert len(shim_data.places(str(shims.top)) or ()) == 1


def test_links_protect_what_they_lead_to(shims: Shims, app: Path) -> None:
    shared = directory.tree(app.parent / "shared", ["notes/a.md"])
    os.symlink("../shared/notes", app / "memory")
    for _ in range(2):
        assert shims.run("rm", str(shared / "notes/a.md"), cwd=app).returncode == 126
        assert shims.run("rm", "memory/a.md", cwd=app).returncode == 126
    assert shims.run("rm", "-f", "x", cwd=app).returncode == 0


def test_a_changed_configuration_is_in_force_at_once_and_then_known_to_the_script(shims: Shims, app: Path) -> None:
    (app / "guard.toml").write_text('[protect]\nkeep = ["/src/"]\n')
    assert shims.run("rm", "src/b.py", cwd=app).returncode == 126
    assert shims.run("rm", "specs/a.md", cwd=app).returncode == 0
    judge = (shims.top / ".judge").read_bytes()
    for _ in range(3):  # the file may be as young as the first data that was made from it
        shims.run("rm", "-f", "no thing", cwd=app)
    shims.refuse_all()
    assert shims.run("rm", "-f", "y", cwd=app).returncode == 0
    (shims.top / ".judge").write_bytes(judge)
    assert shims.run("rm", "src/b.py", cwd=app).returncode == 126


def test_a_directory_with_a_configuration_is_adopted_until_that_is_gone(shims: Shims, app: Path) -> None:
    other = directory.tree(app.parent / "other")
    (other / "guard.toml").write_text('[protect]\nkeep = ["/x"]\n')
    os.utime(other / "guard.toml", (1e9, 1e9))
    assert shims.run("rm", "x", cwd=other).returncode == 126
    assert str(other) in shim_data.read(str(shims.top)).roots
    assert shims.run("rm", "y", cwd=other).returncode == 0
    (other / "guard.toml").unlink()
    assert shims.run("rm", "x", cwd=other).returncode == 0
    assert str(other) not in shim_data.read(str(shims.top)).roots


def test_broken_configuration_leaves_the_last_good_policy_and_is_named(shims: Shims, app: Path) -> None:
    (app / "guard.toml").write_text("[protect\n")
    done = shims.run("rm", "-rf", "specs", cwd=app)
    assert done.returncode == 126
    assert b"guard.toml" in done.stderr
    assert b"broken" in done.stderr
    assert shims.run("rm", "-rf", "src", cwd=app).returncode == 0
    assert shims.run("git", "--version", cwd=app).returncode == 0


def test_torn_data_is_renewed_by_the_judge(shims: Shims, app: Path) -> None:
    path = shims.top / ".policy"
    path.write_bytes(path.read_bytes()[:100])
    assert shims.run("rm", "specs/a.md", cwd=app).returncode == 126
    assert not shim_data.read(str(shims.top)).stale
    path.write_bytes(b"((((")
    assert shims.run("rm", "-f", "x", cwd=app).returncode == 0
    assert not shim_data.read(str(shims.top)).stale
    assert len([name for name in os.listdir(shims.top) if name.startswith(".policy.")]) <= 4


@pytest.mark.parametrize("text", [b"", b"HOME=/root\n", b"\xff\0\n"])
def test_without_its_places_the_judge_refuses_and_says_how_to_repair(text: bytes, shims: Shims, app: Path) -> None:
    (shims.top / ".policy.places").write_bytes(text)
    done = shims.run("rm", "-rf", "src", cwd=app)
    assert done.returncode == 126
    assert b"guard shims install" in done.stderr
    assert shims.run("git", "--version", cwd=app).returncode == 0


def test_a_read_only_directory_of_shims_judges_all_the_same(shims: Shims, app: Path) -> None:
    (app / "guard.toml").write_text('[protect]\nkeep = ["/src/"]\n')
    shims.top.chmod(0o555)
    try:
        assert shims.run("rm", "src/b.py", cwd=app).returncode == 126
        assert shims.run("rm", "-f", "x", cwd=app).returncode == 0
    finally:
        shims.top.chmod(0o755)


@pytest.mark.parametrize("message", ["launcher", "runtime", "crash"])
def test_without_python_or_runtime_what_may_destroy_is_refused(message: str, shims: Shims, app: Path) -> None:
    """The launcher as it is where no Python is left, where its runtime is gone, and an interpreter that dies."""
    launcher = (shims.top / ".judge").read_text()
    if message == "crash":
        launcher = "#!/bin/sh\nkill -SEGV $$\n"
    elif message == "launcher":
        launcher = launcher.replace("/bin", "/nowhere").replace("#!/usr/nowhere/dash", "#!/bin/sh")
    else:
        launcher = launcher.replace("guard_top=", "guard_top=/nowhere")
    (shims.top / ".judge").unlink()
    (shims.top / ".judge").write_text(launcher)
    (shims.top / ".judge").chmod(0o755)
    for argv in (["rm", "-rf", "src"], ["git", "clean", "-fdx"]):
        done = shims.run(*argv, cwd=app)
        assert done.returncode == 126
        assert b"guard shims install" in done.stderr
    assert shims.run("rm", "-f", "x", cwd=app).returncode == 0
    assert (app / "src/b.py").exists()


def test_the_judge_never_reads_the_calls_input(shims: Shims, app: Path) -> None:
    done = shims.run("rm", "-ri", "src", cwd=app, stdin=None, input=b"n\n")
    assert done.returncode == 0
    assert (app / "src/b.py").exists()


def test_variables_of_the_call_reach_the_analysis(shims: Shims, app: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=app, check=True)
    environ = shims.environ(PWD=str(app), KEEP="src", GIT_DIR=str(app / ".git"), GIT_WORK_TREE=str(app))
    argv = ["find", "x", "-exec", "sh", "-c", 'rm -rf "$KEEP"/*', ";"]
    assert shims.run(*argv, cwd=app, environ=environ).returncode == 0
    assert shims.run("git", "clean", "-fdxq", "specs", cwd=Path("/"), environ=environ).returncode == 126
    assert (app / "specs/a.md").exists()


def test_calls_by_the_hundred_while_the_policy_changes(shims: Shims, app: Path) -> None:
    """None of them is misjudged: what is always protected stays, what never is goes, whichever data they meet."""
    (app / "o").mkdir()
    for number in range(200):
        (app / "o" / f"{number}.o").touch()
    ended = threading.Event()

    def rewrite() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            (app / "guard.toml.new").write_text(f'[protect]\nkeep = ["/specs/", "/more-{number}"]\n')
            os.rename(app / "guard.toml.new", app / "guard.toml")
            shim_data.renew(str(shims.top))

    def call(number: int) -> tuple[int, int]:
        if number % 2:
            return number, shims.run("rm", "-f", "specs/a.md", cwd=app).returncode
        return number, shims.run("rm", "-f", f"o/{number}.o", f"o/{number + 1}.o", cwd=app).returncode

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        with ThreadPoolExecutor(16) as pool:
            for number, status in pool.map(call, range(200)):
                assert status == (126 if number % 2 else 0)
    finally:
        ended.set()
        writer.join()
    assert (app / "specs/a.md").exists()
    assert os.listdir(app / "o") == []


def test_a_file_that_was_just_protected_is_so_for_the_next_call(shims: Shims, app: Path) -> None:
    """Data that is older by less than any clock tells must not be taken for fresh."""
    for number in range(40):
        name = f"new-{number}"
        (app / name).touch()
        shim_data.renew(str(shims.top))
        (app / "guard.toml").write_text(f'[protect]\nkeep = ["/{name}"]\n')
        assert (number, shims.run("rm", "-f", name, cwd=app).returncode) == (number, 126)


def test_broken_calls_of_the_judge_are_refused(shims: Shims, app: Path) -> None:
    for arguments in ([], ["x"], ["/nonexistent", "rm"]):
        done = subprocess.run([shims.top / ".judge", "shim", *arguments], env=shims.environ(), cwd=app, capture_output=True)
        assert done.returncode not in (0, 126)


def test_decisions_hold_for_names_of_any_bytes(shims: Shims, app: Path) -> None:
    for name in (b"specs/\xff\xfe", b"specs/a\nb", b"specs/-rf", "specs/é".encode()):
        (app / os.fsdecode(name)).touch()
        assert shims.run("rm", "--", name, cwd=app).returncode == 126
    events = list(log.read(project.state_dir(shims.environ())))
    assert all(json.dumps(event) for event in events)
    assert len(events) == 4


def test_data_renewed_from_a_relative_place_holds_everywhere(shims: Shims, app: Path) -> None:
    (shims.top / ".policy").write_text("torn")
    environ = shims.environ(PATH="../shims:/usr/bin:/bin", PWD=str(app))
    done = subprocess.run(["sh", "-c", "rm -r build 2>/dev/null; rm -rf src"], cwd=app, env=environ, timeout=60)
    assert done.returncode == 0
    shims.refuse_all()
    assert shims.run("rm", "-f", "x", cwd=app / "specs").returncode == 0
