"""guard's command line as a person at a terminal of their own uses it: python -m tests.web.person PLACE STATE CWD WORD..."""

from __future__ import annotations

import sys
from pathlib import Path

from tests import pseudo_terminal

if __name__ == "__main__":
    place, state, cwd, *words = sys.argv[1:]
    seen = pseudo_terminal.guard(Path(cwd), Path(place) / "home", Path(place), *words, GUARD_STATE_DIR=state)
    print(seen.shown)
    sys.exit(seen.status)
