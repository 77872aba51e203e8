"""The full command line: parses and dispatches. What a subcommand does stands in guard/commands."""

from __future__ import annotations

import sys

import click

from guard import __version__
from guard.errors import USAGE, GuardError

INTERRUPTED = 130
# The order of `guard --help`; a command that is not named here shows with `guard help --all` only.
EVERYDAY = ("demo", "list", "check", "explain", "help")


class _Commands(click.Group):
    """Lists the everyday commands in their order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.commands, key=lambda name: EVERYDAY.index(name) if name in EVERYDAY else len(EVERYDAY))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="guard", message="%(prog)s %(version)s")
def commands() -> None:
    """Finds out which protected files a shell command would destroy, before it runs.

    See it at work:  guard demo
    """


@commands.command()
@click.option("--cwd", metavar="DIR", help="Judge as if run in this directory.")
@click.option("--headless", is_flag=True, help='Nobody can be asked: "ask" becomes "deny".')
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON on standard output.")
@click.argument("command", metavar="COMMAND")
def check(cwd: str | None, headless: bool, as_json: bool, command: str) -> int:
    """Say whether COMMAND may run.

    COMMAND is one argument, quoted as a whole; "-" reads it from standard input. A command that begins with a dash stands
    behind "--". Exit status: 0 it may run, 1 refused, 3 a person has to say, 64 usage or configuration, 70 guard failed.
    Anything but 0 means: do not run it.
    """
    from guard.hot import check as entry

    options = ["--headless"] * headless + ["--json"] * as_json + ([f"--cwd={cwd}"] if cwd is not None else [])
    return entry.main([*options, "--", command])


@commands.command()
@click.option("--cwd", metavar="DIR", help="Explain as seen from this directory.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("subject", metavar="COMMAND|PATH|ID")
def explain(cwd: str | None, as_json: bool, subject: str) -> int:
    """Show how a verdict comes about.

    For a command: where it runs, what it runs, what that does to which paths, and which rule has a say in it. For a path:
    the rule that protects it. For the id at the end of a refusal: what was recorded then.
    """
    from guard.commands import explain as command

    return command.run(subject, cwd, as_json)


@commands.command("list")
@click.option("--builtin", is_flag=True, help="Show the built-in list, ready for guard.toml.")
@click.option("--cwd", metavar="DIR", help="List as seen from this directory.")
@click.option("--files", is_flag=True, help="Name the protected files, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(builtin: bool, cwd: str | None, files: bool, as_json: bool) -> int:
    """Show what is protected here, and by which rule."""
    from guard.commands import list as command

    return command.builtin() if builtin else command.run(cwd, as_json, files)


@commands.command()
def demo() -> int:
    """Show verdicts on a dozen commands in a temporary project; nothing of it is run."""
    from guard.commands import demo as command

    return command.run()


@commands.command("help")
@click.option("--all", "everything", is_flag=True, help="The options of every command, too.")
@click.argument("name", metavar="[COMMAND]", required=False)
@click.pass_context
def help_(context: click.Context, everything: bool, name: str | None) -> int:
    """Show this, or the help of one command."""
    parent = context.find_root()
    if name is not None:
        found = commands.get_command(parent, name)
        if found is None:
            raise click.UsageError(f"no such command: {name}", parent)
        click.echo(found.get_help(click.Context(found, info_name=name, parent=parent)))
        return 0
    click.echo(parent.get_help())
    for each in commands.list_commands(parent) if everything else ():
        found = commands.commands[each]
        click.echo("\n" + found.get_help(click.Context(found, info_name=each, parent=parent)))
    return 0


def main(arguments: list[str]) -> int:
    """Runs the command line and gives its exit status."""
    try:
        status = commands.main(arguments, prog_name="guard", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show(sys.stdout)
        return USAGE
    except click.ClickException as error:
        error.show()
        return USAGE
    except click.Abort:
        return INTERRUPTED
    except GuardError as error:
        click.echo(f"guard: {error}", err=True)
        return error.code
    return status if isinstance(status, int) else 0
