"""The hook of the agents' clients: `guard hook CLIENT [EVENT]`, the payload on standard input.

Before a tool it judges the call; after one it has the protected files looked at and what was lost restored. Status 0 and silence
is consent, status 2 with the reason on standard error a refusal; nothing that goes wrong ends otherwise than with status 2.
"""

from __future__ import annotations

import os

from guard.agents import answer as answers
from guard.agents import read
from guard.agents.table import AFTER, CLIENTS, END, OTHER, READ, SHELL, START, TYPE
from guard.hot import answer, limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import NoReturn

    from guard.agents.answer import Answer
    from guard.agents.read import Call
    from guard.agents.table import Client
    from guard.decision import Decision, Request
    from guard.effects import Analysis
    from guard.policy import Policy
    from guard.world import World

OPTIONS = {"--given": True}  # True: a value follows
USAGE = f"usage: guard hook {'|'.join(CLIENTS)} [EVENT] < PAYLOAD"
INPUT_LIMIT = 32 << 20  # bytes of a payload
AROUND = 25.0  # seconds that looking after the files may take, before or after a tool


def main(arguments: list[str]) -> int:
    """Answers one call of a hook; gives the exit status: 0 consent or nothing to say, 2 refused."""
    client: Client | None = None
    try:
        head, arguments = _head(arguments)
        client = _client(arguments)
        limits.impose(lambda: _late(client))
        call = read.call(client, read.payload(_input(head)), arguments[1] if len(arguments) > 1 else "")
        return _put(_answer(client, call))
    except read.Malformed as error:
        return _put(_refusal(client, f"{error}. {_REPAIR}"))
    except KeyboardInterrupt:
        return _put(_refusal(client, "it was interrupted."))
    except BaseException as error:
        return _put(_failed(client, error))
    finally:
        limits.lift()


_REPAIR = "Nothing was run, and this says nothing about the call. See: guard doctor"


def _head(arguments: list[str]) -> tuple[bytes, list[str]]:
    """The beginning of the payload, where the launcher has read it already and gives it with --given; the other arguments."""
    if arguments[:1] == ["--given"] and len(arguments) > 1:
        return os.fsencode(arguments[1]), arguments[2:]
    return b"", arguments


def _client(arguments: list[str]) -> Client:
    if not 1 <= len(arguments) <= 2:
        raise read.Malformed(USAGE)
    if arguments[0] not in CLIENTS:
        raise read.Malformed(f"{arguments[0]} is none of the clients that guard knows ({', '.join(CLIENTS)})")
    return CLIENTS[arguments[0]]


def _input(head: bytes) -> bytes:
    """The payload, that is `head` and standard input. Raises Malformed where that cannot be read, or is more than can be."""
    found = [head]
    size = len(head)
    try:
        while size <= INPUT_LIMIT and (chunk := os.read(0, 1 << 20)):
            found.append(chunk)
            size += len(chunk)
    except OSError as error:
        raise read.Malformed(f"the hook's input cannot be read ({error.strerror})") from error
    if size > INPUT_LIMIT:
        raise read.Malformed(f"the hook got more than {INPUT_LIMIT >> 20} MiB")
    return b"".join(found)


def _answer(client: Client, call: Call) -> Answer:
    if call.phase == OTHER:
        return answers.Answer(answers.CONSENTED)
    if call.phase == START:
        return _start(client, call)
    if call.phase == END:
        return _end(client, call)
    if call.phase == AFTER:
        return _after(client, call)
    if call.kind == READ:
        return answers.consent(client)
    if not call.kind:
        return _unknown(client, call)
    return _before(client, call)


def _before(client: Client, call: Call) -> Answer:
    """Judges a call, and has the files that it may reach copied where it may run."""
    if call.kind in (SHELL, TYPE):
        from guard.shell import quick

        command = _command(call)
        if not command.strip() or quick.harmless(command):
            return answers.consent(client)
    decision, analysis = decide(client, call)
    verdict = decision.verdict.decision
    if verdict == "allow":
        consent = answers.consent(client)
        _seen(client, call)
        _around(lambda: _watching_before(client, call, decision, analysis))
        return consent
    from guard.hot import judgement

    text = judgement.text(decision, os.environ)
    return answers.ask(call.event, text) if verdict == "ask" else answers.refuse(client, text, call.event)


