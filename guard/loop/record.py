"""Records of the loop: immutable structures that come from JSON strictly and go back to it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

Kind = TypeVar("Kind", bound="Record")


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A structure with named, typed fields. One that is unknown, missing or of another type is an error, never ignored."""


class Invalid(ValueError):
    """What was read does not have the form that it should have."""


def parse(kind: type[Kind], values: Any) -> Kind:
    """The record that JSON values stand for. Raises Invalid, which says where they do not fit."""
    try:
        return msgspec.convert(values, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Invalid(str(error)) from None


def dump(record: Record) -> dict[str, Any]:
    """The record as JSON values."""
    values: dict[str, Any] = msgspec.to_builtins(record)
    return values


def replace(record: Kind, **changes: Any) -> Kind:
    """The record with some fields changed."""
    return msgspec.structs.replace(record, **changes)
