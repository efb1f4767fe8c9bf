"""The facets of a store: one narrow contract per kind of row. ``orca.protocols`` says what holds for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from orca.health import Backlog, SpaceStatus
from orca.types import (
    EmbeddingSpace,
    Job,
    JobKind,
    KeywordResult,
    Memory,
    MemoryKind,
    Message,
    Placements,
    Record,
    RunStatus,
    Scope,
    Session,
    SubAgentMessage,
    SubAgentRun,
    Summary,
)


@runtime_checkable
class MessageStore(Protocol):
    """Messages of the main conversation. The one facet that ``JSONLStore`` implements too."""

    def append(self, messages: Sequence[Message], *, scope: Scope) -> list[Message]:
        """Store messages in order and return them with id, position and timestamp.

        One whose ``dedupe_key`` the session holds already is not stored again: the stored row comes back in
        its place. Creates the session where there is none, and reopens it where it was ended.
        """
        ...

    def get(self, message_id: int, *, scope: Scope) -> Message:
        """Return one message of the user, whatever its session. Raises ``NotFoundError``."""
        ...

    def get_many(self, message_ids: Sequence[int], *, scope: Scope) -> list[Message]:
        """Return those of the messages that exist for this user and agent, in order of id."""
        ...

    def recent(self, *, scope: Scope, limit: int | None = None, before: int | None = None) -> list[Message]:
        """Return the newest ``limit`` messages of the session (all when None) with an id below ``before``."""
        ...

    def since(self, *, scope: Scope, position: int, limit: int | None = None) -> list[Message]:
        """Return the session's messages after ``position``, oldest first."""
        ...

    def search(
        self, terms: Sequence[str], *, scope: Scope, limit: int, across_sessions: bool = True
    ) -> KeywordResult:
        """Return rows that contain any of the index terms (see ``orca.text``), the best ``limit`` by BM25."""
        ...

    def neighbours(
        self, message_ids: Sequence[int], *, scope: Scope, radius: int, terms: Sequence[str] = ()
    ) -> Placements:
        """Return the place of every message within ``radius`` positions of the given ones, themselves included.

        With index ``terms`` also how often each of them occurs in each of these messages.
        """
        ...

    def delete(self, message_ids: Sequence[int], *, scope: Scope) -> int:
        """Delete messages with all that is derived from them; return how many rows of messages went."""
        ...

    def count(self, *, scope: Scope | None = None) -> int:
        """Return the number of messages in the scope's session, or in the whole store."""
        ...


class SessionStore(Protocol):
    """Sessions by user."""

    def get(self, *, scope: Scope) -> Session:
        """Return the scope's session. Raises ``NotFoundError``."""
        ...

    def find(self, *, user: str, limit: int | None = None) -> list[Session]:
        """Return the user's sessions, oldest activity first."""
        ...

    def users(self) -> list[str]:
        """Return every user that has a session or a memory."""
        ...

    def update(
        self,
        *,
        scope: Scope,
        title: str | None = None,
        state: Literal["open", "ended"] | None = None,
        consolidated_position: int | None = None,
    ) -> Session:
        """Change what is given and leave the rest, its last activity included. Raises ``NotFoundError``."""
        ...

    def trust(self, message_ids: Sequence[int], *, scope: Scope) -> list[int]:
        """Let imported messages of the session have their role's origin; return the ids of those that had not."""
        ...

    def delete(self, *, scope: Scope) -> Mapping[str, int]:
        """Delete the session with its messages, summaries, runs, jobs and the memories made only from it.

        Returns the number of rows that went, by kind.
        """
        ...

    def delete_user(self, *, user: str) -> Mapping[str, int]:
        """Delete everything of a user; return the number of rows that went, by kind."""
        ...


