"""The unit of systemd that runs a job as a service of the user (systemd.service(5), systemd.exec(5))."""

from __future__ import annotations

from collections.abc import Sequence

from guard.service.job import ALIVE_S, DOCUMENTED, RESTART_S, SIGNALLED, START_S, STOP_S, Job

SUFFIX = ".service"


def file_name(name: str) -> str:
    """The name of the unit's file."""
    return f"guard-{name}{SUFFIX}"


def text(job: Job) -> str:
    """The unit.

    Hardening goes as far as an agent does not notice it: it compiles, installs packages into its project, runs other people's
    tools. OOMPolicy: a compiler that needs too much memory is killed alone, not the loop with it.
    """
    return "\n".join(
        [
            "[Unit]",
            f"Description=guard: the loop {job.name}",
            "",
            "[Service]",
            "Type=notify",
            "NotifyAccess=main",
            *surroundings(job),
            f"ExecStart={command(job.argv)}",
            f"EnvironmentFile=-%E/guard/{job.name}.env",
            "Restart=on-failure",
            f"RestartSec={RESTART_S}s",
            f"RestartPreventExitStatus={' '.join(map(str, DOCUMENTED))}",
            f"SuccessExitStatus={' '.join(map(str, SIGNALLED))}",
            f"WatchdogSec={ALIVE_S}s",
            f"TimeoutStartSec={START_S}s",
            f"TimeoutStopSec={STOP_S}s",
            "KillMode=mixed",
            "OOMPolicy=continue",
            "NoNewPrivileges=yes",
            "RestrictRealtime=yes",
            "LimitCORE=0",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )


def surroundings(job: Job) -> list[str]:
    """The lines that say where a job runs, and with what environment."""
    own = [f"Environment={_quoted(f'{key}={value}', variables=False)}" for key, value in job.environ.items()]
    return [f"WorkingDirectory={_specifiers(job.directory)}", *own]


def command(argv: Sequence[str]) -> str:
    """A command line as systemd reads it back."""
    return " ".join(map(_quoted, argv))


def _quoted(word: str, variables: bool = True) -> str:
    """A word as systemd reads it back, quoted; `variables`: where $ would begin one."""
    plain = _specifiers(word).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain.replace("$", "$$") if variables else plain}"'


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")
