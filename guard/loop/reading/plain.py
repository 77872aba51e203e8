"""The final text of an agent, read: status block, question, errors, signals, directives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from guard.loop.error_lines import LONGEST, error_lines, uncoloured
from guard.loop.facts import ERRORS, MESSAGE, Directive, Reply
from guard.loop.reading import block, signals
from guard.loop.reading.said import text_of
from guard.loop.similarity import normalised

VERBS = ("pause", "rescue", "mode")
_DIRECTIVE = re.compile(r"@guard::loop::(\w{1,40})(?:[ \t]+(.*))?")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_QUOTE = re.compile(r"[ \t]*>")
_MARKUP = " \t*_`"
_DIRECTIVES = 20  # that are kept
_SEARCHED = 1 << 20  # characters at the end of a text in which signals are looked for


def reply(
    text: str,
    promise: str = "",
    structured: Iterable[str] = (),
    stderr: Iterable[str] = (),
    asked: bool = False,
    form: str = "text",
    earlier_lines: int = 0,
    gaps: tuple[str, ...] = (),
) -> Reply:
    """What a final text says.

    `promise` is the line that stands for an explicit true; `structured` and `stderr` are the error texts of a failed call;
    `asked`: a tool was used that asks the user; `earlier_lines`: non-empty lines in front of this text that were not kept.
    """
    text = uncoloured(text.replace("\r\n", "\n"))
    keys, rest = block.split_any(text)
    outside = list(_outside_fences(rest.split("\n")))
    own = rest[-_SEARCHED:]
    explicit = {"true": True, "false": False}.get(keys.get("EXIT_SIGNAL", ""))
    if explicit is None and promise and any(line.strip() == promise.strip() for line in outside):
        explicit = True
    lines = [line for line in rest.split("\n") if line.strip()]
    return Reply(
        format=form,
        lines=earlier_lines + len(lines),
        message=normalised(own)[:MESSAGE],
        block=keys,
        explicit=explicit,
        claim=explicit is True or (explicit is None and keys.get("STATUS") == "complete"),
        done=signals.done(own),
        strong=signals.strong(own),
        question=asked or _asks(outside),
        testing=keys["WORK_TYPE"] in ("testing", "test_only") if "WORK_TYPE" in keys else not keys and signals.testing(own),
        hints=signals.hints(own),
        errors=_errors(structured, lines, stderr),
        gaps=gaps,
        directives=tuple(_directives(outside))[:_DIRECTIVES],
    )


def _errors(structured: Iterable[str], lines: Iterable[str], stderr: Iterable[str]) -> tuple[str, ...]:
    """The first of each kind, so that one does not crowd out the others."""
    said = [line.strip()[:LONGEST] for text in structured for line in uncoloured(text).split("\n") if line.strip()]
    shown = [line.strip()[:LONGEST] for line in map(uncoloured, stderr) if line.strip()]
    third = ERRORS // 3
    found = [*said[:third], *error_lines(lines)[:ERRORS]]
    room = max(third, ERRORS - len(found))
    return tuple(dict.fromkeys([*found[: ERRORS - min(room, len(shown))], *shown[-room:]]))[:ERRORS]


def _outside_fences(lines: Iterable[str]) -> Iterable[str]:
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence = found[1]
        else:
            yield line


def _asks(lines: Iterable[str]) -> bool:
    """Does the last line that is not empty end in a question mark?"""
    last = next((line for line in reversed([*lines]) if line.strip()), "")
    return last.rstrip(_MARKUP + "\r").endswith(("?", "？"))


def _directives(lines: Iterable[str]) -> Iterable[Directive]:
    for line in lines:
        if not _QUOTE.match(line) and (found := _DIRECTIVE.fullmatch(line.strip())):
            yield _directive(found[1], found[2] or "")


def _directive(verb: str, text: str) -> Directive:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return Directive(verb, error="what follows is not JSON")
    if not isinstance(values, dict) or not isinstance(values.get("reason"), str) or not values["reason"].strip():
        return Directive(verb, error='it has no {"reason": "..."}')
    reason = text_of(values["reason"]).strip()[:LONGEST]
    if verb not in VERBS:
        return Directive(verb, reason, f"an agent may ask for {', '.join(VERBS)} only")
    if verb == "mode" and values.get("mode", "manual") != "manual":
        return Directive(verb, reason, "an agent may set its mode to manual only")
    return Directive(verb, reason)
