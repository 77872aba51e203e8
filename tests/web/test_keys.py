"""Who may look: links, sessions, tokens and letters."""

from __future__ import annotations

from guard.monitor.web.keys import LETTERS_S, MOST, Keys


def test_a_link_works_once() -> None:
    links: list[str] = []
    keys = Keys(links.append)
    link = keys.link
    session = keys.exchange(link)
    assert session
    assert keys.known(session)
    assert keys.exchange(link) is None
    assert links == [keys.link]
    assert keys.link != link
    assert keys.exchange("") is None
    assert keys.exchange("ä") is None


def test_sessions_are_of_one_server_and_few() -> None:
    keys = Keys()
    sessions = [str(keys.exchange(keys.link)) for _ in range(MOST + 1)]
    assert [keys.known(session) for session in sessions] == [False, *[True] * MOST]
    assert not Keys().known(sessions[-1])
    assert not keys.known("")


def test_a_token_fits_its_own_session() -> None:
    keys = Keys()
    one, other = str(keys.exchange(keys.link)), str(keys.exchange(keys.link))
    assert keys.fits(one, keys.token(one))
    assert not keys.fits(one, keys.token(other))
    assert not keys.fits(one, "")
    assert not keys.fits("nobody", keys.token("nobody"))


def test_letters_are_good_once_and_for_a_while() -> None:
    now = [0.0]
    keys = Keys(clock=lambda: now[0])
    code = keys.letters("s", "loop")
    assert not keys.typed("s", "other", code)
    assert keys.typed("s", "loop", f" {code.upper()} ")
    assert not keys.typed("s", "loop", code)
    code = keys.letters("s", "loop")
    assert not keys.typed("s", "loop", "zzzzz")
    assert not keys.typed("s", "loop", code)
    code = keys.letters("s", "loop")
    now[0] = LETTERS_S
    assert not keys.typed("s", "loop", code)
    assert not keys.typed("s", "never asked", "")
