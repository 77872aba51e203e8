"""The script of the shims: what it passes without asking, and that nothing around it changes its mind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.shims.directory import PRESENT, Shims, tools

# Calls in app/ that can lose nothing and are passed without a judge, and calls that it has to see.
PASSED = """\
rm -f x y
rm -- x
rm -fv src/b.py ./x
rm -f nothing
rm
rm --help
unlink x
rmdir void
mv x z
mv -f x y src
mv x ./src/
cp x y
cp -p x y src
ln -s anything/.. l
ln -sf x y
ln x z
tee -a x
truncate -s 0 x
truncate --size=0 x
dd if=x of=y bs=1
sed -n p x
sed s/e/w/ x
sed -n -e s,a,b,g -e p x
sed -ne 1,3p x
find . -name *.md
find specs -newer x -print
git status
git --no-pager log -3 --oneline
git -C src diff
git -c color.ui=never show
git --version
""".splitlines()
ASKED = """\
rm specs/a.md
rm -rf src
rm -rf ../app
rm -f x specs/a.md
rm -f specs
rm -f CLAUDE.md
rm -f ./CLAUDE.md
rm ../app/x
rm src/../specs/a.md
rm src//b.py
rm link/a.md
rm x -r src
rm --recursive src
rmdir -p a/b
rmdir specs
unlink CLAUDE.md
mv specs/a.md z
mv x specs/a.md
mv src away
mv -t src x
mv x link
mv --backup x y
cp x specs/a.md
cp x link
cp -r src z
cp y CLAUDE.md
ln -sf x CLAUDE.md
ln -s x
tee specs/a.md
tee tolink
truncate -s 0 specs/a.md
truncate -s 0 tolink
dd if=x of=specs/a.md
dd if=x of=tolink
sed -i s/a/b/ x
sed --in-place s/a/b/ x
sed s/a/b/ x -i
sed -n w\\tspecs/a.md x
sed s/a/b/w_specs x
sed 1e x
sed s/x/ls/e x
sed -f script x
sed -e s|a|b\\ -e s/|e#/x/ x
sed -s -n p x
find . -delete
find . -exec ls {} ;
find . -fprint x
git clean -fd
git checkout x
git diff --output=x
git -c alias.status=!ls status
git -c core.fsmonitor=x status
git
shred x
rsync x y
tar cf x y
install x y
unzip x
""".splitlines()


@pytest.fixture
def fixed(shims: Shims, app: Path) -> Shims:
    """Shims whose judge says no, in front of tools that say yes and do nothing."""
    (app / "link").symlink_to("specs")
    (app / "tolink").symlink_to("specs/a.md")
    (app / "void").mkdir()
    shims.behind = str(tools(app.parent / "behind", "exit 0\n"))
    shims.refuse_all()
    return shims


@pytest.mark.parametrize("shell", PRESENT)
def test_what_can_lose_nothing_passes_without_a_judge(shell: str, fixed: Shims, app: Path) -> None:
    for line in PASSED:
        done = fixed.run(*line.split(" "), cwd=app, shell=shell)
        assert (line, done.returncode, fixed.take_asked(), done.stderr) == (line, 0, False, b"")


@pytest.mark.parametrize("shell", PRESENT)
def test_the_rest_goes_to_the_judge_and_its_no_is_a_no(shell: str, fixed: Shims, app: Path) -> None:
    for line in ASKED:
        done = fixed.run(*line.replace("_", " ").replace("\\t", " ").split(" "), cwd=app, shell=shell)
        assert (line, done.returncode, fixed.take_asked()) == (line, 126, True)


def test_installed_interpreters_decide_alike(fixed: Shims, app: Path) -> None:
    for line in (*PASSED[:12], *ASKED[:12]):
        done = fixed.run(*line.split(" "), cwd=app)
        assert (line, done.returncode) == (line, 0 if line in PASSED else 126)


HOSTILE = {
    "functions": {f"BASH_FUNC_{name}%%": "() { exit 0; }" for name in ("exec", "command", "test", "[", "case", "export", "rm")},
    "noexec": {"SHELLOPTS": "noexec", "BASHOPTS": "extglob"},
    "CDPATH": {"CDPATH": "/"},
    "IFS": {"IFS": "/-rmspec0123456789"},
    "start files": {"ENV": "/srv/evil", "BASH_ENV": "evil", "ZDOTDIR": "."},
    "posix": {"POSIXLY_CORRECT": "1"},
    "versions": {"ZSH_VERSION": "5", "BASH_VERSION": "5", "BASH_VERSINFO": "5", "KSH_VERSION": "1"},
    "variables": {"PWD": "/", "OLDPWD": "/nowhere", "GLOBIGNORE": "*", "PS4": "$(touch evil)", "OPTIND": "7", "_": "x"},
    "names": {"guard_real": "/bin/true", "guard_whole": "1", "guard_hit": "", "guard_top": "/", "guard_paths": "x"},
    "mark": {"GUARD_SHIM": "1:rm:zzz", "GUARD_SHIM_PID": "1"},
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("shell", [None, *PRESENT])
def test_nothing_in_the_environment_changes_its_mind(shell: str | None, hostile: str, fixed: Shims, app: Path) -> None:
    if shell == "zsh" and hostile == "functions":
        pytest.skip("zsh imports no functions")
    environ = fixed.environ(**{"PWD": str(app), **HOSTILE[hostile]})
    assert fixed.run("rm", "specs/a.md", cwd=app, shell=shell, environ=environ).returncode == 126
    assert fixed.take_asked()
    assert fixed.run("rm", "-f", "x", cwd=app, shell=shell, environ=environ).returncode == 0
    assert fixed.run("git", "clean", "-fd", cwd=app, shell=shell, environ=environ).returncode == 126
    assert fixed.run("git", "status", cwd=app, shell=shell, environ=environ).returncode == 0
    assert not (app / "evil").exists()


@pytest.mark.parametrize(
    "name", ["a b", "new\nline", "-dash", "*", "$(touch evil)", "`id`", "a'b", 'a"b', "é", "\\", "[x]", ";", "~"]
)
@pytest.mark.parametrize("shell", [None, *PRESENT])
def test_odd_names_reach_the_tool_as_they_are(shell: str | None, name: str, shims: Shims, app: Path) -> None:
    (app / name).write_text("x")
    assert shims.run("rm", "--", name, cwd=app, shell=shell).returncode == 0
    assert not (app / name).exists()
    assert not (app / "evil").exists()
    assert (app / "x").exists()


def test_thousands_of_arguments(shims: Shims, app: Path) -> None:
    names = [f"o/{number}.o" for number in range(4000)]
    (app / "o").mkdir()
    for name in names:
        (app / name).touch()
    assert shims.run("rm", *names[:3000], "specs/a.md", cwd=app).returncode == 126
    assert len(os.listdir(app / "o")) == 4000
    assert shims.run("rm", *names, cwd=app).returncode == 0
    assert os.listdir(app / "o") == []


def test_a_call_near_the_limit_of_arguments(shims: Shims, app: Path) -> None:
    names = [f"missing/{number:0200d} x" for number in range(4000)]
    assert shims.run("rm", "-f", *names, cwd=app).returncode == 0


@pytest.mark.parametrize("shell", [None, *PRESENT])
def test_a_removed_directory(shell: str | None, shims: Shims, app: Path) -> None:
    gone = app / "gone"
    gone.mkdir()
    script = f'cd {gone} && rmdir {gone} && "$@"'
    command = [*(PRESENT[shell] if shell else []), str(shims.top / "rm"), "-f"]
    for operand, status in (("x", 0), (str(app / "x"), 0), (str(app / "specs/a.md"), 126)):
        gone.mkdir(exist_ok=True)
        done = subprocess.run(["sh", "-c", script, "sh", *command, operand], env=shims.environ(), timeout=60)
        assert done.returncode == status
    assert not (app / "x").exists()
    assert (app / "specs/a.md").exists()


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "<&- 2>&-"])
@pytest.mark.parametrize("shell", [None, *PRESENT])
def test_closed_descriptors(shell: str | None, closing: str, shims: Shims, app: Path) -> None:
    if shell == "zsh" and "2>" in closing:
        pytest.skip("zsh ends a script at a redirection that fails")
    command = " ".join([*(PRESENT[shell] if shell else []), str(shims.top / "rm")])
    refused = subprocess.run(
        ["sh", "-c", f"{command} -rf specs {closing}; echo $? >status"], cwd=app, env=shims.environ(), timeout=60
    )
    assert refused.returncode == 0
    assert (app / "status").read_text() == "126\n"
    passed = subprocess.run(
        ["sh", "-c", f"{command} -rf src x {closing}; echo $? >status"], cwd=app, env=shims.environ(), timeout=60
    )
    assert passed.returncode == 0
    assert (app / "status").read_text() == "0\n"
    assert sorted(os.listdir(app)) == [".git", "CLAUDE.md", "specs", "status", "y"]
    assert (app / "specs/a.md").read_text() == "specs/a.md\n" * 3


def test_a_call_without_a_tool_behind(shims: Shims, app: Path) -> None:
    for path in (str(shims.top), f"{shims.top}:/nonexistent", f"{shims.top}:{shims.top}/."):
        done = shims.run("rm", "x", cwd=app, environ=shims.environ(PATH=path))
        assert done.returncode == 127
        assert b"not found" in done.stderr


@pytest.mark.parametrize("shell", [None, *PRESENT])
@pytest.mark.parametrize("name", ["rm", "git"])
def test_what_leads_back_to_the_shim_ends(shell: str | None, name: str, shims: Shims, app: Path) -> None:
    """A wrapper that looks like a tool, and calls the shim again in its own process or in a child."""
    for call in ("exec", ""):
        script = f'PATH={shims.top}:{app.parent}/loop:$PATH\n{call} {name} "$@"\n'
        shims.behind = f"{tools(app.parent / 'loop', script, [name])}:/usr/bin:/bin"
        done = shims.run(name, "--version", cwd=app, shell=shell)
        assert done.returncode == 127
        assert b"leads back" in done.stderr


def test_other_directories_of_shims_are_passed_over(shims: Shims, app: Path) -> None:
    shutil.copytree(shims.top, app.parent / "others")
    os.symlink(shims.top, app.parent / "linked")
    shims.behind = f"{app.parent}/others:{app.parent}/linked:/usr/bin:/bin"
    assert shims.run("rm", "x", cwd=app).returncode == 0
    assert shims.run("git", "--version", cwd=app).stdout.startswith(b"git version")
    assert shims.run("rm", "specs/a.md", cwd=app).returncode == 126


def test_the_place_on_path_may_be_spelled_in_any_way(shims: Shims, app: Path) -> None:
    os.symlink(shims.top, app.parent / "linked")
    for place in (f"{shims.top}/", f"{app.parent}/linked", "../shims", f"{app.parent}/./shims"):
        environ = shims.environ(PATH=f"/nonexistent:{place}:/usr/bin:/bin")
        done = subprocess.run(["sh", "-c", "rm specs/a.md; rm -f y"], cwd=app, env=environ, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert b"refused" in done.stderr
    assert not (app / "y").exists()
    assert (app / "specs/a.md").exists()


def test_a_tool_in_the_current_directory_is_found_as_a_shell_would(shims: Shims, app: Path) -> None:
    tools(app, "echo mine\n", ["rm"])
    for path in (f"{shims.top}:", f"{shims.top}::/bin", f"{shims.top}:.:/bin"):
        assert shims.run("rm", "x", cwd=app, environ=shims.environ(PATH=path, PWD=str(app))).stdout == b"mine\n"
    assert (app / "x").exists()


def test_without_path_the_usual_one_is_taken(shims: Shims, app: Path) -> None:
    environ = shims.environ()
    del environ["PATH"]
    assert shims.run("rm", "x", cwd=app, environ=environ).returncode == 0
    assert shims.run("rm", "specs/a.md", cwd=app, environ=environ).returncode == 126


def whole(shims: Shims) -> bytes:
    return (shims.top / ".policy").read_bytes()


@pytest.mark.parametrize("shell", PRESENT)
def test_torn_policy_data_is_no_answer(shell: str, fixed: Shims, app: Path) -> None:
    data = whole(fixed)
    cuts = [*range(0, len(data) - 3, max(1, len(data) // 25)), len(data) - 3]
    for torn in (
        *(data[:cut] for cut in cuts),
        b"((((\n",
        b"\0" * 99,
        b"end\n",
        b"policy 9 x y\nend\n",
        b"\xff\n" * 9,
        data + b"fi\n",
    ):
        (fixed.top / ".policy").write_bytes(torn)
        assert (torn, fixed.run("rm", "-f", "x", cwd=app, shell=shell).returncode) == (torn, 126)
        assert fixed.take_asked()
        assert fixed.run("rm", "specs/a.md", cwd=app, shell=shell).returncode == 126
        assert fixed.take_asked()
        assert fixed.run("sed", "p", "x", cwd=app, shell=shell).returncode == 0
    (fixed.top / ".policy").unlink()
    assert fixed.run("rm", "-f", "x", cwd=app, shell=shell).returncode == 126
    assert fixed.run("git", "status", cwd=app, shell=shell).returncode == 0


@pytest.mark.parametrize("shell", PRESENT)
def test_policy_data_that_is_older_than_its_sources_is_no_answer(shell: str, fixed: Shims, app: Path) -> None:
    assert fixed.run("rm", "-f", "x", cwd=app, shell=shell).returncode == 0
    (app / "guard.toml").write_text('[protect]\nkeep = ["/x"]\n')
    assert fixed.run("rm", "-f", "x", cwd=app, shell=shell).returncode == 126
    (app / "guard.toml").unlink()
    os.symlink("../elsewhere", app / "memory")
    assert fixed.run("rm", "-f", "x", cwd=app, shell=shell).returncode == 126


def test_a_configuration_on_the_way_that_the_data_does_not_know_goes_to_the_judge(fixed: Shims, app: Path) -> None:
    other = app.parent / "other"
    other.mkdir()
    for name in ("x", "sub.x"):
        (other / name).touch()
    assert fixed.run("rm", "-f", "x", cwd=other).returncode == 0
    assert fixed.run("rm", "-f", "sub.x", cwd=other).returncode == 0
    (other / "guard.toml").write_text("[protect]\nkeep = ['/sub.x']\n")
    assert fixed.run("rm", "-f", "sub.x", cwd=other).returncode == 126
    assert fixed.run("rm", "-f", "../other/x", cwd=app).returncode == 126


def test_without_a_judge_only_what_is_surely_harmless_runs(shims: Shims, app: Path) -> None:
    (shims.top / ".judge").unlink()
    assert shims.run("rm", "-f", "x", cwd=app).returncode == 0
    assert shims.run("git", "--version", cwd=app).returncode == 0
    for argv in (["rm", "-rf", "src"], ["git", "clean", "-fd"]):
        done = shims.run(*argv, cwd=app)
        assert done.returncode == 126
        assert b"guard shims install" in done.stderr
    assert (app / "src/b.py").exists()
