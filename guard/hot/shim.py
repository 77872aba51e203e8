"""The judge of the shims: one call of a tool, its exact arguments, just before it would run.

    shim DIRECTORY NAME ARGUMENT...

DIRECTORY is that of the shims, NAME what the tool was called as. Status 0: run it; anything else: do not. It never reads what
the tool would read, and writes only to standard error.
"""

from __future__ import annotations

import os

from guard.hot import answer, limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from guard.decision import Decision
    from guard.policy import Policy

LINE_LIMIT = 4096  # characters of an argument vector that are kept
SECONDS, STEPS = 9.0, 50_000_000  # nobody waits for a time-out here, and a builder may remove thousands of files at once
REPAIR = "Repair it with: guard shims install"


def main(arguments: list[str]) -> int:
    """Judges a call; gives the exit status: 0 run it, 1 refused, 70 guard's own fault."""
    try:
        if len(arguments) < 2:
            return answer.complaint("shim is what guard's shims call: shim DIRECTORY NAME ARGUMENT...")
        limits.impose(_refuse, SECONDS + 0.5)
        return _judge(arguments[0], tuple(arguments[1:]))
    except KeyboardInterrupt:
        return answer.INTERRUPTED
    except BaseException as error:
        return answer.failure(error)
    finally:
        limits.lift()


def _judge(directory: str, argv: tuple[str, ...]) -> int:
    from guard import shim_data
    from guard.hot import judgement

    places = shim_data.places(directory)
    if not places:
        return answer.complaint(
            f"refused. Nothing was run: the shims do not know where guard's files are. {REPAIR}", answer.FAULT
        )
    environ = _environment()
    cwd = _here()
    if cwd is None:
        return answer.complaint("refused. Nothing was run: the way to the current directory cannot be looked at.", answer.DENIED)
    decision = decide(argv, cwd, environ, directory, places)
    answer.write(answer.ERROR, judgement.text(decision, environ, _terminal()))
    return answer.EXIT[decision.verdict.decision]


def decide(
    argv: tuple[str, ...], cwd: str, environ: Mapping[str, str], directory: str, places: Sequence[Mapping[str, str]]
) -> Decision:
    """The decision on one call of a tool that comes from the shims in `directory`, written to the log.

    What is protected is what the `places` say (shim_data); where that has changed, the shims' data is renewed.
    """
    from guard import actor, project, shim_data
    from guard.decision import Request, new_id
    from guard.hot.judgement import by_rule, concluded, kept, limited, permitted
    from guard.shell.analyse import analyse_call
    from guard.shell.text import command_line
    from guard.world import Budget, World

    world = World(environ, Budget(SECONDS, STEPS))
    request = Request(command_line(argv, LINE_LIMIT), cwd, new_id(), "shim", actor.mark(environ))
    policies: list[Policy] = []

    data = shim_data.read(directory)

    def think() -> Decision:
        policies.extend(project.registered(place, world, whole=data.linked or data.stale) for place in places)
        return unless_stopped(concluded(request, analyse_call(argv, cwd, world), policies, world, attended=False), argv, policies)

    here = [place for place in places if all(environ.get(name) == value for name, value in place.items())]
    states = [project.state_dir(place) for place in reversed(here or places)]
    state = next(filter(project.vouched, states), states[0]) if len(states) > 1 else states[0]
    decision = by_rule(limited(request, think), policies, world)
    decision = kept(permitted(decision, policies, world, state), state)
    found = [root.path for policy in policies for root in policy.roots if root.path not in data.roots]
    if found or data.stale:
        shim_data.renew(directory, found)
    return decision


def unless_stopped(decision: Decision, argv: tuple[str, ...], policies: Sequence[Policy]) -> Decision:
    """The decision, or a refusal where git would stop half-way, because a sandbox holds what it would replace or take away."""
    from guard.verdict import ALLOW, DENY, Reason, Verdict

    if argv[0].rpartition("/")[2] != "git" or decision.verdict.decision != ALLOW:
        return decision
    from guard import mounts
    from guard.shown import place

    points = {path: writable for path, writable in mounts.points().items() if any(map(_protects(path), policies))}
    if not points:
        return decision
    stopped = mounts.stopped(decision.analysis.effects, points)
    if stopped:
        reason = Reason("stops-half-way", DENY, place(stopped[0], decision.request.cwd), total=len(stopped))
    elif _pulls(argv) and any(map(_lies_in(decision.request.cwd), points)):
        reason = Reason("stops-unforeseen", DENY, "git pull")
    else:
        return decision
    return decision._replace(verdict=Verdict(DENY, (reason,)))


def _pulls(argv: tuple[str, ...]) -> bool:
    """Is it git pull, as far as the words that are no options tell?"""
    words = [argv[at] for at in range(1, len(argv)) if argv[at - 1] not in ("-C", "-c") and argv[at][:1] != "-"]
    return words[:1] == ["pull"]


def _protects(path: str) -> Callable[[Policy], bool]:
    return lambda policy: policy.level(path) is not None or policy.reach(path)


def _lies_in(cwd: str) -> Callable[[str], bool]:
    from guard.paths import below

    return lambda path: path != "/" and below(cwd, path)


def _environment() -> dict[str, str]:
    """The environment of the call, without the shims on its PATH."""
    from guard import search_path

    environ = dict(os.environ)
    shim = environ.pop("GUARD_SHIM_PID", "")
    if shim == str(os.getppid()):
        environ = _started_with(shim) or environ
    environ.pop("GUARD_SHIM", None)
    if "PATH" in environ:
        environ["PATH"] = search_path.without(environ["PATH"])
    return environ


def _started_with(process: str) -> dict[str, str]:
    """The environment that a process was started with; empty where the system does not tell."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            entries = os.fsdecode(file.read()).split("\0")
    except OSError:
        return {}
    return dict(entry.partition("=")[::2] for entry in entries if entry)


def _here() -> str | None:
    """The current directory; where it has been removed, a name below which nothing is; None where it cannot be looked at."""
    try:
        here = os.stat(".")
        path = os.getcwd()
        named = os.stat(path)
    except FileNotFoundError:
        return "/dev/null/removed"
    except OSError:
        return None
    return path if (here.st_dev, here.st_ino) == (named.st_dev, named.st_ino) else None


def _terminal() -> bool:
    try:
        return os.isatty(2)
    except OSError:
        return False


def _refuse() -> None:
    """Ends the process, because time is up."""
    answer.write(answer.ERROR, "guard: refused. Nothing was run: it could not be judged in time. Split it into smaller calls.\n")
    os._exit(answer.DENIED)
