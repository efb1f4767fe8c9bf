"""The optional last lane: a model that reads query and text together orders the best hits anew."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from orca.errors import OrcaError, ProviderError
from orca.memory.query_embedding import bounded
from orca.protocols import Clock, Reranker
from orca.types import Hit, Lane

logger = logging.getLogger("orca")

RERANKED_HITS = 50
"""Best hits that the model reads: two requests of 32 texts."""

DEADLINE_SECONDS = 2.5
"""How long a recall waits for the model before the hits stay as they are."""

FIRST_PAUSE = 2.0
MAX_PAUSE = 60.0
"""Seconds without asking after a failure; the pause doubles with each failure in a row."""


@dataclass(slots=True)
class _Call:
    """One call to the model in its own thread."""

    done: threading.Event = field(default_factory=threading.Event)
    scores: np.ndarray | None = None
    reason: str | None = None
    retry_after: float = 0.0


class HitReranker:
    """Orders hits by a ``Reranker``. Thread-safe, never raises for what the model does, and waits a bounded time."""

    def __init__(
        self, reranker: Reranker, *, clock: Clock, deadline_seconds: float = DEADLINE_SECONDS
    ) -> None:
        """``deadline_seconds`` bounds the wait of one ``order``."""
        self._reranker = reranker
        self._clock = clock
        self._deadline = deadline_seconds
        self._lock = threading.Lock()
        self._failures = 0
        self._failed: tuple[datetime, float, str] | None = None

    def order(self, query: str, hits: Sequence[Hit]) -> tuple[list[Hit], str | None]:
        """Return hits, best first by the model, and None; or the hits as they were, and the reason in words.

        The model reads the first ``RERANKED_HITS``. Those that it scored stand first, with scores in [.5, 1]; the rest
        follows in its old order, below .5. What the model gave is in ``Hit.lanes`` as ``rerank``.
        """
        if len(hits) < 2 or not query.strip():
            return list(hits), None
        paused = self._paused()
        if paused:
            return list(hits), paused
        call = _Call()
        texts = [hit.content if hit.name is None else f"{hit.name}: {hit.content}" for hit in hits]
        # A plain daemon thread, not an executor: the interpreter would wait for an executor's at exit.
        threading.Thread(
            target=self._run,
            args=(bounded(query), texts[:RERANKED_HITS], call),
            name="orca-rerank",
            daemon=True,
        ).start()
        if not call.done.wait(self._deadline):
            call = _Call(reason=f"rerank: no answer within {self._deadline:g} s")
        self._note(call)
        if call.scores is None:
            return list(hits), call.reason
        return _ordered(hits, call.scores), None

    def _run(self, query: str, texts: Sequence[str], call: _Call) -> None:
        try:
            scores = np.asarray(self._reranker.rerank(query, texts), dtype=np.float64)
            if scores.shape == (len(texts),):
                call.scores = scores
            else:
                call.reason = f"rerank: {len(texts)} texts came back as scores of shape {scores.shape}"
        except Exception as error:  # told to the caller and logged; a recall goes on
            call.reason = f"rerank: {error}"
            call.retry_after = (error.retry_after or 0.0) if isinstance(error, ProviderError) else 0.0
            if not isinstance(error, OrcaError):
                logger.exception("the reranker failed in a way it does not declare")
        call.done.set()

    def _paused(self) -> str | None:
        with self._lock:
            if self._failed is None:
                return None
            since, pause, reason = self._failed
            left = pause - (self._clock.now() - since).total_seconds()
            # A clock that was set back must not lengthen the pause.
            return f"{reason}; not asked for {left:.0f} s" if 0 < left <= pause else None

    def _note(self, call: _Call) -> None:
        with self._lock:
            if call.reason is None:
                self._failures, self._failed = 0, None
                return
            if not self._failures:
                logger.warning("hits are not reranked: %s", call.reason)
            pause = max(FIRST_PAUSE * 2.0 ** min(self._failures, 10), call.retry_after)
            self._failures += 1
            self._failed = (self._clock.now(), min(pause, MAX_PAUSE), call.reason)


def _ordered(hits: Sequence[Hit], scores: np.ndarray) -> list[Hit]:
    read = [place for place in range(len(scores)) if not np.isnan(scores[place])]
    best = sorted(read, key=lambda place: (-scores[place], place))
    scored = set(best)
    first = [
        replace(
            hits[place],
            score=0.5 + 0.5 * float(np.clip(scores[place], 0.0, 1.0)),
            lanes={**hits[place].lanes, "rerank": Lane(score=float(scores[place]), rank=rank)},
        )
        for rank, place in enumerate(best, 1)
    ]
    rest = [replace(hit, score=0.499 * hit.score) for place, hit in enumerate(hits) if place not in scored]
    return first + rest
