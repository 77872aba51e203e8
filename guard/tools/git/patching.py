"""git apply and am: patches."""

from __future__ import annotations

from guard.effects import CREATE, DELETE, EDIT, MOVE, OVERWRITE, Analysis, At, Effect, Pattern, unknown
from guard.tools.git.join import back, staged_nothing, unclear
from guard.tools.git.options import read, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.call import Call
    from guard.tools.git.options import Given
    from guard.tools.git.work import Work


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
_LOOKING = ("stat", "numstat", "summary", "check", "cached")


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
    return _patch(work, given, given.operands, False)


def _patch(work: Work, given: Given, files: tuple[Text, ...], reverse: bool) -> int | None:
    strip = given.value("p")
    levels = int(strip) if isinstance(strip, str) and strip.isdigit() else 1
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
        _patched(work, given, text, levels, reverse)
    return None


def _patched(work: Work, given: Given, text: str, strip: int, reverse: bool) -> None:
    """All files of a patch, or none where one of them does not fit."""
    from guard.tools.patch import ADD, COPY, MODIFY, REMOVE, RENAME, applied, changes

    directory = given.value("directory")
    top = f"{directory}/" if directory else "" if "diff --git " in text else f"{work.prefix}/" if work.prefix else ""
    loose = given.on(
        "reject", "3", "C", "ignore-whitespace", "ignore-space-change", "recount", "unidiff-zero", "include", "exclude"
    )
    effects = []
    for change in changes(text, strip, reverse):
        path, to = top + change.path, None if change.to is None else work.path(top + change.to)
        old = work.view.read(work.path(path)) if change.action != ADD else b""
        content = applied(change, old) if old is not None and change.hunks is not None else None
        if not loose and (old is None or (content is None and change.hunks is not None)):
            return
        if old is None and work.blob(path) is None:
            continue
        target = At(work.path(path))
        sure = content is not None
        if change.action == REMOVE:
            effects.append(Effect(DELETE, target, sure))
        elif change.action == MODIFY:
            effects.append(Effect(OVERWRITE if sure else EDIT, target, content=content))
        elif change.action == RENAME and to is not None:
            effects += [Effect(MOVE, target, sure, to=to), Effect(EDIT, At(to), content=content)]
        elif change.action in (ADD, COPY) and work.view.kind(to or target.path) is None:
            effects.append(Effect(CREATE, At(to or target.path), content=content))
    for effect in effects:
        work.effect(effect)


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
