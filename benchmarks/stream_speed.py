#!/usr/bin/env python3
"""How fast agents' output is read and freed of secrets, and in how much memory: python benchmarks/stream_speed.py [-m MEGABYTES]

Plain lines, a stream of events with large tool results, one of short messages, events of 4 MB, binary output, one endless line.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from guard.loop.output import Filter
from guard.loop.reading import Reader

GOAL = 50  # MB a second
MEMORY = 100  # MB
PIECE = 1 << 16
KNOWN = tuple(f"known-secret-{name}-0123456789" for name in "abcd")


def event(kind: str, text: str) -> bytes:
    part = {"type": "text" if kind == "assistant" else "tool_result", "text": text, "content": text}
    return json.dumps({"type": kind, "message": {"content": [part]}}).encode() + b"\n"


OUTPUTS = {
    "plain lines": b"a line of output that is as long as most lines are\n" * 1000,
    "stream": event("user", 'file content \\ "x"\n' * 400) + event("assistant", "I look at it. " * 20) * 3,
    "short messages": event("assistant", "hello " * 30) * 100,
    "events of 4 MB": event("user", "y" * 4_000_000),
    "binary": bytes(range(256)) * 256,
    "one line": b"x" * PIECE,
    "source": Path(__file__).read_bytes(),
}


def pieces(unit: bytes, size: int) -> Iterator[bytes]:
    """The unit again and again, in pieces as a pipe gives them."""
    data = unit * max(1, (1 << 23) // len(unit))
    sent = 0
    while sent < size:
        for at in range(0, len(data), PIECE):
            yield data[at : at + PIECE]
        sent += len(data)


def read(unit: bytes, size: int) -> int:
    reader, count = Reader(), 0
    for piece in pieces(unit, size):
        reader.feed(piece)
        count += len(piece)
    reader.finish(0)
    return count


def redact(unit: bytes, size: int) -> int:
    filtered, count = Filter(KNOWN), 0
    for piece in pieces(unit, size):
        filtered.feed(piece)
        count += len(piece)
    filtered.end()
    return count


def measured(work: Callable[[bytes, int], int], unit: bytes, megabytes: int) -> tuple[float, float]:
    """Megabytes a second, and megabytes of memory."""
    start = time.process_time()
    speed = work(unit, megabytes * 1_000_000) / 1e6 / (time.process_time() - start)
    tracemalloc.start()
    base = tracemalloc.get_traced_memory()[0]
    work(unit, 40_000_000)
    memory = (tracemalloc.get_traced_memory()[1] - base) / 1e6
    tracemalloc.stop()
    return speed, memory


def main() -> int:
    """Measures and prints; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", type=int, default=200, help="megabytes of each")
    options = parser.parse_args()
    missed = 0
    for name, unit in OUTPUTS.items():
        for work in (read, redact):
            speed, memory = measured(work, unit, options.m)
            print(f"{work.__name__:6s} {name:16s} {speed:6.0f} MB/s {memory:6.0f} MB of memory")
            missed |= speed < GOAL or memory > MEMORY
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
