"""The ledger in a file of SQLite, for the loops of one state directory. A damaged file is put aside and made anew."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from guard.errors import BUSY, STATE, GuardError
from guard.fleet.ledger import CRITICAL, DAY_MS, HOUR_MS, KEPT, Answer, Ask, Away, Entry, Lost, Standing, free_at
from guard.loop import journal
from guard.loop.lock import Lock

FOLDER, NAME = "fleet", "ledger.sqlite"
BUSY_S = 2.0  # until a ledger that others hold is away
SURPLUS = 1000  # calls more than those that are kept, at which the oldest go
TRIES = 5  # times that the file is changed under a transaction
_BESIDE = ("-journal", "-wal", "-shm")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_CUT_OFF = "no such table"  # what SQLite says of a file that was made empty while it was open
_TAKEN = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_TABLES = (
    "create table if not exists calls (id text primary key, loop text not null, t integer not null,"
    " tokens integer not null, cost integer not null, pool text not null) without rowid",
    "create index if not exists calls_t on calls (t)",
    "create table if not exists loops (loop text primary key, role text not null, seen integer not null) without rowid",
)
_PUT = (
    "insert into calls values (?, ?, ?, ?, ?, ?) on conflict (id) do update"
    " set tokens = max(tokens, excluded.tokens), cost = max(cost, excluded.cost)"
)
# A name comes twice where a run died before it had made the call: then it is that call.
_RESERVED = "insert into calls values (?, ?, ?, 0, 0, ?) on conflict (id) do update set t = excluded.t"
Kind = TypeVar("Kind")


class Sqlite:
    """The ledger below a state directory. `rebuilt` gives the entries for a new file, `told` hears why there is one."""

    def __init__(
        self,
        state_dir: str,
        now: Callable[[], int],
        rebuilt: Callable[[], Iterable[Entry]] = tuple,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.path = f"{state_dir}/{FOLDER}/{NAME}"
        self.now, self._rebuilt, self._told = now, rebuilt, told
        self._base: sqlite3.Connection | None = None
        self._inode = (0, 0)

    def reserve(self, ask: Ask) -> Answer:
        """Reserves a call if fewer than its limit count. It is on the disk before this returns. Raises Lost, GuardError."""
        return self._within(lambda base: self._reserved(base, ask))

    def _reserved(self, base: sqlite3.Connection, ask: Ask) -> Answer:
        if ask.before and not base.execute("select 1 from calls where id = ?", (ask.before,)).fetchone():
            raise Lost
        t = self.now()
        times = [row[0] for row in base.execute("select t from calls where t > ?", (t - HOUR_MS,))]
        free = free_at(times, ask.limit) if ask.limit else None
        loops = self._seen(base, ask.loop, None, t)[0]
        if free is not None:
            return Answer(False, t, len(times), free, loops)
        base.execute(_RESERVED, (ask.id, ask.loop, t, ask.pool))
        self._shorten(base)
        return Answer(True, t, len(times), None, loops)

    def put(self, entries: Iterable[Entry]) -> None:
        """Keeps what calls spent, and the calls themselves where they are not known. Raises GuardError."""
        rows = list(entries)
        if rows:
            self._within(lambda base: base.executemany(_PUT, rows) and None)

    def standing(self, loop: str, role: str, since: int) -> Standing:
        """What was spent since a moment. Raises GuardError."""
        return self._within(lambda base: self._stood(base, loop, role, since))

    def _stood(self, base: sqlite3.Connection, loop: str, role: str, since: int) -> Standing:
        t = self.now()
        loops, critical = self._seen(base, loop, role, t)
        sums = {"ordinary": (0, 0), "reserve": (0, 0)}
        asked = "select pool, sum(tokens), sum(cost) from calls where t >= ? group by pool"
        sums |= {pool: (tokens, cost) for pool, tokens, cost in base.execute(asked, (since,))}
        own = base.execute("select total(tokens), total(cost) from calls where t >= ? and loop = ?", (since, loop)).fetchone()
        return Standing(t, sums["ordinary"], sums["reserve"], (int(own[0]), int(own[1])), critical, loops)

    def _seen(self, base: sqlite3.Connection, loop: str, role: str | None, t: int) -> tuple[int, bool]:
        """How many loops there are, with this one, and is one of them critical? The role None stays as it is."""
        known = "role" if role is None else "excluded.role"
        base.execute(
            f"insert into loops values (?, ?, ?) on conflict (loop) do update set role = {known}, seen = excluded.seen",
            (loop, role or "normal", t),
        )
        asked = "select count(*), total(role = ?) from loops where seen > ?"
        count, critical = base.execute(asked, (CRITICAL, t - DAY_MS)).fetchone()
        return count, bool(critical)

    def _shorten(self, base: sqlite3.Connection) -> None:
        """Takes out the oldest calls, where there are many more than can ever count."""
        if base.execute("select count(*) from calls").fetchone()[0] > KEPT + SURPLUS:
            base.execute("delete from calls where id in (select id from calls order by t desc limit -1 offset ?)", (KEPT,))

    def count(self) -> int:
        """How many calls count now."""
        since = self.now() - HOUR_MS
        return self._within(lambda base: int(base.execute("select count(*) from calls where t > ?", (since,)).fetchone()[0]))

    def close(self) -> None:
        """Closes the file."""
        if self._base is not None:
            with suppress(sqlite3.Error):
                self._base.close()
            self._base = None

    def _within(self, work: Callable[[sqlite3.Connection], Kind]) -> Kind:
        """Does something with nobody else in between, and makes it last. Raises Away, GuardError."""
        for _ in range(TRIES):
            try:
                found = self._transaction(work)
            except sqlite3.Error as error:
                self.close()
                self._failed(error)
                continue
            if self._is_there():  # what went into a file that was put aside meanwhile counts for nothing
                return found
            self.close()
        raise Away("its file changes all the time")

    def _transaction(self, work: Callable[[sqlite3.Connection], Kind]) -> Kind:
        base = self._opened()
        base.execute("begin immediate")
        try:
            found = work(base)
            base.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                base.execute("rollback")
            raise
        return found

    def _failed(self, error: sqlite3.Error) -> None:
        """Puts a damaged file aside; raises Away or GuardError for everything else."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _TAKEN:
            raise Away("others hold it") from error
        if code not in _DAMAGED and _CUT_OFF not in str(error):
            raise GuardError(f"the ledger of calls cannot be written ({error})", self.path, "make room or access there", STATE)
        self._renew(str(error))

    def _is_there(self) -> bool:
        try:
            there = os.stat(self.path)
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == self._inode

    def _opened(self) -> sqlite3.Connection:
        if self._base is not None and self._is_there():
            return self._base
        self.close()
        if not os.path.exists(self.path):
            self._renew("")
        self._base = _connected(self.path)
        try:
            there = os.stat(self.path)
        except OSError:
            raise _corrupt("it is gone") from None
        self._inode = (there.st_dev, there.st_ino)
        wrong = _wrong(self._base)
        if wrong:
            raise _corrupt(wrong)
        return self._base

    def _renew(self, why: str) -> None:
        """Makes the file anew, whole, from what the loops themselves have kept. `why`: what is wrong with the one there."""
        folder = os.path.dirname(self.path)
        lock, first = Lock(folder), not os.path.isdir(folder)
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            lock.take()
        except OSError as error:
            raise journal.unwritable(error, folder) from error
        except GuardError as error:
            if error.code == BUSY:
                raise Away("another loop mends it") from None
            raise
        try:
            if (why and self._aside(why)) or not os.path.exists(self.path):
                self._made(bool(why) or first)
        except OSError as error:
            raise journal.unwritable(error, self.path) from error
        except sqlite3.Error as error:
            raise GuardError(f"the ledger of calls cannot be written ({error})", self.path, "make room there", STATE) from error
        finally:
            lock.release()

    def _aside(self, why: str) -> bool:
        """Gives a damaged file another name. False where somebody else has done it."""
        if not os.path.exists(self.path) or _is_sound(self.path):
            return False
        number = 1
        while os.path.lexists(target := f"{self.path}.damaged-{number}"):
            number += 1
        for end in _BESIDE:
            with suppress(FileNotFoundError):
                os.rename(self.path + end, target + end)
        os.rename(self.path, target)
        self._told(f"the ledger of calls was damaged ({why}): it is made anew from the loops' journals; the old one is {target}")
        return True

    def _made(self, expected: bool) -> None:
        temporary = f"{self.path}.new"
        for end in ("", *_BESIDE):
            with suppress(FileNotFoundError):
                os.unlink(temporary + end)
            with suppress(FileNotFoundError):  # a journal of changes that belongs to no file would be applied to the new one
                os.unlink(self.path + end) if end else None
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        base = _connected(temporary)
        try:
            base.execute("begin immediate")
            for table in _TABLES:
                base.execute(table)
            rows = list(self._rebuilt())
            if rows and not expected:
                self._told("the ledger of calls was gone: it is made anew from the loops' journals")
            base.executemany(_PUT, rows)
            last = {row.loop: row.t for row in sorted(rows, key=lambda row: row.t) if row.loop}
            base.executemany("insert into loops values (?, 'normal', ?)", list(last.items()))
            base.execute("commit")
        finally:
            base.close()
        os.rename(temporary, self.path)
        journal.sync(os.path.dirname(self.path))


def _connected(path: str) -> sqlite3.Connection:
    base = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    base.execute("pragma synchronous = extra")  # the name of the journal that is removed lasts as well
    return base


def _is_sound(path: str) -> bool:
    try:
        base = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            return not _wrong(base)
        finally:
            base.close()
    except sqlite3.Error:
        return False


def _wrong(base: sqlite3.Connection) -> str:
    """What is wrong with a file, "" for nothing. One without its tables was cut off. Raises sqlite3.Error."""
    (state,) = base.execute("pragma quick_check(1)").fetchone()
    tables = {row[0] for row in base.execute("select name from sqlite_master where type = 'table'")}
    return str(state) if state != "ok" else "" if {"calls", "loops"} <= tables else "it has no tables"


def _corrupt(why: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error
