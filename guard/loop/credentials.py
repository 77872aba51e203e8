"""Credentials: what must not be written anywhere, known by name before a run begins, and the forms that each may take in text."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote

from guard.redact import SHORTEST, named, spans, tells

FILES = (".env", ".env.local", ".env.development", ".env.production", ".env.test", ".envrc")
LARGEST = 1 << 20  # bytes of such a file
LINE = 16  # characters that a line of a secret has at least that is one by itself
MOST = 64  # secrets that are looked for
_ASSIGNED = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*[=:]\s*(.*?)\s*")
_RANDOM = re.compile(r"(?=.*\d)(?:(?=.*[a-z])(?=.*[A-Z])|(?=[0-9a-f]+\Z))[A-Za-z0-9+/=_.-]{20,}")


def known(environ: Mapping[str, str], top: str = "") -> tuple[str, ...]:
    """The secrets of an environment and of the .env files of a tree, the longest first, at most MOST.

    Of the environment: the values of variables whose names say so (KEY, TOKEN, SECRET, PASSWORD, ...). Of a .env file: those,
    passwords in URLs, and values that look as if chance had made them. None is shorter than 8 characters.
    """
    found = set(named(environ))
    for name in FILES if top else ():
        found.update(_of_file(f"{top}/{name}"))
    found.update(password for value in environ.values() if (password := _of_url(value)))
    return tuple(sorted((one for one in found if len(one) >= SHORTEST), key=lambda one: (-len(one), one)))[:MOST]


def _of_file(path: str) -> set[str]:
    """The secrets in a file of variables; none where it is a link, too large or cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            text = file.read(LARGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return set()
    values: dict[str, str] = {}
    for line in text.splitlines():
        found = _ASSIGNED.fullmatch(line)
        if found is not None and not line.lstrip().startswith("#"):
            values[found[1]] = _unquoted(found[2])
    secret = set(named(values))
    secret |= {value for name, value in values.items() if not tells(name) and _RANDOM.fullmatch(value)}
    return secret | {password for value in values.values() if (password := _of_url(value))}


def _unquoted(text: str) -> str:
    quoted = re.fullmatch(r"(['\"])(.*)\1(?:\s+#.*)?", text)
    return quoted[2] if quoted else re.sub(r"\s+#.*", "", text)


def _of_url(value: str) -> str:
    """The password in a URL, "" where there is none."""
    found = re.match(r"[A-Za-z][\w+.-]*://[^\s/:@]*:([^\s/]{8,})@[^\s@]+\Z", value)
    return found[1] if found else ""


@lru_cache(maxsize=16)
def forms(secrets: tuple[str, ...]) -> tuple[bytes, ...]:
    """The bytes to look for: each secret as it is, as JSON (twice over) and URLs quote it, in base64 at each of the three places
    where it can begin, and each long line of one that has several."""
    found: set[bytes] = set()
    for secret in secrets:
        lines = [line.strip() for line in secret.splitlines()]
        for text in (secret, *(line for line in lines if len(line) >= LINE and len(lines) > 1)):
            found.update(_forms(text))
    return tuple(sorted((one for one in found if len(one) >= SHORTEST), key=lambda one: (-len(one), one)))


def _forms(secret: str) -> set[bytes]:
    raw = os.fsencode(secret) if not _torn(secret) else secret.encode("utf-8", "surrogatepass")
    quoted = [json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]]
    quoted += [json.dumps(each)[1:-1] for each in quoted]
    texts = {each.encode("utf-8", "surrogateescape") for each in quoted} | {quote(raw, safe="").encode()}
    encoded = {_based(raw, shift, alphabet) for shift in range(3) for alphabet in (b"+/", b"-_")}
    return {raw} | texts | encoded


def _torn(text: str) -> bool:
    """Has it surrogates that are no bytes of a file name?"""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return True
    return False


def _based(raw: bytes, shift: int, alphabet: bytes) -> bytes:
    """The characters of base64 that depend on these bytes alone when `shift` other bytes (modulo 3) stand before them."""
    text = base64.b64encode(bytes(shift) + raw, altchars=alphabet).rstrip(b"=")
    first = (shift * 8 + 5) // 6
    return text[first : (shift + len(raw)) * 8 // 6]


def cleaned(text: str, secrets: tuple[str, ...] = ()) -> str:
    """A text without secrets, for whatever leaves the loop: known ones in all their forms, and what looks like one."""
    from guard.redact import clean

    data = text.encode("utf-8", "surrogatepass")
    made = clean(data, forms(secrets))
    return text if made is data else made.decode("utf-8", "replace")


def present(text: str, secrets: tuple[str, ...] = ()) -> bool:
    """Is there anything to take out of a text?"""
    return bool(spans(text.encode("utf-8", "surrogatepass"), forms(secrets)))
