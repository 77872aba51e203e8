"""Command lines of git on a real repository: what the model foresees against what git does."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

from guard.effects import At, Below, Effect
from guard.overlay import View
from guard.tools.git.work import digest
from guard.world import Budget, World
from tests.tool_harness import CLEAN_ENV, Ran

FIXTURE = r"""
set -eu
mkdir -p app; cd app
git init -q -b main .
mkdir -p specs/deep .claude/commands .ralph memory src/lib build dist node_modules/pkg logs tmp docs
echo '# manual' > CLAUDE.md; echo '# agents' > AGENTS.md; printf -- '- [x] one\n- [ ] two\n' > PLAN.md
echo '# spec a' > specs/a.md; echo '# spec b' > specs/deep/b.md; echo '{}' > specs/api.json; echo run > .claude/commands/x.md
echo 'print(1)' > src/main.py; echo 'x = 1' > src/lib/util.py; echo doc > docs/guide.md; echo '# app' > README.md
printf 'node_modules/\nbuild/\ndist/\nlogs/\n*.log\n.ralph/\n.env\n' > .gitignore
ln -s specs spec-link
git add -A; git commit -qm first
git switch -qc no-specs; git rm -rq specs spec-link; echo '# agents, other' > AGENTS.md; git commit -qam 'no specs'
git switch -q main
git switch -qc feature; echo 'print(2)' > src/main.py; git commit -qam feature; git switch -q main
git switch -qc conflict; echo 'other' > specs/a.md; git rm -q PLAN.md; git commit -qam conflict; git switch -q main
git switch -qc adds; mkdir -p memory; echo 'theirs' > memory/lessons.md; mkdir -p logs; echo new > logs/run.log
git add -f memory logs; git commit -qm adds; git switch -q main
git tag v1
echo more >> specs/a.md; git commit -qam second
git worktree add -q ../wt feature
mkdir -p memory logs
echo 'lesson 1' > memory/lessons.md; echo 'lesson 2' > memory/more.md
echo 'do it' > .ralph/PROMPT.md; mkdir .ralph/logs; echo l > .ralph/logs/l.txt
echo draft > specs/draft.md; echo uncommitted >> specs/api.json; echo '# edit' >> src/lib/util.py
echo o > build/o.o; echo d > dist/app.js; echo m > node_modules/pkg/index.js; echo l > logs/run.log; echo t > tmp/scratch.txt
echo x > tmp/x.log; echo junk > junk.txt; echo SECRET=1 > .env; echo 'a b' > 'with space.txt'
git init -q tmp/nested; echo n > tmp/nested/n.txt
"""


def environment(home: Path) -> dict[str, str]:
    """The variables for git: nothing of the machine's configuration."""
    return {
        **CLEAN_ENV,
        "HOME": str(home),
        "GIT_AUTHOR_NAME": "dev",
        "GIT_AUTHOR_EMAIL": "dev@example.invalid",
        "GIT_COMMITTER_NAME": "dev",
        "GIT_COMMITTER_EMAIL": "dev@example.invalid",
        "GIT_EDITOR": "true",
    }


def build(home: Path, script: str = FIXTURE) -> Path:
    """Builds the repository in `home`/app."""
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text(
        '[user]\nname=dev\nemail=dev@example.invalid\n[advice]\ndetachedHead=false\n[protocol "file"]\nallow=always\n'
        "[alias]\nnuke = clean -fdx\nwipe = !rm -rf specs\nst = status --short\nloop = loop\ntwo = nuke build\n"
    )
    subprocess.run(["bash", "-c", script], cwd=home, env=environment(home), check=True, capture_output=True)
    return home / "app"


class Seen(NamedTuple):
    """What stood at each path: content, or b"<link>" and the target."""

    files: dict[str, bytes]


