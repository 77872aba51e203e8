"""The options of what steers loops (`guard loop pause` and the like): parses, and calls guard.commands.loop_verbs."""

from __future__ import annotations

from typing import Any

import click

from guard.commands.loop_options import DIRECTORY, DURATION, JSON, REASON

_ALL = click.option("--all", "everything", is_flag=True, help="Every loop that has run.")
_LOOPS = click.argument("trees", metavar="[LOOP]...", nargs=-1)
_TREE = click.argument("tree", metavar="[LOOP]", required=False)
MODES = ("auto", "manual", "paused")


def _at_the_gate(system: bool, trees: tuple[str, ...], others: dict[str, Any]) -> bool:
    """Is the machine's gate meant? Raises UsageError where single loops are meant as well."""
    wrong = [name for name, given in others.items() if given]
    if system and (trees or wrong):
        raise click.UsageError(f"--system and {wrong[0] if wrong else 'LOOP'} contradict each other.")
    return system


@click.command()
@_ALL
@click.option("--system", is_flag=True, help="The machine's gate: no loop starts an iteration.")
@click.option("--now", is_flag=True, help="Interrupt the running iteration.")
@click.option("--for", "lasts", help="It ends by itself after that.", **DURATION)
@REASON
@JSON
@DIRECTORY
@_LOOPS
def pause(
    everything: bool,
    system: bool,
    now: bool,
    lasts: int | None,
    reason: str,
    as_json: bool,
    directory: str | None,
    trees: tuple[str, ...],
) -> int:
    """Hold loops after the running iteration; before the first run, too.

    LOOP is a loop's id, its second name or a directory. Exit status: 0 held; 1 refused, or something that ranks higher holds it.
    """
    from guard.commands import loop_places, loop_verbs
    from guard.loop import control

    if lasts is not None and not 0 < lasts <= control.LONGEST_S:
        raise click.BadParameter(f"a pause lasts 1s to {control.LONGEST_S // 86400}d.", param_hint="--for")
    if _at_the_gate(system, trees, {"--all": everything}):
        return loop_verbs.close_gate(loop_places.state_dir(directory), reason, now, lasts or 0, as_json)
    request = control.Request(control.PAUSE, loop_verbs.trimmed(reason), now=now, lasts_s=lasts or 0)
    return loop_verbs.send(loop_places.several(trees, directory, everything), request, as_json)


@click.command()
@_ALL
@click.option("--system", is_flag=True, help="The machine's gate alone; loops that are held stay so.")
@click.option("--once", is_flag=True, help="Let one iteration of a manual loop through.")
@REASON
@JSON
@DIRECTORY
@_LOOPS
def resume(
    everything: bool, system: bool, once: bool, reason: str, as_json: bool, directory: str | None, trees: tuple[str, ...]
) -> int:
    """Lift what holds loops, or open the machine's gate; never both.

    An open breaker that waits for a person probes once its cooldown is over. Exit status: 0 done; 1 refused, or nothing is held.
    """
    from guard.commands import loop_places, loop_verbs

    if _at_the_gate(system, trees, {"--all": everything, "--once": once}):
        return loop_verbs.open_gate(loop_places.state_dir(directory), reason, as_json)
    return loop_verbs.resume(loop_places.several(trees, directory, everything), once, reason, as_json)


@click.command()
@REASON
@JSON
@DIRECTORY
@click.argument("words", metavar="[LOOP] auto|manual|paused", nargs=-1, required=True)
def mode(reason: str, as_json: bool, directory: str | None, words: tuple[str, ...]) -> int:
    """Set whether a loop goes on by itself, waits before each iteration for guard loop resume --once, or is held.

    Exit status: 0 done; 1 refused.
    """
    from guard.commands import loop_places, loop_verbs
    from guard.loop import control

    *trees, value = words
    if value not in MODES or len(trees) > 1:
        raise click.UsageError(f"give at most one LOOP, and then one of {', '.join(MODES)}.")
    places = loop_places.several(tuple(trees), directory, False)
    why = loop_verbs.trimmed(reason)
    request = control.Request(control.PAUSE, why) if value == "paused" else control.Request(control.MODE, why, value=value)
    return loop_verbs.send(places, request, as_json)


@click.command()
@click.option("--now", is_flag=True, help="At once, not after the iteration.")
@click.option("--all", "everything", is_flag=True, help="Every loop that runs.")
@REASON
@JSON
@DIRECTORY
@_LOOPS
def stop(now: bool, everything: bool, reason: str, as_json: bool, directory: str | None, trees: tuple[str, ...]) -> int:
    """End runs after their iteration; they exit 130.

    Exit status: 0 asked for; 1 nothing runs there, or refused: an agent may not end its own loop.
    """
    from guard.commands import loop_places, loop_verbs

    return loop_verbs.stop(loop_places.several(trees, directory, everything), now, reason, everything, as_json)


@click.command()
@click.option("--keep", is_flag=True, help="In every prompt, not only in the next one.")
@click.option("--clear", is_flag=True, help="Forget what it was to be told.")
@JSON
@DIRECTORY
@click.argument("words", metavar="[LOOP] TEXT", nargs=-1)
def steer(keep: bool, clear: bool, as_json: bool, directory: str | None, words: tuple[str, ...]) -> int:
    """Tell the agent something with its next prompt; - reads it from standard input.

    For people: the agent is told that the user says it. Exit status: 0 noted; 1 refused.
    """
    from guard.commands import loop_places, loop_verbs

    if len(words) > 2 - clear or (clear and keep):
        raise click.UsageError("give at most one LOOP, and the text as one argument." if not clear else "--clear takes no text.")
    trees, text = (words, "") if clear else (words[:-1], words[-1] if words else "")
    return loop_verbs.steer(loop_places.several(tuple(trees), directory, False), text, keep, clear, as_json)


@click.command()
@click.option("--reason", metavar="TEXT", help="Why it may go on; the journal keeps it.")
@click.option("--to-closed", is_flag=True, help="Close the breaker at once; counters start at 0.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@DIRECTORY
@_TREE
def reset(reason: str | None, to_closed: bool, yes: bool, directory: str | None, tree: str | None) -> int:
    """Let an open breaker try once more, and lift a hold.

    For people, at a terminal of their own. Exit status: 0 done; 1 refused, or there is nothing to reset.
    """
    from guard.commands import loop_places, loop_verbs

    (place,) = loop_places.named(tree, directory)
    return loop_verbs.reset(place, reason, to_closed, yes)


COMMANDS = (reset, pause, resume, mode, stop, steer)
