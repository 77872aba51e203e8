"""What is kept of an iteration that has been judged: for the files and views, and as a conclusion in the journal."""

from __future__ import annotations

from guard.loop import alerts, completion, detectors, limits
from guard.loop.decision import Decision
from guard.loop.detectors import Detector
from guard.loop.events import Judged
from guard.loop.outcome import Seen
from guard.loop.state import Iteration, Last, Memory


def last(
    decision: Decision,
    memory: Memory,
    iteration: Iteration,
    seen: Seen,
    parts: dict[str, int],
    matched: tuple[Detector, ...],
    t: int,
) -> Last:
    """The iteration as the files and views show it."""
    state, facts = decision.state, seen.measured
    return Last(
        n=iteration.n,
        run=iteration.run,
        outcome=seen.outcome,
        progress=seen.progress,
        held=seen.held,
        claim=seen.claim,
        explicit=seen.explicit,
        refused=seen.against if seen.claim and not seen.accepted else (),
        score=sum(parts.values()),
        parts=parts,
        counters=dict(memory.counts),
        thresholds=detectors.thresholds(state.config, seen),
        matched=tuple(row.cause for row in matched),
        risk=alerts.risk(memory, seen, state.config),
        confidence=completion.confidence(seen),
        vote=seen.vote.total,
        signals=seen.vote.points,
        decision=decision.name,
        reason=decision.reason,
        completed=len(seen.completed),
        paths=facts.files.paths,
        tests=facts.tests,
        errors=facts.reply.errors,
        lines=facts.reply.lines,
        refusals=facts.protected.refusals,
        violations=facts.protected.violations,
        gaps=facts.reply.gaps,
        calls=iteration.calls,
        calls_left=limits.left(state, t),
        duration_s=iteration.duration_s,
        tokens=iteration.tokens,
        cost_usd=iteration.cost_usd,
        fingerprints=seen.errors,
        values=seen.vote.values,
        breaker=state.breaker.state,
        task=iteration.task,
        recovered=seen.progress and decision.recovered,
    )


def conclusion(last: Last, window: tuple[int, ...]) -> Judged:
    """The event that records the judgement."""
    return Judged(
        outcome=last.outcome,
        progress=last.progress,
        held=last.held,
        score=last.score,
        parts=last.parts,
        counters=last.counters,
        window=window,
        risk=last.risk,
        confidence=last.confidence,
        vote=last.vote,
        matched=last.matched,
        decision=last.decision,
        reason=last.reason,
    )
