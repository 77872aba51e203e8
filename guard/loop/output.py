"""Output of a call: put into a file as it comes, secrets taken out, in bounded memory."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from guard.loop.credentials import forms
from guard.loop.names import OUTPUTS
from guard.redact import HIDDEN, LONGEST_KEY, clean, spans, without

KEPT_FILES, KEPT_BYTES = 400, 1 << 30  # of earlier calls
_LINE = 1 << 16  # bytes of a line without an end that wait for what follows
_TAIL = 4096  # bytes at its end that wait on; no beginning of a secret is longer
_WORD = 1 << 20  # bytes of one secret; of a longer one, all is left out up to what ends a word
_BEGIN = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END_LENGTH = 80  # bytes of the last line of a key at most
_WORD_END = re.compile(rb"[\s\"']")


class Filter:
    """Bytes in, bytes without secrets out, a line later: none is torn in two, wherever the pieces end."""

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self._known = forms(known)
        self._rest = b""
        self._key_left = 0  # bytes that a private key may still have, 0 outside of one
        self._in_word = False

    def feed(self, data: bytes) -> bytes:
        """The next piece; gives what is ready."""
        return self._ready(self._rest + data, last=False)

    def end(self) -> bytes:
        """What is left at the end."""
        return self._ready(self._rest, last=True)

    def _ready(self, data: bytes, last: bool) -> bytes:
        ready = []
        data = self._behind_word(data)
        while True:
            data = self._behind_key(data, last)
            begin = _BEGIN.search(data)
            if begin is None:
                break
            ready += [clean(data[: begin.start()], self._known), HIDDEN.encode()]
            self._key_left, data = LONGEST_KEY, data[begin.end() :]
        if self._key_left:
            self._rest = data
            return b"".join(ready)
        end = len(data) if last else data.rfind(b"\n") + 1
        ready.append(clean(data[:end], self._known) if end else b"")
        self._rest = data[end:]
        if len(self._rest) > _LINE:
            ready.append(self._cut())
        return b"".join(ready)

    def _behind_key(self, data: bytes, last: bool) -> bytes:
        """What follows the private key that the data are in; else the end of what may be its last line."""
        if not self._key_left:
            return data
        found = _END.search(data, 0, self._key_left)
        if found is not None or len(data) >= self._key_left or last:
            at = found.end() if found is not None else min(len(data), self._key_left)
            self._key_left = 0
            return data[at:]
        dropped = max(0, len(data) - _END_LENGTH)
        self._key_left -= dropped
        return data[dropped:]

    def _behind_word(self, data: bytes) -> bytes:
        """What follows a secret that was too long to keep in mind."""
        if not self._in_word:
            return data
        found = _WORD_END.search(data)
        self._in_word = found is None
        return data[found.start() :] if found is not None else b""

    def _cut(self) -> bytes:
        """What is ready of a line that has no end yet: up to what may be the beginning of a secret."""
        data = self._rest
        cut, found = len(data) - _TAIL, spans(data, self._known)
        for start, stop in found:
            if start < cut < stop:
                cut = start if len(data) - start <= _WORD else stop
                self._in_word = cut == len(data)
        self._rest = data[cut:]
        return without(data[:cut], [span for span in found if span[1] <= cut])


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
    place = f"{directory}/{OUTPUTS}"
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
