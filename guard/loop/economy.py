"""Economy: what a run asks of the ledger that loops share: calls of the hour, and what the day's budget leaves."""

from __future__ import annotations

import socket

from guard.fleet import budget, day, history
from guard.fleet.budget import Room
from guard.fleet.ledger import DAY_MS, HOUR_MS, MILLIONTHS, ORDINARY, Answer, Ask, Away, Entry, Ledger, Lost, Standing
from guard.fleet.sqlite import Sqlite
from guard.loop import gatekeeper, limits
from guard.loop.command import Command
from guard.loop.configuration import Settings
from guard.loop.desk import Desk
from guard.loop.events import Alert, Budgeted, CallEnded, CallReserved, FleetChanged, LevelChanged
from guard.loop.record import replace

SHARED, AWAY = "shared", "away"
LOOK_MS = 60_000  # between two looks at a ledger that is away, where a call waits for it
JITTER_MS = 60_000  # by which the end of a day may differ before it is another one


class Economy:
    """One run's. `loops`: how many are expected where the ledger could never be asked, 0 where nobody has said."""

    def __init__(self, desk: Desk, ledger: Ledger, loop: str = "", loops: int = 0) -> None:
        self._desk, self._ledger, self._loops = desk, ledger, loops
        self._loop = loop or desk.state.loop
        self._joined = False
        self._unpaid: list[Entry] = []
        self._before = ""  # the last call that the ledger has confirmed
        self._contact: tuple[int, int] | None = None  # when it did, and how many calls counted with it
        self._own = (0, 0)  # what was spent since the ledger was heard last: tokens, millionths

    def look(self) -> None:
        """Before a decision: how the ledger stands, and what the budget leaves. Raises GuardError where it cannot be kept."""
        standing: Standing | None = None
        try:
            self._pay()
            since = day.start(self._ledger.now())
            standing = self._ledger.standing(self._loop, self._desk.state.config.role, since)
        except Away as away:
            self._went(str(away))
        else:
            self._own = (0, 0)
            self._answered(standing.loops)
        if self._desk.state.config.budget_unit:
            self._weigh(standing)

    def reserve(self, made: CallReserved) -> Command | None:
        """Reserves a call of all loops; gives what to do instead where none is left. Raises GuardError."""
        state = self._desk.state
        pool = state.budget.pool if state.budget is not None else ORDINARY
        ask = Ask(self._id(made.call), self._loop, state.config.fleet_calls, pool, self._before)
        try:
            answer = self._asked(ask)
        except Away as away:
            self._went(str(away))
            return self._by_share()
        self._answered(answer.loops)
        if not answer.ok:
            ahead = max(0, (answer.free_at or answer.t) - answer.t)
            return gatekeeper.shared(self._desk.state, self._desk.now + ahead)
        self._before, self._contact = ask.id, (self._desk.now, answer.used + 1)
        return None

    def charge(self, made: CallReserved, ended: CallEnded) -> None:
        """Tells the ledger what a call has spent; once it can be told."""
        state = self._desk.state
        pool = state.budget.pool if state.budget is not None else ORDINARY
        t = max((one.t for one in state.window if one.call == made.call), default=self._desk.now)
        cost = round(ended.cost_usd * MILLIONTHS)
        self._unpaid.append(Entry(self._id(made.call), self._loop, t, ended.tokens.counted, cost, pool))
        self._own = (self._own[0] + ended.tokens.counted, self._own[1] + cost)
        try:
            self._pay()
        except Away as away:
            self._went(str(away))

    def close(self) -> None:
        """Ends the use of the ledger."""
        self._ledger.close()

    def _id(self, call: int) -> str:
        return history.call_id(self._loop, self._desk.run, call)

    def _pay(self) -> None:
        """Tells what the ledger may not know: first the calls that the journal has, then what was spent."""
        if not self._joined:
            self._ledger.put(self._kept())
            self._joined = True
        if self._unpaid:
            self._ledger.put(self._unpaid)
            self._unpaid = []

    def _kept(self) -> list[Entry]:
        return history.entries(self._desk.store.directory, self._loop, self._desk.now - DAY_MS - HOUR_MS)

    def _asked(self, ask: Ask) -> Answer:
        try:
            return self._ledger.reserve(ask)
        except Lost:
            detail = "it had forgotten calls that it had confirmed: this loop has told it its own again"
            self._desk.record(Alert("fleet", "critical", detail))
            self._ledger.put(self._kept())
            return self._ledger.reserve(ask._replace(before=""))

    def _known(self) -> int:
        """How many loops there are, as far as anybody has said; 0 for unknown."""
        fleet = self._desk.state.fleet
        return max(self._loops, fleet.loops if fleet is not None else 0)

    def _share(self) -> int:
        """How many calls an hour the loop has while the ledger is away."""
        known = self._known()
        return self._desk.state.config.fleet_calls // known if known else 0

    def _by_share(self) -> Command | None:
        """While the ledger is away: the loop's part of the calls, and of those that were left when it was heard last."""
        state, now = self._desk.state, self._desk.now
        limit = state.config.fleet_calls
        if not limit:
            return None
        free = limits.used(state, now) < self._share()
        if free and self._contact is not None and now < self._contact[0] + HOUR_MS:
            since = sum(one.t > self._contact[0] for one in state.window)
            free = since < (limit - self._contact[1]) // self._known()
        return None if free else gatekeeper.shared(state, now + LOOK_MS)

    def _went(self, why: str) -> None:
        """The ledger is away. That is told once."""
        self._joined = False
        before = self._desk.state.fleet
        if before is not None and before.after == AWAY:
            return
        share = self._share()
        self._desk.record(FleetChanged(before.after if before else "", AWAY, self._known(), share, why))
        kept = f"this loop keeps to its share of {share} calls an hour" if self._desk.state.config.fleet_calls else "economy"
        self._desk.record(Alert("fleet", "warning", f"the ledger that loops share is away ({why}): {kept}"))

    def _answered(self, loops: int) -> None:
        before = self._desk.state.fleet
        if before is not None and (before.after, before.loops) == (SHARED, loops):
            return
        limit = self._desk.state.config.fleet_calls
        self._desk.record(FleetChanged(before.after if before else "", SHARED, loops, limit // max(1, loops)))
        if before is not None and before.after == AWAY:
            self._desk.record(Alert("fleet", "info", "the ledger that loops share answers again"))

    def _weigh(self, standing: Standing | None) -> None:
        """Records what the budget leaves, where that has changed."""
        before, body = self._desk.state.budget, self._left(standing)
        if before is not None and abs(before.until - body.until) < JITTER_MS:
            body = replace(body, until=before.until)
        if body != before:
            self._desk.record(body)
        over = body.spent > body.total
        if over and not (before is not None and before.until == body.until and before.spent > before.total):
            self._desk.record(Alert("over_budget", "critical", f"{body.percent} % of the day's budget is spent"))
        level = body.allowed or budget.ECONOMY
        if level != self._desk.state.level:
            why = body.why or "the day's budget leaves room again"
            self._desk.record(LevelChanged(self._desk.state.level, level, "budget", why, gatekeeper.GUARD))

    def _left(self, standing: Standing | None) -> Budgeted:
        config, now = self._desk.state.config, self._desk.now
        at = 0 if config.day_tokens else 1
        total = config.day_tokens or round((config.day_cost or 0) * MILLIONTHS)
        if standing is None:
            ordinary, reserve, own, critical = self._guess(at)
            until = day.end(now)
        else:
            ordinary, reserve, own = standing.ordinary[at], standing.reserve[at], standing.own[at]
            critical, until = standing.critical, now + day.end(standing.t) - standing.t
        room = budget.room(max(1, total), ordinary, reserve, critical, config.role, config.level)
        if standing is None and room.level > budget.ECONOMY:
            room = Room(budget.ECONOMY, room.pool, room.percent, "the ledger is away: nobody knows what others spend")
        scale = 1 if config.day_tokens else MILLIONTHS
        return Budgeted(
            config.budget_unit, total / scale, (ordinary + reserve) / scale, own / scale, room.percent, config.role, room.pool,
            room.level, until, room.why,
        )  # fmt: skip

    def _guess(self, at: int) -> tuple[int, int, int, bool]:
        """While the ledger is away: what was known last of this day, and that every other loop has spent since what this one has.

        Whether a loop is critical cannot be told: that one is leaves the others less.
        """
        last = self._desk.state.budget
        today = last is not None and self._desk.now < last.until
        scale = 1 if at == 0 else MILLIONTHS
        spent = round(last.spent * scale) if today and last is not None else 0
        own = round(last.own * scale) if today and last is not None else 0
        more, self._own = self._own[at], (0, 0)
        return spent + more * max(1, self._known()), 0, own + more, True


def of(desk: Desk, settings: Settings, state_dir: str) -> Economy | None:
    """What a run with these settings asks; None where it shares nothing and has no budget. Raises GuardError."""
    fleet = settings.fleet
    if fleet is None and not settings.config.budget_unit:
        return None
    if fleet is not None and fleet.url:
        from guard.fleet.redis import Redis

        loop = f"{desk.state.loop}@{socket.gethostname()}"
        return Economy(desk, Redis(fleet.url, fleet.name), loop, fleet.loops)

    def told(why: str) -> None:
        desk.record(Alert("fleet", "critical", why))

    now = desk.clock.now
    ledger = Sqlite(state_dir, now, lambda: history.machine(state_dir, now()), told)
    return Economy(desk, ledger, loops=fleet.loops if fleet is not None else 0)
