"""Requests of other pages, and under other names, are refused before anything else is looked at."""

from __future__ import annotations

import pytest

from guard.monitor.web.fence import POLICY, Fence

OWN = "127.0.0.1:8377"


async def nothing(scope: object, receive: object, send: object) -> None:
    raise AssertionError("it came through")


def wrong(method: str = "GET", host: str | None = OWN, wide: bool = False, **headers: str) -> bool:
    pairs = [("host", host)] if host is not None else []
    pairs += [(name.replace("_", "-"), value) for name, value in headers.items()]
    return bool(Fence(nothing, 8377, wide, ("Box",) if wide else ()).wrong(method, pairs))  # type: ignore[arg-type]


@pytest.mark.parametrize("host", [OWN, "localhost:8377", "LOCALHOST:8377", "[::1]:8377"])
def test_own_names(host: str) -> None:
    assert not wrong(host=host)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example:8377",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1.evil.example:8377",
        "10.0.0.5:8377",
        "box:8377",
        ":8377",
        "localhost:8377:8377",
        "127.0.0.1:8377@evil.example",
        "[::1]",
        "localhost.:8377",
    ],
)
def test_other_names(host: str | None) -> None:
    assert wrong(host=host)


def test_two_names_are_none() -> None:
    assert Fence(nothing, 8377).wrong("GET", [("host", OWN), ("host", "evil.example")])  # type: ignore[arg-type]


def test_a_server_for_other_machines_has_its_addresses_and_its_own_name() -> None:
    assert [wrong(host=host, wide=True) for host in ("10.0.0.5:8377", "[fe80::1]:8377", "box:8377")] == [False] * 3
    assert wrong(host="evil.example:8377", wide=True)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8377", "http://127.0.0.1:8378", "http://localhost:8377"]
)
def test_other_origins(origin: str) -> None:
    assert wrong(origin=origin)
    assert wrong("POST", origin=origin)


def test_orders_come_from_the_page_itself() -> None:
    assert wrong("POST")
    assert not wrong("POST", origin=f"http://{OWN}")
    assert not wrong("POST", origin=f"http://{OWN}", sec_fetch_site="same-origin")
    assert wrong("POST", origin=f"http://{OWN}", sec_fetch_site="none")
    assert wrong("PUT")
    assert wrong(sec_fetch_site="cross-site")
    assert wrong(sec_fetch_site="same-site")
    assert not wrong(sec_fetch_site="none")


def test_the_policy_allows_nothing_inline_and_nothing_foreign() -> None:
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert "default-src 'none'" in POLICY
