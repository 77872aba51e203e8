"""The pattern languages of the tools, shell globs and POSIX regular expressions, as Python's."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\t-\r ",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "print": " -~",
    "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f",
    "xdigit": "0-9A-Fa-f",
}
_CONTROLS = {"n": "\n", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "r": "\r"}
_WORDS = {"w": r"\w", "W": r"\W", "s": r"\s", "S": r"\S", "b": r"\b", "B": r"\B", "<": r"\b(?=\w)", ">": r"\b(?<=\w)"}
_INTERVAL = re.compile(r"(\d*)(,?)(\d*)")
_PATIENCE = 10**9  # steps that matching one text may take at worst


class PatternError(Exception):
    """The pattern is invalid, or of a kind whose meaning is not known for sure."""


class Regex(NamedTuple):
    """A translated expression; `stars` counts its unbounded repetitions, `groups` its groups."""

    search: re.Pattern[str]
    stars: int
    groups: int

    def affordable(self, longest: int) -> bool:
        """True when a text of this length cannot keep the matcher busy for long."""
        return self.stars < 2 or longest ** min(self.stars, 3) <= _PATIENCE


def glob(pattern: str, fold: bool = False, pathname: bool = False) -> re.Pattern[str]:
    """fnmatch(3) without FNM_PERIOD: use with fullmatch. With `pathname`, wildcards do not match "/"."""
    anything, one = ("[^/]*", "[^/]") if pathname else (".*", ".")
    out: list[str] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        at += 1
        if letter == "*":
            if not out or out[-1] != anything:
                out.append(anything)
        elif letter == "?":
            out.append(one)
        elif letter == "[" and (found := _bracket(pattern, at, "!^", glob=True)):
            out.append(found[0])
            at = found[1]
        elif letter == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        else:
            out.append(re.escape(letter))
    try:
        return re.compile("".join(out), re.S | (re.I if fold else 0))
    except (re.error, OverflowError, RecursionError):
        return re.compile(re.escape(pattern), re.S)


def literal_end(pattern: str) -> str:
    """The known text at the end of a glob: what every match ends with."""
    return pattern if not set(pattern) & set("*?[\\") else re.split(r"[*?\]\\]", pattern)[-1] if "\\" not in pattern else ""


def posix(pattern: str, extended: bool = False, fold: bool = False, lines: bool = False, escapes: bool = False) -> Regex:
    """A POSIX expression with GNU's additions; raises PatternError.

    `lines` makes ^ and $ match at each newline (sed's M); `escapes` reads \\n, \\t and their kin, as sed and awk do.
    """
    return _Translator(pattern, extended, lines, escapes).compiled(fold)


class _Translator:
    """Walks over an expression once, with what has to be known of the groups around."""

    def __init__(self, pattern: str, extended: bool, lines: bool, escapes: bool) -> None:
        self.pattern = pattern
        self.extended = extended
        self.escapes = escapes
        self.start, self.end = (r"(?m:^)", r"(?=\n|\Z)") if lines else (r"\A", r"\Z")
        self.out: list[str] = []
        self.stars = self.groups = 0
        self.open: list[list[int]] = []  # per open group: 1 once it holds a repetition, then where its alternatives begin
        self.atom = ""  # "" none yet, "one", "busy" (a group that may match in several ways), "repeated"

    def compiled(self, fold: bool) -> Regex:
        at = 0
        while at < len(self.pattern):
            at = self.step(at)
        if self.open:
            raise PatternError("unmatched (")
        try:
            return Regex(re.compile("".join(self.out), re.S | (re.I if fold else 0)), self.stars, self.groups)
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternError(str(error)) from None

    def step(self, at: int) -> int:
        letter = self.pattern[at]
        following = self.pattern[at + 1 : at + 2]
        if letter == "\\":
            if not following:
                raise PatternError("trailing backslash")
            return self.escaped(following, at + 2)
        if letter == "[":
            found = _bracket(self.pattern, at + 1, "^", glob=False, escapes=self.escapes)
            if found is None:
                raise PatternError("unmatched [")
            return self.add(found[0], found[1])
        if letter == ".":
            return self.add(".", at + 1)
        if letter == "*":
            return self.repeat("*", at + 1)
        if letter == "^" and (self.extended or self.first()):
            return self.anchor(self.start, at + 1)
        if letter == "$" and (self.extended or self.last(at + 1)):
            return self.anchor(self.end, at + 1)
        if self.extended and letter in "+?{()|":
            return self.operator(letter, at + 1)
        return self.add(re.escape(letter), at + 1)

    def escaped(self, letter: str, at: int) -> int:
        if not self.extended and letter in "+?{()|":
            return self.operator(letter, at)
        if letter in _WORDS:
            return self.add(_WORDS[letter], at) if letter in "wWsS" else self.anchor(_WORDS[letter], at)
        if letter == "`" or letter == "'":
            return self.anchor(r"\A" if letter == "`" else r"\Z", at)
        if letter.isdigit():
            if not 0 < int(letter) <= self.groups:
                raise PatternError("invalid back reference")
            return self.add(f"(?:\\{letter})", at)
        if self.escapes and letter in _CONTROLS:
            return self.add(re.escape(_CONTROLS[letter]), at)
        if letter.isalpha() and letter.isascii():
            raise PatternError(f"stray \\{letter}")
        return self.add(re.escape(letter), at)

    def operator(self, letter: str, at: int) -> int:
        if letter == "(":
            self.out.append("(")
            self.groups += 1
            self.open.append([0, len(self.out)])
            self.atom = ""
        elif letter == ")":
            if not self.open:
                if self.extended:
                    return self.add(r"\)", at)
                raise PatternError("unmatched )")
            repeated, *begins = self.open.pop()
            starts = [self.out[begin] if begin < len(self.out) else "" for begin in begins]
            distinct = len(set(starts)) == len(starts) and all(len(s.lstrip("\\")) == 1 and s != "." for s in starts)
            plain = len(begins) == 1 or distinct
            self.out.append(")")
            self.atom = "busy" if repeated or not plain else "one"
            self.mark(bool(repeated) or not plain)
        elif letter == "|":
            self.out.append("|")
            if self.open:
                self.open[-1].append(len(self.out))
            self.atom = ""
        elif letter == "{":
            return self.interval(at)
        else:
            return self.repeat(letter, at)
        return at

    def interval(self, at: int) -> int:
        closing = "}" if self.extended else "\\}"
        matched = _INTERVAL.match(self.pattern, at)
        assert matched is not None
        low, comma, high = matched.groups()
        if not (low or high) or not self.pattern.startswith(closing, matched.end()) or self.atom == "":
            if self.extended:
                return self.add(r"\{", at)
            raise PatternError("invalid interval")
        if max(int(low or 0), int(high or 0)) > 255:
            raise PatternError("interval too large")
        return self.repeat(f"{{{low or 0}{comma}{high}}}", matched.end() + len(closing))

    def repeat(self, sign: str, at: int) -> int:
        if self.atom == "":
            if self.extended:
                raise PatternError("nothing to repeat")
            return self.add(re.escape(sign[0]), at)
        if self.atom == "repeated" or (self.atom == "busy" and sign != "?"):
            raise PatternError("a repetition of repetitions may never end")
        self.out.append(sign)
        self.stars += sign in "*+" or sign.endswith(",}")
        self.mark(True)
        self.atom = "repeated"
        return at

    def add(self, piece: str, at: int) -> int:
        self.out.append(piece)
        self.atom = "one"
        return at

    def anchor(self, piece: str, at: int) -> int:
        self.out.append(piece)
        self.atom = "" if not self.extended else "one"
        return at

    def mark(self, busy: bool) -> None:
        if self.open and busy:
            self.open[-1][0] = 1

    def first(self) -> bool:
        return not self.out or self.out[-1] in ("(", "|") or self.out[-1] == "\\\n"

    def last(self, at: int) -> bool:
        return at >= len(self.pattern) or self.pattern.startswith(("\\)", "\\|"), at)


def _bracket(pattern: str, at: int, negators: str, glob: bool, escapes: bool = False) -> tuple[str, int] | None:
    """The bracket expression whose inside begins here, translated, and the position behind it; None where it does not end."""
    out = "["
    if pattern[at : at + 1] and pattern[at] in negators:
        out += "^"
        at += 1
    begin = at
    while at < len(pattern):
        letter = pattern[at]
        if letter == "]" and at > begin:
            return (out + "]" if out not in ("[", "[^") else r"[^\s\S]"), at + 1
        named = re.compile(r"\[([:.=])(.+?)\1\]").match(pattern, at) if letter == "[" else None
        if named:
            out += _CLASSES.get(named[2], "") if named[1] == ":" else re.escape(named[2][:1])
            at = named.end()
            continue
        if letter == "\\" and glob:
            at += 1
            letter = pattern[at : at + 1]
        elif letter == "\\" and escapes and pattern[at + 1 : at + 2] in _CONTROLS:
            at += 1
            letter = _CONTROLS[pattern[at]]
        elif letter == "-" and at > begin and pattern[at + 1 : at + 2] not in ("]", ""):
            out += "-"
            at += 1
            continue
        out += re.escape(letter) if letter not in "&~|" else "\\" + letter
        at += 1
    return None


def perl(pattern: str, fold: bool = False) -> Regex:
    """A Perl-like expression that Python reads alike, without repetitions of repetitions; raises PatternError."""
    stars = 0
    groups: list[bool] = []
    bare = re.sub(r"\\.", "x", re.sub(r"\[\^?\]?(?:\\.|[^\]\\])*\]", "x", pattern), flags=re.S)
    for at, letter in enumerate(bare):
        following = bare[at + 1 : at + 2]
        if letter == "(":
            groups.append(False)
        elif letter == "|" and groups:
            groups[-1] = True
        elif letter in "*+{":
            stars += 1
            groups = [True] * len(groups)
        elif letter == ")" and groups and groups.pop() and following and following in "*+{":
            raise PatternError("a repetition of repetitions may never end")
    try:
        found = re.compile(pattern, re.I if fold else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None
    return Regex(found, stars, found.groups)
