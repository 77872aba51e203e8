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
    """Fills in the options; gives what is wrong with the arguments ("" for nothing) and the command.

    Options may stand behind the command, too, where no "--" says that what follows is none of them.
    """
    at, problem = _options(arguments, 0, given)
    ended = arguments[at : at + 1] == ["--"]
    if problem:
        return problem, ""
    if at + ended >= len(arguments):
        return "no command to check", ""
    command, *rest = arguments[at + ended :]
    end = next(n for n in range(len(rest) + 1) if _trailing(rest[n:]))
    if ended and rest and not end:
        return f'options stand in front of "--": {_hint(arguments[:at], command, [], rest)}', ""
    if end:
        end = len(rest) if ended else end
        return f"the command has to be one argument: {_hint(arguments[:at], command, rest[:end], rest[end:])}", ""
    return _options(rest, 0, given)[1], command


def _options(words: list[str], at: int, given: dict[str, str]) -> tuple[int, str]:
    """Fills in the options from a place on; gives where they end, and what is wrong with one ("" for nothing)."""
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        name, equals, value = words[at].partition("=")
        at += 1
        if name not in OPTIONS:
            return at, f"check has no option {name}; a command that begins with - stands behind --"
        if equals and not OPTIONS[name]:
            return at, f"{name} takes no value"
        if OPTIONS[name] and not equals:
            if at == len(words):
                return at, f"{name} needs a value"
            value = words[at]
            at += 1
        given[name] = value
    return at, ""


def _trailing(words: list[str]) -> bool:
    """Are the words options of guard's own, rightly given or not, and nothing else?"""
    at, problem = _options(words, 0, {})
    return at == len(words) and (not problem or words[-1].partition("=")[0] in OPTIONS)


def _hint(before: list[str], command: str, more: list[str], behind: list[str]) -> str:
    """The call that the caller must have meant: the words as one command, the options in front of it."""
    from guard.quoting import posix

    options, words = ([word if _plain(word) else posix(word) for word in some] for some in (before + behind, more))
    return " ".join(["guard check", *options, "--", posix(" ".join([command, *words]))])


def _plain(word: str) -> bool:
    return bool(word) and all(character.isalnum() or character in "./-_=:,@%+" for character in word)


def _standard_input() -> str:
    """The text on standard input, or as much of it as is too long to be judged anyhow."""
    data = b""
    try:
        while len(data) <= INPUT_LIMIT and (chunk := os.read(0, 65536)):
            data += chunk
    except OSError as error:
        from guard.errors import GuardError

        raise GuardError(f"standard input cannot be read ({error.strerror})", todo="give the command as an argument") from error
    return os.fsdecode(data)


def _judge(command: str, given: dict[str, str]) -> int:
    from guard.shell import quick

    directory = given.get("--cwd")
    if directory is not None and not os.path.isdir(directory):
        return answer.complaint(f"--cwd {directory}: no such directory")
    as_json = "--json" in given
    if not command.strip():
        fields = answer.unrecorded(command, directory or _here(), "allow", "allowed", "it is empty") if as_json else None
        return answer.verdict("allow", "guard: the command is empty, so it does nothing\n", fields)
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
