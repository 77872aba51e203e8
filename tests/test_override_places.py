"""Where an agent might find a terminal or a later hour: a real tmux, its own pseudo terminals, programs that run things later."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from guard import grants
from guard.actor import Process, Surroundings, typed
from guard.hot.judgement import decide
from tests import client, pseudo_terminal
from tests.test_grants import environment, refused, state, top

__all__ = ["top"]

TMUX = shutil.which("tmux", path=pseudo_terminal.PATH)
AT, ATD = (shutil.which(name, path=f"{pseudo_terminal.PATH}:/usr/sbin") for name in ("at", "atd"))
needs_tmux = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
REFUSED = "Only a person may do that"
PATIENCE = 15.0  # seconds


class Window:
    """A tmux server of a person's, with one window in which a shell waits."""

    def __init__(self, top: Path, socket: str) -> None:
        self.top = top
        self.argv = [str(TMUX), "-S", socket, "-f", "/dev/null"]
        self.environ = environment(top)
        words = [*self.argv, "new-session", "-d", "-x", "120", "-y", "40", "echo ready; exec /bin/sh"]
        subprocess.run(words, cwd=top, env=self.environ, check=True, timeout=30, stdin=subprocess.DEVNULL)

    def agent(self, *words: str) -> str:
        """What tmux answers to an agent."""
        done = client.run([*self.argv, *words], self.top, environment(self.top), self.top.parent / "client")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shows(self) -> str:
        argv = [*self.argv, "capture-pane", "-p", "-J", "-t", "0"]
        return subprocess.run(argv, env=self.environ, capture_output=True, text=True, timeout=30).stdout

    def until(self, pattern: str) -> re.Match[str]:
        """Waits for a text in the window."""
        end = time.monotonic() + PATIENCE
        while (found := re.search(pattern, self.shows())) is None:
            assert time.monotonic() < end, self.shows()
            time.sleep(0.05)
        return found

    def watched(self, **options: object) -> threading.Thread:
        """A person's terminal in which the window is shown, until the server ends."""
        argv = [*self.argv, "attach"]
        place = self.top.parent
        thread = threading.Thread(target=pseudo_terminal.run, args=(argv, self.top, self.environ, place), kwargs=options)
        thread.start()
        end = time.monotonic() + PATIENCE
        while not self.clients():
            assert time.monotonic() < end
            time.sleep(0.02)
        return thread

    def clients(self) -> str:
        argv = [*self.argv, "list-clients", "-F", "#{client_tty}"]
        return subprocess.run(argv, env=self.environ, capture_output=True, text=True, timeout=30).stdout

    def close(self) -> None:
        subprocess.run([*self.argv, "kill-server"], env=self.environ, capture_output=True, timeout=30)


@pytest.fixture
def window(top: Path) -> Iterator[Window]:
    with tempfile.TemporaryDirectory(prefix="guard-") as directory:  # the path of a socket has to be short
        made = Window(top, f"{directory}/s")
        try:
            yield made
        finally:
            made.close()


def allow(name: str) -> str:
    return f"{sys.executable} -m guard allow {name}"


@needs_tmux
def test_what_an_agent_types_into_a_window_that_nobody_looks_at_is_refused(window: Window) -> None:
    name = refused(window.top, "rm CLAUDE.md")
    window.agent("send-keys", "-t", "0", allow(name), "Enter")
    window.until(REFUSED)
    assert grants.known(state(window.top), False) == []


@needs_tmux
def test_what_an_agent_types_into_a_window_that_a_person_looks_at_is_refused(window: Window) -> None:
    """It reads the four letters off the window, too; but nobody has pressed a key."""
    watching = window.watched(silent=True)
    time.sleep(max(0.0, 1.02 - time.time() % 1))  # tmux counts whole seconds, and opening the window is as good as a key
    name = refused(window.top, "rm CLAUDE.md")
    window.agent("send-keys", "-t", "0", allow(name), "Enter")
    letters = window.until(r"Type ([a-z]{4}) to go on")[1]
    window.agent("send-keys", "-t", "0", letters, "Enter")
    window.until(REFUSED)
    assert grants.known(state(window.top), False) == []
    window.close()
    watching.join(PATIENCE)


@needs_tmux
def test_a_person_in_a_window_of_tmux_is_one(window: Window) -> None:
    name = refused(window.top, "rm CLAUDE.md")
    watching = window.watched(says={"ready": f"{allow(name)}; echo ended $?"})
    assert window.until(r"(?m)^ended (\d)")[1] == "0", window.shows()
    window.close()
    watching.join(PATIENCE)
    assert [grant.id for grant in grants.known(state(window.top), False)] == [name]


