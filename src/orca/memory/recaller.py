"""Bringing back: the three tiers and the search over messages, with one embedding of the query a recall."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from orca.errors import ConfigError, StoreUnavailableError
from orca.memory.maintenance import is_expired
from orca.memory.message_search import MessageSearch
from orca.memory.query_embedding import QueryEmbedder
from orca.memory.record_search import RecordSearch, record_hit
from orca.memory.recorder import Recorder
from orca.memory.rendering import RememberingCounter
from orca.memory.reranking import RERANKED_HITS, HitReranker
from orca.memory.retrieval_constants import LANES, SearchLane
from orca.memory.working import select_window
from orca.protocols import Clock, Store, TokenCounter
from orca.text.redaction import MASKED, Redaction
from orca.types import Correction, Hit, Lane, Memory, Message, Recall, Scope, Summary

logger = logging.getLogger("orca")

SHORT_TERM_ITEMS = 3
"""Summaries of the session that a recall offers (seed: top 3)."""

LONG_TERM_ITEMS = 2
"""Memories that a recall offers, beside the pinned ones (seed: top 2)."""

PINNED_ITEMS = 8
"""Pinned memories that a prompt is offered at most."""

PROMPT_MESSAGES = 12
"""Message hits that a prompt is offered; relevance and budget decide how many of them enter."""

PAGE_ROWS = 200
"""Messages read at a time while the working window fills."""

OPENING_ROWS = 8
"""Messages at a session's beginning that are looked at for its own system messages."""


