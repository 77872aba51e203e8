"""guard install --system: for images. A directory stands for / here; where bubblewrap is, what was put there runs as /."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from guard import runtime, shims
from tests.test_init import AS_PERSON

ROOT = Path(__file__).parent.parent
TOP = "/usr/local/lib/guard"
MANAGED = "etc/claude-code/managed-settings.d/50-guard.json"
REQUIREMENTS = "etc/codex/requirements.toml"


def guard(*words: str, umask: int = 0o077) -> subprocess.CompletedProcess[str]:
    """Guard as it runs while an image is built: no home directory, no terminal, no project."""
    # Whatever runs the tests may be marked as an agent's; what only people may do is tried elsewhere.
    argv = [sys.executable, *(("-c", AS_PERSON) if words[0] == "uninstall" else ("-m", "guard")), *words]
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        argv, cwd="/", env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, umask=umask, timeout=120
    )


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root directory with guard in it."""
    top = tmp_path_factory.mktemp("image")
    run = guard("install", "--system", "--prefix", str(top))
    assert run.returncode == 0, run.stderr
    return top


def inventory(top: Path) -> dict[str, tuple[int, bytes | str | None]]:
    return {
        str(path.relative_to(top)): (
            path.lstat().st_mode,
            os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None,
        )
        for path in top.rglob("*")
    }


