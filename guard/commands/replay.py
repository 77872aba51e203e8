"""`guard replay`: the policy run over what agents ran and changed in the past, as their clients' own logs have it."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import click
from rich.console import Console
from rich.progress import Progress

from guard import sessions
from guard.commands.output import say
from guard.errors import GuardError
from guard.paths import below
from guard.quoting import posix
from guard.sessions import Call, Log, Reading, judging
from guard.sessions.call import Question
from guard.sessions.judging import Judged
from guard.shown import decodable, place, quoted, short, visible

SINCE = "30d"
UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
SHOWN = 20  # commands of one kind, most recent first; --json has them all
VICTIMS, DIRECTORIES = 4, 5  # that are named
DEPTH, LOOKED_AT = 4, 20  # directories down, and files in each, in which logs are looked for
DENY, ASK, ALLOW = "deny", "ask", "allow"


def run(since: str, clients: Sequence[str], paths: Sequence[str], as_json: bool) -> int:
    """Prints what guard would have said to the commands since a moment; exit status 0 whatever that is.

    Paths that are files are logs to read instead of those in their places; of the commands, those that ran in or below the
    paths that are directories count.
    """
    start = moment(since)
    folders = [os.path.realpath(path) for path in paths if os.path.isdir(path)]
    logs = _logs([path for path in paths if not os.path.isdir(path)], clients, start)
    reading = Reading()
    calls = _calls(logs, reading, start, folders)
    for folder in folders if not calls else ():
        _tell_logs_in(folder)
    with _bar() as report:
        judged = judging.judge(calls, os.environ, report)
    if as_json:
        print(json.dumps(_fields(calls, judged, reading, logs, start)))
    else:
        _tell(calls, judged, reading, logs, start)
    return 0


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, where that is a terminal."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("judging", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def moment(text: str) -> float:
    """The moment that --since names: a span back from now (30d, 12h, 2w), a date, or "all". Raises GuardError."""
    if text == "all":
        return 0.0
    span = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if span is not None:
        return time.time() - int(span[1]) * UNITS[span[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise GuardError("this is no moment", f"--since {visible(text)}", "say 30d, 12h, 2w, a date, or all") from None


def _logs(files: Sequence[str], clients: Sequence[str], start: float) -> list[Log]:
    """The logs to read: the named ones, or those of the clients that were written since."""
    wanted = clients or tuple(sessions.CLIENTS)
    for name in wanted:
        if name not in sessions.CLIENTS:
            todo = f"name one of {', '.join(sessions.CLIENTS)}"
            raise GuardError("no session logs of this client are known", f"--client {visible(name)}", todo)
    if not files:
        return [log for log in sessions.logs(os.environ, wanted) if log.time >= start]
    return [log for log in map(_named, files) if log.client in wanted]


def _tell_logs_in(folder: str) -> None:
    """Says so where a directory has been named for the logs that it holds."""
    for top, directories, files in os.walk(folder):
        directories[:] = sorted(directories) if top.count("/") - folder.count("/") < DEPTH else []
        for name in sorted(files)[:LOOKED_AT] if top else ():
            path = os.path.join(top, name)
            if name.endswith((".jsonl", ".json")) and _is_log(path):
                near = os.path.dirname(path)
                todo = f"name the files:  guard replay {posix(near)}/*{os.path.splitext(name)[1]}"
                what = "a directory means where agents worked, and this one holds their logs"
                click.echo(f"guard: {visible(folder)}: {what}; {todo}", err=True)
                return


def _is_log(path: str) -> bool:
    try:
        return os.path.isfile(path) and sessions.client_of(path) is not None
    except OSError:
        return False


def _named(path: str) -> Log:
    try:
        client = sessions.client_of(path)
        changed = os.stat(path).st_mtime
    except OSError as error:
        raise GuardError(f"it cannot be read ({error.strerror})", visible(path), "name a session log or a directory") from error
    if client is None:
        known = ", ".join(sessions.CLIENTS)
        raise GuardError(f"it is no session log of {known}", visible(path), "name one, or a directory that agents worked in")
    return Log(os.path.abspath(path), client, changed)


def _calls(logs: Iterable[Log], reading: Reading, start: float, folders: Sequence[str]) -> list[Call]:
    """The calls that count, each once, in the order of time."""
    found: dict[object, Call] = {}
    for log in logs:
        for call in sessions.read(log, reading):
            if call.time < start and call.time:
                continue
            if not folders or any(below(os.path.realpath(call.cwd), folder) for folder in folders if call.cwd):
                found.setdefault((call.client, call.id) if call.id else (len(found), ""), call)
    return sorted(found.values(), key=lambda call: call.time)


def _of(kind: str, calls: Iterable[Call], judged: Judged) -> list[Call]:
    """The calls with this verdict, the newest first."""
    found = [call for call in calls if (answer := judged.answer(call)) is not None and answer["decision"] == kind]
    return found[::-1]


def _tell(calls: Sequence[Call], judged: Judged, reading: Reading, logs: Sequence[Log], start: float) -> None:
    refused, asked = _of(DENY, calls, judged), _of(ASK, calls, judged)
    _tell_sum(calls, refused, asked, logs, start)
    _tell_calls("Refused", DENY, refused, judged)
    _tell_calls("Asked: it could not be told, and protected files were within reach", ASK, asked, judged)
    _tell_rest(judged, reading)
    if calls:
        say("Judged as guard would judge them now, with the files as they are now; nothing was run.")
    if refused or asked:
        say("How a verdict comes about:  guard explain --cwd DIR COMMAND")


def _tell_sum(calls: Sequence[Call], refused: Sequence[Call], asked: Sequence[Call], logs: Sequence[Log], start: float) -> None:
    since = f" since {time.strftime('%Y-%m-%d %H:%M', time.localtime(start))}" if start else ""
    if not calls:
        where = f"{_count(len(logs), 'session log')}{since}" if logs else f"no session log{since}"
        say(f"There is no command to judge: {where} of {', '.join(sessions.CLIENTS)}.")
        return
    clients = ", ".join(f"{name} {number:,}" for name, number in Counter(call.client for call in calls).most_common())
    projects = len({call.cwd for call in calls})
    say(f"{_count(len(logs), 'session')}{since}, {_count(projects, 'directory', 'directories')}: {clients}.")
    said = f"{len(refused):,} would have been refused"
    said += f", {len(asked):,} asked about" if asked else ""
    edits = sum(bool(call.tool) for call in calls)
    what = _count(len(calls) - edits, "command") + (f" and {_count(edits, 'call')} of file tools" if edits else "")
    say((f"{what}, {said}{':' if refused or asked else '.'}", "bold"))


def _tell_calls(title: str, style: str, calls: Sequence[Call], judged: Judged) -> None:
    if not calls:
        return
    say("\n", (title, style))
    groups: dict[Question, list[Call]] = {}
    for call in calls:
        groups.setdefault(call.question, []).append(call)
    for same in list(groups.values())[:SHOWN]:
        _tell_call(same, judged)
    if len(groups) > SHOWN:
        say(f"  ... and {len(groups) - SHOWN:,} more (--json has them all)")
    say("")


def _tell_call(same: Sequence[Call], judged: Judged) -> None:
    """One command in one directory, which may have been run several times."""
    call, answer = same[0], judged.answer(same[0]) or {}
    times = f"  {len(same)} times" if len(same) > 1 else ""
    say("  ", (f"{_date(call.time)}  {call.client}  {_home(call.cwd)}{times}", "dim"))
    say("    ", (short(call.command, 160).strip("`"), "bold"))
    paths = list(dict.fromkeys(effect["path"] for effect in answer.get("effects", ())))
    verbs = ", ".join(dict.fromkeys(effect["action"] for effect in answer.get("effects", ())))
    if not paths:
        say(f"    {visible(str(answer.get('reason', '')))}", wrap=True)
        return
    total = max(int(answer.get("total") or 0), len(paths))
    more = f"  and {total - VICTIMS:,} more" if total > VICTIMS else ""
    say(f"    {verbs}: {'  '.join(map(quoted, paths[:VICTIMS]))}{more}")


def _tell_rest(judged: Judged, reading: Reading) -> None:
    if judged.gone:
        named = Counter(call.cwd for call in judged.gone).most_common()
        places = ", ".join(f"{_home(cwd)} ({number})" for cwd, number in named[:DIRECTORIES])
        more = f" and {len(named) - DIRECTORIES} more" if len(named) > DIRECTORIES else ""
        say(f"Not judged, because the directory is gone: {_count(len(judged.gone), 'call')} in {places}{more}")
    if judged.nowhere:
        say(f"Not judged, because the log does not say where: {_count(len(judged.nowhere), 'call')}")
    if judged.late:
        say(f"Not judged, because it took too long: {_count(len(judged.late), 'call')}. --since takes a shorter span.")
    if reading.damaged:
        say(f"Skipped: {_count(reading.damaged, 'damaged line')}")
    for path, why in list(reading.unreadable.items())[:DIRECTORIES]:
        say(f"Not read: {_home(path)} ({visible(why)})")


def _fields(calls: Sequence[Call], judged: Judged, reading: Reading, logs: Sequence[Log], start: float) -> dict[str, object]:
    def rows(kind: str) -> list[dict[str, object]]:
        return [{**_row(call), **_verdict(judged.answer(call) or {})} for call in _of(kind, calls, judged)]

    return {
        "v": 1,
        "code": "replayed",
        "since": start,
        "sessions": len(logs),
        "commands": sum(not call.tool for call in calls),
        "edits": sum(bool(call.tool) for call in calls),
        "allowed": len(_of(ALLOW, calls, judged)),
        "refused": rows(DENY),
        "asked": rows(ASK),
        "gone": [_row(call) for call in judged.gone],
        "nowhere": [_row(call) for call in judged.nowhere],
        "late": len(judged.late),
        "damaged": reading.damaged,
        "unreadable": {decodable(path): why for path, why in reading.unreadable.items()},
    }


def _row(call: Call) -> dict[str, object]:
    found: dict[str, object] = {"time": call.time, "client": call.client, "cwd": decodable(call.cwd)}
    return {**found, "command": decodable(call.command), "tool": call.tool}


def _verdict(answer: dict[str, object]) -> dict[str, object]:
    return {key: answer.get(key) for key in ("code", "reason", "effects", "total", "suggestion")}


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _date(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(when)) if when else "when is unknown"


def _home(path: str) -> str:
    """A path with ~ for the home directory."""
    home = os.environ.get("HOME", "").rstrip("/")
    near = place(path, home) if home.startswith("/") and below(path, home) else ""
    return visible(f"~/{near}" if near and near != "." else "~" if near else path)
