"""What a command does to paths: the values that pass from the tool models to the verdict."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple


class Hole(NamedTuple):
    """A part of a word that nobody can know before the command runs.

    `code` is one of the reason codes of verdict.py that begin with "unknown-"; `what` is how the user wrote it.
    """

    code: str
    what: str


class Pattern(NamedTuple):
    """A string with holes in it. A hole may stand for any text, "/" and the empty string included."""

    pieces: tuple[str | Hole, ...]

    @property
    def holes(self) -> tuple[Hole, ...]:
        """What is not known of it."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Hole))

    @property
    def prefix(self) -> str:
        """The known text before the first hole."""
        return self.pieces[0] if self.pieces and isinstance(self.pieces[0], str) else ""

    @property
    def suffix(self) -> str:
        """The known text after the last hole."""
        return self.pieces[-1] if self.pieces and isinstance(self.pieces[-1], str) else ""

    def __str__(self) -> str:
        return "".join(piece.what if isinstance(piece, Hole) else piece for piece in self.pieces)


# A string of the command, as far as it is known. File names are decoded with "surrogateescape" throughout.
Text = str | Pattern


def unknown(code: str, what: str) -> Pattern:
    """A text of which nothing is known."""
    return Pattern((Hole(code, what),))


def join(*texts: Text) -> Text:
    """The texts one behind the other; a plain str when all of them are known."""
    pieces: list[str | Hole] = []
    known: list[str] = []
    for text in texts:
        for piece in (text,) if isinstance(text, str) else text.pieces:
            if isinstance(piece, str):
                known.append(piece)
                continue
            if before := "".join(known):
                pieces.append(before)
            known.clear()
            pieces.append(piece)
    if after := "".join(known):
        pieces.append(after)
    if not pieces:
        return ""
    if len(pieces) == 1 and isinstance(pieces[0], str):
        return pieces[0]
    return Pattern(tuple(pieces))


class At(NamedTuple):
    """Exactly this path (absolute, physical parent, last component as it is); a directory with all that is below it."""

    path: str


class Below(NamedTuple):
    """Everything below this directory, the directory itself not."""

    path: str


class Matching(NamedTuple):
    """Some path, at or below `path`, that the pattern (absolute) could name, with all below it. Which one is not known."""

    path: str
    pattern: Pattern


class Somewhere(NamedTuple):
    """Anything at or below this directory; which path is not known."""

    path: str


Target = At | Below | Matching | Somewhere

# The actions, with what they mean for a path that exists:
DELETE = "delete"  # it goes
MOVE = "move"  # it goes, and is to be had at `to`
OVERWRITE = "overwrite"  # its content is replaced as a whole, by `content` where that is known
TRUNCATE = "truncate"  # its content goes, nothing takes its place
EDIT = "edit"  # changed in place; the result is `content` where that is known, else taken to keep most of the old
REVERT = "revert"  # content that no ref holds is thrown back to a committed state
LEAVE = "leave"  # committed content leaves the tree, a branch, tag or stash still holds it
CREATE = "create"  # something new appears here, nothing was here
LINK = "link"  # a link takes the place of what was here
UNJUDGED = "unjudged"  # what is gone from the index goes from the branch, by a commit past the hook that would judge it
LIFT = "lift"  # guard's own protection is weakened
OPEN_SHELL = "open_shell"  # an interactive shell starts that nobody sees


class Cause(NamedTuple):
    """The simple command that an effect comes from, as run, and where; `unset` names variables in it that have no value."""

    command: str
    cwd: str
    unset: tuple[str, ...] = ()


class Effect(NamedTuple):
    """One thing that a command does to a target.

    `certain` is False where a condition inside the tool could not be told (an unknown test of find, an archive that
    could not be read): its victims are a matter for asking. `to` is where a moved path goes, or what a link points at.
    What comes to stand at an overwritten, edited or created path is `content`, or what is to be had at the path `source`
    (a file, or for CREATE a directory with all that is below it), as far as either is known.
    """

    action: str
    target: Target
    certain: bool = True
    cause: Cause | None = None
    to: str | None = None
    content: bytes | None = None
    source: str | None = None


class Unknown(NamedTuple):
    """A part of the analysis that could not be done, with what it could reach: a limit, a syntax error, an unknown verb."""

    code: str
    what: str
    reach: Target | None = None
    cause: Cause | None = None


class Step(NamedTuple):
    """One line of the trace that `guard explain` shows: what ran, where, and a remark."""

    cwd: str
    command: str
    note: str = ""


class Analysis(NamedTuple):
    """What a command would do.

    `output` is what it would write to standard output, `status` its exit status, None where that is not known.
    """

    effects: tuple[Effect, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    output: Text = ""
    status: int | None = None
    trace: tuple[Step, ...] = ()
