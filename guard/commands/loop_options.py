"""Options that several commands of `guard loop` have."""

from __future__ import annotations

from typing import Any

import click


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """The seconds of a duration as it was given. Raises GuardError."""
    from guard.loop import durations

    return None if value is None else durations.seconds(value, max(param.opts, key=len))


DIRECTORY = click.option("-C", "directory", metavar="DIR", help="Work as if started there.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
REASON = click.option("--reason", metavar="TEXT", default="", help="Why; the journal keeps it.")
DURATION: dict[str, Any] = {"metavar": "TIME", "callback": duration}
