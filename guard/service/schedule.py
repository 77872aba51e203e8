"""Schedule: what the service manager runs from time to time: a unit and its timer (systemd.timer(5)), a calendar of launchd."""

from __future__ import annotations

import plistlib
from collections.abc import Sequence
from dataclasses import dataclass

from guard.quoting import posix
from guard.service import plist, unit
from guard.service.job import Job
from guard.service.manager import SYSTEMD, Command, Manager

TIMER = ".timer"
# How often -> how launchd says it (systemd has the same words), and the time that a report of it covers.
CALENDARS: dict[str, dict[str, int]] = {
    "daily": {"Hour": 0, "Minute": 0},
    "weekly": {"Weekday": 1, "Hour": 0, "Minute": 0},
    "monthly": {"Day": 1, "Hour": 0, "Minute": 0},
}
SPANS = {"daily": "1d", "weekly": "7d", "monthly": "31d"}


@dataclass(frozen=True)
class Schedule:
    """Jobs of one name and environment, one after the other. That one fails keeps none after it from running."""

    every: str
    jobs: tuple[Job, ...]

    @property
    def name(self) -> str:
        """The name of the service."""
        return self.jobs[0].name


def files(manager: Manager, schedule: Schedule) -> dict[str, str]:
    """Path and content of each file."""
    path = manager.path(schedule.name)
    if manager.kind == SYSTEMD:
        return {path: _unit(schedule), _timer_path(path): _timer(schedule)}
    return {path: _calendar(schedule, f"{manager.log}/{schedule.name}.log")}


def paths(manager: Manager, name: str) -> list[str]:
    """The files that a schedule of this name has."""
    path = manager.path(name)
    return [path, _timer_path(path)] if manager.kind == SYSTEMD else [path]


def starts(manager: Manager, name: str) -> list[Command]:
    """The commands after which a schedule that was written is in force."""
    if manager.kind == SYSTEMD:
        enable = ("systemctl", "--user", "enable", "--now", _timer_path(unit.file_name(name)))
        return [("systemctl", "--user", "daemon-reload"), enable]
    return manager.starts(name, True)


def ends(manager: Manager, name: str) -> list[Command]:
    """The commands that end it, before its files go."""
    if manager.kind == SYSTEMD:
        return [("systemctl", "--user", "disable", "--now", _timer_path(unit.file_name(name)))]
    return manager.ends(name)


def _timer_path(path: str) -> str:
    return path.removesuffix(unit.SUFFIX) + TIMER


def _unit(schedule: Schedule) -> str:
    job = schedule.jobs[0]
    return "\n".join(
        [
            *("[Unit]", f"Description=guard: evaluates the loop {schedule.name}", "", "[Service]", "Type=oneshot"),
            *unit.surroundings(job),
            *(f"ExecStart=-{unit.command(each.argv)}" for each in schedule.jobs),
            *("NoNewPrivileges=yes", "RestrictRealtime=yes", "LimitCORE=0", ""),
        ]
    )


def _timer(schedule: Schedule) -> str:
    """The timer. Persistent: what was missed while the machine was off is made up for."""
    head = ["[Unit]", f"Description=guard: evaluates the loop {schedule.name}, {schedule.every}", ""]
    when = ["[Timer]", f"OnCalendar={schedule.every}", "Persistent=yes", "RandomizedDelaySec=10min", ""]
    return "\n".join([*head, *when, "[Install]", "WantedBy=timers.target", ""])


def _calendar(schedule: Schedule, log: str) -> str:
    job = schedule.jobs[0]
    values = {
        "Label": plist.label(schedule.name),
        "ProgramArguments": ["/bin/sh", "-c", "; ".join(_line(each.argv) for each in schedule.jobs)],
        "WorkingDirectory": job.directory,
        "EnvironmentVariables": dict(job.environ),
        "StartCalendarInterval": CALENDARS[schedule.every],
        "ProcessType": "Background",
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    return plistlib.dumps(values).decode()


def _line(argv: Sequence[str]) -> str:
    return " ".join(map(posix, argv))
