"""Report: what is said and recorded about the protected files when a command or a tool is over."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from guard import actor, log
from guard.change import CREATED, EMPTIED, LEFT, MISSING, MOVED, RELINKED, REPLACED, RETYPED, REVERTED
from guard.decision import Decision, Request, new_id
from guard.effects import Analysis, At, Effect, Step
from guard.matching import KEEP, LOCK
from guard.paths import lineage, parent
from guard.shell.text import quote
from guard.shown import place, quoted, visible
from guard.vault.restore import Restored, advice
from guard.vault.verify import Change
from guard.vault.watch import Aftermath
from guard.verdict import DENY, VICTIM_LIMIT, Reason, Verdict, Victim

SHOWN = 6  # paths of one kind that are named

WORDS = {
    MISSING: "deleted", RETYPED: "replaced", RELINKED: "linked elsewhere", EMPTIED: "emptied", REVERTED: "thrown back",
    REPLACED: "overwritten", CREATED: "created", MOVED: "moved",
}  # fmt: skip
CODES = {
    MISSING: "delete-kept", RETYPED: "replace-kept", RELINKED: "link-kept", EMPTIED: "empty-kept", REVERTED: "revert-kept",
    REPLACED: "overwrite-kept", LEFT: "leave-kept", MOVED: "move-kept",
}  # fmt: skip


def lines(found: Sequence[Aftermath], during: str, cwd: str, name: str) -> list[str]:
    """What was lost and what became of it, for whoever reads it; nothing where nothing was.

    `during` says when: "while `make` ran". `name` is the id under which it is recorded.
    """
    done = _outermost([each for aftermath in found for each in aftermath.done])
    good, bad = [each for each in done if Aftermath.well(each)], [each for each in done if not Aftermath.well(each)]
    told = []
    if done:
        told.append(f"guard: {during}, {_sum(good, bad)}{f' [{name}]' if name else ''}")
        told += _by_kind([each.change for each in good], cwd)
        told += [
            f"  not restored: {quoted(place(each.path, cwd))} ({visible(each.note or each.outcome)})" for each in bad[:SHOWN]
        ]
        told += [_aside(each, done, cwd) for each in dict.fromkeys(each.aside for each in done if each.aside)]
        if any(each.change.level == KEEP for each in done):
            told.append("They may be edited, not deleted or overwritten. Another way to the same loss will be undone too.")
    for aftermath in found:
        told += _left(aftermath, cwd)
    return told


def record(found: Sequence[Aftermath], command: str, cwd: str, layer: str, environ: Mapping[str, str], state: str | None) -> str:
    """Writes to the log what was lost, as a decision of a layer; gives its id, "" for none."""
    done = [each for aftermath in found for each in aftermath.done]
    if not done:
        return ""
    decision = _decision(done, Request(command, cwd, new_id(), layer, actor.mark(environ)))
    return decision.request.id if log.append(log.encode(decision), state) else ""


def _decision(done: Sequence[Restored], request: Request) -> Decision:
    changes = [each.change for each in done]
    victims = tuple(Victim(each.path, each.level, each.action, _code(each), DENY) for each in changes)
    reasons = tuple(
        Reason(code, DENY, total=sum(victim.code == code for victim in victims))
        for code in dict.fromkeys(victim.code for victim in victims)
    )
    effects = tuple(Effect(each.action, At(each.path)) for each in changes)
    trace = tuple(Step(request.cwd, f"{_word(each.change)} {each.path}", _outcome(each)) for each in done)
    verdict = Verdict(DENY, reasons, victims[:VICTIM_LIMIT], len(victims))
    return Decision(request, Analysis(effects, trace=trace), verdict, time.time())


def _outcome(each: Restored) -> str:
    aside = f"; what stood there is in snapshot {each.aside}" if each.aside else ""
    return each.outcome + (f" ({each.note})" if each.note else "") + aside


def _code(change: Change) -> str:
    if change.level == LOCK:
        return "create-locked" if change.kind == CREATED else "change-locked"
    if change.level == KEEP:
        return CODES.get(change.kind, "replace-kept")
    return "delete-present" if change.kind == MISSING else "replace-present"


def _sum(good: Sequence[Restored], bad: Sequence[Restored]) -> str:
    """What happened in one sentence."""
    done = [*good, *bad]
    number = f"{len(done):,} protected files were" if len(done) > 1 else "a protected file was"
    if all(each.change.kind == CREATED for each in done):
        return f"{number} created where nothing may change, and {'not ' if bad else ''}taken away again."
    if not bad:
        return f"{number} lost and restored."
    return f"{number} lost, {f'{len(good):,} of them restored' if good else 'and cannot be restored'}."


def _outermost(done: Sequence[Restored]) -> list[Restored]:
    """Without what could not be restored because the directory above could not."""
    bad = {each.path for each in done if not Aftermath.well(each)}
    return [each for each in done if each.path not in bad or bad.isdisjoint(lineage(parent(each.path)))]


def _by_kind(changes: Sequence[Change], cwd: str) -> list[str]:
    words = dict.fromkeys(map(_word, changes))
    return [f"  {word}: {names([each.path for each in changes if _word(each) == word], cwd)}" for word in words]


def _word(change: Change) -> str:
    return WORDS.get(change.kind, "changed")


def _aside(name: str, done: Iterable[Restored], cwd: str) -> str:
    path = next(each.path for each in done if each.aside == name)
    return f"What stood in their place is kept: guard restore --from {name} {quote(place(path, cwd))}"


def _left(found: Aftermath, cwd: str) -> list[str]:
    left = [each for each in found.left if each.kind == LEFT]
    moved = [each for each in found.left if each.kind == MOVED]
    lines = [f"guard: {_seen(each.path, cwd)}, which is locked, was moved to {_seen(each.to, cwd)}" for each in moved[:SHOWN]]
    if left:
        lines.append(f"guard: left with the branch, or in a stash: {names([each.path for each in left], cwd)}")
        hint = advice(left[0], found.watch.manifest)
        lines += [f"To have one back: {visible(hint)}"] if hint else []
    return lines


def names(paths: Sequence[str], cwd: str) -> str:
    """The first of the paths as seen from a directory, and how many more there are."""
    more = f"  and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return "  ".join(_seen(path, cwd) for path in paths[:SHOWN]) + more


def _seen(path: str, cwd: str) -> str:
    return quoted(place(path, cwd))
