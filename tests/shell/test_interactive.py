"""Programs that wait for what is typed, and those that have been given all they need."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from guard.effects import OPEN_SHELL
from guard.shell.analyse import analyse
from guard.shell.interactive import waits
from guard.world import World

WAITING = """
bash
/bin/bash
bash -i
bash --norc --noprofile
bash -l
bash -o pipefail
bash -s
bash -
zsh -f
python
python3.12
python3 -q
python3 -i script.py
python3 -
ipython
node
node -i
perl
ruby
irb
vim notes.md
sqlite3 data.db
gdb program
psql
su
su - user
sudo -i
sudo -s
screen
tmux
tmux new
script log
""".strip().splitlines()
GIVEN = """
bash -c ls
bash -lc ls
bash build.sh
bash -x build.sh -i
bash --version
bash -n build.sh
python3 -c pass
python3 script.py
python3 -m pytest -q
python3 -V
node server.js
node -e 1
node --version
perl -pe s/a/b/ file
ruby -e 1
vim -es -c wq file
sqlite3 data.db .tables
gdb -batch program
psql -c select
su -c ls
sudo ls
tmux new -d
screen -dm make
ls
cat
""".strip().splitlines()


@pytest.mark.parametrize("command", WAITING)
def test_waits(command: str) -> None:
    assert waits(tuple(shlex.split(command)))


@pytest.mark.parametrize("command", GIVEN)
def test_has_what_it_needs(command: str) -> None:
    assert not waits(tuple(shlex.split(command)))


def opened(command: str, tmp_path: Path, typing: bool = True) -> bool:
    found = analyse(command, str(tmp_path), World({"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}), typing)
    return any(effect.action == OPEN_SHELL for effect in found.effects)


@pytest.mark.parametrize(
    "command",
    [
        *("bash", "ls; bash", "cd / && exec bash", "env bash", "timeout 9 bash", "(bash)", "f() { bash; }; f", "eval bash"),
        *("cat | bash", "tee log | sh", 'eval "$(cat)"', 'read x; eval "$x"', "read x; $x", "bash < /dev/tty", "bash <&0"),
        *("bash -c bash", "find . -maxdepth 0 -exec bash \\;", "nohup bash &", "true | true; bash", "if true; then bash; fi"),
    ],
)
def test_whoever_may_type_opens_a_shell(command: str, tmp_path: Path) -> None:
    assert opened(command, tmp_path)
    assert not opened(command, tmp_path, typing=False)


@pytest.mark.parametrize(
    "command",
    [
        "echo ls | bash",
        "bash < /dev/null",
        "bash <<< ls",
        "bash <<E\nls\nE",
        "echo bash",
        "bash -c ls",
        "true | bash",
        "cat",
        "wc -l",
    ],
)
def test_what_is_given_is_no_terminal(command: str, tmp_path: Path) -> None:
    assert not opened(command, tmp_path)
