"""Supervised loops under random kills: `python benchmarks/soak.py --hours 2 [--directory DIR] [--seed N]`.

Three loops run side by side: one whose agent works, one whose agent does nothing, so that its breaker opens, and one that nobody
touches. Runners, agents and supervisors of the first two are killed or stopped, heartbeats and locks damaged, all at random; dead
supervisors are started again, as a service manager would. What must hold is looked at after each, and told at the end: nothing
that was recorded is lost, each call is judged, no kill closes a breaker, a runner that hangs is replaced in time, nothing is
left of the dead, and the third loop knows nothing of it. Exit status: 0 all of it held, 1 something did not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from guard.loop import heartbeat, journal, lock, processes  # noqa: E402
from guard.loop.events import BreakerChanged, CallReserved, Event, Judged, Recovered, RunStarted  # noqa: E402
from guard.loop.identity import place  # noqa: E402
from guard.loop.journal import Good  # noqa: E402
from guard.supervise import notebook, runners  # noqa: E402

TIMEOUT_S, CALL_S = 20, 8
RESTART_S = 5  # of the supervisors
PAUSES_S = (25, 70)  # between two disturbances
WORKS = f'sleep {CALL_S}; echo "line $(date +%s%N)" >> src/a.py; echo done with one'
IDLES = f"sleep {CALL_S}; echo nothing to say"


class Loop:
    """One loop with its supervisor."""

    def __init__(self, base: Path, name: str, agent: str) -> None:
        self.top, self.state, self.home = base / name, base / "state", base / "home"
        self.name, self.agent = name, agent
        for directory in (self.top / "src", self.state, self.home):
            directory.mkdir(parents=True, exist_ok=True)
        (self.top / "src/a.py").write_text("print(1)\n")
        (self.top / "PROMPT.md").write_text("Go on.\n")
        subprocess.run(["git", "init", "-q", str(self.top)], check=True)
        self.directory = place(str(self.state), str(self.top))
        self.log = (base / f"{name}.log").open("ab")
        self.supervisor: subprocess.Popen[bytes] | None = None
        self.due = 0.0
        self.killed = False

    def environ(self) -> dict[str, str]:
        keep = {"HOME": str(self.home), "PATH": os.environ["PATH"], "GUARD_STATE_DIR": str(self.state)}
        return keep | {"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}

    def start(self) -> None:
        words = [
            "supervise",
            "-n",
            "1000000",
            "--max-runtime",
            "30d",
            "-c",
            "1000",
            "-t",
            f"{TIMEOUT_S}s",
            "--max-restarts",
            "1000",
        ]
        argv = [sys.executable, "-P", "-m", "guard", *words, "--no-plan", "--", "sh", "-c", self.agent]
        self.supervisor = subprocess.Popen(
            argv,
            cwd=self.top,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        self.killed = False

    def look(self) -> str:
        """Starts the supervisor again, 5 s after its end; what is wrong with that end, if anything."""
        if self.supervisor is not None and self.supervisor.poll() is not None:
            code, self.supervisor, self.due = self.supervisor.returncode, None, time.monotonic() + 5
            if not self.killed:
                return f"{self.name}: its supervisor ended with {code}"
        elif self.supervisor is None and time.monotonic() >= self.due:
            self.start()
        return ""

    def runner(self) -> int:
        """The process that runs it, also where its lock has been removed; 0 for none."""
        found = lock.owner(self.directory)
        if found is not None:
            return found[0]
        state = runners.state(self.directory)
        run = state.run if state is not None else None
        return run.pid if run is not None and not run.ended and lock.alive(run.pid, run.pid_start) else 0

    def calls(self) -> list[int]:
        marks = {os.fsencode(f"GUARD_LOOP={os.path.basename(self.directory)}")}
        return processes.marked(marks)

    def events(self) -> tuple[list[Event], int]:
        """The events of the journal, and how many lines are none."""
        found, bad = [], 0
        for path in journal.files(self.directory):
            for line in journal.read(path):
                if isinstance(line, Good):
                    found.append(line.event)
                else:
                    bad += not line.torn
        return found, bad


def send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return pid > 0


def disturbances(loop: Loop, chance: random.Random) -> dict[str, Callable[[], bool]]:
    """What can be done to a loop; each says whether there was anything to do it to."""

    def to_runner(number: int) -> Callable[[], bool]:
        return lambda: bool(loop.runner()) and send(loop.runner(), number)

    def to_agent(number: int) -> Callable[[], bool]:
        return lambda: sum(send(pid, number) for pid in loop.calls()) > 0

    def to_supervisor(number: int) -> Callable[[], bool]:
        def act() -> bool:
            loop.killed = loop.killed or number == signal.SIGKILL
            return loop.supervisor is not None and send(loop.supervisor.pid, number)

        return act

    def both() -> bool:
        pid = loop.runner()
        return to_supervisor(signal.SIGKILL)() and bool(pid) and send(pid, signal.SIGKILL)

    def stopped_for_a_while() -> bool:
        if not to_supervisor(signal.SIGSTOP)():
            return False
        time.sleep(chance.uniform(6, 20))
        return to_supervisor(signal.SIGCONT)()

    def beats(text: str | None) -> Callable[[], bool]:
        def act() -> bool:
            path = Path(loop.directory, heartbeat.NAME)
            if text is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(text)
            return True

        return act

    def no_locks() -> bool:
        for path in (Path(loop.directory, lock.NAME), Path(loop.directory, notebook.FOLDER, lock.NAME)):
            path.unlink(missing_ok=True)
        return True

    later = int(time.time() * 1000) + 86_400_000
    return {
        "runner killed": to_runner(signal.SIGKILL),
        "runner crashed": to_runner(signal.SIGSEGV),
        "runner stopped": to_runner(signal.SIGSTOP),
        "agent killed": to_agent(signal.SIGKILL),
        "agent stopped": to_agent(signal.SIGSTOP),
        "supervisor killed": to_supervisor(signal.SIGKILL),
        "supervisor stopped for a while": stopped_for_a_while,
        "both killed": both,
        "heartbeat removed": beats(None),
        "heartbeat damaged": beats("\0\0 nonsense"),
        "heartbeat from the future": beats(f"{later} EXECUTE {later + 10_000}\n"),
        "locks removed": no_locks,
    }


def checked(loop: Loop, disturbed: bool) -> list[str]:
    """What does not hold of a loop."""
    events, bad = loop.events()
    wrong = [f"{bad} bad lines in the journal"] if bad else []
    reserved = {event.n for event in events if isinstance(event.body, CallReserved)}
    judged = [event.n for event in events if isinstance(event.body, Judged)]
    # What was cut off is judged at the next start: only the iteration under way may be open. A judgement that came then has no
    # number of its own.
    if not len(reserved) - 1 <= len(judged) <= len(reserved):
        wrong.append(f"{len(reserved)} iterations, {len(judged)} judged")
    numbers = [n for n in judged if n is not None]
    if numbers != sorted(set(numbers)):
        wrong.append("an iteration was judged twice")
    edges = [(event.body.before, event.body.after) for event in events if isinstance(event.body, BreakerChanged)]
    if any(after == "CLOSED" for _, after in edges):
        wrong.append(f"the breaker was closed: {edges}")
    runs = {event.run for event in events if isinstance(event.body, RunStarted)}
    if len(runs) > 1 and not edges:
        wrong.append(f"{len(runs)} runs where one goes on")
    lost = [event.body.lost_events for event in events if isinstance(event.body, Recovered)]
    if any(lost) or (lost and not disturbed):
        wrong.append(f"recovered: {lost}")
    runner = loop.runner()
    below = {each.pid for each in processes.descendants(runner)} if runner else set()
    left = [pid for pid in loop.calls() if pid not in below]
    if left:
        time.sleep(16)  # a dead runner's are being ended
        runner = loop.runner()
        below = {each.pid for each in processes.descendants(runner)} if runner else set()
        left = [pid for pid in left if pid in loop.calls() and pid not in below]
    return wrong + ([f"processes are left: {left}"] if left else [])


def figures(loop: Loop) -> dict[str, object]:
    events, _ = loop.events()
    kinds = Counter(event.body.name for event in notebook.read(loop.directory))
    hangs = [event.body.overdue_s for event in notebook.read(loop.directory) if isinstance(event.body, notebook.Hang)]
    after = [event.body.after_s for event in notebook.read(loop.directory) if isinstance(event.body, notebook.Restarted)]
    down: list[float] = []
    since: int | None = None
    both = sorted([*notebook.read(loop.directory), *events], key=lambda event: event.t)
    for event in both:
        if isinstance(event.body, notebook.Down):
            since = event.body.at
        elif isinstance(event.body, RunStarted) and since is not None:
            down.append((event.t - since) / 1000)
            since = None
    first = min((event.t for event in events), default=0)
    span = (max((event.t for event in events), default=0) - first) / 1000 or 1
    outcomes = Counter(event.body.outcome for event in events if isinstance(event.body, Judged))
    return {
        "iterations": dict(outcomes),
        "supervisor": dict(kinds),
        "hang overdue_s": [round(min(hangs), 1), round(max(hangs), 1)] if hangs else [],
        "restart after_s": [round(min(after), 1), round(statistics.median(after), 1), round(max(after), 1)] if after else [],
        "mean down_s": round(statistics.mean(down), 1) if down else 0,
        "longest down_s": round(max(down), 1) if down else 0,
        "availability": round(1 - sum(down) / span, 4),
    }


def _ended(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    base = given.directory or Path(tempfile.mkdtemp(prefix="soak-"))
    base.mkdir(parents=True, exist_ok=True)
    chance = random.Random(given.seed)
    loops = [Loop(base, "works", WORKS), Loop(base, "idles", IDLES), Loop(base, "untouched", WORKS)]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ended)
    for loop in loops:
        loop.start()
    done: Counter[str] = Counter()
    wrong: list[str] = []
    began, until = time.monotonic(), time.monotonic() + given.hours * 3600
    print(f"soak of {given.hours:g} h in {base}, seed {given.seed}", flush=True)

    def report(found: list[str]) -> None:
        wrong.extend(found)
        for line in found:
            print(f"[{time.monotonic() - began:.0f} s] WRONG {line}", flush=True)

    next_at = began + 15
    try:
        while time.monotonic() < until:
            time.sleep(1)
            for loop in loops:
                ended = loop.look()
                if ended:
                    report([ended])
            if time.monotonic() < next_at:
                continue
            loop = chance.choice(loops[:2])
            kind = chance.choice(list(disturbances(loop, chance)))
            if disturbances(loop, chance)[kind]():
                done[kind] += 1
                print(f"[{time.monotonic() - began:.0f} s] {loop.name}: {kind}", flush=True)
            next_at = time.monotonic() + chance.uniform(*PAUSES_S)
            for each in loops:
                report([f"{each.name}: {line}" for line in checked(each, each is not loops[2])])
    finally:
        for loop in loops:
            if loop.supervisor is not None and loop.supervisor.poll() is None:
                send(loop.supervisor.pid, signal.SIGCONT)
                loop.supervisor.terminate()
        time.sleep(3)
        for loop in loops:
            if loop.supervisor is not None:
                loop.supervisor.wait(90)
        print("disturbances", dict(done), sum(done.values()))
        for loop in loops:
            report([f"{loop.name}: {line}" for line in checked(loop, loop is not loops[2])])
            report([f"{loop.name}: {len(loop.calls())} processes at the end"] if loop.calls() else [])
            print(loop.name, json.dumps(figures(loop)), flush=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = time.monotonic() - began
        print(f"{seconds:.0f} s, processor {(used.ru_utime + used.ru_stime) / seconds:.1%} of a core, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    print(shlex.join(sys.argv))
    raise SystemExit(main())
