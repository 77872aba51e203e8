"""Care: a runner is looked after every second until it ends; one that hangs is killed with all that it has started."""

from __future__ import annotations

from collections.abc import Callable

from guard.loop import heartbeat, lifecycle
from guard.loop.heartbeat import Beat
from guard.supervise import runners
from guard.supervise.notebook import Hang
from guard.supervise.post import Post
from guard.supervise.runners import Runner
from guard.supervise.watch import LOOK_MOST_S, Overdue, Watch

LOOK_S = 1.0
ENDING_S = 60.0  # for a run that was told to end at once


def follow(post: Post, runner: Runner, old: Beat | None, each: Callable[[], None]) -> Overdue | None:
    """Looks after a runner until it is over. What is given says that it hung, and has been killed; None that it ended.

    `old`: the heartbeat that an earlier one has left; `each` is called at every look.
    """
    clock = post.clock
    # Time from a file moves in jumps.
    watch = Watch(clock.elapsed(), old, LOOK_MOST_S if clock.kind == "real" else float("inf"))
    while not runner.ended():
        post.heed(runner)
        beat = heartbeat.read(post.charge.directory)
        hung = watch.look(beat, clock.now(), clock.elapsed()) or _stays(post, watch)
        if hung is not None:
            _kill(post, runner, hung)
            return hung
        post.ready(watch.beat)
        post.beat = watch.beat or post.beat
        each()
        post.sleep(LOOK_S, runner.fd)
    return None


def _stays(post: Post, watch: Watch) -> Overdue | None:
    """A runner that was told to end at once, and does not."""
    late = post.clock.elapsed() - post.asked_at - ENDING_S
    if post.asked is None or late <= 0:
        return None
    beat = watch.beat or Beat(0, lifecycle.START, None)
    return Overdue(beat.state, beat.at, beat.deadline, round(late, 3))


def _kill(post: Post, runner: Runner, hung: Overdue) -> None:
    """Kills it. As long as the kernel does not let it go it has the loop, and no other is started."""
    killed, left = runners.kill(runner, post.ours)
    post.note(Hang(hung.state, hung.beat, hung.deadline, hung.overdue_s, tuple(killed), tuple(left)))
    while not runner.ended() and post.asked is None:
        post.notify.status(f"process {runner.pid} cannot be killed")
        post.say(f"process {runner.pid} cannot be killed yet")
        post.sleep(LOOK_S, runner.fd)
        post.heed(None)
        runners.kill(runner, post.ours)
