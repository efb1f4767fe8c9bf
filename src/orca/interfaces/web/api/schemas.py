"""What the REST API gives. Fields are those of the domain's types, whose docstrings say what they mean."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    computed_field,
)

from orca.interfaces.web.keys import session_key
from orca.text.parts import plain_text
from orca.types import (
    JobKind,
    MemoryKind,
    MemoryState,
    MessageType,
    Origin,
    Record,
    Role,
    RunStatus,
    SessionState,
    Tier,
)

T = TypeVar("T")


class Out(BaseModel):
    """What is given out, read from the fields of a domain object."""

    model_config = ConfigDict(from_attributes=True)


class Fault(BaseModel):
    """One value of a request that cannot be used."""

    location: list[str]
    message: str


class Problem(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Fault] | None = None


class PageOut(Out, Generic[T]):
    """Rows, newest first. ``next`` is the path of the next page with its opaque cursor, or null."""

    items: list[T]
    next: str | None = None


class ListOut(Out, Generic[T]):
    """All rows that there are."""

    items: list[T]


class SessionOut(Out):
    """A conversation. ``key`` stands for its id in paths."""

    id: str
    user: str
    title: str | None
    parent: str | None
    state: SessionState
    created_at: datetime | None
    updated_at: datetime | None
    message_count: int
    summary_count: int
    consolidated_position: int

    @computed_field  # type: ignore[prop-decorator] # pydantic's own way
    @property
    def key(self) -> str:
        """The id as one segment of a path."""
        return session_key(self.id)


class Deleted(Out):
    """The number of rows that went, by kind."""

    deleted: dict[str, int]


class MessageOut(Out):
    """One message as it was said. ``text`` is what is searched of its content."""

    id: int
    user: str
    session: str
    agent: str
    position: int
    role: Role
    content: Any
    name: str | None
    tool_calls: list[dict[str, Any]] | None
    tool_call_id: str | None
    msg_type: MessageType
    token_count: int
    has_embedding: bool
    timestamp: datetime | None
    metadata: dict[str, Any]
    origin: Origin | None
    reasoning: str | None
    summary_id: int | None

    @computed_field  # type: ignore[prop-decorator] # see above
    @property
    def text(self) -> str:
        """The words of the content, media left out."""
        return plain_text(self.content)

    @computed_field  # type: ignore[prop-decorator] # see above
    @property
    def session_key(self) -> str:
        """The session's id as one segment of a path."""
        return session_key(self.session)


class SummaryOut(Out):
    """A short-term memory."""

    id: int
    session: str
    agent: str
    content: str
    source_message_ids: list[int]
    source_count: int
    confidence: float
    origin: Origin
    method: str
    has_embedding: bool
    consolidated: bool
    created_at: datetime | None
    updated_at: datetime | None


class MemoryOut(Out):
    """A version of a long-term memory with its provenance."""

    id: int
    user: str
    agent: str
    content: str
    kind: MemoryKind
    state: MemoryState
    source_session: str | None
    source_message_ids: list[int]
    origin: Origin
    slot: str | None
    confidence: float
    evidence_count: int
    access_count: int
    last_accessed: datetime | None
    expires_at: datetime | None
    pinned: bool
    root_id: int | None
    superseded_by: int | None
    valid_from: datetime | None
    valid_to: datetime | None
    created_at: datetime | None
    updated_at: datetime | None
    has_embedding: bool
    metadata: dict[str, Any]


class Forgotten(Out):
    """What went, or would go: every version of the memory."""

    dry_run: bool
    deleted: int
    versions: list[MemoryOut]


class RunOut(Out):
    """A sub-agent's run."""

    id: int
    user: str
    session: str
    agent: str
    task: str
    parent_message_id: int | None
    parent_run_id: int | None
    status: RunStatus
    summary: str | None
    error: str | None
    tokens: int
    started_at: datetime | None
    ended_at: datetime | None

    @computed_field  # type: ignore[prop-decorator] # see above
    @property
    def seconds(self) -> float | None:
        """How long it took, or null while it runs."""
        if self.started_at is None or self.ended_at is None:
            return None
        return (self.ended_at - self.started_at).total_seconds()


