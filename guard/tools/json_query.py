"""jq: what it writes for the filters that people type: paths, literals, assignments, del, select, map and a few functions."""

from __future__ import annotations

from guard.effects import Pattern
from guard.tools.call import analysis
from guard.tools.json_filter import FilterFault, parse_filter, values_of
from guard.tools.options import Options, Table, parse
from guard.tools.reading import UnknownOutputError, shrug, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guard.effects import Analysis, Text
    from guard.tools.call import Call

TABLE = Table(
    flags="acCehjMnRrsSV",
    values="fL",
    long={
        "ascii-output": "", "compact-output": "", "color-output": "", "exit-status": "", "help": "", "join-output": "",
        "monochrome-output": "", "null-input": "", "raw-input": "", "raw-output": "", "raw-output0": "", "slurp": "",
        "sort-keys": "", "version": "", "from-file": "=", "tab": "", "indent": "=", "unbuffered": "", "seq": "", "stream": "",
        "args": "", "jsonargs": "",
    },
    same={
        "ascii-output": "a", "compact-output": "c", "exit-status": "e", "help": "h", "join-output": "j", "null-input": "n",
        "raw-input": "R", "raw-output": "r", "slurp": "s", "sort-keys": "S", "version": "V", "monochrome-output": "M",
    },
)  # fmt: skip
_KNOWN = {"c", "e", "j", "M", "n", "r", "s", "S", "tab", "indent"}
_NAMED = ("--arg", "--argjson", "--slurpfile", "--rawfile")


def jq(call: Call) -> Analysis:
    """What jq writes; it changes no file."""
    words, named = _without_named(call.argv[1:])
    options = parse(words, TABLE)
    given = {name for name, _ in options.given}
    if options.strange or not given <= _KNOWN or any(isinstance(word, Pattern) for word in call.argv) or not options.operands:
        return shrug(call)
    try:
        return _written(call, options, named)
    except (UnknownOutputError, FilterFault, ValueError, RecursionError, OverflowError):
        return shrug(call)


def _without_named(words: tuple[Text, ...]) -> tuple[list[Text], dict[str, Any]]:
    """The words without --arg NAME VALUE and its kin, and what those name."""
    rest: list[Text] = []
    named: dict[str, Any] = {}
    at = 0
    while at < len(words):
        if words[at] in _NAMED and at + 2 < len(words):
            option, name, value = (str(word) for word in words[at : at + 3])
            named[name] = value if option == "--arg" else _Json(value) if option == "--argjson" else None
            at += 3
        else:
            rest.append(words[at])
            at += 1
    return rest, named


class _Json(str):
    """The text of a JSON value that is not read yet."""


def _written(call: Call, options: Options, named: dict[str, Any]) -> Analysis:
    tree = parse_filter(str(options.operands[0]))
    variables = {name: _documents(value)[0] if isinstance(value, _Json) else value for name, value in named.items()}
    if None in named.values():
        raise UnknownOutputError
    found, missing = ([], False) if options.has("n") else texts(call, options.operands[1:])
    documents = _documents("\n".join(found))
    inputs = [None] if options.has("n") else [documents] if options.has("s") else documents
    results = [result for document in inputs for result in values_of(tree, document, variables, call.view.budget)]
    status = 2 if missing else 0
    if options.has("e") and not missing:
        status = 4 if not results else int(results[-1] is None or results[-1] is False)
    return analysis(output="".join(_shown(result, options) for result in results), status=status)


def _documents(text: str) -> list[Any]:
    """The JSON values in a text, one behind the other. Fractions are left out: versions of jq write them in different ways."""
    import json

    def whole(number: str) -> int:
        if len(number) > 15:
            raise UnknownOutputError
        return int(number)

    def fraction(number: str) -> Any:
        raise UnknownOutputError

    decoder = json.JSONDecoder(parse_float=fraction, parse_int=whole, parse_constant=fraction)
    found = []
    text = text.strip(" \t\r\n")
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].lstrip(" \t\r\n")
    return found


def _shown(value: Any, options: Options) -> str:
    import json

    end = "" if options.has("j") else "\n"
    if isinstance(value, str) and options.has("r", "j"):
        return value + end
    indent = str(options.value("indent") or "2")
    if indent not in "1234567":
        raise UnknownOutputError
    tight = options.has("c")
    text = json.dumps(
        value, ensure_ascii=False, sort_keys=options.has("S"), separators=(",", ":") if tight else (",", ": "),
        indent=None if tight else "\t" if options.has("tab") else int(indent),
    )  # fmt: skip
    if "\x7f" in text:
        raise UnknownOutputError
    return text + end
