"""A circuit breaker: while a provider is down, a query learns so at once and not after a time-out."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import numpy as np

from orca.embedders._wrapping import WrappingEmbedder
from orca.errors import ProviderError
from orca.protocols import Clock, Embedder

FAILURES = 3
"""Failures in a row before queries are refused; one alone is chance."""

FIRST_PAUSE = 2.0
MAX_PAUSE = 60.0
"""Seconds. The pause doubles with each failed trial, and nobody waits longer than this for a recovered provider."""


class GuardedEmbedder(WrappingEmbedder):
    """Passes queries on until three in a row have failed, then refuses them for a while with the last reason.

    After the pause (2 s, doubling to 60 s, or as long as the provider asked, up to 60 s) one query is let through:
    its success closes the guard, its failure opens it for longer. Any success closes it, a document's too. Documents
    always pass, because their job table paces itself. Requests refused for their content say nothing about the
    provider's health. Safe to share between threads.
    """

    def __init__(self, embedder: Embedder, *, clock: Clock) -> None:
        super().__init__(embedder)
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._last: ProviderError | None = None
        self._opened: datetime | None = None
        self._pause = 0.0

    @property
    def reason(self) -> str | None:
        """Why queries are refused right now, or None."""
        with self._lock:
            return str(self._last) if self._opened else None

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        """Embed, or raise ``ProviderError`` with the last reason and the seconds left while the guard is open."""
        if kind == "query":
            self._admit()
        try:
            vectors = self._embedder.embed(texts, kind=kind)
        except ProviderError as error:
            if kind == "query" and not error.refused:
                self._failed(error)
            raise
        self._succeeded()
        return vectors

    def _admit(self) -> None:
        with self._lock:
            if self._opened is None:
                return
            now = self._clock.now()
            left = self._pause - (now - self._opened).total_seconds()
            # A clock that was set back must not lengthen the pause.
            if 0 < left <= self._pause:
                raise ProviderError(
                    f"queries pause for {left:.0f} s: {self._last}", retry_after=left
                ) from self._last
            # The trial. Others wait until it has an outcome, at most for another pause of the same length.
            self._opened = now

    def _failed(self, error: ProviderError) -> None:
        with self._lock:
            self._failures += 1
            self._last = error
            if self._failures < FAILURES:
                return
            grown = FIRST_PAUSE * 2.0 ** min(self._failures - FAILURES, 10)
            self._pause = min(max(grown, error.retry_after or 0.0), MAX_PAUSE)
            self._opened = self._clock.now()

    def _succeeded(self) -> None:
        with self._lock:
            self._failures = 0
            self._last = None
            self._opened = None
