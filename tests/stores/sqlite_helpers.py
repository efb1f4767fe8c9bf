from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from orca.stores.sqlite.store import SQLiteStore
from orca.types import EmbeddingSpace, Scope

SCOPE = Scope(user="alice", session="s1")
SPACE = EmbeddingSpace(provider="test", model="m", dimensions=8)


class SteppingClock:
    """Moves on by one millisecond at each look."""

    def __init__(self) -> None:
        self._now = datetime(2026, 5, 10, 8, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now


def open_store(path: str | Path = ":memory:", **options: Any) -> SQLiteStore:
    return SQLiteStore(path, clock=SteppingClock(), **options)


def unit(*values: float) -> np.ndarray:
    vector = np.zeros(8, dtype=np.float32)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)


def failed_checks(store: SQLiteStore) -> list[str]:
    return [f"{check.name}: {check.detail}" for check in store.verify() if not check.ok]
