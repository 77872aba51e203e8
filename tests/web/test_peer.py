"""The process at the other end of a connection is found, and known for an agent's by its marks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from guard.monitor.web import peer

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no /proc")
CODE = "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.recv(1)"


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
@pytest.mark.parametrize(("mark", "name"), [({"CLAUDECODE": "1"}, "claude"), ({"GUARD_LOOP": "app-1"}, "guard"), ({}, "")])
def test_who_has_connected(family: socket.AddressFamily, address: str, mark: dict[str, str], name: str) -> None:
    with socket.socket(family) as server:
        try:
            server.bind((address, 0))
        except OSError:
            pytest.skip("there is no such address here")
        server.listen()
        port = server.getsockname()[1]
        # no process of its environment above it: what is asked is whether its own gives it away
        argv = [sys.executable, "-I", "-S", "-c", CODE, address, str(port)]
        with subprocess.Popen(argv, env={"PATH": "/usr/bin:/bin", **mark}) as process:
            connection, client = server.accept()
            with connection:
                ends = (client[:2], connection.getsockname()[:2])
                assert peer.processes(*ends) == [process.pid]
                found = peer.agent(*ends)
                assert (found.name if found else "") == name or not mark


def test_nobody_is_found_where_nobody_is() -> None:
    assert peer.processes(("127.0.0.1", 1), ("127.0.0.1", 2)) == []
    assert peer.processes(("testclient", 1), ("", 2)) == []
    assert peer.agent(("10.0.0.1", 1), ("10.0.0.2", 2)) is None


def test_this_machine_alone() -> None:
    assert all(map(peer.local, ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1")))
    assert not any(map(peer.local, ("", "10.0.0.1", "::", "0.0.0.0", "fe80::1%eth0", "localhost", "::ffff:10.0.0.1")))
