"""The command line as users and layers meet it: exit statuses, streams, JSON, and what happens when things go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from guard import cli
from guard.hot import check, judgement

ROOT = Path(__file__).parent.parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small repository with two protected files."""
    top = tmp_path.resolve() / "project"
    for name in ("specs/a.md", "specs/b.md", "build/x.o", "src/main.py"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n" * 5)
    subprocess.run(["git", "init", "-q", top], check=True)
    return top


def guard(project: Path, *arguments: str | bytes, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
    env = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **environ}
    return subprocess.run(
        [sys.executable, "-m", "guard", *arguments], cwd=project, env=env, input=stdin, capture_output=True, timeout=60
    )


def test_allow_is_status_0_and_silence(project: Path) -> None:
    for command in ("ls -la", "rm -rf build", "echo rm -rf specs"):
        run = guard(project, "check", "--", command)
        assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_deny_is_status_1_with_the_reason_on_standard_error(project: Path) -> None:
    run = guard(project, "check", "--", "rm -rf specs build")
    assert (run.returncode, run.stdout) == (1, b"")
    assert b"specs/a.md" in run.stderr
    assert b"rm -rf build" in run.stderr
    assert (project / "specs/a.md").exists()


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("rm -rf ./$OUT/specs", b"Instead: rm -rf ./${OUT:?}/specs"),
        ('rm -rf "${OUT}"/*', b'Instead: rm -rf "${OUT:?}"/*'),
    ],
)
def test_a_variable_without_a_value_is_named_and_insisted_on(project: Path, command: str, instead: bytes) -> None:
    run = guard(project, "check", "--", command)
    assert run.returncode == 1
    assert b"\nOUT has no value here.\n" in run.stderr
    assert instead in run.stderr
    assert guard(project, "check", "--", instead.decode().removeprefix("Instead: ")).returncode == 0


ASKED = 'read -r name; rm -rf "$name"'


def test_ask_is_status_3_and_deny_where_nobody_can_be_asked(project: Path) -> None:
    assert guard(project, "check", "--", ASKED).returncode == 3
    assert guard(project, "check", "--headless", "--", ASKED).returncode == 1


@pytest.mark.parametrize(
    ("command", "decision", "status"), [("ls", "allow", 0), ("rm -rf build", "allow", 0), ("rm -rf specs", "deny", 1)]
)
def test_json_goes_to_standard_output(project: Path, command: str, decision: str, status: int) -> None:
    run = guard(project, "check", "--json", "--", command)
    answer = json.loads(run.stdout)
    assert run.returncode == status
    assert (answer["v"], answer["decision"], answer["command"], answer["cwd"]) == (1, decision, command, str(project))
    assert set(answer) == {"v", "id", "decision", "code", "command", "cwd", "effects", "total", "reason", "suggestion"}
    assert [set(effect) for effect in answer["effects"]] == [{"action", "path", "level", "via"}] * (2 if status else 0)


def test_a_dash_reads_standard_input(project: Path) -> None:
    assert guard(project, "check", "-", stdin=b"cd specs\nrm a.md\n").returncode == 1
    assert guard(project, "check", "-", stdin=b"ls\n").returncode == 0
    assert guard(project, "check", "-", stdin=b"").returncode == 0


def test_the_directory_can_be_named(project: Path) -> None:
    assert guard(project / "src", "check", "--cwd", "..", "--", "rm -rf specs").returncode == 1
    assert guard(project, "check", "--cwd=src", "--", "rm -rf specs").returncode == 0
    assert guard(project, "check", "--cwd", str(project / "specs"), "--", "rm *").returncode == 1


WRONG = [
    "check",
    "check rm x",
    "check --cwd",
    "check --cwd /no/such/directory ls",
    "check --bad ls",
    "check --json=1 ls",
    "check --",
    "no-such-command",
    "list --bad",
    "list --cwd /no/such/directory",
    "explain",
    "explain --cwd /no/such/directory ls",
    "help no-such-command",
]


@pytest.mark.parametrize("arguments", [line.split() for line in WRONG], ids=WRONG)
def test_wrong_usage_is_status_64_and_says_what_is_wrong(project: Path, arguments: list[str]) -> None:
    run = guard(project, *arguments)
    assert (run.returncode, run.stdout) == (64, b"")
    assert run.stderr


