"""What words of a final text say: that it is done, that there is nothing to do, that help is needed."""

from __future__ import annotations

import re

DONE, NO_WORK = "done", "no_work"
_DONE = re.compile(
    r"\b(?:all tasks complete|project complete|ready for review|completed?|finished|done)\b|任务完成", re.IGNORECASE
)
_NO_WORK = re.compile(r"\b(?:nothing to do|no changes|already implemented|up to date)\b", re.IGNORECASE)
_STRONG = re.compile(
    r"综上所述|整体来看|项目已具备|验收|部署|发布|交付"
    r"|\b(?:in summary|acceptance criteria|deploy\w*|releas(?:e|es|ed|ing)|hand(?:s|ed|ing)?[ -]?over)\b",
    re.IGNORECASE,
)
_TESTING = re.compile(r"\b(?:npm test|bats|pytest|jest|cargo test|go test|running tests)\b", re.IGNORECASE)
HINTS = (
    "出错了", "稍后再试", "无法继续", "需要人工帮助", "try again later", "cannot continue", "need human help",
)  # fmt: skip
_WORDS = re.compile(r"[\w'’]+|[未没]")
_NEGATED = re.compile(r"(?:not|never|cannot|\w*n['’]t|.*[未没].*)", re.IGNORECASE)
_REACH = 3  # words in front of a signal in which a negation takes it back
_NEAR = 120  # characters in which these words are looked for


def done(text: str) -> tuple[str, ...]:
    """Which kinds of done signals a text has: done, no_work."""
    kinds = ((DONE, _DONE), (NO_WORK, _NO_WORK))
    return tuple(kind for kind, pattern in kinds if any(not _is_negated(text, found.start()) for found in pattern.finditer(text)))


def _is_negated(text: str, at: int) -> bool:
    """Does a negation stand within three words in front, or "un-" right in front?"""
    before = text[max(0, at - _NEAR) : at]
    if before[-3:].lower() == "un-":
        return True
    return any(_NEGATED.fullmatch(word) for word in _WORDS.findall(before)[-_REACH:])


def strong(text: str) -> bool:
    """Does a text sum up, or speak of acceptance, deployment, release or hand-over?"""
    return _STRONG.search(text) is not None


def testing(text: str) -> bool:
    """Does a text speak of running tests?"""
    return _TESTING.search(text) is not None


def hints(text: str) -> tuple[str, ...]:
    """The phrases in a text that ask for help or for time."""
    lower = text.lower()
    return tuple(hint for hint in HINTS if hint in lower)
