"""The ways of searching that are compared: each lane by itself, both, and a recall with all tiers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, Self

import numpy as np

from benchmarks.measures import RANKED
from orca.embedders.centred import CentredEmbedder
from orca.embedders.local import LocalEmbedder
from orca.memory.message_search import MessageSearch
from orca.stores.sqlite.store import SQLiteStore
from orca.text.parts import indexed_text, is_embeddable
from orca.types import Message, Scope
from orca.wiring import SystemClock, open_memory

WAYS = ("keyword", "dense", "hybrid", "recall")


class MovableClock:
    """The machine's clock, moved so that a question is asked on its own day."""

    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def move_to(self, moment: datetime) -> None:
        """Let it be ``moment`` now."""
        self._ahead = moment - datetime.now(UTC)

    def now(self) -> datetime:
        """Return the time it shows."""
        return datetime.now(UTC) + self._ahead


class Searcher(Protocol):
    """Stores messages and searches them."""

    clock: MovableClock

    def add(self, messages: Sequence[Message], scope: Scope) -> list[Message]: ...
    def settle(self) -> None: ...
    def prepare(self, query: str) -> None: ...
    def search(self, query: str, scope: Scope) -> list[tuple[int, ...]]:
        """Return the ids of the messages that each hit stands for, best first."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...


def searcher(way: str) -> Searcher:
    """Return what searches in one of ``WAYS``."""
    if way == "dense":
        return _DenseOnly()
    return _Memory(with_vectors=way != "keyword", all_tiers=way == "recall")


class _Memory:
    """The memory as a user opens it."""

    def __init__(self, *, with_vectors: bool, all_tiers: bool) -> None:
        self.clock = MovableClock()
        self._all_tiers = all_tiers
        self._memory = open_memory(
            ":memory:",
            embedder=LocalEmbedder() if with_vectors else None,
            chat_model=None,
            reranker=None,
            clock=self.clock,
        )
        self._sources: dict[Scope, dict[int, tuple[int, ...]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._memory.close()

    def add(self, messages: Sequence[Message], scope: Scope) -> list[Message]:
        stored = self._memory.observe_many(scope=scope, messages=messages)
        if self._all_tiers:
            self._memory.end_session(scope=scope)
        return stored

    def settle(self) -> None:
        if not self._memory.flush(timeout=1_200):
            raise RuntimeError("background work did not finish within twenty minutes")

    def prepare(self, query: str) -> None:
        # The query's vector is kept, so that what is timed next is the search alone.
        self._memory.search_messages(scope=Scope(user="nobody"), query=query, limit=1)

    def search(self, query: str, scope: Scope) -> list[tuple[int, ...]]:
        if not self._all_tiers:
            hits = self._memory.search_messages(scope=scope, query=query, limit=RANKED)
            return [(hit.id,) for hit in hits]
        if scope not in self._sources:
            self._sources[scope] = {
                fact.id: tuple(fact.source_message_ids)
                for fact in self._memory.memories(scope=scope)
                if fact.id is not None
            }
        found = self._memory.recall(scope=scope, query=query)
        facts = [self._sources[scope].get(hit.id, ()) for hit in found.long_term if hit.relevance >= 0.5]
        return [*facts, *((hit.id,) for hit in found.messages)]


class _DenseOnly:
    """The same search with the vector lane alone, embedded without a queue."""

    def __init__(self) -> None:
        self.clock = MovableClock()
        self._embedder = CentredEmbedder(LocalEmbedder())
        self._store = SQLiteStore(":memory:", clock=SystemClock())
        self._store.vectors.use_space(self._embedder.space)
        self._search = MessageSearch(self._store, clock=self.clock)
        self._vector = np.zeros(self._embedder.space.dimensions, dtype=np.float32)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._store.close()

    def add(self, messages: Sequence[Message], scope: Scope) -> list[Message]:
        stored = self._store.messages.append(messages, scope=scope)
        worth = [message for message in stored if is_embeddable(message)]
        for start in range(0, len(worth), self._embedder.max_batch):
            batch = worth[start : start + self._embedder.max_batch]
            vectors = self._embedder.embed([indexed_text(message) for message in batch], kind="document")
            self._store.vectors.save_embedding("message", [message.id or 0 for message in batch], vectors)
        return stored

    def settle(self) -> None:
        """Do nothing: everything is embedded already."""

    def prepare(self, query: str) -> None:
        self._vector = self._embedder.embed([query], kind="query")[0]

    def search(self, query: str, scope: Scope) -> list[tuple[int, ...]]:
        hits = self._search.search(query, self._vector, scope=scope, limit=RANKED, keywords=False)
        return [(hit.id,) for hit in hits]
