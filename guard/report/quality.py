"""Quality: measures of whether the work was right, safe, and what people wanted: from journals, feedback and audits."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from guard.report.history import History, Iteration, Run
from guard.report.measures import HALF, HUMAN, Measure, Record, counted, harm, judged, overrides, per, refusals

GUARD = "guard"  # the actor of what guard does by itself
AGAINST_A_RUN = ("rejected", "overridden")  # feedback that counts against a completion though it names no work of a loop


def completions(record: Record) -> tuple[int, int]:
    """How many runs were accepted as complete, and how many of them have feedback against them.

    Feedback names the run, one of its iterations, or a commit of it; what a person rejects under another name counts once.
    """
    accepted = [(one, each) for each in record.histories for one in each.runs if one.status == "complete"]
    named = {one.id for one, each in accepted if any(_names(text, one, each) for _, text in record.feedback)}
    known = [(run, each) for each in record.histories for run in each.runs]
    loose = {
        text
        for kind, text in record.feedback
        if kind in AGAINST_A_RUN and not any(_names(text, run, each) for run, each in known)
    }
    return len(accepted), min(len(accepted), len(named) + len(loose))


def _names(text: str, run: Run, history: History) -> bool:
    """Does a reference name a run, or work of it?"""
    if text == run.id or text.startswith(f"{run.id}#"):
        return True
    return len(text) >= 7 and any(one.run == run.id and _made(one, text) for one in history.iterations)


def _made(one: Iteration, commit: str) -> bool:
    return any(made.startswith(commit) for made in one.files.commits)


def missed(record: Record) -> tuple[int, int]:
    """How many iterations with commits the verify commands passed, and of how many of them a commit was taken back."""
    passed = [one for one in record.iterations if one.tests is not None and one.tests.ok and one.files.commits]
    taken = [text for kind, text in record.feedback if kind == "reverted" and len(text) >= 7]
    return len(passed), sum(any(_made(one, text) for text in taken) for one in passed)


def escalations(record: Record) -> tuple[int, int]:
    """How often guard asked for a person, by a hold or by a breaker that only people lift; how many were marked as overridden."""
    asked = wrong = 0
    marked = [text for kind, text in record.feedback if kind == "overridden"]
    for each in record.histories:
        holds = [one for one in each.of("hold") if one.fields.get("to") and one.fields.get("actor") in ("", GUARD)]
        opened = [
            one
            for one in each.of("breaker")
            if one.fields.get("to") == "OPEN" and one.fields.get("from") != "OPEN" and one.fields.get("recovery") == "explicit"
        ]
        runs = [one.run for one in (*holds, *opened)]
        asked += len(runs)
        wrong += sum(any(text == run or text.startswith(f"{run}#") for run in runs if run) for text in marked)
    return asked, min(asked, wrong)


def measures(record: Record) -> list[Measure]:
    """Every measure of this kind, in the order of a report."""
    return [make(record) for make in _ALL]


def _accuracy(record: Record) -> Measure:
    accepted, against = completions(record)
    text = f"{accepted} accepted completions, {against} with feedback against them"
    value = per(accepted - against, accepted)
    return judged("completion accuracy", value, "%", text, "> 90 %", lambda v: v > 90, "--verify, and the profile", HALF)


def _false(record: Record) -> Measure:
    accepted, against = completions(record)
    text = f"{against} of {accepted} completions"
    return judged(
        "false completions", per(against, accepted), "%", text, "< 5 %", lambda v: v < 5, "--verify, and the plan", HALF
    )


def _missed(record: Record) -> Measure:
    passed, wrong = missed(record)
    text = f"{wrong} of {passed} verified iterations with commits were taken back"
    return Measure("verifier miss rate", per(wrong, passed), "%", text, HALF)


def _touches(record: Record) -> Measure:
    tried, lost = refusals(record).total(), harm(record)[0]
    text = f"{tried} refused, {lost} found afterwards"
    mends = "the prompt: say what is protected, and what to do instead"
    return judged("touches of protected files", counted(record, tried + lost), "", text, "0", lambda v: v == 0, mends)


def _overrides(record: Record) -> Measure:
    count = overrides(record).total()
    text = f"people lifted {count} holds and breakers"
    return Measure("human overrides per 100 iterations", per(count, len(record.iterations)), "", text)


def _escalations(record: Record) -> Measure:
    asked, wrong = escalations(record)
    text = f"{wrong} of {asked} times that guard asked for a person were marked as overridden"
    return Measure("escalation accuracy", per(asked - wrong, asked), "%", text, HALF)


def _attempts(record: Record) -> Measure:
    done = [one.attempt if task == one.task else 1 for one in record.iterations for task in one.completed]
    return Measure("attempts per completed task", fmean(done) if done else None, "", f"{len(done)} tasks")


def _per_run(record: Record) -> Measure:
    runs = len({one.run for one in record.iterations})
    tokens = sum(one.tokens for one in record.iterations)
    return Measure("tokens per run", per(tokens, runs, 1), "tokens", f"{tokens:,} tokens, {runs} runs")


def _root_cause(record: Record) -> Measure:
    items = sum(count for _, count in record.root_causes)
    value = sum(share * count for share, count in record.root_causes) / items if items else None
    return Measure("root cause mended", value, "%", f"{items} items in {len(record.root_causes)} audits", HUMAN)


_ALL: tuple[Callable[[Record], Measure], ...] = (
    *(_accuracy, _false, _missed, _touches),
    *(_attempts, _per_run, _overrides, _escalations, _root_cause),
)
