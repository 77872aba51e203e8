"""The service below a real systemd: an instance of the user's, in a mount namespace of its own. GUARD_SYSTEMD=1, as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SYSTEMD = "/lib/systemd/systemd"
pytestmark = pytest.mark.skipif(
    not os.environ.get("GUARD_SYSTEMD") or os.getuid() != 0 or not os.path.exists(SYSTEMD) or shutil.which("unshare") is None,
    reason="set GUARD_SYSTEMD=1 as root, where systemd is installed",
)
SCRIPT = """
set -e
mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/system /run/user/0; chmod 700 /run/user/0
{systemd} --user >"$HOME/log" 2>&1 & manager=$!
trap 'kill $manager; sleep 1; kill -9 $manager 2>/dev/null || :' EXIT
for _ in $(seq 50); do systemctl --user is-system-running >/dev/null 2>&1 && break; sleep 0.2; done
guard="{python} -P -m guard"
is() {{ systemctl --user show guard-$1.service -p $2 --value; }}
becomes() {{
  for _ in $(seq 150); do [ "$(is $1 $2)" = "$3" ] && return; sleep 0.2; done
  echo "$1 $2 is $(is $1 $2), not $3"; exit 1
}}
state() {{ echo $HOME/.local/state/guard/loops/*; }}
$guard service install --name one --now --no-plan --restart-delay 1s -- ./agent
becomes one ActiveState active
becomes one StatusText "the runner is in EXECUTE"
$guard service status --name one
kill -9 $(cut -d' ' -f1 $(state)/lock)
sleep 3; becomes one ActiveState active; [ "$(is one NRestarts)" = 0 ]
grep -q '"why":"signal 9"' $(state)/supervisor/journal.jsonl
kill -9 $(is one MainPID); becomes one NRestarts 1; becomes one ActiveState active
mkdir -p $HOME/.config/systemd/user/guard-one.service.d
printf '[Service]\\nWatchdogSec=4s\\n' > $HOME/.config/systemd/user/guard-one.service.d/w.conf
systemctl --user daemon-reload; systemctl --user restart guard-one.service; becomes one ActiveState active
kill -STOP $(is one MainPID); becomes one NRestarts 1; becomes one ActiveState active
systemctl --user stop guard-one.service
[ "$(is one ActiveState) $(is one ExecMainStatus)" = "inactive 143" ]
! pgrep -f "^/bin/sh ./agent"
$guard service install --name two --now --no-plan -n 1 -- ./agent
becomes two ExecMainStatus 2; sleep 6; [ "$(is two NRestarts)" = 0 ]
[ ! -e leaked ]
echo held
"""


def test_the_service_is_kept_at_work_ends_well_and_is_not_started_again_after_an_end(tmp_path: Path) -> None:
    (tmp_path / "project/src").mkdir(parents=True)
    agent = tmp_path / "project/agent"
    agent.write_text(
        '#!/bin/sh\n[ -z "$NOTIFY_SOCKET$WATCHDOG_USEC" ] || echo x > leaked\nsleep 3; date +%N >> src/a; echo did\n'
    )
    agent.chmod(0o755)
    (tmp_path / "project/PROMPT.md").write_text("go on\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": "/run/user/0", "LC_ALL": "C.UTF-8"}
    script = SCRIPT.format(systemd=SYSTEMD, python=sys.executable)
    argv = ["unshare", "-m", "--propagation", "private", "sh", "-c", script]
    done = subprocess.run(argv, cwd=tmp_path / "project", env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.endswith("held\n"), done.stdout + done.stderr
