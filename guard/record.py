"""NamedTuple as `typing` has it, without the 7 ms that importing `typing` costs.

Use it under mypy's eyes as the real thing:

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from typing import NamedTuple
    else:
        from guard.record import NamedTuple
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_REQUIRED = object()


class _RecordType(type):
    """Turns a class body with annotations into a tuple subclass with named fields and defaults."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(mcs, name, bases, body)
        fields = tuple(body.get("__annotations__", {}))
        defaults = tuple(body.pop(field, _REQUIRED) for field in fields)
        body |= {field: _tuplegetter(i, f"field {i}") for i, field in enumerate(fields)}
        body |= {"__slots__": (), "_fields": fields, "_field_defaults": _given(fields, defaults), "__match_args__": fields}
        body |= {"__new__": _constructor(name, fields, defaults), "__getnewargs__": tuple, "__repr__": _repr}
        body |= {"_replace": _replace, "_asdict": _asdict}
        return type(name, (tuple,), body)


def _given(fields: tuple[str, ...], defaults: tuple[Any, ...]) -> dict[str, Any]:
    return {field: value for field, value in zip(fields, defaults, strict=True) if value is not _REQUIRED}


def _constructor(name: str, fields: tuple[str, ...], defaults: tuple[Any, ...]) -> Any:
    count = len(fields)
    needed = max((at + 1 for at, default in enumerate(defaults) if default is _REQUIRED), default=0)

    def new(cls: Any, *values: Any, **named: Any) -> Any:
        if not named and needed <= len(values) < count:
            return tuple.__new__(cls, values + defaults[len(values) :])
        if named or len(values) != count:
            if len(values) > count:
                raise TypeError(f"{name}() takes {count} fields, {len(values)} given")
            rest = tuple(named.pop(f, d) for f, d in zip(fields[len(values) :], defaults[len(values) :], strict=True))
            if named:
                raise TypeError(f"{name}() has no field {sorted(named)[0]!r}, or it is given twice")
            if any(value is _REQUIRED for value in rest):
                raise TypeError(f"{name}() needs a value for every field of {fields}")
            values += rest
        return tuple.__new__(cls, values)

    return new


def _replace(self: Any, **changes: Any) -> Any:
    values = list(self)
    for field, value in changes.items():
        if field not in self._fields:
            raise TypeError(f"{type(self).__name__}() has no field {field!r}")
        values[self._fields.index(field)] = value
    return tuple.__new__(type(self), values)


def _asdict(self: Any) -> Mapping[str, Any]:
    return dict(zip(self._fields, self, strict=True))


def _repr(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{f}={v!r}' for f, v in _asdict(self).items())})"


class NamedTuple(metaclass=_RecordType):
    """Base of the light records: subclass it with annotated fields, defaults and methods."""
