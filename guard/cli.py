"""The full command line: parses and dispatches. What a subcommand does stands in guard/commands."""

from __future__ import annotations

import os
import re
import sys

import click

from guard import __version__
from guard.commands.eval_cli import evaluation
from guard.commands.loop_cli import alias, loop
from guard.commands.supervise_cli import service, supervise
from guard.errors import USAGE, GuardError

INTERRUPTED = 130
# The order of `guard --help`; a command that is not named here shows with `guard help --all` only.
EVERYDAY = (
    "demo",
    "init",
    "list",
    "check",
    "explain",
    "replay",
    "status",
    "snapshot",
    "verify",
    "diff",
    "restore",
    "allow",
    "log",
    "vault",
    "exec",
    "loop",
    "env",
    "shims",
    "doctor",
    "selftest",
    "completion",
    "uninstall",
    "help",
)


class _Commands(click.Group):
    """Lists the everyday commands in their order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.commands, key=lambda name: EVERYDAY.index(name) if name in EVERYDAY else len(EVERYDAY))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="guard", message="%(prog)s %(version)s")
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
@click.option("--files", is_flag=True, help="Name the protected files, each with its pattern.")
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


commands.add_command(loop)
commands.add_command(evaluation)
commands.add_command(alias, "run")
commands.add_command(supervise)
commands.add_command(service)


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
@click.option("--since", metavar="WHEN", default="30d", show_default=True, help="30d, 12h, 2w, a date, or all.")
@click.option("--client", "clients", multiple=True, metavar="NAME", help="Only logs of claude, codex or gemini (repeatable).")
@_JSON
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True))
def replay(since: str, clients: tuple[str, ...], as_json: bool, paths: tuple[str, ...]) -> int:
    """Judge the commands that agents ran in the past.

    Reads the session logs that the clients keep themselves, and says what would have been refused. Nothing is run or written.
    PATH is a directory, for the commands that ran in or below it, or a session log. Exit status 0, whatever is found.
    """
    from guard.commands import replay as command

    return command.run(since, clients, paths, as_json)


@commands.command()
@click.option("--require", "required", multiple=True, metavar="LAYER", help="A fault where LAYER is not installed (repeatable).")
@_CWD
@_JSON
def doctor(required: tuple[str, ...], cwd: str | None, as_json: bool) -> int:
    """Look at every layer and name the command that mends what does not hold.

    Changes nothing. Exit status: 0 all that is installed works, 1 something does not. A layer that is not installed is told,
    and no fault without --require.
    """
    from guard.commands import doctor as command

    return command.run(required, cwd, as_json)


@commands.command()
@_CWD
@_JSON
def selftest(cwd: str | None, as_json: bool) -> int:
    """Send a canary through every installed layer.

    A temporary project with a protected directory, and a deletion of it on every way that is guarded. Exit status: 0 all
    layers that are installed held, 1 one did not.
    """
    from guard.commands import selftest as command

    return command.run(cwd, as_json)


@commands.command()
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status tells.")
@_CWD
@_JSON
def status(quiet: bool, cwd: str | None, as_json: bool) -> int:
    """Show how things stand: layers, what is suspended, the last refusals and restores.

    Exit status: 0; 1 where a layer that is installed does not hold.
    """
    from guard.commands import status as command

    return command.run(cwd, as_json, quiet)


@commands.command()
@click.option("--interval", metavar="TIME", default="1s", help="Between two looks (1s).")
@click.option("--plain", is_flag=True, help="Lines instead of a picture: one whenever something has changed.")
@click.option("--once", is_flag=True, help="Show how everything stands, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and end.")
@click.option("--web", is_flag=True, help="A page in the browser, with controls; needs the extra web.")
@click.option("--host", metavar="ADDRESS", help="Where the page listens (127.0.0.1: this machine alone).")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), help="And at which port (8377).")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.argument("loops", metavar="[LOOP]...", nargs=-1)
def monitor(
    interval: str,
    plain: bool,
    once: bool,
    as_json: bool,
    web: bool,
    host: str | None,
    port: int | None,
    opens: bool,
    loops: tuple[str, ...],
) -> int:
    """Watch all loops of this machine, or one with its output.

    A LOOP is an id, a name, or a directory of its tree. With one LOOP the view ends when its run does.
    """
    from guard.commands import monitor as command
    from guard.loop import durations

    if web or opens or host is not None or port is not None:
        return command.page(loops, plain or once or as_json, web, host, port, opens)
    return command.run(loops, float(durations.seconds(interval, "--interval")), plain, once, as_json)


@commands.command()
@click.option("--test", is_flag=True, help="Send a sample through every channel.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def notify(test: bool, as_json: bool) -> int:
    """Show where notices of loops go.

    The user's or the system's configuration says so, in [notify].
    """
    from guard.commands import notify as command

    return command.run(test, as_json)


@commands.command()
@click.argument("shell", metavar="[SHELL]", required=False)
def completion(shell: str | None) -> int:
    """Print what makes a shell complete guard's commands: eval "$(guard completion bash)".

    SHELL is bash, zsh or fish; without it, the shell that calls.
    """
    from guard.commands import completion as command

    return command.run(shell)


_AGENT = click.option("--agent", "agents", multiple=True, metavar="NAME", help="claude, codex, gemini, ... (repeatable).")
_YES = click.option("-y", "--yes", is_flag=True, help="Do not ask.")
_DRY_RUN = click.option("-n", "--dry-run", is_flag=True, help="Only show what would be written.")
_PREFIX = click.option("--prefix", metavar="DIR", default="", help="A directory that will be / later.")


@commands.command()
@click.option("--team", is_flag=True, help="For everybody: settings that are committed.")
@_AGENT
@click.option("--missing", type=click.Choice(["block", "warn"]), help="With --team: what an agent does where guard is missing.")
@click.option("--shims", "with_shims", is_flag=True, help="Install the shims, too.")
@click.option("--config/--no-config", default=True, help="Write guard.toml where there is none (default).")
@click.option("--observe", is_flag=True, help="For a week, only log what would be refused.")
@click.option("--git-hooks", is_flag=True, help="Install hooks of git in this repository; those that are there still run.")
@click.option("--pre-commit", is_flag=True, help="Add guard's hooks to .pre-commit-config.yaml.")
@_DRY_RUN
@_YES
def init(
    team: bool,
    agents: tuple[str, ...],
    missing: str | None,
    with_shims: bool,
    config: bool,
    observe: bool,
    git_hooks: bool,
    pre_commit: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Wire guard into the agents' clients, for you.

    Shows what is protected and what will be written where, and asks. Settings are merged: what stands there stays. Without
    --agent, the clients that are found. Exit status: 0 done, 3 a person has to say, 64 something is in the way and nothing was
    written.
    """
    from guard.commands import init as command

    return command.run(command.Options(team, agents, missing, with_shims, config, observe, dry_run, yes, git_hooks, pre_commit))


