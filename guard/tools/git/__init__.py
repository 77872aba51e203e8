"""git: what each of its commands does to files, to the index and to the refs."""

from __future__ import annotations

from guard.effects import Analysis, Pattern, Unknown, unknown
from guard.tools.call import analysis
from guard.tools.git.alias import DEPTH, shell_text, words
from guard.tools.git.questions import Questions
from guard.tools.git.repository import find, globals_of
from guard.tools.git.work import Work
from guard.world import OutOfBudget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.effects import Effect, Hole, Text
    from guard.tools.call import Call
    from guard.tools.git.repository import Globals

    Command = Callable[[Work, tuple[Text, ...]], int | None]

# The commands that can change the work tree, the index or the refs: name -> "module.function". They need a work tree.
COMMANDS = {
    "add": "record.add",
    "am": "patching.am",
    "apply": "patching.apply",
    "bisect": "history.bisect",
    "branch": "refs.branch",
    "checkout": "checkout.checkout",
    "checkout-index": "restore.checkout_index",
    "cherry-pick": "join.cherry_pick",
    "clean": "clean.clean",
    "commit": "record.commit",
    "filter-branch": "history.filter_branch",
    "filter-repo": "history.filter_repo",
    "fetch": "refs.fetch",
    "merge": "join.merge",
    "mv": "remove.rename",
    "pull": "rebase.pull",
    "read-tree": "reset.read_tree",
    "rebase": "rebase.rebase",
    "reset": "reset.reset",
    "restore": "restore.restore",
    "revert": "join.revert",
    "rm": "remove.remove",
    "sparse-checkout": "sparse.sparse_checkout",
    "stage": "record.add",
    "stash": "stash.stash",
    "submodule": "worktree.submodule",
    "switch": "checkout.switch",
    "symbolic-ref": "refs.symbolic_ref",
    "tag": "refs.tag",
    "update-index": "record.update_index",
    "update-ref": "refs.update_ref",
    "worktree": "worktree.worktree",
}
NEWER = {"init": "create.init", "init-db": "create.init", "clone": "create.clone", "config": "record.config"}
# Those that throw files away, so that not knowing where they run is worth a question.
DESTRUCTIVE = frozenset(
    """
    am apply checkout checkout-index cherry-pick clean filter-branch merge mv pull read-tree rebase reset restore
    revert rm sparse-checkout stash submodule switch worktree
    """.split()
)
# All other commands of git: no file of the work tree is lost by them. A name of git's is never taken for an alias.
HARMLESS = frozenset(
    """
    annotate archimport archive attach blame bugreport bundle cat-file check-attr check-ignore check-mailmap
    check-ref-format cherry citool column commit-graph commit-tree count-objects credential credential-cache
    credential-store cvsexportcommit cvsimport cvsserver daemon describe diagnose diff diff-files diff-index
    diff-pairs diff-tree difftool fast-export fast-import fetch-pack fmt-merge-msg for-each-ref for-each-repo
    format-patch fsck fsck-objects fsmonitor--daemon gc get-tar-commit-id gitk grep gui hash-object help hook
    http-backend http-fetch http-push imap-send index-pack instaweb interpret-trailers last-modified lfs log
    ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge-base merge-file merge-index merge-octopus
    merge-one-file merge-ours merge-recursive merge-resolve merge-subtree merge-tree mergetool mktag mktree
    multi-pack-index name-rev notes p4 pack-objects pack-redundant pack-refs patch-id prune prune-packed push
    quiltimport range-diff receive-pack reflog refs remote repack replace replay request-pull rerere rev-list
    rev-parse send-email send-pack shell shortlog show show-branch show-index show-ref status stripspace
    submodule--helper svn unpack-file unpack-objects update-server-info upload-archive upload-pack var verify-commit
    verify-pack verify-tag version whatchanged write-tree
    """.split()
)
# These look into every file that the index may be wrong about, and note what they find.
_REFRESHING = frozenset("status diff add commit stash checkout switch restore merge rebase describe update-index".split())
# These may write their output into a file.
_WRITING = frozenset(
    """
    archive bundle config diff diff-files diff-index diff-tree format-patch interpret-trailers log merge-file range-diff
    reflog shortlog show stash whatchanged
    """.split()
)
# The commands besides those that change something during which git may run what the user has configured.
_RUNNING = frozenset(
    """
    config describe diff diff-files diff-index gc grep hash-object log ls-files ls-remote notes push replace show status
    verify-commit verify-tag
    """.split()
)
# What asks for help and does nothing, as the only argument.
_HELP = {"-h", "--help"}
# These print what can be told, if nothing else is to be said about them.
_SHOWING = frozenset(
    """
    branch cat-file check-ignore config diff format-patch for-each-ref ls-files ls-tree merge-base rev-list rev-parse show
    show-ref stash status symbolic-ref
    """.split()
)


