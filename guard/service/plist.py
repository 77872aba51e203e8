"""The property list of launchd that runs a job as an agent of the user (launchd.plist(5))."""

from __future__ import annotations

import plistlib

from guard.service.job import RESTART_S, STOP_S, Job

SUFFIX = ".plist"


def label(name: str) -> str:
    """What launchd calls it."""
    return f"guard.{name}"


def file_name(name: str) -> str:
    """The name of the file."""
    return f"{label(name)}{SUFFIX}"


def text(job: Job, log: str) -> str:
    """The property list. launchd knows no list of statuses that mean an end: only what a signal ended is started again."""
    values = {
        "Label": label(job.name),
        "ProgramArguments": list(job.argv),
        "WorkingDirectory": job.directory,
        "EnvironmentVariables": dict(job.environ),
        "RunAtLoad": True,
        "KeepAlive": {"Crashed": True},
        "ThrottleInterval": RESTART_S,
        "ExitTimeOut": STOP_S,
        "ProcessType": "Standard",
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    return plistlib.dumps(values).decode()
