"""Plain texts: simple commands of literal words, read without a parser into the same tree that the parser would give."""

from __future__ import annotations

from guard import expressions as re
from guard.shell import quick
from guard.shell.nodes import Literal, Pipeline, Redirect, Sequence, Simple, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.shell.nodes import Command

# Words that mean something else at the start of a command, or that the parser treats in its own way.
RESERVED = frozenset(
    """if then else elif fi case esac for select while until do done in function time coproc declare export local readonly typeset
    alias""".split()
)
_REDIRECT = r"(\d?)(>&|>>|&>>|&>|>|<)[ \t]*(.*)"


def parse(text: str) -> Sequence | None:
    """The tree of a text that holds nothing but literal words, ; & | and redirections to /dev/null; None for any other."""
    items: list[tuple[Command, str]] = []
    stages: list[Command] = []
    words: list[Word] = []
    redirects: list[Redirect] = []
    start = end = 0
    for kind, token, at in quick.tokens(text):
        if kind == "fixed" and (words or not _special(token)):
            start = start if words or redirects else at
            words.append(_word(token))
            end = at + len(token)
        elif kind == "redirect":
            start = start if words or redirects else at
            redirects.append(_redirect(token))
            end = at + len(token)
        elif kind == "operator" and words and token != "|&":
            stages.append(Simple((), tuple(words), tuple(redirects), text[start:end]))
            words, redirects = [], []
            if token != "|":
                items.append((_pipeline(stages), ";" if token == "\n" else token))
                stages = []
        elif not (kind in ("comment", "end") or (kind == "operator" and token == "\n" and not stages and not redirects)):
            return None
    if words:
        stages.append(Simple((), tuple(words), tuple(redirects), text[start:end]))
        items.append((_pipeline(stages), ";"))
    elif stages or redirects or not items or items[-1][1] != ";":
        return None
    return Sequence(tuple(items))


def _special(token: str) -> bool:
    """True for a word that is more than a word at the start of a command."""
    return token in RESERVED or token in ("!", "{}") or re.match(quick.ASSIGNMENT, token) is not None


def _pipeline(stages: list[Command]) -> Command:
    return stages[0] if len(stages) == 1 else Pipeline(tuple(stages))


def _word(token: str) -> Word:
    text = quick.unquoted(token)
    return Word(token, (Literal(text, text != token),))


def _redirect(token: str) -> Redirect:
    found = re.match(_REDIRECT, token)
    assert found is not None
    return Redirect(found[2], found[1], _word(found[3]))