@commands.command()
@click.option("--system", is_flag=True, required=True, help="For every user: settings that only root can write.")
@_AGENT
@_PREFIX
@_DRY_RUN
def install(system: bool, agents: tuple[str, ...], prefix: str, dry_run: bool) -> int:
    """Install guard for a whole machine or image.

    Runtime, shims, managed settings of the clients, /etc/guard/config.toml. Needs no project, home directory or terminal, and
    asks nothing.
    """
    from guard.commands import install as command

    return command.run(agents, prefix, dry_run)


@commands.command()
@click.option("--team", is_flag=True, help="The committed settings of this project.")
@click.option("--system", is_flag=True, help="What install --system has put down.")
@click.option("--purge", is_flag=True, help="Remove the shims' directories, too; what has their paths written down fails then.")
@_PREFIX
@_YES
def uninstall(team: bool, system: bool, purge: bool, prefix: str, yes: bool) -> int:
    """Take guard out of the clients' settings, and what it runs on.

    Files that only guard has written become what they were before, to the byte. Of others, guard's entries are taken out.
    """
    from guard.commands import uninstall as command

    return command.run(team, system, purge, yes, prefix)


@commands.command()
@click.option("--always", is_flag=True, help="Write an [[except]] rule for this very command instead.")
@click.option("--path", "retire", is_flag=True, help="Let files be deleted or replaced once, in every layer; names PATHs.")
@click.option("--config", "accept", is_flag=True, help="Accept the changed [tool.guard] table of pyproject.toml.")
@click.option("--for", "duration", metavar="TIME", help="How long --path holds, at most 60m.  [default: 10m]")
@click.option("--reason", metavar="TEXT", help="Why; the log and the rule keep it.")
@click.option("--expires", metavar="DATE", help="The last day of the rule that --always writes.")
@click.argument("names", metavar="[ID | PATH...]", nargs=-1)
def allow(
    always: bool,
    retire: bool,
    accept: bool,
    duration: str | None,
    reason: str | None,
    expires: str | None,
    names: tuple[str, ...],
) -> int:
    """Let pass what was refused.

    ID stands at the end of a refusal: what it would harm is shown and copied, and the same passes once within ten minutes.
    For people, at a terminal of their own. Exit status: 0 let pass, 1 not.
    """
    from guard.commands import allow as command

    return command.run(names, always, retire, accept, duration, reason, expires)


@commands.command()
@click.option("--end", is_flag=True, help="Protect again now.")
@click.option("--reason", metavar="TEXT", help="Why; the log keeps it.")
@click.argument("duration", metavar="[TIME]", required=False)
def suspend(end: bool, reason: str | None, duration: str | None) -> int:
    """Let everything pass in this project for a TIME such as 15m, at most 60m.

    A copy of every protected file is taken first. For people, at a terminal of their own. Exit status: 0; 1 not done; 75 a
    loop is running here.
    """
    from guard.commands import suspend as command

    if end:
        return command.end()
    if duration is None:
        raise click.UsageError("how long? Such as: guard suspend 15m --reason ...")
    return command.start(duration, reason)


