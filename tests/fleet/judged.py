"""A runner that is killed at random between a reservation and its launch; started by test_ledger.py."""

from __future__ import annotations

import os
import random
import signal
import time

from guard.fleet.ledger import Ask, Ledger
from guard.fleet.sqlite import Sqlite


def runner(kind: str, where: str, name: str, limit: str, count: str, directory: str) -> None:
    """Reserves `count` times; launches by a line in a file. Dies once or so in 20 calls, at its third start no more."""
    ledger: Ledger
    if kind == "sqlite":
        ledger = Sqlite(os.path.dirname(os.path.dirname(where)), lambda: time.time_ns() // 1_000_000)
    else:
        from guard.fleet.redis import Redis

        ledger = Redis(f"unix://{where}")
    chance = random.Random(name)
    deaths = int(name.partition(".")[2]) < max(3, int(count) // 50)
    for number in range(int(count)):
        answer = ledger.reserve(Ask(f"{name}:{number}", name, int(limit)))
        if deaths and (number == 4 or chance.random() < 0.05):
            os.kill(os.getpid(), signal.SIGKILL)
        if answer.ok:
            fd = os.open(f"{directory}/launched", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(fd, f"{name}:{number}\n".encode())
            os.close(fd)
