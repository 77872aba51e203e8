"""Answers: what a tool reads from its standard input when it asks before each step."""

from __future__ import annotations

from guard.effects import Hole, Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text

YES, NO, MAYBE = "yes", "no", "maybe"
MANY = 20  # as many lines that all say yes are taken to be enough


def always(answer: str) -> Answers:
    """Answers that are all the same."""
    answers = Answers("")
    answers._rest = answer
    return answers


def _endless_no(text: Pattern) -> bool:
    """True for what `yes n` writes: one line that is no yes, for ever."""
    if len(text.pieces) != 2 or not isinstance(text.pieces[1], Hole) or text.pieces[1].what != "yes":
        return False
    given = set(text.prefix.splitlines())
    return len(given) == 1 and given.pop()[:1] not in ("y", "Y")


class Answers:
    """The lines of a standard input, one for each question; a line that begins with y or Y is a yes, the end of the input a no.

    Where nothing is known of the input, somebody at a terminal may answer either way. A text with a hole in it (`yes |`) is taken
    to go on as it began when that is a yes, and when it is `yes` that repeats a no.
    """

    def __init__(self, stdin: Text | None) -> None:
        self._known = isinstance(stdin, str)
        text = stdin if isinstance(stdin, str) else stdin.prefix if isinstance(stdin, Pattern) else ""
        self._lines = text.splitlines()[::-1]
        self._rest = NO if self._known else MAYBE
        if self._lines and not self._known and all(line[:1] in ("y", "Y") for line in self._lines):
            self._rest = YES
        elif isinstance(stdin, Pattern) and _endless_no(stdin):
            self._rest = NO

    def next(self) -> str:
        """The answer to the next question: YES, NO or MAYBE."""
        if self._lines:
            return YES if self._lines.pop()[:1] in ("y", "Y") else NO
        return self._rest

    @property
    def steady(self) -> str:
        """The one answer to very many questions whose order is not known: MAYBE unless all that is known agrees."""
        given = {YES if line[:1] in ("y", "Y") else NO for line in self._lines}
        if YES in given and len(self._lines) >= MANY:
            return given.pop() if len(given) == 1 else MAYBE
        given.add(self._rest)
        return given.pop() if len(given) == 1 else MAYBE

    def take(self, questions: int) -> str:
        """The answer to all questions about one tree: a no to the first ends them, MAYBE when later ones differ."""
        first = self.next()
        if first == NO or questions == 1:
            return first
        if first == YES and not self._lines and self._rest == NO:
            return NO  # yes to entering the tree, no to each thing in it
        given = {first, *(self.next() for _ in range(min(questions - 1, len(self._lines) + 1)))}
        if len(given) == 1:
            return first
        self._lines, self._rest = [], MAYBE  # which questions were asked is not known any more
        return MAYBE
