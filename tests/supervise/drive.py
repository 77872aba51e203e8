"""A supervisor over a runner that is a shell script, with shorter times: `python -m tests.supervise.drive DIRECTORY SCRIPT
[key=value ...]`. The script finds the loop's directory in $LOOP, and in $STARTS how often it was started."""

from __future__ import annotations

import os
import sys

from guard.errors import GuardError
from guard.loop import clock
from guard.loop.signals import Signals
from guard.supervise import care, runners, watch
from guard.supervise.notify import Notify
from guard.supervise.post import Charge, Post
from guard.supervise.runners import Own
from guard.supervise.supervisor import Supervisor


def main(directory: str, script: str, *settings: str) -> int:
    """Supervises; gives the exit status."""
    values = dict(each.split("=") for each in settings)
    watch.GRACE_S, care.LOOK_S = 0.3, 0.1
    care.ENDING_S = float(values.get("ending", 60))
    told = Notify(os.environ)
    loop = f"{directory}/state/loops/x"
    os.makedirs(loop, exist_ok=True)
    starts = 0

    def start(resumes: bool) -> Own:
        nonlocal starts
        starts += 1
        environ = {**os.environ, "LOOP": loop, "STARTS": str(starts)}
        return runners.start([values.get("program", "/bin/sh"), "-c", script], directory, environ)

    charge = Charge(
        directory, f"{directory}/state", loop, start, float(values.get("delay", 0)), int(values.get("most", 3)), "tty" in values
    )
    with Signals().caught() as signals:
        post = Post(charge, clock.current(), signals, told, lambda text: print(text, file=sys.stderr, flush=True))
        try:
            return Supervisor(post).run()
        except GuardError as error:
            print(error, file=sys.stderr)
            return error.code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
