"""bash's own parser (libbash) and ours, both as flat lists of what runs in which order, to be compared."""

from __future__ import annotations

import contextlib
import os
import re

from guard.shell import nodes, syntax

_OPENING_SUBSTITUTION = re.compile(r"\$\(|[<>]\(|`|\$'|\$\"|\\\n|=\(")


def _raw(text: str) -> str:
    """A word, as far as bash keeps it as it was written: it prints substitutions anew, and expands $'..'."""
    match = _OPENING_SUBSTITUTION.search(text)
    return text if match is None else text[: match.start()] + "*"


def ours(text: str) -> list[str] | None:
    """None for a syntax error."""
    parsed = syntax.parse(text)
    return None if parsed.error else _joined(_sequence(parsed.body))


def _joined(found: list[str]) -> list[str]:
    """Without what only one of the two trees tells: |& from 2>&1 |, and elif from else if."""
    kept: list[str] = []
    for item in filter(None, found):
        while item == "|" and kept and kept[-1] == "R >&":
            kept.pop()
        if item == "if" and kept and kept[-1] == "else":
            kept.pop()
        kept.append(item)
    return kept


def _sequence(sequence: nodes.Sequence) -> list[str]:
    found: list[str] = []
    for at, (command, operator) in enumerate(sequence.items):
        found += _command(command)
        if operator != ";" or at + 1 < len(sequence.items):
            found.append(operator)
    return found


def _redirects(redirects: tuple[nodes.Redirect, ...]) -> list[str]:
    found = []
    for redirect in redirects:
        operator = ">&" if redirect.op == "<&" else redirect.op
        target = redirect.target.raw
        if operator == "<<":
            target = f"{len(target)}"
        found.append(_redirect(operator, target))
    return found


def _redirect(operator: str, target: str) -> str:
    known = "&" not in operator or operator in ("&>", "&>>") or not target.rstrip("-").isdigit()
    return f"R {operator} {_raw(target)}" if known and target != "-" else f"R {operator}"


def _command(command: nodes.Command) -> list[str]:
    match command:
        case nodes.Simple():
            count = len(command.assignments) - command.declared
            return [f"S {count} {[_raw(word.raw) for word in command.words]}", *_redirects(command.redirects)]
        case nodes.Pipeline():
            found = ["!"] if command.negated else []
            for at, part in enumerate(command.commands):
                found += (["|"] if at else []) + _command(part)
            return found
        case nodes.Sequence():
            return _sequence(command)
        case nodes.Group() | nodes.Subshell():
            kind = "group" if isinstance(command, nodes.Group) else "subshell"
            return [kind, *_sequence(command.body), "end", *_redirects(command.redirects)]
        case nodes.If():
            found = []
            for condition, body in command.clauses:
                found += ["if", *_sequence(condition), "then", *_sequence(body)]
            if command.otherwise is not None:
                found += ["else", *_sequence(command.otherwise)]
            return [*found, *(["end"] * len(command.clauses)), *_redirects(command.redirects)]
        case nodes.While():
            kind = "until" if command.until else "while"
            return [kind, *_sequence(command.condition), "do", *_sequence(command.body), "end", *_redirects(command.redirects)]
        case nodes.For():
            kind = "select" if command.select else "for"
            listed = ['"$@"'] if command.words is None else [_raw(word.raw) for word in command.words]
            return [f"{kind} {command.name} {listed}", *_sequence(command.body), "end", *_redirects(command.redirects)]
        case nodes.ArithmeticFor():
            return ["arithmetic for", *_sequence(command.body), "end", *_redirects(command.redirects)]
        case nodes.Case():
            found = [f"case {_raw(command.subject.raw)}"]
            for patterns, body, _ in command.clauses:
                found += [f"in {[_raw(pattern.raw) for pattern in patterns]}", *_sequence(body)]
            return [*found, "end", *_redirects(command.redirects)]
        case nodes.Function():
            return [f"function {command.name}", *_command(command.body), "end"]
        case nodes.Condition():
            return ["condition", *_redirects(command.redirects)]
        case nodes.ArithmeticCommand():
            return ["arithmetic", *_redirects(command.redirects)]
        case nodes.Coprocess():
            return ["coproc", *_command(command.body), "end"]
    raise AssertionError(command)


def theirs(text: str, path: str) -> list[str] | None:
    """The same from bash's parser, by way of the file `path`."""
    from libbash.api import ast_to_json, bash_to_ast

    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    try:
        with _quiet():
            commands = ast_to_json(bash_to_ast(path))
    except RuntimeError:
        return None
    found: list[str] = []
    for command in commands:
        found += [*([";"] if found and found[-1] != "&" else []), *_their_command(command)]
    return _joined(found)


@contextlib.contextmanager
def _quiet():
    saved = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def _their_redirects(redirects: list[dict]) -> list[str]:
    found = []
    for redirect in redirects:
        operator = redirect["instruction"]
        target = redirect["redirectee"].get("filename")
        word = target["word"] if target else str(redirect["redirectee"].get("dest"))
        if operator in ("<<", "<<-"):
            operator, word = "<<", f"{len(word)}"
        if "&" in operator and operator not in ("&>", "&>>"):
            operator = ">&"
        found.append(_redirect(operator, word))
    return found


def _their_command(command: dict | None) -> list[str]:
    if command is None:
        return []
    value, kind = command["value"], command["type"]
    inverted = ["!"] if any("INVERT" in str(flag) for flag in command["flags"]) else []
    if kind == "simple":
        words = [word["word"] for word in value["words"]]
        count = 0
        for word in value["words"]:
            if "assignment" not in str(word["flags"]) or "assign_arg" in str(word["flags"]):
                break
            count += 1
        return [*inverted, f"S {count} {[_raw(word) for word in words[count:]]}", *_their_redirects(value["redirects"])]
    outer = _their_redirects(command["redirects"])
    if kind == "connection":
        connector = {"\n": ";", "|&": "|"}.get(value["connector"], value["connector"])
        return [*inverted, *_their_command(value["first"]), connector, *_their_command(value["second"])]
    inner = _their_compound(kind, value)
    return [*inverted, *inner, *outer]


def _their_compound(kind: str, value: dict) -> list[str]:
    if kind in ("group", "subshell"):
        return [kind, *_their_command(value["command"]), "end"]
    if kind == "if":
        other = value["false_case"]
        otherwise = []
        if other is not None:
            otherwise = [*([] if other["type"] == "if" else ["else"]), *_their_command(other)]
        return ["if", *_their_command(value["test"]), "then", *_their_command(value["true_case"]), *otherwise, "end"]
    if kind in ("while", "until"):
        return [kind, *_their_command(value["test"]), "do", *_their_command(value["action"]), "end"]
    if kind in ("for", "select"):
        listed = [_raw(word["word"]) for word in value["map_list"] or []]
        return [f"{kind} {value['name']['word']} {listed}", *_their_command(value["action"]), "end"]
    if kind == "arithmetic_for":
        return ["arithmetic for", *_their_command(value["action"]), "end"]
    if kind == "case":
        found = [f"case {_raw(value['word']['word'])}"]
        for clause in value["clauses"]:
            found += [f"in {[_raw(word['word']) for word in clause['patterns']]}", *_their_command(clause["action"])]
        return [*found, "end"]
    if kind == "function_def":
        return [f"function {value['name']['word']}", *_their_command(value["command"]), "end"]
    if kind == "coproc":
        return ["coproc", *_their_command(value["command"]), "end"]
    return [{"conditional": "condition", "arithmetic": "arithmetic"}[kind]]
