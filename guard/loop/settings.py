"""The loop's settings in force, their bounds, and what becomes of values that are looser than allowed."""

from __future__ import annotations

from typing import Any

from msgspec import field

from guard.errors import GuardError
from guard.loop.record import Record, replace

HOUR_S = 3600
DAY_S = 86400
LONGEST_COOLDOWN_S = DAY_S
BLOCKED = 3  # iterations that say BLOCKED until a person is needed
REFUSED_CLAIMS = 5  # explicit claims that were refused until a person is needed
REAL_GAPS = 3  # iterations with real gaps that trip even where there is progress
WINDOW = 3  # scores that are summed
WATCHED = 3  # iterations with a score above 0 until a breaker that closed is trusted again
EACH = 5  # of one kind, how many count in the score of an iteration


class Profile(Record, frozen=True):
    """How many test-focused iterations, done signals, and which share of test-focused iterations in percent."""

    test_loops: int
    done: int
    test_share: int


PROFILES = {"simple": Profile(2, 1, 25), "medium": Profile(3, 2, 30), "complex": Profile(4, 3, 35)}


class Config(Record, frozen=True):
    """Everything that may be configured, as it is in force. Finite by default."""

    profile: str = "medium"
    # breaker
    no_progress: int = 3
    same_error: int = 5
    failures: int = 5
    permission: int = 2
    refusals: int = 3
    questions: int = 3
    test_loops: int = 3
    messages: int = 3
    renewals: int = 5
    output_decline: int = 70  # percent
    cooldown_s: int = 1800
    # votes
    done: int = 2
    test_share: int = 30  # percent
    # limits
    calls_per_hour: int = 100
    tokens_per_hour: int = 0  # 0: no limit
    iterations: int = 100
    runtime_s: int = DAY_S
    cost_usd: float | None = None
    timeout_s: int = 900
    idle_timeout_s: int = 0  # 0: none
    # conduct
    plan: bool = False  # there is a plan
    verify: bool = False  # there is a verify command
    wait: bool = False  # wait for cooldowns and answers
    on_limit: str = "wait"  # ask, wait or exit
    level: int = 3  # 3 as configured, 2 confirm, 1 economy
    day_tokens: int = 0  # of all loops that share a ledger; 0: no limit
    day_cost: float | None = None
    role: str = "normal"  # cheapest, critical or normal
    fleet_calls: int = 0  # of all loops that share a ledger, in an hour; 0: nothing is shared
    unsafe: bool = False
    sources: dict[str, str] = field(default_factory=dict)  # where a value that is not the default comes from

    @property
    def thresholds(self) -> Profile:
        """The profile's own numbers."""
        return PROFILES[self.profile]

    @property
    def budget_unit(self) -> str:
        """What the day's budget counts: tokens or cost; "" where there is none."""
        return "tokens" if self.day_tokens else "" if self.day_cost is None else "cost"


# Each threshold: the direction in which it is stricter, and the strictest value that makes sense. The loosest is the default,
# or the profile's number.
LOWER, HIGHER = -1, 1
STRICTER = {
    "no_progress": (LOWER, 1),
    "same_error": (LOWER, 2),
    "failures": (LOWER, 1),
    "permission": (LOWER, 1),
    "refusals": (LOWER, 1),
    "questions": (LOWER, 1),
    "test_loops": (LOWER, 1),
    "messages": (LOWER, 2),
    "renewals": (LOWER, 2),
    "output_decline": (LOWER, 1),
    "cooldown_s": (HIGHER, LONGEST_COOLDOWN_S),
    "done": (HIGHER, 20),  # fewer done signals end a run earlier
    "test_share": (LOWER, 1),
}
# Everything else that is a number: the smallest and the largest value.
RANGES = {
    "calls_per_hour": (1, 100_000),
    "tokens_per_hour": (0, 10**12),
    "iterations": (1, 1_000_000),
    "runtime_s": (1, 366 * DAY_S),
    "cost_usd": (0, 10**9),
    "timeout_s": (1, 2 * HOUR_S),
    "idle_timeout_s": (0, 2 * HOUR_S),
    "level": (1, 3),
    "day_tokens": (0, 10**12),
    "day_cost": (0, 10**9),
    "fleet_calls": (0, 100_000),
}
CHOICES = {
    "profile": tuple(PROFILES),
    "on_limit": ("ask", "wait", "exit"),
    "role": ("normal", "cheapest", "critical"),
}


