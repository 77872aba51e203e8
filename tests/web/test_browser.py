"""The page in a real browser, with GUARD_E2E=1: what is shown within two seconds, what is pressed, what is refused, and axe-core.

GUARD_E2E_PAGES names a directory with playwright-core and axe-core in its node_modules; Chromium is Debian's.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests import pseudo_terminal

MODULES = f"{os.environ.get('GUARD_E2E_PAGES', '')}/node_modules"
CHROMIUM, NODE = shutil.which("chromium"), shutil.which("node")
there = bool(os.environ.get("GUARD_E2E")) and os.path.isdir(f"{MODULES}/playwright-core") and bool(CHROMIUM and NODE)
ROOT = Path(__file__).parent.parent.parent
LATEST_MS = 2000
AGENT = """#!/bin/sh
echo "<img src=x onerror=alert(1)> looked at it"; echo x >> work.txt
n=$(wc -l < work.txt); [ "$n" -lt 4 ] || sleep 100
"""


@pytest.mark.skipif(not there, reason="needs GUARD_E2E=1, chromium, node, and the modules in GUARD_E2E_PAGES")
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    state, tree, place = tmp_path / "state", tmp_path / "parser", tmp_path / "terminal"
    for directory in (tree, place, place / "home"):
        directory.mkdir()
    (tree / "agent").write_text(AGENT)
    (tree / "agent").chmod(0o755)
    clean = {"HOME": str(place / "home"), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "GUARD_STATE_DIR": str(state)}
    subprocess.run(["git", "init", "-q", tree], check=True, env=clean)
    words = [sys.executable, "-m", "guard", "loop", "-n", "9", "--no-plan", "--", str(tree / "agent")]
    runner = subprocess.Popen(
        words, cwd=tree, env=clean, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        seen = _driven(place, state)
    finally:
        runner.send_signal(signal.SIGTERM)
        runner.wait(20)
    assert seen["without"] == "Sign in"
    assert seen["violations"] == []
    assert [found for found in seen["axe"] if found[2] in ("serious", "critical", "broken")] == []
    assert not [error for error in seen["errors"] if "401" not in error]
    assert (seen["wide"], seen["narrow"]) == (360, 360)
    assert seen["readable"] == ""
    assert (seen["cookie"]["httpOnly"], seen["cookie"]["sameSite"]) == (True, "Strict")
    assert seen["foreign"] == ["refused"] * 3
    assert '"reason": "from the page"' in seen["paused"]
    assert '"mode": "manual"' in seen["manual"]
    assert {key: ms for key, ms in seen["took"].items() if ms > LATEST_MS and key != "machine resumed by the command line"} == {}


def _driven(place: Path, state: Path) -> dict[str, Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = place / "said"
    argv = ["/bin/sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-m", "tests.web.served", str(state), str(port), str(said)]
    environ = pseudo_terminal.environment(place / "home", GUARD_STATE_DIR=str(state))
    shown = threading.Thread(target=pseudo_terminal.run, args=(argv, ROOT, environ, place), kwargs={"seconds": 100})
    shown.start()
    end = time.monotonic() + 20
    while not (said.exists() and "#" in said.read_text()):
        assert time.monotonic() < end, "it says no link"
        time.sleep(0.05)
    link = next(word for word in said.read_text().split() if "#" in word)
    person = ["env", "-i", "PATH=/usr/bin:/bin", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.web.person"]
    config = {
        "modules": MODULES,
        "chromium": CHROMIUM,
        "profile": str(place / "profile"),
        "link": link,
        "base": link.partition("#")[0],
        "loop": "parser",
        "person": [*person, str(place), str(state), str(place.parent)],
        "shots": os.environ.get("GUARD_E2E_SHOTS"),
    }
    (place / "config.json").write_text(json.dumps(config))
    try:
        script = Path(__file__).parent / "browser.mjs"
        environ = {"HOME": str(place / "home"), "PATH": os.environ["PATH"]}
        run = subprocess.run([str(NODE), script, place / "config.json"], capture_output=True, text=True, timeout=90, env=environ)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)  # type: ignore[no-any-return]
    finally:
        os.kill(int(said.with_suffix(".pid").read_text()), signal.SIGINT)
        shown.join()
