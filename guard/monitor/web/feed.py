"""Feed: what changes, as server-sent events. However many look, the files are read once in a while; while nobody looks, never."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from guard.loop import clock
from guard.monitor.gather import READY, Gathering, Machine
from guard.monitor.web import controls, figures

LOOK_S = 0.7  # between two looks: with the time that a runner takes to obey, all shows within two seconds
BEAT_S = 5.0  # between two signs of life
ATTENDED_S = 5.0  # how long it is believed that the person is still there, for what is shown


class Feed:
    """The machine as it is now, for all who look."""

    def __init__(self, gathering: Gathering, attended: Callable[[], bool] = controls.attended, look_s: float = LOOK_S) -> None:
        self.gathering, self._attended, self._look_s = gathering, attended, look_s
        self._machine: Machine | None = None
        self._at = self._asked = -1e9
        self._may = False
        self._lock = asyncio.Lock()

    async def look(self) -> Machine:
        """How everything stands, at most so old as the time between two looks."""
        async with self._lock:
            if self._machine is None or time.monotonic() - self._at >= 0.9 * self._look_s:
                self._machine = await asyncio.to_thread(self._look)
                self._at = time.monotonic()
            return self._machine

    def _look(self) -> Machine:
        if time.monotonic() - self._asked >= ATTENDED_S:
            self._may, self._asked = self._attended(), time.monotonic()
        return self.gathering.look(clock.current().now())

    @property
    def may(self) -> bool:
        """Does a person stand behind this server, so that the controls do something?"""
        return self._may

    async def overview(self) -> AsyncIterator[str]:
        """The events of the page of all loops: of loops only those that have changed."""
        sent: dict[str, Any] = {}
        beaten = 0.0
        while True:
            machine = await self.look()
            loops = {view.loop: figures.summary(view, machine.t) for view in machine.loops}
            head = {"gate": figures.gate(machine), "may": self.may, "order": list(loops)}
            changed = {name: values for name, values in loops.items() if sent.get(name) != values}
            if changed or sent.get("") != head:
                yield event("machine", {**head, "loops": changed})
                sent = {"": head, **loops}
            if time.monotonic() - beaten >= BEAT_S:
                beaten = time.monotonic()
                yield event("beat", {"t": machine.t})
            await asyncio.sleep(self._look_s)

    async def one(self, name: str) -> AsyncIterator[str]:
        """The events of the page of one loop."""
        sent: dict[str, Any] = {}
        beaten = 0.0
        while True:
            machine = await self.look()
            view = next((view for view in machine.loops if view.loop == name), None)
            if view is None:  # it is gone
                view = await asyncio.to_thread(self.gathering.view, name, machine.t)
            found: dict[str, Any] = {"gate": figures.gate(machine), "may": self.may, "loop": figures.detail(view, machine.t)}
            mark = figures.mark(view)
            if sent.get("mark") != mark and view.status != READY:
                found["plots"] = await asyncio.to_thread(figures.plots, view)
            found["output"] = await asyncio.to_thread(figures.said, view)
            changed = {key: value for key, value in found.items() if sent.get(key) != value}
            sent |= {**found, "mark": mark}
            if changed:
                yield event("loop", changed)
            if time.monotonic() - beaten >= BEAT_S:
                beaten = time.monotonic()
                yield event("beat", {"t": machine.t})
            await asyncio.sleep(self._look_s)


def event(name: str, values: Any) -> str:
    """One server-sent event. JSON has no line ends, so that nothing in it can begin another one."""
    return f"event: {name}\ndata: {json.dumps(values, separators=(',', ':'))}\n\n"
