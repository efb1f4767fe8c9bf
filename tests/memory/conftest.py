from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orca.protocols import Store
from orca.stores.sqlite.store import SQLiteStore

from .doubles import SPACE, SteppedClock


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def store(tmp_path: Path, clock: SteppedClock) -> Iterator[Store]:
    """An empty SQLite store with the scripted embedder's space in use."""
    store = SQLiteStore(str(tmp_path / "orca.db"), clock=clock)
    store.vectors.use_space(SPACE)
    yield store
    store.close()
