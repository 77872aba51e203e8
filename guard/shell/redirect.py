"""Redirections: what opening files does, and what stands in them when the command is over."""

from __future__ import annotations

from guard.effects import CREATE, EDIT, OVERWRITE, TRUNCATE, At, Cause, Effect, Pattern, Target, Text, join, unknown
from guard.paths import parent
from guard.shell.expand import Failed
from guard.shell.state import Stream
from guard.shell.text import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NamedTuple

    from guard.shell.nodes import Redirect
    from guard.shell.state import State
    from guard.shell.walk import Walker
else:
    from guard.record import NamedTuple

# Files that are no files: what is written there is gone, or goes where descriptors lead.
DEVICES = ("/dev/", "/proc/self/fd/")
REGULAR = ("/dev/shm/", "/dev/.guard-")


class Sink(NamedTuple):
    """Where standard output goes: a file, or nowhere that matters (target None)."""

    target: Target | None
    append: bool = False
    existed: bool = False
    operator: str = ">"


class Opened(NamedTuple):
    """The files of one command: a new standard input, a new standard output, None where they stay as they are."""

    input: Stream | None
    sink: Sink | None
    shown: str
    inputs: Mapping[str, Stream]  # other descriptors, opened for reading


def opened(walker: Walker, redirects: tuple[Redirect, ...], state: State, keep: bool = False) -> Opened:
    """Opens from left to right, as the shell does; Failed where one cannot be opened. `keep`: they stay (`exec`)."""
    expander = walker.expander(state)
    stream: Stream | None = None
    sink: Sink | None = None
    inputs: dict[str, Stream] = {}
    shown = []
    for redirect in redirects:
        operator = redirect.op
        if operator in ("<<", "<<-", "<<<"):
            text = expander.text(redirect.target)
            found = Stream(join(text, "\n") if operator == "<<<" else text)
            stream = _read_from(state, redirect.fd, found, stream, inputs)
            continue
        target = expander.target(redirect.target)
        shown.append(f"{redirect.fd}{operator}{target}")
        if operator in ("<", "<&"):
            found = inputs[str(target)] if operator == "<&" and target in inputs else _source(walker, state, operator, target)
            stream = _read_from(state, redirect.fd, found, stream, inputs)
            continue
        cause = Cause(" ".join(shown), str(state.cwd))
        found_sink = _sink(walker, state, operator, redirect.fd, target)
        if found_sink is None:
            continue
        # <> opens standard input unless a number says otherwise; what is written there stands over the old beginning.
        standard = redirect.fd == "1" if operator == "<>" else redirect.fd in ("", "1")
        if not standard or keep:
            _other(walker, state, found_sink, cause, keep)
            if keep and isinstance(found_sink.target, At):
                _name(state, redirect.fd, found_sink)
        if standard:
            if sink is not None:
                _finish(walker, state, sink, "", cause)
            sink = found_sink if not keep else Sink(None)
    if keep:
        state.inputs = {**state.inputs, **inputs}
    return Opened(stream, sink, " ".join(shown), inputs)


def closed(walker: Walker, files: Opened, state: State, run: Callable[[State], list[State]]) -> list[State]:
    """Runs something with the files open, then records what it has written to the one that is its standard output."""
    before_input, before_output, before_captured, before_inputs = state.input, state.output, state.captured, state.inputs
    state.inputs = {**state.inputs, **files.inputs} if files.inputs else state.inputs
    if files.input is not None:
        state.input = files.input
    if files.sink is not None:
        state.output, state.captured = (), files.sink.target is not None
    states = run(state)
    for current in states:
        if files.input is not None:
            current.input = before_input
        if files.inputs:
            current.inputs = before_inputs
        if files.sink is not None:
            written = join(*current.output)
            current.output, current.captured = before_output, before_captured
            _finish(walker, current, files.sink, written, Cause(files.shown, str(current.cwd)))
    return states


def _name(state: State, fd: str, sink: Sink) -> None:
    """Notes where a descriptor that stays open leads; {name} gets a number of its own."""
    assert isinstance(sink.target, At)
    if fd.startswith("{"):
        number = str(10 + len(state.inputs) + len(state.descriptors))
        state.put(fd.strip("{}"), number)
        fd = number
    state.descriptors[fd or "1"] = ("=" if sink.operator == "<>" else "") + sink.target.path


