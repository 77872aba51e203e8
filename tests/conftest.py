"""What every test runs in: a home directory of its own, no configuration of the user's, no mark of an agent."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# In continuous integration the same examples every time: what chance finds elsewhere becomes an example of its own.
settings.register_profile("guard", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("guard")

KEPT = {"PATH", "LANG", "LC_ALL", "TMPDIR", "TERM", "SYSTEMROOT"}


def pytest_configure() -> None:
    """Signals as at a terminal: what is ignored here (SIGHUP, where nohup has started the tests) would be ignored below."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of the environment but what programs need to run, and a home directory that is empty."""
    before = dict(os.environ)
    for name in set(os.environ) - KEPT:
        if not name.startswith(("PYTEST_", "COVERAGE_", "HYPOTHESIS_")):
            del os.environ[name]
    os.environ |= {"HOME": str(tmp_path_factory.mktemp("home")), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    yield
    os.environ.clear()
    os.environ.update(before)
