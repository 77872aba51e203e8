"""`guard notify`: where notices go, and a sample sent there."""

from __future__ import annotations

import json
import os
import time

import click

from guard.commands.output import say
from guard.commands.place import world
from guard.errors import GuardError
from guard.notify import delivery
from guard.notify.notice import INFO, Notice
from guard.notify.settings import Channel, channels
from guard.shown import visible

TODO = 'write [notify] with command = ["..."] or webhook = "https://..." into the user\'s config.toml'


def run(test: bool, as_json: bool) -> int:
    """Shows the channels; with `test` sends a sample through each. 1 where one fails, 64 where there is none."""
    found = channels(os.environ, world())
    if not found:
        raise GuardError("nobody is told of anything", "[notify]", TODO)
    rows = [_row(channel, _sent(channel) if test else []) for channel in found]
    if as_json:
        click.echo(json.dumps({"v": 1, "channels": rows}))
    else:
        for row in rows:
            _show(row, test)
    return int(any(row["failed"] for row in rows))


def _sent(channel: Channel) -> list[str]:
    text = "This is a sample: notices of loops arrive here."
    sample = Notice("completion", INFO, "guard: a sample", text, int(time.time() * 1000), reason="test", todo="guard loop status")
    return delivery.deliver(sample, channel, os.environ)


def _row(channel: Channel, failed: list[str]) -> dict[str, object]:
    address = channel.webhook.split("/")[2] if channel.webhook else ""  # the rest of it is as good as a password
    return {
        "from": channel.origin,
        "command": list(channel.command),
        "webhook": address,
        "format": channel.format,
        "events": list(channel.events),
        "failed": failed,
    }


def _show(row: dict[str, object], tested: bool) -> None:
    ways = [f"command {visible(str(row['command'][0]))}"] if row["command"] else []  # type: ignore[index]
    ways += [f"webhook at {visible(str(row['webhook']))}"] if row["webhook"] else []
    say((f"{row['from']:7}", "dim"), " and ".join(ways))
    say(("events ", "dim"), ", ".join(row["events"]))  # type: ignore[arg-type]
    if tested:
        failed = row["failed"]
        say(("sample ", "dim"), "; ".join(map(visible, failed)) if failed else "sent")  # type: ignore[call-overload]
