"""rsync, by walking both trees: what it overwrites, deletes at the receiver and removes at the sender. It is never run.

https://download.samba.org/pub/rsync/rsync.1
"""

from __future__ import annotations

from guard.effects import DELETE, EDIT, OVERWRITE, At, Pattern, Text
from guard.overlay import DIRECTORY
from guard.paths import child, name
from guard.tools.changes import Changes
from guard.tools.options import Options, parse
from guard.tools.remote import remote
from guard.tools.rsync_options import RSYNC
from guard.tools.rsync_rules import CVS, Rules
from guard.tools.rsync_trees import Transfer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from guard.effects import Analysis
    from guard.tools.call import Call


def rsync(call: Call) -> Analysis:
    """rsync between local trees, from or to another machine."""
    changes = Changes(call)
    options = parse(call.argv[1:], RSYNC)
    if changes.refuses(options):
        return changes.result(status=1)
    operands = options.operands
    if len(operands) < 2 or options.has("n", "list-only", "V", "help", "daemon", "only-write-batch"):
        return changes.result()._replace(status=None)
    rules = _rules(call, options)
    transfer = Transfer(changes, options, rules)
    if transfer.deletes and not (transfer.recursive or options.has("d")):
        return changes.result(status=1)
    *sources, last = operands
    lists = options.values("exclude-from", "include-from")
    if any(isinstance(each, str) and each != "-" and not call.exists(each) for each in lists):
        return changes.result(status=11)
    log = options.value("log-file")
    if log is not None:
        changes.write(changes.opened(log), action=EDIT)
    if remote(last):
        _send(transfer, sources)
    elif isinstance(last, Pattern) or any(isinstance(s, Pattern) or remote(s) for s in sources):
        _receive(transfer, sources, last)
    else:
        _local(transfer, [str(source) for source in sources], str(last))
    return changes.result()._replace(status=None)


def _rules(call: Call, options: Options) -> Rules:
    rules = Rules(call.read)
    # --delete-excluded makes plain rules count at the sender only
    sides = "s" if options.has("delete-excluded") else "sr"
    separator = "\0" if options.has("0") else "\n"
    for option, value in options.given:
        if option in ("exclude", "include"):
            rules.add(value, option == "exclude", sides)
        elif option in ("exclude-from", "include-from"):
            rules.add_file(value, option == "exclude-from", sides, separator)
        elif option == "f":
            rules.add_filter(value)
        elif option == "C":
            for pattern in CVS:
                rules.add(pattern, True, sides)
        elif option == "F" and any(call.exists(f"{s}/.rsync-filter") for s in options.operands if isinstance(s, str)):
            rules.unsure = True
    if options.has("delete-excluded"):
        rules.rules = [rule._replace(sides="s") if rule.sides == "sr" else rule for rule in rules.rules]
    return rules


def _send(transfer: Transfer, sources: list[Text]) -> None:
    """To another machine: only --remove-source-files harms anything here."""
    if not transfer.moves:
        return
    changes = transfer.changes
    for source in sources:
        target = changes.opened(source)
        if not isinstance(target, At):
            if target is not None:
                changes.add(DELETE, target, certain=False)
            continue
        for path, kind in changes.view.walk(target.path):
            shown = path[len(target.path) + 1 :] or name(path)
            if kind != DIRECTORY and (path == target.path or transfer.recursive):
                excluded = transfer.rules.excludes(shown, False, "s") or _above(transfer.rules, shown)
                if not excluded:
                    changes.add(DELETE, At(path), not transfer.unsure)


def _above(rules: Rules, shown: str) -> bool:
    """True when a directory on the way is taken out."""
    parts = shown.split("/")
    return any(rules.excludes("/".join(parts[:i]), True, "s") for i in range(1, len(parts)))


