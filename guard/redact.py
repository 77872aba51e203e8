"""Takes secrets out of text that is to be kept: tokens by their shape, passwords by the name before them, and known texts.

One pass looks for where secrets begin (the keys of SHAPES, in lower case); what follows is matched at those places alone. Every
repetition in front of something that may be missing has a bound, so that no text takes more than linear time.
"""

from __future__ import annotations

import os

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

HIDDEN = "[redacted]"
SHORTEST = 8  # characters that a text has at least that is taken out wherever it stands
LONGEST_KEY = 1 << 15  # bytes of a private key whose last line is missing

# Where a word begins, also behind an escape of JSON: \n is a letter there.
_START = rb"(?:(?<!\w)|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))"
# A name that goes on, a sign that sets it, and the value: in quotes, escaped as JSON within JSON does it, or one word.
_SET = rb"[\w-]{4,60}(?:\\{0,7}[\"'])?[^\S\n]{0,9}[=:][^\S\n]{0,9}(?!(?i:null|none|true|false|str|string|bytes|int|bool)\b)"
_VALUE = (
    rb"(?:(\\{0,7}[\"'])(?!\2)(?:[^\n]{1,4000}?(?=(?<!\\)\2)|[^\s\"']{1,4000})"
    rb"|(?!\\{1,7}[\"'])(?![{\[]\s{0,9}[\"'\d{\[\]}])\\*[^\s\"';&|\\]+(?:\\+[^\s\"';&|\\]+)*)"
)
_NAMED = rb"(" + _SET + rb")" + _VALUE + rb"|(?<=--)([\w-]{4,60}[^\S\n]{1,9})(?:\"[^\"\n]{1,500}|'[^'\n]{1,500}|[^\s\"']+)"
# How many tokens something took is no secret.
_TOKEN = rb"(" + _SET + rb"(?!\d{1,15}(?:[^\w-]|\Z)))" + _VALUE + _NAMED.partition(_VALUE)[2]
_SLACK = _START + rb"xox[a-z]-[A-Za-z0-9-]{10,}"
_STRIPE = _START + rb"[a-z]{2,5}_(?:(?:live|test)_)?[A-Za-z0-9]{16,}"
_WEBHOOK = rb"([a-z.]{10,20}/(?:services|api/webhooks|bot)/?)[\w/:-]{20,}"

# Where a secret begins, in lower case -> what it is from there on. The last group, where there is one, is kept.
SHAPES: dict[bytes, bytes] = {
    b"-----begin ": rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
    **dict.fromkeys((b"akia", b"asia"), _START + rb"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    **dict.fromkeys((b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), _START + rb"gh[pousr]_[A-Za-z0-9]{16,}"),
    b"github_pat_": _START + rb"github_pat_\w{16,}",
    b"glpat-": _START + rb"glpat-[\w-]{16,}",
    b"sk-": _START + rb"sk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{16,}",
    **dict.fromkeys((b"sk_live_", b"sk_test_", b"rk_live_", b"whsec_"), _STRIPE),
    **dict.fromkeys(tuple(b"xox" + letter + b"-" for letter in (b"a", b"b", b"e", b"p", b"r", b"s")), _SLACK),
    b"aiza": _START + rb"AIza[\w-]{30,}",
    b"hf_": _START + rb"hf_[A-Za-z0-9]{30,}",
    b"npm_": _START + rb"npm_[A-Za-z0-9]{30,}",
    b"pypi-": _START + rb"pypi-[\w-]{16,}",
    b"ya29.": _START + rb"ya29\.[\w-]{20,}",
    b"age-secret-key-": _START + rb"AGE-SECRET-KEY-[0-9A-Z]{50,}",
    b"eyj": _START + rb"eyJ[\w-]{8,600}\.[\w-]{8,4000}(?:\.[\w-]*)?",
    **dict.fromkeys((b"hooks.slack.com/", b"discord.com/", b"discordapp.com/", b"api.telegram.org/"), _WEBHOOK),
    b"://": rb"(?<=[\w+.-])(://[^\s/:@\"'<>]{0,200}:)[^\s/@\"'<>]{1,200}(?=@)|(?<=[\w+.-])(://)[^\s/:@\"'<>]{16,200}(?=@)",
    b"authorization": rb"((?i:authorization)(?:\\{0,7}[\"'])?[^\S\n]{0,9}[:=][^\S\n]{0,9}(?:\\{0,7}[\"'])?"
    rb"(?:(?i:bearer|basic|token|digest)[^\S\n]{1,9})?)[^\s\"'\\]+",
    b"bearer": _START + rb"((?i:bearer)[^\S\n]{1,9})[\w.~+/=-]{8,}",
    b"token": _TOKEN,
    **dict.fromkeys((b"password", b"passwd", b"passphrase", b"secret", b"credential"), _NAMED),
    **dict.fromkeys(tuple(each + gap + b"key" for each in (b"api", b"access", b"account") for gap in (b"", b"_", b"-")), _NAMED),
    **dict.fromkeys(tuple(each + gap + b"key" for each in (b"private", b"signing") for gap in (b"", b"_", b"-")), _NAMED),
}
# Searching is fast from a letter that text seldom has, so each beginning is looked for from the first of these that it has; the
# few that have none are looked for one by one.
_RARE = b"jz2:kw/_-"
_WHOLE = tuple(sign for sign in SHAPES if not set(sign) & set(_RARE))
_SPLIT: dict[bytes, tuple[bytes, ...]] = {}  # from that letter on -> what may stand before it
for _sign in SHAPES:
    _at = next((_sign.index(letter) for letter in _RARE if letter in _sign), 0)
    if _sign not in _WHOLE:
        _SPLIT[_sign[_at:]] = (*_SPLIT.get(_sign[_at:], ()), _sign[:_at])
_BEGINNINGS = b"|".join(
    b"%c(?:%b)%b" % (rest[0], b"|".join(b"(?<=%b%c)" % (each, rest[0]) for each in before), rest[1:])
    for rest, before in _SPLIT.items()
).replace(b".", rb"\.")
_LAST_LINE = rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

# Names of variables whose values are secrets: with one of the first in them, or one of the second as a word.
_PARTS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "ACCESSKEY", "PRIVATEKEY")
_WORDS = ("KEY", "KEYS", "PASS", "PAT", "AUTH", "COOKIE")


