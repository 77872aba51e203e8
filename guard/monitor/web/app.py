"""App: the routes of the page. Everything but the sign-in and its files needs a session; every order needs its token, too."""

from __future__ import annotations

import asyncio
import importlib.resources
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from guard.actor import Actor
from guard.errors import GuardError
from guard.loop import clock
from guard.monitor import metrics
from guard.monitor.gather import Gathering, View
from guard.monitor.web import controls, peer
from guard.monitor.web.feed import Feed
from guard.monitor.web.fence import Fence
from guard.monitor.web.keys import Keys

LARGEST = 4096  # bytes of an order
STREAMS = 32  # views at one time
TOKEN = "x-guard-token"
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
AGENTS = "refused. Only a person may do that. Nothing was changed."
SIGN_IN = "open the link that guard monitor --web has printed"
Handler = Callable[[Request], Awaitable[Response]]


class Refused(Exception):
    """An answer other than the one that was wanted: its status and what is said."""

    def __init__(self, status: int, said: str, **more: Any) -> None:
        super().__init__(said)
        self.answer = JSONResponse({"error": said, **more}, status)


class Pages:
    """One server's. `agent` tells for which agent a connection acts, None for none."""

    def __init__(
        self,
        gathering: Gathering,
        keys: Keys,
        port: int,
        feed: Feed | None = None,
        agent: Callable[[peer.End, peer.End], Actor | None] = peer.agent,
    ) -> None:
        self._gathering, self._keys, self._agent = gathering, keys, agent
        self._feed = feed or Feed(gathering)
        self._collected = metrics.Collected(gathering)
        self._cookie = f"guard_{port}"
        self._streams = 0
        self._files = {
            file.name: file.read_bytes() for file in importlib.resources.files(__package__).joinpath("static").iterdir()
        }

    def routes(self) -> list[Route]:
        """All there is."""
        table: list[tuple[str, Handler, str]] = [
            ("/", self.page("index.html"), "GET"),
            ("/loop/{name}", self.page("loop.html"), "GET"),
            ("/static/{name}", self.file, "GET"),
            ("/metrics", self.metrics, "GET"),
            ("/session", self.enter, "POST"),
            ("/api/session", self.session, "GET"),
            ("/api/events", self.events, "GET"),
            ("/api/loops/{name}/events", self.events, "GET"),
            ("/api/gate", self.order, "POST"),
            ("/api/loops/{name}", self.order, "POST"),
        ]
        return [Route(path, _answered(handler), methods=[method]) for path, handler, method in table]

    def page(self, name: str) -> Handler:
        """A page; who has no session gets the one that asks for the link."""

        async def found(request: Request) -> Response:
            known = self._keys.known(request.cookies.get(self._cookie, ""))
            return self._sent(name) if known else self._sent("sign-in.html", 401)

        return found

    async def file(self, request: Request) -> Response:
        """One of the files that belong to the pages."""
        name = request.path_params["name"]
        if name not in self._files or name.endswith(".html"):
            raise Refused(404, "there is no such file")
        return self._sent(name)

    def _sent(self, name: str, status: int = 200) -> Response:
        return Response(self._files[name], status, media_type=TYPES[name.rpartition(".")[2]])

    async def metrics(self, request: Request) -> Response:
        """The numbers, for Prometheus: to programs on this machine without a key, as they hold no texts."""
        if not peer.local(_client(request)[0]):
            self._session(request)
        text, kind = await asyncio.to_thread(self._collected.text, clock.current().now())
        return Response(text, headers={"content-type": kind})

    async def enter(self, request: Request) -> Response:
        """Exchanges the link for a session."""
        values = await _body(request)
        self._refuse_agents(request)
        session = self._keys.exchange(values.get("link", ""))
        if session is None:
            raise Refused(401, "the link was used already, or is another server's; " + SIGN_IN)
        answer = JSONResponse({"v": 1, "token": self._keys.token(session)})
        answer.set_cookie(self._cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    async def session(self, request: Request) -> Response:
        """Is there a session? Its token is told at the sign-in alone: other ports of this machine are given the cookie, too."""
        self._session(request)
        return JSONResponse({"v": 1})

    async def events(self, request: Request) -> Response:
        """What changes, as long as somebody looks."""
        self._session(request)
        name = request.path_params.get("name")
        if name is not None:
            self._view(name)
        if self._streams >= STREAMS:
            raise Refused(503, f"{STREAMS} views are open already; close one")
        source = self._feed.overview() if name is None else self._feed.one(name)
        self._streams += 1

        async def counted() -> Any:
            try:
                async for text in source:
                    yield text
            finally:
                self._streams -= 1

        return StreamingResponse(counted(), media_type="text/event-stream")

    async def order(self, request: Request) -> Response:
        """Gives an order to the machine's gate or to a loop."""
        session = self._session(request)
        if not self._keys.fits(session, request.headers.get(TOKEN, "")):
            raise Refused(403, "the order has no token; " + SIGN_IN)
        values = await _body(request)
        if not peer.local(_client(request)[0]):
            raise Refused(403, "view only: orders are taken from this machine alone; use ssh -L to reach it")
        self._refuse_agents(request)
        name, verb, reason = request.path_params.get("name"), values.get("verb", ""), values.get("reason", "")
        if verb not in (controls.SYSTEM if name is None else controls.LOOP):
            raise Refused(400, "there is no such order")
        if name is None:
            outcome = await asyncio.to_thread(controls.order_system, self._gathering.state_dir, verb, reason)
        else:
            view = self._view(name)
            if verb in (controls.RESUME, controls.ONCE):
                await self._confirmed(session, view, values.get("letters", ""))
            outcome = await asyncio.to_thread(controls.order_loop, view, verb, reason)
        return JSONResponse({"v": 1, "done": outcome.done, "said": outcome.said}, 200 if outcome.done else 409)

    async def _confirmed(self, session: str, view: View, letters: str) -> None:
        """Goes on where nothing grave stands in the way, or the letters that were shown are typed."""
        cause = await asyncio.to_thread(controls.grave, view)
        if cause and not (letters and self._keys.typed(session, view.loop, letters)):
            shown = self._keys.letters(session, view.loop)
            raise Refused(428, f"its breaker opened because of {cause}: type the letters to go on", letters=shown)

    def _view(self, name: str) -> View:
        if name not in self._gathering.names():
            raise Refused(404, "there is no such loop")
        return self._gathering.view(name, clock.current().now())

    def _session(self, request: Request) -> str:
        session = request.cookies.get(self._cookie, "")
        if not self._keys.known(session):
            raise Refused(401, SIGN_IN)
        return session

    def _refuse_agents(self, request: Request) -> None:
        server = request.scope.get("server") or ("", 0)
        found = self._agent(_client(request), (server[0], server[1] or 0))
        if found is not None:
            raise Refused(403, AGENTS)


def application(pages: Pages, port: int, wide: bool = False, names: tuple[str, ...] = ()) -> ASGIApp:
    """The whole of it, fenced."""
    return Fence(Starlette(routes=pages.routes(), exception_handlers={404: _missing}), port, wide, names)


async def _missing(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "there is no such page"}, 404)


def _answered(handler: Handler) -> Handler:
    async def found(request: Request) -> Response:
        try:
            return await handler(request)
        except Refused as refused:
            return refused.answer
        except GuardError as error:
            return JSONResponse({"error": str(error)}, 409)

    return found


async def _body(request: Request) -> dict[str, str]:
    """The texts of an order. Raises Refused for whatever is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "an order is JSON")
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST:
            raise Refused(413, f"an order has at most {LARGEST} bytes")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise Refused(400, "the order is no JSON") from None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise Refused(400, "an order is an object of texts")
    return values


def _client(request: Request) -> peer.End:
    return (request.client.host, request.client.port) if request.client else ("", 0)
