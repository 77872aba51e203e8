"""Rows: a view as labelled texts with a meaning, the same for every way of showing it. Times are told as seen from `t`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from guard.loop import durations, texts
from guard.monitor.gather import CRASHED, NEW, READY, UNREADABLE, View, history
from guard.shown import visible

GOOD, WARN, BAD, DIM, PLAIN = "good", "warn", "bad", "dim", ""
BARS = "▁▂▃▄▅▆▇█"
ALERTS = 3
_STATUS = {
    "complete": GOOD,
    "running": GOOD,
    "starting": GOOD,
    "waiting": WARN,
    "paused": WARN,
    "failed": WARN,
    "limit": WARN,
    "stopped": DIM,
    "interrupted": DIM,
    READY: DIM,
    "circuit_open": BAD,
    "integrity": BAD,
    "error": BAD,
    CRASHED: BAD,
    UNREADABLE: BAD,
}


class Row(NamedTuple):
    """One line: a label of at most ten letters, a text without control characters, and what it means."""

    label: str
    text: str
    meaning: str = PLAIN


def meaning(status: str) -> str:
    """What a status means: good, warn, bad or dim."""
    return _STATUS.get(status, PLAIN)


def reason(view: View, t: int) -> str:
    """Why a loop is not at work, or what it does; one short text."""
    breaker, pause = view.at("breaker") or {}, view.at("pause")
    if view.trouble or view.status == READY:
        return visible(view.trouble) or NEW
    if breaker.get("state") == "OPEN":
        probe = f", probe {ahead(breaker['probe_at'], t)}" if breaker.get("probe_at") else ", until a person resets it"
        return f"{visible(str(breaker.get('cause')))}{probe}"
    if pause:
        return f"{visible(str(pause.get('reason')))} ({visible(str(pause.get('actor')))})"
    if view.at("exit"):
        return visible(str(view.at("exit", "reason")))
    if view.overdue:
        return f"late: {view.at('state')} was to be over by now"
    return visible(str(view.at("task") or view.at("state") or ""))


def calls(view: View) -> str:
    """Calls of the hour, as `45/100`."""
    found = view.at("calls") or {}
    return f"{found.get('used', 0)}/{found.get('limit', 0)}" if found else ""


def sparkline(values: Sequence[Any]) -> str:
    """Numbers as bars; what lies below zero is in the lower half."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if not numbers:
        return ""
    low, high = min(0, *numbers), max(0, *numbers)
    steps = (high - low) or 1
    return "".join(BARS[round((value - low) / steps * (len(BARS) - 1))] for value in numbers)


def ahead(moment: str | None, t: int) -> str:
    """A moment as seen from t: `in 12 min`, `3 s ago`; "" for none."""
    try:
        at = int(datetime.fromisoformat(moment or "").astimezone(UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        return ""
    seconds = (at - t) / 1000
    return f"in {durations.shown(seconds)}" if seconds >= 0 else f"{durations.shown(-seconds)} ago"


def detail(view: View, t: int) -> Iterator[Row]:
    """One loop, line by line."""
    yield Row("loop", f"{visible(view.loop)}  {view.status}", meaning(view.status))
    if view.trouble or view.status == READY:
        yield Row("", reason(view, t), BAD if view.trouble else DIM)
        return
    yield Row("tree", visible(view.root))
    yield from _now(view, t)
    yield from _breaker(view, t)
    yield from _work(view)
    yield from _protection(view)
    for alert in (view.at("alerts") or [])[-ALERTS:]:
        yield Row("alert", f"{ahead(str(alert.get('t')), t)}: {visible(str(alert.get('detail') or alert.get('kind')))}", WARN)
    if view.person:
        yield Row("you", f"{view.person} -C {visible(view.root)}", WARN)


def _now(view: View, t: int) -> Iterator[Row]:
    where = f"iteration {view.at('iteration')}, {str(view.at('state') or '').lower()}"
    if view.live and view.at("deadline"):
        where += f", to be over {ahead(view.at('deadline'), t)}"
    yield Row("now", where, BAD if view.overdue else PLAIN)
    if view.at("mode") not in (None, "auto") or view.at("pause"):
        pause = view.at("pause") or {}
        why = f": {visible(str(pause.get('reason')))}, by {visible(str(pause.get('actor')))}" if pause else ""
        yield Row("mode", f"{view.at('mode')}{why}", WARN)


def _breaker(view: View, t: int) -> Iterator[Row]:
    found = view.at("breaker") or {}
    if found.get("state") == "OPEN":
        yield Row("breaker", f"OPEN: {reason(view, t)}. {texts.HALTED}", BAD)
    else:
        watched = f", watched for {found.get('watch')} more" if found.get("watch") else ""
        more = " (monitoring)" if found.get("monitoring") else ""
        yield Row("breaker", f"{found.get('state')}{more}{watched}", WARN if more or found.get("state") == "HALF_OPEN" else GOOD)
    counted = [f"{name} {count}" for name, count in (view.at("counters") or {}).items() if count]
    yield Row("counters", f"{', '.join(counted) or 'all 0'}; risk {view.at('risk')}")
    yield Row("score", f"{sparkline(view.at('score', 'history') or [])}  last {_signed(view.at('score', 'last'))}")


def _work(view: View) -> Iterator[Row]:
    free = view.at("calls", "next_free_at")
    yield Row("Calls:", f"{calls(view)}" + (f", next free {free}" if free else ""))
    tokens, cost = view.at("tokens") or {}, view.at("cost") or {}
    spent = f"{tokens.get('run', 0):,} tokens in this run" + (f", ${cost['run']:.2f}" if cost.get("run") else "")
    yield Row("spent", f"{spent}; level {view.at('level')}")
    if view.at("plan"):
        required, still = view.at("plan", "required") or 0, view.at("plan", "open") or 0
        yield Row("plan", f"{required - still} of {required} required tasks done; now: {visible(str(view.at('task') or '-'))}")
    last = next(iter(history(view, 1)), {})
    if last.get("passed") is not None:
        text = f"{last['passed']} passed, {last.get('failed', 0)} failed, {last.get('skipped', 0)} skipped"
        yield Row("tests", text, BAD if last.get("failed") else GOOD)


def _protection(view: View) -> Iterator[Row]:
    found = view.at("protected") or {}
    if found:
        harm = f", {found['lost']} lost ({found.get('restored', 0)} restored)" if found.get("lost") else ""
        text = f"{found.get('files', 0)} files{harm}, {found.get('refused', 0)} times refused"
        yield Row("protected", text, BAD if harm else PLAIN)
    last = view.at("last") or {}
    if last.get("refusal"):
        yield Row("refused", visible(str(last["refusal"])), WARN)
    if last.get("error"):
        yield Row("error", visible(str(last["error"]))[:300], DIM)


def _signed(value: Any) -> str:
    return f"{value:+d}" if isinstance(value, int) else "-"


def summary(view: View) -> str:
    """What a run came to, in one line."""
    done = view.at("exit") or {}
    why = visible(str(done.get("reason", "")))
    return f"{visible(view.loop)}: {view.status}, {view.at('iteration') or 0} iterations, exit {done.get('code', '-')} ({why})"
