"""What an importer needs of a memory; ``MemoryManager`` offers it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from orca.types import Hit, Message, Scope, SubAgentMessage, SubAgentRun


class ImportTarget(Protocol):
    """Where imported messages, sub-agent runs and rows go. Each method is one of ``MemoryManager``'s."""

    def observe_many(self, *, scope: Scope, messages: Iterable[Message]) -> list[Message]:
        """Store messages in one transaction, those with a known ``dedupe_key`` not again."""
        ...

    def trust(self, *, scope: Scope, message_ids: Sequence[int]) -> int:
        """Let imported messages count as said by their roles; return how many had not."""
        ...

    def messages(self, *, scope: Scope, limit: int | None = ...) -> list[Message]:
        """Return the session's newest messages, chronological."""
        ...

    def search_messages(self, *, scope: Scope, query: str, limit: int = ...) -> list[Hit]:
        """Return the user's messages that fit the query best."""
        ...

    def subagent_runs(self, *, scope: Scope) -> list[SubAgentRun]:
        """Return the session's sub-agent runs."""
        ...

    def subagent_messages(self, *, run_id: int, user: str | None = ...) -> list[SubAgentMessage]:
        """Return a run's trace."""
        ...

    def record_run(
        self, *, scope: Scope, run: SubAgentRun, messages: Sequence[SubAgentMessage]
    ) -> SubAgentRun:
        """Store a finished run with its trace, or more steps of one that has an id."""
        ...

    def import_rows(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Mapping[str, int]:
        """Store exported rows, skipping those that exist; return the number stored by table."""
        ...
