"""Which roots are in force where, and what they say when files are broken, stale, or missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from guard import compiled, project, root_rules, roots
from guard.matching import KEEP, LOCK, PRESENT
from guard.policy import Policy
from guard.world import World

SLOW = {"typing", "dataclasses", "pathlib", "subprocess", "tomllib", "pathspec", "shlex", "fnmatch", "difflib", "contextlib"}
SOURCE = str(Path(project.__file__).parent.parent)


@pytest.fixture(autouse=True)
def _no_system_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "SYSTEM", str(tmp_path / "etc/guard"))
    monkeypatch.setattr(compiled, "settled", lambda sources: True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return Path(os.path.realpath(tmp_path)) / "home"


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}


def load(cwd: Path, home: Path, **more: str) -> Policy:
    env = {**environ(home), **more}
    return project.load(str(cwd), env, World(env))


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def repository(path: Path) -> Path:
    (path / ".git").mkdir(parents=True)
    return path


def git(cwd: Path, home: Path, *args: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.invalid", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *args], cwd=cwd, env=environ(home), check=True, capture_output=True)


def test_a_repository_has_the_built_in_list_from_anywhere_inside(home: Path) -> None:
    app = repository(home / "app")
    (app / "src/deep").mkdir(parents=True)
    for where in (app, app / "src/deep"):
        policy = load(where, home)
        assert policy.level(f"{app}/CLAUDE.md") == KEEP
        assert policy.level(f"{app}/.git", directory=True) == PRESENT
        assert policy.broken is None


def test_outside_of_any_root_nothing_is_protected_but_guards_own(home: Path) -> None:
    other = home / "other"
    other.mkdir()
    policy = load(other, home)
    assert policy.level(f"{other}/CLAUDE.md") is None
    assert policy.level(f"{home}/.local/state/guard/log") == LOCK


def test_home_and_the_file_systems_root_are_no_roots_unless_configured(home: Path) -> None:
    repository(home)
    (home / "sub").mkdir()
    assert load(home / "sub", home).level(f"{home}/CLAUDE.md") is None
    write(home / "guard.toml", '[protect]\nkeep = ["/notes/"]')
    assert load(home / "sub", home).level(f"{home}/notes/a") == KEEP


def test_a_clone_inside_has_its_own_defaults_and_the_outer_root_keeps_its_own(home: Path) -> None:
    app = repository(home / "app")
    inner = repository(app / "vendor/lib")
    assert load(app, home).level(f"{inner}/CLAUDE.md") is None
    policy = load(inner, home)
    assert policy.level(f"{inner}/CLAUDE.md") == KEEP
    assert policy.level(f"{app}/CLAUDE.md") == KEEP


def test_other_clones_get_no_defaults_unless_registered(home: Path) -> None:
    app, other = repository(home / "app"), repository(home / "oth er\n\\x")
    assert load(app, home).level(f"{other}/CLAUDE.md") is None
    assert not load(app, home).reach(str(other))
    state = project.state_dir(environ(home))
    assert state == f"{home}/.local/state/guard"
    for _ in range(2):
        roots.register(state, str(other))
        roots.register(state, str(home / "gone"))
    assert roots.registered(state, World()) == (str(other), str(home / "gone"))
    policy = load(app, home)
    assert policy.level(f"{other}/CLAUDE.md") == KEEP
    assert policy.reach(str(home))
    write(other / "CLAUDE.md")
    assert (f"{other}/CLAUDE.md", KEEP) in list(load(app, home).protected(str(home), World()))


def test_a_directory_with_a_configuration_is_a_root_for_whatever_lies_below_it(home: Path) -> None:
    app, other = repository(home / "app"), home / "x/other"
    write(other / "guard.toml", '[protect]\nkeep = ["/a/"]')
    write(other / "a/b")
    policy = load(app, home)
    assert policy.level(f"{other}/a/b") == KEEP
    assert policy.level(f"{other}/guard.toml") == LOCK
    for top in (other.parent, home):
        assert load(app, home).reach(str(top))
        assert (f"{other}/a/b", KEEP) in list(load(app, home).protected(str(top), World()))


def test_pyproject_counts_where_there_is_no_guard_toml(home: Path) -> None:
    app = home / "app"
    write(app / "pyproject.toml", '[project]\nname = "guard"\n')
    assert load(app, home).level(f"{app}/a") is None
    write(app / "pyproject.toml", '[project]\nname = "guard"\n[tool.guard.protect]\nkeep = ["/a"]\n')
    assert load(app, home).level(f"{app}/a") == KEEP
    assert load(app, home).level(f"{app}/pyproject.toml") is None
    write(app / "guard.toml", "")
    assert load(app, home).level(f"{app}/a") is None
    assert load(app, home).level(f"{app}/CLAUDE.md") == KEEP


def test_a_pyproject_that_cannot_be_read_is_broken_and_not_silent(home: Path) -> None:
    app = repository(home / "app")
    write(app / "pyproject.toml", "[tool.guard.protect]\nkeep = ['/a']\n#" + "x" * (1 << 20))
    policy = load(app, home)
    assert policy.level(f"{app}/CLAUDE.md") == KEEP
    assert "pyproject.toml: cannot be read" in (policy.broken or "")


@pytest.mark.parametrize("cwd", ["", "relative", "/", "/\0", "/\udcff/x", "/\ud800", "/" + "a/" * 3000, "/etc/passwd"])
def test_a_strange_directory_is_outside_of_any_root(home: Path, cwd: str) -> None:
    policy = load(Path("/"), home)
    assert policy.level("/CLAUDE.md") is None
    env = environ(home) | {"GUARD_STATE_DIR": cwd, "XDG_CONFIG_HOME": cwd + "x"}
    policy = project.load(cwd, env, World(env))
    assert policy.broken is None
    assert not list(policy.protected("/nonexistent" + cwd, World(env)))


@pytest.mark.parametrize(
    "text",
    [
        "[tool.guard]",
        "[ tool . 'guard' ]",
        '["tool".guard.protect]',
        "[tool]\nguard.protect.keep=[]",
        "tool.guard.x=1",
        "tool={guard={}}",
    ],
)
def test_a_table_is_seen_in_every_spelling(text: str) -> None:
    assert roots.may_have_table(text.encode())


def test_a_linked_worktree_takes_the_main_ones_policy_and_its_own(home: Path) -> None:
    app = home / "app"
    app.mkdir()
    write(app / "guard.toml", '[protect]\nkeep = ["/main/"]')
    git(app, home, "init", "-q", ".")
    git(app, home, "commit", "-q", "--allow-empty", "-m", "x")
    git(app, home, "worktree", "add", "-q", "../wt")
    wt = home / "wt"
    assert load(app, home).level(f"{wt}/main/a") is None
    policy = load(wt, home)
    assert policy.level(f"{wt}/main/a") == KEEP
    assert policy.level(f"{wt}/CLAUDE.md") is None
    assert policy.level(f"{wt}/.git") == PRESENT
    assert policy.level(f"{app}/main/a") == KEEP
    assert policy.worktree(str(wt)) == str(app)
    assert policy.worktree(str(app)) is None
    write(wt / "guard.toml", '[protect]\nkeep = ["/own/"]')
    for policy in (load(wt, home), load(app, home)):
        assert policy.level(f"{wt}/main/a") == KEEP
        assert policy.level(f"{wt}/own/a") == KEEP
        assert policy.level(f"{app}/own/a") is None


def test_a_submodule_is_a_root_only_when_started_in_it(home: Path) -> None:
    for name in ("lib", "app"):
        (home / name).mkdir()
        git(home / name, home, "init", "-q", ".")
        git(home / name, home, "commit", "-q", "--allow-empty", "-m", "x")
    git(home / "app", home, "submodule", "--quiet", "add", str(home / "lib"), "sub")
    sub = home / "app/sub"
    assert load(home / "app", home).level(f"{sub}/CLAUDE.md") is None
    policy = load(sub, home)
    assert policy.level(f"{sub}/CLAUDE.md") == KEEP
    assert policy.level(f"{sub}/.git") == PRESENT
    assert policy.worktree(str(sub)) is None


def test_the_directory_of_the_start_may_be_reached_through_a_link(home: Path) -> None:
    app = repository(home / "app")
    (app / "sub").mkdir()
    (home / "link").symlink_to("app/sub")
    assert load(home / "link", home).level(f"{app}/CLAUDE.md") == KEEP


def test_users_and_systems_files_are_added_in_every_root(home: Path) -> None:
    app = repository(home / "app")
    write(home / ".config/guard/config.toml", '[protect]\nkeep = ["/notes/"]')
    write(Path(project.SYSTEM) / "config.toml", '[protect]\nlock = ["/ci/"]')
    policy = load(app, home)
    assert (policy.level(f"{app}/notes/a"), policy.level(f"{app}/ci/a"), policy.level(f"{app}/CLAUDE.md")) == (KEEP, LOCK, KEEP)
    other = home / "cfg"
    assert load(app, home, XDG_CONFIG_HOME=str(other)).level(f"{app}/notes/a") is None


def test_a_compiled_policy_is_used_while_it_is_fresh(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = repository(home / "app")
    write(app / "guard.toml", '[protect]\nkeep = ["/a"]')
    first = load(app, home)
    monkeypatch.setattr(root_rules, "compile_root", lambda *args: pytest.fail("compiled again"))
    again = load(app, home)
    assert again.roots == first.roots
    assert again.level(f"{app}/a") == KEEP
    monkeypatch.undo()
    monkeypatch.setattr(project, "SYSTEM", str(home / "none"))
    write(app / "guard.toml", '[protect]\nkeep = ["/b"]')
    assert load(app, home).level(f"{app}/b") == KEEP
    (app / "guard.toml").unlink()
    assert load(app, home).level(f"{app}/b") is None


def test_a_policy_of_another_place_or_a_torn_one_is_not_used(home: Path) -> None:
    app = repository(home / "app")
    write(app / "guard.toml", '[protect]\nkeep = ["/a"]')
    load(app, home)
    where = Path(compiled.path_for(f"{home}/.local/state/guard", str(app)))
    for data in (where.read_bytes()[:-2], b"", b"\xff\0", compiled.dump([project.builtin("/else")])):
        where.write_bytes(data)
        assert load(app, home).level(f"{app}/a") == KEEP


def test_broken_configuration_leaves_the_last_good_policy_in_force(home: Path) -> None:
    app = repository(home / "app")
    write(app / "guard.toml", '[protect]\nkeep = ["/a"]')
    load(app, home)
    write(app / "guard.toml", '[protect]\nkeep = ["/a["]')
    policy = load(app, home)
    assert policy.level(f"{app}/a") == KEEP
    assert policy.broken is not None
    assert policy.broken.startswith(f"{app}/guard.toml:2: bad pattern")


@pytest.mark.parametrize("text", ["[protect", "keep = 1", "\0", "\n[protect]\nkeep = 3"])
def test_broken_configuration_without_a_last_good_policy_leaves_the_built_in_list(home: Path, text: str) -> None:
    app = repository(home / "app")
    write(app / "guard.toml", text)
    policy = load(app, home)
    assert policy.level(f"{app}/CLAUDE.md") == KEEP
    assert str(app / "guard.toml") in (policy.broken or "")


def test_a_configuration_that_is_no_readable_file_is_broken(home: Path) -> None:
    app = repository(home / "app")
    (app / "guard.toml").symlink_to("nowhere")
    policy = load(app, home)
    assert policy.level(f"{app}/CLAUDE.md") == KEEP
    assert "cannot be read" in (policy.broken or "")


def test_a_changed_target_of_a_linked_configuration_is_seen(home: Path) -> None:
    app = repository(home / "app")
    write(home / "shared.toml", '[protect]\nkeep = ["/a"]')
    (app / "guard.toml").symlink_to("../shared.toml")
    assert load(app, home).level(f"{app}/a") == KEEP
    write(home / "shared.toml", '[protect]\nkeep = ["/bb"]')
    assert load(app, home).level(f"{app}/bb") == KEEP


def test_without_a_state_directory_everything_but_the_compiled_form_works(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "state_dir", lambda environ: None)
    app = repository(home / "app")
    write(app / "guard.toml", '[protect]\nkeep = ["/a"]')
    assert load(app, home).level(f"{app}/a") == KEEP


def test_the_state_directory_is_the_first_that_can_be_written(home: Path) -> None:
    env = environ(home)
    assert project.state_dir({**env, "GUARD_STATE_DIR": f"{home}/s/", "XDG_STATE_HOME": f"{home}/x"}) == f"{home}/s"
    assert project.state_dir({**env, "XDG_STATE_HOME": f"{home}/x"}) == f"{home}/x/guard"
    assert project.state_dir({**env, "GUARD_STATE_DIR": "relative"}) == f"{home}/.local/state/guard"
    write(home / "file")
    assert project.state_dir({**env, "GUARD_STATE_DIR": f"{home}/file/s"}) == f"{home}/.local/state/guard"
    assert str(project.state_dir({"HOME": "/nonexistent"}) or "/run/user/0/guard").startswith("/run/user/")
    assert project.config_dir(env) == f"{home}/.config/guard"
    assert project.config_dir({}) is None
    assert project.data_dir({**env, "XDG_DATA_HOME": "/d"}) == "/d/guard"


def test_guards_own_directories_are_locked_under_every_name(home: Path) -> None:
    app = repository(home / "app")
    (home / "dotfiles").mkdir()
    (home / ".config").symlink_to("dotfiles")
    policy = load(app, home, GUARD_STATE_DIR=f"{home}/s", XDG_DATA_HOME=f"{home}/d")
    for path in ("s/log", "d/guard/runtime/x", ".local/share/guard/x", ".local/state/guard/x", "dotfiles/guard/config.toml"):
        assert policy.level(f"{home}/{path}") == LOCK, path
    assert policy.level(f"{home}/.local/state/other") is None
    assert policy.reach(str(home))


def test_what_a_protected_link_leads_to_is_protected_like_the_link(home: Path) -> None:
    app = repository(home / "app")
    write(home / "shared/specs/deep/a.md")
    write(app / "docs/agents.md")
    (app / "specs").symlink_to("../shared/specs")
    (app / "CLAUDE.md").symlink_to("docs/agents.md")
    (app / "memory").symlink_to("..")
    policy = load(app, home)
    assert policy.level(f"{home}/shared/specs/deep/a.md") == KEEP
    assert policy.level(f"{home}/shared/specs", directory=True) == KEEP
    assert policy.level(f"{app}/docs/agents.md") == KEEP
    assert policy.level(f"{home}/shared/other") is None
    assert policy.level(f"{app}/src/x") is None
    assert policy.reach(f"{home}/shared")
    assert policy.reach(f"{app}/docs")
    assert not policy.reach(f"{app}/src")
    for top in (home / "shared", home / "shared/specs/deep", home / "shared/specs/deep/a.md"):
        assert list(policy.protected(str(top), World())) == [(f"{home}/shared/specs/deep/a.md", KEEP)]
    links = {f"{app}/specs", f"{app}/CLAUDE.md", f"{app}/memory"}
    found = {path for path, level in policy.protected(str(home), World()) if level == KEEP}
    assert found == {f"{home}/shared/specs/deep/a.md", f"{app}/docs/agents.md", *links}


def test_case_is_probed_once_at_the_roots_own_name() -> None:
    class Folding(World):
        def lstat(self, path: str) -> os.stat_result | None:
            names = {"/vol": 1, "/vol/app": 2, "/vol/app/.git": 3}
            number = names.get(path.lower())
            return os.stat_result((0o40755, number, 1, 1, 0, 0, 0, 0, 0, 0)) if number else None

        def readlink(self, path: str) -> str | None:
            return None

        def read(self, path: str, limit: int = 0) -> bytes | None:
            return None

        def listdir(self, path: str) -> list[str] | None:
            return []

    policy = project.load("/vol/app", {}, Folding())
    assert policy.level("/Vol/APP/Claude.MD") == KEEP
    assert policy.level("/vol/app/SPECS/x") == KEEP
    assert not roots.folds("/", World())


def test_case_counts_on_a_case_sensitive_file_system(home: Path) -> None:
    app = repository(home / "app")
    repository(home / "APP")
    assert not roots.folds(str(app), World())
    assert load(app, home).level(f"{app}/claude.md") is None


def test_loading_without_configuration_imports_nothing_slow(home: Path) -> None:
    app = repository(home / "app")
    code = f"import sys; sys.path.insert(0, {SOURCE!r})\n" + (
        "from guard import project\nfrom guard.world import World\n"
        "import os; p = project.load(os.getcwd(), os.environ, World()); assert p.level(os.getcwd() + '/CLAUDE.md') == 'keep'\n"
        f"print(*sorted({SLOW!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=app, env=environ(home), capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"
    write(app / "guard.toml", '[protect]\nkeep = ["/CLAUDE.md"]')
    load(app, home, PATH="")
    state = Path(compiled.path_for(f"{home}/.local/state/guard", str(app)))
    assert state.exists()


def test_whoever_starts_above_clones_works_on_them(tmp_path: Path, home: Path) -> None:
    workspace = Path(os.path.realpath(tmp_path)) / "work"
    for name in ("one", "two"):
        (workspace / name / ".git").mkdir(parents=True)
    (workspace / "none").mkdir()
    world = World(environ(home))
    assert list(roots.clones(str(workspace), (), world)) == [str(workspace / "one"), str(workspace / "two")]
    assert list(roots.clones(str(workspace), (str(workspace),), world)) == []  # scratch clones
