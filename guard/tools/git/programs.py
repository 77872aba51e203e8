"""Programs of the user's that git runs on its way: hooks, editors, filters, external diffs, transports."""

from __future__ import annotations

from guard.effects import Pattern, join, unknown
from guard.paths import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from guard.effects import Text
    from guard.tools.git.repository import Globals
    from guard.tools.git.work import Work

# What is run before and behind a command, as far as the command itself does not say when.
HOOKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "am": (("applypatch-msg", "pre-applypatch"), ("post-applypatch",)),
    "checkout": ((), ("post-checkout",)),
    "cherry-pick": (("prepare-commit-msg",), ("post-commit",)),
    "gc": (("pre-auto-gc",), ()),
    "merge": (("pre-merge-commit", "prepare-commit-msg", "commit-msg"), ("post-merge",)),
    "pull": ((), ("post-merge", "post-checkout", "post-rewrite")),
    "push": (("pre-push",), ()),
    "rebase": (("pre-rebase",), ("post-checkout", "post-rewrite")),
    "revert": (("prepare-commit-msg",), ("post-commit",)),
    "switch": ((), ("post-checkout",)),
    "worktree": ((), ("post-checkout",)),
}
_PLUMBING = ("post-index-change", "reference-transaction")  # run by whatever writes the index or a ref
_REFUSING = frozenset(["applypatch-msg", "pre-rebase", "pre-push"])  # those in time to keep a command from its work
_NOT_FOUND = (126, 127)  # a hook that cannot be run here may run where the command does
_SHORT_UNCHECKED = frozenset(["am", "cherry-pick", "push", "revert"])  # where -n keeps hooks from being run, too
_SWITCHES = frozenset("true false yes no on off 1 0".split())
# Commands that look into the files of the work tree: these ask what core.fsmonitor names.
_REFRESHING = frozenset(
    """
    add checkout checkout-index cherry-pick clean commit describe diff diff-files diff-index grep ls-files merge mv pull
    read-tree rebase reset restore revert rm stash status switch update-index
    """.split()
)
_STORING = frozenset("add commit diff diff-files hash-object stage stash status update-index".split())
_WRITING = frozenset(
    """
    am apply checkout checkout-index cherry-pick merge pull read-tree rebase reset restore revert stash switch
    """.split()
)
_JOINING = frozenset("am checkout cherry-pick merge pull rebase revert stash".split())
_TALKING = frozenset("clone fetch ls-remote pull push".split())
_UNCOMPARED = frozenset("--no-ext-diff --quiet --name-only --name-status --stat --numstat --shortstat --summary --raw".split())
_EDITING = {"tag", "branch", "notes", "config", "replace", "merge", "rebase", "cherry-pick", "revert", "am", "pull"}
_RENDERED = 20  # files for each of which a filter is run with its name


def hook(work: Work, name: str, *args: Text) -> int | None:
    """Runs a hook of the repository; gives its status, 0 where there is none, None where that cannot be told."""
    path = child(_hooks(work), name)
    if work.view.kind(work.view.through(path)) != "file":
        return 0
    status = work.run((path, *args))
    return None if status in _NOT_FOUND else status


def _hooks(work: Work) -> str:
    given = work.config("core.hookspath")
    if given is None or given == "":
        return child(work.repository.common, "hooks")
    home = work.call.env.get("HOME", "")
    if given.startswith("~/") and isinstance(home, str):
        given = home + given[1:]
    return given if given.startswith("/") else child(work.top, given)


def hooks(work: Work, names: tuple[str, ...]) -> int | None:
    """Runs hooks one behind the other until one refuses in time; gives its status, None where one has a say in what happens."""
    status: int | None = 0
    for name in names:
        found = hook(work, name)
        if found and name in _REFUSING:
            return found
        status = None if found != 0 else status
    return status


def ahead(work: Work, name: str, args: tuple[Text, ...]) -> int | None:
    """Runs what git runs before it does a command's work; a status but 0 and None is that of a hook that refuses."""
    for text, arguments in (*_settings(work, name, args), *_edited(work, name, args)):
        work.run_text(join(text, ' "$@"'), text, *arguments)
    before = HOOKS.get(name, ((), ()))[0]
    words = {word for word in args if isinstance(word, str)}
    if not before or words & {"--no-verify", "--abort", "--quit"} or ("-n" in words and name in _SHORT_UNCHECKED):
        return 0
    return hooks(work, before)


def behind(work: Work, name: str) -> None:
    """Runs the hooks that git runs when a command has done its work."""
    hooks(work, (*HOOKS.get(name, ((), ()))[1], *_PLUMBING))


