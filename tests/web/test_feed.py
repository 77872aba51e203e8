"""What goes to the pages: only what has changed, without anything that could be taken for something else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from guard.monitor.gather import Gathering
from guard.monitor.web import figures
from guard.monitor.web.feed import Feed, event
from tests.loop.rig import START, It, times
from tests.monitor.test_gather import run


def taken(source: Any, count: int) -> list[tuple[str, Any]]:
    async def collect() -> list[tuple[str, Any]]:
        found = []
        async for text in source:
            head, data = text.strip().split("\n")
            found.append((head.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
            if len(found) == count:
                break
        return found

    return asyncio.run(asyncio.wait_for(collect(), 20))


def test_an_event_is_one_whatever_is_in_it() -> None:
    assert event("x", {"a": "b\n\nevent: y\r\ndata: z\u2028"}).count("\n") == 3


def test_first_everything_then_only_what_has_changed(tmp_path: Path) -> None:
    run(tmp_path, "/a", times(3, It()))
    run(tmp_path, "/b", [It(edit=1)])
    feed = Feed(Gathering(str(tmp_path)), lambda: True, look_s=0.01)

    async def both() -> list[Any]:
        source = feed.overview()
        first = [json.loads((await anext(source)).split("data: ")[1]) for _ in range(2)]
        path = next((tmp_path / "loops").glob("a-*")) / "status.json"
        path.write_text(path.read_text().replace('"circuit_open"', '"error"'))
        return [*first, json.loads((await anext(source)).split("data: ")[1])]

    machine, beat, change = asyncio.run(asyncio.wait_for(both(), 20))
    assert len(machine["loops"]) == 2
    assert machine["may"] is True
    assert machine["gate"]["controls"] == {"pause": True, "resume": False}
    assert set(beat) == {"t"}
    assert [(name[0], loop["status"]) for name, loop in change["loops"].items()] == [("a", "error")]


def test_one_loop_with_its_plots_and_its_output(tmp_path: Path) -> None:
    run(tmp_path, "/a", times(3, It()))
    directory = next((tmp_path / "loops").glob("a-*"))
    (directory / "outputs").mkdir()
    (directory / "outputs" / "1.log").write_bytes(b"\x1b[31mred\x1b[0m <b>bold</b>\x07\n\ttab\n")
    [(name, values)] = taken(Feed(Gathering(str(tmp_path)), lambda: False, 0.01).one(directory.name), 1)
    assert name == "loop"
    assert [point["n"] for point in values["plots"]] == [1, 2, 3]
    assert values["output"] == "red <b>bold</b>\\x07\n        tab"
    assert values["may"] is False
    assert {row[0] for row in values["loop"]["rows"]} >= {"breaker", "counters", "score"}


def test_what_is_damaged_is_shown_as_such(tmp_path: Path) -> None:
    run(tmp_path, "/a", times(3, It()))
    path = next((tmp_path / "loops").glob("a-*")) / "status.json"
    values = json.loads(path.read_text())
    for part, wrong in {
        "breaker": "x",
        "cost": {"run": "x"},
        "score": {"history": 5},
        "tokens": {"run": "x"},
        "alerts": [1],
    }.items():
        path.write_text(json.dumps({**values, part: wrong}))
        machine = Gathering(str(tmp_path)).look(START)
        found = [figures.detail(view, START) for view in machine.loops]
        assert (part, [loop["status"] for loop in found]) == (part, ["unreadable"])
        json.dumps([figures.summary(view, START) for view in machine.loops])


def test_plots_leave_out_what_is_no_number(tmp_path: Path) -> None:
    run(tmp_path, "/a", times(2, It()))
    directory = next((tmp_path / "loops").glob("a-*"))
    with (directory / "metrics.jsonl").open("a") as file:
        file.write('{"n": "x", "score": true, "state": "\\u001b[2J", "lines": [1]}\n{"n": 4, "sco')
    [view] = Gathering(str(tmp_path)).look(START).loops
    last = figures.plots(view)[-1]
    assert (last["n"], last["score"], last["lines"]) == (None, None, None)
    assert last["state"] == "\\x1b[2J"