@pytest.mark.parametrize(
    "command",
    [
        "tmux send-keys -t 0 'guard allow r7f3' Enter",
        "tmux -S /x/s send-keys -t main:1 -l 'pathguard suspend 5m --reason x'",
        "tmux send -t 0 guard Space allow Space r7f3 Enter",
        "tmux new-window -d 'guard allow r7f3'",
        "tmux respawn-pane -k 'guard allow r7f3'",
        "echo guard allow r7f3 | at now + 1 minute",
        "at now <<< 'guard allow --path CLAUDE.md --reason x'",
        "batch <<E\nguard suspend 5m --reason x\nE",
        "echo '* * * * * guard allow r7f3' | crontab -",
        "script -qec 'guard allow r7f3' /dev/null",
        "(sleep 1; guard allow r7f3) &",
        "setsid -f guard allow r7f3",
        "env -i /usr/bin/guard allow r7f3",
        "python3 -c \"import pty; pty.spawn(['guard', 'allow', 'r7f3'])\"",
    ],
)
def test_none_of_them_gets_past_the_text_layer(command: str, top: Path) -> None:
    found = decide(command, str(top), environment(top), attended=False, record=False)
    assert found.verdict.decision == "deny", found.verdict


OWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
ORPHAN = '("$@" > said 2>&1 &); until [ -s said ]; do sleep 0.05; done; cat said; exit 1'
WAYS: dict[str, Callable[[list[str]], list[str]]] = {
    "with a cleared environment": lambda argv: ["/usr/bin/env", "-i", *_given(), *argv],
    "in a session of its own": lambda argv: ["/usr/bin/setsid", "-w", *argv],
    "in a terminal of its own": lambda argv: [sys.executable, "-c", OWN, *argv],
    "through script": lambda argv: ["/usr/bin/script", "-qec", " ".join(argv), "/dev/null"],
    "in the background": lambda argv: ["/bin/sh", "-c", '"$@" & wait $!', "sh", *argv],
    "as an orphan": lambda argv: ["/bin/sh", "-c", ORPHAN, "sh", *argv],
}


def _given() -> list[str]:
    return [f"PYTHONPATH={pseudo_terminal.ROOT}", "HOME=$HOME", "LC_ALL=C.UTF-8"]


@pytest.mark.parametrize("way", WAYS)
def test_an_agents_shell_lets_nothing_pass(way: str, top: Path) -> None:
    name = refused(top, "rm CLAUDE.md")
    argv = [word.replace("$HOME", str(top.parent / "home")) for word in WAYS[way]([sys.executable, "-m", "guard", "allow", name])]
    if not Path(argv[0]).exists():
        pytest.skip(f"there is no {argv[0]}")
    seen = client.run(argv, top, environment(top), top.parent / "client")
    assert (seen.returncode, REFUSED in seen.stdout + seen.stderr) == (1, True), seen
    assert grants.known(state(top), False) == []


@pytest.mark.parametrize("program", ["atd", "cron", "crond"])
def test_what_was_left_for_later_lets_nothing_pass(program: str, top: Path) -> None:
    """Nothing of the agent is left by then: no mark, no process above; and no terminal either."""
    name = refused(top, "rm CLAUDE.md")
    seen = client.run(["/bin/sh", "-c", allow(name)], top, environment(top), top.parent / "later", name=program)
    assert (seen.returncode, REFUSED in seen.stderr) == (1, True), seen
    assert grants.known(state(top), False) == []


@pytest.mark.skipif(os.environ.get("GUARD_E2E") != "1", reason="a job in the system's own queue: only with GUARD_E2E=1")
@pytest.mark.skipif(os.geteuid() != 0 or not (AT and ATD), reason="needs root, at and atd")
def test_a_job_of_the_real_at_lets_nothing_pass(top: Path) -> None:
    name = refused(top, "rm CLAUDE.md")
    said = top.parent / "said"
    job = f"cd {shlex.quote(str(top))}\n{allow(name)} > {said} 2>&1; echo status $? >> {said}\n"
    client.run([str(AT), "-M", "now"], top, environment(top), top.parent / "client", given=job)
    end = time.monotonic() + PATIENCE
    while not said.exists() or "status" not in said.read_text():
        assert time.monotonic() < end, "the job has not run"
        subprocess.run([str(ATD), "-s"], check=True, timeout=30)  # looks at the queue once, and is no daemon
        time.sleep(0.2)
    assert (REFUSED in said.read_text(), said.read_text().split()[-1]) == (True, "1")
    assert grants.known(state(top), False) == []


def test_a_key_that_was_pressed_before_the_letters_were_shown_does_not_count() -> None:
    at_home = Surroundings((Process(9, ("sh",), session=9), Process(1, ("xterm",))), True, True, "/dev/pts/1")
    window = Surroundings((Process(8, ("sh",), session=8), Process(2, ("tmux: server",))), True, True, "/dev/pts/2")
    for keyed, counts in ((0, False), (99, False), (100, True), (101, True)):
        assert typed(window._replace(watching=(at_home._replace(keyed=keyed),)), 100.9) is counts
    assert not typed(window, 0)
    assert not typed(window._replace(watching=(at_home._replace(line=(), keyed=200),)), 100)
    assert typed(at_home, 100)
