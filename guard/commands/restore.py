"""`guard restore`: brings protected files back from the vault."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence

import click

from guard import actor
from guard.change import CREATED, DIRECTORY, FILE, LINK, NOT_JUDGED, RETYPED
from guard.commands import integrity
from guard.commands.integrity import Project
from guard.commands.output import say
from guard.errors import GuardError
from guard.paths import below
from guard.shown import decodable, visible
from guard.vault.manifest import Manifest
from guard.vault.restore import CAME_BACK, REMOVED, RESTORED, Restored, damaged, repair, versions
from guard.vault.store import ASIDE
from guard.vault.verify import Change, verify

ASK = 3  # a person is needed


def run(
    paths: Sequence[str], everything: bool, source: str | None, dry_run: bool, yes: bool, cwd: str | None, as_json: bool
) -> int:
    """Restores the named paths, or all that was lost; 1 where something could not be restored, 3 where a person has to say."""
    at = integrity.here(cwd)
    manifest = at.manifest(source)
    if not paths and not everything:
        raise GuardError("nothing is named", "guard restore", "name paths, or --all for whatever was lost")
    named = [os.path.normpath(os.path.join(at.here, path)) for path in paths]
    for path in named:
        _known(path, manifest, at)
    wanted = _wanted(named)
    aside = manifest.head.reason == ASIDE
    plan = [each for each in verify(manifest, at.vault, at.policy, unprotected=aside) if wanted(each)]
    if not plan or dry_run:
        return _told_plan(plan, manifest, at, as_json)
    if not yes and not _agreed(plan, manifest, at):
        return ASK
    with integrity.progress("restoring") as report:
        done = repair(manifest, at.vault, at.policy, wanted, report, unprotected=aside)
    return _told(done, at, as_json)


def _wanted(named: Sequence[str]) -> Callable[[Change], bool]:
    """The changes to undo: what was lost, or whatever happened to the named paths and the directories they need."""
    if not named:
        return damaged

    def wanted(change: Change) -> bool:
        if change.kind == NOT_JUDGED or (change.kind == CREATED and not change.violation):
            return False
        above = change.kind == RETYPED and change.old.kind == DIRECTORY
        return any(below(change.path, path) or (above and below(path, change.path)) for path in named)

    return wanted


def _known(path: str, manifest: Manifest, at: Project) -> None:
    """Raises GuardError where the snapshot has nothing of a path, and names one that has."""
    if path == at.root or any(below(each, path) for each in manifest.paths):
        return
    other = next(versions(at.vault, path), None)
    todo = f"another has it: guard restore --from {other[0]}" if other else "see guard restore --list"
    raise GuardError(f"snapshot {manifest.head.name} has no such path", at.shown(path), todo)


def _told_plan(plan: Sequence[Change], manifest: Manifest, at: Project, as_json: bool) -> int:
    if as_json:
        changes = [integrity.fields(each) for each in plan]
        print(json.dumps({"v": 1, "id": manifest.head.name, "code": "planned" if plan else "fine", "changes": changes}))
    elif plan:
        say(f"Would be restored from {manifest.head.name}:")
        integrity.tell(plan, manifest, at)
    else:
        say(f"There is nothing to restore: it is as it was in {manifest.head.name}.")
    return 0


def _agreed(plan: Sequence[Change], manifest: Manifest, at: Project) -> bool:
    """Asks a person. Whoever else calls needs --yes."""
    say(f"To be restored from {manifest.head.name}:")
    integrity.tell(plan, manifest, at)
    if actor.who(os.environ, actor.ancestors(), actor.terminal()).kind != actor.PERSON:
        click.echo("guard: nothing was restored: there is nobody to ask; with --yes it is done", err=True)
        return False
    return click.confirm("What stands there now is kept in the vault. Restore?", default=False)


def _told(done: Sequence[Restored], at: Project, as_json: bool) -> int:
    failed = [each for each in done if each.outcome not in (RESTORED, REMOVED, CAME_BACK)]
    if as_json:
        rows = [
            {**integrity.fields(each.change), "outcome": each.outcome, "note": each.note, "aside": each.aside} for each in done
        ]
        print(json.dumps({"v": 1, "code": "failed" if failed else "restored", "restored": rows}))
        return int(bool(failed))
    for each in done:
        good = each.outcome in (RESTORED, REMOVED)
        say(
            "  ",
            (f"{each.outcome:10s}", "allow" if good else "deny"),
            at.shown(each.path),
            f"  {visible(each.note)}" if each.note else "",
        )
    for name in dict.fromkeys(each.aside for each in done if each.aside):
        say(f"What stood in the way is kept as {name}:  guard restore --from {name} PATH")
    return int(bool(failed))


def listing(paths: Sequence[str], cwd: str | None, as_json: bool) -> int:
    """Lists the snapshots, or those that have the paths, newest first."""
    at = integrity.here(cwd)
    rows = _versions(paths, at) if paths else _snapshots(at)
    integrity.warn(at.vault)
    if as_json:
        print(json.dumps({"v": 1, "root": decodable(at.root), "snapshots": rows}))
        return 0
    if not rows:
        say("There is no snapshot of this project yet." if not paths else "No snapshot has these paths.")
    for row in rows:
        what = (
            f"{at.shown(str(row['path']))}  {row['kind']}, {row['size']} bytes"
            if paths
            else f"{row['reason']:10s}{row['files']} files"
        )
        say((f"{row['id']}  ", "bold"), (f"{integrity.age(float(str(row['time'])))}  ", "dim"), what)
    return 0


def _snapshots(at: Project) -> list[dict[str, object]]:
    return [
        {"id": each.head.name, "time": each.head.time, "reason": each.head.reason, "files": _files(each)}
        for each in at.vault.manifests()
    ]


def _files(manifest: Manifest) -> int:
    return sum(entry.kind in (FILE, LINK) and (bool(entry.level) or manifest.head.reason == ASIDE) for entry in manifest)


def _versions(paths: Sequence[str], at: Project) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for path in paths:
        absolute = os.path.normpath(os.path.join(at.here, path))
        for name, entry in versions(at.vault, absolute):
            moment = at.vault.load(name).head.time
            found.append({"id": name, "time": moment, "path": decodable(absolute), "kind": entry.kind, "size": entry.size})
    return found
