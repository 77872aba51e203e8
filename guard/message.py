"""The words of a verdict: for agents, for people, and as JSON. Texts for agents name no way round."""

from __future__ import annotations

import os

from guard.paths import below
from guard.policy import BUILT_IN, LOCK, PRESENT
from guard.segments import plain, segments
from guard.shown import decodable, directory, place, quoted, short, visible, wrapped
from guard.suggestion import simple, suggestion
from guard.verdict import ALLOW, ASK, CODES
from guard.wording import INSTEAD, LOCKED, LOSSES, UNKNOWNS, Loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guard.decision import Request
    from guard.verdict import Reason, Verdict, Victim

__all__ = ["LOSSES", "UNKNOWNS", "render", "suggestion", "to_json"]

_SHOWN = 6  # victims that a message names
_PENDING = "has a changed [tool.guard] table that no person has accepted; until then it only adds protection."
_WHY = 3  # rules that a message for people names
_BOLD_RED, _BOLD_YELLOW, _PLAIN = "\033[1;31m", "\033[1;33m", "\033[0m"


def render(
    verdict: Verdict, request: Request, audience: str = "agent", colour: bool = False, instead: str | None = None, width: int = 0
) -> str:
    """The whole message, lines with a newline at each end; "" for allow. `instead` is a suggestion that guard has allowed.

    Sentences and lists are wrapped at `width` for people; for 0, and for agents, they are not.
    """
    if verdict.decision == ALLOW:
        return ""
    person = audience == "person"
    cwd = directory(request.cwd)
    width = width if person else 0
    opening = _opening(verdict)
    lines = [wrapped(opening + _headline(verdict, request, cwd), width)]
    lines += [wrapped(line, width, "  ") for line in _list(verdict, cwd)]
    lines += _unset(verdict, cwd)
    lines.append(f"{_rule(verdict, cwd)} Nothing was run." if person or verdict.decision != ASK else _rule(verdict, cwd))
    lines += [wrapped(line, width) for line in _why(verdict, cwd)] if person else []
    advice = instead or _advice(verdict, request, cwd)
    lines += [f"Instead: {advice}"] if advice else []
    if verdict.broken:
        lines.append(wrapped(f"The configuration is broken: {visible(verdict.broken)}.", width))
    if verdict.pending:
        lines.append(wrapped(f"{quoted(place(verdict.pending, cwd))} {_PENDING}", width))
    lines.append(_ending(verdict, request, person, cwd, width))
    text = "\n".join(line for line in lines if line) + "\n"
    return f"{_colour(verdict)}{opening.strip()}{_PLAIN} {text.removeprefix(opening)}" if colour else text


def to_json(verdict: Verdict, request: Request, instead: str | None = None) -> dict[str, Any]:
    """The answer as JSON values. Paths are relative where they are near; bytes that are no UTF-8 are shown as escapes."""
    cwd = directory(request.cwd)
    return {
        "v": 1,
        "id": request.id or None,
        "decision": verdict.decision,
        "code": verdict.code,
        "command": decodable(request.command),
        "cwd": decodable(request.cwd),
        "effects": [_effect(victim, request, cwd) for victim in verdict.victims],
        "total": verdict.total,
        "reason": _reason(verdict, request, cwd),
        "suggestion": None if instead is None else decodable(instead),
        **({"observed": verdict.observed} if verdict.observed else {}),
    }


def _reason(verdict: Verdict, request: Request, cwd: str) -> str:
    if verdict.observed:
        return f"only observed; otherwise {_reason(verdict._replace(decision=verdict.observed, observed=''), request, cwd)}"
    if verdict.decision == ALLOW:
        return _consent(verdict)
    return _headline(verdict, request, cwd).rstrip(":.")


def _consent(verdict: Verdict) -> str:
    """Why it is allowed."""
    words = {"granted": "a person has let it pass", "suspended": "a person has suspended the protection"}
    if not verdict.reasons:
        return "nothing protected would be lost"
    return words.get(verdict.code) or f"excepted: {verdict.reasons[0].what}"


