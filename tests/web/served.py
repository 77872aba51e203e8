"""The page's server in a terminal with a person at it; what it says there is written to a file, too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from guard.monitor.web import server

if __name__ == "__main__":
    state, port, said = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])

    def tell(text: str) -> None:
        with said.open("a") as file:
            file.write(text + "\n")

    server.tell = tell
    said.with_suffix(".pid").write_text(str(os.getpid()))
    sys.exit(server.serve(state, port=port))
