"""The words of a verdict: for agents, for people, and as JSON. Texts for agents name no way round."""

from __future__ import annotations

from guard.policy import BUILT_IN, LOCK, PRESENT
from guard.shown import decodable, directory, place, quoted, short, visible
from guard.suggestion import simple, suggestion
from guard.verdict import ALLOW, ASK, CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from guard.decision import Request
    from guard.verdict import Reason, Verdict, Victim
else:
    from guard.record import NamedTuple

__all__ = ["LOSSES", "UNKNOWNS", "render", "suggestion", "to_json"]

_SHOWN = 6  # victims that a message names
_WHY = 3  # rules that a message for people names
_BOLD_RED, _BOLD_YELLOW, _PLAIN = "\033[1;31m", "\033[1;33m", "\033[0m"


class Loss(NamedTuple):
    """The words for one kind of loss: what the command would do, what the file may do, what to do instead, what a
    person would have to want."""

    verb: str
    may: str
    instead: str
    want: str


_REMOVE = "name only paths that are not protected."
_EDIT = "change only the lines that have to change, or append with >>."
LOSSES = {
    "delete-kept": Loss("delete", "may be edited, not deleted", _REMOVE, "go"),
    "move-kept": Loss("move away", "may be moved among protected paths, not out of them", "copy, and leave the original.", "go"),
    "overwrite-kept": Loss("overwrite", "may be edited, not replaced as a whole", _EDIT, "be replaced"),
    "truncate-kept": Loss("empty", "may be edited, not emptied", _EDIT, "be emptied"),
    "empty-kept": Loss("empty", "may be edited, not emptied", _EDIT, "be emptied"),
    "replace-kept": Loss("overwrite", "may be edited, but less than half of the old text would be left", _EDIT, "be replaced"),
    "revert-kept": Loss(
        "throw away uncommitted changes of", "may be edited, not thrown back", "commit them, or leave them out.", "be thrown back"
    ),
    "link-kept": Loss("put a link in the place of", "may be edited, not replaced", "give the link another name.", "be replaced"),
    "leave-kept": Loss("take from the tree", "must stay in the tree", "work on a branch that has what is protected.", "leave"),
    "delete-present": Loss("delete", "must stay", _REMOVE, "go"),
    "move-present": Loss("move away", "must stay where it is", _REMOVE, "go"),
    "replace-present": Loss("overwrite", "must stay as it is", _REMOVE, "be replaced"),
    "change-locked": Loss("change", "may not be changed", "leave what is locked alone.", "change"),
    "create-locked": Loss("create", "may not be made", "leave what is locked alone.", "be made"),
}


class Doubt(NamedTuple):
    """The words for one thing that cannot be told: the sentence ({what}: as the user wrote it) and the repair."""

    sentence: str
    repair: str


_SPLIT = "Split it into simpler commands that name their files."
UNKNOWNS = {
    "unknown-variable": Doubt("{what} has no value that is known here", "Write the path out in full."),
    "unknown-output": Doubt("what {what} will print is not known", "Run that part first, then write the path out in full."),
    "unknown-input": Doubt("what comes in from {what} is not known", "Run that part first, then name the files."),
    "unknown-argument": Doubt("which files {what} works on is not known", "Name the files."),
    "unknown-command": Doubt("what {what} runs is not known", "Name the command."),
    "unknown-directory": Doubt("where {what} works is not known", "Name the directory."),
    "unknown-name": Doubt("what {what} stands for in a directory that is not known cannot be told", "Name the files."),
    "unknown-test": Doubt("on which files the conditions of {what} hold is not known", "Name the files."),
    "too-deep": Doubt("it nests too deeply to be read", _SPLIT),
    "too-long": Doubt("it is too long to be read", _SPLIT),
    "too-many-steps": Doubt("it takes too many steps to be followed", _SPLIT),
    "out-of-time": Doubt("it could not be followed in time", _SPLIT),
    "syntax": Doubt("no shell would read it: {what}", "Mend the syntax."),
    "parser": Doubt("guard's own reader failed on it, which is guard's fault and says nothing about the command", _SPLIT),
    "model-failed": Doubt("guard's own model failed ({what}), which is guard's fault and says nothing about the command", _SPLIT),
}


def render(verdict: Verdict, request: Request, audience: str = "agent", colour: bool = False, instead: str | None = None) -> str:
    """The whole message, lines with a newline at each end; "" for allow. `instead` is a suggestion that guard has allowed."""
    if verdict.decision == ALLOW:
        return ""
    person = audience == "person"
    cwd = directory(request.cwd)
    lines = [_opening(verdict, colour) + _headline(verdict, request, cwd)]
    lines += _list(verdict, cwd)
    lines += _unset(verdict)
    lines.append(f"{_rule(verdict)} Nothing was run." if person or verdict.decision != ASK else _rule(verdict))
    lines += _why(verdict, cwd) if person else []
    lines += [f"Instead: {instead or _advice(verdict)}"] if instead or _advice(verdict) else []
    if verdict.broken:
        lines.append(f"The configuration is broken, so what it says is not in force: {visible(verdict.broken)}")
    lines.append(_ending(verdict, request, person))
    return "\n".join(line for line in lines if line) + "\n"


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
    }


