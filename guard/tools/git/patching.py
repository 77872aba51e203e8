"""git apply and am: patches."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import CREATE, DELETE, EDIT, MOVE, OVERWRITE, Analysis, At, Effect, Pattern, unknown
from guard.tools.git.index import Entry
from guard.tools.git.join import back, staged_nothing, unclear
from guard.tools.git.options import read, table
from guard.tools.git.questions import Item
from guard.tools.git.state import MADE
from guard.tools.git.wildmatch import matcher
from guard.tools.git.work import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.call import Call
    from guard.tools.git.options import Given
    from guard.tools.git.work import Work
    from guard.tools.patch import Change


AM = table(
    flags="3bikqsucm",
    values="pC",
    optional="S",
    long="""
    interactive 3way quiet signoff utf8 keep keep-non-patch message-id keep-cr scissors quoted-cr= whitespace= ignore-
    space-change ignore-whitespace directory= exclude= include= patch-format= reject resolvemsg= continue resolved skip
    abort quit show-current-patch? committer-date-is-author-date ignore-date rerere-autoupdate gpg-sign? empty= allow-
    empty
    """,
)
APPLY = table(
    flags="vqzNR3",
    values="pC",
    long="""
    exclude= include= no-add stat numstat summary check index cached intent-to-add unsafe-paths apply 3way/3 ours theirs
    union build-fake-ancestor= whitespace= ignore-space-change ignore-whitespace reverse/R unidiff-zero reject allow-
    overlap verbose quiet inaccurate-eof recount directory= allow-empty
    """,
)
_LOOKING = ("stat", "numstat", "summary", "check")
_MAIL = re.compile(r"^From [0-9a-f]{40} .*\n", re.MULTILINE)


def apply(work: Work, args: tuple[Text, ...]) -> int | None:
    """git apply: a patch is applied to the work tree."""
    given = read(args, APPLY)
    if given.on(*_LOOKING) and not given.on("apply", "index"):
        return None
    return _patch(work, given, given.operands, given.on("R"))


def am(work: Work, args: tuple[Text, ...]) -> int | None:
    """git am: patches from mails are applied and committed."""
    given = read(args, AM)
    if given.on("abort"):
        return back(work, "--merge", "rebase-apply")
    if given.on("continue", "resolved", "skip", "quit", "show-current-patch"):
        return None
    if not staged_nothing(work):
        return 128
    return _patch(work, given, given.operands, False, mails=True)


def _patch(work: Work, given: Given, files: tuple[Text, ...], reverse: bool, mails: bool = False) -> int | None:
    strip = given.value("p")
    levels = int(strip) if isinstance(strip, str) and strip.isdigit() else 1
    status: int | None = 0
    for name in files or ("-",):
        text: Text | None
        if name == "-":
            text = work.call.stdin
        else:
            data = work.call.read(name)
            if data is None and isinstance(name, str) and not work.call.exists(name):
                return 128
            text = unknown("unknown-input", str(name)) if data is None else data.decode("utf-8", "surrogateescape")
        if text is None:
            continue
        if isinstance(text, Pattern):
            return unclear(work)
        for part in _MAIL.split(text)[1:] if mails and _MAIL.search(text) else (text,):
            found = _patched(work, given, part, levels, reverse, mails)
            if found:
                return found
            if mails and found == 0:
                work.move_head(work.make({p: e.item for p, e in work.index.items()}, (work.head,) if work.head else ()))
            status = None if found is None else status
    return status


def _patched(work: Work, given: Given, text: str, strip: int, reverse: bool, mails: bool) -> int | None:
    """All files of a patch, or none where one of them does not fit. Gives 0 done, 1 refused, None perhaps either."""
    from guard.tools.patch import ADD, COPY, MODIFY, REMOVE, RENAME, applied, changes

    directory = given.value("directory")
    top = f"{directory}/" if directory else "" if "diff --git " in text else f"{work.prefix}/" if work.prefix else ""
    loose = given.on("reject", "3", "C", "ignore-whitespace", "ignore-space-change", "recount", "unidiff-zero")
    staging = mails or given.on("index", "cached", "3")
    effects = []
    entries = dict(work.index)
    known = True
    for change in changes(text, strip, reverse):
        path, to = top + change.path, None if change.to is None else top + change.to
        if not _meant(work, given, to or path):
            continue
        if staging and not given.on("cached") and _differs(work, change, path, mails):
            return 1
        old = _old(work, path, given.on("cached")) if change.action != ADD else b""
        content = applied(change, old) if old is not None and change.hunks is not None else None
        if not loose and (old is None or (content is None and change.hunks is not None)):
            return 1
        if change.action == REMOVE and content and not loose:
            return 1
        if old is None and work.blob(path) is None:
            continue
        goal, new = At(work.path(to or path)), work.view.kind(work.path(to or path)) is None
        if not loose and not new and not given.on("cached") and change.action in (ADD, COPY, RENAME):
            return 1
        target = At(work.path(path))
        sure = content is not None
        known = known and sure
        if change.action == REMOVE:
            effects.append(Effect(DELETE, target, sure))
        elif change.action == MODIFY:
            effects.append(Effect(OVERWRITE if sure else EDIT, target, content=content))
        elif change.action == RENAME and to is not None:
            effects += [Effect(MOVE, target, sure, to=goal.path), Effect(EDIT, goal, content=content)]
        elif change.action in (ADD, COPY) and new:
            effects.append(Effect(CREATE, goal, content=content))
        mode = entries[path].item.mode if path in entries else "100644"
        if change.action in (REMOVE, RENAME):
            entries.pop(path, None)
        if change.action != REMOVE:
            blob = f"{MADE}patch:{path}" if content is None else digest(content)
            entries[to or path] = Entry(Item(mode, blob))
    for effect in () if given.on("cached") else effects:
        work.effect(effect)
    work.flush()
    work.after()
    if staging:
        work.stage(entries)
    return 0 if known and effects else None


def _differs(work: Work, change: Change, path: str, refreshed: bool) -> bool:
    """Whether the file is not as the index has it, or is not known to be."""
    from guard.tools.patch import ADD

    return change.action != ADD and (path not in work.index or work.dirty(path) or (not refreshed and work.stale(path)))


def _old(work: Work, path: str, cached: bool) -> bytes | None:
    """What a patch changes: the file in the work tree, or (`cached`) in the index."""
    if not cached:
        return work.view.read(work.path(path))
    entry = work.index.get(path)
    return work.content(path, entry.item.blob) if entry is not None else None


def _meant(work: Work, given: Given, path: str) -> bool:
    """Whether the path is below the current directory, and what the first --include or --exclude that matches it says."""
    if work.prefix and not path.startswith(work.prefix + "/"):
        return False
    rules = [(name, str(value)) for name, value in given.options.given if name in ("include", "exclude")]
    for name, pattern in rules:
        if matcher(pattern, False)(path):
            return name == "include"
    return not any(name == "include" for name, _ in rules)


def outside(call: Call, args: tuple[Text, ...]) -> Analysis:
    """git apply where there is no repository: as patch, in the current directory."""
    given = read(args, APPLY)
    if given.on(*_LOOKING) and not given.on("apply", "index"):
        return Analysis()
    strip = f"-p{given.value('p') or 1}"
    options = (strip, "-R") if given.on("R") else (strip,)
    for name in given.operands or ("-",):
        call.run(("patch", *options, "-i", name), stdin=call.stdin)
    return Analysis()
