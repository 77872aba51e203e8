"""`guard monitor`: all loops of the machine, or one with its output."""

from __future__ import annotations

import json
import os
import sys
import time

import click

from guard.commands.loop_places import named, state_dir
from guard.errors import GuardError
from guard.loop import clock
from guard.monitor.gather import Gathering, Machine
from guard.monitor.plain import Plain
from guard.monitor.rows import detail, summary

SHORTEST_S = 1.0


def run(trees: tuple[str, ...], interval: float, plain: bool, once: bool, as_json: bool) -> int:
    """Shows until it is interrupted, or the one loop that is named ends. Raises GuardError."""
    if interval < SHORTEST_S:
        raise GuardError(f"{interval:g} s is too often", "--interval", f"it is at least {SHORTEST_S:g}s")
    places = [place for tree in trees for place in named(tree, None)]
    gathering = Gathering(places[0].state_dir if places else state_dir(None))
    names = [place.name for place in places] or None
    if once or as_json:
        return _once(gathering.look(_now(), names), names, as_json)
    if plain or not sys.stdout.isatty() or os.environ.get("TERM") in (None, "", "dumb"):
        return _follow(gathering, names, interval)
    from guard.monitor.terminal import watch

    try:
        ended = watch(gathering, names, interval, _now)
    except KeyboardInterrupt:
        return 0
    if ended is not None:
        click.echo(summary(ended))
    return 0


def page(trees: tuple[str, ...], otherwise: bool, web: bool, host: str | None, port: int | None, opens: bool) -> int:
    """Serves the page in the browser. `otherwise`: another way of showing is asked for, too. Raises GuardError."""
    if not web:
        raise GuardError("only the page has an address", "--host, --port, --open", "add --web")
    if otherwise or trees:
        raise GuardError("the page shows all loops, in its own way", "--web", "leave out LOOP, --plain, --once and --json")
    from guard.monitor.web import server

    return server.serve(state_dir(None), server.HOST if host is None else host, server.PORT if port is None else port, opens)


def overview(directory: str | None, as_json: bool) -> int:
    """How every loop of the machine stands, as its files say: one line each, or the values of their status.json."""
    machine = Gathering(state_dir(directory)).look(_now())
    if as_json:
        gate = {"gate": machine.gate.get("state")}
        click.echo(json.dumps([{"loop": view.loop, **view.values, "status": view.status, **gate} for view in machine.loops]))
        return 0
    return _once(machine, None, False)


def _once(machine: Machine, names: list[str] | None, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(machine.to_json()))
    elif names is not None and len(names) == 1:
        for row in detail(machine.loops[0], machine.t):
            click.echo(f"{row.label:10} {row.text}".rstrip())
    else:
        for text in Plain().lines(machine):
            click.echo(text)
    return 0


def _follow(gathering: Gathering, names: list[str] | None, interval: float) -> int:
    plain = Plain()
    try:
        while True:
            machine = gathering.look(_now(), names)
            for text in plain.lines(machine):
                click.echo(text)
                sys.stdout.flush()
            if names is not None and len(names) == 1 and machine.loops:
                [view] = machine.loops
                if view.at("exit") and not view.live:
                    click.echo(summary(view))
                    return 0
            time.sleep(interval)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0


def _now() -> int:
    return clock.current().now()