def spans(data: bytes, known: Iterable[bytes] = ()) -> list[tuple[int, int]]:
    """Where the secrets stand, in order and apart: by their shape or name, and each of the `known` texts."""
    found = _shaped(data)
    for text in known:
        at = data.find(text)
        while at >= 0:
            found.append((at, at + len(text)))
            at = data.find(text, at + 1)
    return _merged(found)


def clean(data: bytes, known: Iterable[bytes] = ()) -> bytes:
    """The bytes with HIDDEN for each secret."""
    return without(data, spans(data, known))


def without(data: bytes, found: Iterable[tuple[int, int]]) -> bytes:
    """The bytes with HIDDEN for each of the spans."""
    pieces, at = [], 0
    for start, end in found:
        pieces += [data[at:start], HIDDEN.encode()]
        at = end
    return b"".join((*pieces, data[at:])) if pieces else data


def suspicious(text: str) -> bool:
    """False when there is surely no secret in the text, but for known ones."""
    return bool(_begun(text.encode("utf-8", "surrogatepass").lower()))


def redactor(known: Iterable[str] = ()) -> Callable[[str], str]:
    """The function that gives a text with HIDDEN for every secret in it, also for each of the `known` texts."""
    texts = tuple(one.encode("utf-8", "surrogatepass") for one in known)

    def redact(text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        cleaned = clean(data, texts)
        return text if cleaned is data else cleaned.decode("utf-8", "replace")

    return redact


def named(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they are secret, the longest first."""
    found = {value for name, value in environ.items() if len(value) >= SHORTEST and tells(name) and not _plain(name, value)}
    return tuple(sorted(found, key=len, reverse=True))


def tells(name: str) -> bool:
    """Does the name of a variable say that its value is secret?"""
    upper = name.upper()
    return any(part in upper for part in _PARTS) or not set(_WORDS).isdisjoint(upper.replace("-", "_").split("_"))


def _plain(name: str, value: str) -> bool:
    """Is it surely no secret: the path of a file that holds one, or the number of something?"""
    return (value.startswith("/") and os.path.lexists(value)) or (value.isdigit() and "PASS" not in name.upper())


def _shaped(data: bytes) -> list[tuple[int, int]]:
    found, at = [], 0
    for start, sign in _begun(data.lower()):
        match = re.compile(SHAPES[sign]).match(data, start) if start >= at else None
        if match is None:
            continue
        at = match.end() if sign != b"-----begin " else _key_end(data, match.end())
        found.append((match.end(match.lastindex) if match.lastindex else match.start(), at))
    return found


def _begun(lower: bytes) -> list[tuple[int, bytes]]:
    """Where secrets may begin, in order, and with what."""
    found = [
        (at - len(before), before + hit[0])
        for hit in re.finditer(_BEGINNINGS, lower)
        for at in (hit.start(),)
        for before in _SPLIT[hit[0]]
        if at >= len(before) and lower.startswith(before, at - len(before))
    ]
    for sign in _WHOLE:
        at = lower.find(sign)
        while at >= 0:
            found.append((at, sign))
            at = lower.find(sign, at + 1)
    found.sort()
    return found


def _key_end(data: bytes, at: int) -> int:
    """Where a private key ends whose first line ends at `at`."""
    last = re.compile(_LAST_LINE).search(data, at, at + LONGEST_KEY)
    return last.end() if last is not None else min(len(data), at + LONGEST_KEY)


def _merged(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found.sort()
    merged: list[tuple[int, int]] = []
    for start, end in found:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif start < end:
            merged.append((start, end))
    return merged
