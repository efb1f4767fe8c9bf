"""Looking through a memory page by page: what a person sees of it, whatever the interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from orca.errors import ConfigError, NotFoundError
from orca.health import Backlog
from orca.memory.upkeep import Upkeep
from orca.memory.vector_map import MapPoint, VectorMap
from orca.protocols import Store
from orca.types import (
    Job,
    JobKind,
    Memory,
    MemoryKind,
    MemoryState,
    Message,
    Role,
    RunStatus,
    Scope,
    Session,
    SessionState,
    SubAgentMessage,
    SubAgentRun,
    Summary,
)

MAX_PAGE = 200
"""Most rows of a page."""

MAX_POINTS = 2000
"""Most points of a map: enough to see its shape, and few enough to be worked out in a fraction of a second."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Rows in chronological order, and whether there are older and newer ones."""

    items: tuple[T, ...]
    older: bool = False
    newer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A page of a session with what belongs to its messages: the summaries of their turns, the runs they started."""

    messages: Page[Message]
    summaries: tuple[Summary, ...]
    runs: tuple[SubAgentRun, ...]


class Browser:
    """Reads pages; the one thing it can set off is another try of jobs that wait.

    Limits run from 1 to 200. Every method raises ``ConfigError`` for arguments that cannot be used and
    ``NotFoundError`` for a row that is not the user's.
    """

    def __init__(self, store: Store, upkeep: Upkeep) -> None:
        self._store = store
        self._upkeep = upkeep
        self._map = VectorMap(store)

    # Conversations

    def users(self) -> list[str]:
        """Return every user that has a session or a memory."""
        return self._store.sessions.users()

    def sessions(
        self,
        *,
        user: str,
        limit: int = 50,
        before: tuple[datetime, str] | None = None,
        text: str | None = None,
        state: SessionState | None = None,
    ) -> Page[Session]:
        """Return sessions whose id or title holds ``text``, the most recently active; ``before`` a session's place."""
        rows = self._store.browse.sessions(
            user=user, limit=_checked(limit) + 1, before=before, text=text, state=state
        )
        return _newest(rows, limit)

    def messages(
        self, *, scope: Scope, limit: int = 50, before: int | None = None, role: Role | None = None
    ) -> Page[Message]:
        """Return the newest messages of all sessions with an id below ``before``."""
        rows = self._store.browse.all_messages(
            scope=scope, limit=_checked(limit) + 1, before=before, role=role
        )
        return _newest(rows, limit)

    def message(self, *, scope: Scope, id: int) -> Message:
        """Return one message of the user."""
        return self._store.messages.get(id, scope=scope)

    def timeline(
        self,
        *,
        scope: Scope,
        limit: int = 50,
        before: int | None = None,
        after: int | None = None,
        around: int | None = None,
        role: Role | None = None,
    ) -> Timeline:
        """Return the newest messages of a session, those before or after a position, or those around a message's id."""
        _checked(limit)
        self._store.sessions.get(scope=scope)
        if around is not None:
            messages = self._around(scope, around, limit)
        elif after is not None:
            rows = self._store.browse.messages(scope=scope, limit=limit + 1, after=after, role=role)
            messages = Page(items=tuple(rows[:limit]), older=True, newer=len(rows) > limit)
        else:
            rows = self._store.browse.messages(scope=scope, limit=limit + 1, before=before, role=role)
            messages = Page(items=tuple(rows[-limit:]), older=len(rows) > limit, newer=before is not None)
        return Timeline(
            messages=messages,
            summaries=tuple(self._summaries(messages.items, scope)),
            runs=tuple(
                self._store.browse.runs(
                    user=scope.user,
                    parent_message_ids=[message.id for message in messages.items if message.id is not None],
                )
            ),
        )

    def position_on(self, *, scope: Scope, moment: datetime) -> int:
        """Return the position before the session's first message at or after ``moment``, for ``timeline(after=)``.

        Messages are taken to be in order of time, which lets it read a few rows of any number. Where a clock
        stepped back, it finds a message near that place.
        """
        newest = self._store.browse.messages(scope=scope, limit=1)
        low, high = 0, newest[-1].position if newest else 0
        while low < high:
            middle = (low + high) // 2
            row = self._store.browse.messages(scope=scope, limit=1, after=middle)[0]
            if row.timestamp is not None and row.timestamp < moment:
                low = row.position
            else:
                high = middle
        return low

    def _around(self, scope: Scope, id: int, limit: int) -> Page[Message]:
        message = self._store.messages.get(id, scope=scope)
        if message.session != scope.session:
            raise NotFoundError(f"there is no message {id} in session {scope.session!r}")
        half = max(1, limit // 2)
        before = self._store.browse.messages(scope=scope, limit=half + 1, before=message.position)
        after = self._store.browse.messages(scope=scope, limit=limit - half + 1, after=message.position - 1)
        return Page(
            items=(*before[-half:], *after[: limit - half]) if limit > 1 else (message,),
            older=len(before) > half or limit == 1,
            newer=len(after) > limit - half,
        )

    def _summaries(self, messages: Iterable[Message], scope: Scope) -> list[Summary]:
        ids = sorted({message.summary_id for message in messages if message.summary_id is not None})
        return self._store.summaries.get_many(ids, scope=scope)

    # Memories and runs

    def memories(
        self,
        *,
        scope: Scope,
        limit: int = 50,
        before: int | None = None,
        kind: MemoryKind | None = None,
        state: MemoryState | None = None,
        text: str | None = None,
    ) -> Page[Memory]:
        """Return the newest memories in any state or one, every version of each, whose content holds ``text``."""
        rows = self._store.browse.memories(
            scope=scope, limit=_checked(limit) + 1, before=before, kind=kind, state=state, text=text
        )
        return _newest(rows, limit)

    def memory(self, *, scope: Scope, id: int) -> Memory:
        """Return one memory in any state."""
        return self._store.memories.get(id, scope=scope)

    def runs(
        self,
        *,
        user: str,
        limit: int = 50,
        before: int | None = None,
        session: str | None = None,
        status: RunStatus | None = None,
    ) -> Page[SubAgentRun]:
        """Return the newest sub-agent runs, whichever agent delegated them."""
        rows = self._store.browse.runs(
            user=user, limit=_checked(limit) + 1, before=before, session=session, status=status
        )
        return _newest(rows, limit)

    def run(self, *, user: str, id: int) -> tuple[SubAgentRun, list[SubAgentMessage], list[SubAgentRun]]:
        """Return a run, its whole trace, and the runs that it delegated in turn."""
        run = self._store.subagents.get(id, user=user)
        steps = self._store.subagents.messages(id, user=user)
        return run, steps, self._store.browse.runs(user=user, parent_run_id=id)

    # Jobs and health

    def jobs(
        self,
        *,
        user: str,
        limit: int = 50,
        before: int | None = None,
        kind: JobKind | None = None,
        failed: bool | None = None,
    ) -> Page[Job]:
        """Return the newest jobs that are not done; ``failed`` picks those that have a reason, or have none."""
        rows = self._store.browse.jobs(
            user=user, limit=_checked(limit) + 1, before=before, kind=kind, failed=failed
        )
        return _newest(rows, limit)

    def backlog(self, *, user: str) -> list[Backlog]:
        """Return the user's jobs that are not done, grouped by kind and reason."""
        return self._store.jobs.backlog(user=user)

    def retry_jobs(self, *, user: str, ids: Sequence[int] | None = None) -> int:
        """Let the user's waiting jobs, or those named, be tried at once; return how many."""
        return self._upkeep.retry(user=user, ids=ids)

    def counts(self, *, user: str) -> Mapping[str, int]:
        """Return the number of a user's rows by kind."""
        return self._store.browse.counts(user=user)

    def activity(self, *, user: str, since: datetime) -> list[tuple[str, int]]:
        """Return days in UTC with the number of the user's messages of each, oldest first."""
        return self._store.browse.activity(user=user, since=since)

    def degraded(self) -> tuple[str, ...]:
        """Return what is missing at the moment, in words."""
        return self._upkeep.degraded()

    def version(self) -> int:
        """Return a number that is another one whenever somebody has written, in any process."""
        return self._store.browse.version()

    def marks(self, *, user: str) -> Mapping[str, str]:
        """Return a text for each kind of row that changes with the user's rows of that kind."""
        return self._store.browse.marks(user=user)

    # The map

    def map(self, *, scope: Scope, limit: int = 1000) -> list[MapPoint]:
        """Return the newest messages and active memories that have a vector as points on a plane.

        At most ``limit`` messages and as many memories, ``MAX_POINTS`` together. The last map is kept until
        something is written.
        """
        if not 1 <= limit <= MAX_POINTS // 2:
            raise ConfigError(f"limit is {limit}; give 1 to {MAX_POINTS // 2}")
        return self._map.points(scope=scope, limit=limit)


def _checked(limit: int) -> int:
    if not 1 <= limit <= MAX_PAGE:
        raise ConfigError(f"limit is {limit}; give 1 to {MAX_PAGE}")
    return limit


def _newest(rows: Sequence[T], limit: int) -> Page[T]:
    """Return the newest ``limit`` of rows that were read with one more, which tells whether there are older ones."""
    return Page(items=tuple(rows[-limit:]), older=len(rows) > limit)