def test_it_puts_everything_where_it_belongs(image: Path) -> None:
    for path in (
        "runtime/current/guard/main.py",
        "shims/default/rm",
        "shims/wide/sed",
        "bin/hook",
        "bin/guard",
        "bin/opencode.js",
    ):
        assert (image / TOP[1:] / path).exists(), path
    hooks = json.loads((image / MANAGED).read_text())["hooks"]
    assert f"'{TOP}/bin/hook' claude" in hooks["PreToolUse"][0]["hooks"][0]["command"]
    codex = tomllib.loads((image / REQUIREMENTS).read_text())
    assert codex["features"] == {"hooks": True}
    assert f"'{TOP}/bin/hook' codex" in codex["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    assert json.loads((image / "etc/gemini-cli/settings.json").read_text())["hooksConfig"] == {"enabled": True}
    assert (image / "etc/guard/config.toml").exists()
    profile = (image / "etc/profile.d/zz-guard.sh").read_text()
    run = subprocess.run(["sh", "-c", f"{profile}\n{profile}\necho $PATH"], env={"PATH": "/bin"}, capture_output=True, text=True)
    assert run.stdout == f"{TOP}/shims/default:/bin\n"


def test_every_user_can_read_it_and_only_its_owner_write_it_whatever_the_umask(image: Path) -> None:
    for path in (image, *image.rglob("*")):
        if path == image or path.is_symlink() or path.name == ".lock":
            continue
        mode = path.stat().st_mode & 0o7777
        executable = (
            path.is_dir() or os.path.dirname(path).endswith(("/shims/default", "/shims/wide")) or path.parent.name == "bin"
        )
        assert mode in ((0o755, 0o644) if executable else (0o644,)), (path, oct(mode))
        assert path.stat().st_uid == os.geteuid()
    for name in ("bin/hook", "bin/guard", "shims/default/rm", "shims/default/.judge"):
        assert (image / TOP[1:] / name).stat().st_mode & 0o777 == 0o755


def test_nothing_that_runs_names_where_it_was_put_together(image: Path) -> None:
    for path in image.rglob("*"):
        if path.is_file() and (path.parent.name == "bin" or path.name in (".judge", "rm", "50-guard.json", "requirements.toml")):
            assert os.fsencode(image) not in path.read_bytes(), path


def test_again_it_changes_nothing(image: Path) -> None:
    before = inventory(image)
    run = guard("install", "--system", "--prefix", str(image))
    assert run.returncode == 0
    assert inventory(image) == before


def test_it_merges_with_what_the_administrator_has(tmp_path: Path) -> None:
    path = tmp_path / REQUIREMENTS
    path.parent.mkdir(parents=True)
    path.write_text('# ours\nallowed_approval_policies = ["on-request"]\n')
    (tmp_path / "etc/guard").mkdir()
    (tmp_path / "etc/guard/config.toml").write_text('override = "sudo"\n')
    before = inventory(tmp_path)
    assert guard("install", "--system", "--prefix", str(tmp_path), "--agent", "codex").returncode == 0
    assert path.read_text().startswith('# ours\nallowed_approval_policies = ["on-request"]\n')
    assert (tmp_path / "etc/guard/config.toml").read_text() == 'override = "sudo"\n'
    assert not (tmp_path / MANAGED).exists()
    run = guard("uninstall", "--system", "--purge", "--yes", "--prefix", str(tmp_path))
    assert run.returncode == 0, run.stderr
    after = inventory(tmp_path)
    assert set(after) - {"usr", "usr/local", "usr/local/lib", "etc/profile.d"} == set(before)
    assert tomllib.loads(path.read_text()) == {"allowed_approval_policies": ["on-request"], "features": {"hooks": True}}


def test_out_again_leaves_no_file(tmp_path: Path) -> None:
    assert guard("install", "--system", "--prefix", str(tmp_path)).returncode == 0
    assert guard("uninstall", "--system", "--purge", "--yes", "--prefix", str(tmp_path)).returncode == 0
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


@pytest.mark.parametrize("broken", [MANAGED, REQUIREMENTS])
def test_broken_settings_stop_it_before_it_writes(tmp_path: Path, broken: str) -> None:
    (tmp_path / broken).parent.mkdir(parents=True)
    (tmp_path / broken).write_text("{ no")
    before = inventory(tmp_path)
    run = guard("install", "--system", "--prefix", str(tmp_path))
    assert run.returncode == 64
    assert broken in run.stderr
    assert inventory(tmp_path) == before


def test_wrong_usage_is_told(tmp_path: Path) -> None:
    assert guard("install").returncode == 64
    for words in (("--agent", "copilot"), ("--agent", "nobody"), ("--prefix", "/no/such/directory")):
        run = guard("install", "--system", "--prefix", str(tmp_path), *words)
        assert run.returncode == 64
        assert run.stderr.startswith("guard: ")
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    run = guard("install", "--system", "--prefix", str(tmp_path), "--dry-run")
    assert run.returncode == 0
    assert MANAGED in run.stdout
    assert list(tmp_path.iterdir()) == []


def inside(image: Path, project: Path) -> list[str]:
    """The words that run a command in a system where the image's files stand in their places."""
    words = ["bwrap", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/usr", "--tmpfs", "/etc"]
    for top in ("/usr", "/usr/local", "/usr/local/lib"):
        for name in sorted(os.listdir(top)):
            if f"{top}/{name}" not in ("/usr/local", "/usr/local/lib", TOP):
                words += ["--ro-bind", f"{top}/{name}", f"{top}/{name}"]
    for name in ("bin", "lib", "lib64", "sbin"):
        words += (
            ["--symlink", f"usr/{name}", f"/{name}"] if os.path.islink(f"/{name}") else ["--ro-bind-try", f"/{name}", f"/{name}"]
        )
    own = os.path.dirname(os.path.dirname(runtime.interpreters()[0]))
    words += [] if own.startswith("/usr") else ["--ro-bind", own, own]
    words += ["--ro-bind", f"{image}{TOP}", TOP, "--ro-bind", f"{image}/etc/guard", "/etc/guard", "--bind", str(project), "/work"]
    return [*words, "--chdir", "/work", "--unshare-user", "--uid", "12345", "--gid", "12345", "--clearenv"]


def test_it_guards_every_user_without_a_home(image: Path, tmp_path: Path) -> None:
    if shutil.which("bwrap") is None or subprocess.run(["bwrap", "--ro-bind", "/", "/", "true"]).returncode:
        pytest.skip("there is no bubblewrap that works")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/a.md").write_text("a\n" * 4)
    (tmp_path / ".git").mkdir()
    (tmp_path / "guard.toml").write_text("")
    hook = json.loads((image / MANAGED).read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf specs"}, "cwd": "/work"}
    for _ in range(3):  # without bytecode for this very place, the first judgements may have no time left
        argv = [*inside(image, tmp_path), "sh", "-c", hook]
        run = subprocess.run(argv, input=json.dumps(payload), capture_output=True, text=True, timeout=60)
        assert run.returncode == 2, run.stderr
    assert "specs/a.md" in run.stderr
    path = f"{shims.directory(TOP, 'default')}:/usr/local/bin:/usr/bin:/bin"
    argv = [*inside(image, tmp_path), "--setenv", "PATH", path, "sh", "-c", "rm -rf specs"]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert run.returncode == 126, run.stderr
    assert (tmp_path / "specs/a.md").exists()
    argv = [*inside(image, tmp_path), "--setenv", "PATH", path, "sh", "-c", "echo x > y; rm y"]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


STAMPS = {
    "etc/qwen-code/settings.json": {"$version": 4},
    "etc/opencode/opencode.json": {"$schema": "https://opencode.example/config.json"},
}


@pytest.mark.parametrize("path", STAMPS)
def test_what_only_the_client_has_stamped_goes_too(path: str, tmp_path: Path) -> None:
    client = "qwen" if "qwen" in path else "opencode"
    assert guard("install", "--system", "--prefix", str(tmp_path), "--agent", client).returncode == 0
    file = tmp_path / path
    ours = file.read_bytes()
    file.write_text(json.dumps({**STAMPS[path], **json.loads(ours)}, indent=4))
    if client == "qwen":
        (tmp_path / f"{path}.orig").write_bytes(ours)
    run = guard("uninstall", "--system", "--prefix", str(tmp_path), "--yes", "--purge")
    assert run.returncode == 0, run.stderr
    assert not file.exists()
    assert list(file.parent.parent.glob("*")) == [] or not file.parent.exists()


def test_a_copy_with_the_administrators_own_settings_stays_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "etc/qwen-code/settings.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"theme": "dark"}')
    assert guard("install", "--system", "--prefix", str(tmp_path), "--agent", "qwen").returncode == 0
    copy = path.with_name("settings.json.orig")
    copy.write_bytes(path.read_bytes())
    run = guard("uninstall", "--system", "--prefix", str(tmp_path), "--yes", "--purge")
    assert json.loads(path.read_text()) == {"theme": "dark", "disableAllHooks": False}
    assert copy.exists()
    assert f"{copy} stays" in " ".join(run.stdout.split())


def test_a_projects_switch_does_not_count_where_the_system_says_otherwise(image: Path) -> None:
    assert json.loads((image / "etc/qwen-code/settings.json").read_text())["disableAllHooks"] is False
