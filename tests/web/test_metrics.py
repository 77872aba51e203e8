"""The numbers for Prometheus, read back by Prometheus' own parser."""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from guard.monitor.gather import Gathering
from guard.monitor.metrics import Collected
from tests.loop.rig import START, It, times
from tests.monitor.test_gather import run


def read(collected: Collected) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text, kind = collected.text(START)
    assert kind.startswith("text/plain; version=0.0.4")
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        assert family.documentation, family.name
        assert family.type in ("gauge", "counter")
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            found[key] = sample.value
    return found


def test_loops_as_numbers(tmp_path: Path) -> None:
    run(tmp_path, "/a", times(3, It(tokens=10)))
    name = next((tmp_path / "loops").glob("a-*")).name
    found = read(Collected(Gathering(str(tmp_path))))
    loop = (("loop", name),)
    assert found[("guard_loops", ())] == 1
    assert found[("guard_loop_iterations_total", (*loop, ("outcome", "ok")))] == 3
    assert found[("guard_loop_tokens_total", loop)] == 30
    assert found[("guard_loop_iteration", loop)] == 3
    assert found[("guard_loop_breaker_state", (*loop, ("state", "OPEN")))] == 1
    assert found[("guard_loop_breaker_state", (*loop, ("state", "CLOSED")))] == 0
    assert found[("guard_loop_status", (*loop, ("state", "circuit_open")))] == 1
    assert found[("guard_gate_state", (("state", "running"),))] == 1
    assert found[("guard_loop_up", loop)] == 0


def test_counters_only_grow_and_begin_nowhere_anew(tmp_path: Path) -> None:
    run(tmp_path, "/a", times(3, It()))
    path = next((tmp_path / "loops").glob("a-*")) / "metrics.jsonl"
    key = ("guard_loop_calls_total", (("loop", path.parent.name),))
    collected = Collected(Gathering(str(tmp_path)))
    assert read(collected)[key] == 3
    with path.open("a") as file:
        file.write('{"n": 4, "calls": 2, "outcome": "ok"}\nnonsense\n{"calls": -9, "outcome": "a\\"b"}\n{"n": 5, "calls": 7')
    assert read(collected)[key] == 5
    with path.open("a") as file:
        file.write("}\n")
    assert read(collected)[key] == 12
    assert read(Collected(Gathering(str(tmp_path))))[key] == 12  # of a server that was started later


def test_names_that_need_quotes_and_files_that_are_none(tmp_path: Path) -> None:
    run(tmp_path, "/a", times(3, It()))
    directory = next((tmp_path / "loops").glob("a-*"))
    odd = directory.with_name('odd"\\\nname')
    odd.mkdir()
    (odd / "status.json").write_text((directory / "status.json").read_text())
    os.mkfifo(odd / "metrics.jsonl")
    (directory / "status.json").write_text("{")
    found = read(Collected(Gathering(str(tmp_path))))
    assert found[("guard_loop_iteration", (("loop", odd.name),))] == 3
    assert found[("guard_loop_status", (("loop", directory.name), ("state", "unreadable")))] == 1


def test_no_loops(tmp_path: Path) -> None:
    assert read(Collected(Gathering(str(tmp_path / "none"))))[("guard_loops", ())] == 0
