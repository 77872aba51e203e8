"""git commit past the hook that would judge it: what the commit takes from the branch is then a loss of its own.

The files are mostly gone from the disk by then, so that no other effect would hit them. Without such a way past, the hook judges.
"""

from __future__ import annotations

from guard.effects import UNJUDGED, At, Effect, Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.questions import Item
    from guard.tools.git.work import Work

TRAILER = "guard-allow"  # in lower case, as git compares the keys of trailers
SKIPPING = "SKIP"  # the variable by which pre-commit leaves hooks out, separated by commas
OURS = "guard-"  # how the names of guard's hooks begin there
NOWHERE = "/dev/null"


def note(work: Work, given: Given, tree: Mapping[str, Item]) -> None:
    """Notes what of HEAD is not in `tree`, where the commit is made so that no hook of guard's refuses that."""
    if not _passes(work, given):
        return
    head = work.head_tree
    arriving = {item: path for path, item in tree.items() if path not in head}
    for path, item in head.items():
        if path not in tree:
            to = arriving.get(item)
            target, there = At(work.path(path)), None if to is None else work.path(to)
            work.effect(Effect(UNJUDGED, target, to=there))


def _passes(work: Work, given: Given) -> bool:
    return given.on("n") or _skips(work) or _redirects(work) or _says_so(work, given)


def _skips(work: Work) -> bool:
    """Is pre-commit told to leave out one of guard's hooks, or it cannot be told which?"""
    skipped = work.call.env.get(SKIPPING, "")
    if isinstance(skipped, Pattern):
        return True
    return any(name.strip().startswith(OURS) for name in skipped.split(","))


def _redirects(work: Work) -> bool:
    """Does the command line itself give another directory of hooks, or are hooks switched off here?"""
    return work.given_here("core.hookspath") is not None or work.config("core.hookspath") == NOWHERE


def _says_so(work: Work, given: Given) -> bool:
    """Does the message, as far as it is known, say that the loss is meant?"""
    return any(TRAILER in _known(text).lower() for text in _messages(work, given))


def _messages(work: Work, given: Given) -> list[Text]:
    texts = [*given.options.values("m"), *given.options.values("trailer")]
    name = given.value("F")
    if name == "-":
        texts.append(work.call.stdin or "")
    elif isinstance(name, str):
        found = work.call.where(name)
        content = work.view.read(found) if found is not None else None
        texts.append((content or b"").decode("utf-8", "surrogateescape"))
    reused = given.value("C", "c") or ("HEAD" if given.on("amend") and not texts else None)
    if isinstance(reused, str) and (commit := work.resolve(reused)) is not None:
        answer = work.questions.answer("log", "-1", "--no-show-signature", "--format=%B", commit, "--")
        texts.append((answer[1] if answer else b"").decode("utf-8", "surrogateescape"))
    return texts


def _known(text: Text) -> str:
    return text if isinstance(text, str) else " ".join(piece for piece in text.pieces if isinstance(piece, str))
