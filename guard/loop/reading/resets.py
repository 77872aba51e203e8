"""When a client's limit ends, as the client's own words say it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_EPOCH = re.compile(r"limit reached\s*\|\s*(\d{9,14})", re.IGNORECASE)
_DAY = (
    r"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* "
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<year>20\d\d))?(?:,| at)* "
)
_ZONE = r" ?\((?P<zone>[^()]{1,60})\)| ?(?P<off>(?:GMT|UTC)(?:[+-]\d{1,2}(?::?\d\d)?)?)\b"
_RESETS = re.compile(
    rf"(?:resets?|try again)(?: at| on)? (?:{_DAY})?(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)?(?:{_ZONE})?",
    re.IGNORECASE,
)
_AFTER = re.compile(r"(?:resets?|try again) (?:after|in) ((?:\d{1,6} ?[a-z]{1,7},? ?(?:and )?){1,4})", re.IGNORECASE)
_PART = re.compile(r"(\d{1,6}) ?([dhms])[a-z]{0,6}", re.IGNORECASE)
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_FIXED = re.compile(r"(?:GMT|UTC)(?:([+-])(\d{1,2}):?(\d\d)?)?", re.IGNORECASE)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


def resets_at(text: str, now: int) -> int | None:
    """When a limit ends by its text (UTC milliseconds); None where that is not said, or cannot be understood."""
    if found := _EPOCH.search(text):
        number = int(found[1])
        return number if number > 10**11 else number * 1000
    if found := _AFTER.search(text):
        ahead = sum(int(number) * _SECONDS[unit.lower()] for number, unit in _PART.findall(found[1]))
        return now + ahead * 1000 if ahead else None
    found = _RESETS.search(text)
    if found is None or not (found["half"] or found["minute"]):
        return None
    zone = _fixed(found["off"]) if found["off"] else _zone(found["zone"])
    return None if zone is None else _next(found, datetime.fromtimestamp(now / 1000, UTC).astimezone(zone), zone)


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return datetime.now().astimezone().tzinfo
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def _fixed(name: str) -> tzinfo | None:
    """A zone such as GMT-3."""
    found = _FIXED.fullmatch(name)
    if found is None or int(found[2] or 0) > 14 or int(found[3] or 0) > 59:
        return None
    ahead = timedelta(hours=int(found[2] or 0), minutes=int(found[3] or 0))
    return timezone(-ahead if found[1] == "-" else ahead)


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
            if found["year"]:
                at = at.replace(year=int(found["year"]))
            elif at < now - timedelta(days=183):
                at = at.replace(year=at.year + 1)
        elif at <= now:
            at = (now.replace(tzinfo=None) + timedelta(days=1)).replace(
                hour=hour, minute=minute, second=0, microsecond=0, tzinfo=zone
            )
    except ValueError:
        return None
    return int(at.timestamp() * 1000)