def _receive(transfer: Transfer, sources: list[Text], last: Text) -> None:
    """What comes is not known: anything below the target may be overwritten, and with --delete go."""
    changes = transfer.changes
    changes.status = None
    for source in sources:
        if transfer.moves and isinstance(source, Pattern) and not remote(source):
            changes.add(DELETE, changes.call.somewhere(source), certain=False)
    single = len(sources) == 1 and not transfer.recursive and isinstance(sources[0], str) and not set(sources[0]) & set("*?[{")
    if single and isinstance(last, str):
        base = str(sources[0]).partition(":")[2].rpartition("/")[2]
        target = changes.entry(f"{last}/{base}" if changes.call.is_dir(last) else last)
        if (
            isinstance(target, At)
            and changes.kind(target) not in (None, DIRECTORY)
            and not transfer.options.has("ignore-existing")
        ):
            changes.add(OVERWRITE, target)
        return
    if isinstance(last, str) and not changes.call.exists(last):
        return
    target = changes.call.somewhere(last)
    if transfer.deletes:
        changes.add(DELETE, target, certain=False)
    elif not transfer.options.has("ignore-existing"):
        changes.add(OVERWRITE, target, certain=False)


def _local(transfer: Transfer, sources: list[str], last: str) -> None:
    """Both sides on this machine."""
    changes, view = transfer.changes, transfer.view
    target = changes.opened(last)
    if not isinstance(target, At):
        return None
    transfer.top = target.path
    top: list[tuple[str, str]] = []
    named: dict[str, list[tuple[str, str]]] = {}
    files: list[tuple[str, str, str | None]] = []
    failed = False
    for source in sources:
        slash = source.endswith(("/", "/.", "/..")) or source in (".", "..")
        entry = changes.opened(source) if slash else changes.entry(source)
        kind = changes.kind(entry)
        if kind is None or not isinstance(entry, At):
            failed = True
        elif kind == DIRECTORY and not (transfer.recursive or transfer.options.has("d")):
            continue
        elif transfer.options.has("R"):
            _relative(transfer, source, entry.path, kind, named, files)
        elif kind == DIRECTORY and slash:
            top.append((entry.path, ""))
        elif not transfer.rules.excludes(name(entry.path), kind == DIRECTORY, "s"):
            if kind == DIRECTORY:
                named.setdefault(name(entry.path), []).append((entry.path, name(entry.path)))
            else:
                files.append((entry.path, name(entry.path), kind))
    if failed:
        changes.fail(23)
        # A source that cannot be read keeps rsync from deleting anything.
        transfer.deletes = transfer.deletes and transfer.options.has("ignore-errors")
    there = view.kind(target.path)
    if len(files) == 1 and not top and not named and len(sources) == 1 and there != DIRECTORY and not last.endswith("/"):
        return transfer.file(files[0][0], target.path, files[0][2])
    if there is not None and there != DIRECTORY:
        return changes.fail(3)
    if there is None and not (top and not named and not files) and not changes.make_dirs(target.path):
        return None
    for path, shown, kind in files:
        transfer.file(path, child(target.path, shown), kind)
    if top:
        _with_named(transfer, top, named, [shown for _, shown, _ in files], target.path)
    for shown, found in named.items():
        transfer.merge(found, child(target.path, shown))
    return None


def _with_named(transfer: Transfer, top: list[tuple[str, str]], named: Iterable[str], files: list[str], target: str) -> None:
    """The contents of directories beside named sources: what has a source's name is not deleted."""
    if not transfer.deletes or not (list(named) or files):
        transfer.merge(top, target)
        return
    mine, transfer.deletes = transfer.deletes, False
    transfer.merge(top, target)
    transfer.deletes = mine
    kept = {*named, *files, *(entry for path, _ in top for entry in transfer.view.listdir(path) or ())}
    transfer.prune(target, "", kept)


def _relative(
    transfer: Transfer,
    source: str,
    path: str,
    kind: str,
    named: dict[str, list[tuple[str, str]]],
    files: list[tuple[str, str, str | None]],
) -> None:
    """With -R the name as typed is kept below the target ("/./" says from where)."""
    shown = (
        source.rpartition("/./")[2].strip("/")
        if "/./" in source
        else "/".join(p for p in source.split("/") if p not in ("", "."))
    )
    if kind == DIRECTORY:
        named.setdefault(shown, []).append((path, shown))
    else:
        files.append((path, shown, kind))
