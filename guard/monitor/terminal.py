"""The live view at a terminal: all loops as a table, or one loop with what its agent puts out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from guard.monitor import rows
from guard.monitor.gather import NEW, Gathering, Machine, View, output
from guard.shown import visible

STYLES = {rows.GOOD: "green", rows.WARN: "yellow", rows.BAD: "bold red", rows.DIM: "dim", rows.PLAIN: ""}
NARROW = 60  # columns below which a loop takes two lines instead of a row
SCORES = 20
HEADINGS = ("loop", "state", "why", "n", "calls", "score")


def console() -> Console:
    """A console that obeys NO_COLOR and dumb terminals."""
    return Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")


def picture(machine: Machine, width: int) -> RenderableType:
    """All loops."""
    parts: list[RenderableType] = [_head(machine)]
    if not machine.loops:
        parts.append(Text(NEW, "dim"))
    elif width < NARROW:
        parts += [_narrow(view, machine.t) for view in machine.loops]
    else:
        parts.append(_table(machine))
    waiting = [view for view in machine.loops if view.person]
    if waiting:
        lines = Text("\n").join(Text(f"{view.name}: {view.person} -C {visible(view.root)}") for view in waiting)
        parts.append(Panel(lines, title="waits for you", title_align="left", border_style="yellow"))
    return Group(*parts)


def closeup(machine: Machine, height: int) -> RenderableType:
    """One loop, with the end of its agent's output in what room is left."""
    [view] = machine.loops
    found = list(rows.detail(view, machine.t))
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(style="dim", width=10, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for row in found:
        grid.add_row(row.label, Text(row.text, STYLES[row.meaning]))
    parts: list[RenderableType] = [_head(machine), grid]
    said = [visible(line) for line in output(view).splitlines()]
    room = height - len(found) - 6
    if said and room > 1:
        shown = Text("\n", no_wrap=True, overflow="ellipsis").join(map(Text, said[-room:]))
        parts.append(Panel(shown, title="output", title_align="left", border_style="dim"))
    return Group(*parts)


def watch(gathering: Gathering, names: list[str] | None, interval: float, now: Callable[[], int]) -> View | None:
    """Shows until Ctrl-C, or until the one loop that is named has ended; gives that one then."""
    screen = console()
    began: str | None = None
    with Live(console=screen, auto_refresh=False, screen=screen.is_terminal, vertical_overflow="crop") as live:
        while True:
            machine = gathering.look(now(), names)
            single = machine.loops[0] if names is not None and len(names) == 1 and machine.loops else None
            height = screen.size.height
            live.update(closeup(machine, height) if single is not None else picture(machine, screen.size.width), refresh=True)
            if single is not None:
                if single.live:
                    began = str(single.at("run"))
                elif single.at("exit") and (began is None or began == single.at("run")):
                    return single
            time.sleep(interval)


def _head(machine: Machine) -> Text:
    state = str(machine.gate.get("state"))
    head = Text.assemble(("guard monitor ", "bold"), time.strftime("%H:%M:%S", time.localtime(machine.t / 1000)), "  gate ")
    head.append(state, "green" if state == "running" else "bold red")
    if state != "running":
        head.append(f" ({visible(str(machine.gate.get('reason')))}): guard loop resume --system", "yellow")
    return head


def _table(machine: Machine) -> Table:
    table = Table(box=None, padding=(0, 1), expand=True, header_style="dim")
    for heading, ratio, justify in zip(
        HEADINGS, (3, None, 5, None, None, None), ("left", "left", "left", "right", "right", "left"), strict=True
    ):
        table.add_column(heading, ratio=ratio, justify=justify, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    for view in machine.loops:
        style = STYLES[rows.meaning(view.status)]
        scores = rows.sparkline((view.at("score", "history") or [])[-SCORES:])
        number = str(view.at("iteration") if view.values else "")
        table.add_row(
            Text(visible(view.name)),
            Text(view.status, style),
            Text(rows.reason(view, machine.t)),
            number,
            rows.calls(view),
            scores,
        )
    return table


def _narrow(view: View, t: int) -> Text:
    found = Text.assemble((visible(view.name), "bold"), " ", (view.status, STYLES[rows.meaning(view.status)]))
    if view.values:
        found.append(f"  {view.at('iteration')}  Calls: {rows.calls(view)}")
    found.append(f"\n  {rows.reason(view, t)}", "dim")
    return found
