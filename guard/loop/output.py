"""Output of a call: put into a file as it comes, secrets taken out, in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress

from guard.loop.events import SECRET
from guard.redact import HIDDEN, redactor, suspicious

DIRECTORY = "outputs"
KEPT_FILES, KEPT_BYTES = 400, 1 << 30  # of earlier calls
_BLOCK = 1 << 16  # bytes that are looked at together
_LONGEST = 4096  # bytes of a line's end that wait for what follows, where it has no end yet
_NAMES = re.compile(r"(?i)(?:^|_)(?:api_?key|key|token|secret|password|passwd|passphrase|credentials?)(?:_|$)")
_KEY = (re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"), re.compile(rb"-----END [A-Z ]*PRIVATE KEY-----"))


def secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of an environment that must not be written anywhere, by the names of their variables."""
    found = {value for name, value in environ.items() if len(value) >= SECRET and _NAMES.search(name) and not _is_path(value)}
    return tuple(sorted(found, key=len, reverse=True))


def _is_path(value: str) -> bool:
    return value.startswith("/") and os.path.exists(value)


class Filter:
    """Bytes in, bytes without secrets out, a little later."""

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self._known = [os.fsencode(one) for one in known]
        self._redact = redactor()
        self._rest = b""
        self._in_key = False

    def feed(self, data: bytes) -> bytes:
        """The next piece; gives what is ready."""
        data = self._rest + data
        end = data.rfind(b"\n") + 1
        if not end and len(data) > _BLOCK:
            end = len(data) - _LONGEST
        self._rest = data[end:]
        return b"".join(self._clean(data[at : at + _BLOCK]) for at in self._cuts(data[:end]))

    def end(self) -> bytes:
        """What is left at the end."""
        rest, self._rest = self._rest, b""
        return self._clean(rest) if rest else b""

    @staticmethod
    def _cuts(data: bytes) -> range:
        return range(0, len(data), _BLOCK) if data else range(0)

    def _clean(self, data: bytes) -> bytes:
        for one in self._known:
            data = data.replace(one, HIDDEN.encode())
        data = self._without_keys(data)
        text = data.decode("latin-1")
        return self._redact(text).encode("latin-1") if suspicious(text) else data

    def _without_keys(self, data: bytes) -> bytes:
        """Without a private key that goes over several pieces."""
        kept = b""
        while data:
            if self._in_key:
                found = _KEY[1].search(data)
                if found is None:
                    return kept
                self._in_key, data = False, data[found.end() :]
                continue
            found = _KEY[0].search(data)
            if found is None:
                return kept + data
            kept, self._in_key, data = kept + data[: found.start()] + HIDDEN.encode(), True, data[found.end() :]
        return kept


class File:
    """The file of one call. Errors of the disk are kept in `failed`: the call goes on."""

    def __init__(self, path: str, known: tuple[str, ...] = ()) -> None:
        self.path = path
        self.failed = ""
        self.size = 0
        self._filters = (Filter(known), Filter(known))
        self._fd = -1
        try:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            self.failed = str(error)

    def write(self, data: bytes, stream: int = 0) -> bytes:
        """Adds a piece of standard output (0) or error (1); gives what of it may be shown."""
        clean = self._filters[stream].feed(data)
        self._put(clean)
        return clean

    def close(self) -> bytes:
        """Ends the file; gives the rest that may be shown."""
        rest = b"".join(one.end() for one in self._filters)
        self._put(rest)
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = -1
        return rest

    def _put(self, data: bytes) -> None:
        while data and self._fd >= 0:
            try:
                written = os.write(self._fd, data)
            except OSError as error:
                self.failed = str(error)
                return
            self.size += written
            data = data[written:]


def expire(directory: str) -> None:
    """Removes the outputs of calls long ago."""
    place = f"{directory}/{DIRECTORY}"
    try:
        found = sorted(
            ((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in os.scandir(place)), reverse=True
        )
    except OSError:
        return
    total = 0
    for count, (_, size, path) in enumerate(found):
        total += size
        if count >= KEPT_FILES or (total > KEPT_BYTES and count):
            with suppress(OSError):
                os.unlink(path)
