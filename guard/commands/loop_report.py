"""What `guard loop` says at the end of a run, and what --dry-run shows."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from guard.commands.output import say
from guard.loop import durations, texts
from guard.loop import status as shown_as
from guard.loop.command import End
from guard.loop.commits import Work
from guard.loop.settings import STRICTER, Config
from guard.loop.state import AUTO, OPEN, State
from guard.quoting import posix
from guard.shown import visible

if TYPE_CHECKING:
    from guard.commands.loop import Prepared
    from guard.loop.iteration import Job

PROMPT_LINES = 8
NAMED = 10  # commits and files that are named


def ended(state: State, end: End, found: Work | None) -> None:
    """Says on standard error why a run is over, what it came to, and what to do now."""
    for line in told(state, end, found):
        click.echo(line, err=True)


def told(state: State, end: End, found: Work | None) -> Iterator[str]:
    """The lines of it. `found`: the commits, None where there is no repository."""
    run, last = state.run, state.last
    why = f": {visible(end.reason)}" if end.reason != end.status else ""
    yield f"guard: {end.status.replace('_', ' ')}{why} (exit {end.exit})"
    if run is not None:
        cost = f", ${run.cost_usd:.2f}" if run.cost_usd else ""
        spent = durations.shown(max(0, state.t - run.started) / 1000)
        yield f"  {run.counted} iterations, {run.calls} calls, {spent}{cost}; files changed: {run.changed}"
    if run is not None and run.plan is not None:
        yield f"  plan: {run.plan.required - run.plan.open} of {run.plan.required} required tasks are done"
    if last is not None and run is not None and last.run == run.id:
        for violation in last.violations[:6]:
            what = "restored" if violation.restored else "NOT restored"
            yield f"  {what}: {visible(violation.path)} ({violation.kind})"
        for refusal in last.refusals[:6]:
            yield f"  refused: {visible(refusal.path)} ({refusal.layer}, {refusal.count} times)"
        if last.gaps:
            yield "  " + visible(texts.PERMISSION.format(gaps=", ".join(last.gaps)))
        if last.refused:
            yield f"  claimed to be done, and was not: {', '.join(last.refused)}"
    yield from _commits(found)
    yield from (f"  {line}" for line in advice(state))


def _commits(found: Work | None) -> Iterator[str]:
    """The commit at the start, the commits since, what they have changed, and the command that shows all."""
    if found is None:
        return
    left = f"; {found.uncommitted} files are not committed" if found.uncommitted else ""
    if not found.head or found.start == found.head:
        yield f"  no commits since the start ({found.start[:12] or 'none yet'}){left}"
        return
    if found.gone:
        yield f"  history was rewritten: the commit at the start ({found.start[:12]}) is not there any more{left}"
    else:
        lost = "; the start is not part of it: history was rewritten, or another branch is there" if found.lost else ""
        count = f"more than {found.count}" if found.more else str(found.count)
        yield f"  {count} commits: {found.start[:12] or 'the first one'}..{found.head[:12]}{lost}{left}"
    yield from (f"    {one.name[:12]} {visible(one.subject)}" for one in found.commits[:NAMED])
    if found.count > NAMED:
        yield "    ..."
    if found.changed:
        yield f"  {found.changed} files changed, {found.added} lines added, {found.removed} removed"
    for file in found.files[:NAMED]:
        lines = "binary" if file.added is None else f"+{file.added} -{file.removed}"
        yield f"    {visible(file.path)} {lines}"
    if found.changed > NAMED:
        yield "    ..."
    yield f"  all: {found.command}"


def advice(state: State) -> Iterator[str]:
    """What a person does now."""
    breaker, hold = state.breaker, state.hold
    if breaker.state == OPEN:
        if breaker.recovery == AUTO:
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime((breaker.opened_at + breaker.cooldown_s * 1000) / 1000))
            yield f"The breaker is open. From {at} on, one iteration is let through as a probe: guard loop --resume ..."
        else:
            yield "The breaker is open until a person closes it."
        yield 'When the cause is gone: guard loop reset --reason "..."'
    elif hold is not None:
        yield f"It is held ({visible(hold.reason)}). When that is settled: guard loop resume"
    run = state.run
    if run is not None and run.status not in ("", "complete"):
        yield "Look: guard loop status, guard loop log"


def rehearse(made: Prepared) -> int:
    """Shows what a run would do."""
    job, config = made.job, made.job.settings.config
    say(("tree       ", "dim"), visible(job.top))
    say(("command    ", "dim"), visible(" ".join(map(posix, job.invocation.words))))
    say(("prompt     ", "dim"), "none" if job.prompt is None else f"{len(job.prompt.encode())} bytes")
    for line in (job.prompt or "").splitlines()[:PROMPT_LINES]:
        say(("  | ", "dim"), visible(line))
    tasks = made.tasks
    plan = f"{job.plan}: {len(tasks.open)} of {tasks.required} required tasks are open" if job.plan else "none"
    say(("plan       ", "dim"), visible(plan))
    say(("verify     ", "dim"), visible("; ".join(job.settings.verify)) or "none")
    limits = f"{config.iterations} iterations, {durations.shown(config.runtime_s)}, {config.calls_per_hour} calls an hour"
    cost = f", ${config.cost_usd:g}" if config.cost_usd is not None else ""
    say(("limits     ", "dim"), f"{limits}{cost}; a call: {durations.shown(config.timeout_s)}" + _idle(config.idle_timeout_s))
    thresholds = [f"{name} {getattr(config, name)}" for name in STRICTER if name != "cooldown_s"]
    say(("breaker    ", "dim"), f"{', '.join(thresholds)}; cooldown {durations.shown(config.cooldown_s)}")
    sources = [f"{_setting(name, job)} ({place})" for name, place in sorted(config.sources.items())]
    for text in sources or ["all by default"]:
        say(("set by     ", "dim"), visible(text))
    for text in (*job.settings.warnings, *job.invocation.notes, *(f"looser: {one}" for one in job.settings.loosened)):
        say(("note       ", "dim"), visible(text))
    files = _protected(made)
    say(("protected  ", "dim"), f"{len(files)} paths: {', '.join(files[:6])}{', ...' if len(files) > 6 else ''}")
    say("Nothing was started.")
    return 0


def _setting(name: str, job: Job) -> str:
    """A setting that was made somewhere, with its value as it is in force."""
    if name.endswith("_s"):
        return f"{name.removesuffix('_s')} {durations.shown(getattr(job.settings.config, name))}"
    value = getattr(job.settings.config if hasattr(Config(), name) and name not in ("plan", "verify") else job.settings, name, "")
    return f"{name} {', '.join(map(str, value)) if isinstance(value, tuple) else value}"


def _idle(seconds: int) -> str:
    return f", silent at most {durations.shown(seconds)}" if seconds else ""


def _protected(made: Prepared) -> list[str]:
    from guard.vault.snapshot import world

    tree = world()
    found = [path for root in made.roots for path, _ in made.policy.protected(root, tree)]
    return [visible(os.path.relpath(path, made.job.top)) for path in dict.fromkeys(found)]


def _economy_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Level, budget of the day and shared calls, where they are not what they are without any."""
    day, fleet = found["cost"]["day"], found["fleet"]
    if day is not None or found["level"] != 3:
        yield f"  level      {found['level']}" + (f": {day['why']}" if day is not None and day["why"] else "")
    if day is not None:
        amount = "{:,.0f} of {:,.0f} tokens" if day["unit"] == "tokens" else "${:,.2f} of ${:,.2f}"
        spent = amount.format(day["spent"], day["total"])
        yield f"  budget     {spent}, {day['percent']} %; role {day['role']}, pool {day['pool']}; until {day['until']}"
    if fleet is not None and fleet["limit"]:
        told = f"{fleet['limit']} calls an hour for {fleet['loops']} loops"
        away = f"; away ({visible(fleet['why'])}): {fleet['share']} of them are for this one" if fleet["state"] == "away" else ""
        yield f"  fleet      {told}{away}"