def test_several_words_are_refused_with_the_fix(project: Path) -> None:
    assert b"guard check -- 'rm -rf specs'" in guard(project, "check", "rm", "-rf", "specs").stderr


def test_options_may_stand_behind_the_command(project: Path) -> None:
    assert json.loads(guard(project, "check", "rm -rf specs", "--json").stdout)["decision"] == "deny"
    assert guard(project, "check", "--headless", ASKED, "--cwd", "src").returncode == 1
    assert guard(project, "check", "rm -rf specs", "--cwd=src").returncode == 0
    assert guard(project, "check", "rm -rf specs", "--cwd").returncode == 64
    assert guard(project, "check", "rm -rf specs", "--json=1").returncode == 64


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["rm", "-rf", "specs", "--json"], "guard check --json -- 'rm -rf specs'"),
        (["--cwd", "a b", "rm", "x"], "guard check --cwd 'a b' -- 'rm x'"),
        (["--", "rm -rf specs", "--json"], "guard check --json -- 'rm -rf specs'"),
        (["--", "rm", "x", "--json"], "guard check -- 'rm x --json'"),
        (["npm", "--json", "x"], "guard check -- 'npm --json x'"),
        (["rm -rf specs", "--force"], "guard check -- 'rm -rf specs --force'"),
    ],
)
def test_the_hint_is_the_call_that_was_meant(project: Path, arguments: list[str], hint: str) -> None:
    run = guard(project, "check", *arguments)
    assert (run.returncode, run.stdout) == (64, b"")
    assert run.stderr.decode().splitlines()[0].endswith(": " + hint)


def test_an_empty_command_does_nothing_and_that_is_said(project: Path) -> None:
    for arguments in (["-"], ["--", ""], ["--json", " \n"]):
        run = guard(project, "check", *arguments)
        assert run.returncode == 0
        assert b"the command is empty" in run.stderr


def test_closed_standard_input_is_wrong_usage(project: Path) -> None:
    env = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    script = f'exec "{sys.executable}" -m guard check - <&-'
    run = subprocess.run(["sh", "-c", script], cwd=project, env=env, capture_output=True, text=True)
    assert run.returncode == 64
    assert "standard input cannot be read" in run.stderr


def test_an_id_is_that_of_a_record(project: Path) -> None:
    assert json.loads(guard(project, "explain", "--json", "rm -rf specs").stdout)["id"] is None
    state = Path(project.parent, "state")
    (state / "decisions.jsonl").mkdir(parents=True)
    run = guard(project, "check", "--json", "rm -rf specs", GUARD_STATE_DIR=str(state))
    assert json.loads(run.stdout)["id"] is None
    assert run.stderr.endswith(b"refused too.\n")


@pytest.mark.parametrize("command", ["git checkout -q less", "git checkout -f less", "git switch less"])
def test_what_would_leave_with_a_branch_gets_advice_and_no_command(project: Path, command: str) -> None:
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x.invalid")
    for arguments in (["add", "-A"], ["commit", "-qm", "1"], ["branch", "-m", "all"], ["checkout", "-qb", "less"]):
        subprocess.run([*git, *arguments], cwd=project, check=True)
    for arguments in (["rm", "-rq", "specs"], ["commit", "-qm", "2"], ["checkout", "-q", "all"]):
        subprocess.run([*git, *arguments], cwd=project, check=True)
    (project / "guard.toml").write_text('[answer]\nbranches = "pin"\n')
    run = guard(project, "check", command)
    assert run.returncode == 1
    assert b"\nInstead: work on a branch that has what is protected.\n" in run.stderr


def test_bytes_that_are_no_text(project: Path) -> None:
    run = guard(project, "check", "--json", "--", b"rm -rf specs '\xff\xfe'")
    assert run.returncode == 1
    assert json.loads(run.stdout)["decision"] == "deny"


