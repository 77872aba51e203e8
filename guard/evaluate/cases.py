"""Cases: what a command under evaluation is given, and what is expected of it.

    cases:
      - id: broken-import
        input: {log: "ModuleNotFoundError: No module named 'x'"}
        expected: {classify: build, target: [src/x.py], escalate: false}

JSON is YAML, too. A case passes if every key of `expected` is equal in the answer; lists are compared as sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from guard.errors import GuardError

LARGEST = 64 << 20  # bytes of a file of cases
KEYS = ("id", "input", "expected")
FORM = "a list `cases`, each with id, input and expected: see guard eval baseline --help"


@dataclass(frozen=True)
class Case:
    """One case. `input` is given as JSON; `expected` has at least one key."""

    id: str
    input: Any
    expected: Mapping[str, Any]


def load(path: str) -> list[Case]:
    """The cases of a file, in its order. Raises GuardError with file and line for everything that is not of their form."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(LARGEST + 1)
    except OSError as error:
        raise GuardError(f"it cannot be read ({error.strerror})", path, "name a file of cases") from error
    except UnicodeDecodeError as error:
        raise GuardError("it is not UTF-8", path, "save it as UTF-8") from error
    if len(text) > LARGEST:
        raise GuardError("it is too large", path, f"split it: {LARGEST >> 20} MiB at most")
    try:
        return list(_cases(yaml.compose(text, Loader=yaml.SafeLoader), path))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _wrong(path, error.problem or "it is no YAML", mark) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise GuardError(f"it is no YAML ({error.__class__.__name__})", path, FORM) from error


def passes(expected: Mapping[str, Any], answer: Any) -> bool:
    """Is every expected key there and equal?"""
    return isinstance(answer, dict) and all(key in answer and same(value, answer[key]) for key, value in expected.items())


def same(expected: Any, given: Any) -> bool:
    """Are two JSON values equal, lists taken as sets, and true not as 1?"""
    if isinstance(expected, list) and isinstance(given, list):
        return all(any(same(one, other) for other in given) for one in expected) and all(
            any(same(other, one) for one in expected) for other in given
        )
    if isinstance(expected, dict) and isinstance(given, dict):
        return expected.keys() == given.keys() and all(same(value, given[key]) for key, value in expected.items())
    if isinstance(expected, bool) or isinstance(given, bool):
        return expected is given
    return bool(expected == given)


def _cases(node: yaml.Node | None, path: str) -> Iterator[Case]:
    top = dict(_pairs(node, path)) if node is not None else {}
    listed = top.get("cases")
    if not isinstance(listed, yaml.SequenceNode) or not listed.value:
        raise _wrong(path, "there are no cases", getattr(listed or node, "start_mark", None))
    seen: set[str] = set()
    for each in listed.value:
        case = _case(each, path)
        if case.id in seen:
            raise _wrong(path, f"the id {case.id} is there twice", each.start_mark)
        seen.add(case.id)
        yield case


def _case(node: yaml.Node, path: str) -> Case:
    found = dict(_pairs(node, path))
    for key in found.keys() - set(KEYS):
        raise _wrong(path, f"a case has no key {key}", found[key].start_mark)
    for key in KEYS:
        if key not in found:
            raise _wrong(path, f"this case has no {key}", node.start_mark)
    name, expected = _value(found["id"], path), _value(found["expected"], path)
    if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
        raise _wrong(path, "an id is a text", found["id"].start_mark)
    if not isinstance(expected, dict) or not expected:
        raise _wrong(path, "expected needs at least one key", found["expected"].start_mark)
    return Case(str(name), _value(found["input"], path), expected)


def _pairs(node: yaml.Node | None, path: str) -> Iterator[tuple[str, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(path, "here must be keys with values", node.start_mark if node is not None else None)
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _wrong(path, "a key is a text", key.start_mark)
        if key.value in seen:
            raise _wrong(path, f"the key {key.value} is there twice", key.start_mark)
        seen.add(key.value)
        yield key.value, value


def _value(node: yaml.Node, path: str) -> Any:
    """The value of a node as JSON has it. Times, sets and binary data, which JSON lacks, are errors."""
    if isinstance(node, yaml.SequenceNode):
        return [_value(each, path) for each in node.value]
    if isinstance(node, yaml.MappingNode):
        return {key: _value(value, path) for key, value in _pairs(node, path)}
    value = yaml.SafeLoader("").construct_object(node)
    if isinstance(value, float) and value - value != 0:
        raise _wrong(path, f"{node.value} is no number of JSON", node.start_mark)
    if value is None or isinstance(value, str | int | float):
        return value
    return str(node.value)  # a date: JSON has it as text


def _wrong(path: str, what: str, mark: yaml.Mark | None) -> GuardError:
    line = f":{mark.line + 1}" if mark is not None else ""
    return GuardError(what, f"{path}{line}", FORM)
