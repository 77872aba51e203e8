"""Takes secrets out of text that is to be kept: tokens by their shape, passwords by what stands in front of them."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

HIDDEN = "[redacted]"

# Every repetition in front of something that may be missing has a bound, so that no text takes more than linear time.
SHAPES = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{16,}",
    r"\bgithub_pat_\w{16,}",
    r"\bglpat-[\w-]{16,}",
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\bxox[a-z]-[A-Za-z0-9-]{10,}",
    r"\bAIza[\w-]{30,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bpypi-[\w-]{16,}",
    r"\beyJ[\w-]{8,400}\.[\w-]{8,400}(?:\.[\w-]*)?",
)
# The part that is kept stands in the group.
WITH_NAME = (
    r"(authorization\s{0,9}[:=]\s{0,9}(?:(?:bearer|basic|token|digest)\s+)?)[^\s\"']+",
    r"(\bbearer\s{1,9})[\w.~+/=-]{8,}",
    r"((?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)[\w-]{0,40}[\"']?\s{0,9}[=:]\s{0,9})"
    r"(?:\"[^\"]{0,500}\"|'[^']{0,500}'|[^\s\"';&|]+)",
    r"(--(?:password|passwd|passphrase|secret|token|api-?key)\s{1,9})(?:\"[^\"]{0,500}\"|'[^']{0,500}'|[^\s\"']+)",
    r"(\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]{0,200}:)[^\s/@]{1,200}(?=@)",
    r"(\b[a-z][a-z0-9+.-]{0,20}://)[^\s/:@]{16,200}(?=@)",
)


_SHAPE = "(?s)" + "|".join(SHAPES)
_NAMED = "(?i)" + "|".join(WITH_NAME)

# Every secret above has one of these in it, in lower case, whether or not the text is quoted as in JSON.
SIGNS = (
    "private key",
    "akia",
    "asia",
    "gh",
    "github_pat",
    "glpat",
    "sk-",
    "xox",
    "aiza",
    "npm_",
    "pypi-",
    "eyj",
    "auth",
    "bearer",
    "passw",
    "passphrase",
    "secret",
    "token",
    "key",
    "://",
)


def suspicious(text: str) -> bool:
    """False when there is surely no secret in the text: a cheap question, since most texts hold none."""
    lower = text.lower()
    return any(sign in lower for sign in SIGNS)


def redactor() -> Callable[[str], str]:
    """The function that gives a text with every secret in it replaced by HIDDEN."""

    def redact(text: str) -> str:
        if not suspicious(text):
            return text
        return re.sub(_NAMED, lambda found: found[found.lastindex or 0] + HIDDEN, re.sub(_SHAPE, HIDDEN, text))

    return redact
