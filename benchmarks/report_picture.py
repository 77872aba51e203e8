"""The picture of a report in the docs: a made-up week of one loop, written through the loop's own store.

python benchmarks/report_picture.py DIRECTORY      # writes DIRECTORY/report.html
chromium --headless --screenshot=docs/images/report.png --window-size=1000,1900 file://DIRECTORY/report.html
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from guard.evaluate import book
from guard.loop.facts import UsageLimit, Verification
from guard.loop.identity import place
from guard.loop.store import Store
from guard.report import history, page
from guard.report.measures import Record
from guard.report.summary import summary
from tests.loop.rig import MINUTE, START, It, Rig

DAYS = 7
REFUSED = ("specs/api.md", ".ralph/fix_plan.md", "CLAUDE.md", "memory/decisions.md")


def iteration(random: Random, tasks: list[str], passed: int) -> It:
    """One iteration of a loop that mostly works."""
    fate = random.random()
    more = {"tokens": random.randrange(9_000, 48_000), "lines": random.randrange(14, 60), "minutes": random.randrange(2, 7)}
    more["cost"] = round(more["tokens"] * 6e-6, 3)
    if fate < 0.02:
        return It(exit=1, errors=("Error: the build broke",), tests=Verification(False, passed - 3, 3), **more)
    if fate < 0.08:
        return It(edit=1, errors=("E   AssertionError: 3 != 4",), tests=Verification(False, passed - 2, 2), **more)
    if fate < 0.13:
        return It(edit=2, refused=(random.choice(REFUSED),), tests=Verification(True, passed), **more)
    done = (tasks[0],) if tasks and fate < 0.62 else ()
    return It(edit=random.randrange(1, 6), done=done, tests=Verification(True, passed), **more)


def week(store: Store, random: Random) -> int:
    """Runs of a week; gives its end, UTC milliseconds."""
    passed = 212
    rig = Rig({"iterations": 60}, store=store, state=store.state)
    for day in range(DAYS):
        rig.tasks, rig.most, rig.open = tuple(f"day {day + 1}, task {number}" for number in range(1, 12)), 0, []
        rig.t = START + day * 24 * 60 * MINUTE
        rig.start(f"run-{day + 1}")
        for number in range(40):
            it = iteration(random, rig.open, passed)
            if day == 6 and number == 9:
                it = It(edit=1, harmed=("specs/api.md",), tokens=21_000, lines=20, minutes=3)
            if day in (1, 5) and number in (6, 7, 8):
                it = It(tokens=14_000, lines=9, minutes=2)
            if day == 4 and number == 12:
                it = It(exit=1, limit=UsageLimit("5h", None, "text"), minutes=1)
            passed += len(it.done) * random.randrange(1, 4)
            rig.one(it)
            if rig.end is not None:
                break
        if rig.end is None or rig.end.status == "circuit_open":
            rig.wait(31)
            rig.start(f"run-{day + 1}b")
            for _ in range(30):
                rig.one(iteration(random, rig.open, passed))
                if rig.end is not None:
                    break
    return rig.t


def main(directory: str) -> None:
    """Writes the report."""
    top, random = Path(directory) / "shop", Random(11)
    top.mkdir(parents=True, exist_ok=True)
    state = str(Path(directory) / "state")
    with Store.open(state, str(top), START) as store:
        week(store, random)
    where = place(state, str(top))
    book.add(
        where, book.Audited({"run-1#3": 5, "run-2#4": 4, "run-3#2": 4, "run-4#1": 5, "run-6#8": 3}, 4.2, 80, 100, 0, "person")
    )
    found = history.read(where)
    marks, causes = ((4.2, 5),), ((80.0, 5),)
    until = START + DAYS * 24 * 60 * MINUTE
    came_back = (("rejected", "run-2#5"),)
    record = Record((found,), feedback=came_back, marks=marks, root_causes=causes, since=START, until=until)
    (Path(directory) / "report.html").write_text(page.html(summary(record, "Report on shop")))
    print(datetime.fromtimestamp(until / 1000, UTC).date(), f"{len(found.iterations)} iterations", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
