"""The command `guard`, also installed as `pathguard`: hot entries start at once, the rest goes to the full command line."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Runs the command line of this process and gives its exit status."""
    arguments = sys.argv[1:]
    if arguments[:1] in (["check"], ["shim"], ["hook"], ["git-hook"]) and arguments[1:2] != ["--help"]:
        # A judgement is over before there is garbage worth collecting; taking the interpreter apart costs as much as a parse.
        gc.disable()
        if arguments[0] == "shim":
            from guard.hot import shim as hot
        elif arguments[0] == "hook":
            from guard.hot import hook as hot  # type: ignore[no-redef]
        elif arguments[0] == "git-hook":
            from guard.hot import git_hook as hot  # type: ignore[no-redef]
        else:
            from guard.hot import check as hot  # type: ignore[no-redef]
        os._exit(hot.main(arguments[1:]))
    from guard import cli

    return cli.main(arguments)