class Recaller:
    """Reads the tiers. Without vectors the keyword lane serves, filled up as the seed asks, by time or by use."""

    def __init__(
        self,
        store: Store,
        *,
        recorder: Recorder,
        queries: QueryEmbedder,
        messages: MessageSearch,
        records: RecordSearch,
        counter: TokenCounter,
        clock: Clock,
        redaction: Redaction = MASKED,
        reranker: HitReranker | None = None,
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._queries = queries
        self._messages = messages
        self._records = records
        self._counter = RememberingCounter(counter)
        self._clock = clock
        self._redaction = redaction
        self._reranker = reranker

    def working(self, *, scope: Scope, token_budget: int) -> list[Message]:
        """Return the newest messages within the budget, never half of a tool call, chronological."""
        _check_limit("token_budget", token_budget)
        return select_window(self._newest(scope, token_budget), token_budget, self._counter, keep=1.0)

    def short_term(self, *, scope: Scope, query: str | None, max_items: int) -> list[Hit]:
        """Return the session's summaries for a query; see ``MemoryManager.get_short_term_memory``."""
        return self._summaries(scope, query, self._vector(query)[0], max_items)

    def long_term(self, *, scope: Scope, query: str | None, max_items: int) -> list[Hit]:
        """Return memories for a query, and count the access."""
        hits = self._memories(scope, query, self._vector(query)[0], max_items)
        self._touch(hits, scope)
        return hits

    def messages(self, *, scope: Scope, query: str, limit: int, across_sessions: bool) -> list[Hit]:
        """Return messages for a query, best first."""
        _check_limit("limit", limit)
        vector = self._vector(query)[0]
        return self._found(query, vector, scope=scope, limit=limit, across_sessions=across_sessions)[0]

    def recall(self, *, scope: Scope, query: str, limit: int, token_budget: int) -> Recall:
        """Return what every tier gives for a query."""
        _check_limit("limit", limit)
        vector, reason = self._vector(query)
        long_term = self._memories(scope, query, vector, LONG_TERM_ITEMS)
        self._touch(long_term, scope)
        hits, unranked = self._found(query, vector, scope=scope, limit=limit)
        return Recall(
            working=tuple(self.working(scope=scope, token_budget=token_budget)),
            short_term=tuple(self._summaries(scope, query, vector, SHORT_TERM_ITEMS)),
            long_term=tuple(long_term),
            messages=tuple(hits),
            degraded=self._degraded(reason, unranked),
        )

    def for_prompt(
        self,
        *,
        scope: Scope,
        query: str | None,
        token_budget: int,
        lanes: Collection[SearchLane] = LANES,
        trial: bool = False,
    ) -> Recall:
        """Return the candidates for a prompt of at most ``token_budget`` tokens.

        ``lanes`` are those that search; one that is left out is as good as missing. A ``trial`` counts no access.
        """
        _check_limit("window_tokens", token_budget)
        vector, reason = self._vector(query) if "dense" in lanes else (None, "the dense lane is turned off")
        keywords = "keyword" in lanes
        working = self._newest(scope, token_budget)
        found = self._memories(scope, query, vector, LONG_TERM_ITEMS, keywords=keywords)
        long_term = self._with_pinned(scope, found)
        if not trial:
            self._touch(long_term, scope)
        hits: list[Hit] = []
        unranked: str | None = None
        if query:
            hits, unranked = self._found(query, vector, scope=scope, limit=PROMPT_MESSAGES, keywords=keywords)
        shown = [message.id for message in working if message.id is not None] + [hit.id for hit in hits]
        return Recall(
            working=tuple(working),
            short_term=tuple(self._summaries(scope, query, vector, SHORT_TERM_ITEMS, keywords=keywords)),
            long_term=tuple(long_term),
            messages=tuple(hits),
            corrections=tuple(self._corrections(shown, scope)),
            degraded=self._degraded(reason, unranked) if query else None,
        )

    def _vector(self, query: str | None) -> tuple[np.ndarray | None, str | None]:
        if not query or not query.strip():
            return None, None
        if not self._store.vectors.available:
            return None, self._store.vectors.reason
        return self._queries.embed(self._redaction.text(query))

    def _found(
        self,
        query: str,
        vector: np.ndarray | None,
        *,
        scope: Scope,
        limit: int,
        across_sessions: bool = True,
        keywords: bool = True,
    ) -> tuple[list[Hit], str | None]:
        """Return the best messages, reranked where there is a model for it, and why that model did not serve."""
        ranks = self._reranker is not None and limit > 0
        hits = self._messages.search(
            query,
            vector,
            scope=scope,
            limit=max(limit, RERANKED_HITS) if ranks else limit,
            across_sessions=across_sessions,
            keywords=keywords,
        )
        # Small talk concerns no message, whatever a model makes of it.
        if self._reranker is None or not any(hit.relevance for hit in hits):
            return hits[:limit], None
        hits, reason = self._reranker.order(self._redaction.text(query), hits)
        return hits[:limit], reason

    def _degraded(self, *reasons_here: str | None) -> str | None:
        reasons = dict.fromkeys(filter(None, (*reasons_here, *self._store.degraded, self._recorder.reason)))
        return "; ".join(reasons) or None

    def _newest(self, scope: Scope, token_budget: int) -> list[Message]:
        """Return the newest messages that may fill the budget, with the session's own system messages in front."""
        rows: list[Message] = self._recorder.waiting(scope)
        tokens = sum(message.token_count for message in rows)
        before: int | None = None
        while tokens <= token_budget:
            page = self._store.messages.recent(scope=scope, limit=PAGE_ROWS, before=before)
            rows[:0] = page
            tokens += sum(message.token_count for message in page)
            if len(page) < PAGE_ROWS:
                return rows
            before = page[0].id
        opening = []
        for message in self._store.messages.since(scope=scope, position=0, limit=OPENING_ROWS):
            if message.role != "system" or message.position >= rows[0].position:
                break
            opening.append(message)
        return opening + rows

    def _summaries(
        self,
        scope: Scope,
        query: str | None,
        vector: np.ndarray | None,
        max_items: int,
        *,
        keywords: bool = True,
    ) -> list[Hit]:
        hits = self._record_hits("summary", scope, query, vector, max_items, keywords=keywords)
        if vector is not None:
            return hits
        recent = self._store.summaries.recent(scope=scope, limit=max_items)
        return _filled(
            hits, [_recent(summary, rank) for rank, summary in enumerate(reversed(recent), 1)], max_items
        )

    def _memories(
        self,
        scope: Scope,
        query: str | None,
        vector: np.ndarray | None,
        max_items: int,
        *,
        keywords: bool = True,
    ) -> list[Hit]:
        hits = self._record_hits("memory", scope, query, vector, max_items, keywords=keywords)
        if vector is not None:
            return hits
        return _filled(
            hits,
            [_recent(memory, rank) for rank, memory in enumerate(self._most_used(scope, max_items), 1)],
            max_items,
        )

    def _record_hits(
        self,
        record: Literal["summary", "memory"],
        scope: Scope,
        query: str | None,
        vector: np.ndarray | None,
        max_items: int,
        *,
        keywords: bool,
    ) -> list[Hit]:
        _check_limit("max_items", max_items)
        if not query or not query.strip():
            return []
        return self._records.search(record, query, vector, scope=scope, limit=max_items, keywords=keywords)

    def _most_used(self, scope: Scope, limit: int) -> list[Memory]:
        now = self._clock.now()
        first = self._store.memories.most_accessed(scope=scope, limit=limit, now=now)
        return [memory for memory in first if not is_expired(memory, now)]

    def _with_pinned(self, scope: Scope, hits: list[Hit]) -> list[Hit]:
        first = self._most_used(scope, PINNED_ITEMS)
        pinned = {memory.id: _recent(memory, rank) for rank, memory in enumerate(first, 1) if memory.pinned}
        found = [replace(hit, relevance=1.0) if hit.id in pinned else hit for hit in hits]
        return found + [hit for hit in pinned.values() if hit.id not in {hit.id for hit in found}]

    def _touch(self, hits: Sequence[Hit], scope: Scope) -> None:
        if not hits:
            return
        try:
            self._store.memories.touch([hit.id for hit in hits], scope=scope, now=self._clock.now())
        except StoreUnavailableError as error:  # a count that cannot be written must not cost the recall
            logger.info("accesses were not counted: %s", error)

    def _corrections(self, shown: Sequence[int], scope: Scope) -> list[Correction]:
        corrections = []
        for stale, current in self._store.memories.replaced(message_ids=shown, scope=scope):
            if stale.id is None or current.id is None:
                continue
            corrections.append(
                Correction(
                    message_ids=stale.source_message_ids,
                    stale=stale.content,
                    memory_id=current.id,
                    current=current.content,
                    since=current.valid_from or current.created_at,
                )
            )
        return corrections


def _filled(hits: list[Hit], others: Sequence[Hit], max_items: int) -> list[Hit]:
    """Return keyword hits, filled up with others that are not among them; those rank below.

    Without vectors nobody can tell how relevant a row is, and the seed asks for the newest summaries and the most
    used memories then. So all of them pass the relevance floor: those that share a word with the query no less.
    """
    known = {hit.id for hit in hits}
    kept = (hits + [hit for hit in others if hit.id not in known])[:max_items]
    return [replace(hit, relevance=1.0) for hit in kept]


def _recent(row: Summary | Memory, rank: int) -> Hit:
    """Return a row that no search found: it comes in by time or by use."""
    return record_hit(row, score=0.0, lanes={"recency": Lane(score=1 / rank, rank=rank)})


def _check_limit(name: str, value: int) -> None:
    if value < 0:
        raise ConfigError(f"{name}: {value} is negative; give 0 or more")
