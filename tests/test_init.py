"""guard init and uninstall: what is written is shown before, asked for, and taken back to the byte."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from guard import runtime
from guard.agents.wirings import WIRINGS

ROOT = Path(__file__).parent.parent
PATH = "/usr/local/bin:/usr/bin:/bin"
# The same command line, for somebody who counts as a person.
AS_PERSON = """\
import sys
from guard import cli, person
person.require = lambda what: None
sys.exit(cli.main(sys.argv[1:]))"""
CLIENTS = ("claude", "codex", "gemini", "qwen", "copilot", "cursor", "opencode")
AGENTS = [option for client in CLIENTS for option in ("--agent", client)]

SETTINGS = {
    ".claude/settings.json": b'{\n\t"model": "opus",\n\t"hooks": {"Notification": []}\n}',
    ".codex/config.toml": b'# mine\r\nmodel = "x"  # why\r\n',
    ".gemini/settings.json": b'\xef\xbb\xbf{\n  // dark\n  "theme": "dark",\n}\n',
    ".cursor/hooks.json": b'{"version":1,"hooks":{"stop":[{"command":"mine"}]}}',
    ".qwen/settings.json": b"",
}


class User:
    """Somebody with a home directory and a project."""

    def __init__(self, top: Path) -> None:
        self.home, self.project = top / "home", top / "project"
        for directory in (self.home, self.project / "specs", self.project / ".git"):
            directory.mkdir(parents=True)
        (self.project / "specs/a.md").write_text("a\n" * 5)
        self.environ = {"HOME": str(self.home), "PATH": PATH, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}

    def guard(self, *words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-c", AS_PERSON, *words]
        environ = {**self.environ, **more}
        return subprocess.run(argv, cwd=cwd or self.project, env=environ, capture_output=True, text=True, timeout=120)

    def settle(self) -> None:
        """Gives the user settings of clients."""
        for path, data in SETTINGS.items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_bytes(data)

    @property
    def data(self) -> Path:
        return self.home / ".local/share/guard"

    def hook(self, client: str, command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Calls what the settings of a client name, as the client does."""
        payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "session_id": "s"}
        text = json.dumps({**payload, "cwd": str(self.project), "tool_use_id": "t"})
        wired = json.loads((self.home / f".{client}/settings.json").read_text())["hooks"]["PreToolUse"][-1]["hooks"][0]["command"]
        env = {"HOME": str(self.home), "PATH": PATH, **environ}
        argv = ["sh", "-c", wired]
        return subprocess.run(argv, input=text, cwd=self.project, env=env, capture_output=True, text=True, timeout=60)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def tree(top: Path) -> dict[str, bytes | str | None]:
    """Everything below a directory but guard's own state: contents of files, targets of links."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if not name.startswith(".local/state"):
            found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def test_nothing_is_written_where_nobody_can_be_asked(user: User) -> None:
    user.settle()
    before = tree(user.home), tree(user.project)
    run = user.guard("init")
    assert run.returncode == 3
    assert "--yes" in run.stderr
    assert (tree(user.home), tree(user.project)) == before


def test_a_dry_run_shows_what_is_protected_and_what_would_be_written_and_writes_nothing(user: User) -> None:
    user.settle()
    before = tree(user.home), tree(user.project)
    run = user.guard("init", "--dry-run")
    assert run.returncode == 0, run.stderr
    for path in SETTINGS:
        assert str(user.home / path) in run.stdout
    assert f"{user.project}/guard.toml" in run.stdout
    assert "/specs/" in run.stdout
    assert (tree(user.home), tree(user.project)) == before


def test_in_and_out_gives_every_byte_of_before(user: User) -> None:
    user.settle()
    before = tree(user.home), tree(user.project)
    run = user.guard("init", "--yes", *AGENTS)
    assert run.returncode == 0, run.stderr
    wired = tree(user.home), tree(user.project)
    for path in SETTINGS:
        assert wired[0][path] != before[0][path]
    again = user.guard("init", "--yes", *AGENTS)
    assert again.returncode == 0, again.stderr
    assert "Everything is in place" in again.stdout
    assert (tree(user.home), tree(user.project)) == wired
    out = user.guard("uninstall", "--yes")
    assert out.returncode == 0, out.stderr
    home, project = tree(user.home), tree(user.project)
    assert {path: content for path, content in home.items() if not path.startswith(".local")} == before[0]
    assert not user.data.exists()
    assert project == before[1]


def test_what_the_settings_name_judges(user: User) -> None:
    user.settle()
    assert user.guard("init", "--yes", "--agent", "claude").returncode == 0
    assert user.hook("claude", "ls").returncode == 0
    run = user.hook("claude", "rm -rf specs")
    assert run.returncode == 2
    assert "specs/a.md" in run.stderr


def test_invalid_settings_are_never_rewritten_and_nothing_else_is_written(user: User) -> None:
    user.settle()
    (user.home / ".claude/settings.json").write_text('{\n  "a": 1 // no\n}')
    before = tree(user.home), tree(user.project)
    run = user.guard("init", "--yes", *AGENTS)
    assert run.returncode == 64
    assert f"{user.home}/.claude/settings.json:2:10" in run.stderr
    assert (tree(user.home), tree(user.project)) == before


def test_broken_configuration_is_told_first(user: User) -> None:
    user.settle()
    (user.project / "guard.toml").write_text("[protect]\nkeeep = []\n")
    before = tree(user.home)
    run = user.guard("init", "--yes")
    assert run.returncode == 64
    assert "guard.toml:2" in run.stderr
    assert tree(user.home) == before


@pytest.mark.parametrize("words", [("--agent", "nobody"), ("--missing", "warn"), ("--missing", "maybe"), ("--agnet", "claude")])
def test_wrong_usage_writes_nothing(user: User, words: tuple[str, ...]) -> None:
    before = tree(user.home), tree(user.project)
    run = user.guard("init", "--yes", *words)
    assert run.returncode == 64
    assert run.stderr.startswith("guard: ")
    assert (tree(user.home), tree(user.project)) == before


def test_the_configuration_that_is_written_changes_nothing(user: User) -> None:
    def protected() -> object:
        rows = json.loads(user.guard("list", "--json").stdout)["files"]
        return [(row["path"], row["level"]) for row in rows if not row["path"].endswith("guard.toml")]

    before = protected()
    assert before
    assert user.guard("init", "--yes", "--agent", "claude").returncode == 0
    text = (user.project / "guard.toml").read_text()
    assert "/specs/" in text
    assert text.count("#") > 10
    assert protected() == before
    for command in ("rm -rf specs", "mv specs elsewhere", "rm guard.toml", "rm -rf build", 'rm -rf "$X"/specs'):
        with_file = user.guard("check", "--", command).returncode
        (user.project / "guard.toml").rename(user.project / "aside")
        without = user.guard("check", "--", command).returncode
        (user.project / "aside").rename(user.project / "guard.toml")
        assert with_file == without or command == "rm guard.toml"


def test_a_configuration_that_is_there_stays(user: User) -> None:
    (user.project / "pyproject.toml").write_text('[tool.guard.protect]\nkeep = ["/specs/"]\n')
    assert user.guard("init", "--yes", "--agent", "claude").returncode == 0
    assert not (user.project / "guard.toml").exists()
    user.guard("uninstall", "--yes")
    assert user.guard("init", "--yes", "--no-config", "--agent", "claude").returncode == 0
    assert not (user.project / "guard.toml").exists()


def test_a_configuration_that_was_edited_or_committed_stays(user: User) -> None:
    shutil.rmtree(user.project / ".git")
    subprocess.run(["git", "init", "-q", user.project], check=True, env=user.environ)
    assert user.guard("init", "--yes", "--agent", "claude").returncode == 0
    subprocess.run(["git", "-C", user.project, "add", "guard.toml"], check=True, env=user.environ)
    run = user.guard("uninstall", "--yes")
    assert (user.project / "guard.toml").exists()
    assert "it is committed" in run.stdout
    (user.project / "guard.toml").unlink()
    subprocess.run(["git", "-C", user.project, "rm", "-q", "--cached", "guard.toml"], check=True, env=user.environ)
    assert user.guard("init", "--yes", "--agent", "claude").returncode == 0
    with open(user.project / "guard.toml", "a") as file:
        file.write("# mine\n")
    run = user.guard("uninstall", "--yes")
    assert (user.project / "guard.toml").exists()
    assert "it has been edited" in run.stdout


def test_settings_that_were_edited_lose_only_guards_entries(user: User) -> None:
    user.settle()
    assert user.guard("init", "--yes", *AGENTS).returncode == 0
    path = user.home / ".claude/settings.json"
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "theme": "dark"}, indent=5))
    with open(user.home / ".codex/config.toml", "ab") as file:
        file.write(b'\r\n[projects."/x"]\r\ntrust_level = "trusted"\r\n')
    run = user.guard("uninstall", "--yes")
    assert run.returncode == 0, run.stderr
    assert json.loads(path.read_text()) == {"model": "opus", "hooks": {"Notification": []}, "theme": "dark"}
    left = (user.home / ".codex/config.toml").read_bytes()
    assert left.startswith(SETTINGS[".codex/config.toml"])
    assert b"guard" not in left
    assert b'[projects."/x"]' in left


def test_out_is_out_without_a_record(user: User) -> None:
    user.settle()
    assert user.guard("init", "--yes", *AGENTS).returncode == 0
    shutil.rmtree(user.home / ".local/state")
    assert user.guard("uninstall", "--yes").returncode == 0
    for path in user.home.rglob("*"):
        assert path.is_dir() or b"guard" not in path.read_bytes(), path
    assert (user.home / ".claude/settings.json").read_bytes() == SETTINGS[".claude/settings.json"]


def test_out_asks_for_a_person(user: User) -> None:
    assert user.guard("init", "--yes", "--agent", "claude").returncode == 0
    before = tree(user.home)
    argv = [sys.executable, "-m", "guard", "uninstall", "--yes"]
    run = subprocess.run(argv, cwd=user.project, env={**user.environ, "CLAUDECODE": "1"}, capture_output=True, text=True)
    assert run.returncode == 1
    assert "Only a person" in run.stderr
    assert {path: data for path, data in tree(user.home).items() if ".local" not in path} == {
        path: data for path, data in before.items() if ".local" not in path
    }
    assert user.guard("uninstall").returncode == 3


def test_what_comes_out_is_told_before_the_question(user: User) -> None:
    subprocess.run(["git", "init", "-q", str(user.project)], check=True)
    assert user.guard("init", "--yes", "--agent", "claude", "--shims", "--git-hooks").returncode == 0
    run = user.guard("uninstall")
    assert run.returncode == 3
    assert "pre-push is removed" in run.stdout
    assert f"{user.data}: launchers" in run.stdout
    assert "the shims let the real tools run" in run.stdout
    assert user.guard("uninstall", "--yes").returncode == 0
    nothing = user.guard("uninstall")  # asks nothing
    assert (nothing.returncode, nothing.stdout) == (0, "There is nothing of guard's to take out.\n")


def test_the_way_out_of_pre_commit_is_named(user: User) -> None:
    run = user.guard("init", "--yes", "--agent", "claude", "--pre-commit")
    assert "guard uninstall --team" in run.stdout
    out = user.guard("uninstall", "--team", "--yes")
    assert out.returncode == 0
    assert not (user.project / ".pre-commit-config.yaml").exists()


def test_of_a_committed_configuration_it_is_said_how_guard_comes_out(user: User) -> None:
    subprocess.run(["git", "init", "-q", str(user.project)], check=True)
    assert user.guard("init", "--yes", "--agent", "claude", "--pre-commit").returncode == 0
    subprocess.run(["git", "-C", str(user.project), "add", ".pre-commit-config.yaml"], check=True)
    out = user.guard("uninstall", "--team", "--yes")
    assert ".pre-commit-config.yaml stays: it is committed; take the repository with the hook" in out.stdout
    assert (user.project / ".pre-commit-config.yaml").exists()


def test_init_says_how_much_is_protected_and_what_comes_next(user: User) -> None:
    for name in ("CLAUDE.md", "AGENTS.md"):
        (user.project / name).write_text("x\n")
    run = user.guard("init", "--yes", "--agent", "claude", "--shims", "--observe")
    assert run.returncode == 0, run.stderr
    shown, _, rest = run.stdout.partition("To be written:")
    assert len(shown.splitlines()) <= 11
    assert "protected files and directories" in shown.splitlines()[0]
    assert "nothing will be refused" in rest
    for word in ("guard doctor", "guard selftest", "commit guard.toml", 'export PATH="$(guard shims path):$PATH"'):
        assert word in rest


def test_wrong_options_come_before_the_list(user: User) -> None:
    run = user.guard("init", "--agent", "nobody")
    assert (run.returncode, run.stdout) == (64, "")


def test_twice_out_is_once(user: User) -> None:
    user.guard("init", "--yes", "--agent", "claude")
    user.guard("uninstall", "--yes")
    before = tree(user.home), tree(user.project)
    run = user.guard("uninstall", "--yes")
    assert run.returncode == 0
    assert "nothing of guard's" in run.stdout
    assert (tree(user.home), tree(user.project)) == before


def test_a_damaged_record_stops_init_before_it_writes(user: User) -> None:
    (user.home / ".local/state/guard").mkdir(parents=True)
    (user.home / ".local/state/guard/wiring.json").write_text("{")
    run = user.guard("init", "--yes", "--agent", "claude")
    assert run.returncode == 74
    assert "wiring.json" in run.stderr
    assert not (user.home / ".claude").exists()


def test_without_home_it_says_what_to_do(user: User) -> None:
    run = user.guard("init", "--yes", HOME="")
    assert run.returncode == 64
    assert "guard install --system" in run.stderr


def test_outside_of_a_project_the_clients_are_wired_all_the_same(user: User, tmp_path: Path) -> None:
    run = user.guard("init", "--yes", "--agent", "claude", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert (user.home / ".claude/settings.json").exists()
    assert not (tmp_path / "guard.toml").exists()
    assert user.guard("init", "--team", "--yes", cwd=tmp_path).returncode == 64


def test_the_project_is_registered(user: User) -> None:
    user.guard("init", "--yes", "--agent", "claude")
    assert str(user.project) in (user.home / ".local/state/guard/roots").read_text().splitlines()


def test_a_team_gets_portable_commands(user: User) -> None:
    run = user.guard("init", "--team", "--yes", "--agent", "claude", "--agent", "cursor")
    assert run.returncode == 0, run.stderr
    text = (user.project / ".claude/settings.json").read_text() + (user.project / ".cursor/hooks.json").read_text()
    assert "pathguard hook claude" in text
    assert str(user.home) not in text
    assert str(ROOT) not in text
    assert not (user.home / ".claude").exists()
    assert not user.data.exists()
    assert user.guard("init", "--team", "--yes", "--agent", "opencode").returncode == 64
    warned = user.guard("init", "--team", "--yes", "--agent", "claude", "--missing", "warn")
    assert warned.returncode == 0
    text = (user.project / ".claude/settings.json").read_text()
    assert text.count("exit 1") == len(WIRINGS["claude"].events) + len(WIRINGS["claude"].ending)
    assert "onFailure" not in text
    assert user.guard("uninstall", "--team", "--yes").returncode == 0
    assert sorted(tree(user.project)) == [".git", "specs", "specs/a.md"]


def test_observing_lets_pass_and_logs_but_not_in_loops_and_not_guard_itself(user: User) -> None:
    assert user.guard("init", "--yes", "--observe", "--agent", "claude").returncode == 0
    config = user.home / ".config/guard/config.toml"
    assert "observe = 20" in config.read_text()
    run = user.guard("check", "--json", "--", "rm -rf specs")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["decision"], found["observed"], found["code"]) == ("allow", "deny", "delete-kept")
    assert user.hook("claude", "rm -rf specs").returncode == 0
    log = [json.loads(line) for line in (user.home / ".local/state/guard/decisions.jsonl").read_text().splitlines()]
    assert [event["observed"] for event in log if event["command"] == "rm -rf specs"] == ["deny", "deny"]
    assert user.guard("check", "--", "rm -rf specs", GUARD_LOOP="1").returncode == 1
    assert user.guard("check", "--", f"rm -rf {config}").returncode == 1
    assert user.guard("check", "--", "guard uninstall --yes").returncode == 1
    config.write_text("[answer]\nobserve = 2020-01-01\n")
    assert user.guard("check", "--", "rm -rf specs").returncode == 1
    config.write_text("[answer]\nobserve = true\n")
    assert user.guard("check", "--", "rm -rf specs").returncode == 0
    (user.project / "guard.toml").write_text("[answer]\nobserve = true\n")
    refused = user.guard("check", "--", "rm -rf specs")
    assert "observe" in refused.stderr + user.guard("list").stderr


def test_the_shims_come_with_it_where_they_are_wanted(user: User) -> None:
    assert user.guard("init", "--yes", "--shims", "--agent", "claude").returncode == 0
    rm = user.data / "shims/default/rm"
    assert rm.exists()
    user.guard("uninstall", "--yes")
    assert "uninstalled" in rm.read_text()
    assert not (user.data / "runtime").exists()
    scratch = user.project / "scratch"
    scratch.write_text("")
    subprocess.run([rm, scratch], check=True, env={"PATH": PATH})
    assert not scratch.exists()
    user.guard("uninstall", "--yes", "--purge")
    assert not user.data.exists()


def test_removing_the_shims_leaves_the_hooks_what_they_run_on(user: User) -> None:
    assert user.guard("init", "--yes", "--shims", "--agent", "claude").returncode == 0
    assert user.guard("shims", "uninstall", "--purge").returncode == 0
    assert user.hook("claude", "rm -rf specs").returncode == 2
    assert "specs/a.md" in user.hook("claude", "rm -rf specs").stderr


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with a copy of guard and of what it needs, and nothing of the checkout."""
    top = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", top], check=True)
    packages = next(top.glob("lib/python3*/site-packages"))
    for name in runtime.PACKAGES:
        source = Path(str(runtime.importlib.util.find_spec(name).origin)).parent  # type: ignore[union-attr]
        shutil.copytree(source, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in runtime.DATA:
        shutil.copytree(ROOT / name, packages / "guard/data" / name, dirs_exist_ok=True)
    return top


def test_the_hook_judges_when_the_environment_is_gone_and_uninstall_works_from_the_runtime(user: User, environment: Path) -> None:
    user.settle()
    before = tree(user.home), tree(user.project)
    env = {"HOME": str(user.home), "PATH": PATH}
    subprocess.run([f"{environment}/bin/python", "-m", "guard", "init", "--yes"], cwd=user.project, env=env, check=True)
    for path in user.home.rglob("*"):
        if stat.S_ISREG(path.lstat().st_mode):
            assert os.fsencode(environment) not in path.read_bytes(), path
    shutil.rmtree(environment)
    run = user.hook("claude", "rm -rf specs")
    assert run.returncode == 2
    assert "specs/a.md" in run.stderr
    assert "claude" in subprocess.run([user.data / "bin/guard", "init", "--help"], env=env, capture_output=True, text=True).stdout

    top = os.path.realpath(user.data / "runtime/current")
    code = f"import sys\nsys.path.insert(0, {top!r})\n{AS_PERSON}"
    argv = [runtime.interpreters()[0], "-I", "-S", "-c", code, "uninstall", "--yes"]
    run = subprocess.run(argv, cwd=user.project, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    home = {path: data for path, data in tree(user.home).items() if not path.startswith(".local")}
    assert (home, tree(user.project)) == before
    assert not user.data.exists()


def test_the_hook_refuses_when_no_python_is_left_and_judges_with_another_one(user: User) -> None:
    user.settle()
    assert user.guard("init", "--yes", "--agent", "claude").returncode == 0
    launcher = user.data / "bin/guard"
    text = launcher.read_text()
    own, places = runtime.interpreters()[0], " ".join(runtime.PLACES)
    launcher.write_text(text.replace(own, "/no/such/python").replace(places, "/no/such/place"))
    run = user.hook("claude", "rm -rf specs")
    assert run.returncode == 2
    assert "guard init" in run.stderr
    newer = user.home / "newer"
    newer.mkdir()
    (newer / "python3").symlink_to(own)
    launcher.write_text(text.replace(own, "/no/such/python").replace(places, f"'{newer}'"))
    run = user.hook("claude", "rm -rf specs")
    assert run.returncode == 2
    assert "specs/a.md" in run.stderr
    launcher.unlink()
    run = user.hook("claude", "rm -rf specs")
    assert run.returncode == 2
    assert run.stderr
    (user.data / "bin/hook").unlink()
    run = user.hook("claude", "ls")
    assert run.returncode == 2
    assert "guard doctor" in run.stderr