class Settled(Record, frozen=True):
    """The settings in force; what was set to its limit (to be shown); what is looser than by default (to be recorded)."""

    config: Config
    warnings: tuple[str, ...] = ()
    loosened: tuple[str, ...] = ()


def settle(asked: dict[str, Any], unsafe: bool = False, sources: dict[str, str] | None = None) -> Settled:
    """The settings in force for those that were asked for.

    Thresholds may be stricter than the default or the profile. Looser ones are set to the limit with a warning, unless `unsafe`;
    a cooldown is never shorter than the default. Raises GuardError for a value that makes no sense and for an unknown name.
    """
    places = sources or {}
    for name, value in asked.items():
        _check(name, value, places.get(name, ""))
    if asked.get("day_tokens") and asked.get("day_cost") is not None:
        todo = "use day_tokens or day_cost, not both"
        raise GuardError("the day has two budgets", places.get("day_cost", ""), todo)
    profile = PROFILES[asked.get("profile", Config().profile)]
    limits = {name: _loosest(name, profile) for name in STRICTER}
    warnings, loosened = [], []
    values = dict(limits)
    for name in sorted(asked.keys() & STRICTER.keys()):
        value, limit = asked[name], limits[name]
        looser = (value - limit) * STRICTER[name][0] < 0
        if looser and (not unsafe or name == "cooldown_s"):
            warnings.append(f"{_shown(name, value, places)} is looser than allowed: it is {limit}")
            continue
        if looser:
            loosened.append(f"{name}={value}")
        values[name] = value
    rest = {name: value for name, value in asked.items() if name not in STRICTER}
    config = replace(Config(), **(rest | values | {"unsafe": unsafe, "sources": dict(places)}))
    return Settled(config, tuple(warnings), tuple(loosened))


def _loosest(name: str, profile: Profile) -> int:
    own = {"test_loops": profile.test_loops, "done": profile.done, "test_share": profile.test_share}
    default: int = getattr(Config(), name)
    return own.get(name, default)


def _check(name: str, value: Any, place: str) -> None:
    """Raises GuardError where a value is of the wrong type or outside all bounds."""
    default = getattr(Config(), name, None)
    if name not in Config.__struct_fields__ or name in ("sources", "unsafe"):
        raise GuardError(f"there is no setting {name}", place, "remove it, or correct its name")
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise GuardError(f"{name} is {value!r}", place, f"use one of {', '.join(CHOICES[name])}")
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            raise GuardError(f"{name} is {value!r}", place, "use true or false")
    elif name in ("cost_usd", "day_cost"):
        if value is not None:
            _number(name, value, RANGES[name], place, float)
    else:
        _number(name, value, _range(name), place, int)


def _range(name: str) -> tuple[int, int]:
    if name in RANGES:
        return RANGES[name]
    direction, strictest = STRICTER[name]
    return (strictest, 10**9) if direction == LOWER else (0, strictest)


def _number(name: str, value: Any, bounds: tuple[int, int], place: str, kind: type) -> None:
    fits = isinstance(value, (int, kind)) and not isinstance(value, bool)
    if not fits or not bounds[0] <= value <= bounds[1]:
        what = "a whole number" if kind is int else "a number"
        raise GuardError(f"{name} is {value!r}", place, f"use {what} from {bounds[0]} to {bounds[1]}")


def _shown(name: str, value: Any, places: dict[str, str]) -> str:
    place = places.get(name)
    return f"{name} = {value} ({place})" if place else f"{name} = {value}"