def test_broken_configuration_passes_what_is_harmless_and_judges_the_rest_by_the_built_in_list(project: Path) -> None:
    (project / "guard.toml").write_text('[protect]\nkeep = ["/docs/"]\nkept = 1\n')
    assert guard(project, "check", "--", "ls -la").returncode == 0
    run = guard(project, "check", "--", "rm -rf specs")
    assert run.returncode == 1
    assert b"guard.toml:3" in run.stderr
    assert b"(the built-in list is in force)" in run.stderr
    run = guard(project, "list")
    assert (run.returncode, run.stdout) == (64, b"")
    assert b"guard.toml:3" in run.stderr
    for subject in ("rm -rf specs", "specs/a.md"):
        run = guard(project, "explain", subject)
        assert run.returncode == 0
        assert b"guard.toml:3" in run.stdout
        assert b"the built-in list is in force" in run.stdout


def test_where_a_good_configuration_went_before_that_one_is_in_force(project: Path) -> None:
    (project / "guard.toml").write_text('[protect]\nkeep = ["/src/"]\n')
    kept = Path(os.environ["HOME"], ".local/state/guard/policy")
    before = set(kept.glob("*"))
    deadline = time.time() + 20
    while time.time() < deadline and set(kept.glob("*")) == before:
        assert guard(project, "check", "--", "rm -rf src").returncode == 1
        time.sleep(0.5)
    (project / "guard.toml").write_text("kept = 1\n")
    run = guard(project, "check", "--", "rm -rf src")
    assert run.returncode == 1
    assert b"(the last good configuration is in force)" in run.stderr


def test_a_current_directory_that_is_gone(project: Path) -> None:
    script = f'mkdir gone; cd gone; rmdir ../gone; "{sys.executable}" -m guard check -- "$1"'
    env = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    for command, status in (("ls", 0), ("rm -rf x", 64)):
        assert (
            subprocess.run(["sh", "-c", script, "sh", command], cwd=project, env=env, stderr=subprocess.DEVNULL).returncode
            == status
        )


def test_closed_descriptors_change_no_status(project: Path) -> None:
    env = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    for command, status in (("ls", 0), ("rm -rf specs", 1)):
        for closing in (">&-", "2>&-", ">&- 2>&- <&-", ">/dev/full 2>/dev/full"):
            script = f'"{sys.executable}" -m guard check --json -- "$1" {closing}'
            assert (
                subprocess.run(["sh", "-c", script, "sh", command], cwd=project, env=env, capture_output=True).returncode
                == status
            )


