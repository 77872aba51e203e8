"""`guard loop`: runs an agent again and again, until it is done or has to stop."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import click
import msgspec

from guard import __version__, child, project, roots, sandbox, search_path, shims
from guard.commands import exec as guarded
from guard.commands.place import register, world
from guard.errors import BUSY, FAULT, STATE, GuardError
from guard.evaluate import starting
from guard.evaluate.thresholds import thresholds
from guard.git import Git
from guard.loop import clients, clock, credentials, economy, invocation, lock, plan, processes, prompt, whereabouts
from guard.loop import configuration as settings_of
from guard.loop.command import End
from guard.loop.configuration import Settings
from guard.loop.desk import Desk
from guard.loop.events import RunStarted, StartPlan
from guard.loop.identity import place, top_of
from guard.loop.invocation import STREAM_IDLE_S, Invocation
from guard.loop.iteration import Job
from guard.loop.protection import Guardian
from guard.loop.runner import Runner
from guard.loop.settings import Config
from guard.loop.signals import Signals
from guard.loop.state import State
from guard.loop.store import Store
from guard.loop.tree import Tree
from guard.loop.view import View
from guard.notify.teller import Teller
from guard.policy import Policy
from guard.supervise import mark


@dataclass(frozen=True)
class Options:
    """What the command line says. `given` are settings by their names in loop.settings, or of loop.configuration."""

    words: tuple[str, ...] = ()
    agent: str = ""
    prompt: str = ""
    no_plan: bool = False
    verify_timeout_s: float = 600.0
    promise: str = ""
    context: bool = True
    continues: bool = False
    sandboxed: str = sandbox.NONE
    resume: bool = False
    name: str = ""
    dry_run: bool = False
    live: bool = False
    unsafe: bool = False
    as_json: bool = False
    quiet: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A run as it would start: nothing of it has been written to the loop's state."""

    job: Job
    policy: Policy
    roots: tuple[str, ...]
    state: str
    tasks: plan.Tasks
    streams: bool
    name: str = ""


def run(options: Options, directory: str | None = None) -> int:
    """Runs the loop and gives its exit status."""
    child.reserve_streams()
    made = prepare(options, directory)
    if options.dry_run:
        from guard.commands import loop_report

        return loop_report.rehearse(made)
    for warning in (*made.job.settings.warnings, *made.job.invocation.notes):
        _say(options, f"guard: {warning}")
    for value in made.job.settings.loosened:
        _say(options, f"guard: looser than by default (--unsafe): {value}")
    time = clock.current()
    _linked(options, made)
    processes.adopt()
    teller = Teller(made.state, os.environ, world(), processes.spared.add)
    opened = partial(Store.open, made.state, made.job.top, time.now(), time.kind, made.job.secrets, teller.hear)
    with Signals().caught() as signals, opened() as kept, closing(teller):
        end = _run(options, made, kept, time, signals)
        from guard.commands import loop_report
        from guard.loop import commits, status

        left = commits.of_run(made.job.top, kept.state.run) if options.as_json or not options.quiet else None
        if options.as_json:
            click.echo(json.dumps(status.status(kept.state) | {"commits": left.values() if left is not None else None}))
        if not options.quiet:
            loop_report.ended(kept.state, end, left)
    return end.exit


def _run(options: Options, made: Prepared, kept: Store, time: clock.Clock, signals: Signals) -> End:
    """How the run ended."""
    job = made.job
    before = kept.state.run
    _only_one(kept)
    _clear_away(kept.state)
    goes_on = options.resume and before is not None and before.status != "complete"
    if options.resume and not goes_on:
        _say(options, "guard: there is no run to go on with; this is a new one")
    run_id = before.id if goes_on and before is not None else f"{time.now() // 1000:x}-{secrets.token_hex(3)}"
    guardian = Guardian(job.top, made.roots, made.policy, made.state, os.environ)
    memory = kept.state.memory.approaches if goes_on else ()
    own = [os.path.relpath(made.state, job.top)] if made.state.startswith(job.top + "/") else []
    tree = Tree(job.top, job.plan or "", job.settings.ignore, job.settings.tests, own, guardian.protects, memory)
    view = View(kept.directory, options.quiet or options.as_json, options.live)
    interactive = sys.stdin.isatty() and sys.stderr.isatty()
    desk = Desk(kept, time, view, signals, run_id, interactive)
    started = _started(made, kept.state, goes_on)
    return Runner(job, desk, guardian, tree, economy.of(desk, job.settings, made.state)).run(started)


