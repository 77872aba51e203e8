"""A decision as JSON values and back, so that it can be explained without being made again."""

from __future__ import annotations

from guard.actor import Actor
from guard.decision import Decision, Request
from guard.effects import Analysis, At, Below, Cause, Effect, Hole, Matching, Pattern, Somewhere, Step, Unknown
from guard.policy import Rule
from guard.verdict import Reason, Verdict, Victim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guard.effects import Target, Text

_ITEM_LIMIT = 500  # effects, unknowns and steps of one decision that are kept


def encode(decision: Decision) -> dict[str, Any]:
    """The decision as JSON values: all that explaining it needs. Contents of files stay out."""
    request, analysis, verdict = decision.request, decision.analysis, decision.verdict
    return {
        "v": 1,
        "id": request.id,
        "time": decision.time,
        "layer": request.layer,
        "command": request.command,
        "cwd": request.cwd,
        "actor": list(request.actor) if request.actor is not None else None,
        "decision": verdict.decision,
        "code": verdict.code,
        "total": verdict.total,
        "broken": verdict.broken,
        "suggestion": decision.suggestion,
        "reasons": [_reason(reason) for reason in verdict.reasons],
        "victims": [_victim(victim) for victim in verdict.victims],
        "effects": [_effect(effect) for effect in analysis.effects[:_ITEM_LIMIT]],
        "unknowns": [[u.code, u.what, _target(u.reach), _cause(u.cause)] for u in analysis.unknowns[:_ITEM_LIMIT]],
        "output": _text(analysis.output) if not isinstance(analysis.output, str) else "",
        "status": analysis.status,
        "trace": [list(step) for step in analysis.trace[:_ITEM_LIMIT]],
        **({"observed": verdict.observed} if verdict.observed else {}),
    }


def decode(event: dict[str, Any]) -> Decision:
    """The decision that was encoded. Raises ValueError where the event is none."""
    try:
        actor = Actor(*event["actor"]) if event.get("actor") else None
        request = Request(event["command"], event["cwd"], event["id"], event["layer"], actor)
        reasons = tuple(Reason(code, said, what, _caused(cause), n) for code, said, what, cause, n in event.get("reasons", ()))
        verdict = Verdict(
            event["decision"], reasons, tuple(map(_harmed, event.get("victims", ()))), event["total"], event["broken"]
        )._replace(observed=event.get("observed", ""))
        analysis = Analysis(
            tuple(map(_effected, event.get("effects", ()))),
            tuple(Unknown(code, what, _aimed(reach), _caused(cause)) for code, what, reach, cause in event.get("unknowns", ())),
            _read_text(event.get("output", "")),
            event.get("status"),
            tuple(Step(*step) for step in event.get("trace", ())),
        )
        return Decision(request, analysis, verdict, event["time"], event.get("suggestion"))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"not a decision: {error}") from error


def _cause(cause: Cause | None) -> list[Any] | None:
    return None if cause is None else [cause.command, cause.cwd, *cause.unset]


def _caused(row: list[Any] | None) -> Cause | None:
    return None if row is None else Cause(row[0], row[1], tuple(row[2:]))


def _reason(reason: Reason) -> list[Any]:
    return [reason.code, reason.decision, reason.what, _cause(reason.cause), reason.total]


def _victim(victim: Victim) -> list[Any]:
    return [*victim[:5], _cause(victim.cause), None if victim.rule is None else list(victim.rule)]


def _harmed(row: list[Any]) -> Victim:
    path, level, action, code, decision, cause, rule = row
    return Victim(path, level, action, code, decision, _caused(cause), None if rule is None else Rule(*rule))


def _effect(effect: Effect) -> list[Any]:
    return [effect.action, _target(effect.target), effect.certain, _cause(effect.cause), effect.to, effect.source]


def _effected(row: list[Any]) -> Effect:
    action, target, certain, cause, to, source = row
    aimed = _aimed(target)
    if aimed is None:
        raise TypeError("an effect without target")
    return Effect(action, aimed, certain, _caused(cause), to, None, source)


def _target(target: Target | None) -> list[Any] | None:
    if target is None:
        return None
    name = type(target).__name__.lower()
    return [name, target.path, _text(target.pattern)] if isinstance(target, Matching) else [name, target.path]


def _aimed(row: list[Any] | None) -> Target | None:
    if row is None:
        return None
    if row[0] == "matching":
        pattern = _read_text(row[2])
        return Matching(row[1], pattern if isinstance(pattern, Pattern) else Pattern((pattern,)))
    return At(row[1]) if row[0] == "at" else Below(row[1]) if row[0] == "below" else Somewhere(row[1])


def _text(text: Text) -> Any:
    """A text as JSON: a string, or a list in which a hole is a pair."""
    return text if isinstance(text, str) else [list(p) if isinstance(p, Hole) else p for p in text.pieces]


def _read_text(value: Any) -> Text:
    if isinstance(value, str):
        return value
    return Pattern(tuple(Hole(*piece) if isinstance(piece, list) else piece for piece in value))