def git(call: Call) -> Analysis:
    """What a call of git does. Never raises but OutOfBudget."""
    try:
        return _run(globals_of(call), 0)
    except OutOfBudget:
        raise
    except (RecursionError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, AssertionError) as error:
        reach = call.somewhere("/")
        return analysis([Unknown("unknown-command", f"git: {type(error).__name__}", reach)], unknown("unknown-output", "git"))


def _run(given: Globals, depth: int) -> Analysis:
    if given.harmless or not given.rest:
        return Analysis(output=unknown("unknown-output", "git"), status=0 if given.harmless else 1)
    name, args = given.rest[0], given.rest[1:]
    if isinstance(name, Pattern):
        return _unnamed(given, name.holes[0])
    if args and args[0] in _HELP and name not in ("filter-branch",) and len(args) == 1:
        return Analysis(output=unknown("unknown-output", f"git {name}"))
    if name == "-" or name.startswith("-"):
        return Analysis(status=129)
    if name not in COMMANDS and name not in HARMLESS and name not in NEWER:
        return _alias(given, name, args, depth)
    return _command(given, name, args)


def _unnamed(given: Globals, hole: Hole) -> Analysis:
    """A subcommand that is not known may be any."""
    repository = find(given)
    reach = given.call.somewhere(repository.top if repository is not None and repository.top is not None else ".")
    return analysis([Unknown(hole.code, hole.what, reach)], unknown(hole.code, hole.what))


def _command(given: Globals, name: str, args: tuple[Text, ...]) -> Analysis:
    repository = find(given)
    if repository is None and isinstance(given.call.cwd, Pattern) and name in DESTRUCTIVE:
        hole = given.call.cwd.holes[0]
        return analysis([Unknown(hole.code, hole.what, given.call.somewhere("."))])
    if name in ("init", "init-db", "clone"):
        return _create(given, name, args)
    if repository is None:
        return _outside(given, name, args)
    work = Work(given, repository)
    if name in _WRITING:
        from guard.tools.git.output import written

        work.found += written(given.call, name, args)
    if name == "difftool":
        return _difftool(work, args)
    refused = _ahead(work, name, args)
    status: int | None = None
    if refused:
        status = refused
    elif name in COMMANDS and repository.top is not None:
        status = _load(COMMANDS[name])(work, args)
    elif name == "config":
        status = _load(NEWER["config"])(work, args)
    elif name in COMMANDS and name not in ("fetch", "branch", "tag", "update-ref", "symbolic-ref", "worktree", "config"):
        return Analysis(status=128)
    if not status:
        _behind(work, name)
    if refused is None:
        status = None
    if work.questions.failed and name in DESTRUCTIVE:
        work.unknown("unknown-output", f"git {name}")
        status = None
    if work.state.new or work.hole is not None:  # nothing is known of what a clone brings
        status = None
    if name in _REFRESHING and not (name == "diff" and _of_commits(work, args)):
        work.state = work.state._replace(fresh=True)
    if name not in HARMLESS or name in _REFRESHING:
        work.save()
    silent = not work.found and not work.ran and (status is None or name == "branch")
    if name in _SHOWING and repository.top is not None and silent:
        from guard.tools.git.show import output

        return output(work, name, args)
    quiet = name not in HARMLESS and name not in ("stash", "tag", "worktree", "submodule", "config", "branch")
    shown = "" if quiet and any(word in ("-q", "--quiet") for word in args) else unknown("unknown-output", f"git {name}")
    return analysis(work.found, shown, status)


def _of_commits(work: Work, args: tuple[Text, ...]) -> bool:
    """Whether diff compares two commits, so that it does not look at the work tree."""
    words = [str(word) for word in args if not str(word).startswith("-")]
    return any(".." in word for word in words[:1]) or (len(words) > 1 and all(work.resolve(word) for word in words[:2]))


