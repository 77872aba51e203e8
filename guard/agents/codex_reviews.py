"""Which of guard's hooks a person still has to review in Codex, which leaves out those that nobody has trusted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from guard.agents import codex_trust
from guard.agents.settings import Document
from guard.agents.wiring import Wired
from guard.agents.wirings import SYSTEM, TEAM, WIRINGS
from guard.findings import Finding


def findings(
    documents: Sequence[Document], wired: Sequence[Wired], root: str, asked: Mapping[str, str] | None
) -> Iterator[Finding]:
    """Codex keeps what it trusts in the user's configuration, by file, event and place in the file, with a digest of the command.

    Where it has been `asked`, its answer counts; that knows of commands that were changed since.
    """
    if any(each.scope == SYSTEM for each in wired):
        return
    user = [document for document in documents if document.format == "toml"]
    state = next((found for document in user if isinstance(found := document.get("hooks", "state"), dict)), {})
    trusted = [document.get("projects", root, "trust_level") == "trusted" for document in user] if root else []
    reasons = []
    for each in wired:
        if each.entry.event not in WIRINGS["codex"].blocking:
            continue
        if each.scope == TEAM and not any(trusted):
            reasons.append(Finding("trust-needed", "Codex does not trust this project", WIRINGS["codex"].trust[TEAM], "codex"))
            continue
        found = _distrusts(each.path, _status(each, state, asked))
        if found is None:
            return
        reasons.append(found)
    yield from reasons


def _status(each: Wired, state: Mapping[str, Any], asked: Mapping[str, str] | None) -> str:
    """What Codex thinks of an entry: as it says itself, else as it has written down."""
    if asked is not None:
        return next((asked[key] for key in _keys(each) if key in asked), codex_trust.UNTRUSTED)
    kept = next((found for key in _keys(each) if isinstance(found := state.get(key), dict)), {})
    if kept.get("enabled") is False:
        return codex_trust.DISABLED
    return codex_trust.TRUSTED if kept.get("trusted_hash") else codex_trust.UNTRUSTED


def _distrusts(path: str, status: str) -> Finding | None:
    """What is to be done about an entry of this status; None for nothing."""
    if status in (codex_trust.TRUSTED, "managed"):
        return None
    if status == codex_trust.DISABLED:
        return Finding(
            "switched-off", f"guard's hook in {path} is disabled", "Codex leaves it out", "start codex, type /hooks, enable it"
        )
    why, repair = (
        "until then Codex leaves it out without a word",
        "start codex, type /hooks, look at guard's hooks and trust them",
    )
    if status == codex_trust.MODIFIED:
        return Finding("trust-needed", f"guard's hook in {path} has changed since you reviewed it in Codex", why, repair)
    return Finding("trust-needed", f"you have not reviewed guard's hook in {path} in Codex yet", why, repair)


def _keys(each: Wired) -> Iterator[str]:
    event = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each.entry.event).lower()
    _, _, group, _, hook = each.entry.path
    for path in dict.fromkeys((each.path, os.path.realpath(each.path))):
        yield f"{path}:{event}:{group}:{hook}"
