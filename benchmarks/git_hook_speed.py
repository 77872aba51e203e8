"""Times the hook before a commit in a repository of 50,000 files against the question to git that it has to ask.

    python benchmarks/git_hook_speed.py [FILES]

Prints the least times, and the hook as a multiple of `git diff --cached --name-status` plus `python -I -S -c pass`: by the clock,
and by the time of processors, which hardly depends on what else the machine does. The three run in turns. The hook is called as
installed hooks call it, through the launcher on the runtime; while git looks at the index it reads the policy, so by the clock it
is faster where there is a processor to spare. Ends with 1 where both multiples are above the goal.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from guard import project, runtime, shims
from guard.agents import launchers

ROUNDS = 25
GOAL = 1.5


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory, "repository")
        environ = {"HOME": directory, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
        make(top, count, environ)
        guard = launcher(environ)
        ratios = [compare(name, top, environ, guard) for name, change in CHANGES.items() if not change(top, environ)]
    return int(max(ratios) > GOAL)


def make(top: Path, count: int, environ: dict[str, str]) -> None:
    """A repository with one commit of `count` small files, some of them protected."""
    for at in range(count):
        path = top / f"src/{at % 100}/{at // 100}.txt"
        if at < 100 or at // 100 == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{at}\n" * 3)
    (top / "specs").mkdir()
    for at in range(20):
        (top / f"specs/{at}.md").write_text("".join(f"line {line} of {at}\n" for line in range(40)))
    git(top, environ, "init", "-q")
    git(top, environ, "add", ".")
    git(top, environ, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one")


def launcher(environ: dict[str, str]) -> str:
    home = str(project.data_dir(environ))
    os.makedirs(f"{home}/bin")
    runtime.ensure(home)
    shims.put(f"{home}/{launchers.GUARD}", runtime.launcher(home, shims.launcher_shell()))
    return f"{home}/{launchers.GUARD}"


def nothing(top: Path, environ: dict[str, str]) -> None:
    """Only new files are staged."""
    (top / "new.txt").write_text("new\n")
    git(top, environ, "add", "new.txt")


def deletion(top: Path, environ: dict[str, str]) -> None:
    """A thousand files that are not protected go."""
    git(top, environ, "rm", "-q", "-r", "src/1", "src/2")


def edit(top: Path, environ: dict[str, str]) -> None:
    """A protected file is edited, besides."""
    with (top / "specs/1.md").open("a") as file:
        file.write("one more line\n")
    git(top, environ, "add", "specs/1.md")


CHANGES = {"new files": nothing, "deletions": deletion, "an edited specification": edit}


def git(top: Path, environ: dict[str, str], *words: str) -> None:
    subprocess.run(["git", "-C", str(top), *words], env=environ, check=True)


def compare(name: str, top: Path, environ: dict[str, str], guard: str) -> float:
    python = [sys.executable, "-I", "-S", "-c", "pass"]
    diff = ["git", "diff", "--cached", "--name-status"]
    hook = [guard, "git-hook", "pre-commit"]
    times: dict[str, list[float]] = {"python": [], "diff": [], "hook": []}
    used: dict[str, list[float]] = {"python": [], "diff": [], "hook": []}
    for _ in range(ROUNDS):
        for label, argv in (("python", python), ("diff", diff), ("hook", hook)):
            start, before = time.perf_counter(), processor()
            subprocess.run(argv, cwd=top, env=environ, check=True, stdout=subprocess.DEVNULL)
            times[label].append(time.perf_counter() - start)
            used[label].append(processor() - before)
    return min(multiple(name, "by the clock", times), multiple("", "of processors", used))


def processor() -> float:
    """The seconds of processors that children have used."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def multiple(name: str, what: str, times: dict[str, list[float]]) -> float:
    least = {label: min(found) * 1000 for label, found in times.items()}
    found = least["hook"] / (least["python"] + least["diff"])
    told = "  ".join(f"{label} {value:5.1f} ms" for label, value in least.items())
    print(f"{name:24s} {what:13s}  {told}  x {found:.2f}")
    return found


if __name__ == "__main__":
    sys.exit(main())