@commands.command()
@click.option("--reason", metavar="TEXT", help="What is wrong about it.")
@click.argument("name", metavar="ID")
def wrong(reason: str | None, name: str) -> int:
    """Mark a refusal as a false alarm, and write a report to send in.

    Nothing is sent. Names of user, machine and project, and what looks like a secret, are replaced in it.
    """
    from guard.commands import wrong as command

    return command.run(name, reason)


@commands.command()
@click.option("--lock", "level", flag_value="lock", help="It may not change at all.")
@click.option("--present", "level", flag_value="present", help="It must stay; what is below may come and go.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
def protect(level: str | None, paths: tuple[str, ...]) -> int:
    """Protect paths, or patterns, from now on.

    They are added to guard.toml, or to [tool.guard] where that is in use. For people, at a terminal of their own.
    """
    from guard.commands import protect as command

    return command.add(paths, level or "keep")


@commands.command()
@click.option("--reason", metavar="TEXT", help="Why; the log keeps it.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
def unprotect(reason: str | None, paths: tuple[str, ...]) -> int:
    """Protect paths no longer.

    Their patterns are removed, or taken back with "!". For people, at a terminal of their own.
    """
    from guard.commands import protect as command

    return command.remove(paths, reason)


@commands.command("log")
@click.option("-n", "number", type=click.IntRange(min=0), metavar="NUMBER", help="How many lines.  [default: 20]")
@_JSON
@click.option("--since", metavar="TIME", help="From then on: 2h, 3d, 14:30, 2026-11-30.")
@click.option("--client", metavar="NAME", help="What this client did: claude, codex, ...")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="refused, asked, allowed, passed, restored or override.")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not only of this one.")
def log_(
    number: int | None, as_json: bool, since: str | None, client: str | None, kinds: tuple[str, ...], everywhere: bool
) -> int:
    """Show what was judged, restored and let pass, a line each."""
    from guard.commands import log as command

    return command.run(number, as_json, since, client, kinds, everywhere)


@commands.command()
def demo() -> int:
    """Show verdicts on more than a dozen commands in a temporary project, and shims at work in it."""
    from guard.commands import demo as command

    return command.run()


@commands.command("git-hook", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", metavar="NAME [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def git_hook(arguments: tuple[str, ...]) -> int:
    """What git's hooks and pre-commit's run: says what a commit, push, checkout, merge or rewrite takes away.

    NAME is that of git's hook (pre-commit, pre-merge-commit, prepare-commit-msg, commit-msg, pre-applypatch, pre-rebase,
    pre-push, post-checkout, post-merge, post-rewrite), or protected-files or verify for pre-commit. Exit
    status: 0 go on, 1 refused; always 0 for those that come after.
    """
    from guard.hot import git_hook as entry

    return entry.main(list(arguments))


@commands.command()
@click.option("--given", metavar="TEXT", hidden=True, help="The beginning of the payload, where it has been read already.")
@click.argument("client", metavar="CLIENT")
@click.argument("event", metavar="[EVENT]", required=False)
def hook(given: str | None, client: str, event: str | None) -> int:
    """Answer a hook of an agent's client: claude, codex, gemini, qwen, copilot, cursor or opencode.

    The payload comes on standard input; EVENT names the event where that does not. What the settings of clients name is the
    launcher that guard init installs, not this. Exit status: 0 nothing against it, 2 refused, standard error says why.
    """
    from guard.hot import hook as entry

    return entry.main([*(["--given", given] if given is not None else []), client, *([event] if event is not None else [])])


@commands.command(hidden=True)
def version() -> int:
    """Print the version."""
    click.echo(f"guard {__version__}")
    return 0


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
            raise click.UsageError(f"No such command '{' '.join(names)}'.{_meant(name, group)}", context.find_root())
        context = click.Context(found, info_name=name, parent=context)
    return context


def _meant(name: str, group: click.Command) -> str:
    """The commands of a group that a mistyped name may stand for."""
    import difflib

    known = group.commands if isinstance(group, click.Group) else ()
    near = difflib.get_close_matches(name, [each for each in known if not known[each].hidden] if known else [])
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _said(error: click.ClickException) -> str:
    """The option parser's words in guard's style, with the call that helps."""
    text = " ".join(error.format_message().split()).rstrip(".")
    text = re.sub(r"\.? \((?:Possible \w+|Did you mean one of): ([^()?]*)\??\)$", r". Did you mean one of \1?", text)
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path.removeprefix("guard").strip() if context is not None else ""
    return f"guard: {text[:1].lower()}{text[1:]} (guard help{' ' * bool(path)}{path})"


def main(arguments: list[str]) -> int:
    """Runs the command line and gives its exit status."""
    if arguments[:1] == ["exec"]:
        from guard.sandbox import spelled_out

        arguments = ["exec", *spelled_out(arguments[1:])]
    if os.environ.get("_GUARD_COMPLETE"):
        from guard import completion

        completion.prepare(commands)
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
