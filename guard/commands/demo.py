"""`guard demo`: verdicts on commands that are not run, then guard at work on some that are, in a temporary project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from guard import sandbox
from guard.commands import explain
from guard.commands.output import say
from guard.decision import Decision
from guard.hot import judgement

FILES = {
    "CLAUDE.md": "# how to work here\n",
    "IMPLEMENTATION_PLAN.md": "- [x] parse\n- [ ] render\n",
    "specs/login.md": "# login\nA user logs in.\n",
    "specs/api/errors.md": "# errors\nEvery error has a code.\n",
    "src/main.py": "print('hello')\n",
    "build/main.o": "object\n",
    "scripts/clean.sh": 'cd "$(dirname "$0")/.." && rm -rf build specs\n',
    "Makefile": "build:\n\tcp src/main.py build/app.py\n\trm -f build/main.o\npurge:\n\trm -rf build specs\n.PHONY: build\n",
    ".gitignore": "build/\nmemory/\n",
    "memory/lessons.md": "Run the tests first.\n",
}

# Harmful commands, each with a twin that looks like it and harms nothing. Those of git need git.
COMMANDS = (
    "rm -rf build",
    "rm -rf build specs",
    "cd specs && rm -f *.md",
    "cd src && rm -f *.pyc",
    'rm -rf "$OUT"/*',
    'OUT=build; rm -rf "$OUT"/*',
    "find . -name '*.o' -delete",
    "find . -name '*.md' -delete",
    "git clean -fdX build",
    "git clean -fdX",
    "sh scripts/clean.sh",
    "echo done > CLAUDE.md",
    "echo 'Be kind.' >> CLAUDE.md",
    "git commit -m 'stop using rm -rf specs'",
    "python3 -c 'import shutil; shutil.rmtree(\"specs\")'",
)
REFUSED = "rm -rf build specs"
# What is run, with the shims on PATH: the tool that it needs, and the command.
GUARDED = (("sh", "sh scripts/clean.sh"), ("make", "make purge"), ("make", "make build"))
WITNESSES = ("specs", "build")
PROGRAM = 'import shutil; shutil.rmtree("specs")'  # what no shim sees
# An agent in a loop, by the iteration.
AGENT = "case $GUARD_ITERATION in 1) echo 'print(1)' >> src/main.py;; 2|3) ;; *) PROGRAM;; esac; echo I keep going."
ENVIRON = {"LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "AI_AGENT": "demo"}
EXPLAINED = "cd specs && rm -f *.md"


def run() -> int:
    """Prints the verdicts, one refusal as an agent gets it, one explanation, and what the shims stop."""
    with _project() as (top, environ):
        say("A project with specs, a plan and notes, protected by guard's built-in list.")
        say("What would these commands do? guard tells without running any of them.\n")
        for command in COMMANDS:
            if not command.startswith("git ") or shutil.which("git"):
                _verdict(judgement.decide(command, top, environ, record=False))
        say("\nWhat an agent reads instead of seeing its command run:\n")
        refusal = judgement.text(judgement.decide(REFUSED, top, environ, record=False), environ)
        for line in refusal.splitlines():
            say(textwrap.fill(line, 78, initial_indent="  ", subsequent_indent="  ", drop_whitespace=True))
        say(f"\nHow guard sees it:  guard explain {EXPLAINED!r}\n")
        explain.show(judgement.decide(EXPLAINED, top, environ, record=False))
        say("\nA script or a makefile calls its tools by name. With guard's shims on PATH, each")
        say("such call is judged when it comes. These are run:")
        for tool, command in GUARDED:
            if shutil.which(tool):
                _guarded(f"guard exec -- {command}", ("--", *command.split()), top, environ)
        say("\nA program may delete without calling any tool. When it is over, guard brings")
        say("back what it lost:")
        _guarded(f"guard exec -- python3 -c {PROGRAM!r}", ("--", *_program()), top, environ)
        why = sandbox.available(environ)
        if why is None:
            say("\nIn a sandbox the kernel refuses, so that nothing is gone even for a moment:")
            _guarded(
                f"guard exec --sandbox -- python3 -c {PROGRAM!r}",
                (f"--sandbox={sandbox.ALWAYS}", "--", *_program()),
                top,
                environ,
            )
        else:
            say(f"\nThere is no sandbox here, which would not even let that begin: {why}.", wrap=True)
        say("\nA loop runs an agent again and again. This one works once, does nothing twice,")
        say("and then deletes with a program. guard brings back what is lost, and stops it:")
        _guarded("guard loop -- sh -c AGENT", ("--", "sh", "-c", _agent()), top, environ, "loop")
    say("\nTry it in a project of yours:  guard list,  guard check -- 'rm -rf docs'")
    return 0


def _verdict(decision: Decision) -> None:
    said, harmed = decision.verdict.decision, decision.verdict.total
    line = f"  {decision.request.command:54s}"
    files = f"  {harmed} file{'s' * (harmed > 1)}"
    say("  ", (f"{said:5s}", said), line if harmed else line.rstrip(), (files if harmed else "", "dim"))


def _program() -> tuple[str, ...]:
    return "python3" if shutil.which("python3") else sys.executable, "-c", PROGRAM


def _agent() -> str:
    """What an agent of the loop does in each iteration, as a shell command."""
    python, option, program = _program()
    return AGENT.replace("PROGRAM", f"{python} {option} '{program}'")


def _guarded(shown: str, words: tuple[str, ...], top: str, environ: dict[str, str], verb: str = "exec") -> None:
    """Runs guard exec, or another verb, with these words in the project, and prints what came of it; of a traceback its end."""
    argv = (sys.executable, "-P", "-m", "guard", verb, *words)
    environ = environ | {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    run = subprocess.run(argv, cwd=top, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    say(f"\n  $ {shown}")
    lines = (run.stdout + run.stderr).splitlines()
    for line in lines[-1:] if any(line.startswith("Traceback ") for line in lines) else lines:
        say(textwrap.fill(line, 78, initial_indent="  ", subsequent_indent="  ", drop_whitespace=True))
    for witness in WITNESSES:
        names = sorted(os.listdir(f"{top}/{witness}")) if os.path.isdir(f"{top}/{witness}") else []
        say((f"  {witness + '/':8s}{' '.join(names) or 'gone'}", "dim"))


@contextmanager
def _project() -> Iterator[tuple[str, dict[str, str]]]:
    """A temporary project with a home of its own, gone afterwards: its directory and environment."""
    with tempfile.TemporaryDirectory(prefix="guard-demo-") as temporary:
        home = os.path.realpath(temporary)
        top = Path(home, "project")
        environ = {**ENVIRON, "HOME": home, "PATH": os.environ.get("PATH", os.defpath)}
        for name, content in FILES.items():
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        _commit(top, environ)
        yield str(top), environ


def _commit(top: Path, environ: dict[str, str]) -> None:
    """Makes the project a repository; without git, something that guard takes for one."""
    identity = ("-c", "user.name=demo", "-c", "user.email=demo@example.invalid", "-c", "init.defaultBranch=main")
    if shutil.which("git") is None:
        (top / ".git").mkdir()
        return
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "start")):
        subprocess.run(("git", *identity, *arguments), cwd=top, env=environ, check=True, stdin=subprocess.DEVNULL)
