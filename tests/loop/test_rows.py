"""The table of rows names tests that exist."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from guard.loop.detectors import TABLE
from tests.loop import test_cases, test_cli, test_control_rules
from tests.loop.rows import ROWS

ROOT = Path(__file__).resolve().parent.parent.parent
PARAMETERS = {
    "test_case": set(test_cases.CASES),
    "test_a_run": set(test_cli.CASES),
    "test_each_trips_at_its_threshold_and_not_before": {row.cause for row in TABLE},
    "test_holds_modes_and_gate": set(test_control_rules.CHECKS),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_tests_that_are_there(row: str) -> None:
    assert ROWS[row]
    for name in ROWS[row]:
        file, _, test = name.partition("::")
        test, _, parameter = test.partition("[")
        path = (Path(__file__).parent / file).resolve()
        assert path.exists(), name
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        assert callable(getattr(module, test, None)), name
        assert not parameter or parameter.removesuffix("]") in PARAMETERS[test], name
