"""`guard doctor`: how each layer stands, and the command that mends what does not hold."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Sequence

import click

from guard import health
from guard.errors import GuardError
from guard.findings import ABSENT, FINE, NOTE, OFF
from guard.health import Row
from guard.shown import decodable

WIDTH = 100  # columns, where the terminal is not narrower
MARKS = {FINE: ("ok", "green"), NOTE: ("note", "cyan"), ABSENT: ("-", "bright_black"), OFF: ("OFF", "red")}
COLUMN = 14  # where the texts begin


def run(required: Sequence[str], cwd: str | None, as_json: bool) -> int:
    """Prints the findings; 1 where something that is installed, or required, does not hold."""
    for layer in required:
        if layer not in health.LAYERS:
            raise GuardError("there is no such layer", f"--require {layer}", f"name one of {', '.join(health.LAYERS)}")
    if cwd is not None and not os.path.isdir(cwd):
        raise GuardError("no such directory", f"--cwd {cwd}")
    at = health.place(cwd, os.environ)
    rows = []
    for row in health.look(at):
        rows.append(row)
        if not as_json:
            _tell(row, rows)
    missing = [layer for layer in required if health.standing(rows, layer) == ABSENT]
    good = health.holds(rows, tuple(required))
    if as_json:
        print(json.dumps(fields(rows, missing, good)))
    else:
        _tell_sum(rows, missing, good)
    return int(not good)


def fields(rows: Sequence[Row], missing: Sequence[str], good: bool) -> dict[str, object]:
    """The findings for JSON."""
    return {
        "v": 1,
        "code": "fine" if good else "off",
        "layers": {layer: health.standing(list(rows), layer) for layer in health.LAYERS},
        "missing": list(missing),
        "findings": [
            {
                "layer": row.layer,
                "code": row.finding.code,
                "severity": row.finding.severity,
                "what": decodable(row.finding.what),
                "why": decodable(row.finding.why),
                "repair": decodable(row.finding.repair),
            }
            for row in rows
        ],
    }


def _tell(row: Row, rows: Sequence[Row]) -> None:
    finding = row.finding
    mark, colour = MARKS[finding.severity]
    first = sum(each.layer == row.layer for each in rows) == 1
    head = click.style(f"{row.layer if first else '':9s}", bold=True) + _styled(f"{mark:5s}", colour)
    width = min(WIDTH, columns() or WIDTH)
    why = f" ({finding.why})" if finding.why else ""
    lines = textwrap.wrap(finding.what + why, max(width - COLUMN, 20), break_long_words=False, break_on_hyphens=False)
    _say(head + f"\n{' ' * COLUMN}".join(lines))
    if finding.repair:
        _say(" " * COLUMN + click.style(finding.repair, bold=True))


def _tell_sum(rows: Sequence[Row], missing: Sequence[str], good: bool) -> None:
    off = [row.layer for row in rows if row.finding.severity == OFF]
    if off:
        _say("\n" + _styled(f"Not all that is installed works: {', '.join(dict.fromkeys(off))}.", "red"))
    if missing:
        _say("\n" + _styled(f"Required, and not installed: {', '.join(missing)}.", "red"))
    if good:
        _say("\nAll that is installed works. Send a canary through it:  guard selftest")


def _say(text: str) -> None:
    """Prints a line, without colours where nobody wants them."""
    click.echo(click.unstyle(text) if os.environ.get("NO_COLOR") else text)


def _styled(text: str, colour: str) -> str:
    return click.style(text, fg=colour)


def columns() -> int:
    """How wide the terminal is that standard output goes to; 0 where it is none."""
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return 0
