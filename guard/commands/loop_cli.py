"""The options of `guard loop`: parses, and calls guard.commands.loop and its companions."""

from __future__ import annotations

import copy

import click

from guard.commands import loop_control_cli
from guard.commands.loop_options import DIRECTORY as _DIRECTORY
from guard.commands.loop_options import DURATION as _DURATION
from guard.commands.loop_options import JSON as _JSON

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


@loop.command(START, cls=_Start, hidden=True, context_settings={"allow_interspersed_args": False})
@click.option(
    "--agent",
    default="",
    metavar="NAME",
    help="claude, codex, gemini, opencode, qwen or copilot: with guard's hooks; then its arguments.",
)
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
@click.option("--continue", "continues", is_flag=True, help="Each call goes on with the agent's session (with --agent).")
@click.option(SANDBOX, "mode", default="none", metavar="[=auto|bwrap|none]", help="Let the kernel refuse, too (Linux).")
@click.option("--level", type=click.IntRange(1, 3), help="3 as configured, 2 confirm each change, 1 economy.  [default: 3]")
@click.option("--resume", is_flag=True, help="Go on with the last run.")
@click.option("--name", default="", metavar="NAME", help="A second name of the loop, for status, pause and the like.")
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
    continues: bool,
    mode: str,
    level: int | None,
    resume: bool,
    name: str,
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
    from guard.commands import loop_places

    if once and max_iterations not in (None, 1):
        raise click.UsageError("--once and --max-iterations contradict each other.")
    if continues and not agent:
        raise click.UsageError("--continue needs --agent: how another program goes on with a session is not known.")
    if plan is not None and no_plan:
        raise click.UsageError("--plan and --no-plan contradict each other.")
    if name:
        loop_places.check_label(name)
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
        "level": level,
    }
    options = command.Options(
        words=words,
        agent=agent,
        prompt=prompt,
        no_plan=no_plan,
        verify_timeout_s=verify_timeout,
        promise=promise,
        context=not no_context,
        continues=continues,
        sandboxed=sandbox.mode(mode),
        resume=resume,
        name=name,
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
    if everything and not exit_code:
        from guard.commands import monitor

        return monitor.overview(directory, as_json)
    from guard.commands import loop_places, loop_status

    return loop_status.status(loop_places.named(tree, directory, everything), exit_code, as_json)


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
    from guard.commands import loop_log, loop_places

    (place,) = loop_places.named(tree, directory)
    wanted = loop_log.Wanted(number, follow, reverse, since, until, run_id, iteration, kinds, form)
    return loop_log.outputs(place, wanted) if outputs else loop_log.run(place, wanted)


@loop.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@_DIRECTORY
def init(dry_run: bool, directory: str | None) -> int:
    """Write a prompt, a plan and a configuration, where they are missing.

    New ones go into .ralph/, or beside a PROMPT.md or a plan that is there already. Nothing is overwritten. The command that
    runs the project's tests is looked for, and proposed as what has to succeed before a run is complete.
    """
    from guard.commands import loop_init

    return loop_init.run(directory, dry_run)


@loop.command()
@click.option("--all", "everything", is_flag=True, help="Every loop that has run.")
@click.option("--since", metavar="TIME", default="7d", help="From when on: 7d, 2026-11-30 ... (7d).")
@click.option("--until", metavar="TIME", help="Until when (now).")
@click.option("--format", "form", type=click.Choice(["text", "md", "html", "json"]), default="text", help="(text)")
@click.option("-o", "output", metavar="FILE", help="Write it there.")
@click.option("--fail-on", metavar="slo,alerts", default="", help="Exit with 1 where an objective is missed, or an alert came.")
@_DIRECTORY
@click.argument("trees", metavar="[LOOP]...", nargs=-1)
def report(
    everything: bool,
    since: str,
    until: str | None,
    form: str,
    output: str | None,
    fail_on: str,
    directory: str | None,
    trees: tuple[str, ...],
) -> int:
    """Report what loops did in a period: objectives, numbers, trips, refusals, restores.

    Without LOOP, the loop of the tree around. The HTML is one file that needs nothing else. Exit status: 0, or 1 by --fail-on.
    """
    from guard.commands import report as command

    return command.run(trees, directory, everything, since, until, form, output, fail_on)


for _command in loop_control_cli.COMMANDS:
    loop.add_command(_command)

alias = copy.copy(loop)
alias.hidden = True
alias.short_help = "The same as guard loop."