def _read_from(state: State, fd: str, found: Stream, standard: Stream | None, inputs: dict[str, Stream]) -> Stream | None:
    """Opens an input on a descriptor; gives what standard input is afterwards. {name} gets a number of its own."""
    if fd in ("", "0"):
        return found
    if fd.startswith("{"):
        number = str(10 + len(inputs) + len(state.inputs))
        state.put(fd.strip("{}"), number)
        fd = number
    inputs[fd] = found
    return standard


def _source(walker: Walker, state: State, operator: str, target: Text) -> Stream:
    if operator == "<&":
        return Stream("") if target == "-" else state.inputs.get(str(target), state.input)
    path = target if isinstance(target, str) and target.startswith("/") else join(state.cwd, "/", target)
    if not isinstance(path, str):
        return Stream(unknown("unknown-input", f"< {target}"))
    if path == "/dev/null":
        return Stream("")
    if path.startswith(DEVICES) and not path.startswith(REGULAR):
        return state.input
    if not state.view.exists(path):
        raise Failed(fatal=False)
    content = state.view.read(path)
    return Stream(unknown("unknown-input", f"< {target}") if content is None else decode(content))


def _sink(walker: Walker, state: State, operator: str, fd: str, target: Text) -> Sink | None:
    """What an output redirection opens; None where no file is concerned and output stays as it is."""
    standard = fd in ("", "1")
    if operator == ">&" and isinstance(target, str) and (target.rstrip("-").isdigit() or target == "-"):
        number = target.rstrip("-")
        if number in state.descriptors:
            kept = state.descriptors[number]
            return Sink(At(kept.removeprefix("=")), True, True, "<>" if kept.startswith("=") else operator)
        return Sink(None) if standard and number != "1" else None
    if isinstance(target, Pattern):
        from guard.tools.call import Call

        call = Call((), state.cwd, {}, None, state.view, None, None)  # type: ignore[arg-type]
        return Sink(call.through(target), operator in (">>", "&>>"), True, operator)
    if target == "":
        raise Failed(fatal=False)
    path = state.view.through(target) if target.startswith("/") else _inside(state, target)
    if path is None:
        return Sink(None) if standard else None
    if (path.startswith(DEVICES) or target.startswith("/dev/")) and not path.startswith(REGULAR):
        return None if target in ("/dev/stdout", "/dev/fd/1") else Sink(None)
    kind = state.view.kind(path)
    if kind == "directory" or (kind is None and state.view.kind(parent(path)) != "directory"):
        raise Failed(fatal=False)
    if kind == "file" and operator in (">", "&>", ">&") and "C" in state.options:
        raise Failed(fatal=False)
    append = operator in (">>", "&>>", "<>")
    if kind is None:
        state.view.apply(Effect(CREATE, At(path), content=b""))
    elif not append:
        state.view.apply(Effect(TRUNCATE, At(path)))
    return Sink(At(path), append, kind is not None, operator)


def _inside(state: State, target: str) -> str | None:
    return state.view.through(f"{state.cwd}/{target}") if isinstance(state.cwd, str) else None


def _other(walker: Walker, state: State, sink: Sink, cause: Cause, keep: bool) -> None:
    """A file that is opened for something else than the standard output of this command: nobody knows what is written."""
    if sink.target is None or sink.operator == "<>" or sink.operator == ">&":
        return
    if sink.append:
        walker.record(Effect(EDIT, sink.target), state, cause)
    elif sink.existed:
        walker.record(Effect(OVERWRITE if keep else TRUNCATE, sink.target), state, cause)
    else:
        walker.record(Effect(CREATE, sink.target), state, cause)


def _finish(walker: Walker, state: State, sink: Sink, written: Text, cause: Cause) -> None:
    if sink.target is None:
        return
    content = encode(written)
    target = sink.target
    if sink.append:
        if written != "":
            old = state.view.read(target.path) if isinstance(target, At) else None
            whole = old + content if old is not None and content is not None else None
            if sink.operator == "<>":
                whole = content + old[len(content) :] if old is not None and content is not None else None
            action = CREATE if not sink.existed else OVERWRITE if sink.operator == "<>" and whole is None else EDIT
            walker.record(Effect(action, target, content=whole), state, cause)
    elif not sink.existed:
        walker.record(Effect(CREATE, target, content=content), state, cause)
    elif written == "":
        walker.record(Effect(TRUNCATE, target), state, cause)
    else:
        walker.record(Effect(OVERWRITE, target, content=content), state, cause)
