"""The embedding queue: jobs of kind ``embed`` become vectors, and none of them is ever given up.

A failure of the provider pauses the queue and counts against no row. A failure of one row parks that row, with
its reason, and holds up no other. Waiting rows are tried again as soon as the provider is back.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Literal

import numpy as np

from orca.errors import EmbeddingSpaceMismatchError, ProviderError, ProviderTimeoutError
from orca.memory.backoff import ProviderHealth, exponential_delay
from orca.memory.embedding_batches import BatchEmbedder, Item, Outcome
from orca.protocols import Clock, Embedder, Store
from orca.text.parts import indexed_text
from orca.types import Job, JobKind, Record, Scope

logger = logging.getLogger("orca")

LINGER_SECONDS = 0.2
"""How long a batch of fewer than five waits to fill (DESIGN: five or 200 ms, whichever comes first)."""

LEASE_SECONDS = 20.0
"""How long other processes leave a claimed batch alone: long enough for a usual call, short enough that what a
killed process was embedding is embedded soon after a restart."""

ROW_BASE_SECONDS = 60.0
"""First delay of a row that failed by itself; each further one is four times as long."""

BEHIND_SECONDS = 0.5
"""How much later than the others a row becomes due that failed alone, so that the next probe is another row."""

ROW_CAP_SECONDS = 6 * 3600.0
"""Longest delay of such a row: it is still tried four times a day."""


class EmbeddingQueue:
    """A job handler that embeds messages, summaries and memories into the store's current space."""

    kind: JobKind = "embed"
    linger = LINGER_SECONDS
    lease_seconds = LEASE_SECONDS

    def __init__(
        self, store: Store, embedder: Embedder, *, clock: Clock, random: Random | None = None
    ) -> None:
        """``random`` gives the jitter of pauses."""
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._health = ProviderHealth("embedding", clock=clock, random=random or Random())  # noqa: S311 - jitter
        self._batches = BatchEmbedder(embedder, self._save)
        self._successes = 0
        self._suspects: dict[int, int] = {}  # job id → successes when it failed alone without a witness

    @property
    def batch_size(self) -> int:
        """What the provider accepts at once; a single row while it is out, as a probe."""
        return 1 if self._health.is_out else self._batches.size.value

    @property
    def paused_until(self) -> datetime | None:
        """Until when the provider is left alone, or None."""
        return self._health.paused_until

    @property
    def state(self) -> Literal["ok", "paused"]:
        """Whether the provider answers, as far as is known."""
        return "paused" if self._health.is_out else "ok"

    @property
    def reason(self) -> str | None:
        """Why nothing is embedded at present and when the next try is, in words; None when all is well."""
        return self._health.reason

    def resume(self) -> None:
        """Let the next batch be tried at once."""
        self._health.resume()

    def handle(self, jobs: Sequence[Job]) -> None:
        """Embed the rows of ``jobs``. Raises ``StoreError``; provider failures end as jobs that wait."""
        texts = self._texts(jobs)
        items = [Item(job, texts[_id(job)]) for job in jobs if _says_something(texts.get(_id(job)))]
        if len(items) < len(jobs):
            wanted = {_id(item.job) for item in items}
            # The row is gone or says nothing: there is nothing to embed, now or later.
            self._store.jobs.complete([_id(job) for job in jobs if _id(job) not in wanted])
        if not items:
            return
        try:
            self._check_space(self._store)
            outcome = self._batches.embed(items)
        except EmbeddingSpaceMismatchError as error:
            until = self._health.failed(str(error))
            # Jobs that were completed before the space changed do not exist any more, so this leaves them alone.
            self._wait([item.job for item in items], error=str(error), run_after=until)
            return
        if outcome.saved and self._health.succeeded():
            self._store.jobs.release(kinds=[self.kind], now=self._clock.now())
        self._settle(outcome)

    def _texts(self, jobs: Sequence[Job], store: Store | None = None) -> Mapping[int, str]:
        """Return job id → the text of its row now, without those whose row is gone or not active."""
        store = store or self._store
        groups: dict[tuple[Record, str, str], list[Job]] = defaultdict(list)
        for job in jobs:
            groups[job.record, job.user, job.agent].append(job)
        texts = {}
        for (record, user, agent), group in groups.items():
            scope = Scope(user=user, session=group[0].session, agent=agent)
            rows = _rows(store, record, [job.target_id for job in group], scope)
            texts.update({_id(job): rows[job.target_id] for job in group if job.target_id in rows})
        return texts

    def _check_space(self, store: Store) -> None:
        current, own = store.vectors.space, self._embedder.space
        if current is None or current.key != own.key:
            there = current.key if current else "none"
            raise EmbeddingSpaceMismatchError(
                f"the store's current embedding space is {there}, but this process embeds into {own.key}"
            )

    def _save(self, items: Sequence[Item], vectors: np.ndarray) -> None:
        """Store the vectors of rows whose text is still the embedded one, and end their jobs, in one transaction."""
        with self._store.transaction() as tx:
            self._check_space(tx)
            texts = self._texts([item.job for item in items], tx)
            by_record: dict[Record, list[int]] = defaultdict(list)
            changed = []
            for number, item in enumerate(items):
                now_there = texts.get(_id(item.job))
                if now_there == item.text:
                    by_record[item.job.record].append(number)
                elif now_there is not None:
                    changed.append(item.job)
            for record, numbers in by_record.items():
                ids = [items[number].job.target_id for number in numbers]
                tx.vectors.save_embedding(record, ids, vectors[numbers])
            again = {_id(job) for job in changed}
            tx.jobs.complete([_id(item.job) for item in items if _id(item.job) not in again])
            self._wait(changed, error="its text changed while it was embedded", run_after=self._clock.now())
        self._successes += len(items)
        for item in items:
            self._suspects.pop(_id(item.job), None)

    def _settle(self, outcome: Outcome) -> None:
        """Give back what was not embedded: each failed row by itself, the rest when the provider may be back."""
        doubtful = []
        for item, error in outcome.failed:
            if error.refused or self._failed_before(item) or (outcome.saved and not _is_timeout(error)):
                self._park(item, error)
            else:
                doubtful.append((item, error))
        error_of_all = outcome.outage or (doubtful[0][1] if doubtful else None)
        if error_of_all is None:
            return
        until = self._health.failed(error_of_all)
        self._wait([item.job for item in outcome.untried], error=str(error_of_all), run_after=until)
        # When another row passes and this one fails again, the fault is the row's and not the provider's.
        behind = until + timedelta(seconds=BEHIND_SECONDS)
        for item, error in doubtful:
            self._suspects[_id(item.job)] = self._successes
            self._wait([item.job], error=str(error), run_after=behind)

    def _failed_before(self, item: Item) -> bool:
        """Whether the row was found at fault before, or failed alone before and others have passed since."""
        if item.job.attempts > 0:
            return True
        then = self._suspects.get(_id(item.job))
        return then is not None and self._successes > then

    def _park(self, item: Item, error: ProviderError) -> None:
        job = item.job
        self._suspects.pop(_id(job), None)
        delay = exponential_delay(job.attempts + 1, base=ROW_BASE_SECONDS, cap=ROW_CAP_SECONDS, factor=4.0)
        log = logger.warning if job.attempts == 0 else logger.debug
        log("%s %d has no vector: %s; tried again in %.0f s", job.record, job.target_id, error, delay)
        run_after = self._clock.now() + timedelta(seconds=delay)
        self._store.jobs.retry([_id(job)], error=str(error), run_after=run_after, failed=True)

    def _wait(self, jobs: Sequence[Job], *, error: str, run_after: datetime) -> None:
        if jobs:
            self._store.jobs.retry([_id(job) for job in jobs], error=error, run_after=run_after, failed=False)


def _is_timeout(error: ProviderError) -> bool:
    return isinstance(error, ProviderTimeoutError)


def _says_something(text: str | None) -> bool:
    return text is not None and bool(text.replace("\x00", " ").strip())


def _id(job: Job) -> int:
    if job.id is None:
        raise ValueError("a claimed job has an id")
    return job.id


def _rows(store: Store, record: Record, ids: Sequence[int], scope: Scope) -> Mapping[int, str]:
    """Return id → text of the rows that exist and are to be found by their vectors."""
    pairs: list[tuple[int | None, str]]
    if record == "message":
        pairs = [(row.id, indexed_text(row)) for row in store.messages.get_many(ids, scope=scope)]
    elif record == "summary":
        pairs = [(row.id, row.content) for row in store.summaries.get_many(ids, scope=scope)]
    else:
        memories = store.memories.get_many(ids, scope=scope)
        pairs = [(row.id, row.content) for row in memories if row.state == "active"]
    return {id_: text for id_, text in pairs if id_ is not None}