class StepOut(Out):
    """One complete step of a run's trace."""

    id: int
    role: Role
    content: Any
    name: str | None
    tool_calls: list[dict[str, Any]] | None
    tool_call_id: str | None
    reasoning: str | None
    token_count: int
    timestamp: datetime | None
    metadata: dict[str, Any]


class RunTrace(Out):
    """A run with its whole trace and the runs that it delegated in turn."""

    run: RunOut
    messages: list[StepOut]
    runs: list[RunOut]


class TimelineOut(Out):
    """A page of a session, oldest first, with its summaries and runs; ``older`` and ``newer`` are paths or null."""

    items: list[MessageOut]
    summaries: list[SummaryOut]
    runs: list[RunOut]
    older: str | None
    newer: str | None


class LaneOut(Out):
    """What one lane gave to a hit."""

    score: float
    rank: int


class HitOut(Out):
    """One recalled row."""

    kind: Record
    id: int
    session: str | None
    content: str
    score: float
    relevance: float
    lanes: dict[str, LaneOut]
    created_at: datetime | None
    source: Origin | None
    role: Role | None
    name: str | None
    memory_kind: MemoryKind | None


class RecallOut(Out):
    """What all tiers give: ``hits`` in the order of all tiers together, and each tier's own."""

    hits: list[HitOut]
    short_term: list[HitOut]
    long_term: list[HitOut]
    messages: list[HitOut]
    degraded: str | None


class LedgerLine(Out):
    """One candidate for the prompt, whether it entered, and why."""

    tier: Tier
    id: int | None
    tokens: int
    score: float | None
    included: bool
    reason: str
    text: str


class BudgetOut(Out):
    """Tokens for everything, and each tier's own share of them."""

    window_tokens: int
    total: int
    working: int
    short_term: int
    long_term: int


class ContextOut(Out):
    """An assembled prompt and its ledger."""

    messages: list[dict[str, Any]]
    items: list[LedgerLine]
    tokens: int
    budget: int
    over_budget: bool
    degraded: str | None
    shares: BudgetOut


class JobOut(Out):
    """A piece of background work that is not done."""

    id: int
    kind: JobKind
    record: Record
    target_id: int
    session: str
    agent: str
    attempts: int
    run_after: datetime | None
    last_error: str | None


class BacklogOut(Out):
    """Jobs of one kind that wait for the same reason."""

    kind: str
    reason: str
    count: int


class JobsOut(Out):
    """Jobs, newest first, and how many there are by reason."""

    items: list[JobOut]
    next: str | None
    backlog: list[BacklogOut]


class Released(Out):
    """How many jobs are tried at once now."""

    released: int


class SpaceOut(Out):
    """An embedding space and its numbers of vectors."""

    key: str
    dimensions: int
    current: bool
    vectors: dict[str, int]


class StatusOut(Out):
    """The store's health, and ``user_counts``, which are those of the user alone."""

    backend: str
    location: str
    counts: dict[str, int]
    user_counts: dict[str, int]
    spaces: list[SpaceOut]
    backlog: list[BacklogOut]
    degraded: list[str]
    counter: str
    embedder: str | None
    chat_model: str | None
    schema_version: int


class DayOut(Out):
    """A day in UTC and the number of its messages."""

    day: str
    messages: int


class PointOut(Out):
    """A row on the map; ``x`` and ``y`` in [-1, 1]."""

    record: Literal["message", "memory", "summary"]
    id: int
    session: str | None
    group: str
    label: str
    x: float
    y: float


class CsrfOut(Out):
    """The token that a write without bearer needs, and the header that it goes into."""

    token: str
    header: str
