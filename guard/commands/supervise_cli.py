"""The options of `guard supervise` and `guard service`: parses, and calls guard.commands.supervise and service."""

from __future__ import annotations

from typing import Any

import click

from guard.commands.loop_cli import START, loop
from guard.commands.loop_options import DIRECTORY, DURATION, JSON

OWN = ("--restart-delay", "--max-restarts")  # options that a run does not have
INSTALL = ("--manager", "--now", "--dry-run", "--eval")  # options of guard service install that the supervisor does not have
_FLAGS = ("--now", "--dry-run")
_RUN = loop.commands[START]


def parted(words: list[str], names: tuple[str, ...] = OWN) -> tuple[list[str], list[str]]:
    """The options with these names, and what is left of a command line: what stands before the agent is looked through."""
    takes = {name for each in _RUN.params if isinstance(each, click.Option) and not each.is_flag for name in each.opts}
    takes = takes.union(OWN, INSTALL) - set(_FLAGS)
    own: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        count = 2 if words[at] in takes else 1
        (own if words[at].partition("=")[0] in names else rest).extend(words[at : at + count])
        at += count
    return own, rest + words[at:]


class _OfARun(type(_RUN)):  # type: ignore[misc]
    """A command that has the options of a run, too, and keeps the words as they were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses, so that what is wrong is told before anything starts."""
        ctx.obj = list(args)
        found: list[str] = super().parse_args(ctx, args)
        return found


@click.command("supervise", cls=_OfARun, context_settings={"allow_interspersed_args": False})
@click.option(
    "--restart-delay", default="5s", help="Before the first restart; then twice as long each.  [default: 5s]", **DURATION
)
@click.option("--max-restarts", type=click.IntRange(min=0), default=10, metavar="N", help="In an hour.  [default: 10]")
@click.pass_context
def supervise(context: click.Context, /, restart_delay: int, max_restarts: int, **given: Any) -> int:
    """Run a loop with --wait, and start it again when it has died or hangs.

    What a run says by its exit status is passed on and never a reason to start it again; 70 also where restarts are given up,
    75 where somebody else supervises or runs the loop. SIGTERM, SIGINT and SIGHUP end the run at once; at a terminal the first
    Ctrl-C ends it after its iteration.
    """
    from guard.commands import supervise as command

    words, prompt = parted(context.obj)[1], str(given["prompt"] or "")
    rehearses = bool(given["dry_run"])
    return command.run(words, given["directory"], restart_delay, max_restarts, bool(given["quiet"]), prompt, rehearses)


supervise.params += _RUN.params


@click.group()
def service() -> None:
    """Have the user's service manager (systemd, launchd) keep a supervised loop at work."""


_NAME = click.option("--name", default="", metavar="NAME", help="Of the service.  [default: the loop's id]")
_MANAGER = click.option("--manager", "kind", type=click.Choice(["systemd", "launchd"]), help="[default: this system's]")


@service.command(cls=_OfARun, context_settings={"allow_interspersed_args": False})
@click.option("--now", is_flag=True, help="Start it at once, too.")
@click.option("--dry-run", "rehearsed", is_flag=True, help="Only show what would be written.")
@click.option("--eval", "every", type=click.Choice(["daily", "weekly", "monthly"]), help="Instead: evaluate the loop that often.")
@_MANAGER
@click.pass_context
def install(context: click.Context, /, now: bool, rehearsed: bool, every: str | None, kind: str | None, **given: Any) -> int:
    """Install a loop as a service: guard supervise with these options.

    It works in this directory. What an agent needs of the environment besides PATH, such as keys, stands in
    ~/.config/guard/NAME.env (systemd); it is never copied. Exit status: 0 installed, or as it was; else as guard run --dry-run.
    """
    from guard.commands import service as command

    if every is not None:
        from guard.commands import service_eval

        return service_eval.install(every, str(given.get("name") or ""), given["directory"], kind, rehearsed)
    words = parted(context.obj, INSTALL)[1]
    return command.install(words, parted(words)[1], str(given.get("name") or ""), given["directory"], kind, now, rehearsed)


install.params += [
    *(each for each in supervise.params if each.opts[0] in OWN),
    *(each for each in _RUN.params if each.opts[0] not in INSTALL),
]


@service.command()
@_NAME
@click.option("--eval", "evaluates", is_flag=True, help="The one that evaluates the loop.")
@_MANAGER
@DIRECTORY
def uninstall(name: str, evaluates: bool, kind: str | None, directory: str | None) -> int:
    """End a service and remove it. For people. Exit status: 0 done, or there was none; 1 refused."""
    from guard.commands import service as command

    if evaluates:
        from guard.commands import service_eval

        return service_eval.uninstall(name, directory, kind)
    return command.uninstall(name, directory, kind)


@service.command()
@_NAME
@_MANAGER
@JSON
@DIRECTORY
def status(name: str, kind: str | None, as_json: bool, directory: str | None) -> int:
    """Say whether a service is installed and at work. Exit status: 0 it is, 1 it is not."""
    from guard.commands import service as command

    return command.status(name, directory, kind, as_json)
