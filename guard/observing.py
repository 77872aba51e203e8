"""Observing: what would have been refused is only written to the log, for as long as the user's own configuration says so."""

from __future__ import annotations

import time

from guard.verdict import ALLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from guard.policy import Policy
    from guard.verdict import Verdict

KEY = "observe"  # under [answer] in the user's or the system's file: true, or the last day
LOOP = "GUARD_LOOP"  # set inside of loops, where nothing is only observed


def until(policies: Iterable[Policy], environ: Mapping[str, str]) -> str:
    """The last day on which refusals are only logged, "always" where there is none; "" where they count."""
    if environ.get(LOOP):
        return ""
    found = {value for policy in policies for root in policy.roots for key, value in root.settings if key == KEY}
    if "true" in found:
        return "always"
    last = max(found - {"false"}, default="")
    return last if last >= time.strftime("%Y-%m-%d") else ""


def observed(verdict: Verdict, policy: Policy, environ: Mapping[str, str]) -> Verdict:
    """The verdict while observing: allowed, with what it would have been. Guard itself and its own files stay guarded."""
    if verdict.decision == ALLOW or not until([policy], environ):
        return verdict
    if any(reason.code == "lift-guard" for reason in verdict.reasons) or any(policy.own(v.path) for v in verdict.victims):
        return verdict
    return verdict._replace(decision=ALLOW, observed=verdict.decision)