def _ahead(work: Work, name: str, args: tuple[Text, ...]) -> int | None:
    """What git runs of the user's before a command; a status that is not 0 keeps it from its work."""
    if work.repository.top is None or (name not in COMMANDS and name not in _RUNNING):
        return 0
    from guard.tools.git.programs import ahead

    return ahead(work, name, args)


def _behind(work: Work, name: str) -> None:
    """What git runs of the user's behind a command."""
    if work.repository.top is not None and name in COMMANDS:
        from guard.tools.git.programs import behind

        behind(work, name)


def _load(where: str) -> Command:
    module, _, function = where.partition(".")
    found: Command = getattr(__import__(f"guard.tools.git.{module}", fromlist=[function]), function)
    return found


def _create(given: Globals, name: str, args: tuple[Text, ...]) -> Analysis:
    from guard.tools.git import create

    if name != "clone":
        return create.init(given, args)
    from guard.tools.git.programs import cloning

    cloning(given, args)
    return create.clone(given, args)


def _outside(given: Globals, name: str, args: tuple[Text, ...]) -> Analysis:
    """Without a repository nearly everything fails; apply works as patch does."""
    if name == "apply":
        from guard.tools.git.patching import outside

        return outside(given.call, args)
    if isinstance(given.call.cwd, Pattern):
        return Analysis(output=unknown("unknown-output", f"git {name}"))
    shown = unknown("unknown-output", f"git {name}") if name in ("config", "diff", "help", "version", "ls-remote", "grep") else ""
    found: list[Effect] = []
    if name == "config":
        from guard.tools.git.output import written

        found = written(given.call, name, args)
    return Analysis(tuple(found), output=shown, status=None if shown else 128)


def _difftool(work: Work, args: tuple[Text, ...]) -> Analysis:
    """difftool -x runs a command; what it gets is not known."""
    for at, word in enumerate(args):
        text = args[at + 1] if word in ("-x", "--extcmd") and at + 1 < len(args) else None
        if isinstance(word, str) and word.startswith("--extcmd="):
            text = word.partition("=")[2]
        if text is not None:
            work.run_text(text)
    return analysis(work.found, unknown("unknown-output", "git difftool"))


def _alias(given: Globals, name: str, args: tuple[Text, ...], depth: int) -> Analysis:
    """A program git-NAME on the search path, or an alias; anything else fails."""
    call = given.call
    program = _program(call, f"git-{name}")
    if program is not None:
        return call.run((program, *args), cwd=call.cwd)._replace(effects=(), unknowns=())
    text = _aliased(given, name)
    if isinstance(text, Unknown):
        return analysis([text], unknown("unknown-output", f"git {name}"))
    if text is None or depth >= DEPTH:
        return Analysis(status=1)
    if text.startswith("!"):
        repository = find(given)
        command, rest = shell_text(text[1:], args)
        cwd = repository.top if repository is not None and repository.top is not None else call.cwd
        return call.shell(command, rest, cwd=cwd)._replace(effects=(), unknowns=())
    parts = words(text)
    if not parts:
        return Analysis(status=128)
    inner = globals_of(call._replace(argv=("git", *parts, *args)))
    config = (*given.config, *inner.config)
    return _run(
        inner._replace(config=config, git_dir=inner.git_dir or given.git_dir, work_tree=inner.work_tree or given.work_tree),
        depth + 1,
    )


def _program(call: Call, name: str) -> str | None:
    path = call.env.get("PATH")
    for place in path.split(":") if isinstance(path, str) else ():
        if place.startswith("/") and call.view.exists(f"{place.rstrip('/')}/{name}"):
            return f"{place.rstrip('/')}/{name}"
    return None


def _aliased(given: Globals, name: str) -> str | Unknown | None:
    """An alias's text: from -c, from earlier in the command line, or from the configuration."""
    key = f"alias.{name.lower()}"
    for setting in given.config[::-1]:
        known, _, value = setting.partition("=")
        if known.lower() in (key, f"alias.{name}.command".lower()):
            return value
    repository = find(given)
    directory = given.call.where(".")
    if repository is not None:
        work = Work(given, repository)
        text, failed = work.config(key), work.questions.failed
    elif directory is not None:
        questions = Questions(given.call.view.world, given.call.env, directory, "/dev/null")
        text, failed = questions.config().get(key, (None,))[-1], questions.failed
    else:
        return None
    return Unknown("unknown-command", f"git {name}", given.call.somewhere("/")) if text is None and failed else text
