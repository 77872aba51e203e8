"""What a failed call says of its trouble: the client's usage limit and when it ends, errors on the way."""

from __future__ import annotations

import re

from guard.loop.facts import UsageLimit
from guard.loop.reading.resets import resets_at
from guard.loop.reading.said import Said, http

# How clients say that a limit of theirs is used up, which time alone gives back.
LIMIT = re.compile(
    r"usage limit reached|hit your [\w -]{0,40}limit|5.{0,20}hour.{0,40}limit|out of extra usage|weekly limit reached"
    r"|exhausted your (?:daily |[\w-]{1,40} )?(?:quota|capacity)|reached your daily [\w.-]{0,40} ?quota"
    r"|hit a rate limit that restricts|exceeded your premium request allowance"
    r"|free usage (?:limit )?exceeded|FreeUsageLimitError",
    re.IGNORECASE,
)
_STATUS = re.compile(r"(?:API Error|HTTP|status(?: code)?)[: ]{1,3}(408|425|429|5\d\d)\b", re.IGNORECASE)
_STATUS_BITS = 256
_WAYS = (
    ("refused", re.compile(r"ECONNREFUSED|connection refused", re.IGNORECASE)),
    ("reset", re.compile(r"ECONNRESET|EPIPE|connection (?:was )?reset|socket hang up|connection error", re.IGNORECASE)),
    ("overloaded", re.compile(r"\boverloaded(?:_error)?\b", re.IGNORECASE)),
    ("server_error", re.compile(r"\b(?:internal server error|server_error|bad gateway|service unavailable)\b", re.IGNORECASE)),
)


def limit(said: Said, failed: bool, early: bool, stderr: str, now: int, status: str = "") -> UsageLimit | None:
    """The usage limit that a call ran into, by the strongest evidence there is. `now`: UTC milliseconds.

    `failed`: the call did; `early`: it took too long, so that only the client's own event is believed; `status` is its
    `api_status`.
    """
    if said.rejected is not None:
        return UsageLimit(said.rejected[0], said.rejected[1], "event")
    if early or not (failed or said.failure):
        return None
    structured = "\n".join(said.errors)
    if said.quota:
        return UsageLimit("quota", resets_at(structured, now), "status")
    for text, evidence in ((structured, "status" if status == "429" else "text"), (stderr, "text")):
        if found := LIMIT.search(text):
            return UsageLimit(_kind(found[0]), resets_at(text, now), evidence)
    return None


def _kind(text: str) -> str:
    lower = text.lower()
    if "hour" in lower or "session" in lower:
        return "five_hour"
    if "quota" in lower or "allowance" in lower or "capacity" in lower:
        return "quota"
    return "seven_day" if "week" in lower else "extra" if "extra" in lower else "usage"


def api_status(said: Said, failed: bool, stderr: str, exit: int | None = None) -> str:
    """How a failed call failed on its way: an HTTP status, refused, reset, overloaded or server_error; "" for anything else.

    `exit` is given where the client exits with the HTTP status, of which the system keeps the last eight bits.
    """
    if not (failed or said.failure):
        return ""
    if said.status:
        return said.status
    if exit is not None and http(exit + _STATUS_BITS):
        return http(exit + _STATUS_BITS)
    text = "\n".join((*said.errors, stderr))
    if found := _STATUS.search(text):
        return found[1]
    return next((name for name, pattern in _WAYS if pattern.search(text)), "")
