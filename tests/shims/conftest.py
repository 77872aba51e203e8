"""Shims are installed once; each test gets a copy with a home of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.shims import directory
from tests.shims.directory import Shims


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return directory.install(Path(os.path.realpath(tmp_path_factory.mktemp("installed"))))


@pytest.fixture
def shims(installed: Path, tmp_path: Path) -> Shims:
    """Shims that know the project in tmp_path/app."""
    top = Path(os.path.realpath(tmp_path))
    shutil.copytree(installed, top / "shims", ignore=shutil.ignore_patterns(".policy*"))
    (top / "home" / ".local" / "state").mkdir(parents=True)
    found = Shims(top / "shims", top / "home")
    directory.tree(top / "app")
    found.register(top / "app")
    return found


@pytest.fixture
def app(shims: Shims) -> Path:
    return shims.home.parent / "app"
