"""Work over a range of positions, done by two processes where there is much of it."""

from __future__ import annotations

import gc
import marshal
import os
import signal
from collections.abc import Callable

Work = Callable[[int, int], list[int]]  # the positions it finds from one position up to another
MANY = 3000  # positions from which on a second process takes half of them


def split(count: int, work: Work) -> list[int]:
    """What `work` finds in all positions below `count`."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return work(0, count) if count < MANY or _processors() < 2 else _shared(count, work)
    finally:
        if collecting:
            gc.enable()


def _shared(count: int, work: Work) -> list[int]:
    half = count // 2
    reader, writer = os.pipe()
    helper = _helper(half, count, work, reader, writer)
    try:
        found = work(0, half)
        answer = _received(reader) if helper else b""
    except BaseException:
        if helper:
            os.kill(helper, signal.SIGKILL)
        raise
    finally:
        os.close(reader)
        if helper:
            _wait(helper)
    try:
        return found + list(marshal.loads(answer))
    except (EOFError, ValueError, TypeError):
        return found + work(half, count)


def _helper(start: int, end: int, work: Work, reader: int, writer: int) -> int:
    """The number of a process that works on a range; 0 where there can be none."""
    try:
        process = os.fork()
    except OSError:
        process = -1
    if process:
        os.close(writer)
        return max(process, 0)
    try:
        os.close(reader)
        answer = memoryview(marshal.dumps(work(start, end)))
        while answer:
            answer = answer[os.write(writer, answer) :]
    finally:
        os._exit(0)


def _received(reader: int) -> bytes:
    answer = b""
    while piece := os.read(reader, 1 << 16):
        answer += piece
    return answer


def _wait(process: int) -> None:
    try:
        os.waitpid(process, 0)
    except ChildProcessError:  # the signal of its end is ignored here
        pass


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1
