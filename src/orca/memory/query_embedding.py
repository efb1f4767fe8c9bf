"""The query's vector: embedded once, within a time limit, and never a reason for a recall to fail."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from orca.errors import OrcaError, ProviderResponseError
from orca.protocols import Embedder
from orca.text.normalize import clean

logger = logging.getLogger("orca")

QUERY_CHARACTERS = 2_000
"""Longest query text that is embedded. What a long paste is about stands at its head, what is asked at its tail."""

SEARCHED_CHARACTERS = 8_000
"""The most characters of a query whose words are searched for: whole logs are pasted into chats."""

DEADLINE_SECONDS = 2.5
"""How long a recall waits for the query's vector before keyword and recency serve alone."""

MAX_OVERDUE = 2
"""Calls past their deadline that may be under way; with more, a recall does not wait for yet another."""

LOADING = "embedding model is loading"


@runtime_checkable
class Loadable(Protocol):
    """An embedder whose model has to be loaded before its first call."""

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        ...


@dataclass(slots=True)
class _Call:
    """One call to the embedder in its own thread."""

    done: threading.Event = field(default_factory=threading.Event)
    vector: np.ndarray | None = None
    reason: str | None = None


class QueryEmbedder:
    """Embeds queries for recall. Thread-safe; without an embedder it gives no vector and the reason for it."""

    def __init__(self, embedder: Embedder | None, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        """``deadline_seconds`` bounds the wait of one ``embed`` without ``wait``."""
        self._embedder = embedder
        self._deadline = deadline_seconds
        self._lock = threading.Lock()
        self._overdue: set[int] = set()
        self._failing = False

    def embed(self, query: str, *, wait: bool = False) -> tuple[np.ndarray | None, str | None]:
        """Return the query's unit vector float32 ``[dimensions]``, or None and the reason in words.

        Never raises. Returns after the deadline at the latest, unless ``wait`` allows as long as the embedder
        itself takes: a command line that runs once is better served by the model's first load than without it.
        A blank query has neither vector nor reason.
        """
        if self._embedder is None:
            return None, "no embedding model is in use"
        text = bounded(query)
        if not text:
            return None, None
        with self._lock:
            crowded = len(self._overdue) >= MAX_OVERDUE
        call = _Call()
        if wait:
            self._run(self._embedder, text, call)
            return call.vector, call.reason
        if crowded:
            return None, self._late_reason(self._embedder)
        # A plain daemon thread, not an executor: the interpreter would wait for an executor's at exit.
        threading.Thread(
            target=self._run, args=(self._embedder, text, call), name="orca-query", daemon=True
        ).start()
        if not call.done.wait(self._deadline):
            with self._lock:
                late = not call.done.is_set()
                if late:
                    self._overdue.add(id(call))
            if late:
                return None, self._late_reason(self._embedder)
        return call.vector, call.reason

    def _run(self, embedder: Embedder, text: str, call: _Call) -> None:
        try:
            call.vector = _unit(embedder.embed([text], kind="query"), embedder.space.dimensions)
        except Exception as error:  # noqa: BLE001 - logged by _report and told to the caller; a recall goes on
            call.reason = f"query embedding: {error}"
            self._report(error)
        with self._lock:
            if call.vector is not None:
                self._failing = False
            self._overdue.discard(id(call))
            call.done.set()

    def _report(self, error: Exception) -> None:
        with self._lock:
            first, self._failing = not self._failing, True
        if not isinstance(error, OrcaError):
            logger.error("the embedder failed in a way it does not declare", exc_info=error)
        elif first:
            logger.warning("queries are not embedded: %s; keyword and recency serve alone", error)

    def _late_reason(self, embedder: Embedder) -> str:
        if isinstance(embedder, Loadable) and not embedder.loaded:
            return LOADING
        return f"query embedding: no answer within {self._deadline:g} s"


def bounded(query: str, limit: int = QUERY_CHARACTERS) -> str:
    """Return the query cleaned and stripped, a longer one cut to its head and tail, ``limit`` characters in all."""
    text = clean(query).replace("\x00", " ").strip()
    if len(text) <= limit:
        return text
    mark = " … "
    head = (limit - len(mark)) // 2
    tail = limit - len(mark) - head
    return text[:head] + mark + text[-tail:]


def _unit(vectors: np.ndarray, dimensions: int) -> np.ndarray:
    """Return the one vector at unit length. Raises ``ProviderResponseError`` when it is none."""
    array = np.asarray(vectors, dtype=np.float32)
    if array.shape != (1, dimensions):
        raise ProviderResponseError(
            f"a vector of shape {array.shape} came where {(1, dimensions)} was expected"
        )
    norm = float(np.linalg.norm(array[0].astype(np.float64)))
    if not np.isfinite(norm) or norm == 0:
        raise ProviderResponseError("the vector is not finite or is zero")
    return np.asarray(array[0] / norm, dtype=np.float32)
