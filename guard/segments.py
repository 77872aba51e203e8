"""The simple commands in a text, as they are written: where each begins and ends, and its words with their quotes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

_OPERATORS = ("&&", "||", "|&", ";", "&", "|", "\n")
_DYNAMIC = "$`()<\\"  # outside of quotes: the words are not those that are written


class Word(NamedTuple):
    """A word as written, quotes included, and where it stands; `redirects` says that it holds a bare ">"."""

    text: str
    start: int
    end: int
    redirects: bool = False


class Segment(NamedTuple):
    """What stands between two operators ("" at the beginning and the end of the text).

    `words` are those before its redirections; none where quotes, globs and braces are not all that is to be expanded.
    """

    words: tuple[Word, ...]
    start: int
    end: int
    before: str = ""
    after: str = ""


def segments(command: str) -> list[Segment]:
    """The text taken apart at its operators; groups and loops are not looked into. None where a quote does not close."""
    found: list[Segment] = []
    words: list[Word] = []
    plain, start, before = True, 0, ""
    for kind, text, at in _pieces(command):
        if kind == "open":
            return []
        if kind == "word":
            words.append(Word(text, at, at + len(text), ">" in _bare(text)))
            plain = plain and not _dynamic(text)
            continue
        own = _before_redirections(words) if plain else ()
        found.append(Segment(own, start, at, before, text))
        words, plain, start, before = [], True, at + len(text), text
    return found


def plain(word: str) -> str:
    """What the word stands for, its quotes taken off."""
    return "".join(piece if bare else piece[1:-1] for piece, bare in _quotes(word))


def braced(word: str) -> list[str]:
    """The words that a word with {a,b} stands for, others as they are. Sequences and braces in braces are left alone."""
    bare = _bare(word)
    start, end = bare.find("{"), bare.find("}")
    inner = word[start + 1 : end]
    if not 0 <= start < end or "," not in inner or "{" in inner or "\0" in bare[start:end]:
        return [word]
    return [made for choice in inner.split(",") for made in braced(word[:start] + choice + word[end + 1 :])]


def _pieces(command: str) -> Iterator[tuple[str, str, int]]:
    """("word", text, place) and ("operator", text, place), an operator "" at the end; ("open", "", place) for a bad quote."""
    at, start = 0, -1
    while at <= len(command):
        character = command[at : at + 1]
        operator = _operator(command, at)
        if operator or character in ("", " ", "\t"):
            if start >= 0:
                yield "word", command[start:at], start
                start = -1
            if operator or not character:
                yield "operator", operator, at
            at += len(operator) or 1
            continue
        start = at if start < 0 else start
        at = command.find(character, at + 1) + 1 if character in "'\"" else at + 1
        if not at:
            yield "open", "", start
            return


def _operator(command: str, at: int) -> str:
    """The operator at a place; the ampersand of 2>&1 and &> is none."""
    found = next((operator for operator in _OPERATORS if command.startswith(operator, at)), "")
    if found == "&" and (command[at - 1 : at] == ">" or command[at + 1 : at + 2] == ">"):
        return ""
    return found


def _quotes(word: str) -> Iterator[tuple[str, bool]]:
    """The parts of a word; True for one outside of quotes."""
    at = 0
    while at < len(word):
        end = at
        while end < len(word) and word[end] not in "'\"":
            end += 1
        if end > at:
            yield word[at:end], True
        if end == len(word):
            return
        at = word.find(word[end], end + 1) + 1 or len(word)
        yield word[end:at], False


def _bare(word: str) -> str:
    """The word with what is in quotes blotted out."""
    return "".join(piece if bare else "\0" * len(piece) for piece, bare in _quotes(word))


def _dynamic(word: str) -> bool:
    bare = _bare(word)
    if bare.startswith("#") or any(character in bare for character in _DYNAMIC):
        return True
    return any(piece[0] == '"' and any(c in piece for c in "$`\\") for piece, bare in _quotes(word) if not bare)


def _before_redirections(words: list[Word]) -> tuple[Word, ...]:
    """The words up to a quiet redirection (2>&1, >/dev/null); none where others follow, or a redirection writes a file."""
    first = next((at for at, word in enumerate(words) if word.redirects), len(words))
    rest = "".join(f" {word.text}" for word in words[first:])
    for quiet in ("> /dev/null", ">/dev/null", ">&1", ">&2"):
        for stream in ("&", "1", "2", ""):
            rest = rest.replace(f" {stream}{quiet}", "")
    return () if rest else tuple(words[:first])