def _settings(work: Work, name: str, args: tuple[Text, ...]) -> Iterator[tuple[Text, tuple[Text, ...]]]:
    """The shell texts of settings that this command line gives, and of the environment, with their arguments."""
    env = work.call.env
    monitor = work.given_here("core.fsmonitor")
    if monitor and name in _REFRESHING and monitor.lower() not in _SWITCHES:
        yield monitor, ("2", unknown("unknown-output", "token"))
    external = env.get("GIT_EXTERNAL_DIFF") or work.given_here("diff.external")
    if external and ((name == "diff" and not _UNCOMPARED & set(args)) or "--ext-diff" in args):
        yield external, _difference(args)
    if name in _TALKING:
        yield from _transport(work, name, args)
    if name == "grep":
        yield from _opened(args)
    program = work.given_here("gpg.program")
    if program and ({"-S", "-s", "--gpg-sign", "--sign"} & set(args) or name.startswith("verify-")):
        yield program, ()
    if name in _STORING | _WRITING:
        yield from _filters(work, name)


def _difference(args: tuple[Text, ...]) -> tuple[Text, ...]:
    """What an external diff is given: the path, and copies of both sides in temporary files."""
    paths = [word for word in args if not (isinstance(word, str) and word.startswith("-"))]
    old, new = "/dev/null", "/dev/null"
    return (paths[-1] if paths else "file", old, "0", "100644", new, "0", "100644")


def _transport(work: Work, name: str, args: tuple[Text, ...]) -> Iterator[tuple[Text, tuple[Text, ...]]]:
    env = work.call.env
    command = env.get("GIT_SSH_COMMAND") or work.given_here("core.sshcommand")
    program = env.get("GIT_SSH")
    helper = work.given_here("credential.helper")
    names = [word for word in args if isinstance(word, str) and not word.startswith("-")]
    place = names[0] if names else "origin"
    yield from _other_end(name, args, place)
    if not (command or program or helper or place.startswith("ext::")):
        return
    url = work.config(f"remote.{place}.url") or place
    local = url.startswith(("/", ".", "file:")) or work.call.exists(url)
    remote = url.startswith("ssh:") or "+ssh:" in url or (":" in url and "://" not in url and "::" not in url and not local)
    known = url != place or local or "://" in url
    if remote or not known:
        host = url.partition("://")[2].partition("/")[0] if "://" in url else url.partition(":")[0]
        if command:
            yield command, (host, "git-upload-pack 'repository'")
        elif program:
            yield program, (host, "git-upload-pack 'repository'")
    if url.startswith("ext::"):
        yield url[5:], ()
    if url.startswith("http") and helper and helper.startswith("!"):
        yield helper[1:], ("get",)


def cloning(given: Globals, args: tuple[Text, ...]) -> None:
    """Runs what `git clone` runs here to reach the other end."""
    from guard.tools.git.repository import Repository
    from guard.tools.git.work import Work

    here = given.call.where(".")
    if here is None:
        return
    configured = [str(args[at + 1]) for at, word in enumerate(args[:-1]) if word in ("-c", "--config")]
    place = child(here, ".git")
    given = given._replace(config=(*given.config, *configured))
    work = Work(given, Repository(place, place, here, "", child(place, "index")))
    for text, arguments in _transport(work, "clone", tuple(word for word in args if word not in configured)):
        work.run_text(join(text, ' "$@"'), text, *arguments)


def _other_end(name: str, args: tuple[Text, ...], place: str) -> Iterator[tuple[Text, tuple[Text, ...]]]:
    """The program that packs at the other end, which for a local repository runs here."""
    for at, word in enumerate(args):
        for option in ("--upload-pack", "--receive-pack", "--exec", "-u"):
            if word == option and at + 1 < len(args) and (option != "-u" or name == "clone"):
                yield args[at + 1], (place,)
            elif isinstance(word, str) and word.startswith(option + "=") and option != "-u":
                yield word.partition("=")[2], (place,)


def _opened(args: tuple[Text, ...]) -> Iterator[tuple[Text, tuple[Text, ...]]]:
    """`git grep -O` opens the files that match, which are not known, with a command."""
    for word in args:
        start = word if isinstance(word, str) else word.prefix
        if start == "--":
            return
        for option in ("-O", "--open-files-in-pager="):
            if start.startswith(option) and word != option:
                text = start[len(option) :] if isinstance(word, str) else Pattern((start[len(option) :], *word.pieces[1:]))
                yield text, (unknown("unknown-output", "git grep -l"),)


