"""The table of rows names tests that exist."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from guard.loop.detectors import TABLE
from tests.loop import test_cases, test_cli
from tests.loop.rows import ROWS

PARAMETERS = {
    "test_case": set(test_cases.CASES),
    "test_a_run": set(test_cli.CASES),
    "test_each_trips_at_its_threshold_and_not_before": {row.cause for row in TABLE},
}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_tests_that_are_there(row: str) -> None:
    assert ROWS[row]
    for name in ROWS[row]:
        file, _, test = name.partition("::")
        test, _, parameter = test.partition("[")
        assert (Path(__file__).parent / file).exists(), name
        module = importlib.import_module(f"tests.loop.{file.removesuffix('.py')}")
        assert callable(getattr(module, test, None)), name
        assert not parameter or parameter.removesuffix("]") in PARAMETERS[test], name
