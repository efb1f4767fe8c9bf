"""Pages and examples run in a folder of their own, with a home of their own, without keys or network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orca.interfaces.cli import i18n


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A reader's machine: an empty folder to work in, and an empty home."""
    for name in ("SILICONFLOW_API_KEY", "ORCA_LANG", "LC_ALL", "LC_MESSAGES", "ORCA_STORAGE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "180")  # so that no cell of a table is folded
    monkeypatch.setenv("ORCA_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    yield work
    i18n.use("en")
