"""`guard loop init`: writes what a loop needs and is not there: the prompt, the plan, the configuration. Overwrites nothing."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass

from guard import roots
from guard.commands import place, template
from guard.commands.output import say
from guard.errors import STATE, GuardError
from guard.loop import lock, plan, projects, prompt, store, whereabouts
from guard.loop.identity import place as loop_place
from guard.loop.identity import top_of
from guard.shown import visible

PROMPT = """\
# What to do

<!-- Say in a few sentences what this project is and what it is to become. Delete this line. -->

Work on the first open task of `{plan}`, and on that one only.

1. Read what belongs to it: the specification in `specs/`, the code, its tests. Search before you take something for missing.
2. Do it in full. No placeholders; say so in the plan where something cannot be done.
3. Run the tests{command}. Mend what you broke.
4. Tick the task in `{plan}` (`- [x]`) once it is done and its tests pass. Add tasks that you found; never remove one.
5. Commit, with a message that says why.

Do not delete, empty or rewrite `{prompt}`, `{plan}`, `specs/` or the configuration: they are protected, and the run stops.

# How to end each reply

The last lines of each reply are a status block, one value a key:

```
---RALPH_STATUS---
STATUS: IN_PROGRESS
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 3
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: false
RECOMMENDATION: what comes next, in one line
---END_RALPH_STATUS---
```

- STATUS: IN_PROGRESS, COMPLETE (every task of the plan is done), or BLOCKED (a person is needed: say for what).
- TESTS_STATUS: PASSING, FAILING or NOT_RUN. WORK_TYPE: IMPLEMENTATION, TESTING, DOCUMENTATION, REFACTORING or DEBUGGING.
- EXIT_SIGNAL: true only when every task is ticked and the tests pass. It is checked, and a claim that is not true goes on.
"""

PLAN = """\
# Plan

One task a line, small enough for one sitting; the first open one is next.

## Now

<!-- - [ ] a task looks like this one, without the marks of a comment -->

## Optional

<!-- Open tasks below this heading do not keep a run from being complete. -->
"""

LOOP = """
[{table}]
# max_iterations = 100        # and the other limits: guard loop --help, docs/loop.md
{verify}
"""
VERIFY = 'verify = "{command}"    # has to succeed before a run is complete'
NO_VERIFY = '# verify = "make test"       # has to succeed before a run is complete; no command was found here'
RUNTIME = "# What runs make here; prompt and plan are to be committed.\n/.*\n/*.json\n/logs/\n!/.gitignore\n"


@dataclass(frozen=True)
class File:
    """A file that is to be written, relative to the tree."""

    name: str
    text: str


def run(directory: str | None, dry_run: bool) -> int:
    """Writes the files; gives the exit status: 0 also where all is there. Raises GuardError, and then names what it wrote."""
    if directory is not None and not os.path.isdir(directory):
        raise GuardError("there is no such directory", f"-C {visible(directory)}", "name one that is there")
    top = top_of(directory or ".")
    _check(top)
    command = projects.verify(top)
    prompt_name, plan_name = _names(top)
    wanted = _wanted(top, prompt_name, plan_name, command)
    lacks = roots.CONFIG not in {file.name for file in wanted} and not _has_section(top)
    if not dry_run:
        _write(top, wanted)
    word = "would write" if dry_run else "wrote"
    for file in wanted:
        say(f"{word}  {visible(file.name)}")
    there = [name for name in (prompt_name, plan_name) if name not in {file.name for file in wanted}]
    for name in there:
        say(("there already: ", "dim"), visible(name))
    if lacks:
        _tell_section(top, command)
    if dry_run:
        say("Nothing was written.")
    _tell_next(top, prompt_name, plan_name, command)
    return 0


def _check(top: str) -> None:
    """Raises GuardError where nothing may be written now: a loop is at work, or a link would lead elsewhere."""
    state = store.peek(loop_place(whereabouts.known(os.environ, top), top))
    if state is not None and state.run is not None and not state.run.ended and lock.alive(state.run.pid, state.run.pid_start):
        raise GuardError("a loop is at work in this tree", visible(top), "wait for its end, or: guard loop stop")
    path = f"{top}/{plan.RALPH}"
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
        raise GuardError("it is no directory", visible(path), "make it one, or take it away")


def _names(top: str) -> tuple[str, str]:
    """Prompt and plan, relative to the tree: those that are there, or where they are to be.

    New ones go into .ralph/, which is protected as a whole; beside the other where that one stands at the top.
    """
    inside = os.path.isdir(f"{top}/{plan.RALPH}")
    told = os.path.relpath(found, top) if (found := prompt.find(top)) else ""
    tasks = next((name for name in plan.NAMES if os.path.lexists(f"{top}/{name}")), "")
    if inside and not tasks.startswith(f"{plan.RALPH}/"):
        tasks = ""
    at_top = not inside and (told or tasks)
    return told or prompt.NAMES[bool(at_top)], tasks or (plan.NAMES[-1] if at_top else plan.NAMES[0])


def _wanted(top: str, prompt_name: str, plan_name: str, command: str) -> list[File]:
    shown = f" (`{command}`)" if command else ""
    found = [
        File(prompt_name, PROMPT.format(prompt=prompt_name, plan=plan_name, command=shown)),
        File(plan_name, PLAN),
    ]
    if prompt_name.startswith(f"{plan.RALPH}/"):
        found.append(File(f"{plan.RALPH}/.gitignore", RUNTIME))
    if not roots.configured(top, place.world()):
        found.append(File(roots.CONFIG, template.text(top) + section(command)))
    return [file for file in found if not os.path.lexists(f"{top}/{file.name}")]


def section(command: str, table: str = "loop") -> str:
    """The loop's part of guard.toml."""
    text = command.replace("\\", "\\\\").replace('"', '\\"')
    return LOOP.format(table=table, verify=VERIFY.format(command=text) if command else NO_VERIFY)


