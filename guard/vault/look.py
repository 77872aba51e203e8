"""Looking: which entries of a manifest may have changed, told from what lstat says alone."""

from __future__ import annotations

import os
from collections.abc import Iterator

from guard.change import Entry, stamp
from guard.vault.manifest import Manifest

Found = tuple[Entry, os.stat_result | None]  # an entry, and what stands there now


def different(manifest: Manifest, hidden: list[Entry]) -> Iterator[Found]:
    """The entries that do not look as they did, and those that could have been written to without looking different.

    What stands in a directory that may not be searched goes to `hidden`.
    """
    before = manifest.head.before
    lstat = os.lstat
    for at, (path, old) in enumerate(zip(manifest.paths, manifest.stamps(), strict=True)):
        try:
            now = lstat(path)
        except PermissionError:
            hidden.append(manifest.entry(at))
            continue
        except OSError:
            yield manifest.entry(at), None
            continue
        if stamp(now) != old or old[3] >= before:
            yield manifest.entry(at), now
