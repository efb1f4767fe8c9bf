"""A memory's health: background work, status, verification, rebuilding, closing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orca.health import Report, Status
from orca.memory.embedding_queue import EmbeddingQueue
from orca.memory.erasure import TEXTS
from orca.memory.recorder import Recorder
from orca.memory.worker import BackgroundWorker
from orca.protocols import ChatModel, Clock, Embedder, Store, TokenCounter
from orca.text.redaction import MASKED, Redaction


class Upkeep:
    """Looks after the store and the worker of one memory."""

    def __init__(
        self,
        store: Store,
        *,
        recorder: Recorder,
        worker: BackgroundWorker,
        queue: EmbeddingQueue | None,
        embedder: Embedder | None,
        chat_model: ChatModel | None,
        counter: TokenCounter,
        clock: Clock,
        notes: tuple[str, ...] = (),
        redaction: Redaction = MASKED,
    ) -> None:
        """Take ``notes``, the reasons known since opening: no key, a damaged file."""
        self._store = store
        self._recorder = recorder
        self._worker = worker
        self._queue = queue
        self._embedder = embedder
        self._chat_model = chat_model
        self._counter = counter
        self._clock = clock
        self._notes = notes
        self._redaction = redaction

    def flush(self, timeout: float) -> bool:
        """Wait for background work; return whether nothing that can be done here is pending."""
        self._recorder.drain()
        return self._worker.flush(timeout)

    def status(self) -> Status:
        """Return the store's health in figures and words."""
        return Status(
            backend=self._store.backend,
            location=self._store.location,
            counts=self._store.counts(),
            spaces=tuple(self._store.vectors.spaces()),
            backlog=tuple(self._store.jobs.backlog()),
            degraded=self.degraded(),
            counter=self._counter.name,
            embedder=self._embedder.space.key if self._embedder else None,
            chat_model=self._chat_model.name if self._chat_model else None,
            schema_version=self._store.schema_version,
        )

    def degraded(self) -> tuple[str, ...]:
        """Return what is missing at the moment, in words."""
        reasons = (self._recorder.reason, self._queue.reason if self._queue else None)
        return (*self._notes, *self._store.degraded, *(reason for reason in reasons if reason))

    def retry(self, *, user: str, ids: Sequence[int] | None) -> int:
        """Let a user's waiting jobs, or those named, be tried at once; return how many."""
        return self._worker.retry_now(user=user, ids=ids)

    def verify(self) -> Report:
        """Check the store as a whole."""
        return Report(checks=tuple(self._store.verify()))

    def reindex(self, *, vectors: bool) -> Mapping[str, int]:
        """Rebuild the keyword indexes and let waiting jobs be tried at once; with ``vectors`` embed all anew."""
        counts = dict(self._store.rebuild_index())
        if vectors and self._embedder is not None:
            counts["vectors_dropped"] = self._store.vectors.clear()
        if self._embedder is not None:
            self._store.vectors.use_space(self._embedder.space)
        counts["jobs_released"] = self._worker.retry_now()
        return counts

    def import_rows(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Mapping[str, int]:
        """Store exported rows and let their embeddings start."""
        counts = self._store.import_rows((table, self._masked(row)) for table, row in rows)
        self._worker.notify()
        return counts

    def _masked(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: self._redaction.value(item) if name in TEXTS else item for name, item in row.items()}

    def close(self) -> None:
        """Stop the worker, then close the store."""
        self._worker.close()
        self._store.close()