class SummaryStore(Protocol):
    """Short-term memories: summaries of a session's turns."""

    def append(self, summary: Summary, *, scope: Scope) -> Summary:
        """Store a summary, mark its source messages, enqueue its embedding; return it with its id.

        A summary whose source messages have one already replaces that one in place: id, session and
        created_at stay, keyword row and vector follow the new text.
        """
        ...

    def get_many(self, summary_ids: Sequence[int], *, scope: Scope) -> list[Summary]:
        """Return those of the summaries that exist in the scope's user and agent, in order of id."""
        ...

    def recent(self, *, scope: Scope, limit: int | None = None) -> list[Summary]:
        """Return the newest ``limit`` summaries of the session."""
        ...

    def search(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordResult:
        """Search the session's summaries by index terms."""
        ...

    def mark_consolidated(self, summary_ids: Sequence[int], *, scope: Scope) -> None:
        """Record that long-term memory has taken these summaries in."""
        ...

    def prune(self, *, scope: Scope, keep: int) -> int:
        """Delete the session's consolidated summaries beyond the newest ``keep``; return how many went."""
        ...


class MemoryStore(Protocol):
    """Long-term memories: kept across the sessions of a user (and agent), with every version."""

    def append(self, memory: Memory, *, scope: Scope) -> Memory:
        """Store a new memory, its keyword row and its embedding job; return it with its id."""
        ...

    def get(self, memory_id: int, *, scope: Scope) -> Memory:
        """Return one memory in any state. Raises ``NotFoundError``."""
        ...

    def get_many(self, memory_ids: Sequence[int], *, scope: Scope) -> list[Memory]:
        """Return those of the memories that exist, in order of id."""
        ...

    def find(
        self,
        *,
        scope: Scope,
        kind: MemoryKind | None = None,
        include_inactive: bool = False,
        as_of: datetime | None = None,
        limit: int | None = None,
    ) -> list[Memory]:
        """Return memories in order of id; with ``as_of`` those that were valid at that instant."""
        ...

    def alike(
        self, *, slots: Sequence[str], contents: Sequence[str], scope: Scope, limit: int
    ) -> list[Memory]:
        """Return memories in any state that have one of the slots or, to the letter, one of the texts.

        A slot that ends in ``*`` stands for every slot that begins with what is before it. In order of id, at
        most ``limit``: active ones first, then the newest.
        """
        ...

    def supersede(self, memory_id: int, replacement: Memory, *, scope: Scope, now: datetime) -> Memory:
        """Close one memory and store its replacement as the next version; return the new one.

        The old row leaves keyword index, vectors and jobs at once. Raises ``NotFoundError``, and
        ``ConflictError`` when the memory is not active any more.
        """
        ...

    def update(self, memory: Memory, *, scope: Scope) -> Memory:
        """Write the fields that are not text: state, pinned, confidence, evidence, validity, expiry, metadata.

        A memory that is not active afterwards leaves keyword index, vectors and jobs; one that became active
        enters them. Raises ``NotFoundError``.
        """
        ...

    def history(self, memory_id: int, *, scope: Scope) -> list[Memory]:
        """Return every version of the memory, oldest first. Raises ``NotFoundError``."""
        ...

    def search(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordResult:
        """Search active memories by index terms."""
        ...

    def most_accessed(self, *, scope: Scope, limit: int, now: datetime) -> list[Memory]:
        """Return active memories by pinned, then access count, then confidence, then newest; expired ones last."""
        ...

    def replaced(self, *, message_ids: Sequence[int], scope: Scope) -> list[tuple[Memory, Memory]]:
        """Return superseded memories made from any of the messages, each with the active one in its place."""
        ...

    def touch(self, memory_ids: Sequence[int], *, scope: Scope, now: datetime) -> None:
        """Count one access of each memory."""
        ...

    def delete(self, memory_ids: Sequence[int], *, scope: Scope) -> int:
        """Delete memories for good, every version of each; return how many rows went.

        The summaries of their source messages go too, and these messages get ``"forgotten": true`` in their
        metadata, so that nobody makes the memories anew.
        """
        ...


class VectorStore(Protocol):
    """Vectors of messages, summaries and memories, in the current embedding space."""

    @property
    def available(self) -> bool:
        """Whether vectors can be searched right now; proven by a query, not by an import."""
        ...

    @property
    def reason(self) -> str | None:
        """Why vectors are off, in words, or None."""
        ...

    @property
    def space(self) -> EmbeddingSpace | None:
        """The current space as the store knows it now (another process may change it), or None before any."""
        ...

    def use_space(self, space: EmbeddingSpace) -> None:
        """Make a space current: create its tables, recompute ``has_embedding``, enqueue rows without a vector.

        Vectors of other spaces stay where they are and are used again when their space returns.
        """
        ...

    def clear(self) -> int:
        """Drop every vector of the current space, so that all rows are embedded anew; return how many went."""
        ...

    def spaces(self) -> list[SpaceStatus]:
        """Return every space that the store knows, with its numbers of vectors."""
        ...

    def save_embedding(self, record: Record, ids: Sequence[int], vectors: np.ndarray) -> int:
        """Store unit vectors float32 ``[n, dimensions]`` for rows that still exist; return how many were stored.

        Sets ``has_embedding``. Raises ``EmbeddingSpaceMismatchError`` on a wrong width and ``ValueError`` on a
        vector that is not finite or is zero.
        """
        ...

    def search_similar(
        self, record: Record, query: np.ndarray, *, scope: Scope, limit: int, across_sessions: bool = True
    ) -> list[tuple[int, float]]:
        """Return ``(id, cosine similarity)`` of the ``limit`` nearest rows of the scope, best first.

        The scope acts before the limit, and the limit has no upper bound. For summaries the scope's session
        always applies; memories belong to no session. Raw cosine in [-1, 1] is returned here: fusion makes
        scores of it. A store may estimate the cosines of a long list after its best twenty rows.
        """
        ...

    def similarities(self, record: Record, ids: Sequence[int], query: np.ndarray) -> list[tuple[int, float]]:
        """Return ``(id, cosine similarity)`` of those of the given rows that have a vector.

        A store may estimate the cosines of many rows.
        """
        ...


class SubAgentStore(Protocol):
    """Sub-agent runs and their traces, never mixed with the main conversation."""

    def start(self, run: SubAgentRun, *, scope: Scope) -> SubAgentRun:
        """Open a run; return it with its id."""
        ...

    def append(self, messages: Sequence[SubAgentMessage], *, scope: Scope) -> list[SubAgentMessage]:
        """Store complete steps of a run in order. Raises ``NotFoundError`` for a run of another scope."""
        ...

    def finish(
        self,
        run_id: int,
        *,
        scope: Scope,
        status: RunStatus,
        now: datetime,
        summary: str | None = None,
        error: str | None = None,
        tokens: int = 0,
    ) -> SubAgentRun:
        """Close a run. Raises ``NotFoundError``."""
        ...

    def get(self, run_id: int, *, user: str | None = None) -> SubAgentRun:
        """Return one run. Raises ``NotFoundError``."""
        ...

    def find(self, *, scope: Scope, parent_message_id: int | None = None) -> list[SubAgentRun]:
        """Return the session's runs, or those that one message started."""
        ...

    def messages(self, run_id: int, *, user: str | None = None) -> list[SubAgentMessage]:
        """Return a run's whole trace. Raises ``NotFoundError``."""
        ...


class JobStore(Protocol):
    """Durable background work. A job exists once per kind and row."""

    def enqueue(self, jobs: Sequence[Job], *, now: datetime) -> None:
        """Add jobs; one that exists already is left as it is."""
        ...

    def claim(
        self, kinds: Sequence[JobKind], *, limit: int, lease_seconds: float, owner: str, now: datetime
    ) -> list[Job]:
        """Take up to ``limit`` due jobs, oldest first: waiting ones, and ones whose lease ran out."""
        ...

    def complete(self, job_ids: Sequence[int]) -> None:
        """Remove jobs that are done."""
        ...

    def retry(self, job_ids: Sequence[int], *, error: str, run_after: datetime, failed: bool) -> None:
        """Give jobs back with the reason; ``failed`` counts an attempt against each of them."""
        ...

    def release(
        self,
        *,
        kinds: Sequence[JobKind] | None = None,
        ids: Sequence[int] | None = None,
        user: str | None = None,
        now: datetime,
    ) -> int:
        """Make waiting jobs due now, all or those that are named; return how many."""
        ...

    def pending(self, kinds: Sequence[JobKind] | None = None) -> int:
        """Return how many jobs are not done."""
        ...

    def next_due(self, kinds: Sequence[JobKind]) -> datetime | None:
        """Return when the earliest job of these kinds becomes due, or None where there is none."""
        ...

    def backlog(self, *, user: str | None = None) -> list[Backlog]:
        """Return the jobs that are not done, grouped by kind and reason; with ``user`` those of one user."""
        ...
