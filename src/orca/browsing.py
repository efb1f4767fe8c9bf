"""The facet for people who look through a store: rows a page at a time, and whether anything has changed.

A page is the newest ``limit`` rows before a place, or the oldest ``limit`` after one, in chronological order. A place
is part of a row itself, so that pages neither repeat nor skip rows while others are written. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np

from orca.types import (
    Job,
    JobKind,
    Memory,
    MemoryKind,
    MemoryState,
    Message,
    Record,
    Role,
    RunStatus,
    Scope,
    Session,
    SessionState,
    SubAgentRun,
)


class BrowseStore(Protocol):
    """Reads pages of every kind of row. A text is looked for as it stands, ASCII capitals and composed accents aside."""

    def version(self) -> int:
        """Return a number that is another one whenever somebody has written since the last call, in any process."""
        ...

    def marks(self, *, user: str) -> Mapping[str, str]:
        """Return a text for each kind of row that is another one when the user's rows of that kind have changed.

        Kinds: ``session``, ``message``, ``summary``, ``memory``, ``run``, ``job``.
        """
        ...

    def counts(self, *, user: str) -> Mapping[str, int]:
        """Return the number of a user's rows by kind."""
        ...

    def activity(self, *, user: str, since: datetime) -> list[tuple[str, int]]:
        """Return days in UTC (``YYYY-MM-DD``) with the number of the user's messages of each, oldest first."""
        ...

    def sessions(
        self,
        *,
        user: str,
        limit: int,
        before: tuple[datetime, str] | None = None,
        text: str | None = None,
        state: SessionState | None = None,
    ) -> list[Session]:
        """Return the user's sessions, oldest activity first, whose id or title holds ``text``.

        The place is ``(updated_at, id)``.
        """
        ...

    def messages(
        self,
        *,
        scope: Scope,
        limit: int,
        before: int | None = None,
        after: int | None = None,
        role: Role | None = None,
    ) -> list[Message]:
        """Return messages of the scope's session. The place is the position."""
        ...

    def all_messages(
        self, *, scope: Scope, limit: int, before: int | None = None, role: Role | None = None
    ) -> list[Message]:
        """Return messages of all sessions. The place is the id."""
        ...

    def memories(
        self,
        *,
        scope: Scope,
        limit: int,
        before: int | None = None,
        kind: MemoryKind | None = None,
        state: MemoryState | None = None,
        text: str | None = None,
    ) -> list[Memory]:
        """Return memories in any state, every version of each. The place is the id."""
        ...

    def runs(
        self,
        *,
        user: str,
        limit: int | None = None,
        before: int | None = None,
        session: str | None = None,
        status: RunStatus | None = None,
        parent_message_ids: Sequence[int] | None = None,
        parent_run_id: int | None = None,
    ) -> list[SubAgentRun]:
        """Return sub-agent runs of the user, whoever delegated them. The place is the id."""
        ...

    def jobs(
        self,
        *,
        user: str,
        limit: int,
        before: int | None = None,
        kind: JobKind | None = None,
        failed: bool | None = None,
    ) -> list[Job]:
        """Return the user's jobs that are not done; failed ones have a reason. The place is the id."""
        ...

    def vectors(self, record: Record, ids: Sequence[int]) -> tuple[list[int], np.ndarray]:
        """Return those of the ids that have a vector in the current space, and float32 ``[n, dimensions]``."""
        ...