def decide(client: Client, call: Call, record: bool = True) -> tuple[Decision, Analysis]:
    """The decision on the call of a tool, and all that the call would do, what the policy approves included.

    It is written to the log unless `record` is False; then it is as if somebody attended and nothing had been let pass. Raises
    Malformed for a call that does not say what it does.
    """
    from guard import actor, project
    from guard.decision import Request, new_id
    from guard.effects import Analysis
    from guard.hot.judgement import concluded, kept, limited, permitted
    from guard.world import Budget, World

    cwd = _directory(client, call)
    real = os.path.realpath(cwd)
    environ = dict(os.environ) if cwd == real else {**os.environ, "PWD": cwd}
    world = World(environ, Budget())
    commands = call.kind in (SHELL, TYPE)
    text = _command(call) if commands else _described(call)
    who = actor.mark(environ) or actor.Actor(actor.AGENT, client.name, "hook")
    request = Request(text, real, new_id(), f"hook:{client.name}:{call.tool}", who)
    attended = not record or answers.attended(client, environ)
    policies: list[Policy] = []
    found: list[Analysis] = []

    def think() -> Decision:
        policies.append(project.load(real, environ, world))
        found.append(_commands(client, text, real, world) if commands else _files(call._replace(cwd=real), world))
        return concluded(request, found[0], policies, world, attended, "" if commands else call.tool)

    state = project.state_dir(environ) if record else None
    _pending.append((request, state))
    decision = kept(permitted(limited(request, think), policies, world, state), state)
    _pending.clear()
    return decision, found[0] if found else Analysis()


_pending: list[tuple[Request, str | None]] = []  # what is being judged, and where that is recorded


def _commands(client: Client, text: str, cwd: str, world: World) -> Analysis:
    """What a command would do; with an unknown for every shell that it opens where somebody types into it unseen."""
    from guard.effects import OPEN_SHELL, Unknown
    from guard.shell.analyse import analyse

    if not client.typing:
        return analyse(text, cwd, world)
    found = analyse(text, cwd, world, typing=True)
    opened = [effect for effect in found.effects if effect.action == OPEN_SHELL][:1]
    return found._replace(unknowns=(*found.unknowns, *(Unknown("opens-shell", text, None, e.cause) for e in opened)))


def _files(call: Call, world: World) -> Analysis:
    from guard.agents import files

    return files.analyse(call, world)


def _described(call: Call) -> str:
    from guard.agents import files

    return files.described(call)


def _command(call: Call) -> str:
    """The text that a shell tool runs, or a typing tool types. A list of words is what a program is started with."""
    from guard.agents.table import COMMAND, TYPED

    for key in COMMAND if call.kind == SHELL else TYPED:
        found = call.arguments.get(key)
        if isinstance(found, str):
            return read.sound(found)
        if isinstance(found, list) and found and all(isinstance(word, str) for word in found):
            from guard.quoting import posix

            return " ".join(posix(read.sound(word)) for word in found)
    raise read.Malformed(f"the call of {call.tool} has no command")


def _directory(client: Client, call: Call) -> str:
    """The directory of the call: that of the payload, or the argument that names another one. Raises Malformed without one."""
    named = next((call.arguments[key] for key in client.place if call.arguments.get(key)), "") if call.kind == SHELL else ""
    if not isinstance(named, str):
        raise read.Malformed(f"the directory of {call.tool} is no text")
    if not call.cwd and not named.startswith("/"):
        raise read.Malformed("the hook was told no directory")
    found = os.path.join(call.cwd, read.sound(named)) if named else call.cwd
    if not os.path.isdir(found):
        raise read.Malformed(f"{found}, where {call.tool} would run, is no directory")
    return found


def _unknown(client: Client, call: Call) -> Answer:
    """A tool that nothing is known of may run; what it loses shows afterwards."""
    _seen(client, call)
    if call.cwd:
        _around(lambda: _watching().before(call.cwd, os.environ, call.session, call.call))
    return answers.consent(client)