def _reason(verdict: Verdict, request: Request, cwd: str) -> str:
    if verdict.decision == ALLOW:
        return f"excepted: {verdict.reasons[0].what}" if verdict.reasons else "nothing protected would be lost"
    return _headline(verdict, request, cwd).rstrip(":.")


def _effect(victim: Victim, request: Request, cwd: str) -> dict[str, str]:
    return {
        "action": victim.action,
        "path": decodable(place(victim.path, cwd)),
        "level": victim.level,
        "via": decodable(victim.cause.command if victim.cause is not None else request.command),
    }


def _opening(verdict: Verdict, colour: bool) -> str:
    words = "guard: cannot tell. " if verdict.decision == ASK else "guard: refused. "
    if not colour:
        return words
    return f"{_BOLD_YELLOW if verdict.decision == ASK else _BOLD_RED}{words.strip()}{_PLAIN} "


def _headline(verdict: Verdict, request: Request, cwd: str) -> str:
    """The first line's sentence: enough by itself."""
    reason = verdict.reasons[0]
    command = short(_command(verdict, request))
    if reason.code == "lift-guard":
        return f"{command} would weaken guard's own protection."
    if CODES.get(reason.code) != "loss":
        return _doubtful(reason, command)
    victims = _concerned(verdict)
    verbs = " or ".join(dict.fromkeys(LOSSES[victim.code].verb for victim in victims))
    kind = _kind(victims)
    if verdict.total == 1:
        return f"{command} would {verbs} a {kind}: {quoted(place(victims[0].path, cwd))}"
    return f"{command} would {verbs} {verdict.total:,} {kind}s:"


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


def _concerned(verdict: Verdict) -> list[Victim]:
    """The victims that the decision is about, those of the most frequent kind of loss first."""
    victims = [victim for victim in verdict.victims if victim.decision == verdict.decision]
    codes = [victim.code for victim in victims]
    frequency = {code: -codes.count(code) for code in set(codes)}
    return sorted(victims, key=lambda victim: (frequency[victim.code], victim.code))


def _kind(victims: list[Victim]) -> str:
    levels = {victim.level for victim in victims}
    return "locked file" if levels == {LOCK} else "protected path" if PRESENT in levels else "protected file"


def _list(verdict: Verdict, cwd: str) -> list[str]:
    victims = _concerned(verdict)
    if not victims or (verdict.total == 1 and CODES.get(verdict.code) == "loss"):
        return []
    places = sorted((place(victim.path, cwd) for victim in victims), key=lambda name: name.startswith(("/", "../")))
    more = verdict.total - len(places[:_SHOWN])
    return ["  " + "  ".join(map(quoted, places[:_SHOWN])) + (f"  and {more:,} more" if more > 0 else "")]


def _rule(verdict: Verdict) -> str:
    """What may be done with the victims, or how to make the unknown known."""
    code = verdict.code
    if code == "lift-guard":
        return "Only a person may do that, at a terminal."
    victims = _concerned(verdict)
    if CODES.get(code) != "loss" or not victims:
        return UNKNOWNS.get(code, UNKNOWNS["parser"]).repair
    may = LOSSES[victims[0].code].may
    return f"{'It' if verdict.total == 1 else 'They'} {may}."


def _unset(verdict: Verdict) -> list[str]:
    """What the command owes its reach to, where that is a variable without a value."""
    cause = next((victim.cause for victim in _concerned(verdict) if victim.cause is not None), None)
    names = cause.unset if cause is not None else ()
    return (
        [f"{' and '.join(visible(name) for name in names[:3])} {'has' if len(names) == 1 else 'have'} no value here."]
        if names
        else []
    )


def _advice(verdict: Verdict) -> str:
    victims = _concerned(verdict)
    return LOSSES[victims[0].code].instead if victims and CODES.get(verdict.code) == "loss" else ""


def _why(verdict: Verdict, cwd: str) -> list[str]:
    rules = dict.fromkeys(victim.rule for victim in _concerned(verdict) if victim.rule is not None)
    lines = []
    for rule in list(rules)[:_WHY]:
        where = "the built-in list" if rule.source == BUILT_IN else f"{quoted(place(rule.source, cwd))}:{rule.line}"
        lines.append(f'Why: {where} {rule.level} "{visible(rule.glob)}"')
    return lines


def _ending(verdict: Verdict, request: Request, person: bool) -> str:
    if person:
        return f"More: guard explain {request.id}" if request.id else ""
    name = f" [{request.id}]" if request.id else ""
    if verdict.decision == ASK:
        return f"The user decides.{name}"
    victims = _concerned(verdict)
    if CODES.get(verdict.code) != "loss" or not victims:
        return f"If it has to be done just so, stop and ask the user.{name}"
    return f"If {_wanted(verdict, victims)}, stop and ask the user. Another way to the same loss will be refused too.{name}"


def _wanted(verdict: Verdict, victims: list[Victim]) -> str:
    want = LOSSES[victims[0].code].want
    globs = {victim.rule.glob for victim in victims if victim.rule is not None}
    if len(globs) == 1 and all(victim.rule is not None for victim in victims):
        return f"{visible(globs.pop().removeprefix('/'))} really has to {want}"
    return f"it really has to {want}" if verdict.total == 1 else f"they really have to {want}"
