"""The full command line: parses and dispatches. What a subcommand does stands in guard/commands."""

from __future__ import annotations

import sys

import click

from guard import __version__
from guard.errors import USAGE, GuardError

INTERRUPTED = 130
# The order of `guard --help`; a command that is not named here shows with `guard help --all` only.
EVERYDAY = ("demo", "list", "check", "explain", "snapshot", "verify", "diff", "restore", "vault", "exec", "env", "shims", "help")


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

    return command.builtin(as_json) if builtin else command.run(cwd, as_json, files)


@commands.command("exec", context_settings={"allow_interspersed_args": False})
@click.option("--sandbox", "mode", metavar="[=auto|bwrap|none]", default="none", help="Let the kernel refuse, too (Linux).")
@click.argument("argv", metavar="[--] CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(mode: str, argv: tuple[str, ...]) -> int:
    """Run one command guarded.

    Tools that lose files are judged before they run, wherever in the command they are called by name: in scripts, makefiles,
    hooks. Protected files that are lost all the same are restored afterwards. Exit status: the command's own, but 4 where that
    is 0 and files were restored, 1 where some could not be; 126 refused or not executable, 127 not found, 125 guard failed, 70
    no place for guard's state.
    """
    from guard import sandbox
    from guard.commands import exec as command

    return command.run(argv, sandbox.mode(mode))


@commands.command()
@click.argument("shell", metavar="[SHELL]", required=False)
def env(shell: str | None) -> int:
    """Print what makes a shell guarded: eval "$(guard env)", or guard env fish | source.

    SHELL is bash, zsh, fish, dash or ksh; without it, the shell that calls.
    """
    from guard.commands import env as command

    return command.run(shell)


@commands.group()
def shims() -> None:
    """Install, remove and show the scripts that stand before the tools on PATH."""


_WIDE = click.option("--wide", is_flag=True, help="The set of guard exec and guard env, with sed, tar, install, ...")


@shims.command("install")
@_WIDE
def shims_install(wide: bool) -> int:
    """Install the shims, or renew them."""
    from guard.commands import shims as command

    return command.install("wide" if wide else "default")


@shims.command("uninstall")
@click.option("--purge", is_flag=True, help="Remove the directories, too; what has their paths written down fails then.")
def shims_uninstall(purge: bool) -> int:
    """Stop guarding: what stays under each name runs the real tool."""
    from guard.commands import shims as command

    return command.uninstall(purge)


@shims.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def shims_list(as_json: bool) -> int:
    """Show the shims, their state and the tools that they stand before."""
    from guard.commands import shims as command

    return command.show(as_json)


@shims.command("path")
@_WIDE
def shims_path(wide: bool) -> int:
    """Print the directory that has to be first on PATH."""
    from guard.commands import shims as command

    return command.path(wide)


_CWD = click.option("--cwd", metavar="DIR", help="Work as if called in this directory.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_FROM = click.option("--from", "source", metavar="SNAPSHOT", help="Another snapshot than the last one.")


@commands.command()
@_CWD
@_JSON
def snapshot(cwd: str | None, as_json: bool) -> int:
    """Take copies of the protected files.

    Ignored by git or not. Exit status: 0; 74 where they cannot be kept.
    """
    from guard.commands import snapshot as command

    return command.run(cwd, as_json)


@commands.command()
@_CWD
@_FROM
@_JSON
def verify(cwd: str | None, source: str | None, as_json: bool) -> int:
    """Say what happened to the protected files since the last snapshot.

    Exit status: 0 nothing that the policy forbids, 1 a violation, 64 there is no snapshot.
    """
    from guard.commands import verify as command

    return command.run(cwd, as_json, source)


@commands.command()
@_CWD
@_FROM
@click.argument("paths", metavar="[PATH]...", nargs=-1)
def diff(cwd: str | None, source: str | None, paths: tuple[str, ...]) -> int:
    """Show what changed in the protected files since the last snapshot."""
    from guard.commands import diff as command

    return command.run(paths, source, cwd)


@commands.command()
@click.option("--all", "everything", is_flag=True, help="Restore whatever was lost.")
@_FROM
@click.option("--list", "listing", is_flag=True, help="List the snapshots, or those that have PATH.")
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would be restored.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@_CWD
@_JSON
@click.argument("paths", metavar="[PATH]...", nargs=-1)
def restore(
    everything: bool,
    source: str | None,
    listing: bool,
    dry_run: bool,
    yes: bool,
    cwd: str | None,
    as_json: bool,
    paths: tuple[str, ...],
) -> int:
    """Bring protected files back.

    What stands in the way is kept in the vault first. Exit status: 0 restored, 1 not all of it, 3 a person has to say.
    """
    from guard.commands import restore as command

    if listing:
        return command.listing(paths, cwd, as_json)
    return command.run(paths, everything, source, dry_run, yes, cwd, as_json)


@commands.group()
def vault() -> None:
    """Look after the copies of the protected files."""


@vault.command("gc")
@_CWD
def vault_gc(cwd: str | None) -> int:
    """Remove old snapshots, and contents that no other one has."""
    from guard.commands import vault as command

    return command.gc(cwd)


@vault.command("check")
@click.option("--mend", is_flag=True, help="Put damaged packs aside, so that the next snapshot copies again.")
@_CWD
@_JSON
def vault_check(mend: bool, cwd: str | None, as_json: bool) -> int:
    """Read every copy and compare it with its digest. Exit status: 0 all good, 1 damaged."""
    from guard.commands import vault as command

    return command.check(cwd, as_json, mend)


@vault.command("path")
@_CWD
def vault_path(cwd: str | None) -> int:
    """Print the directory of this project's vault."""
    from guard.commands import vault as command

    return command.path(cwd)


@commands.command()
def demo() -> int:
    """Show verdicts on more than a dozen commands in a temporary project, and shims at work in it."""
    from guard.commands import demo as command

    return command.run()


@commands.command("help")
@click.option("--all", "everything", is_flag=True, help="The options of every command, too.")
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(context: click.Context, everything: bool, names: tuple[str, ...]) -> int:
    """Show this, or the help of one command."""
    parent = context.find_root()
    if names:
        click.echo(_found(names, parent).get_help())
        return 0
    click.echo(parent.get_help())
    for each in commands.list_commands(parent) if everything else ():
        found = commands.commands[each]
        click.echo("\n" + found.get_help(click.Context(found, info_name=each, parent=parent)))
    return 0


def _found(names: tuple[str, ...], context: click.Context) -> click.Context:
    """The context of the command that the names lead to, such as "shims" and "install"."""
    for name in names:
        group = context.command
        found = group.get_command(context, name) if isinstance(group, click.Group) else None
        if found is None:
            raise click.UsageError(f"No such command '{' '.join(names)}'.", context.find_root())
        context = click.Context(found, info_name=name, parent=context)
    return context


def _said(error: click.ClickException) -> str:
    """The option parser's words in guard's style, with the call that helps."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path.removeprefix("guard").strip() if context is not None else ""
    return f"guard: {text[:1].lower()}{text[1:]} (guard help{' ' * bool(path)}{path})"


def main(arguments: list[str]) -> int:
    """Runs the command line and gives its exit status."""
    if arguments[:1] == ["exec"]:
        from guard.sandbox import spelled_out

        arguments = ["exec", *spelled_out(arguments[1:])]
    try:
        status = commands.main(arguments, prog_name="guard", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show(sys.stdout)
        return USAGE
    except click.ClickException as error:
        click.echo(_said(error), err=True)
        return USAGE
    except click.Abort:
        return INTERRUPTED
    except GuardError as error:
        click.echo(f"guard: {error}", err=True)
        return error.code
    return status if isinstance(status, int) else 0