def _seen(client: Client, call: Call) -> None:
    """Notes that the hook is loaded: not every client tells of the start of a session."""
    from guard.agents import heartbeat

    heartbeat.record(client.name, call, os.environ)


def _start(client: Client, call: Call) -> Answer:
    """A session starts: notes that the hook is loaded, and has the files copied."""

    def copy() -> None:
        watching, cwd = _watching(), call.cwd or os.getcwd()
        watching.before(cwd, os.environ, call.session, call.event)
        watching.after(cwd, os.environ, call.session, call.event)  # no tool goes on from here

    _seen(client, call)
    _around(copy)
    return answers.Answer(answers.CONSENTED)


def _end(client: Client, call: Call) -> Answer:
    """A turn, or a session, is over; what was lost in the background since the last tool is restored."""
    found: list[str] = []
    _seen(client, call)
    if call.session:
        cwd = call.cwd or "/"
        _around(lambda: found.append(_watching().ended(os.environ, call.session, cwd, call.lingers)))
    return answers.notice(client, "".join(found))


def _after(client: Client, call: Call) -> Answer:
    """A tool has run: what it lost is restored, and the model gets to know."""
    found: list[str] = []
    cwd = call.cwd or os.getcwd()
    trouble = _around(lambda: found.append(_watching().after(cwd, os.environ, call.session, call.call, call.lingers)))
    if trouble:
        found.append(f"guard: could not look after the protected files: {trouble}. Tell the user. See: guard doctor\n")
    return answers.report(client, call, "".join(found))


def _watching_before(client: Client, call: Call, decision: Decision, analysis: Analysis) -> None:
    """Has the files copied; tells what the tool may write, and what a person has agreed to lose."""
    request = decision.request
    losses = [victim.path for victim in decision.verdict.victims]
    command = request.command if call.kind in (SHELL, TYPE) else ""
    writes = {} if command else _writes(analysis)
    place = _directory(client, call)
    _watching().before(place, os.environ, call.session, call.call, command, writes, losses, call.lingers)


def _writes(analysis: Analysis) -> dict[str, bytes | None]:
    """The files that an approved tool writes, with the text that each will have, None where that is not known."""
    from guard.effects import CREATE, EDIT, OVERWRITE

    return {each.target.path: each.content for each in analysis.effects if each.action in (CREATE, EDIT, OVERWRITE)}


def _watching() -> ModuleType:
    from guard.agents import watching

    return watching


class _TooLateError(Exception):
    """Looking after the files took too long."""


def _around(work: Callable[[], object]) -> str:
    """Does what is not part of judging, in a time of its own; gives what went wrong, "" for nothing."""
    import _signal  # type: ignore[import-not-found]

    def stop(number: int, frame: object) -> NoReturn:
        raise _TooLateError(f"it took more than {AROUND:.0f} seconds")

    limits.lift()
    _signal.signal(_signal.SIGALRM, stop)
    _signal.setitimer(_signal.ITIMER_REAL, AROUND)
    try:
        work()
    except Exception as error:
        if os.environ.get("GUARD_DEBUG"):
            raise
        return str(error) or type(error).__name__
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    return ""


def _refusal(client: Client | None, text: str) -> Answer:
    return answers.refuse(client, f"guard: refused: {text}\n")


def _failed(client: Client | None, error: BaseException) -> Answer:
    """The answer where guard itself fails."""
    from guard.errors import GuardError

    if isinstance(error, GuardError):
        return _refusal(client, f"{error}. {_REPAIR}")
    if os.environ.get("GUARD_DEBUG"):
        import sys

        sys.excepthook(type(error), error, error.__traceback__)
    return _refusal(client, f"guard itself failed ({type(error).__name__}). {_REPAIR}")


def _late(client: Client | None) -> NoReturn:
    """Ends the process, because time is up."""
    found = _refusal(client, "it could not be judged in time. Nothing was run. Split it into simpler calls.")
    answer.write(answer.OUT, found.out)
    answer.write(answer.ERROR, found.error)
    for request, state in _pending:
        from guard.hot import late

        late.record(request, state)
    os._exit(answers.REFUSED)


def _put(found: Answer) -> int:
    answer.write(answer.OUT, found.out)
    answer.write(answer.ERROR, found.error)
    return found.status
