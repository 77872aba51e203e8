"""What `guard loop` says at the end of a run, and what --dry-run shows."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from guard.commands.output import say
from guard.git import Git, GitFailed
from guard.loop import durations, texts
from guard.loop import status as shown_as
from guard.loop.command import End
from guard.loop.settings import STRICTER
from guard.loop.state import AUTO, OPEN, State
from guard.quoting import posix
from guard.shown import visible

if TYPE_CHECKING:
    from guard.commands.loop import Prepared

PROMPT_LINES = 8


def ended(state: State, end: End, top: str, head: str) -> None:
    """Says on standard error why a run is over, what it came to, and what to do now."""
    for line in told(state, end, top, head):
        click.echo(line, err=True)


def told(state: State, end: End, top: str, head: str) -> Iterator[str]:
    """The lines of it. `head` is the commit that the run began with, "" for none."""
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
    yield from _commits(state, top, head)
    yield from (f"  {line}" for line in advice(state))


def _commits(state: State, top: str, started: str) -> Iterator[str]:
    """The commits since the start, and the command that shows all."""
    run = state.run
    if run is None or not run.head or not started or started == run.head:
        return
    try:
        raw = Git(top).run("diff", "--shortstat", "--no-ext-diff", "--no-textconv", started, run.head)
    except GitFailed:
        return
    stat = raw.decode("utf-8", "replace").strip() or "no difference"
    first, last = started[:10], run.head[:10]
    yield f"  commits: {first}..{last} ({stat}); all: git log --stat {first}..{last}"


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
        yield f'It waits for a person ({visible(hold.reason)}). When that is settled: guard loop reset --reason "..."'
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
    for text in (*job.settings.warnings, *(f"looser: {one}" for one in job.settings.loosened)):
        say(("note       ", "dim"), visible(text))
    files = _protected(made)
    say(("protected  ", "dim"), f"{len(files)} paths: {', '.join(files[:6])}{', ...' if len(files) > 6 else ''}")
    say("Nothing was started.")
    return 0


def _idle(seconds: int) -> str:
    return f", silent at most {durations.shown(seconds)}" if seconds else ""


def _protected(made: Prepared) -> list[str]:
    from guard.vault.snapshot import world

    tree = world()
    found = [path for root in made.roots for path, _ in made.policy.protected(root, tree)]
    return [visible(os.path.relpath(path, made.job.top)) for path in dict.fromkeys(found)]


def state_lines(state: State, crashed: bool) -> Iterator[str]:
    """`guard loop status` for people."""
    found = shown_as.status(state)
    word = "crashed" if crashed else found["status"]
    yield f"{state.loop}  {word}" + (f" ({found['exit']['reason']}, exit {found['exit']['code']})" if found["exit"] else "")
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
    if found["plan"]:
        yield f"  plan       {found['plan']['open']} of {found['plan']['required']} required tasks are open"
    thresholds = state.last.thresholds if state.last is not None else {}
    counts = [f"{name} {count}/{thresholds.get(name, '-')}" for name, count in found["counters"].items() if count]
    yield f"  counters   {', '.join(counts) or 'all 0'}; risk {found['risk']}"
    yield from (f"  alert      {alert['t']} {alert['kind']}: {visible(alert['detail'])}" for alert in found["alerts"][-3:])
    yield from (f"  {line}" for line in advice(state))