def state_lines(state: State, crashed: bool) -> Iterator[str]:
    """`guard loop status` for people."""
    found = shown_as.status(state)
    word = "crashed" if crashed else found["status"]
    yield f"{state.loop}  {word}" + (
        f" ({visible(found['exit']['reason'])}, exit {found['exit']['code']})" if found["exit"] else ""
    )
    yield f"  tree       {visible(state.root)}"
    if state.run is not None:
        yield f"  run        {state.run.id}, iteration {found['iteration']}" + (
            f", {found['state']}" if not found["exit"] else ""
        )
    if found["deadline"] and not found["exit"]:
        yield f"  deadline   {found['deadline']}"
    breaker = found["breaker"]
    told = breaker["state"] + (" (monitoring)" if breaker["monitoring"] else "")
    if breaker["state"] == OPEN:
        told += f": {breaker['cause']}, recovery {breaker['recovery']}"
        told += f", probe at {breaker['probe_at']}" if breaker["probe_at"] else ""
        told += f"; {texts.HALTED}"
    yield f"  breaker    {told}"
    if found["pause"]:
        pause = found["pause"]
        yield f"  pause      {pause['class']}: {visible(pause['reason'])} (since {pause['at']})"
    yield f"  mode       {found['mode']}"
    calls = found["calls"]
    yield f"  Calls: {calls['used']}/{calls['limit']}" + (f", next free {calls['next_free_at']}" if calls["next_free_at"] else "")
    yield from _economy_lines(found)
    if found["plan"]:
        yield f"  plan       {found['plan']['open']} of {found['plan']['required']} required tasks are open"
    thresholds = state.last.thresholds if state.last is not None else {}
    counts = [f"{name} {count}/{thresholds.get(name, '-')}" for name, count in found["counters"].items() if count]
    yield f"  counters   {', '.join(counts) or 'all 0'}; risk {found['risk']}"
    yield from (f"  alert      {alert['t']} {alert['kind']}: {visible(alert['detail'])}" for alert in found["alerts"][-3:])
    yield from (f"  {line}" for line in advice(state))
