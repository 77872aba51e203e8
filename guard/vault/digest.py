"""SHA-256 for little data: without `hashlib`, which takes 3 ms to load what it has of OpenSSL."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # since Python 3.12
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:  # a Python without modules of its own for this
            from hashlib import sha256

__all__ = ["sha256"]
