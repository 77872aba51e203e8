"""The options of `guard eval`: parses, and calls guard.commands.evaluation."""

from __future__ import annotations

import click

from guard.commands.loop_options import DIRECTORY, DURATION, JSON


@click.group("eval")
def evaluation() -> None:
    """Measure whether a loop's work is good, and whether it gets worse."""


@evaluation.command()
@click.option("--cmd", "command", metavar="CMD", required=True, help="Gets a case's input as JSON, prints JSON.")
@click.option("--fail-under", type=click.FloatRange(0, 100), metavar="PCT", help="Exit with 1 below this score.")
@click.option("--save", is_flag=True, help="Keep the score, for the trend and for drift.")
@click.option("--timeout", default="2m", help="For one case (2m).", **DURATION)
@JSON
@DIRECTORY
@click.argument("cases", metavar="CASES")
def baseline(
    command: str, fail_under: float | None, save: bool, timeout: int, as_json: bool, directory: str | None, cases: str
) -> int:
    """Give a command known cases, and score its answers.

    CASES is a YAML or JSON file: a list `cases`, each with id, input and expected. A case passes if every key of `expected` is
    equal in the answer, lists taken as sets. Exit status: 0, or 1 below --fail-under.
    """
    from guard.commands import evaluation as work

    return work.baseline(cases, command, fail_under, save, timeout, as_json, directory)


@evaluation.command()
@click.option("--cases", metavar="FILE", required=True, help="The cases, as for baseline.")
@click.option("--runs", type=click.IntRange(1, 100), default=1, metavar="N", help="How often each case is given (1).")
@click.option("--timeout", default="2m", help="For one case (2m).", **DURATION)
@JSON
@DIRECTORY
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
def replay(cases: str, runs: int, timeout: int, as_json: bool, directory: str | None, a: str, b: str) -> int:
    """Give the same cases to two commands, A and B.

    Shows the difference in points with its 95 % interval. Exit status: 0, or 1 where B is worse beyond it.
    """
    from guard.commands import evaluation as work

    return work.replay(a, b, cases, runs, timeout, as_json, directory)


@evaluation.command()
@click.option("--sample", "size", type=click.IntRange(1, 1000), default=5, metavar="N", help="How many items (5).")
@click.option("--seed", type=int, help="Draw the same items again.")
@click.option("--fill", metavar="FILE", help="Read a sheet that was filled in.")
@click.option("-o", "output", metavar="FILE", help="Write the sheet there.")
@JSON
@DIRECTORY
def audit(size: int, seed: int | None, fill: str | None, output: str | None, as_json: bool, directory: str | None) -> int:
    """Draw a sample of what the loop did, for a person to mark.

    Prints a CSV sheet. Filled in, --fill reads it: the mean against the last one, and what has the worst score.
    """
    from guard.commands import evaluation as work

    return work.audited(size, seed, fill, output, as_json, directory)


@evaluation.command("feedback")
@click.option("--scan", is_flag=True, help="Look for commits taken back within a day, and for failures that came again.")
@click.option("--add", "kind", type=click.Choice(["reverted", "same_failure", "rejected", "overridden"]), help="Record one.")
@click.option("--ref", "reference", metavar="REF", help="What it is about: a commit, a review, a run.")
@JSON
@DIRECTORY
def feedback(scan: bool, kind: str | None, reference: str | None, as_json: bool, directory: str | None) -> int:
    """Record what came back later against the loop's work."""
    from guard.commands import evaluation as work

    return work.fed_back(scan, kind, reference, as_json, directory)


@evaluation.command()
@click.option("--baseline", "base", metavar="FROM..TO", help="The period to compare with (the week four weeks ago).")
@click.option("--period", metavar="FROM..TO", help="The period that is looked at (the last week).")
@click.option("--seed", type=int, default=0, help="For the random exchanges (0).")
@click.option("--exit-code", is_flag=True, help="Exit with 1 on drift.")
@JSON
@DIRECTORY
def drift(base: str | None, period: str | None, seed: int, exit_code: bool, as_json: bool, directory: str | None) -> int:
    """Compare a period with an earlier one, row by row and as a whole."""
    from guard.commands import evaluation as work

    return work.drifted(base, period, seed, exit_code, as_json, directory)
