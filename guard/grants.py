"""Grants: what a person has let pass that the policy forbids, and that each of them is used once.

A grant is a file NAME.grant that is written as a whole: a line with a checksum, then JSON. It counts only where it is whole, of
this user, made for this very directory and project, and not past its time. It never covers a path that it does not name. The
directory is that of whoever started the agent (project.vouched): one that a command names has no say.

Each layer may use a grant once, so that one granted call passes all the layers that it goes through, and a second call none. A
layer's ticket is an empty file NAME.LAYER that is used up by renaming it, which succeeds for one process alone:

    check, hook            one judgement
    commit                 one commit or push, and that again as long as it has not come about: NAME.commit.DEED says which
    run                    the calls of tools below one shell, script or tool of an agent's: NAME.run.CALL says which

With `override = "sudo"` grants count only where they belong to root, in a directory that the agent's user cannot write.
"""

from __future__ import annotations

import os
import stat
import time
import zlib

from guard.anchor import DEPTH, status_of
from guard.paths import below
from guard.roots import CONFIG
from guard.verdict import ALLOW, CODES, Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, NamedTuple

    from guard.decision import Decision
    from guard.policy import Policy
else:
    from guard.record import NamedTuple

DIRECTORY = "grants"  # in the state directory
SYSTEM = "/var/lib/guard/grants"  # where grants of root stand, one directory a user
SUFFIX = ".grant"
HEADER = "guard-grant 1"
CALL, PATH, SUSPENSION = "call", "path", "suspension"  # the kinds
CHECK, HOOK, RUN, COMMIT = "check", "hook", "run", "commit"
TICKETS = (CHECK, HOOK, RUN, COMMIT)
LAYERS = {"shim": RUN, "exec": RUN, "after": RUN, "git-hook": COMMIT}
USED = "used"
LOSS = "any"  # the code of a victim that may be lost in any way
GOING = ("delete-kept", "delete-present", LOSS)  # whose victims may as well be harmed in any other way
SIZE_LIMIT = 16 << 20  # bytes of a grant
_LENGTH = 4096  # characters of a command
LONGEST = 3600.0  # seconds that anything may hold
SKEW = 60.0  # seconds by which clocks may have been set back


class Grant(NamedTuple):
    """What a person let pass: the victims by path, each with the code of the loss, until `expires` (seconds since 1970).

    `id` is the decision that it answers; `root` the project; `exact` lets pass what could not be told of the command, spelled
    just so in the directory `cwd`. A suspension has no victims: it covers all that is protected in its project.
    """

    name: str
    kind: str
    root: str
    created: float
    expires: float
    victims: dict[str, str]
    id: str = ""
    command: str = ""
    cwd: str = ""
    exact: bool = False
    reason: str = ""
    user: int = 0
    place: str = ""

    def covers(self, path: str, code: str) -> bool:
        """May this path be lost in this way?"""
        if self.kind == SUSPENSION:
            return below(path, self.root) and path != f"{self.root}/{CONFIG}"
        granted = self.victims.get(path)
        return granted is not None and (granted == code or granted in GOING)


def place(state: str, sudo: bool) -> str:
    """The directory that grants have to stand in to count."""
    return f"{SYSTEM}/{os.getuid()}" if sudo else f"{state}/{DIRECTORY}"


def dump(grant: Grant) -> bytes:
    """The content of a grant's file."""
    from guard.json_text import dumps

    body = dumps(grant._asdict()).encode()
    return b"%s %08x\n%s\n" % (HEADER.encode(), zlib.crc32(body), body)


def standing(state: str | None, sudo: bool, now: float | None = None) -> list[Grant]:
    """The grants in force, oldest first."""
    now = time.time() if now is None else now
    found = [grant for grant in known(state, sudo) if grant.created - SKEW <= now < grant.expires]
    return [grant for grant in found if grant.expires - grant.created <= LONGEST]


