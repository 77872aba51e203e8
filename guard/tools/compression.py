"""Compression: data packed and unpacked in memory, as far as Python's own libraries go."""

from __future__ import annotations

LIMIT = 1 << 20  # bytes before and after


def unpacked(data: bytes, lenient: bool = False) -> bytes | None:
    """The content of gzip, bzip2, xz and lzma data; None where it is another kind, damaged, or too large.

    `lenient`: data of no such kind stays as it is.
    """
    pieces: list[bytes] = []
    size = 0
    if not data:
        return None
    while data:
        opener = _opener(data)
        if opener is None:
            return data if lenient and not pieces else b"".join(pieces) if pieces else None
        try:
            found = opener.decompress(data, LIMIT + 1)  # type: ignore[attr-defined]
        except Exception:  # each library has errors of its own
            return None
        size += len(found)
        if size > LIMIT or not opener.eof:  # type: ignore[attr-defined]
            return None
        pieces.append(found)
        data = opener.unused_data  # type: ignore[attr-defined]
    return b"".join(pieces)


def _opener(data: bytes) -> object | None:
    if data.startswith(b"\x1f\x8b"):
        import zlib

        return zlib.decompressobj(31)
    try:
        if data.startswith(b"BZh"):
            import bz2

            return bz2.BZ2Decompressor()
        if data.startswith((b"\xfd7zXZ\0", b"\x5d\0")):
            import lzma

            return lzma.LZMADecompressor()
    except ImportError:
        pass
    return None


def packed(data: bytes, suffix: str) -> bytes | None:
    """Data as the tool with this suffix may pack it; None where that is not known. Another version may choose other bytes."""
    if len(data) > LIMIT:
        return None
    try:
        if suffix in (".gz", ".tgz"):
            import zlib

            packer = zlib.compressobj(1, zlib.DEFLATED, 31)
            return packer.compress(data) + packer.flush()
        if suffix in (".bz2", ".tbz2"):
            import bz2

            return bz2.compress(data)
        if suffix in (".xz", ".txz"):
            import lzma

            return lzma.compress(data, preset=0)
    except ImportError:
        pass
    return None
