"""A page over a state directory, without a network; whoever asks is a person unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from guard.actor import Actor
from guard.loop import authority, clock
from guard.loop.authority import Asker
from guard.loop.identity import place
from guard.loop.store import Store
from guard.monitor.gather import Gathering
from guard.monitor.web.app import Pages, application
from guard.monitor.web.keys import Keys

PORT = 8377
HOME = f"http://127.0.0.1:{PORT}"
OWN = {"origin": HOME}


class Site:
    """The page, a browser's requests to it, and the keys."""

    def __init__(self, state: Path, agent: Actor | None = None, client: str = "127.0.0.1", wide: bool = False) -> None:
        self.links: list[str] = []
        self.keys = Keys(self.links.append)
        self.agent = agent
        pages = Pages(Gathering(str(state)), self.keys, PORT, agent=lambda *ends: self.agent)
        app = application(pages, PORT, wide, ("box",) if wide else ())
        self.browser = TestClient(app, HOME, client=(client, 50000))
        self.token = ""

    def enter(self) -> Site:
        """Signs in."""
        answer = self.browser.post("/session", json={"link": self.keys.link}, headers=OWN)
        assert answer.status_code == 200, answer.text
        self.token = answer.json()["token"]
        return self

    def order(self, path: str, **values: str) -> tuple[int, dict[str, object]]:
        """Gives an order as the page's script does."""
        answer = self.browser.post(path, json=values, headers={**OWN, "x-guard-token": self.token})
        return answer.status_code, answer.json()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    found = tmp_path / "state"
    found.mkdir()
    return found


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Says who stands at the terminal; a person by default."""

    def stands(kind: str) -> None:
        monkeypatch.setattr(authority, "here", lambda loop, runner=0: Asker(kind, kind))

    stands(authority.PERSON)
    return stands


@pytest.fixture
def site(state: Path, person: Callable[[str], None]) -> Site:
    return Site(state)


@pytest.fixture
def loop(state: Path, tmp_path: Path) -> str:
    """The id of a loop that nothing runs."""
    tree = tmp_path / "app"
    tree.mkdir()
    with Store.open(str(state), str(tree), clock.current().now()) as store:
        from guard.loop.events import ModeChanged

        store.record(ModeChanged("auto", "auto", "user", "", "person"), clock.current().now())
    return Path(place(str(state), str(tree))).name
