"""Times as text: UTC milliseconds since the epoch, as ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from guard.loop.record import Invalid

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(t: int) -> str:
    """A time as text: 2026-11-30T18:15:02.123Z."""
    return (_EPOCH + timedelta(milliseconds=t)).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def second(t: int) -> str:
    """A time as text without its milliseconds: 2026-11-30T18:15:02Z."""
    return moment(t)[:-5] + "Z"


def milliseconds(text: str) -> int:
    """The time that `moment` wrote. Raises Invalid."""
    try:
        found = datetime.fromisoformat(text)
        return (found - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, TypeError, OverflowError) as error:
        raise Invalid(f"{text!r} is no time") from error
