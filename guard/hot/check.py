"""`guard check`: the verdict on one command, before it runs."""

from __future__ import annotations

import os

from guard.hot import answer, limits

OPTIONS = {"--cwd": True, "--headless": False, "--json": False}  # True: a value follows
USAGE = "\nusage: guard check [--json] [--cwd DIR] [--headless] [--] COMMAND"
INPUT_LIMIT = 4 << 20  # bytes of standard input


def main(arguments: list[str]) -> int:
    """Judges the command that the arguments name; gives the exit status: 0 allow, 1 deny, 3 ask, 64 usage, 70 guard's fault."""
    given: dict[str, str] = {}
    try:
        problem, command = _parse(arguments, given)
        if problem:
            return answer.complaint(problem + USAGE)
        if command == "-":
            command = _standard_input()
        limits.impose(lambda: _refuse(command, given))
        return _judge(command, given)
    except KeyboardInterrupt:
        return answer.INTERRUPTED
    except BaseException as error:
        return answer.failure(error)
    finally:
        limits.lift()


def _parse(arguments: list[str], given: dict[str, str]) -> tuple[str, str]:
    """Fills in the options; gives what is wrong with the arguments ("" for nothing) and the command."""
    rest = arguments[::-1]
    while rest and rest[-1].startswith("-") and rest[-1] != "-":
        word = rest.pop()
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name not in OPTIONS:
            return f"check has no option {name}; a command that begins with - stands behind --", ""
        if OPTIONS[name] and not equals and not rest:
            return f"{name} needs a value", ""
        if equals and not OPTIONS[name]:
            return f"{name} takes no value", ""
        given[name] = value if equals or not OPTIONS[name] else rest.pop()
    if not rest:
        return "no command to check", ""
    if len(rest) > 1:
        whole = " ".join(rest[::-1]).replace("'", "'\\''")
        return f"the command has to be one argument: guard check -- '{whole}'", ""
    return "", rest[0]


def _standard_input() -> str:
    """The text on standard input, or as much of it as is too long to be judged anyhow."""
    data = b""
    while len(data) <= INPUT_LIMIT and (chunk := os.read(0, 65536)):
        data += chunk
    return os.fsdecode(data)


def _judge(command: str, given: dict[str, str]) -> int:
    from guard.shell import quick

    directory = given.get("--cwd")
    if directory is not None and not os.path.isdir(directory):
        return answer.complaint(f"--cwd {directory}: no such directory")
    as_json = "--json" in given
    if quick.harmless(command):
        fields = answer.unrecorded(command, directory or _here(), "allow", "allowed", "it only reads") if as_json else None
        return answer.verdict("allow", "", fields)
    if directory is None and not _here():
        return answer.complaint("the current directory is gone; name one that exists: guard check --cwd DIR")
    from guard.hot import judgement

    decided = judgement.decide(command, os.path.abspath(directory or _here()), os.environ, "--headless" not in given)
    text = judgement.text(decided, os.environ, _terminal())
    return answer.verdict(decided.verdict.decision, text, judgement.fields(decided) if as_json else None)


def _refuse(command: str, given: dict[str, str]) -> None:
    """Ends the process, because time is up."""
    reason = "it could not be judged in time"
    fields = answer.unrecorded(command, _here(), "deny", "out-of-time", reason) if "--json" in given else None
    answer.verdict("deny", f"guard: refused. Nothing was run: {reason}. Split it into simpler commands.\n", fields)
    os._exit(answer.DENIED)


def _terminal() -> bool:
    try:
        return os.isatty(2)
    except OSError:
        return False


def _here() -> str:
    """The current directory, "" where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""
