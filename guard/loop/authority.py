"""Authority: who asks something of a loop, and what each may have. A table, and the question who it is.

A person may do everything. An agent in a call of the loop may only hold its own loop back. Another program (an AI in another
place, a script without a terminal) may do that as well, end a run, and lift what no person has put there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from guard import actor, ancestry
from guard.actor import Surroundings

PERSON, OTHER, INSIDE = "person", "ai", "agent"
ALL, OUTSIDE, PEOPLE = (PERSON, OTHER, INSIDE), (PERSON, OTHER), (PERSON,)
MARK, EXEC = "GUARD_LOOP", "GUARD_EXEC"
ANY = ""  # the target of a verb that has none

PAUSE, RESCUE, INTERRUPT, MANUAL, AUTO = "pause", "rescue", "interrupt", "manual", "auto"
RESUME, ONCE, RESET, STOP, STEER, CURB = "resume", "once", "reset", "stop", "steer", "curb"
CLOSE, OPEN = "pause --system", "resume --system"
# What a resume lifts: a hold by its class, an open breaker by its cause.
USER, AGENT, RESCUED, TRIP, INTEGRITY, STATE_LOST = "user", "agent", "rescue", "trip", "integrity", "state_lost"
# Verb and target -> who may. What stands in no row nobody may.
RULES: dict[tuple[str, str], tuple[str, ...]] = {
    (PAUSE, ANY): ALL,
    (RESCUE, ANY): ALL,
    (MANUAL, ANY): ALL,
    (CURB, ANY): ALL,
    (STOP, ANY): OUTSIDE,
    (INTERRUPT, ANY): PEOPLE,  # what is interrupted counts for nothing: for whoever is judged, a way out
    (AUTO, ANY): PEOPLE,
    (STEER, ANY): PEOPLE,  # the agent is told that the user says so
    (ONCE, ANY): PEOPLE,
    (RESET, ANY): PEOPLE,
    (CLOSE, ANY): PEOPLE,
    (OPEN, ANY): PEOPLE,
    (RESUME, USER): PEOPLE,
    (RESUME, AGENT): OUTSIDE,
    (RESUME, RESCUED): OUTSIDE,
    (RESUME, TRIP): OUTSIDE,
    (RESUME, INTEGRITY): PEOPLE,
    (RESUME, STATE_LOST): PEOPLE,
}


@dataclass(frozen=True)
class Asker:
    """Who asks: PERSON, OTHER or INSIDE, and the name that the journal keeps."""

    kind: str
    name: str


NOBODY = Asker(INSIDE, "unknown")  # a request that no living process vouches for


def may(verb: str, asker: Asker, target: str = ANY) -> bool:
    """May this one have it? What is not in the table is refused."""
    return asker.kind in RULES.get((verb, target), ())


def told(environ: Mapping[str, str], where: Surroundings, loop: str, runner: int) -> Asker:
    """Who a process is to a loop with this id, whose runner has this process id (0 for none)."""
    found = actor.who(environ, where)
    if found.kind == actor.PERSON:
        return Asker(PERSON, found.name or PERSON)
    if _inside(environ, where, loop, runner):
        return Asker(INSIDE, found.name if found.name not in ("", actor.OWN) else INSIDE)
    return Asker(OTHER, found.name or OTHER)


def _inside(environ: Mapping[str, str], where: Surroundings, loop: str, runner: int) -> bool:
    """Does it belong to a call of the loop? So does what stands below guard and has lost the mark that says of which one."""
    above = where.line[1:]
    environs = [environ, *(process.environ or {} for process in above)]
    loops = {each[MARK] for each in environs if each.get(MARK)}
    if loop in loops or any(process.number == runner for process in above):
        return True
    marked = loops or any(each.get(EXEC) for each in environs)
    return not marked and any(actor.agent(process.names) == actor.OWN for process in above)


def here(loop: str, runner: int = 0) -> Asker:
    """Who this process acts for."""
    return told(os.environ, ancestry.surroundings(), loop, runner)


def of(process: int, loop: str, runner: int) -> Asker:
    """Who another process acts for. What cannot be looked at is nobody."""
    where = ancestry.of(process)
    environ = where.line[0].environ if where.line else None
    if not where.line or (environ is None and os.path.isdir("/proc/self")):
        return NOBODY
    return told(environ or {}, where, loop, runner)
