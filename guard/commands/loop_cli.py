"""The options of `guard loop`: parses, and calls guard.commands.loop and its companions."""

from __future__ import annotations

import copy
from typing import Any

import click

START = "start"  # the command behind `guard loop AGENT...`; nobody types it
SANDBOX = "--sandbox"


class _Loop(click.Group):
    """A group of which whatever is no subcommand is the start of a run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the start in front of what is none of the others."""
        known = {name for name in self.commands if name != START}
        if not args or (args[0] not in known and args[0] not in ctx.help_option_names):
            args = [START, *args]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help of the start, then the subcommands."""
        start = self.commands[START]
        start.format_help(click.Context(start, info_name=ctx.info_name, parent=ctx.parent), formatter)
        self.format_commands(ctx, formatter)


class _Start(click.Command):
    """The start of a run: a bare --sandbox means auto, and does not take the next word for its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spells the option out."""
        return super().parse_args(ctx, self._spelled_out(args))

    def _spelled_out(self, args: list[str]) -> list[str]:
        takes = {name for each in self.params if isinstance(each, click.Option) and not each.is_flag for name in each.opts}
        found, at = list(args), 0
        while at < len(found) and found[at].startswith("-") and found[at] not in ("-", "--"):
            if found[at] == SANDBOX:
                found[at] = f"{SANDBOX}=auto"
            at += 2 if found[at] in takes else 1
        return found


@click.group(cls=_Loop)
def loop() -> None:
    """Run an agent again and again, until it is done or has to stop."""


def _duration(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    from guard.loop import durations

    return None if value is None else durations.seconds(value, f"--{str(param.name).replace('_', '-')}")


_DIRECTORY = click.option("-C", "directory", metavar="DIR", help="Work as if started there.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_DURATION: dict[str, Any] = {"metavar": "TIME", "callback": _duration}


@loop.command(START, cls=_Start, hidden=True, context_settings={"allow_interspersed_args": False})
@click.option("--agent", default="", metavar="NAME", help="claude: start it with guard's hooks; what follows are its arguments.")
@click.option("-p", "--prompt", default="", metavar="FILE", help="What the agent is told; - for standard input.")
@click.option("--plan", metavar="FILE", help="The list of tasks.")
@click.option("--no-plan", is_flag=True, help="There is no list of tasks.")
@click.option("--verify", multiple=True, metavar="CMD", help="Has to succeed before all is done (repeatable).")
@click.option("--verify-timeout", default="10m", help="For each of them.  [default: 10m]", **_DURATION)
@click.option("-n", "--max-iterations", type=int, metavar="N", help="[default: 100]")
@click.option("--once", is_flag=True, help="One iteration.")
@click.option("--max-runtime", help="Waits included.  [default: 24h]", **_DURATION)
@click.option("--max-cost", type=float, metavar="USD", help="As the client counts it.")
@click.option("-c", "--calls", type=int, metavar="N", help="Calls in any hour.  [default: 100]")
@click.option("--tokens-per-hour", type=int, metavar="N", help="0: no limit.  [default: 0]")
@click.option("-t", "--timeout", help="Of a call, at most 120m.  [default: 15m]", **_DURATION)
@click.option("--idle-timeout", help="Of a call that is silent.  [default: 10m where output streams]", **_DURATION)
@click.option("--profile", type=click.Choice(["simple", "medium", "complex"]), help="[default: medium]")
@click.option("--wait", is_flag=True, help="After a trip, wait for the cooldown and probe; wait for a person's answer.")
@click.option("--on-limit", type=click.Choice(["ask", "wait", "exit"]), help="When the client's own limit is used up.")
@click.option("--allowed-tools", metavar="LIST", help="What the agent may use; passed on to it.")
@click.option("--promise", default="", metavar="TEXT", help="The line by which the agent says that all is done.")
@click.option("--no-context", is_flag=True, help="Add nothing to the prompt.")
@click.option(SANDBOX, "mode", default="none", metavar="[=auto|bwrap|none]", help="Let the kernel refuse, too (Linux).")
@click.option("--resume", is_flag=True, help="Go on with the last run.")
@click.option("--dry-run", is_flag=True, help="Only show what would be run.")
@click.option("-l", "--live", is_flag=True, help="Show the agent's output.")
@click.option("--unsafe", is_flag=True, help="Thresholds may be looser than by default.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
@_JSON
@_DIRECTORY
@click.argument("words", metavar="[--] [AGENT [ARG]...]", nargs=-1, type=click.UNPROCESSED)
def start(
    agent: str,
    prompt: str,
    plan: str | None,
    no_plan: bool,
    verify: tuple[str, ...],
    verify_timeout: int,
    max_iterations: int | None,
    once: bool,
    max_runtime: int | None,
    max_cost: float | None,
    calls: int | None,
    tokens_per_hour: int | None,
    timeout: int | None,
    idle_timeout: int | None,
    profile: str | None,
    wait: bool,
    on_limit: str | None,
    allowed_tools: str | None,
    promise: str,
    no_context: bool,
    mode: str,
    resume: bool,
    dry_run: bool,
    live: bool,
    unsafe: bool,
    quiet: bool,
    as_json: bool,
    directory: str | None,
    words: tuple[str, ...],
) -> int:
    """Run an agent again and again, until it is done or has to stop.

    AGENT is any program: it gets the prompt on standard input, or where an ARG says {prompt} or {prompt_file}. Before each
    call the protected files are copied, after it they are looked at and brought back. Exit status: 0 complete, 1 the breaker
    is open, 2 a limit ended it, 3 a person is needed, 4 protected files were lost, 64 usage or configuration, 69 no such
    agent, 70 guard failed, 74 state cannot be written, 75 another runner has the tree, 129, 130, 143 signals.
    """
    from guard import sandbox
    from guard.commands import loop as command

    if once and max_iterations not in (None, 1):
        raise click.UsageError("--once and --max-iterations contradict each other.")
    if plan is not None and no_plan:
        raise click.UsageError("--plan and --no-plan contradict each other.")
    given = {
        "plan": plan,
        "verify": verify or None,
        "iterations": 1 if once else max_iterations,
        "runtime_s": max_runtime,
        "cost_usd": max_cost,
        "calls_per_hour": calls,
        "tokens_per_hour": tokens_per_hour,
        "timeout_s": timeout,
        "idle_timeout_s": idle_timeout,
        "profile": profile,
        "wait": wait or None,
        "on_limit": on_limit,
        "allowed_tools": allowed_tools,
    }
    options = command.Options(
        words=words,
        agent=agent,
        prompt=prompt,
        no_plan=no_plan,
        verify_timeout_s=verify_timeout,
        promise=promise,
        context=not no_context,
        sandboxed=sandbox.mode(mode),
        resume=resume,
        dry_run=dry_run,
        live=live,
        unsafe=unsafe,
        as_json=as_json,
        quiet=quiet,
        given=given,
    )
    return command.run(options, directory)


_TREE = click.argument("tree", metavar="[LOOP]", required=False)


@loop.command()
@click.option("--exit-code", is_flag=True, help="Exit with the status that a run would have now.")
@click.option("--all", "everything", is_flag=True, help="Every loop that has run.")
@_JSON
@_DIRECTORY
@_TREE
def status(exit_code: bool, everything: bool, as_json: bool, directory: str | None, tree: str | None) -> int:
    """Show how a loop stands.

    LOOP is a directory, or a loop's name as this shows it; without it, the loop of the tree around. Exit status: 0.
    """
    from guard.commands import loop_verbs

    return loop_verbs.status(loop_verbs.named(tree, directory, everything), exit_code, as_json)


@loop.command()
@click.option("-n", "number", type=click.IntRange(min=0), metavar="N", help="How many lines, the last ones.")
@click.option("-f", "--follow", is_flag=True, help="Go on as more is written.")
@click.option("-r", "--reverse", is_flag=True, help="The newest first.")
@click.option("--since", metavar="TIME", help="From then on: 2h, 3d, 14:30, 2026-11-30.")
@click.option("--until", metavar="TIME", help="Up to then.")
@click.option("--run", "run_id", default="last", metavar="ID", help="last, all, or a run's id.  [default: last]")
@click.option("--iteration", metavar="N[..M]", help="Only of these iterations.")
@click.option("--type", "kinds", metavar="EVENT,...", help="Only events of these kinds.")
@click.option("--output", "outputs", is_flag=True, help="What the agent put out.")
@click.option("--format", "form", type=click.Choice(["text", "md", "jsonl"]), default="text", help="[default: text]")
@_DIRECTORY
@_TREE
def log(
    number: int | None,
    follow: bool,
    reverse: bool,
    since: str | None,
    until: str | None,
    run_id: str,
    iteration: str | None,
    kinds: str | None,
    outputs: bool,
    form: str,
    directory: str | None,
    tree: str | None,
) -> int:
    """Show what a loop did, and what guard refused meanwhile."""
    from guard.commands import loop_log, loop_verbs

    (place,) = loop_verbs.named(tree, directory)
    wanted = loop_log.Wanted(number, follow, reverse, since, until, run_id, iteration, kinds, form)
    return loop_log.outputs(place, wanted) if outputs else loop_log.run(place, wanted)


@loop.command()
@click.option("--reason", metavar="TEXT", help="Why it may go on; the journal keeps it.")
@click.option("--to-closed", is_flag=True, help="Close the breaker at once; counters start at 0.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@_DIRECTORY
@_TREE
def reset(reason: str | None, to_closed: bool, yes: bool, directory: str | None, tree: str | None) -> int:
    """Let an open breaker try once more, and lift a hold.

    For people, at a terminal of their own. Exit status: 0 done; 1 refused, or there is nothing to reset.
    """
    from guard.commands import loop_verbs

    (place,) = loop_verbs.named(tree, directory)
    return loop_verbs.reset(place, reason, to_closed, yes)


@loop.command()
@click.option("--now", is_flag=True, help="At once, not after the iteration.")
@click.option("--reason", metavar="TEXT", default="", help="Why; the journal keeps it.")
@click.option("--all", "everything", is_flag=True, help="Every loop that runs.")
@_DIRECTORY
@_TREE
def stop(now: bool, reason: str, everything: bool, directory: str | None, tree: str | None) -> int:
    """End a run after its iteration; it exits 130.

    Exit status: 0 asked for; 1 nothing runs there, or refused: an agent may not end its own loop.
    """
    from guard.commands import loop_verbs

    return loop_verbs.stop(loop_verbs.named(tree, directory, everything), now, reason)


alias = copy.copy(loop)
alias.hidden = True
alias.short_help = "The same as guard loop."