def _effect(victim: Victim, request: Request, cwd: str) -> dict[str, str]:
    return {
        "action": victim.action,
        "path": decodable(place(victim.path, cwd)),
        "level": victim.level,
        "via": decodable(victim.cause.command if victim.cause is not None else request.command),
    }


def _opening(verdict: Verdict) -> str:
    if verdict.decision != ASK:
        return "guard: refused. "
    return "guard: asks first. " if CODES.get(verdict.code) == "loss" else "guard: cannot tell. "


def _colour(verdict: Verdict) -> str:
    return _BOLD_YELLOW if verdict.decision == ASK else _BOLD_RED


def _headline(verdict: Verdict, request: Request, cwd: str) -> str:
    """The first line's sentence: enough by itself."""
    reason = verdict.reasons[0]
    command = short(_command(verdict, request))
    if reason.code == "lift-guard":
        return f"{command} would weaken guard's own protection."
    if CODES.get(reason.code) != "loss":
        return _doubtful(reason, command)
    victims = _concerned(verdict, cwd)
    verbs = " or ".join(dict.fromkeys(_loss(victim).verb for victim in victims))
    kind = _kind(victims)
    least = "at least " if verdict.partial else ""
    if verdict.total == 1 and not least:
        return f"{command} would {verbs} a {kind}: {quoted(place(victims[0].path, cwd))}"
    return f"{command} would {verbs} {least}{verdict.total:,} {kind}{'s' * (verdict.total > 1)}:"


def _doubtful(reason: Reason, command: str) -> str:
    doubt = UNKNOWNS.get(reason.code, UNKNOWNS["parser"])
    sentence = doubt.sentence.replace("{what}", short(reason.what, 60) if reason.what else "it")
    if CODES.get(reason.code) != "unknown":
        return f"{command}: {sentence}."
    files = "1 protected file is" if reason.total == 1 else f"{reason.total:,} protected files are"
    return f"{command}: {sentence}, and {files} within reach."


def _command(verdict: Verdict, request: Request) -> str:
    """The part of the command that the first reason is about; as typed where there is only one."""
    if simple(request.command):
        return request.command
    cause = verdict.reasons[0].cause
    return cause.command if cause is not None and cause.command else request.command


def _concerned(verdict: Verdict, cwd: str) -> list[Victim]:
    """The victims that the decision is about, what is near and those of the most frequent kind of loss first."""
    victims = [victim for victim in verdict.victims if victim.decision == verdict.decision]
    codes = [victim.code for victim in victims]
    frequency = {code: -codes.count(code) for code in set(codes)}
    return sorted(victims, key=lambda victim: (not below(victim.path, cwd), frequency[victim.code], victim.code))


def _kind(victims: list[Victim]) -> str:
    levels = {victim.level for victim in victims}
    return "locked file" if levels == {LOCK} else "protected path" if PRESENT in levels else "protected file"


def _list(verdict: Verdict, cwd: str) -> list[str]:
    victims = _concerned(verdict, cwd)
    if not victims or (verdict.total == 1 and CODES.get(verdict.code) == "loss" and not verdict.partial):
        return []
    places = sorted((place(victim.path, cwd) for victim in victims), key=lambda name: name.startswith(("/", "../")))
    more = verdict.total - len(places[:_SHOWN])
    return ["  " + "  ".join(map(quoted, places[:_SHOWN])) + (f"  and {more:,} more" if more > 0 else "")]


def _rule(verdict: Verdict, cwd: str) -> str:
    """What may be done with the victims, or how to make the unknown known."""
    code = verdict.code
    if code == "lift-guard":
        return "Only a person may do that, at a terminal."
    victims = _concerned(verdict, cwd)
    if CODES.get(code) != "loss" or not victims:
        return UNKNOWNS.get(code, UNKNOWNS["parser"]).repair
    if verdict.decision == ASK:
        return f"There is a copy of {'it' if verdict.total == 1 else 'each of them'} in the vault."
    may = LOSSES[victims[0].code].may
    return f"{'It' if verdict.total == 1 else 'They'} {may}."


