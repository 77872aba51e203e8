"""What commits since a snapshot have taken away, and say in Guard-Allow that it is meant."""

from __future__ import annotations

import os
import time

from guard.change import MISSING, MOVED
from guard.commits.changes import between
from guard.commits.difference import DELETED
from guard.commits.git import Failed, Git
from guard.commits.trailers import allowing, of_commits
from guard.errors import GuardError
from guard.paths import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.commits.trailers import Trailer
    from guard.vault.manifest import Manifest
    from guard.vault.verify import Change


class Meant:
    """Says of a change since a snapshot whether the commits since then have made it, and one of them names it in Guard-Allow."""

    def __init__(self, manifest: Manifest, environ: Mapping[str, str]) -> None:
        self._root = manifest.head.root
        self._start = manifest.head.git.commit
        self._environ = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._known: tuple[str, list[Trailer], dict[str, str]] | None = None
        self._honoured: dict[Trailer, None] = {}

    def __call__(self, change: Change) -> bool:
        """Is it meant? What only the work tree has lost is not."""
        if not self._start:
            return False
        self._known = self._known or self._asked()
        top, trailers, committed = self._known
        if not trailers or not below(change.path, top):
            return False
        path = os.path.relpath(change.path, top)
        gone = change.kind in (MISSING, MOVED)
        trailer = allowing(trailers, path)
        if trailer is None or path not in committed or (committed[path] == DELETED) != gone:
            return False
        self._honoured[trailer] = None
        return True

    def record(self, command: str, state: str | None) -> None:
        """Writes to the log which trailers have let something pass, unless that stands there."""
        from guard import actor, log
        from guard.commits.court import LAYER, reasons
        from guard.decision import Decision, Request, new_id
        from guard.effects import Analysis
        from guard.verdict import ALLOW, Verdict

        if not self._honoured:
            return
        request = Request(command, self._root, new_id(), LAYER, actor.mark(self._environ))
        event = log.encode(Decision(request, Analysis(), Verdict(ALLOW, reasons(self._honoured)), time.time()))
        told = ("layer", "command", "cwd", "reasons")
        if not any(all(each.get(key) == event[key] for key in told) for each in log.read(state)):
            log.append(event, state)

    def _asked(self) -> tuple[str, list[Trailer], dict[str, str]]:
        """The top of the repository, the trailers since the snapshot, and what became of paths by their names."""
        try:
            git = Git(self._root, self._environ)
            found = of_commits(git, "HEAD", "--not", self._start)
            changed = between(git, self._start, "HEAD", "").found if found else []
            return git.top(), found, {each.path: each.status for each in changed}
        except (Failed, GuardError, ValueError):  # no repository, or not that commit any more: then nothing says so
            return self._root, [], {}