def files(top: Path) -> dict[str, bytes]:
    """Every file and link, the main repository's own directory left out."""
    found = {}
    for directory, dirs, names in os.walk(top):
        dirs[:] = [d for d in dirs if d != ".git"]
        for name in [*names, *(d for d in dirs if os.path.islink(os.path.join(directory, d)))]:
            path = os.path.join(directory, name)
            if name != ".git":
                link = os.path.islink(path)
                found[os.path.relpath(path, top)] = (
                    b"<link>" + os.fsencode(os.readlink(path)) if link else Path(path).read_bytes()
                )
    return found


def foresee(home: Path, command: str, stdin: str | None = None, cwd: str = "app") -> Ran:
    """The model of a command line of simple commands joined by &&, || and ;."""
    ran = Ran(home / cwd, environment(home))
    ran.view = View(World(ran.env, Budget(30, 10**7)))
    ran.statuses = []  # type: ignore[attr-defined]
    status: int | None = 0
    for operator, text in parts(command):
        if (operator == "&&" and status not in (0, None)) or (operator == "||" and status == 0):
            continue
        words = shlex.split(text)
        env = dict(ran.env)
        while re.match(r"\w+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            env[name] = value
        if words[0] == "cd":
            ran.cwd = os.path.normpath(os.path.join(ran.cwd, words[1]))
            continue
        if words[0] == "echo":
            _echo(ran, words)
            continue
        result = ran.run(tuple(words), stdin=stdin, env=env)
        status = result.status
        ran.statuses.append(status)  # type: ignore[attr-defined]
        ran.result = result  # type: ignore[attr-defined]
    return ran


def _echo(ran: Ran, words: list[str]) -> None:
    """`echo text > file` or `>> file`."""
    at = next(n for n, word in enumerate(words) if word.startswith(">"))
    path = os.path.join(ran.cwd, words[at + 1])
    text = (" ".join(words[1:at]) + "\n").encode()
    old = ran.view.read(path) or b"" if words[at] == ">>" else b""
    ran.emit(Effect("overwrite", At(ran.view.through(path)), content=old + text))


def parts(command: str) -> list[tuple[str, str]]:
    """The simple commands with the operator in front of each."""
    found = []
    operator = ""
    for piece in re.split(r"\s*(&&|\|\||;)\s*", command):
        if piece in ("&&", "||", ";"):
            operator = piece
        elif piece:
            found.append((operator, piece))
    return found


def really(home: Path, command: str, stdin: str | None = None, cwd: str = "app") -> tuple[int, str]:
    """Runs the command line; gives status and output."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=home / cwd,
        env=environment(home),
        input=(stdin or "").encode(),
        capture_output=True,
        timeout=60,
    )
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape")


def shown(view: View, home: Path, before: dict[str, bytes]) -> dict[str, bytes | None]:
    """What the view has of the files that were there; None where the content is not known."""
    found: dict[str, bytes | None] = {}
    for path in before:
        absolute = str(home.resolve() / path)
        kind = view.kind(absolute) if view.at(absolute) == absolute else None
        if kind == "symlink":
            found[path] = b"<link>" + os.fsencode(view.readlink(absolute) or "")
        elif kind is not None and kind != "directory":
            base = view.lookup(absolute).base or ""
            if "/@objects/" in base:  # the content of a blob: the same, if the id is
                same = digest(before[path]) == base.rpartition("/")[2]
                found[path] = before[path] if same else None
            else:
                found[path] = view.read(absolute)
    return found


def hit(effects: list[Effect], actions: set[str], home: Path, before: dict[str, bytes]) -> set[str]:
    """The files at or below the targets of effects with these actions."""
    found = set()
    for effect in effects:
        if effect.action not in actions:
            continue
        for path in before:
            absolute = str(home.resolve() / path)
            target = effect.target
            exact = isinstance(target, At) and (absolute == target.path or absolute.startswith(target.path + "/"))
            if exact or (isinstance(target, Below) and absolute.startswith(target.path + "/")):
                found.add(path)
    return found