def _unset(verdict: Verdict, cwd: str) -> list[str]:
    """What the command owes its reach to, where that is a variable without a value."""
    cause = next((victim.cause for victim in _concerned(verdict, cwd) if victim.cause is not None), None)
    names = cause.unset if cause is not None else ()
    return (
        [f"{' and '.join(visible(name) for name in names[:3])} {'has' if len(names) == 1 else 'have'} no value here."]
        if names
        else []
    )


def _loss(victim: Victim) -> Loss:
    found = LOSSES[victim.code]
    return LOCKED.get(victim.action, found) if victim.code == "change-locked" else found


def _advice(verdict: Verdict, request: Request, cwd: str) -> str:
    """What to do instead where nothing can be proposed, as it fits what the loss comes from."""
    victims = _concerned(verdict, cwd)
    if not victims or CODES.get(verdict.code) != "loss":
        return ""
    advice = LOSSES[victims[0].code].instead
    cause = victims[0].cause
    words = segments(cause.command)[:1] if cause is not None else []
    tool, verb = (([plain(word.text) for word in words[0].words] if words else []) + ["", ""])[:2]
    tool = tool.rpartition("/")[2]
    if victims[0].code.startswith("leave-") or victims[0].level == LOCK:
        return advice
    if tool and tool not in _names(request.command):
        return f"run only those steps of {short(request.command, 60)} that leave what is protected alone."
    return INSTEAD.get(f"git {verb}" if tool == "git" else tool, advice)


def _names(command: str) -> list[str]:
    """Everything in a command that could be the name of a tool."""
    return "".join(" " if character in "/;|&()<>{}$`'\"\n\\,=" else character for character in command).split()


def _why(verdict: Verdict, cwd: str) -> list[str]:
    rules = dict.fromkeys(victim.rule for victim in _concerned(verdict, cwd) if victim.rule is not None)
    lines = []
    for rule in list(rules)[:_WHY]:
        where = "the built-in list" if rule.source == BUILT_IN else f"{quoted(place(rule.source, cwd))}:{rule.line}"
        lines.append(f'Why: {where} {rule.level} "{visible(rule.glob)}"')
    return lines


def _ending(verdict: Verdict, request: Request, person: bool, cwd: str, width: int) -> str:
    if person:
        return _more(verdict, request.id, width)
    name = f" [{request.id}]" if request.id else ""
    if verdict.decision == ASK:
        return f"The user decides.{name}"
    victims = _concerned(verdict, cwd)
    if CODES.get(verdict.code) != "loss" or not victims:
        return f"If it has to be done just so, stop and ask the user.{name}"
    return f"If {_wanted(verdict, victims, cwd)}, stop and ask the user. Another way to the same loss will be refused too.{name}"


def _more(verdict: Verdict, name: str, width: int) -> str:
    """What a person may do about it."""
    if not name:
        return ""
    if verdict.code == "lift-guard":
        return f"More: guard explain {name}"
    calls = [f"guard {verb} {name}" for verb in ("explain", "allow", "wrong")]
    line = "More: " + " · ".join(calls)
    return line if not 0 < width < len(line) else "More: " + "\n      ".join(calls)


def _wanted(verdict: Verdict, victims: list[Victim], cwd: str) -> str:
    """What a person would have to want, of the file or the directory that is concerned."""
    it = _concern(verdict, victims, cwd)
    return _loss(victims[0]).want.replace("{s}", "s" if it else "ve").replace("{it}", it or "they")


def _concern(verdict: Verdict, victims: list[Victim], cwd: str) -> str:
    """The only victim, or the directory below the current one or of the only rule that they all lie in; "" for several."""
    if verdict.total > len(victims) or verdict.partial:
        return ""
    if verdict.total == 1:
        return quoted(place(victims[0].path, cwd))
    top = os.path.commonpath([os.path.dirname(victim.path) for victim in victims])
    if cwd and cwd != "/" and top != cwd and below(top, cwd):
        return quoted(place(top, cwd) + "/")
    globs = {victim.rule.glob if victim.rule is not None else "" for victim in victims}
    glob = globs.pop()
    named = not globs and glob.startswith("/") and glob.endswith("/") and glob in top + "/"
    return quoted(glob.removeprefix("/")) if named else ""