def _filters(work: Work, name: str) -> Iterator[tuple[Text, tuple[Text, ...]]]:
    """Filters and merge drivers that this command line configures, where attributes name them."""
    for key in work.keys_here():
        section, _, rest = key.partition(".")
        driver, _, kind = rest.rpartition(".")
        storing = section == "filter" and kind in ("clean", "process") and name in _STORING | _JOINING
        writing = section == "filter" and kind in ("smudge", "process") and name in _WRITING
        comparing = section == "diff" and kind in ("command", "textconv") and name in ("diff", "log", "show")
        if not (storing or writing or comparing or (section == "merge" and kind == "driver" and name in _JOINING)):
            continue
        text, paths = work.given_here(key), _attributed(work, f"{section}={driver}")
        if not text or not paths:
            continue
        for path in paths[:_RENDERED] if "%" in text else paths[:1]:
            yield _rendered(text, path), ()


def _rendered(text: str, path: str) -> str:
    quoted = "'" + path.replace("'", "'\\''") + "'"
    return "%".join(part.replace("%f", quoted).replace("%P", quoted) for part in text.split("%%"))


def _attributed(work: Work, attribute: str) -> list[str]:
    """The files of the work tree to which a .gitattributes file, or the repository's own, gives an attribute."""
    from guard.tools.git.ignore import rules
    from guard.tools.git.untracked import untracked

    files = [*work.index, *(found.path for found in untracked(work, work.ignores()))]
    places = [path for path in files if path.rpartition("/")[2] == ".gitattributes"]
    sources = [(path.rpartition("/")[0], work.path(path)) for path in places]
    sources.append(("", child(work.repository.common, "info/attributes")))
    if own := work.given_here("core.attributesfile"):
        sources.append(("", own if own.startswith("/") else child(work.top, own)))
    found = []
    for directory, place in sources:
        data = work.view.read(work.view.through(place)) or b""
        for line in data.decode("utf-8", "surrogateescape").splitlines():
            pattern, *attributes = line.split() or [""]
            rule = next(iter(rules(pattern)), None) if attribute in attributes else None
            inside = directory + "/" if directory else ""
            for path in files:
                if rule is not None and path.startswith(inside):
                    here = path[len(inside) :]
                    if rule.match(here if rule.anchored else here.rpartition("/")[2]):
                        found.append(path)
    return found


# editors


def editor(work: Work) -> Text | None:
    """The editor's command as git finds it; None where none is set, and it takes its own default."""
    env = work.call.env
    dumb = env.get("TERM", "dumb") == "dumb"
    visual = None if dumb else env.get("VISUAL")
    return env.get("GIT_EDITOR") or work.config("core.editor") or visual or env.get("EDITOR")


def sequence_editor(work: Work) -> Text | None:
    """The editor for the list of a rebase."""
    return work.call.env.get("GIT_SEQUENCE_EDITOR") or work.config("sequence.editor") or editor(work)


def edit(work: Work, name: str, command: Text | None = None) -> int | None:
    """Has the editor open a file of the repository's directory; gives its status, None without an editor."""
    command = command if command is not None else editor(work)
    if command is None or command == "":
        return None
    if command in (":", "true"):
        return 0
    path = child(work.repository.dir, name)
    if isinstance(command, str) and command.replace("/", "").replace("-", "").isalnum():
        return work.run((command, path))
    return work.run_text(join(command, ' "$@"'), command, path)


def _edited(work: Work, name: str, args: tuple[Text, ...]) -> Iterator[tuple[Text, tuple[Text, ...]]]:
    """The editor, for the commands that open it on a message or a description."""
    if name not in _EDITING:
        return
    words = {word for word in args if isinstance(word, str)}
    given = any(word[:2] in ("-m", "-F", "-C") or word.startswith(("--message", "--file", "--no-edit")) for word in words)
    asked = bool(words & {"-e", "--edit", "--edit-description", "--continue", "--edit-todo"})
    if name == "tag":
        asked |= bool(words & {"-a", "-s", "--annotate", "--sign"})
    if name == "notes":
        asked |= bool(words & {"add", "edit"})
    if name in ("merge", "revert") and not words & {"--abort", "--quit", "--squash", "--no-commit", "-n"}:
        asked |= work.call.env.get("GIT_EDITOR") is not None
    if asked and (not given or "-e" in words or "--edit" in words):
        command = sequence_editor(work) if "--edit-todo" in words else editor(work)
        if command not in (None, "", ":", "true"):
            assert command is not None
            yield command, (child(work.repository.dir, "COMMIT_EDITMSG"),)
