"""What a failed call says of its trouble: the client's usage limit and when it ends, errors on the way."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from guard.loop.facts import UsageLimit
from guard.loop.reading.said import Said

LIMIT = re.compile(
    r"usage limit reached|hit your [\w -]{0,40}limit|5.{0,20}hour.{0,40}limit|out of extra usage|weekly limit reached",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"limit reached\s*\|\s*(\d{9,14})", re.IGNORECASE)
_RESETS = re.compile(
    r"resets?(?: at| on)? (?:(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* (?P<day>\d{1,2})(?:,| at)* )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)?(?: ?\((?P<zone>[^()]{1,60})\))?",
    re.IGNORECASE,
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_STATUS = re.compile(r"(?:API Error|HTTP|status(?: code)?)[: ]{1,3}(408|425|429|5\d\d)\b", re.IGNORECASE)
_WAYS = (
    ("refused", re.compile(r"ECONNREFUSED|connection refused", re.IGNORECASE)),
    ("reset", re.compile(r"ECONNRESET|EPIPE|connection (?:was )?reset|socket hang up|connection error", re.IGNORECASE)),
    ("overloaded", re.compile(r"\boverloaded(?:_error)?\b", re.IGNORECASE)),
    ("server_error", re.compile(r"\b(?:internal server error|server_error|bad gateway|service unavailable)\b", re.IGNORECASE)),
)


def limit(said: Said, failed: bool, early: bool, stderr: str, now: int) -> UsageLimit | None:
    """The usage limit that a call ran into, by the strongest evidence there is. `now`: UTC milliseconds.

    `failed`: the call did; `early`: it took too long, so that only the client's own event is believed.
    """
    if said.rejected is not None:
        return UsageLimit(said.rejected[0], said.rejected[1], "event")
    if early or not (failed or said.failure):
        return None
    structured = "\n".join(said.errors)
    for text, evidence in ((structured, "status" if said.status == "429" else "text"), (stderr, "text")):
        if found := LIMIT.search(text):
            return UsageLimit(_kind(found[0]), resets_at(text, now), evidence)
    return None


def _kind(text: str) -> str:
    lower = text.lower()
    if "hour" in lower or "session" in lower:
        return "five_hour"
    return "seven_day" if "week" in lower else "extra" if "extra" in lower else "usage"


def resets_at(text: str, now: int) -> int | None:
    """When a limit ends by its text (UTC milliseconds); None where that is not said, or cannot be understood."""
    if found := _EPOCH.search(text):
        number = int(found[1])
        return number if number > 10**11 else number * 1000
    found = _RESETS.search(text)
    if found is None or not (found["half"] or found["minute"]):
        return None
    zone = _zone(found["zone"])
    return None if zone is None else _next(found, datetime.fromtimestamp(now / 1000, UTC).astimezone(zone), zone)


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return datetime.now().astimezone().tzinfo
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def _next(found: re.Match[str], now: datetime, zone: tzinfo) -> int | None:
    """The next moment with this time of day, on this day where one is named."""
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
    try:
        at = now.replace(hour=hour, minute=minute, second=0, microsecond=0, tzinfo=zone)
        if found["month"]:
            at = at.replace(month=_MONTHS.index(found["month"].lower()) + 1, day=int(found["day"]))
            if at < now - timedelta(days=183):
                at = at.replace(year=at.year + 1)
        elif at <= now:
            at = (now.replace(tzinfo=None) + timedelta(days=1)).replace(
                hour=hour, minute=minute, second=0, microsecond=0, tzinfo=zone
            )
    except ValueError:
        return None
    return int(at.timestamp() * 1000)


def api_status(said: Said, failed: bool, stderr: str) -> str:
    """How a failed call failed on its way: an HTTP status, refused, reset, overloaded or server_error; "" for anything else."""
    if not (failed or said.failure):
        return ""
    if said.status:
        return said.status
    text = "\n".join((*said.errors, stderr))
    if found := _STATUS.search(text):
        return found[1]
    return next((name for name, pattern in _WAYS if pattern.search(text)), "")
