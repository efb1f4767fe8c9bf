"""The stores that the suite runs over. A new backend is one line in ``BACKENDS``; no test names any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from orca.facets import MessageStore
from orca.protocols import Clock, Store
from orca.stores.jsonl import JSONLStore
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FixedClock
from orca.types import EmbeddingSpace, Scope

DIMENSIONS = 8


@dataclass(frozen=True)
class Backend:
    """How a store is opened below a directory, and whether it is there again after closing."""

    name: str
    open: Callable[[Path, Clock], Store]
    durable: bool = True


# The suite asks what is stored, not whether it survives a power cut, so the disk is not waited for.
BACKENDS = (
    Backend("sqlite", lambda path, clock: SQLiteStore(path / "store.db", clock=clock, synchronous="OFF")),
    Backend("sqlite-in-memory", lambda path, clock: SQLiteStore(":memory:", clock=clock), durable=False),
)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def scope() -> Scope:
    return Scope(user="alice", session="s1")


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture(params=[backend for backend in BACKENDS if backend.durable], ids=lambda backend: backend.name)
def durable(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def store(backend: Backend, tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    opened = backend.open(tmp_path, clock)
    yield opened
    opened.close()


@pytest.fixture
def other_store(backend: Backend, tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    """A second, empty store of the same backend."""
    path = tmp_path / "other"
    path.mkdir()
    opened = backend.open(path, clock)
    yield opened
    opened.close()


@pytest.fixture(params=[*BACKENDS, "jsonl"], ids=lambda backend: getattr(backend, "name", backend))
def messages(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[MessageStore]:
    """The message facet of every store, and the one store that has no other."""
    if request.param == "jsonl":
        yield JSONLStore(tmp_path / "log", clock=clock)
        return
    opened = request.param.open(tmp_path, clock)
    yield opened.messages
    opened.close()


@pytest.fixture
def space() -> EmbeddingSpace:
    return EmbeddingSpace(provider="test", model="axes", dimensions=DIMENSIONS)


@pytest.fixture
def vector_store(store: Store, space: EmbeddingSpace) -> Store:
    store.vectors.use_space(space)
    return store


@pytest.fixture
def check(store: Store) -> Iterator[Callable[[], None]]:
    """Rows, keyword index and vectors agree. Runs at the end of the test too."""

    def agree() -> None:
        bad = [check for check in store.verify() if not check.ok]
        assert not bad

    yield agree
    agree()


def unit(*values: float) -> np.ndarray:
    """A unit vector that begins with the given values."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)
