"""`guard allow --always`: a person writes a rule by which a command may do from now on what it was refused for."""

from __future__ import annotations

import os
import re
import time

from guard import acceptance, granting, person, policy_file
from guard.commands import place, refusals, standing
from guard.commands.output import say
from guard.decision import Decision
from guard.errors import GuardError
from guard.matching import PRESENT
from guard.paths import below
from guard.shown import visible
from guard.verdict import CODES

MANY = 12  # paths from which on their directories are named


def run(name: str, reason: str | None, expires: str | None) -> int:
    """Shows the rule and writes it."""
    why = standing.reasoned(reason)
    last = _day(expires)
    person.require(f"guard allow --always {name}")
    decision = refusals.refused(name)
    _check(decision)
    where = refusals.around(decision)
    victims = refusals.concerned(decision, where.at.policy)
    for path in victims:
        if not below(path, where.at.root):
            raise GuardError(f"it lies outside of {visible(where.at.root)}", visible(path), "let it pass once: guard allow")
    file = policy_file.find(where.at.root)
    patterns = _patterns(sorted(victims), where.at.root)
    table = policy_file.exception(file, decision.request.command, patterns, why, last)
    text = policy_file.with_exception(file, table)
    say(("To be added to ", "bold"), (where.at.shown(file.path), "bold"), ":")
    for line in table.splitlines():
        say(("  " + visible(line), "allow"))
    say("From then on this very command may do that to these files" + (f", until {last}." if last else ", for good."))
    taken = standing.copied(where.at)
    person.confirm(f"A copy of every protected file is in snapshot {taken.name}.")
    granting.prove_root(where.sudo)
    policy_file.save(file, text)
    if file.table:
        acceptance.accept(text.encode(), file.path, where.state, where.sudo)
    standing.record("rule-added", ["allow", "--always", name, "--reason", why], where.at.root, what=decision.request.command)
    _tell(decision, where, victims)
    return 0


def _check(decision: Decision) -> None:
    """Raises GuardError where no rule could make the command pass."""
    if not refusals.textual(decision.request.layer):
        raise GuardError(
            "only what was refused as a text can have a rule", decision.request.id, "give the command as a whole: guard check"
        )
    if any(CODES.get(each.code) != "loss" for each in decision.verdict.reasons) or not decision.verdict.victims:
        raise GuardError(
            "what it would do cannot be told in full, so no rule fits", decision.request.id, "let it pass once: guard allow ID"
        )


def _patterns(paths: list[str], root: str) -> list[str]:
    """Patterns for these files: each of them, or their directories where they are many."""
    if len(paths) <= MANY:
        return [
            policy_file.pattern_for(os.path.relpath(path, root), os.path.isdir(path) and not os.path.islink(path))
            for path in paths
        ]
    tops = sorted({os.path.relpath(path, root).split("/", 1)[0] for path in paths})
    return [policy_file.pattern_for(top, os.path.isdir(f"{root}/{top}")) for top in tops]


def _day(text: str | None) -> str:
    """A day as the rule has it. Raises GuardError for what is none, or over."""
    if text is None:
        return ""
    try:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            raise ValueError
        time.strptime(text, "%Y-%m-%d")
    except ValueError:
        raise GuardError(f"{visible(text)!r} is no day", "--expires", "write it as 2027-01-31") from None
    if text < time.strftime("%Y-%m-%d"):
        raise GuardError(f"{text} is over", "--expires", "name a day to come")
    return text


def _tell(decision: Decision, where: standing.Standing, victims: dict[str, str]) -> None:
    """Says whether the rule is enough: it lifts nothing that the user's or the system's file protects."""
    policy = place.sound(where.at.root, place.world())
    today = time.strftime("%Y-%m-%d")
    command = decision.request.command
    left = [
        victim.path
        for victim in decision.verdict.victims
        if victim.path in victims and policy.excuse(command, victim.path, today, victim.level == PRESENT) is None
    ]
    if left:
        say((f"{where.at.shown(left[0])} is protected by the user's or the system's file, too, which no project lifts.", "deny"))
    else:
        say("Written. It passes from now on.")