def _linked(options: Options, made: Prepared) -> None:
    """Has done what evaluations lead to, before the run begins."""
    top = made.job.top
    wanted = thresholds(top, os.environ, world())
    if wanted:
        from guard.evaluate import linking

        level = int(options.given.get("level") or Config().level)
        for one in linking.act(place(made.state, top), top, wanted, clock.current().now(), level):
            _say(options, f"guard: {one.action.name}: {one.action.reason}" + (f" ({one.said})" if one.said else ""))


def _only_one(kept: Store) -> None:
    """Raises GuardError where the last run's process is at work though its lock is gone: somebody has removed the file."""
    run = kept.state.run
    if run is not None and not run.ended and run.pid != os.getpid() and lock.alive(run.pid, run.pid_start):
        raise GuardError(f"process {run.pid} runs this loop", kept.directory, "wait for it, or end it", BUSY)


def _clear_away(state: State) -> None:
    """Ends what is left of the calls of a run whose runner died."""
    run = state.run
    if run is None or run.ended:
        return
    marks = {os.fsencode(f"GUARD_LOOP={state.loop}"), os.fsencode(f"GUARD_RUN={run.id}")}
    processes.end(lambda: processes.marked(marks))


def _started(made: Prepared, state: State, resumed: bool) -> RunStarted:
    job = made.job
    config = job.settings.config
    tasks = made.tasks
    return RunStarted(
        loop=state.loop,
        root=job.top,
        pid=os.getpid(),
        pid_start=lock.started(os.getpid()),
        boot=_boot(),
        version=__version__,
        argv=tuple(sys.argv),
        agent=job.invocation.shown,
        config=config,
        config_digest=hashlib.sha256(msgspec.json.encode(config)).hexdigest()[:16],
        policy_digest=_digest(made.policy),
        head=Git(job.top).line("rev-parse", "--verify", "-q", "HEAD"),
        resumed=resumed,
        supervised=mark.supervised(os.environ),
        label=made.name,
        loosened=job.settings.loosened,
        plan=StartPlan(job.plan, tasks.required, tasks.open) if job.plan is not None else None,
    )


def prepare(options: Options, directory: str | None) -> Prepared:
    """Looks at everything that a run needs. Raises GuardError for what is missing or makes no sense."""
    if not options.words and not options.agent:
        raise GuardError("there is no agent to run", "AGENT", "name one: guard loop -- AGENT...; one command once: guard exec")
    if options.agent and options.agent not in clients.CLIENTS:
        known = ", ".join(clients.CLIENTS)
        raise GuardError(
            f"{options.agent!r} is not known", "--agent", f"it is one of {known}; any program: guard loop -- AGENT..."
        )
    if directory is not None:
        _enter(directory)
    options = _from(options, os.getcwd())
    top = top_of(os.getcwd())
    os.chdir(top)
    environ = guarded._environment()
    state = whereabouts.writable(environ, top)
    tree = world()
    text = _prompt(options, top)
    found = settings_of.settings(top, _given(options), environ, tree, options.unsafe)
    where = None if options.no_plan else plan.find(top, found.plan, found.optional_sections)
    tasks = plan.Tasks.of(plan.load(top, where, found.optional_sections)) if where is not None else plan.Tasks()
    around = _registered(None if options.dry_run else state, top, environ)
    policy = project.load(top, environ, tree)
    if policy.broken:
        raise GuardError(policy.broken, todo="mend it before a loop runs")
    made = _invocation(options, found, environ)
    economic = _invocation(dataclasses.replace(options, words=found.economy), found, environ) if found.economy else None
    found = _finished(found, where is not None, made.streams)
    found = starting.settled(found, place(state, top), top, environ, tree, clock.current().now())
    job = Job(
        top=top,
        settings=found,
        invocation=made,
        prompt=text,
        plan=where,
        promise=options.promise,
        context=options.context,
        continues=options.continues,
        sandboxed=options.sandboxed,
        secrets=credentials.known(environ, top),
        verify_timeout_s=options.verify_timeout_s,
        economy=economic,
    )
    return Prepared(job, policy, around, state, tasks, made.streams, options.name)


