"""The map of a memory: its newest messages and memories as points on a plane, by meaning."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orca.memory.projection import project
from orca.protocols import Store
from orca.text.parts import plain_text
from orca.types import EmbeddingSpace, Memory, Message, Record, Scope

LABEL_CHARACTERS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPoint:
    """A message or a memory on the map; ``x`` and ``y`` in [-1, 1]. ``group`` is the role or the kind of memory."""

    record: Record
    id: int
    session: str | None
    group: str
    label: str
    x: float
    y: float


class VectorMap:
    """Draws maps, and keeps what the last one was made of: after a write, only what is new is read. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._last: tuple[object, list[MapPoint]] | None = None
        self._space: EmbeddingSpace | None = None
        self._vectors: dict[Record, dict[int, np.ndarray]] = {}

    def points(self, *, scope: Scope, limit: int) -> list[MapPoint]:
        """Return at most ``limit`` messages and as many active memories, the newest, that have a vector."""
        key = (self._store.browse.version(), scope, limit)
        with self._lock:
            if self._last is None or self._last[0] != key:
                self._last = (key, self._drawn(scope, limit))
            return self._last[1]

    def _drawn(self, scope: Scope, limit: int) -> list[MapPoint]:
        messages = self._store.browse.all_messages(scope=scope, limit=limit)
        memories = self._store.memories.find(scope=scope, limit=limit)
        space = self._store.vectors.space
        if space != self._space:
            self._space, self._vectors = space, {}
        rows: list[Message | Memory] = []
        vectors: list[np.ndarray] = []
        kinds: tuple[tuple[Record, Sequence[Message | Memory]], ...] = (
            ("message", messages),
            ("memory", memories),
        )
        for record, found in kinds:
            known = self._known(record, [row.id for row in found if row.id is not None])
            for row in found:
                if row.id in known:
                    rows.append(row)
                    vectors.append(known[row.id])
        places = project(np.vstack(vectors)).tolist() if vectors else []
        return [_point(row, x, y) for row, (x, y) in zip(rows, places, strict=True)]

    def _known(self, record: Record, ids: Sequence[int]) -> dict[int, np.ndarray]:
        """Return the vectors of those of the ids that have one, and forget all others."""
        before = self._vectors.get(record, {})
        kept = {id: before[id] for id in ids if id in before}
        missing = [id for id in ids if id not in kept]
        if missing:
            found, vectors = self._store.browse.vectors(record, missing)
            kept.update(zip(found, vectors, strict=True))
        self._vectors[record] = kept
        return kept


def _point(row: Message | Memory, x: float, y: float) -> MapPoint:
    is_message = isinstance(row, Message)
    return MapPoint(
        record="message" if is_message else "memory",
        id=row.id or 0,
        session=row.session if isinstance(row, Message) else row.source_session,
        group=row.role if isinstance(row, Message) else row.kind,
        label=" ".join(plain_text(row.content).split())[:LABEL_CHARACTERS],
        x=x,
        y=y,
    )
