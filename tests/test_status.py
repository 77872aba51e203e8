"""`guard status`: one screen that says how things stand here."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from guard import log
from guard.health.canary import PREFIX
from guard.health.vault import ago
from tests import installed
from tests.installed import Installed


@pytest.fixture
def project(tmp_path: Path) -> Installed:
    return installed.bare(tmp_path.resolve())


def told(found: Installed, *arguments: str, status: int = 0) -> dict[str, Any]:
    done = found.guard("status", "--json", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def test_the_screen_names_the_project_and_every_layer(project: Installed) -> None:
    done = project.guard("status")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == str(project.top)
    assert re.findall(r"^  (\w+) ", done.stdout, re.MULTILINE) == ["policy", "state", "agents", "shims", "git", "vault"]


def test_refusals_and_restores_are_listed_with_their_ids(project: Installed) -> None:
    refused = project.guard("check", "--", "rm -rf specs")
    name = refused.stderr[refused.stderr.rindex("[") + 1 : refused.stderr.rindex("]")]
    program = "import shutil; shutil.rmtree('specs')"
    restored = project.guard("exec", "--", sys.executable, "-c", program)
    assert restored.returncode == 4, restored.stderr
    found = told(project)
    assert [event["id"] for event in found["refused"]] == [name]
    assert [(event["layer"], event["total"]) for event in found["restored"]] == [("exec", 2)]
    screen = project.guard("status").stdout
    assert re.search(rf"last refused\n    {name}  just now .*rm -rf specs\n +specs/a.md  specs/b.md\n", screen)
    assert "last restored" in screen


def test_what_happened_in_another_project_is_not_listed(project: Installed, tmp_path: Path) -> None:
    other = installed.Installed(tmp_path.resolve() / "other", project.home)
    installed.project(other.top)
    other.guard("check", "--", "rm -rf specs")
    assert told(project)["refused"] == []
    assert len(told(other)["refused"]) == 1


def test_selftests_and_old_news_are_not_listed(project: Installed) -> None:
    project.guard("check", "--", "rm -rf specs")
    event = next(log.read(str(project.state)))
    (project.state / "decisions.jsonl").unlink()
    log.append({**event, "id": "a2bc", "time": time.time() - 30 * 86400}, str(project.state))
    log.append({**event, "id": "b3cd", "cwd": f"{project.top}/{PREFIX}x"}, str(project.state))
    log.append({**event, "id": "c4de", "victims": "none"}, str(project.state))
    log.append({"id": "d5ef"}, str(project.state))
    assert told(project)["refused"] == []


def test_the_client_of_a_hook_is_named(project: Installed) -> None:
    project.guard("check", "--", "rm -rf specs")
    event = next(log.read(str(project.state)))
    log.append({**event, "id": "a2bc", "layer": "hook:gemini:run_shell_command"}, str(project.state))
    assert [row["client"] for row in told(project)["refused"]] == ["gemini", None]


def test_only_the_last_few_are_listed(project: Installed) -> None:
    for _ in range(7):
        project.guard("check", "--", "rm -rf specs")
    assert len(told(project)["refused"]) == 5


def test_a_layer_that_does_not_hold_shows_and_counts(project: Installed) -> None:
    (project.top / "guard.toml").write_text("[protect\n")
    assert told(project, status=1)["layers"]["policy"] == "off"
    done = project.guard("status")
    assert (done.returncode, "guard.toml:1" in done.stdout, "guard doctor" in done.stdout) == (1, True, True)


def test_quiet_is_quiet(project: Installed) -> None:
    done = project.guard("status", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (project.top / "guard.toml").write_text("[protect\n")
    done = project.guard("status", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_suspension_stands_on_the_screen(project: Installed) -> None:
    import os

    from guard import granting
    from guard.grants import SUSPENSION, Grant

    now = time.time()
    grant = Grant(granting.new_name(), SUSPENSION, str(project.top), now, now + 600, {}, reason="moving house", user=os.getuid())
    granting.give(grant, str(project.state), False)
    assert "moving house" in project.guard("status").stdout


def test_what_is_let_pass_for_now_stands_on_the_screen(project: Installed) -> None:
    import os

    from guard import granting
    from guard.grants import CALL, Grant

    now = time.time()
    victims = {str(project.top / "specs/a.md"): "delete-kept"}
    grant = Grant(granting.new_name(), CALL, str(project.top), now, now + 600, victims, id="a2bc", user=os.getuid())
    granting.give(grant, str(project.state), False)
    assert re.search(r"let pass, for now\n    a2bc +until \d\d:\d\d  specs/a.md", project.guard("status").stdout)
    assert [row["id"] for row in told(project)["grants"]] == ["a2bc"]


def test_a_command_for_people_that_was_refused_to_an_agent_heads_nothing(project: Installed) -> None:
    project.guard("check", "--", "rm -rf specs")
    event = next(log.read(str(project.state)))
    log.append({**event, "id": "a2bc", "layer": "override", "command": "guard uninstall"}, str(project.state))
    assert [row["id"] for row in told(project)["refused"]] == [event["id"]]


def test_it_changes_nothing(project: Installed) -> None:
    before = sorted(map(str, project.home.rglob("*")))
    project.guard("status")
    assert sorted(map(str, project.home.rglob("*"))) == before


def test_outside_of_any_project_it_says_so(project: Installed) -> None:
    done = project.guard("status", cwd=project.home)
    assert (done.returncode, "lies in no project" in done.stdout) == (0, True)
    assert told(project, "--cwd", str(project.home))["root"] is None


def test_names_that_a_terminal_would_act_upon_are_made_visible(project: Installed) -> None:
    project.guard("check", "--", "rm -rf specs '\x1b[31mred'")
    assert "\x1b" not in project.guard("status").stdout


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "in the future"), (0, "just now"), (59, "just now"), (60, "1 minute ago"), (7199, "1 hour ago"),
        (7200, "2 hours ago"), (86400, "1 day ago"), (864000, "10 days ago"),
    ],
)  # fmt: skip
def test_spans_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert ago(seconds) == text
