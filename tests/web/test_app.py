"""What the page answers, and to whom it answers nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from guard.actor import AGENT, Actor
from guard.loop import authority, gate, store
from guard.monitor.gather import Gathering
from guard.monitor.web import app, controls
from tests.web.conftest import OWN, PORT, Site

STATIC = Path(app.__file__).parent / "static"


@pytest.mark.parametrize("path", ["/api/session", "/api/events", "/api/loops/x/events"])
def test_without_a_session_nothing_is_shown(path: str, site: Site) -> None:
    assert site.browser.get(path).status_code == 401
    assert site.browser.get(path, headers={"cookie": f"guard_{PORT}=nonsense"}).status_code == 401


def test_without_a_session_the_page_asks_for_the_link(site: Site) -> None:
    answer = site.browser.get("/")
    assert answer.status_code == 401
    assert "Sign in" in answer.text
    assert "Sign in" in site.browser.get("/loop/app").text
    site.enter()
    assert "Whole machine" in site.browser.get("/").text


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(site: Site) -> None:
    answer = site.browser.post("/session", json={"link": site.keys.link}, headers=OWN)
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"guard_{PORT}=")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/metrics", "/nowhere", "/api/session"])
def test_every_answer_is_fenced(path: str, site: Site) -> None:
    for host in (f"127.0.0.1:{PORT}", "evil.example"):
        headers = site.browser.get(path, headers={"host": host}).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


def test_orders_of_others_are_refused(site: Site, state: Path) -> None:
    site.enter()
    good = {**OWN, "x-guard-token": site.token}
    for wrong in (
        {"origin": "http://evil.example"},
        {"host": "evil.example:8377"},
        {"x-guard-token": ""},
        {"x-guard-token": "00"},
    ):
        answer = site.browser.post("/api/gate", json={"verb": "pause"}, headers={**good, **wrong})
        assert answer.status_code == 403, wrong
    del good["origin"]
    assert site.browser.post("/api/gate", json={"verb": "pause"}, headers=good).status_code == 403
    site.browser.cookies.clear()
    assert site.order("/api/gate", verb="pause")[0] == 401
    assert gate.read(str(state)).state == gate.RUNNING


def test_the_cookie_alone_gives_no_orders(site: Site, state: Path) -> None:
    site.enter()
    for path in ("/api/session", "/", "/loop/x", "/metrics"):
        assert site.token not in site.browser.get(path).text
    site.token = ""
    assert site.order("/api/gate", verb="pause")[0] == 403
    assert gate.read(str(state)).state == gate.RUNNING


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_orders_are_posted(method: str, site: Site) -> None:
    site.enter()
    headers = {**OWN, "x-guard-token": site.token}
    assert site.browser.request(method, "/api/gate", headers=headers).status_code == 405


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"verb": "pause", "reason": "' + b"x" * 5000 + b'"}', "application/json", 413),
        (b"{", "application/json", 400),
        (b"[" * 3000, "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"verb": 3}', "application/json", 400),
        (b'{"verb": "stop"}', "application/json", 400),
        (b"{}", "application/json", 400),
        (b"verb=pause", "application/x-www-form-urlencoded", 415),
        (b'{"verb": "pause"}', "text/plain", 415),
    ],
)
def test_what_is_no_order(content: bytes, kind: str, status: int, site: Site, state: Path) -> None:
    site.enter()
    headers = {**OWN, "x-guard-token": site.token, "content-type": kind}
    assert site.browser.post("/api/gate", content=content, headers=headers).status_code == status
    assert gate.read(str(state)).state == gate.RUNNING


@pytest.mark.parametrize(
    "path", ["..%2fapp.py", "%2e%2e/app.py", "../app.py", "index.html", "", "%00", "page.css%00", "..%5capp.py"]
)
def test_only_the_files_of_the_page_are_given(path: str, site: Site) -> None:
    answer = site.browser.get(f"/static/{path}")
    assert answer.status_code == 404
    assert "import" not in answer.text


@pytest.mark.parametrize("name", ["..%2fgate", "..%2f..", "%2e%2e", "nothing", "%00"])
def test_a_loop_that_is_none(name: str, site: Site) -> None:
    site.enter()
    assert site.order(f"/api/loops/{name}", verb="pause")[0] in (404, 405)
    assert site.browser.get(f"/api/loops/{name}/events").status_code == 404


def test_the_gate_is_closed_and_opened(site: Site, state: Path) -> None:
    site.enter()
    status, said = site.order("/api/gate", verb="pause", reason=" lunch\n break ")
    assert (status, said["done"]) == (200, True)
    found = gate.read(str(state))
    assert (found.state, found.reason, found.actor) == (gate.PAUSED, "lunch break", authority.PERSON)
    assert site.order("/api/gate", verb="resume")[0] == 200
    assert gate.read(str(state)).state == gate.RUNNING
    assert site.order("/api/gate", verb="resume")[0] == 409


def test_a_loop_is_paused_resumed_and_set_manual(site: Site, state: Path, loop: str) -> None:
    site.enter()
    path = f"/api/loops/{loop}"
    assert site.order(path, verb="pause", reason="look")[0] == 200
    found = store.peek(f"{state}/loops/{loop}")
    assert found is not None
    assert found.hold is not None
    assert (found.hold.kind, found.hold.reason) == ("user", "look")
    assert controls.loop(Gathering(str(state)).view(loop, 0))["resume"]
    assert site.order(path, verb="resume")[0] == 200
    assert site.order(path, verb="resume")[0] == 409
    assert site.order(path, verb="manual")[0] == 200
    assert controls.loop(Gathering(str(state)).view(loop, 0)) == {
        "pause": True, "resume": False, "manual": False, "auto": True, "once": False
    }  # fmt: skip
    assert site.order(path, verb="auto")[0] == 200


def test_a_server_of_nobody_is_view_only(site: Site, state: Path, loop: str, person: Callable[[str], None]) -> None:
    site.enter()
    person(authority.OTHER)
    for path in ("/api/gate", f"/api/loops/{loop}"):
        status, said = site.order(path, verb="pause")
        assert (status, said["said"]) == (409, controls.NO_PERSON)
    assert gate.read(str(state)).state == gate.RUNNING
    assert (
        "ControlRefused" in (state / "gate" / "journal.jsonl").read_text()
        or "refused" in (state / "gate" / "journal.jsonl").read_text()
    )


def test_a_process_of_an_agent_gets_nothing_with_the_right_keys(site: Site, state: Path, loop: str) -> None:
    link = site.keys.link
    site.agent = Actor(AGENT, "claude", "CLAUDECODE")
    assert site.browser.post("/session", json={"link": link}, headers=OWN).status_code == 403
    assert site.keys.link == link  # it is not spent
    site.agent = None
    site.enter()
    site.agent = Actor(AGENT, "claude", "CLAUDECODE")
    assert site.order("/api/gate", verb="pause") == (403, {"error": app.AGENTS})
    assert site.order(f"/api/loops/{loop}", verb="resume")[0] == 403
    assert gate.read(str(state)).state == gate.RUNNING


def test_other_machines_only_look(state: Path, person: object) -> None:
    site = Site(state, client="10.0.0.7", wide=True)
    assert site.browser.get("/metrics").status_code == 401
    site.enter()
    assert site.browser.get("/metrics").status_code == 200
    assert site.order("/api/gate", verb="pause")[0] == 403
    assert gate.read(str(state)).state == gate.RUNNING


def test_what_is_grave_needs_letters(site: Site, loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    site.enter()
    path = f"/api/loops/{loop}"
    site.order(path, verb="pause")
    monkeypatch.setattr(controls, "grave", lambda view: "integrity")
    status, said = site.order(path, verb="resume", letters="zzzz")
    assert status == 428
    assert "integrity" in str(said["error"])
    assert site.order(path, verb="resume")[0] == 428
    letters = str(site.order(path, verb="resume")[1]["letters"])
    assert site.order(path, verb="resume", letters=letters)[0] == 200
    assert site.order(path, verb="resume", letters=letters)[0] == 428


def test_the_pages_have_nothing_inline_and_nothing_from_elsewhere() -> None:
    for file in STATIC.glob("*.html"):
        text = file.read_text()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|https?://", text), file.name
        assert all(tag.startswith('<script type="module" src="/static/') for tag in re.findall(r"<script[^>]*>", text))
        assert '<html lang="en">' in text
    for file in STATIC.glob("*.js"):
        text = file.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|\.style\b|Function\(", text), file.name
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), file.name
