"""`guard vault`: the state of the vault, and clearing it up."""

from __future__ import annotations

import json

import click

from guard.commands import integrity
from guard.commands.output import say
from guard.shown import decodable, visible
from guard.vault import retention

SHOWN = 20  # damaged contents that are named


def gc(cwd: str | None) -> int:
    """Removes what need not stay."""
    at = integrity.here(cwd)
    done = retention.clear(at.vault, wait=False)
    say(f"{done.snapshots} snapshots and {done.packs} packs removed, {_size(done.before)} -> {_size(done.after)}.")
    integrity.warn(at.vault)
    return 0


def check(cwd: str | None, as_json: bool, mend: bool) -> int:
    """Reads all copies and compares them with their digests; 1 where something is damaged."""
    at = integrity.here(cwd)
    if mend:
        click.echo(f"{retention.mend(at.vault)} damaged packs put aside; guard snapshot copies again what is missing", err=True)
    health = retention.check(at.vault)
    if as_json:
        files = {decodable(name): decodable(why) for name, why in health.files.items()}
        contents = [{"snapshot": name, "path": decodable(path)} for name, path in health.contents]
        counts = {"snapshots": health.snapshots, "checked": health.checked}
        print(json.dumps({"v": 1, "code": "fine" if health.good else "damaged", **counts, "files": files, "contents": contents}))
        return int(not health.good)
    for name, why in sorted(health.files.items()):
        say(("  damaged   ", "deny"), f"{visible(name)}: {visible(why)}")
    for name, path in health.contents[:SHOWN]:
        say(("  no copy   ", "deny"), f"{at.shown(path)} in {name}")
    if len(health.contents) > SHOWN:
        say(f"  ... and {len(health.contents) - SHOWN} more (--json has them all)")
    say(
        f"{health.checked} contents of {health.snapshots} snapshots: " + ("all are good." if health.good else "some are damaged.")
    )
    return int(not health.good)


def path(cwd: str | None) -> int:
    """Prints the vault's directory."""
    click.echo(integrity.here(cwd).vault.directory)
    return 0


def _size(count: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 10_000:
            return f"{count} {unit}"
        count //= 1000
    return f"{count} GB"
