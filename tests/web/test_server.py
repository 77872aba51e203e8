"""Where the page listens, and what it says where it cannot."""

from __future__ import annotations

import socket
import sys

import pytest
from click.testing import CliRunner

from guard.cli import commands
from guard.errors import MISSING, USAGE, GuardError
from guard.monitor.web import server


def test_a_port_that_is_taken() -> None:
    with server.listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(GuardError, match="something listens there already") as error:
            server.listen("127.0.0.1", port)
    assert error.value.code == USAGE
    assert str(port) in str(error.value)


@pytest.mark.parametrize("host", ["no such host", "192.0.2.1", "a" * 300, "\0"])
def test_an_address_that_is_not_of_this_machine(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if host == "no such host":
        monkeypatch.setattr(socket, "getaddrinfo", _unknown)
    with pytest.raises(GuardError) as error:
        server.listen(host, 0)
    assert error.value.todo


def _unknown(*words: object, **more: object) -> None:
    raise socket.gaierror(-2, "Name or service not known")


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(GuardError, match=r"pathguard\[web\]") as error:
        server.serve(str(tmp_path), port=0)
    assert error.value.code == MISSING


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "1"], "only the page has an address"),
        (["--open"], "only the page has an address"),
        (["--host", "0.0.0.0"], "only the page has an address"),
        (["--web", "--plain"], "in its own way"),
        (["--web", "--json"], "in its own way"),
        (["--web", "app"], "in its own way"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], said: str) -> None:
    found = CliRunner().invoke(commands, ["monitor", *words])
    assert isinstance(found.exception, GuardError)
    assert said in str(found.exception)


def test_a_browser_that_is_opened_is_no_child_of_guard(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    opener = f"{tmp_path}/xdg-open"
    with open(opener, "w") as file:
        file.write(f'#!/bin/sh\nsleep 0.1\nps -o ppid= -p $$ > {tmp_path}/above.new\necho "$1" >> {tmp_path}/above.new\n')
        file.write(f"mv {tmp_path}/above.new {tmp_path}/above\n")
    import os
    import time

    os.chmod(opener, 0o755)
    monkeypatch.setattr(server, "SAFE_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    server.show("http://127.0.0.1:1/#a&b;c")
    end = time.monotonic() + 10
    while not os.path.exists(f"{tmp_path}/above") and time.monotonic() < end:
        time.sleep(0.05)
    with open(f"{tmp_path}/above") as file:
        above, address = file.read().splitlines()
    assert address == "http://127.0.0.1:1/#a&b;c"
    assert int(above) != os.getpid()
