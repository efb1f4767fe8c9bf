"""Long-term memory and sessions by hand: remember, edit, pin, end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from orca.errors import ConfigError
from orca.memory.consolidator import Consolidator
from orca.memory.maintenance import is_expired
from orca.memory.recorder import as_utc
from orca.memory.remembering import Rememberer
from orca.memory.turn_end import ends_turn, summary_job
from orca.protocols import Clock, Store
from orca.text.normalize import clean
from orca.text.redaction import MASKED, Redaction
from orca.types import MEMORY_KINDS, Memory, MemoryKind, Origin, Scope, Session

CONFIDENCE_BY_HAND = 0.9
"""Confidence of a memory that somebody wrote by hand: above what rules (0.5 to 0.8) and models find."""

CONFIDENCE_BY_OTHERS = 0.7
"""Confidence of a memory that a model or a tool asked to keep."""


class Curator:
    """What a person or a program does to long-term memory and sessions on purpose."""

    def __init__(
        self,
        store: Store,
        *,
        rememberer: Rememberer,
        consolidator: Consolidator,
        clock: Clock,
        notify: Callable[[], None],
        redaction: Redaction = MASKED,
    ) -> None:
        self._store = store
        self._rememberer = rememberer
        self._consolidator = consolidator
        self._clock = clock
        self._notify = notify
        self._redaction = redaction

    def remember(
        self,
        *,
        scope: Scope,
        content: str,
        kind: MemoryKind,
        expires_at: datetime | None,
        metadata: Mapping[str, object],
        origin: Origin = "user",
    ) -> Memory:
        """Store a memory; see ``MemoryManager.remember``."""
        if not isinstance(metadata, Mapping):
            raise ConfigError(f"metadata is a {type(metadata).__name__}; give a mapping")
        memory = Memory(
            content=self._redaction.text(checked_content(content)),
            kind=checked_kind(kind),
            user=scope.user,
            agent=scope.agent,
            source_session=scope.session,
            origin=origin,
            confidence=CONFIDENCE_BY_HAND if origin == "user" else CONFIDENCE_BY_OTHERS,
            expires_at=None if expires_at is None else as_utc(expires_at, field="expires_at"),
            metadata=self._redaction.value(metadata),
        )
        stored = self._rememberer.add(memory, scope=scope)
        self._notify()
        return stored

    def find(
        self,
        *,
        scope: Scope,
        kind: MemoryKind | None,
        include_inactive: bool,
        as_of: datetime | None,
    ) -> list[Memory]:
        """Return memories; see ``MemoryManager.memories``."""
        found = self._store.memories.find(
            scope=scope,
            kind=None if kind is None else checked_kind(kind),
            include_inactive=include_inactive,
            as_of=None if as_of is None else as_utc(as_of, field="as_of"),
        )
        if include_inactive or as_of is not None:
            return found
        now = self._clock.now()
        return [memory for memory in found if not is_expired(memory, now)]

    def update(
        self,
        *,
        scope: Scope,
        memory_id: int,
        content: str | None,
        kind: MemoryKind | None,
        origin: Origin = "user",
    ) -> Memory:
        """Replace a memory by a new version; see ``MemoryManager.update_memory``."""
        now = self._clock.now()
        with self._store.transaction() as tx:
            old = tx.memories.get(memory_id, scope=scope)
            replacement = replace(
                old,
                content=old.content if content is None else self._redaction.text(checked_content(content)),
                kind=old.kind if kind is None else checked_kind(kind),
                origin=origin,
                updated_at=now,
            )
            if replacement.content != old.content:
                replacement = self._rememberer.reread(replacement)
            stored = tx.memories.supersede(memory_id, replacement, scope=scope, now=now)
        self._notify()
        return stored

    def pin(self, *, scope: Scope, memory_id: int, pinned: bool) -> Memory:
        """Pin a memory or let it go."""
        with self._store.transaction() as tx:
            memory = replace(tx.memories.get(memory_id, scope=scope), pinned=pinned)
            return tx.memories.update(memory, scope=scope)

    def rename_session(self, *, scope: Scope, title: str) -> Session:
        """Give a session a title. Raises ``NotFoundError``."""
        title = self._redaction.text(clean(title).strip())
        return self._store.sessions.update(scope=scope, title=title)

    def trust(self, message_ids: Sequence[int], *, scope: Scope) -> int:
        """Let imported messages count as said by their roles, and their turns be looked through for facts."""
        now = self._clock.now()
        with self._store.transaction() as tx:
            changed = tx.sessions.trust(message_ids, scope=scope)
            if changed:
                turns = filter(ends_turn, tx.messages.get_many(changed, scope=scope))
                tx.jobs.enqueue([summary_job(message) for message in turns], now=now)
                # What was taken in without them is taken in again; a repeat adds no memory.
                tx.sessions.update(scope=scope, consolidated_position=0)
        self._notify()
        return len(changed)

    def end_session(self, *, scope: Scope) -> Session:
        """Consolidate what is left of a session, then close it. Raises ``NotFoundError``."""
        self._store.sessions.get(scope=scope)
        self._consolidator.consolidate(scope=scope)
        session = self._store.sessions.update(scope=scope, state="ended")
        self._notify()
        return session


def checked_content(content: str) -> str:
    """Return a memory's text, cleaned. Raises ``ConfigError`` for an empty one."""
    text = clean(content).strip()
    if not text:
        raise ConfigError("content: a memory needs some text")
    return text


def checked_kind(kind: MemoryKind) -> MemoryKind:
    """Return a memory's kind. Raises ``ConfigError`` for one that there is not."""
    if kind not in MEMORY_KINDS:
        raise ConfigError(f"kind: {kind!r} is not one of {', '.join(MEMORY_KINDS)}")
    return kind
