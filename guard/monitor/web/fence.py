"""Fence: what every request has to have, and every answer gets, before anything else is looked at.

The Host has to be a name of this server, so that no other name can be bent to it (DNS rebinding); what another page sends is
refused by its Origin.
"""

from __future__ import annotations

import ipaddress
import json
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("localhost", "127.0.0.1", "[::1]")
SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Fence:
    """Stands around an application. `wide`: the server listens to other machines, where any address in numbers is its name."""

    def __init__(self, app: ASGIApp, port: int, wide: bool = False, names: tuple[str, ...] = ()) -> None:
        self._app, self._port, self._wide = app, port, wide
        self._names = {*NAMES, *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through, or says why not."""
        if scope["type"] != "http":
            return
        wrong = self.wrong(scope["method"], [(key.decode("latin-1"), value.decode("latin-1")) for key, value in scope["headers"]])

        async def fenced(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
                message["headers"] = [*(pair for pair in message["headers"] if pair[0].decode().lower() not in HEADERS), *own]
            await send(message)

        if not wrong:
            await self._app(scope, receive, fenced)
            return
        body = json.dumps({"error": wrong}).encode()
        kind = (b"content-type", b"application/json")
        await fenced({"type": "http.response.start", "status": 403, "headers": [kind, (b"connection", b"close")]})
        await fenced({"type": "http.response.body", "body": body})

    def wrong(self, method: str, headers: list[tuple[str, str]]) -> str:
        """What is wrong with a request; "" for nothing."""
        hosts = [value for key, value in headers if key == "host"]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return "this server has no such name; open the address that guard monitor has printed"
        origins = [value for key, value in headers if key == "origin"]
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return "a page of another origin asks"
        sites = [value for key, value in headers if key == "sec-fetch-site"]
        if method not in SAFE and (len(origins) != 1 or any(site != "same-origin" for site in sites)):
            return "orders are taken from guard's own page alone"
        if any(site in ("cross-site", "same-site") for site in sites):
            return "a page of another origin asks"
        return ""

    def _is_ours(self, host: str) -> bool:
        name, _, port = host.lower().rpartition(":")
        if not name or name.endswith(":"):
            name, port = host.lower(), "80"
        if port != str(self._port):
            return False
        if name in self._names:
            return True
        with suppress(ValueError):
            ipaddress.ip_address(name.strip("[]"))
            return self._wide
        return False