def known(state: str | None, sudo: bool) -> list[Grant]:
    """All grants that are whole and this user's, those past their time too."""
    if not state:
        return []
    directory = place(state, sudo)
    try:
        if not _own(os.lstat(directory), 0 if sudo else os.getuid(), stat.S_IFDIR):
            return []
        names = sorted(name for name in os.listdir(directory) if name.endswith(SUFFIX))
    except OSError:
        return []
    found = [grant for name in names if (grant := _load(directory, name, 0 if sudo else os.getuid())) is not None]
    return sorted(found, key=lambda grant: grant.created)


def _load(directory: str, name: str, owner: int) -> Grant | None:
    """A grant from its file; None where that is torn, somebody else's, or was made for another place."""
    try:
        fd = os.open(f"{directory}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(fd)
        if not _own(found, owner, stat.S_IFREG) or found.st_size > SIZE_LIMIT:
            return None
        data = b""
        while chunk := os.read(fd, 1 << 20):
            data += chunk
    except OSError:
        return None
    finally:
        os.close(fd)
    grant = _read(data)
    if grant is None or f"{grant.name}{SUFFIX}" != name or grant.user != os.getuid():
        return None
    return grant if grant.place == os.path.realpath(directory) else None


def _own(found: os.stat_result, owner: int, kind: int) -> bool:
    """Is it of this kind, an owner's, and can nobody else write it?"""
    return (stat.S_IFMT(found.st_mode), found.st_uid) == (kind, owner) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(data: bytes) -> Grant | None:
    import json

    head, _, rest = data.partition(b"\n")
    body = rest[:-1]
    if head != b"%s %08x" % (HEADER.encode(), zlib.crc32(body)) or rest[-1:] != b"\n":
        return None
    try:
        fields: dict[str, Any] = json.loads(body)
        grant = Grant(**fields)
    except (ValueError, TypeError, RecursionError):
        return None
    numbers = all(isinstance(value, int | float) for value in (grant.created, grant.expires))
    texts = all(isinstance(value, str) for value in (grant.name, grant.kind, grant.root, grant.place))
    return grant if numbers and texts and isinstance(grant.victims, dict) else None


def take(decision: Decision, policies: Sequence[Policy], state: str | None, deed: str = "") -> Grant | None:
    """The grant by which a call may do what it was refused for, used up for this layer; None without one.

    The decision has to name every victim. `deed` names what is done where it may be tried again, as the letters of a file's name.
    """
    verdict = decision.verdict
    if verdict.decision == ALLOW or verdict.partial or not state or not _grantable(decision, policies):
        return None
    from guard.project import vouched

    name = decision.request.layer.partition(":")[0]  # "hook:CLIENT:TOOL"
    if not vouched(state, runner=name == HOOK):  # a hook is started by the client, whatever that is called
        return None
    sudo = any(needs_root(policy, decision.request.cwd) for policy in policies)
    layer = LAYERS.get(name, name)
    for grant in standing(state, sudo):
        if not _fits(grant, decision) or not _of_project(grant, policies):
            continue
        if grant.kind == SUSPENSION or use(grant, layer, state, deed):
            return grant
    return None


def needs_root(policy: Policy, path: str) -> bool:
    """Does the configuration ask for root's word?"""
    return policy.setting(path, "override") == "sudo" or any(
        (name, value) == ("override", "sudo") for root in policy.roots for name, value in root.settings
    )


def reason(grant: Grant) -> Reason:
    """Why a call is allowed."""
    return Reason("suspended" if grant.kind == SUSPENSION else "granted", ALLOW, grant.name)


def _grantable(decision: Decision, policies: Sequence[Policy]) -> bool:
    """False for what no grant covers: guard's own files, its configuration, its commands."""
    verdict = decision.verdict
    if not verdict.reasons or any(each.code == "lift-guard" or each.code not in CODES for each in verdict.reasons):
        return False
    if any(CODES[each.code] == "none" for each in verdict.reasons):
        return False
    return not any(out_of_bounds(victim.path, policies) for victim in verdict.victims)


def out_of_bounds(path: str, policies: Iterable[Policy]) -> bool:
    """Is it guard's own, which nobody can be granted to change?"""
    return path.rpartition("/")[2] == CONFIG or any(policy.own(path) for policy in policies)


def _fits(grant: Grant, decision: Decision) -> bool:
    verdict, request = decision.verdict, decision.request
    if not all(grant.covers(victim.path, victim.code) for victim in verdict.victims):
        return False
    if sum(victim.decision == verdict.decision for victim in verdict.victims) < verdict.total:
        return False  # not all of them are named
    doubts = [each for each in verdict.reasons if CODES[each.code] != "loss"]
    if grant.kind == SUSPENSION:
        reaches = [each.reach for each in decision.analysis.unknowns]
        return all(reach is not None and below(reach.path, grant.root) for reach in reaches) and below(request.cwd, grant.root)
    if not doubts:
        return bool(verdict.victims)
    return grant.exact and (grant.command, grant.cwd) == (request.command, request.cwd)


def _of_project(grant: Grant, policies: Sequence[Policy]) -> bool:
    return any(root.path == grant.root for policy in policies for root in policy.roots)


def use(grant: Grant, layer: str, state: str, deed: str = "") -> bool:
    """Uses up a layer's ticket. True where this process, another one of the same call (layer "run"), or the same deed has it."""
    ticket = f"{state}/{DIRECTORY}/{grant.name}.{layer}"
    by = call() if layer == RUN else deed
    used = f"{ticket}.{by or USED}"
    try:
        os.rename(ticket, used)
    except OSError:
        return by != "" and os.path.lexists(used)
    return True


def uses(grant: Grant, state: str) -> Iterator[tuple[str, float]]:
    """The layers that have used a grant, and when (seconds since 1970)."""
    try:
        names = os.listdir(f"{state}/{DIRECTORY}")
    except OSError:
        return
    for name in names:
        layer, _, by = name.removeprefix(f"{grant.name}.").partition(".")
        if name.startswith(f"{grant.name}.") and layer in TICKETS and by:
            try:
                yield layer, os.lstat(f"{state}/{DIRECTORY}/{name}").st_ctime
            except OSError:
                continue


def call() -> str:
    """A name for the call that this process belongs to: what the nearest agent or runner above has started, else the session."""
    from guard.actor import agent

    line = [str(os.getpid())]
    while len(line) < DEPTH:
        found = status_of(line[-1])
        if found is None or found[1] == "0":
            break
        if len(line) > 1 and agent(found[0]):
            return _name_of(line[-2])
        line.append(found[1])
    return _name_of(str(os.getsid(0)))


def callers() -> Iterator[str]:
    """The commands that the processes above were started as, nearest first, as far as they run what they are called.

    A shell's is what it was given with -c, a script's begins with its own name.
    """
    from guard.actor import interprets
    from guard.shell.text import command_line

    process = str(os.getpid())
    for _ in range(DEPTH):
        found = status_of(process)
        if found is None or found[1] == "0":
            return
        process = found[1]
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                words = [os.fsdecode(word) for word in file.read(1 << 16).split(b"\0")[:-1]]
            program = os.readlink(f"/proc/{process}/exe").rpartition("/")[2]
        except OSError:
            continue
        first = words[0].rpartition("/")[2] if words else ""
        honest = interprets(first) and interprets(program)
        if honest and len(words) == 3 and words[1] == "-c":
            yield words[2]
        if honest and "/" in "".join(words[1:2]):  # run by its "#!": a bare name is a file of that name, not the command
            yield command_line(tuple(words[1:]), _LENGTH)
        if honest or first == program:
            yield command_line(tuple(words), _LENGTH)


def _name_of(process: str) -> str:
    """A process by its number and start, which no other one ever has both of."""
    found = status_of(process)
    return f"{process}-{found[2] if found else 0}"