def test_a_fault_of_guard_is_status_70_and_never_an_allowance(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(judgement, "analyse", broken)
    assert check.main(["--", "rm -rf build"]) == 70
    assert "must not be taken as allowed" in capfd.readouterr().err


@pytest.mark.parametrize(("limit", "code"), [(RecursionError, "too-deep"), (MemoryError, "too-long")])
def test_running_into_a_limit_is_a_refusal(limit: type[Exception], code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(*_: object) -> None:
        raise limit

    monkeypatch.setattr(judgement, "analyse", limited)
    verdict = judgement.decide("rm -rf build", "/", {}, record=False).verdict
    assert (verdict.decision, verdict.code) == ("deny", code)


@pytest.mark.parametrize(
    ("loop", "status"), [("while True: pass", 1), ("time.sleep(9)", 1), ("sum(range(10 ** 12))", -signal.SIGPROF)]
)
def test_no_check_takes_more_than_a_second(project: Path, loop: str, status: int) -> None:
    code = (
        "import sys, time\nfrom guard.hot import check, judgement\n"
        f"def analyse(*_):\n try:\n  {loop}\n except Exception: pass\n"
        "judgement.analyse = analyse\nsys.exit(check.main(['--', 'rm -rf build']))"
    )
    env = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    start = time.monotonic()
    run = subprocess.run([sys.executable, "-c", code], cwd=project, env=env, capture_output=True, timeout=30)
    assert run.returncode == status
    assert run.stderr or status < 0
    assert time.monotonic() - start < 8  # a second on a quiet machine; without a limit it takes nine or more


HOSTILE = [
    "(" * 20_000,
    "$(" * 20_000,
    "`" * 9_999,
    "rm " + "{a,b}" * 100,
    "a" * 200_000,
    "rm \0 x",
    "cmd '${a'-",
    "rm -rf " + "x/" * 60_000,
    "x=1;" * 50_000 + "rm -rf specs",
    "while :; do :; done; rm -rf specs",
    "f() { f; f; }; f",
    "eval " * 5_000 + "rm -rf specs",
    "printf '%999999999d' 1 | xargs rm -rf",
    "echo $((9**9**9**9)); rm -rf specs",
    "x=a; for i in {1..40}; do x=$x$x; done; rm -rf $x",
]


@pytest.mark.parametrize("text", HOSTILE, ids=[f"{number} {text[:20]!r}" for number, text in enumerate(HOSTILE)])
def test_hostile_input_is_answered(project: Path, text: str) -> None:
    start = time.monotonic()
    run = guard(project, "check", "--json", "-", stdin=text.encode())
    assert run.returncode in (0, 1, 3)
    assert json.loads(run.stdout)["decision"] in ("allow", "deny", "ask")
    assert time.monotonic() - start < 15


def test_both_tables_of_options_agree() -> None:
    options = [parameter for parameter in cli.check.params if isinstance(parameter, click.Option)]
    assert {option.opts[0]: not option.is_flag for option in options} == check.OPTIONS


def test_the_hot_file_runs_by_itself(project: Path) -> None:
    for command, status in (("ls", 0), ("rm -rf build", 0), ("rm -rf specs", 1)):
        argv = [sys.executable, "-I", "-S", str(ROOT / "guard/hot/start.py"), "check", "--", command]
        assert (
            subprocess.run(argv, cwd=project, env={"HOME": os.environ["HOME"], "PATH": os.environ["PATH"]}).returncode == status
        )


def test_list_names_rules_and_counts(project: Path) -> None:
    text = guard(project, "list").stdout.decode()
    assert "/specs/" in text
    assert "specs/a.md" not in text
    assert "specs/a.md" in guard(project, "list", "--files").stdout.decode()
    answer = json.loads(guard(project, "list", "--json").stdout)
    assert {"path": str(project / "specs/a.md"), "level": "keep"}.items() <= answer["files"][
        [f["path"] for f in answer["files"]].index(str(project / "specs/a.md"))
    ].items()
    assert answer["roots"][0]["path"] == str(project)


def test_list_outside_of_any_project_says_so(tmp_path: Path) -> None:
    assert b"no project" in guard(tmp_path, "list").stdout


def test_the_built_in_list_is_configuration(project: Path) -> None:
    (project / "guard.toml").write_bytes(guard(project, "list", "--builtin").stdout)
    assert guard(project, "list").returncode == 0
    assert guard(project, "check", "--", "rm -rf specs").returncode == 1


def test_explain_shows_how_a_verdict_comes_about(project: Path) -> None:
    run = guard(project, "explain", "cd specs && rm -f *.md")
    text = run.stdout.decode()
    assert run.returncode == 0
    for shown in ("rm -f a.md b.md", "delete", "specs/a.md", "/specs/", "built-in", "deny"):
        assert shown in text


def test_explain_of_a_path_names_the_rule(project: Path) -> None:
    assert b"keep" in guard(project, "explain", "specs/a.md").stdout
    assert b"not protected" in guard(project, "explain", "src/main.py").stdout
    assert b"not protected" in guard(project, "explain", "src/nothing.py").stdout
    assert json.loads(guard(project, "explain", "--json", "specs").stdout)["below"] == 2


def test_explain_replays_a_recorded_decision(project: Path) -> None:
    name = json.loads(guard(project, "check", "--json", "--", "rm -rf specs").stdout)["id"]
    for path in ("specs/a.md", "specs/b.md"):
        (project / path).unlink()
    text = guard(project, "explain", name).stdout.decode()
    assert "rm -rf specs" in text
    assert "specs/a.md" in text
    assert json.loads(guard(project, "explain", "--json", name).stdout)["recorded"] is True


def test_explain_of_an_unknown_id(project: Path) -> None:
    run = guard(project, "explain", "z9z9")
    assert run.returncode == 64
    assert b"no decision with the id z9z9" in run.stderr


def test_a_word_shaped_like_an_id_may_be_a_command(project: Path) -> None:
    (project / "b2zz").write_text("#!/bin/sh\n")
    (project / "b2zz").chmod(0o755)
    run = guard(project / "src", "explain", "b2zz", PATH=f"{project}:{os.environ['PATH']}")
    assert run.returncode == 0
    assert b"verdict" in run.stdout


@pytest.mark.parametrize("name", ["AGENTS.md", "guard.toml", "memory"])
def test_explain_of_what_is_protected_before_it_is_there(project: Path, name: str) -> None:
    text = guard(project, "explain", name).stdout.decode()
    assert text.startswith(f"{name} is protected as ")
    assert "It does not exist now." in text


def test_the_option_parser_speaks_like_guard(project: Path) -> None:
    for arguments in (["list", "--bad"], ["no-such"], ["explain"], ["shims", "no-such"], ["help", "shims", "no-such"]):
        run = guard(project, *arguments)
        assert run.returncode == 64
        assert run.stderr.startswith(b"guard: ")
        assert run.stderr.count(b"\n") == 1


@pytest.mark.parametrize("arguments", [["help", "chek"], ["chek"]])
def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(project: Path, arguments: list[str]) -> None:
    run = guard(project, *arguments)
    assert (run.returncode, b"Did you mean 'check'?" in run.stderr) == (64, True)


def test_what_the_parser_says_has_one_pair_of_brackets(project: Path) -> None:
    for arguments in (["list", "--fils"], ["init", "--obs", "--ye"], ["list", "--c"], ["init", "--"], ["help", "x"]):
        said = guard(project, *arguments).stderr
        assert said.count(b"(guard help") <= 1
        assert said.count(b"(") <= 1, said


@pytest.mark.parametrize("word", ["version", "-V", "--version"])
def test_the_version_has_several_names(project: Path, word: str) -> None:
    run = guard(project, word)
    assert (run.returncode, run.stdout.startswith(b"guard ")) == (0, True)


@pytest.mark.parametrize("name", ["zzzz", "r7f9"])
def test_what_looks_like_an_id_and_is_none_is_no_command(project: Path, name: str) -> None:
    run = guard(project, "explain", name)
    assert (run.returncode, b"no decision with the id" in run.stderr) == (64, True)
    assert guard(project, "explain", "test").returncode == 0


def test_the_files_are_listed_without_the_patterns(project: Path) -> None:
    text = guard(project, "list", "--files").stdout.decode()
    assert "specs/a.md  /specs/" in text
    assert "where it stands" not in text


def test_help_of_a_command_in_a_group(project: Path) -> None:
    run = guard(project, "help", "shims", "install")
    assert run.returncode == 0
    assert run.stdout.startswith(b"Usage: guard shims install ")


def test_list_says_what_it_leaves_out_and_where_a_policy_is_not_locked(project: Path) -> None:
    text = guard(project, "list").stdout.decode()
    assert "built-in patterns with !" in text
    assert text.count("/PROMPT.md") == 2  # at the root and in .ralph
    assert "not locked" not in text
    (project / "pyproject.toml").write_text('[tool.guard.protect]\nkeep = ["/src/", "!/src/x"]\n')
    text = guard(project, "list").stdout.decode()
    assert "pyproject.toml, which is not locked" in text
    assert "!/src/x" in text


def test_the_built_in_list_as_json(project: Path) -> None:
    assert "/specs/" in json.loads(guard(project, "list", "--builtin", "--json").stdout)["protect"]["keep"]


def test_the_demo_fits_a_terminal_and_leaves_nothing(tmp_path: Path) -> None:
    run = guard(tmp_path, "demo", TMPDIR=str(tmp_path))
    assert run.returncode == 0, run.stderr
    text = run.stdout.decode()
    assert max(map(len, text.replace(str(tmp_path), "/tmp").splitlines())) <= 80
    assert "\033" not in text
    assert {"allow", "deny"} <= set(text.split())
    assert list(tmp_path.iterdir()) == []


def test_version_and_help() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for arguments, shown in (["--version"], "guard "), (["help", "--all"], "--headless"), (["check", "--help"], "Exit status"):
        run = subprocess.run([sys.executable, "-m", "guard", *arguments], env=env, capture_output=True, text=True)
        assert run.returncode == 0
        assert shown in run.stdout
