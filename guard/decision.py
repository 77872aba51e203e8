"""Request and Decision: what was asked, and all that came of it. Log, explain and replay work from these."""

from __future__ import annotations

import os

from guard.actor import Actor
from guard.effects import Analysis
from guard.verdict import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

_LETTERS = "abcdefghjkmnpqrstuvwxyz"
_DIGITS = "23456789"


class Request(NamedTuple):
    """What is to be judged: the command as typed and the directory it would run in. `id` names the decision,
    `layer` the entry that asks, `actor` who is calling, where that has been looked at."""

    command: str
    cwd: str
    id: str = ""
    layer: str = "check"
    actor: Actor | None = None


class Decision(NamedTuple):
    """One judgement with all that it rests on. `time` is in seconds since 1970, `suggestion` what the refusal proposed."""

    request: Request
    analysis: Analysis
    verdict: Verdict
    time: float = 0.0
    suggestion: str | None = None


def new_id() -> str:
    """A short random name for a decision: a letter, a digit and two more, such as r7f3. Never a word, so never a command."""
    first, second, third, fourth = os.urandom(4)
    both = _LETTERS + _DIGITS
    return _LETTERS[first % 23] + _DIGITS[second % 8] + both[third % 31] + both[fourth % 31]
