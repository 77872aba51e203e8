"""The words of a git hook: what a commit or push would lose, how to keep it, and, for people, how to mean it."""

from __future__ import annotations

import os

from guard import actor, message
from guard.commits.difference import DELETED, Difference
from guard.commits.trailers import written
from guard.paths import child
from guard.shell.text import quote
from guard.shown import quoted, short, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from guard.commits.changes import Change
    from guard.commits.court import Finding
    from guard.commits.refs import Update
    from guard.decision import Decision

NAMED = 20  # paths that a command for getting back what is lost names
SHOWN = 6
REBASE = "git rebase "
DONE = {"git push": "pushed", REBASE: "changed"}
BACK = "Bring back what is protected"


def refusal(
    decision: Decision, lost: Sequence[Difference], change: Change, top: str, environ: Mapping[str, str], person: bool, meant: str
) -> str:
    """The message that nothing was committed or pushed. `meant` tells a person how to do it all the same."""
    request, verdict = decision.request, decision.verdict
    audience = actor.PERSON if person else actor.AGENT
    prefix = _prefix(environ)
    instead = restoring(lost, change.source, top, prefix) or None
    if request.command.startswith(REBASE):
        instead = _merging(lost, request.command.removeprefix(REBASE), prefix)
    elif instead and change.source:  # what a commit has lost, only another one brings back
        instead += f" && git commit -m {quote(BACK)}"
    text = message.render(verdict, request, audience, coloured(environ, person), instead, 0)
    done = next((said for start, said in DONE.items() if request.command.startswith(start)), "committed")
    text = text.replace(" Nothing was run.\n", f" Nothing was {done}.\n", 1)
    return text + meant if person else text


def announcement(finding: Finding, change: Change, top: str, environ: Mapping[str, str]) -> str:
    """What a person is told before the editor opens, where the message decides."""
    lost = [each.path for each in finding.lost]
    noun = "a protected file" if len(lost) == 1 else f"{len(lost):,} protected files"
    lines = [
        f"guard: {short(change.command)} takes {noun} away: {names(lost)}",
        "If that is meant, end the message with the line",
    ]
    lines += [f"  {visible(written(shortened(lost)))}"]
    back = restoring(finding.lost, change.source, top, _prefix(environ))
    return "\n".join([*lines, f"Else leave it empty, and: {back}" if back else "Else leave it empty."]) + "\n"


def with_trailer(lost: Sequence[Difference], how: str) -> str:
    """How a person says in a message that a loss is meant."""
    return f"If it is meant, {how}\n  {visible(written(shortened([each.path for each in lost])))}\n"


def bypassing(command: str, name: str = "") -> str:
    """How a person does it where no message can say that it is meant; `name` is the refusal's, "" where it has none."""
    if command == "git am" and name:
        return f"If it is meant: pathguard allow {name}, then git am --continue\n"
    words = command.split(" ", 2)
    return f"If it is meant: {visible(' '.join([*words[:2], '--no-verify', *words[2:]]))}\n"


def restoring(lost: Sequence[Difference], source: str, top: str, prefix: str = "") -> str:
    """The command that brings back what is lost, from a commit or HEAD ("" while a commit is made); "" for too many.

    What is gone comes back into the work tree, too, unless something stands there; what has only changed is unstaged.
    """
    if not 0 < len(lost) <= NAMED:
        return ""
    gone = [each.path for each in lost if each.status == DELETED and not os.path.lexists(child(top, each.path))]
    changed = [each.path for each in lost if each.path not in gone]
    start = f"git restore --source={source[:12]}" if source else "git restore"
    commands = [f"{start} --staged --worktree -- {_listed(gone, prefix)}"] if gone else []
    commands += [f"{start} --staged -- {_listed(changed, prefix)}"] if changed else []
    return " && ".join(commands)


def _merging(lost: Sequence[Difference], upstream: str, prefix: str) -> str | None:
    """The command that takes the other side in without what it has lost; None for too many."""
    if len(lost) > NAMED:
        return None
    paths = _listed([each.path for each in lost], prefix)
    taken = f"git restore --source=HEAD --staged --worktree -- {paths}"
    return f"git merge --no-ff --no-commit {upstream} && {taken} && git commit --no-edit"


def unseen(update: Update, remote: str) -> str:
    """The refusal where nobody can tell what a push takes away."""
    return (
        f"guard: refused. What {remote} has in {quoted(update.name)} is not here, so nobody can tell which protected files the "
        f"push would take away. Nothing was pushed.\nInstead: git fetch {quote(remote)}, then push again.\n"
    )


def honoured(finding: Finding, command: str) -> str:
    """One line that says what let something through."""
    paths = list(dict.fromkeys(each.path for each in finding.honoured))
    commits = list(dict.fromkeys(each.commit[:12] for each in finding.honoured if each.commit))
    by = f" in {names(commits)}" if commits else ""
    return f"guard: {short(command)} may lose what Guard-Allow names{by}: {names(paths)}\n"


def gone(lost: Sequence[Difference], source: str, what: str, prefix: str = "") -> str:
    """What a person is told when it has happened."""
    number = "a protected file" if len(lost) == 1 else f"{len(lost):,} protected files"
    paths = [each.path for each in lost]
    back = f"git restore --source={source[:12]} -- {_listed(paths[:NAMED], prefix)}"
    return f"guard: {what} {number}: {names(paths)}\nTo have {'it' if len(lost) == 1 else 'them'} back: {back}\n"


def missing(paths: Sequence[str]) -> str:
    """What a person is told of files that the last snapshot has."""
    number = "a protected file" if len(paths) == 1 else f"{len(paths):,} protected files"
    back = "To get back what is lost: pathguard restore --all"
    return f"guard: {number} of the last snapshot cannot be found: {names(paths)}\n{back}\n"


def names(paths: Sequence[str]) -> str:
    """The first of some paths, and how many more there are."""
    more = f"  and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
    return "  ".join(map(quoted, paths[:SHOWN])) + more


def shortened(paths: Sequence[str]) -> list[str]:
    """The paths, or the directory that they all lie in, where they are many."""
    if len(paths) <= SHOWN:
        return list(paths)
    top = os.path.commonpath(list(paths))
    return [top] if top else sorted({path.partition("/")[0] for path in paths})


def coloured(environ: Mapping[str, str], person: bool) -> bool:
    """May the message have colours?"""
    try:
        return person and os.isatty(2) and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    except OSError:
        return False


def _prefix(environ: Mapping[str, str]) -> str:
    """The directory that git was called in, relative to the top."""
    return environ.get("GIT_PREFIX", "").rstrip("/")


def _listed(paths: Sequence[str], prefix: str) -> str:
    """The paths as arguments of git, seen from the directory that it was called in ("" for the top)."""
    return " ".join(quote(_pathspec(os.path.relpath(path, prefix) if prefix else path)) for path in paths)


def _pathspec(path: str) -> str:
    return f":(literal){path}" if path.startswith(":") or any(character in "*?[\\" for character in path) else path