def _registered(state: str | None, top: str, environ: dict[str, str]) -> tuple[str, ...]:
    """The roots around the tree, nearest first, known from now on. The tree is one itself where there is none."""
    tree, home = world(), os.path.realpath(environ.get("HOME") or "/")
    found = sorted(roots.enclosing(top, home, tree), key=len, reverse=True)
    try:
        if state is not None:
            register(state, environ)
            if not found and top not in ("/", home) and top not in roots.registered(state, tree):
                roots.register(state, top)
    except OSError as error:
        raise GuardError(f"its state cannot be written ({error.strerror})", state or "", "make it writable", STATE) from error
    return tuple(found or [top])


def _from(options: Options, cwd: str) -> Options:
    """The options with files and the agent's program as seen from the directory that the command was given in."""
    top, given, words = top_of(cwd), dict(options.given), options.words
    if given.get("plan"):
        given["plan"] = os.path.relpath(os.path.join(os.path.realpath(cwd), given["plan"]), top)
    if words and "/" in words[0]:
        words = (os.path.join(cwd, words[0]), *words[1:])
    told = options.prompt if options.prompt in ("", "-") else os.path.join(cwd, options.prompt)
    return dataclasses.replace(options, given=given, words=words, prompt=told)


def _enter(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise GuardError(
            f"it cannot be entered ({error.strerror})", f"-C {directory}", "name a directory that is there"
        ) from error


def _given(options: Options) -> dict[str, Any]:
    return {key: value for key, value in options.given.items() if value is not None}


def _finished(found: Settings, has_plan: bool, streams: bool) -> Settings:
    """The settings with what only shows when everything is known."""
    from guard.loop.record import replace

    config = replace(found.config, plan=has_plan)
    if streams and "idle_timeout_s" not in config.sources and not config.idle_timeout_s:
        config = replace(config, idle_timeout_s=min(STREAM_IDLE_S, config.timeout_s))
    return dataclasses.replace(found, config=config)


def _prompt(options: Options, top: str) -> str | None:
    """The user's text; None where the agent takes none. Raises GuardError where one is wanted."""
    if options.prompt == "-":
        return prompt.checked(sys.stdin.buffer.read(prompt.LARGEST + 1), "standard input")
    path = options.prompt or prompt.find(top)
    if path:
        return prompt.load(path)
    if options.agent or os.path.isdir(f"{top}/{plan.RALPH}"):
        todo = "write it, or name a file with --prompt; one command once: guard exec"
        raise GuardError("there is no prompt", f"{top}/{prompt.NAMES[0] if not options.agent else prompt.NAMES[1]}", todo)
    return None


def _invocation(options: Options, found: Settings, environ: dict[str, str]) -> Invocation:
    guarded_environ = environ if options.dry_run else search_path.guarded(environ, shims.ensure("wide", environ))
    if not options.agent:
        return invocation.plain(options.words, guarded_environ, found.allowed_tools)
    hook = _hook(options.agent, environ, options.dry_run)
    return clients.invocation(options.agent, options.words, guarded_environ, hook, found.allowed_tools, os.getcwd())


def _hook(agent: str, environ: dict[str, str], dry_run: bool) -> str:
    """What the agent's settings have to call, which is there afterwards."""
    from guard.agents import hook_commands, launchers

    home = project.data_dir(environ)
    if home is None:
        raise GuardError("there is no directory for guard's hook", todo="set XDG_DATA_HOME or HOME", code=FAULT)
    try:
        if not dry_run:
            launchers.ensure(home)
    except OSError as error:
        raise GuardError(f"guard's hook cannot be installed ({error.strerror})", home, "make it writable", STATE) from error
    return hook_commands.commands(agent, home).get("plugin") or hook_commands.command(agent, home)


def _digest(policy: Policy) -> str:
    text = repr([(root.path, root.lists, root.settings) for root in policy.roots])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _say(options: Options, text: str) -> None:
    if not options.quiet:
        click.echo(text, err=True)
