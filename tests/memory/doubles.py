"""A clock that only moves when told, and embedders that fail as a test wants."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np

from orca.memory.embedding_queue import EmbeddingQueue
from orca.protocols import Store
from orca.types import EmbeddingSpace, Message, Scope

SCOPE = Scope(user="alice", session="s1")
SPACE = EmbeddingSpace(provider="fake", model="fake", dimensions=16)


class SteppedClock:
    """Stands still until ``advance``."""

    def __init__(self) -> None:
        self._now = datetime(2026, 5, 10, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


def vector_of(text: str, dimensions: int = SPACE.dimensions) -> np.ndarray:
    """Return a unit vector that depends on nothing but the text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@dataclass
class ScriptedEmbedder:
    """Calls ``fault`` before answering: it may raise, or return an answer of its own."""

    fault: Callable[[Sequence[str]], np.ndarray | None] = lambda texts: None
    space: EmbeddingSpace = SPACE
    max_batch: int = 64
    calls: list[list[str]] = field(default_factory=list)
    called: threading.Event = field(default_factory=threading.Event)

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        self.calls.append(list(texts))
        self.called.set()
        answer = self.fault(texts)
        return np.stack([vector_of(text) for text in texts]) if answer is None else answer

    @property
    def sizes(self) -> list[int]:
        return [len(call) for call in self.calls]


def say(store: Store, *texts: str, scope: Scope = SCOPE) -> list[Message]:
    """Store messages of the user; the store writes their embedding jobs."""
    return store.messages.append([Message(role="user", content=text) for text in texts], scope=scope)


def vectors(store: Store, record: Literal["message", "summary", "memory"] = "message") -> int:
    """Return how many rows have a vector in the current space."""
    return sum(space.vectors.get(record, 0) for space in store.vectors.spaces() if space.current)


def work(
    queue: EmbeddingQueue, store: Store, clock: SteppedClock, *, seconds: float = 0.0, owner: str = "test"
) -> int:
    """Do what the worker does, for ``seconds`` of the stepped clock; return the number of batches."""
    end = clock.now() + timedelta(seconds=seconds)
    batches = 0
    while True:
        paused = queue.paused_until
        if paused is None or paused <= clock.now():
            jobs = store.jobs.claim(
                [queue.kind], limit=queue.batch_size, lease_seconds=20, owner=owner, now=clock.now()
            )
            if jobs:
                queue.handle(jobs)
                batches += 1
                assert batches < 10_000, "a tight loop"
                continue
        due = store.jobs.next_due([queue.kind])
        if due is None:
            return batches
        due = max(due, queue.paused_until or due, clock.now() + timedelta(milliseconds=1))
        if due > end:
            clock.advance((end - clock.now()).total_seconds())
            return batches
        clock.advance((due - clock.now()).total_seconds())
