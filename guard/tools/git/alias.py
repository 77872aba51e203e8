"""Aliases: what a name that is no command of git stands for."""

from __future__ import annotations

from guard.effects import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text

DEPTH = 10  # aliases of aliases


def words(text: str) -> tuple[str, ...] | None:
    """An alias's text split into words as git splits it; None where a quote is not closed."""
    found: list[str] = []
    word: list[str] = []
    quote = ""
    started = False
    at = 0
    while at < len(text):
        c = text[at]
        if quote and c == quote:
            quote = ""
        elif c in "'\"" and not quote:
            quote, started = c, True
        elif c.isspace() and not quote:
            if started:
                found.append("".join(word))
            word, started = [], False
        else:
            if c == "\\" and quote != "'" and at + 1 < len(text):
                at += 1
                c = text[at]
            word.append(c)
            started = True
        at += 1
    if started:
        found.append("".join(word))
    return None if quote else tuple(found)


def shell_text(command: str, args: tuple[Text, ...]) -> tuple[Text, tuple[Text, ...]]:
    """The text and the arguments ($0 first) that git gives to a shell for an alias that begins with "!"."""
    if not args:
        return command, (command,)
    return join(command, ' "$@"'), (command, *args)
