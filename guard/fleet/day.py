"""Day: from one local midnight of this machine to the next. Where clocks are changed, it has 23 or 25 hours."""

from __future__ import annotations

import datetime


def start(t: int) -> int:
    """The local midnight at which the day of a moment began. All times are UTC milliseconds."""
    return _midnight(datetime.datetime.fromtimestamp(t / 1000).date())


def end(t: int) -> int:
    """The local midnight at which the day of a moment ends."""
    return _midnight(datetime.datetime.fromtimestamp(t / 1000).date() + datetime.timedelta(days=1))


def _midnight(date: datetime.date) -> int:
    """The first moment of a date. A midnight that clocks leave out is the moment at which they are changed."""
    return int(datetime.datetime.combine(date, datetime.time()).timestamp()) * 1000
