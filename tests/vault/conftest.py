"""What the tests of the vault share."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def no_waiting() -> Iterator[None]:
    """Nobody else writes here, so nothing has to be waited for before a loss is looked at again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda _: None)
        yield
