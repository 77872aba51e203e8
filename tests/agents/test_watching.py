"""What a tool of an agent loses comes back when it is over; what it or anybody else may do stays."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from guard import log
from guard.agents.watching import after, before, ended, leaves_running
from guard.vault import uses
from guard.vault.names import identity
from guard.vault.retention import clear
from guard.vault.store import Vault
from tests.vault.child import forked
from tests.vault.project_tree import FILES, Project, build, commit, run

ROOT = Path(__file__).parents[2]


class Agent:
    """An agent's session in a project."""

    def __init__(self, project: Project, session: str = "s1") -> None:
        self.project = project
        self.top = project.top
        self.session = session
        self.environ = {**os.environ, "GUARD_STATE_DIR": self.state}

    @property
    def state(self) -> str:
        return str(Path(self.project.vault.directory).parent)

    def before(self, use: str, **allowed: object) -> None:
        before(str(self.top), self.environ, self.session, use, **allowed)  # type: ignore[arg-type]

    def after(self, use: str, lingers: bool = False) -> str:
        return after(str(self.top), self.environ, self.session, use, lingers)

    def ended(self, busy: bool = False) -> str:
        return ended(self.environ, self.session, str(self.top), busy)

    def path(self, name: str) -> Path:
        return self.top / name

    def text(self, name: str) -> str:
        return self.path(name).read_text()


