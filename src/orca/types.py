"""The domain's own words as frozen value objects. docs/glossary.md defines each of them.

Times are timezone-aware UTC. Token counts are by the counter in use. Scores lie in [0, 1], higher is better.
Ids are integers given by the store; an object that was not stored yet has ``id=None``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # the command line loads this module before it knows its task
    import numpy as np

Role = Literal["user", "assistant", "system", "tool"]
MessageType = Literal["normal", "fact", "todo", "decision", "preference", "error"]
MemoryKind = Literal["preference", "fact", "decision", "project"]
MemoryState = Literal["active", "superseded", "retired", "forgotten"]
Origin = Literal["user", "assistant", "tool", "import", "subagent", "system"]
RunStatus = Literal["running", "done", "failed", "cancelled", "timed_out"]
SessionState = Literal["open", "ended"]
Record = Literal["message", "summary", "memory"]
JobKind = Literal["embed", "summarize", "consolidate"]
Tier = Literal["system", "working", "short_term", "long_term", "messages", "query"]

ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")
MEMORY_KINDS: tuple[MemoryKind, ...] = ("preference", "fact", "decision", "project")

Content = str | list[Any] | None
"""A message's content as OpenAI-style APIs know it: text, a list of parts, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory, which conversation, which agent. Every store method takes one; ids are data, never paths."""

    user: str = "default"
    session: str = "default"
    agent: str = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation, exactly as it was said.

    ``content`` is kept as given; ``text`` (see ``orca.text.parts``) is what is searched. ``position`` counts the
    messages of a session from 1 in the order of storing, which never depends on clocks. ``reasoning`` is a
    model's thinking, kept apart from its reply. ``dedupe_key`` makes storing idempotent: a second message of
    the same session with the same key is not stored again.
    """

    role: Role
    content: Content = None
    id: int | None = None
    user: str = "default"
    session: str = "default"
    agent: str = "main"
    name: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] | None = None
    tool_call_id: str | None = None
    msg_type: MessageType = "normal"
    token_count: int = 0
    has_embedding: bool = False
    timestamp: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin | None = None
    reasoning: str | None = None
    position: int = 0
    summary_id: int | None = None
    dedupe_key: str | None = None

    @property
    def created_at(self) -> datetime | None:
        """The message's time; the same as ``timestamp``."""
        return self.timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation. ``updated_at`` is when somebody last spoke in it: no other change moves that."""

    id: str
    user: str = "default"
    title: str | None = None
    parent: str | None = None
    state: SessionState = "open"
    created_at: datetime | None = None
    updated_at: datetime | None = None
    message_count: int = 0
    summary_count: int = 0
    consolidated_position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A short-term memory: one or two sentences about one turn of a session."""

    content: str
    id: int | None = None
    user: str = "default"
    session: str = "default"
    agent: str = "main"
    source_message_ids: tuple[int, ...] = ()
    source_count: int = 1
    confidence: float = 0.8
    origin: Origin = "assistant"
    method: str = "extractive"
    has_embedding: bool = False
    consolidated: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A long-term memory: one thing worth knowing across sessions, with its provenance and its history.

    ``slot`` names what the fact is about when at most one value can be true at a time (``home``, ``employer``);
    a new value in the same slot supersedes the old one. ``root_id`` is the id of the first version.
    """

    content: str
    kind: MemoryKind = "fact"
    id: int | None = None
    user: str = "default"
    agent: str = "main"
    source_session: str | None = None
    source_message_ids: tuple[int, ...] = ()
    origin: Origin = "user"
    state: MemoryState = "active"
    slot: str | None = None
    confidence: float = 0.5
    evidence_count: int = 1
    access_count: int = 0
    last_accessed: datetime | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    root_id: int | None = None
    superseded_by: int | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    has_embedding: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that may become a long-term memory, before it has met the memories that exist.

    ``content`` is a self-contained sentence in the speaker's language. ``slot`` names what can have one value at a
    time (``home``) and ``value`` that value; both are None where several may be true. ``affirmed`` is false when it is
    denied, ``explicit`` marks a request to remember, ``changed`` a new value in place of an old one ("moved to May 8").
    ``said_at`` is when it was said, ``since`` when it began to hold if it says so, ``span`` where in the text it stands.
    """

    content: str
    kind: MemoryKind = "fact"
    slot: str | None = None
    value: str | None = None
    affirmed: bool = True
    explicit: bool = False
    changed: bool = False
    confidence: float = 0.7
    origin: Origin = "user"
    said_at: datetime | None = None
    since: datetime | None = None
    source_message_ids: tuple[int, ...] = ()
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentRun:
    """One delegated task: which agent did it, for which message, how it ended, and its bounded summary."""

    agent: str
    task: str
    id: int | None = None
    user: str = "default"
    session: str = "default"
    parent_message_id: int | None = None
    parent_run_id: int | None = None
    status: RunStatus = "running"
    summary: str | None = None
    error: str | None = None
    tokens: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentMessage:
    """One complete step of a sub-agent's trace: a reply, a tool call or a tool result; never a fragment."""

    run_id: int
    role: Role
    content: Content = None
    id: int | None = None
    tool_calls: Sequence[Mapping[str, Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    reasoning: str | None = None
    token_count: int = 0
    timestamp: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpace:
    """What makes two vectors comparable: provider, model, width and prefixes. Spaces never meet in a search."""

    provider: str
    model: str
    dimensions: int
    query_prefix: str = ""
    document_prefix: str = ""

    @property
    def key(self) -> str:
        """The space's identity as one line of text, stable across processes."""
        return "|".join(
            (self.provider, self.model, str(self.dimensions), self.query_prefix, self.document_prefix)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A durable piece of background work on one row, claimed under a lease."""

    kind: JobKind
    record: Record
    target_id: int
    user: str = "default"
    session: str = "default"
    agent: str = "main"
    id: int | None = None
    attempts: int = 0
    run_after: datetime | None = None
    last_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordMatch:
    """A row of ``length`` index terms, in which term i of the query occurs ``frequencies[i]`` times, any at least once."""

    id: int
    length: int
    frequencies: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordResult:
    """What a keyword index knows about a query: matches, and the figures BM25 needs.

    The figures are those of the rows that were searched, one owner's or one session's: ``documents`` their number,
    ``average_length`` their mean number of index terms, ``document_frequencies[i]`` how many contain term i (estimated
    for one so common that not all were read). ``degraded`` says why a plain scan served instead of the index.
    """

    matches: tuple[KeywordMatch, ...] = ()
    document_frequencies: tuple[int, ...] = ()
    documents: int = 0
    average_length: float = 0.0
    degraded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placements:
    """Where messages stand and which of the asked terms they hold: arrays ``int64 [n]`` in order of id.

    ``sessions`` tells sessions apart, ``lengths`` and ``characters`` measure the text; ``frequencies`` is ``[n, terms]``.
    """

    ids: np.ndarray
    sessions: np.ndarray
    positions: np.ndarray
    lengths: np.ndarray
    characters: np.ndarray
    frequencies: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What one lane (dense, keyword, recency) gave to a hit: its raw score and its rank from 1."""

    score: float
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One recalled row: ``score`` in [0, 1], ``lanes`` what each lane gave, ``source`` the text's origin.

    ``score`` orders the hits of one query. ``relevance`` in [0, 1] can be compared across queries: it says how
    sure it is that the row has to do with the query at all (see ``orca.memory.relevance``). ``priors`` are the
    factors that its words and place put on the score, by name (see ``orca.memory.message_priors``).
    """

    kind: Record
    id: int
    session: str | None
    content: str
    score: float
    lanes: Mapping[str, Lane] = field(default_factory=dict)
    created_at: datetime | None = None
    source: Origin | None = None
    role: Role | None = None
    name: str | None = None
    relevance: float = 1.0
    memory_kind: MemoryKind | None = None
    priors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A value that no longer holds, although messages that said it may still stand in a prompt.

    ``message_ids`` are the sources of the superseded memory whose text is ``stale``; ``memory_id`` and
    ``current`` are the active memory that took its place, true since ``since``.
    """

    memory_id: int
    message_ids: tuple[int, ...]
    stale: str
    current: str
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What the three tiers give for a query. ``degraded`` is None, or why something was missing."""

    working: tuple[Message, ...] = ()
    short_term: tuple[Hit, ...] = ()
    long_term: tuple[Hit, ...] = ()
    messages: tuple[Hit, ...] = ()
    corrections: tuple[Correction, ...] = ()
    degraded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """How many tokens the memory may take: ``budget_share`` of the window, split over the tiers by ``shares``."""

    window_tokens: int = 8192
    budget_share: float = 0.6
    shares: tuple[float, float, float] = (0.5, 0.3, 0.2)

    @property
    def total(self) -> int:
        """Tokens for everything that is sent, system text and query included."""
        return int(self.window_tokens * self.budget_share)

    @property
    def working(self) -> int:
        """Tokens of the working tier's own share."""
        return int(self.total * self.shares[0])

    @property
    def short_term(self) -> int:
        """Tokens of the short-term tier's own share."""
        return int(self.total * self.shares[1])

    @property
    def long_term(self) -> int:
        """Tokens of the long-term tier's own share."""
        return int(self.total * self.shares[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One line of the ledger: a candidate for the prompt, whether it entered, and why."""

    tier: Tier
    id: int | None
    tokens: int
    score: float | None
    included: bool
    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """An assembled prompt and its ledger. ``tokens`` never exceeds ``budget`` unless ``over_budget`` says so."""

    messages: list[dict[str, Any]]
    items: tuple[ContextItem, ...]
    tokens: int
    budget: int
    over_budget: bool = False
    degraded: str | None = None

    @property
    def dropped(self) -> tuple[ContextItem, ...]:
        """The candidates that were left out, each with its reason."""
        return tuple(item for item in self.items if not item.included)
