"""git clean: untracked files go."""

from __future__ import annotations

from guard.effects import DELETE, At, Effect, Pattern
from guard.tools.git.options import read, table
from guard.tools.git.untracked import untracked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.work import Work

CLEAN = table(flags="qnfidxX", values="e", long="quiet/q dry-run/n force/f interactive/i exclude=/e")


def clean(work: Work, args: tuple[Text, ...]) -> int | None:
    """Deletes what is neither tracked nor (without -x) ignored, with -X only what is ignored."""
    given = read(args, CLEAN)
    if given.on("n") or (given.on("x") and given.on("X")):
        return 0 if given.on("n") else 128
    forced = _times(given)
    interactive = given.on("i")
    if not forced and not interactive and work.flag("clean.requireforce", True):
        return 128
    if interactive and not _confirmed(work):
        return 0
    excluded = given.options.values("e")
    known = [value for value in excluded if isinstance(value, str)]
    ignores = work.ignoring(known, not given.on("x"))
    spec = work.pathspec(given.operands if given.operands or not work.prefix else (".",))
    if spec.outside:
        return 128
    deep = given.on("d") or bool(given.operands)
    certain = work.certain and not interactive and len(known) == len(excluded)
    together = (given.on("X"),) if deep and certain and not given.operands and not work.prefix else None
    for found in untracked(work, ignores, forced > 1, together):
        if not found.nested and (deep or found.shallow) and found.ignored == given.on("X") and spec.match(found.path):
            work.certain = certain and spec.sure(found.path)
            work.effect(Effect(DELETE, At(work.path(found.path))))
            work.put(found.path, None)
    work.certain = certain
    return None


def _times(given: Given) -> int:
    """How often -f is given, counted from the last --no-force."""
    names = [name for name, _ in given.options.given if name in ("f", "no-f")][::-1]
    return names.index("no-f") if "no-f" in names else len(names)


def _confirmed(work: Work) -> bool:
    """Whether the input of -i may choose to clean."""
    stdin = work.call.stdin
    if stdin is None:
        return False
    return isinstance(stdin, Pattern) or any(line.strip()[:1].lower() in ("1", "c", "4", "a", "y") for line in stdin.splitlines())
