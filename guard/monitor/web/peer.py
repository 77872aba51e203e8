"""Peer: which process is at the other end of a connection on this machine, and whether it acts for an agent."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

from guard import actor, ancestry
from guard.actor import Actor

End = tuple[str, int]
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def agent(client: End, server: End) -> Actor | None:
    """The agent for which the process acts that has connected, None where there is none to be seen.

    A process that cannot be looked at (of another user, as that of ssh for a forwarded port, or on a system without /proc) is
    not taken for one: it has shown a key that no agent is given.
    """
    return next((found for found in map(_acting, processes(client, server)) if found is not None), None)


def _acting(process: int) -> Actor | None:
    where = ancestry.of(process)
    if not where.line:
        return None
    name = actor.agent(where.line[0].names)
    if name:
        return Actor(actor.AGENT, name, where.line[0].names[0])
    found = actor.who(where.line[0].environ or {}, where)
    return found if found.kind == actor.AGENT and found.name else None


def local(address: str) -> bool:
    """Is it an address of this machine alone?"""
    with suppress(ValueError):
        found = ipaddress.ip_address(address.partition("%")[0])
        mapped = getattr(found, "ipv4_mapped", None)
        return bool((mapped or found).is_loopback)
    return False


def processes(client: End, server: End) -> list[int]:
    """The processes that hold the client's end of a connection, as far as they can be looked at."""
    inode = _inode(client, server)
    return [] if inode is None else list(_holders(f"socket:[{inode}]"))


def _inode(client: End, server: End) -> str | None:
    wanted = {(one, other) for one in _written(client) for other in _written(server)}
    for table in _TABLES:
        with suppress(OSError), open(table, encoding="ascii") as file:
            next(file, None)
            for line in file:
                fields = line.split()
                if len(fields) > 9 and (fields[1], fields[2]) in wanted and fields[9] != "0":
                    return fields[9]
    return None


def _written(end: End) -> list[str]:
    """An address as the kernel's tables have it: words in the machine's own order; one of IPv4 in both tables."""
    address, port = end[0].partition("%")[0], end[1]
    with suppress(OSError):
        return [f"{_hex(data)}:{port:04X}" for data in _packed(address)]
    return []


def _packed(address: str) -> list[bytes]:
    if ":" not in address:
        data = socket.inet_pton(socket.AF_INET, address)
        return [data, bytes(10) + b"\xff\xff" + data]
    data = socket.inet_pton(socket.AF_INET6, address)
    return [data, data[12:]] if data[:12] == bytes(10) + b"\xff\xff" else [data]


def _hex(data: bytes) -> str:
    return "".join(f"{word:08X}" for word in struct.unpack(f"={len(data) // 4}I", data))


def _holders(target: str) -> Iterator[int]:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with suppress(OSError):
            folder = f"/proc/{name}/fd"
            for fd in os.listdir(folder):
                with suppress(OSError):
                    if os.readlink(f"{folder}/{fd}") == target:
                        yield int(name)
                        break
