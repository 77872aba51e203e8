"""Keys: who may look at the page. All of it is in the memory of the server alone, and ends with it: no file holds a key.

link       printed at the terminal, used once; a browser exchanges it for a session
session    a cookie that scripts cannot read; it lets one look
token      told at the sign-in alone and kept by the page, goes with each order in a header. The cookie is not enough: a browser
           gives it to whatever listens at another port of this machine, and that may be a server that an agent has started
letters    shown for what is grave, and typed by whoever orders it
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

MOST = 16  # sessions that are kept; a new one pushes out the oldest
LETTERS, COUNT = "abcdefghjkmnpqrstuvwxyz", 4
LETTERS_S = 120.0  # to type them


class Keys:
    """The keys of one server. `used` is called when a link was used, with the next one."""

    def __init__(self, used: Callable[[str], None] = lambda link: None, clock: Callable[[], float] = time.monotonic) -> None:
        self._secret = secrets.token_bytes(32)
        self._used, self._clock = used, clock
        self._sessions: list[str] = []
        self._asked: dict[tuple[str, str], tuple[str, float]] = {}
        self.link = secrets.token_urlsafe(24)

    def exchange(self, link: str) -> str | None:
        """A new session for the link; None for any other text. The link is spent then."""
        if not hmac.compare_digest(link.encode(), self.link.encode()):
            return None
        self.link = secrets.token_urlsafe(24)
        session = secrets.token_urlsafe(32)
        self._sessions = [*self._sessions[1 - MOST :], session]
        self._used(self.link)
        return session

    def known(self, session: str) -> bool:
        """Is it a session of this server?"""
        return any(hmac.compare_digest(session.encode(), each.encode()) for each in self._sessions)

    def token(self, session: str) -> str:
        """What goes with the orders of a session."""
        return hmac.new(self._secret, session.encode(), hashlib.sha256).hexdigest()

    def fits(self, session: str, token: str) -> bool:
        """Is it the token of this session?"""
        return self.known(session) and hmac.compare_digest(self.token(session).encode(), token.encode())

    def letters(self, session: str, what: str) -> str:
        """Letters to be typed for an order, good for two minutes and once."""
        code = "".join(secrets.choice(LETTERS) for _ in range(COUNT))
        self._asked[(session, what)] = (code, self._clock() + LETTERS_S)
        return code

    def typed(self, session: str, what: str, letters: str) -> bool:
        """Are these the letters that were shown for this order? They are spent either way."""
        code, until = self._asked.pop((session, what), ("", 0.0))
        right = hmac.compare_digest(letters.strip().lower().encode(), code.encode())
        return bool(code) and right and self._clock() < until
