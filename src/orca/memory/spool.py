"""Where messages wait while the store cannot take them, and how they come back exactly once."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from orca.errors import OrcaError, StoreUnavailableError
from orca.facets import MessageStore
from orca.health import Check
from orca.memory.turn_end import ends_turn, summary_job
from orca.protocols import Clock, Store
from orca.text.traces import found_in, pieces_of
from orca.types import Message, Scope

logger = logging.getLogger("orca")

DRAIN_BATCH = 200
"""Messages that come back in one transaction: enough to be quick, few enough not to hold up other writers."""


class SpoolLog(MessageStore, Protocol):
    """A message store that can also say where it is and whose messages it holds; ``JSONLStore`` is one."""

    @property
    def location(self) -> str:
        """Where the messages are, in words for a user."""
        ...

    def scopes(self) -> list[Scope]:
        """Return the scopes that hold messages, oldest message first."""
        ...


class MessageSpool:
    """A durable line of messages in front of a store that is full, read-only, locked or damaged.

    Every message gets a ``dedupe_key`` before it is written here. Draining stores a batch, and only when that
    is durable removes it here; killed in between, the next drain meets the same keys and stores nothing twice.
    """

    def __init__(self, log: SpoolLog, clock: Clock) -> None:
        """``log`` keeps the messages; it must not share its disk's fate with the store more than it has to."""
        self._log = log
        self._clock = clock

    @property
    def location(self) -> str:
        """Where the messages wait."""
        return self._log.location

    def append(self, messages: Sequence[Message], *, scope: Scope) -> list[Message]:
        """Keep messages durably; return them with ids of the spool. Raises ``StoreUnavailableError``."""
        keyed = [
            message if message.dedupe_key else replace(message, dedupe_key=f"spool:{uuid4()}")
            for message in messages
        ]
        return self._log.append(keyed, scope=scope)

    def pending(self) -> int:
        """Return how many messages wait."""
        return self._log.count()

    def waiting(self, *, scope: Scope) -> list[Message]:
        """Return the scope's messages that wait, oldest first."""
        return self._log.recent(scope=scope)

    def count_of(self, *, user: str, session: str | None) -> int:
        """Return how many messages of a user, or of one of their sessions, wait."""
        return sum(self._log.count(scope=scope) for scope in self._scopes_of(user, session))

    def discard(self, *, user: str, session: str | None) -> int:
        """Delete the messages of a user, or of one of their sessions, that wait; return how many went."""
        return sum(
            self._log.delete(
                [message.id for message in self._log.recent(scope=scope) if message.id is not None],
                scope=scope,
            )
            for scope in self._scopes_of(user, session)
        )

    def check_files(self, texts: Collection[str]) -> list[Check]:
        """Look for deleted texts in the files; what messages that still wait hold as well is no trace of them."""
        pieces = pieces_of(texts)
        files = [path for path in sorted(Path(self._log.location).rglob("*")) if path.is_file()]
        found = set().union(*(found_in(path, pieces) for path in files))
        waiting = [message for scope in self._log.scopes() for message in self._log.recent(scope=scope)]
        living = {piece for piece in found if any(piece.decode(errors="replace") in str(m) for m in waiting)}
        traces = found - living
        detail = f"{len(traces)} of {len(pieces)} pieces of deleted text found in {len(files)} files"
        return [Check(name="traces in the spool", ok=not traces, detail=detail)]

    def _scopes_of(self, user: str, session: str | None) -> list[Scope]:
        return [
            scope
            for scope in self._log.scopes()
            if scope.user == user and (session is None or scope.session == session)
        ]

    def drain(self, store: Store) -> int:
        """Move every message into the store, in order within each session; return how many came.

        Raises ``StoreUnavailableError`` when the store can take none. A message that it refuses for what it is
        stays here, is named in the log, and does not hold up those behind it.
        """
        return sum(self._drain_scope(store, scope) for scope in self._log.scopes())

    def _drain_scope(self, store: Store, scope: Scope) -> int:
        drained = position = 0
        while batch := self._log.since(scope=scope, position=position, limit=DRAIN_BATCH):
            position = batch[-1].position
            try:
                drained += self._move(store, batch, scope)
            except StoreUnavailableError:
                raise
            except OrcaError:
                drained += sum(self._move_one(store, message, scope) for message in batch)
        return drained

    def _move_one(self, store: Store, message: Message, scope: Scope) -> int:
        try:
            return self._move(store, [message], scope)
        except StoreUnavailableError:
            raise
        except OrcaError as error:
            logger.warning("a message stays in %s, the store refuses it: %s", self.location, error)
            return 0

    def _move(self, store: Store, batch: Sequence[Message], scope: Scope) -> int:
        with store.transaction() as tx:
            stored = tx.messages.append([replace(message, id=None) for message in batch], scope=scope)
            turns = [summary_job(message) for message in stored if ends_turn(message)]
            tx.jobs.enqueue(turns, now=self._clock.now())
        return self._log.delete([message.id for message in batch if message.id is not None], scope=scope)