def _write(top: str, wanted: list[File]) -> None:
    made: list[str] = []
    for file in wanted:
        path = f"{top}/{file.name}"
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            put(path, file.text)
        except OSError as error:
            done = f"; written: {', '.join(made)}" if made else ""
            what = f"it cannot be written ({error.strerror}){done}"
            raise GuardError(what, visible(path), "make room, or make it writable, and try again", STATE) from error
        made.append(file.name)


def put(path: str, text: str) -> None:
    """Writes a new file whole or not at all. Raises FileExistsError where there is one."""
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        _place(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _place(temporary: str, path: str) -> None:
    """Gives a file its name, which nobody may have."""
    try:
        os.link(temporary, path, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        if os.path.lexists(path):  # a file system without links
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        os.rename(temporary, path)


def _tell_section(top: str, command: str) -> None:
    table, name = _table(top)
    say(f"Add to {name}, which is yours alone to change:")
    for line in section(command, table).strip().splitlines():
        say(f"    {visible(line)}")


def _tell_next(top: str, prompt_name: str, plan_name: str, command: str) -> None:
    if not os.path.lexists(f"{top}/.git"):
        say("There is no git repository here. A loop runs without one, but its commits show what it did: git init")
    say("Next:")
    say(f"  write the tasks into {visible(plan_name)}, and what the project is into {visible(prompt_name)}")
    if command:
        say(f"  {visible(command)}    does it succeed now? a run is complete only when it does")
    say("  guard run --agent claude --dry-run    what would be run; starts nothing")
    say("  guard run --agent claude")


def _table(top: str) -> tuple[str, str]:
    """The name of the loop's table, and the file that it goes into."""
    return ("loop", roots.CONFIG) if os.path.lexists(f"{top}/{roots.CONFIG}") else ("tool.guard.loop", roots.PROJECT)


def _has_section(top: str) -> bool:
    """Does the configuration of the tree speak of loops? Raises GuardError where it cannot be read or makes no sense."""
    from guard.loop import configuration

    found = configuration.tables(top, os.environ, place.world())
    return any(table for path, table in found if os.path.dirname(path) == top)
