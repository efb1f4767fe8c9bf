"""Read me first: the contracts that every part of Orca is written against.

A backend author implements ``Store`` and its facets (``orca.facets``); a provider author implements ``Embedder`` or
``ChatModel``. ``tests/conformance`` runs over every store, so a new backend is done when that suite passes.

Rules that hold for every facet:

* every method takes ``scope`` (or ``user``) by keyword; rows of another scope do not exist for it;
* lists come back in chronological order, which is the order of ids, never of clocks;
* scores are similarity in [0, 1], higher is better;
* a row that is not there is ``NotFoundError`` on ``get`` and absent from lists and searches;
* a write is durable on return unless it runs inside ``Store.transaction()``, then on leaving it;
* a write keeps keyword index, vectors and jobs in step in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

import numpy as np

from orca.browsing import BrowseStore
from orca.facets import (
    JobStore,
    MemoryStore,
    MessageStore,
    SessionStore,
    SubAgentStore,
    SummaryStore,
    VectorStore,
)
from orca.health import Check
from orca.types import EmbeddingSpace


class Clock(Protocol):
    """Where the time comes from, so that tests can hold it."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware, in UTC."""
        ...


class TokenCounter(Protocol):
    """Counts tokens of plain text; markers of special tokens in it are plain text too."""

    @property
    def name(self) -> str:
        """The encoding's name, shown in status and ledger."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``; never raises on any string."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors of one embedding space."""

    @property
    def space(self) -> EmbeddingSpace:
        """The space its vectors belong to."""
        ...

    @property
    def max_batch(self) -> int:
        """The most texts that one call may carry."""
        ...

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        """Return float32 ``[n, dimensions]`` of unit length, in the order given. Raises ``ProviderError``."""
        ...


class Reranker(Protocol):
    """Judges how well texts answer a query by reading both together, which costs far more than comparing vectors."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    def rerank(self, query: str, documents: Sequence[str]) -> np.ndarray:
        """Return float64 ``[n]`` in [0, 1], in the order given, NaN for a text without a score.

        Takes any number of texts and splits them as the provider needs. Raises ``ProviderError``.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A chat model's reply to ``complete``."""

    text: str
    tool_calls: Sequence[Mapping[str, Any]] = ()
    reasoning: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str | None = None


class ChatModel(Protocol):
    """Completes a chat once, without streaming: for summaries and extraction."""

    @property
    def name(self) -> str:
        """The model's name, kept as the method of what it wrote."""
        ...

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Return the model's reply. Raises ``ProviderError``."""
        ...


class Store(Protocol):
    """One place where everything is kept; its facets share one transaction."""

    @property
    def backend(self) -> str:
        """The backend's name: ``sqlite``, ``postgres``."""
        ...

    @property
    def location(self) -> str:
        """Where the data is, without any secret."""
        ...

    @property
    def schema_version(self) -> int:
        """The number of the newest migration applied."""
        ...

    @property
    def messages(self) -> MessageStore:
        """Messages of the main conversation."""
        ...

    @property
    def sessions(self) -> SessionStore:
        """Sessions by user."""
        ...

    @property
    def summaries(self) -> SummaryStore:
        """Short-term memories."""
        ...

    @property
    def memories(self) -> MemoryStore:
        """Long-term memories."""
        ...

    @property
    def vectors(self) -> VectorStore:
        """Vectors of the current embedding space."""
        ...

    @property
    def subagents(self) -> SubAgentStore:
        """Sub-agent runs and their traces."""
        ...

    @property
    def jobs(self) -> JobStore:
        """Durable background work."""
        ...

    @property
    def browse(self) -> BrowseStore:
        """Pages of rows, for people who look through the store."""
        ...

    @property
    def degraded(self) -> tuple[str, ...]:
        """What is missing here, in words: an extension, an index."""
        ...

    def transaction(self) -> AbstractContextManager[Store]:
        """Join all writes of the block into one: all or nothing, durable on leaving. Nests."""
        ...

    def counts(self) -> Mapping[str, int]:
        """Return the number of rows by kind."""
        ...

    def verify(self) -> Sequence[Check]:
        """Check rows against keyword index and vectors, orphans, and the file's integrity."""
        ...

    def rebuild_index(self) -> Mapping[str, int]:
        """Build the keyword indexes anew from the rows; return the number of rows indexed by kind."""
        ...

    def backup(self, path: str) -> int:
        """Write a complete, consistent copy; return its size in bytes. Raises ``ConflictError`` if it exists."""
        ...

    def export_rows(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield ``(table, row)`` of every table but the indexes, in an order that can be imported again."""
        ...

    def import_rows(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Mapping[str, int]:
        """Store exported rows, skipping those that exist; return the number stored by table."""
        ...

    def scrub(self, texts: Collection[str] = ()) -> Sequence[Check]:
        """Rewrite the files so that no deleted text is left in them, and look for ``texts`` in each file."""
        ...

    def close(self) -> None:
        """Let go of files and connections. Closing twice is fine."""
        ...
