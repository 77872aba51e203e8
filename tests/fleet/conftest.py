"""A Redis server of the tests' own on a socket in a temporary directory, and ledgers of both kinds."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from guard.fleet.ledger import Ledger
from guard.fleet.sqlite import Sqlite

Opened = Callable[[], Ledger]


class Server:
    """A server that can be stopped for a while."""

    def __init__(self, directory: Path) -> None:
        self.url = f"unix://{directory}/s"
        argv = ["redis-server", "--port", "0", "--unixsocket", f"{directory}/s", "--save", "", "--dir", str(directory)]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
        for _ in range(500):
            if os.path.exists(f"{directory}/s"):
                return
            time.sleep(0.01)
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.go_on()
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("redis")
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server")
    found = Server(tmp_path_factory.mktemp("r"))
    yield found
    found.end()


@pytest.fixture
def server(running: Server) -> Server:
    """It, empty and at work."""
    import redis

    running.go_on()
    redis.Redis.from_url(running.url).flushall()
    return running


@pytest.fixture(params=["sqlite", "redis"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens the same ledger each time, with the machine's clock."""
    if request.param == "sqlite":
        return lambda: Sqlite(str(tmp_path), lambda: time.time_ns() // 1_000_000)
    url = request.getfixturevalue("server").url
    from guard.fleet.redis import Redis

    return lambda: Redis(url)