@pytest.fixture(params=["git", "plain"])
def agent(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Agent:
    project = build(tmp_path, git=request.param == "git")
    monkeypatch.setenv("GUARD_STATE_DIR", str(tmp_path.resolve() / "state"))
    time.sleep(0.03)  # what is written in the grain of the clock is read again
    return Agent(project)


def test_what_a_tool_deletes_is_back_and_the_model_is_told(agent: Agent) -> None:
    agent.before("t1")
    shutil.rmtree(agent.path("specs"))
    agent.path("CLAUDE.md").unlink()
    said = agent.after("t1")
    assert agent.text("specs/a.md") == FILES["specs/a.md"]
    assert agent.text("CLAUDE.md") == FILES["CLAUDE.md"]
    first, *rest = said.split("\n")
    assert first.startswith("guard: while this tool ran, ")
    assert " protected files were lost and restored. [" in first
    assert any(line.startswith("  deleted: ") and "CLAUDE.md" in line for line in rest)
    assert rest[-1].endswith("Another way to the same loss will be undone too.")


def test_a_loss_is_recorded_with_the_command(agent: Agent) -> None:
    agent.before("t1", command="python3 clean.py")
    agent.path("CLAUDE.md").unlink()
    said = agent.after("t1")
    event = list(log.read(agent.state))[-1]
    assert event["layer"] == "after"
    assert event["command"] == "python3 clean.py"
    assert f"[{event['id']}]" in said
    assert [victim.path for victim in log.decode(event).verdict.victims] == [str(agent.path("CLAUDE.md"))]


@pytest.mark.parametrize("damage", ["empty", "replace", "link", "directory"])
def test_every_other_loss_is_undone_too(agent: Agent, damage: str) -> None:
    path = agent.path("specs/a.md")
    agent.before("t1")
    if damage in ("link", "directory"):
        path.unlink()
    {
        "empty": lambda: path.write_text(""),
        "replace": lambda: path.write_text("something else entirely\n" * 9),
        "link": lambda: path.symlink_to("/dev/null"),
        "directory": path.mkdir,
    }[damage]()
    assert "lost and restored" in agent.after("t1")
    assert not path.is_symlink()
    assert path.read_text() == FILES["specs/a.md"]


def test_nothing_is_said_where_nothing_was_lost(agent: Agent) -> None:
    agent.before("t1")
    agent.path("src/main.py").unlink()
    agent.path("specs/a.md").write_text(FILES["specs/a.md"] + "one more\n")
    agent.path("specs/new.md").write_text("new\n")
    assert agent.after("t1") == ""
    assert agent.text("specs/a.md").endswith("one more\n")
    assert agent.text("specs/new.md") == "new\n"


def test_without_a_beginning_nothing_is_looked_at(agent: Agent) -> None:
    agent.before("t1")
    agent.path("CLAUDE.md").unlink()
    assert agent.after("t2") == ""
    assert not agent.path("CLAUDE.md").exists()


def test_what_changed_between_two_tools_stays_changed(agent: Agent) -> None:
    agent.before("t1")
    assert agent.after("t1") == ""
    agent.path("CLAUDE.md").unlink()
    agent.path("specs/a.md").write_text("a person wrote this\n")
    agent.before("t2")
    assert agent.after("t2") == ""
    assert not agent.path("CLAUDE.md").exists()
    assert agent.text("specs/a.md") == "a person wrote this\n"


def test_a_use_that_never_ended_undoes_nothing_later(agent: Agent) -> None:
    """The person said no to the first tool, so nobody tells its end."""
    agent.before("t1")
    agent.path("CLAUDE.md").unlink()
    agent.before("t2")
    agent.path("specs/a.md").unlink()
    agent.after("t2")
    assert not agent.path("CLAUDE.md").exists()
    assert agent.path("specs/a.md").exists()


def test_edits_become_what_counts(agent: Agent) -> None:
    for number in range(4):
        agent.before(f"t{number}")
        lines = agent.text("specs/a.md").split("\n")
        lines[number * 7 : number * 7 + 7] = [f"new {number} {line}" for line in range(7)]
        agent.path("specs/a.md").write_text("\n".join(lines))
        assert agent.after(f"t{number}") == ""
    assert "new 3 1" in agent.text("specs/a.md")
    assert "line 2 of a" not in agent.text("specs/a.md")
    agent.before("last")
    agent.path("specs/a.md").unlink()
    agent.after("last")
    assert "new 3 1" in agent.text("specs/a.md")


def test_an_approved_tool_may_rewrite_the_whole_file_but_not_empty_it(agent: Agent) -> None:
    path = agent.path("specs/a.md")
    text = "entirely new\n" * 20
    agent.before("t1", writes={str(path): text.encode()})
    path.write_text(text)
    assert agent.after("t1") == ""
    assert path.read_text() == text
    agent.before("t2", writes={str(path): b"again\n" * 20})
    path.write_text("\n\n")
    assert "emptied" in agent.after("t2")
    assert path.read_text() == text


def test_what_was_approved_is_the_text_and_not_the_file(agent: Agent) -> None:
    path = agent.path("specs/a.md")
    agent.before("t1", writes={str(path): b"the approved text\n" * 9})
    path.write_text("quite another one, of which nobody knew\n" * 9)
    assert "overwritten" in agent.after("t1")
    assert path.read_text() == FILES["specs/a.md"]


def test_a_formatter_may_change_what_was_approved(agent: Agent) -> None:
    path = agent.path("specs/a.md")
    agent.before("t1", writes={str(path): b"the approved text\n" * 9})
    path.write_text("The approved text.\n" + "the approved text\n" * 8)
    assert agent.after("t1") == ""
    assert path.read_text().startswith("The")


def test_an_approved_text_that_is_not_known_excuses_the_file(agent: Agent) -> None:
    path = agent.path("specs/a.md")
    agent.before("t1", writes={str(path): None})
    path.write_text("whatever\n" * 9)
    assert agent.after("t1") == ""
    assert path.read_text() == "whatever\n" * 9


def test_what_a_person_agreed_to_lose_is_lost(agent: Agent) -> None:
    agent.before("t1", losses=[str(agent.path("specs/deep"))])
    shutil.rmtree(agent.path("specs/deep"))
    agent.path("CLAUDE.md").unlink()
    assert "CLAUDE.md" in agent.after("t1")
    assert not agent.path("specs/deep").exists()
    assert agent.path("CLAUDE.md").exists()


def test_an_exception_for_the_command_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = build(tmp_path, git=False)
    rule = '[protect]\n[[except]]\ncommand = "make specs"\npaths = ["/specs/"]\nreason = "made again"\n'
    (project.top / "guard.toml").write_text(rule)
    monkeypatch.setenv("GUARD_STATE_DIR", str(tmp_path.resolve() / "state"))
    agent = Agent(project)
    agent.before("t1", command="make specs")
    agent.path("specs/a.md").unlink()
    assert agent.after("t1") == ""
    assert not agent.path("specs/a.md").exists()
    agent.before("t2", command="make all")
    agent.path("specs/deep/b.md").unlink()
    assert "specs/deep/b.md" in agent.after("t2")


def test_tools_that_run_at_once_never_undo_each_others_writes(agent: Agent) -> None:
    path = agent.path("specs/a.md")
    text = "written by the second\n" * 9
    agent.before("slow")
    agent.before("write", writes={str(path): text.encode()})
    path.write_text(text)
    assert agent.after("write") == ""
    assert agent.after("slow") == ""
    assert path.read_text() == text


def test_edits_of_several_tools_add_up_while_another_runs(agent: Agent) -> None:
    agent.before("slow")
    other = Agent(agent.project, "s2")
    for number in range(4):
        other.before(f"t{number}")
        lines = agent.text("specs/a.md").split("\n")
        lines[number * 7 : number * 7 + 7] = [f"new {number} {line}" for line in range(7)]
        agent.path("specs/a.md").write_text("\n".join(lines))
        assert other.after(f"t{number}") == ""
    assert agent.after("slow") == ""
    assert "new 0 1" in agent.text("specs/a.md")
    assert "new 3 1" in agent.text("specs/a.md")


def test_a_loss_amid_others_edits_gives_the_edited_file_back(agent: Agent) -> None:
    agent.before("slow")
    agent.before("edit")
    agent.path("specs/a.md").write_text(FILES["specs/a.md"] + "edited\n")
    assert agent.after("edit") == ""
    agent.path("specs/a.md").unlink()
    assert "while 2 tools ran" in agent.after("slow")
    assert agent.text("specs/a.md") == FILES["specs/a.md"] + "edited\n"


def test_a_loss_during_several_tools_is_told_to_all_of_them(agent: Agent) -> None:
    agent.before("slow")
    agent.before("quick")
    agent.path("CLAUDE.md").unlink()
    said = agent.after("quick")
    assert said.startswith("guard: while 2 tools ran, a protected file was lost and restored.")
    assert agent.text("CLAUDE.md") == FILES["CLAUDE.md"]
    assert agent.after("slow") == said
    assert len([event for event in log.read(agent.state) if event["layer"] == "after"]) == 1


def test_a_loss_before_the_second_tool_began_is_undone_by_the_first(agent: Agent) -> None:
    agent.before("slow")
    agent.path("CLAUDE.md").unlink()
    agent.before("quick")
    assert agent.after("quick") == ""
    assert "CLAUDE.md" in agent.after("slow")
    assert agent.path("CLAUDE.md").exists()


def test_tools_one_after_the_other_are_not_counted_together(agent: Agent) -> None:
    agent.before("t1")
    agent.after("t1")
    agent.before("t2")
    agent.path("CLAUDE.md").unlink()
    assert "while this tool ran" in agent.after("t2")


def test_a_session_that_is_over_forgets_what_never_ended(agent: Agent) -> None:
    agent.before("refused")
    ended(agent.environ, agent.session)
    agent.before("t2")
    agent.path("CLAUDE.md").unlink()
    assert "while this tool ran" in agent.after("t2")
    assert agent.after("refused") == ""


def test_what_crashed_clients_have_left_is_cleared_away(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setattr(uses, "client", lambda: (gone.pid, "12345"))
    agent.before("crashed")
    monkeypatch.undo()
    path = Path(uses.place(agent.state), "s1.crashed")
    os.utime(path, (time.time() - 90, time.time() - 90))
    agent.before("t2")
    assert not path.exists()
    old = Path(uses.place(agent.state), "s1.t2")
    os.utime(old, (time.time() - uses.DAY - 1, 0))
    os.utime(old, (time.time() - uses.DAY - 1,) * 2)
    agent.before("t3")
    assert not old.exists()


def test_records_of_uses_do_not_pile_up(agent: Agent) -> None:
    for number in range(10):
        agent.before(f"t{number}")
        agent.after(f"t{number}")
    assert len(os.listdir(uses.place(agent.state))) <= 1


def test_clearing_leaves_the_snapshots_that_a_running_tool_needs(agent: Agent) -> None:
    agent.before("slow")
    for number in range(30):
        agent.path("specs/new.md").write_text(f"{number}\n")
        agent.project.snapshot()
    vault = Vault(agent.state, str(agent.top))
    clear(vault, size=0)
    agent.path("CLAUDE.md").unlink()
    assert "CLAUDE.md" in agent.after("slow")
    assert agent.path("CLAUDE.md").exists()


def test_without_a_place_for_state_nothing_happens(tmp_path: Path) -> None:
    project = build(tmp_path)
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    if os.path.isdir(f"/run/user/{os.getuid()}"):
        pytest.skip("there is a directory for the user's run time")
    before(str(project.top), environ, "s", "t")
    (project.top / "CLAUDE.md").unlink()
    assert after(str(project.top), environ, "s", "t") == ""


def test_a_disk_that_is_full_is_told_and_stops_no_tool(agent: Agent, capfd: pytest.CaptureFixture[str]) -> None:
    Path(agent.state).mkdir()
    Path(agent.state, identity(str(agent.top))).write_text("in the way")
    agent.before("t1")
    assert "no copies of the protected files could be taken" in capfd.readouterr().err
    assert agent.after("t1") == ""


@pytest.mark.parametrize("names", [("", ""), ("a/../b", "c"), ("s" * 300, "t"), ("s\n", "\ud800"), ("s.t", "u")])
def test_names_of_uses_may_be_anything(agent: Agent, names: tuple[str, str]) -> None:
    session, use = names
    before(str(agent.top), agent.environ, session, use)
    agent.path("CLAUDE.md").unlink()
    assert "CLAUDE.md" in after(str(agent.top), agent.environ, session, use)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"v": 1}', b'{"v": 99}', b"\xff\xfe", b"[" * 5000])
def test_a_damaged_record_is_none(agent: Agent, content: bytes) -> None:
    agent.before("t1")
    Path(uses.place(agent.state), "s1.t1").write_bytes(content)
    Path(uses.place(agent.state), "s1.t2").write_bytes(content)
    assert agent.after("t1") == ""


def test_a_snapshot_that_is_gone_is_told(agent: Agent) -> None:
    agent.before("t1")
    shutil.rmtree(f"{agent.project.vault.directory}/manifests")
    agent.path("CLAUDE.md").unlink()
    assert "could not be checked" in agent.after("t1")


def test_a_switch_of_branches_is_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = build(tmp_path)
    monkeypatch.setenv("GUARD_STATE_DIR", str(tmp_path.resolve() / "state"))
    agent = Agent(project)
    run(project.top, "checkout", "-q", "--orphan", "empty")
    run(project.top, "rm", "-rfq", "--cached", ".")
    shutil.rmtree(agent.path("specs"))
    run(project.top, "add", "README.md")
    commit(project.top, "empty")
    run(project.top, "checkout", "-qf", "main")
    agent.before("t1")
    run(project.top, "checkout", "-qf", "empty")
    assert agent.after("t1") == ""
    assert not agent.path("specs/a.md").exists()


def test_a_commit_between_two_tools_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is committed by then may leave with a branch; the snapshot has to know that."""
    project = build(tmp_path)
    monkeypatch.setenv("GUARD_STATE_DIR", str(tmp_path.resolve() / "state"))
    time.sleep(0.03)
    agent = Agent(project)
    agent.before("t1")
    agent.after("t1")
    run(project.top, "branch", "other")
    agent.before("t2")
    newest = agent.project.vault.newest()
    assert newest is not None
    assert newest.head.git.commit in newest.head.git.held
    agent.path("specs/a.md").write_text(FILES["specs/a.md"] + "more\n")
    run(project.top, "commit", "-qam", "second")
    agent.before("t3")
    newest = agent.project.vault.newest()
    assert newest is not None
    assert len(newest.head.git.held) == 2
    run(project.top, "checkout", "-q", "other")
    assert agent.after("t3") == ""
    assert agent.text("specs/a.md") == FILES["specs/a.md"]


def test_a_file_that_another_tool_is_writing_is_left_to_that(agent: Agent) -> None:
    path = agent.path("specs/a.md")
    agent.before("slow")
    agent.before("write", writes={str(path): b"new\n" * 30})
    path.write_text("")  # it has only opened the file yet
    writing = threading.Timer(0.1, path.write_text, ["new\n" * 30])
    writing.start()
    assert agent.after("slow") == ""
    writing.join()
    assert agent.after("write") == ""
    assert path.read_text() == "new\n" * 30


def test_a_file_of_the_same_content_that_another_tool_creates_is_no_place_where_a_lost_one_went(agent: Agent) -> None:
    mine, other = agent.path("specs/template.md"), agent.path("specs/copy-of-another.md")
    mine.write_text("template\n")
    agent.before("t1")
    Agent(agent.project, "s2").before("t2")
    other.write_text("template\n")
    mine.unlink()
    assert "template.md" in agent.after("t1")
    assert mine.read_text() == other.read_text() == "template\n"


def test_what_a_tool_renames_while_another_runs_stays_renamed(agent: Agent) -> None:
    agent.before("t1")
    Agent(agent.project, "s2").before("t2")
    agent.path("specs/a.md").rename(agent.path("specs/renamed.md"))
    assert agent.after("t1") == ""
    assert not agent.path("specs/a.md").exists()


def test_many_agents_at_once_keep_what_they_wrote_and_lose_nothing(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guard.vault.settle.PATIENCE", 120.0)  # however busy the machine is
    count = int(os.environ.get("GUARD_AT_ONCE", "5"))
    for number in range(count):
        agent.path(f"specs/own-{number}.md").write_text("own\n" * 30)

    def work(number: int) -> None:
        mine = Agent(agent.project, f"s{number}")
        own, doomed = mine.path(f"specs/own-{number}.md"), mine.path(f"specs/doomed-{number}.md")
        doomed.write_text("doomed\n")
        for turn in range(3):
            text = f"{number} writes {turn}\n" * 30
            mine.before(f"w{turn}", writes={str(own): text.encode()})
            own.write_text(text)
            mine.after(f"w{turn}")
            mine.before(f"b{turn}")
            with open(mine.path("memory/lessons.md"), "a") as file:
                file.write(f"{number} {turn}\n")
            doomed.unlink()
            mine.after(f"b{turn}")
            assert doomed.read_text() == "doomed\n"
            assert own.read_text() == text

    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            os._exit(forked(lambda number=number: work(number)) != 0)  # type: ignore[misc]
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * count
    lines = agent.text("memory/lessons.md").split("\n")
    assert {f"{number} {turn}" for number in range(count) for turn in range(3)} <= set(lines)


@pytest.mark.parametrize("how", ["told before", "told after", "in its text"])
def test_what_goes_on_in_the_background_is_looked_after_at_the_next_tool(agent: Agent, how: str) -> None:
    agent.before("server", lingers=how == "told before", command="./serve & echo" if how == "in its text" else "./serve")
    assert agent.after("server", lingers=how == "told after") == ""
    agent.path("CLAUDE.md").unlink()
    agent.before("next")
    assert agent.text("CLAUDE.md") == FILES["CLAUDE.md"]
    said = agent.after("next")
    assert said.startswith("guard: while a command ran in the background, a protected file was lost and restored.")
    agent.path("specs/a.md").unlink()
    agent.before("third")
    assert "specs/a.md" in agent.after("third")
    assert agent.text("specs/a.md") == FILES["specs/a.md"]


@pytest.mark.parametrize("busy", [True, False])
def test_what_goes_on_in_the_background_is_looked_after_at_the_end_of_a_turn(agent: Agent, busy: bool) -> None:
    agent.before("server", lingers=True)
    agent.after("server")
    agent.path("CLAUDE.md").unlink()
    assert "CLAUDE.md" in agent.ended(busy)
    assert agent.text("CLAUDE.md") == FILES["CLAUDE.md"]
    assert agent.ended(busy) == ""
    agent.path("CLAUDE.md").unlink()
    agent.before("next")
    assert agent.path("CLAUDE.md").exists() == busy  # who is not busy any more did not do it


def test_a_command_in_the_background_of_another_session_is_left_to_that(agent: Agent) -> None:
    agent.before("server", lingers=True)
    agent.after("server")
    agent.path("CLAUDE.md").unlink()
    other = Agent(agent.project, "s2")
    other.before("t1")
    assert not agent.path("CLAUDE.md").exists()
    assert "CLAUDE.md" in agent.ended()


def test_while_something_goes_on_tools_edit_and_write_as_they_may(agent: Agent) -> None:
    path, text = agent.path("specs/a.md"), "entirely new\n" * 20
    agent.before("server", lingers=True)
    agent.after("server")
    for number in range(3):
        agent.before(f"w{number}", writes={str(path): f"{number} {text}".encode()})
        path.write_text(f"{number} {text}")
        assert agent.after(f"w{number}") == ""
    agent.path("specs/new.md").write_text("new\n")
    assert agent.ended() == ""
    assert path.read_text() == f"2 {text}"


def test_what_is_lost_in_the_background_while_a_tool_runs_is_told_once(agent: Agent) -> None:
    agent.before("server", lingers=True)
    agent.after("server")
    agent.before("t1")
    agent.path("CLAUDE.md").unlink()
    assert "CLAUDE.md" in agent.after("t1")
    agent.before("t2")
    assert agent.after("t2") == ""
    assert agent.ended() == ""


def test_a_background_that_deletes_one_file_after_the_other_loses_none(agent: Agent) -> None:
    names = [agent.path(f"specs/many-{number}.md") for number in range(40)]
    for name in names:
        name.write_text("text\n")
    agent.before("cleaner", lingers=True)
    agent.after("cleaner")
    cleaner = os.fork()
    if cleaner == 0:
        for name in names:
            name.unlink(missing_ok=True)
            time.sleep(0.02)
        os._exit(0)
    while os.waitpid(cleaner, os.WNOHANG) == (0, 0):
        agent.before("t1")
        agent.after("t1")
    agent.ended()
    assert [name for name in names if not name.exists()] == []


@pytest.mark.parametrize(
    ("command", "goes_on"),
    [
        ("npm run dev &", True),
        ("(sleep 9; x) & echo started", True),
        ("bash -c 'x &'", True),
        ("x&\ny", True),
        ("nohup x > log", True),
        ("setsid -f x", True),
        ("a && b", False),
        ("a > log 2>&1", False),
        ("a &> log", False),
        ("a |& b", False),
        ("curl 'http://x/?a=1&b=2'", False),
        ("echo a \\& b", False),
        ("", False),
    ],
)
def test_a_command_that_may_leave_something_running_is_known(command: str, goes_on: bool) -> None:
    assert leaves_running(command) == goes_on


@pytest.mark.parametrize("session", ["s.1", "s/1", "ß"])
def test_sessions_with_any_name_end(agent: Agent, session: str) -> None:
    mine, other = Agent(agent.project, session), Agent(agent.project, session + "2")
    for each in (mine, other):
        each.before("a", lingers=True)
        each.after("a")
        each.before("b")
    mine.ended()
    assert len(os.listdir(uses.place(agent.state))) - os.path.exists(f"{uses.place(agent.state)}/lock") == 2


LOADS = """
import sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
import json
from guard.agents import watching
import os
watching.before(sys.argv[2], os.environ, "s", "t")
watching.after(sys.argv[2], os.environ, "s", "t")
print(*sorted(set(sys.modules) - before))
"""


def test_where_nothing_has_changed_nothing_heavy_is_loaded(agent: Agent) -> None:
    agent.before("t1")
    agent.after("t1")
    time.sleep(0.03)
    agent.before("t1")
    agent.after("t1")
    argv = [sys.executable, "-I", "-S", "-c", LOADS, str(ROOT), str(agent.top)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=agent.environ)
    loaded = set(done.stdout.split())
    assert loaded & set("dataclasses subprocess typing click contextlib pathlib rich".split()) == set()
    assert "guard.vault.snapshot" not in loaded
    assert "guard.vault.verify" not in loaded


def test_the_project_is_read_only_where_it_is_watched(agent: Agent) -> None:
    """Watching leaves nothing in the tree."""
    names = {path: hashlib.sha256(path.read_bytes()).digest() for path in agent.top.rglob("*") if path.is_file()}
    agent.before("t1")
    agent.after("t1")
    assert {path: hashlib.sha256(path.read_bytes()).digest() for path in agent.top.rglob("*") if path.is_file()} == names


@pytest.mark.parametrize("damage", ["delete", "empty"])
def test_a_write_that_nobody_ends_leaves_its_file_guarded(agent: Agent, damage: str) -> None:
    agent.before("refused", writes={str(agent.path("specs/a.md")): b"what the person did not want\n"})
    agent.before("shell")
    agent.path("specs/deep/b.md").unlink()
    if damage == "delete":
        agent.path("specs/a.md").unlink()
    else:
        agent.path("specs/a.md").write_text("")
    said = agent.after("shell")
    assert agent.text("specs/a.md") == FILES["specs/a.md"]
    assert "specs/a.md" in said
