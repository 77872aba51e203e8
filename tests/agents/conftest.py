"""Every test here gets a project of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agents import hooking


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return hooking.tree(Path(os.path.realpath(tmp_path)) / "project")


@pytest.fixture
def alone(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, with a home beside it for what is judged in this very process."""
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    return project
