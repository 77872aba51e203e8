"""`guard verify`: what happened to the protected files since the last snapshot."""

from __future__ import annotations

import json
from dataclasses import replace

from guard.commands import integrity
from guard.commands.output import say
from guard.shown import decodable
from guard.vault.restore import damaged


def run(cwd: str | None, as_json: bool, source: str | None) -> int:
    """Prints the changes; 1 where one of them is a violation."""
    at = integrity.here(cwd)
    manifest = at.manifest(source)
    changes, passed = integrity.looked(at, manifest, record="guard verify")
    changes = [replace(each, violation=False) if each.path in passed else each for each in changes]
    violations = sum(each.violation for each in changes)
    if as_json:
        told = {
            "v": 1,
            "id": manifest.head.name,
            "code": "violation" if violations else "fine",
            "root": decodable(at.root),
            "time": manifest.head.time,
            "checked": len(manifest),
            "violations": violations,
            "changes": [{**integrity.fields(each), **({"allowed": True} if each.path in passed else {})} for each in changes],
        }
        print(json.dumps(told))
        return int(violations > 0)
    since = f"since {integrity.age(manifest.head.time)} ({manifest.head.name})"
    if not changes:
        say(f"{len(manifest)} protected paths are as they were {since}.")
        return 0
    noun = "violation" if violations == 1 else "violations"
    say((f"{violations} {noun}", "deny" if violations else "allow"), f" among {len(changes)} changes {since}:")
    integrity.tell(changes, manifest, at, passed)
    if any(damaged(each) for each in changes if each.path not in passed):
        say("Bring back what was lost:  guard restore --all")
    return int(violations > 0)
