"""analyse: a command's text to what it would do."""

from __future__ import annotations

import sys

from guard.effects import DELETE, LINK, MOVE, OVERWRITE, TRUNCATE, Analysis, At, Effect, Unknown
from guard.overlay import View
from guard.shell.interactive import TERMINAL
from guard.shell.nodes import TooMany
from guard.shell.state import State, Stream
from guard.shell.text import command_line
from guard.shell.walk import Limit, Walker
from guard.world import OutOfBudget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.world import World

UNDOING = frozenset((DELETE, MOVE, OVERWRITE, TRUNCATE, LINK))
RECURSION = 8000  # Python frames; a level of shell costs about 25, and 40 levels are a limit


def undone(effect: Effect, results: list[State]) -> bool:
    """True when, however the command ends, the very path that an effect took away shows again what stood there before."""
    target = effect.target
    if effect.action not in UNDOING or not isinstance(target, At) or not effect.certain or not results:
        return False
    return all(result.view.touched(target.path) and result.view.shows(target.path) for result in results)


def analyse(text: str, cwd: str, world: World, typing: bool = False) -> Analysis:
    """What the text would do, run by bash in the physical directory `cwd`.

    With `typing` somebody may type into what it starts: a program that would run that has the effect OPEN_SHELL. Never raises:
    what could not be done within the limits is an Unknown with the limit's code and no reach.
    """

    def run(walker: Walker, state: State) -> list[State]:
        if typing:
            walker.typing, state.input = True, Stream(TERMINAL)
        return walker.run_process(state, text)

    return _analysed(text, cwd, world, run)


def analyse_call(argv: tuple[str, ...], cwd: str, world: World) -> Analysis:
    """What an argument vector would do as a process of its own in the physical directory `cwd`, whatever its input is.

    Never raises, as analyse().
    """
    from guard.shell.simple import external, tool
    from guard.tools import model_of

    run = external if model_of(argv[0]) is None else tool
    return _analysed(command_line(argv), cwd, world, lambda walker, state: run(walker, state, argv, state.exports()))


def _analysed(text: str, cwd: str, world: World, run: Callable[[Walker, State], list[State]]) -> Analysis:
    walker = Walker(world)
    status: int | None = None
    recursion = sys.getrecursionlimit()
    sys.setrecursionlimit(max(recursion, RECURSION))
    try:
        state = State(View(world), cwd, world.environ)
        state.captured = False
        logical = world.environ.get("PWD", "")
        state.variables["PWD"] = logical if logical.startswith("/") and state.view.through(logical) == cwd else cwd
        results = run(walker, state)
        if not walker.dropped:
            walker.effects = [effect for effect in walker.effects if not undone(effect, results)]
        statuses = {result.status for result in results}
        status = statuses.pop() if len(statuses) == 1 else None
    except OutOfBudget:
        walker.unknowns.append(Unknown("out-of-time", text[:200]))
    except Limit as limit:
        walker.unknowns.append(Unknown(limit.code, limit.what or text[:200]))
    except TooMany:
        walker.unknowns.append(Unknown("too-long", text[:200]))
    except (RecursionError, MemoryError):
        walker.unknowns.append(Unknown("too-deep", text[:200]))
    finally:
        sys.setrecursionlimit(recursion)
    return Analysis(tuple(walker.effects), tuple(walker.unknowns), "", status, tuple(walker.trace))
