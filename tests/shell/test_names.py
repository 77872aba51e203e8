"""The names by which a command is told are those of the tables behind them."""

from __future__ import annotations

from guard.shell import builtins, names, wrap


def test_every_builtin_is_named() -> None:
    assert set(builtins.BUILTINS) == names.BUILTINS
    assert names.PROGRAMS <= names.BUILTINS


def test_every_wrapper_is_named() -> None:
    assert set(wrap.WRAPPERS) == names.WRAPPERS
