"""The ledger on a Redis server, for the loops of many machines. All count by the server's clock, for machines' clocks differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from guard.errors import MISSING, GuardError
from guard.fleet.ledger import CRITICAL, DAY_MS, HOUR_MS, KEPT, ORDINARY, RESERVE, Answer, Ask, Away, Entry, Lost, Standing

PATIENCE_S = 1.0  # until a server that says nothing is away
SURPLUS = 1000  # calls more than those that are kept, at which the oldest go
MANY = 5000  # values of one question
# One step on the server, which nobody else comes in between. Gives: may it start, time, calls before it, next free, loops.
SCRIPT = """
local calls, spent, seen = KEYS[1], KEYS[2], KEYS[3]
local id, loop, limit, pool, before = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local hour, day, kept, surplus = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
if before ~= '' and not redis.call('ZSCORE', calls, before) then
  return {-1, 0, 0, 0, 0}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', seen, now, loop)
local loops = redis.call('ZCOUNT', seen, '(' .. (now - day), '+inf')
local used = redis.call('ZCOUNT', calls, '(' .. (now - hour), '+inf')
if limit > 0 and used >= limit then
  local last = redis.call('ZREVRANGE', calls, limit - 1, limit - 1, 'WITHSCORES')
  return {0, now, used, last[2] + hour, loops}
end
redis.call('ZADD', calls, now, id)
redis.call('HSET', spent, id, '0 0 ' .. pool .. ' ' .. loop)
local more = redis.call('ZCARD', calls) - kept
if more > surplus then
  local old = redis.call('ZRANGE', calls, 0, more - 1)
  redis.call('ZREMRANGEBYRANK', calls, 0, more - 1)
  for at = 1, #old do redis.call('HDEL', spent, old[at]) end
end
return {1, now, used, 0, loops}
"""
Kind = TypeVar("Kind")


class Redis:
    """The ledger called `name` on the server with this address. Raises GuardError for an address that makes no sense."""

    def __init__(self, url: str, name: str = "guard") -> None:
        try:
            import redis
        except ImportError:
            todo = "install it: pip install 'pathguard[fleet]'"
            raise GuardError("the package redis is missing", "[fleet] url", todo, MISSING) from None
        self._errors = redis.exceptions
        # A name in braces keeps all keys on one server of a cluster.
        self._calls, self._spent, self._seen, self._roles = (f"{{{name}}}:{key}" for key in ("calls", "spent", "seen", "roles"))
        limits: dict[str, Any] = {"socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S, "decode_responses": True}
        if url.startswith("unix:"):
            del limits["socket_connect_timeout"]
        try:
            self._server: Any = redis.Redis.from_url(url, retry=None, **limits)
        except (ValueError, TypeError):  # their text may hold the password
            raise GuardError("its address makes no sense", "[fleet] url", "write it as redis://HOST:PORT/0") from None
        self._reserve: Callable[..., Any] = self._server.register_script(SCRIPT)

    def now(self) -> int:
        """The server's time, UTC milliseconds. Raises Away."""
        return self._asked(lambda: _milliseconds(self._server.time()))

    def reserve(self, ask: Ask) -> Answer:
        """Reserves a call if fewer than its limit count. The server has it before this returns. Raises Away, Lost."""
        keys = [self._calls, self._spent, self._seen]
        values = [ask.id, ask.loop, ask.limit, ask.pool, ask.before, HOUR_MS, DAY_MS, KEPT, SURPLUS]
        code, t, used, free, loops = self._asked(lambda: [int(one) for one in self._reserve(keys=keys, args=values)])
        if code < 0:
            raise Lost
        return Answer(code == 1, t, used, None if code else free, loops)

    def put(self, entries: Iterable[Entry]) -> None:
        """Keeps what calls spent, and the calls themselves where they are not known. Raises Away."""
        rows = list(entries)
        if rows:
            self._asked(lambda: self._kept(rows))

    def _kept(self, rows: list[Entry]) -> None:
        pipe = self._server.pipeline(transaction=True)
        for row in rows:
            pipe.zadd(self._calls, {row.id: row.t}, nx=True)
            text = f"{row.tokens} {row.cost} {row.pool} {row.loop}"
            if row.tokens or row.cost:
                pipe.hset(self._spent, row.id, text)
            else:
                pipe.hsetnx(self._spent, row.id, text)
        pipe.execute()

    def standing(self, loop: str, role: str, since: int) -> Standing:
        """What was spent since a moment. Raises Away."""
        return self._asked(lambda: self._stood(loop, role, since))

    def _stood(self, loop: str, role: str, since: int) -> Standing:
        t = _milliseconds(self._server.time())
        pipe = self._server.pipeline(transaction=True)
        pipe.zadd(self._seen, {loop: t})
        pipe.hset(self._roles, loop, role)
        pipe.zrangebyscore(self._seen, f"({t - DAY_MS}", "+inf")
        pipe.hgetall(self._roles)
        pipe.zrangebyscore(self._calls, since, "+inf")
        _, _, loops, roles, ids = pipe.execute()
        sums = {ORDINARY: (0, 0), RESERVE: (0, 0)}
        own = (0, 0)
        for row in self._amounts(ids):
            tokens, cost, pool, whose = row
            before = sums.get(pool, (0, 0))
            sums[pool] = (before[0] + tokens, before[1] + cost)
            if whose == loop:
                own = (own[0] + tokens, own[1] + cost)
        critical = any(roles.get(one) == CRITICAL for one in loops)
        return Standing(t, sums[ORDINARY], sums[RESERVE], own, critical, len(loops))

    def _amounts(self, ids: list[str]) -> Iterable[tuple[int, int, str, str]]:
        for at in range(0, len(ids), MANY):
            for text in self._server.hmget(self._spent, ids[at : at + MANY]):
                if text:
                    tokens, cost, pool, loop = text.split(" ", 3)
                    yield int(tokens), int(cost), pool, loop

    def count(self) -> int:
        """How many calls count now. Raises Away."""
        since = self.now() - HOUR_MS
        return self._asked(lambda: int(self._server.zcount(self._calls, f"({since}", "+inf")))

    def close(self) -> None:
        """Ends the connection."""
        self._server.close()

    def _asked(self, work: Callable[[], Kind]) -> Kind:
        """What the server says. Raises Away, whose text has nothing of the address."""
        errors = self._errors
        try:
            return work()
        except errors.TimeoutError:
            raise Away(f"no answer within {PATIENCE_S:.0f} s") from None
        except errors.AuthenticationError:
            raise Away("the server does not take the password") from None
        except (errors.ConnectionError, OSError):
            raise Away("the server cannot be reached") from None
        except errors.RedisError as error:
            word = str(error).partition(" ")[0]
            raise Away(f"the server refuses ({word if word.isalpha() and word.isupper() else type(error).__name__})") from None
        except (ValueError, TypeError):
            raise Away("the server's answer makes no sense") from None


def _milliseconds(time: Any) -> int:
    return int(time[0]) * 1000 + int(time[1]) // 1000
