"""`guard restore`: brings protected files back from the vault."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import click

from guard import person
from guard.change import CREATED, DIRECTORY, FILE, LINK, NOT_JUDGED, RETYPED, Entry
from guard.commands import integrity
from guard.commands.integrity import Project
from guard.commands.output import say
from guard.errors import GuardError
from guard.paths import below
from guard.shown import decodable, visible
from guard.vault.manifest import Manifest
from guard.vault.names import ASIDE
from guard.vault.restore import CAME_BACK, REMOVED, RESTORED, Restored, damaged, repair, versions
from guard.vault.verify import Change

NOT_ALL, ASK = 1, 3  # something could not be restored; a person is needed


def run(
    paths: Sequence[str], everything: bool, source: str | None, dry_run: bool, yes: bool, cwd: str | None, as_json: bool
) -> int:
    """Restores the named paths, or all that was lost; 1 where something could not be restored, 3 where a person has to say."""
    at = integrity.here(cwd)
    manifest = at.manifest(source)
    if not paths and not everything:
        raise GuardError("nothing is named", "guard restore", "name paths, or --all for whatever was lost")
    named = [os.path.normpath(os.path.join(at.here, path)) for path in paths]
    groups = {manifest.head.name: (manifest, named)} if source or not named else _sources(named, manifest, at)
    for found, of_it in groups.values():
        for path in of_it:
            _known(path, found, at)
    return max(_run(found, of_it, source, dry_run, yes, at, as_json) for found, of_it in groups.values())


def _sources(named: Sequence[str], newest: Manifest, at: Project) -> dict[str, tuple[Manifest, list[str]]]:
    """The paths by the snapshot to take them from: the last one, but an older one for what that has nothing of.

    What a person has let pass is in no later snapshot.
    """
    groups: dict[str, tuple[Manifest, list[str]]] = {}
    for path in named:
        found = newest
        if not _has(newest, path):
            found = next((each for each in at.vault.manifests() if each.head.reason != ASIDE and _has(each, path)), newest)
        groups.setdefault(found.head.name, (found, []))[1].append(path)
        if found is not newest:
            said = f"guard: {at.shown(path)} is not in the last snapshot; {found.head.name} is the newest that has it"
            click.echo(said, err=True)
    return groups


def _has(manifest: Manifest, path: str) -> bool:
    return any(True for _ in _files_below(manifest, path))


def _files_below(manifest: Manifest, path: str) -> Iterator[Entry]:
    """The files that a snapshot has at or below a path."""
    aside = manifest.head.reason == ASIDE
    for number, each in enumerate(manifest.paths):
        if below(each, path):
            entry = manifest.entry(number)
            if entry.kind in (FILE, LINK) and (entry.level or aside):
                yield entry


def _run(
    manifest: Manifest, named: Sequence[str], source: str | None, dry_run: bool, yes: bool, at: Project, as_json: bool
) -> int:
    """Restores from one snapshot."""
    aside = manifest.head.reason == ASIDE
    changes, passed = integrity.looked(at, manifest, unprotected=aside)
    gone = frozenset[str]() if named or source else passed  # what nobody asked to have back
    wanted = _but(gone, _wanted(named))
    plan = [each for each in changes if wanted(each)]
    if gone and not as_json:
        say(f"Left as a person has let it be: {len(gone):,} protected paths; name them to have them back.")
    out_of_reach = _out_of_reach(changes, named, at)
    if out_of_reach and not plan:
        return NOT_ALL
    if not plan or dry_run:
        return _told_plan(plan, manifest, named, at, as_json)
    if not yes and not _agreed(plan, manifest, at):
        return ASK
    with integrity.progress("restoring") as report:
        done = repair(manifest, at.vault, at.policy, wanted, report, unprotected=aside)
    return _told(done, at, as_json)


def _out_of_reach(changes: Iterable[Change], named: Sequence[str], at: Project) -> bool:
    """Says what is gone and cannot be brought back from here: below it is a mount, or a disk that cannot be written."""
    found = [
        each.path
        for each in changes
        if each.kind == NOT_JUDGED
        and not os.path.lexists(each.path)
        and (not named or any(below(each.path, path) for path in named))
    ]
    if found:
        more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
        said = f"guard: {at.shown(found[0])}{more} cannot be restored here: a mount covers it, or it cannot be written"
        click.echo(said, err=True)
    return bool(found)


def _but(left: Collection[str], wanted: Callable[[Change], bool]) -> Callable[[Change], bool]:
    return lambda change: change.path not in left and wanted(change)


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


def _told_plan(plan: Sequence[Change], manifest: Manifest, named: Sequence[str], at: Project, as_json: bool) -> int:
    if as_json:
        changes = [integrity.fields(each) for each in plan]
        print(json.dumps({"v": 1, "id": manifest.head.name, "code": "planned" if plan else "fine", "changes": changes}))
    elif plan:
        say(f"Would be restored from {manifest.head.name}:")
        integrity.tell(plan, manifest, at)
    else:
        say(f"There is nothing to restore: it is as it was in {manifest.head.name}.")
        for path in named:
            _tell_older(path, manifest, at)
    return 0


def _tell_older(path: str, manifest: Manifest, at: Project) -> None:
    """Names the newest snapshot with files below a path that are not there any more."""
    for older in at.vault.manifests():
        if older.head.reason == ASIDE or older.head.name >= manifest.head.name:
            continue
        gone = sum(not os.path.lexists(entry.path) for entry in _files_below(older, path))
        if gone:
            what = "1 file that is" if gone == 1 else f"{gone:,} files that are"
            say(f"{older.head.name} has {what} not there any more:  guard restore --from {older.head.name} {at.shown(path)}")
            return


def _agreed(plan: Sequence[Change], manifest: Manifest, at: Project) -> bool:
    """Asks a person. Whoever else calls needs --yes."""
    say(f"To be restored from {manifest.head.name}:")
    integrity.tell(plan, manifest, at)
    if not person.attends():
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
        what = _version(row, at) if paths else f"{row['reason']:10s}{row['files']} files"
        say((f"{row['id']}  ", "bold"), (f"{integrity.age(float(str(row['time'])))}  ", "dim"), what)
    return 0


def _version(row: dict[str, object], at: Project) -> str:
    size = f"{row['files']} files below it" if row["kind"] == DIRECTORY else f"{row['size']} bytes"
    return f"{at.shown(str(row['path']))}  {row['kind']}, {size}"


def _snapshots(at: Project) -> list[dict[str, object]]:
    return [
        {"id": each.head.name, "time": each.head.time, "reason": each.head.reason, "files": _files(each)}
        for each in at.vault.manifests()
    ]


def _files(manifest: Manifest) -> int:
    return sum(entry.kind in (FILE, LINK) and (bool(entry.level) or manifest.head.reason == ASIDE) for entry in manifest)


def _versions(paths: Sequence[str], at: Project) -> list[dict[str, object]]:
    """A row for each content of a file, and for each snapshot that has files below a directory, newest first."""
    found: list[dict[str, object]] = []
    for path in paths:
        absolute = os.path.normpath(os.path.join(at.here, path))
        seen: set[tuple[bytes, str]] = set()
        for manifest in at.vault.manifests():
            row = _row(manifest, absolute, seen)
            found += [{"id": manifest.head.name, "time": manifest.head.time, "path": decodable(absolute), **row}] if row else []
    return found


def _row(manifest: Manifest, path: str, seen: set[tuple[bytes, str]]) -> dict[str, object]:
    """What a snapshot has of a path; nothing where that was `seen` in a later one."""
    entry = manifest.find(path)
    if entry is not None and entry.kind != DIRECTORY:
        if (entry.digest, entry.link) in seen:
            return {}
        seen.add((entry.digest, entry.link))
        return {"kind": entry.kind, "size": entry.size}
    files = list(_files_below(manifest, path))
    return {"kind": DIRECTORY, "size": sum(each.size for each in files), "files": len(files)} if files else {}
