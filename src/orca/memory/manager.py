"""``MemoryManager``: the three tiers behind one face. Each method hands over to the part that knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

from orca.health import Report, Status
from orca.memory.browser import Browser
from orca.memory.context import ContextBuilder
from orca.memory.curator import Curator
from orca.memory.erasure import Erasure
from orca.memory.lab import RecallLab
from orca.memory.recaller import Recaller
from orca.memory.recorder import Recorder, as_message
from orca.memory.runs import Runs
from orca.memory.upkeep import Upkeep
from orca.protocols import Store
from orca.types import (
    Content,
    Context,
    Hit,
    Memory,
    MemoryKind,
    Message,
    MessageType,
    Origin,
    Recall,
    Role,
    Scope,
    Session,
    SubAgentMessage,
    SubAgentRun,
    TokenBudget,
)


class MemoryManager:
    """The memory of an agent: it observes messages, recalls what matters, and builds the next prompt.

    Thread-safe and synchronous; ``AsyncMemory`` offers the same as coroutines. Open one with
    ``orca.open_memory``. Every method raises ``StoreError`` when the store fails and ``ConfigError`` for an
    argument that cannot be used.
    """

    def __init__(
        self,
        store: Store,
        *,
        recorder: Recorder,
        recaller: Recaller,
        builder: ContextBuilder,
        curator: Curator,
        upkeep: Upkeep,
        runs: Runs,
        budget: TokenBudget,
    ) -> None:
        """Join the parts; ``orca.wiring`` makes them."""
        self._store = store
        self.browse = Browser(store, upkeep)
        self.erasure = Erasure(store, recorder)
        self.lab = RecallLab(recaller, builder, budget)
        self._recorder = recorder
        self._recaller = recaller
        self._builder = builder
        self._curator = curator
        self._upkeep = upkeep
        self._runs = runs
        self.budget = budget
        self.counter = runs.counter

    # Taking in

    def observe(
        self,
        *,
        scope: Scope,
        role: Role,
        content: Content = None,
        name: str | None = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        msg_type: MessageType = "normal",
        timestamp: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        reasoning: str | None = None,
    ) -> Message:
        """Store one message; it is durable on return. Embedding and summary follow in the background."""
        message = Message(
            role=role,
            content=content,
            name=name,
            tool_calls=tool_calls,
            tool_call_id=tool_call_id,
            msg_type=msg_type,
            timestamp=timestamp,
            metadata=metadata or {},
            reasoning=reasoning,
        )
        return self._recorder.record([message], scope=scope)[0]

    def observe_many(self, *, scope: Scope, messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
        """Store messages in their order in one transaction: all of them or none."""
        return self._recorder.record([as_message(message) for message in messages], scope=scope)

    def trust(self, *, scope: Scope, message_ids: Sequence[int]) -> int:
        """Let imported messages of a session become memories, as if said here; return how many could not before."""
        return self._curator.trust(message_ids, scope=scope)

    def messages(self, *, scope: Scope, limit: int | None = 50, before: int | None = None) -> list[Message]:
        """Return the session's newest ``limit`` messages with an id below ``before``, chronological."""
        return self._store.messages.recent(scope=scope, limit=limit, before=before)

    def neighbours(self, *, scope: Scope, id: int, radius: int = 2) -> list[Message]:
        """Return a message of the user with up to ``radius`` messages before and after it, chronological."""
        near = self._store.messages.neighbours([id], scope=scope, radius=radius)
        return self._store.messages.get_many(near.ids.tolist(), scope=scope)

    # Bringing back

    def get_working_memory(self, *, scope: Scope, token_budget: int | None = None) -> list[Message]:
        """Return the current window: the newest messages within ``token_budget`` tokens, chronological."""
        budget = self.budget.working if token_budget is None else token_budget
        return self._recaller.working(scope=scope, token_budget=budget)

    def get_short_term_memory(
        self, *, scope: Scope, query: str | None = None, max_items: int = 3
    ) -> list[Hit]:
        """Return this session's summaries that fit the query best, or the newest where there is no query."""
        return self._recaller.short_term(scope=scope, query=query, max_items=max_items)

    def get_long_term_memory(
        self, *, scope: Scope, query: str | None = None, max_items: int = 2
    ) -> list[Hit]:
        """Return memories across sessions that fit the query best, or the most used; counts the access."""
        return self._recaller.long_term(scope=scope, query=query, max_items=max_items)

    def search_messages(
        self, *, scope: Scope, query: str, limit: int = 10, across_sessions: bool = True
    ) -> list[Hit]:
        """Return the user's messages that fit the query best, best first."""
        return self._recaller.messages(scope=scope, query=query, limit=limit, across_sessions=across_sessions)

    def recall(self, *, scope: Scope, query: str, limit: int = 10) -> Recall:
        """Return what all tiers give for the query; it is embedded once. ``limit`` bounds the message hits."""
        return self._recaller.recall(scope=scope, query=query, limit=limit, token_budget=self.budget.working)

    def build_context(
        self,
        *,
        scope: Scope,
        query: str | None = None,
        window_tokens: int | None = None,
        system: str | None = None,
    ) -> Context:
        """Return the prompt for the next turn, within 60 % of the model's window, and its ledger."""
        budget = self.budget if window_tokens is None else replace(self.budget, window_tokens=window_tokens)
        recalled = self._recaller.for_prompt(scope=scope, query=query, token_budget=budget.total)
        return self._builder.build(
            system=system,
            working=recalled.working,
            short_term=recalled.short_term,
            long_term=recalled.long_term,
            messages=recalled.messages,
            query=query,
            budget=budget,
            corrections=recalled.corrections,
            degraded=recalled.degraded,
        )

    # Long-term memory by hand

    def remember(
        self,
        *,
        scope: Scope,
        content: str,
        kind: MemoryKind = "fact",
        expires_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        origin: Origin = "user",
    ) -> Memory:
        """Store something worth knowing; a repeat strengthens the memory. ``origin`` says who vouches for it."""
        return self._curator.remember(
            scope=scope,
            content=content,
            kind=kind,
            expires_at=expires_at,
            metadata=metadata or {},
            origin=origin,
        )

    def memories(
        self,
        *,
        scope: Scope,
        kind: MemoryKind | None = None,
        include_inactive: bool = False,
        as_of: datetime | None = None,
    ) -> list[Memory]:
        """Return long-term memories in order of id; with ``as_of`` those that were valid at that instant."""
        return self._curator.find(scope=scope, kind=kind, include_inactive=include_inactive, as_of=as_of)

    def update_memory(
        self,
        *,
        scope: Scope,
        id: int,
        content: str | None = None,
        kind: MemoryKind | None = None,
        origin: Origin = "user",
    ) -> Memory:
        """Replace a memory's text or kind by a new version; the old one stays in its history."""
        return self._curator.update(scope=scope, memory_id=id, content=content, kind=kind, origin=origin)

    def pin(self, *, scope: Scope, id: int, pinned: bool = True) -> Memory:
        """Pin a memory, so that it always enters and never retires; or let it go."""
        return self._curator.pin(scope=scope, memory_id=id, pinned=pinned)

    def forget(self, *, scope: Scope, id: int, sources: bool = False) -> int:
        """Delete a memory's versions and what summarises their ``sources``, or these messages too; return the versions."""
        return self.erasure.forget(scope=scope, memory_id=id, sources=sources)

    def history(self, *, scope: Scope, id: int) -> list[Memory]:
        """Return every version of a memory with its provenance, oldest first."""
        return self._store.memories.history(id, scope=scope)

    # Sessions, deletion, sub-agents

    def sessions(self, *, user: str = "default", limit: int | None = None) -> list[Session]:
        """Return the user's sessions, oldest activity first."""
        return self._store.sessions.find(user=user, limit=limit)

    def session(self, *, scope: Scope) -> Session:
        """Return one session. Raises ``NotFoundError``."""
        return self._store.sessions.get(scope=scope)

    def rename_session(self, *, scope: Scope, title: str) -> Session:
        """Give a session a title."""
        return self._curator.rename_session(scope=scope, title=title)

    def end_session(self, *, scope: Scope) -> Session:
        """Close a session: its messages are consolidated into long-term memory before this returns."""
        return self._curator.end_session(scope=scope)

    def delete_session(self, *, scope: Scope) -> Mapping[str, int]:
        """Delete a session with everything derived from it; return the number of rows by kind."""
        return self.erasure.delete_session(scope=scope)

    def delete_user(self, *, scope: Scope) -> Mapping[str, int]:
        """Delete everything of the scope's user; return the number of rows by kind."""
        return self.erasure.delete_user(scope=scope)

    def erase(self, *, scope: Scope | None = None) -> Report:
        """Delete the scope's session, if given, rewrite the files, and report what a search for its text finds."""
        return self.erasure.erase(scope=scope)

    def subagent_runs(self, *, scope: Scope, parent_message_id: int | None = None) -> list[SubAgentRun]:
        """Return the session's sub-agent runs, or those that one message started."""
        return self._store.subagents.find(scope=scope, parent_message_id=parent_message_id)

    def record_run(
        self, *, scope: Scope, run: SubAgentRun, messages: Sequence[SubAgentMessage]
    ) -> SubAgentRun:
        """Store a sub-agent's finished run with its trace; more steps of it when it has an id already."""
        return self._recorder.record_run(run, messages, scope=scope)

    def subagent_messages(self, *, run_id: int, user: str | None = None) -> list[SubAgentMessage]:
        """Return the whole trace of a run. Raises ``NotFoundError``."""
        return self._store.subagents.messages(run_id, user=user)

    def start_run(self, run: SubAgentRun, *, scope: Scope) -> SubAgentRun:
        """Open a sub-agent run and return it with its id; ``append_run_messages`` and ``finish_run`` follow."""
        return self._runs.start(run, scope=scope)

    def append_run_messages(self, steps: Sequence[SubAgentMessage], *, scope: Scope) -> list[SubAgentMessage]:
        """Store complete steps of a run; they are durable on return. Raises ``NotFoundError``."""
        return self._runs.append(steps, scope=scope)

    def finish_run(self, run: SubAgentRun, *, scope: Scope) -> SubAgentRun:
        """Close a run with the status, summary, error and tokens that ``run`` has. Raises ``NotFoundError``."""
        return self._runs.finish(run, scope=scope)

    def promote(
        self,
        *,
        scope: Scope,
        content: str | None = None,
        kind: MemoryKind = "fact",
        run_id: int | None = None,
        message_id: int | None = None,
    ) -> Memory:
        """Make a memory of what nobody vouches for: a run's summary, or a message; ``content`` words it anew."""
        return self._runs.promote(
            scope=scope, content=content, kind=kind, run_id=run_id, message_id=message_id
        )

    # Health

    def flush(self, timeout: float = 30) -> bool:
        """Wait up to ``timeout`` seconds for background work; return whether nothing is pending."""
        return self._upkeep.flush(timeout)

    def status(self) -> Status:
        """Return counts, spaces, backlog by reason, and what is degraded."""
        return self._upkeep.status()

    def verify(self) -> Report:
        """Check rows against keyword index and vectors, orphans, and the file's integrity."""
        return self._upkeep.verify()

    def reindex(self, *, vectors: bool = False) -> Mapping[str, int]:
        """Build the keyword indexes anew, and let waiting embeddings be tried at once; with ``vectors`` all anew."""
        return self._upkeep.reindex(vectors=vectors)

    def backup(self, path: str) -> int:
        """Write a complete copy of the store; return its size in bytes. Raises ``ConflictError`` if it exists."""
        return self._store.backup(path)

    def export_rows(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield ``(table, row)`` of every table but the indexes."""
        return self._store.export_rows()

    def import_rows(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Mapping[str, int]:
        """Store exported rows, skipping those that exist; return the number stored by table."""
        return self._upkeep.import_rows(rows)

    def close(self) -> None:
        """Stop background work after the current batch and let go of the store. Jobs left over are durable."""
        self._upkeep.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
