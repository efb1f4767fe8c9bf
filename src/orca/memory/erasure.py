"""Letting things go for good: one memory, a session or a user, with all that came from them; and proving it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orca.health import Report
from orca.memory.recorder import Recorder
from orca.protocols import Store
from orca.types import Scope

TEXTS = ("content", "tool_calls", "reasoning", "metadata", "title", "task", "summary", "error")
"""Columns of exported rows that hold what somebody wrote."""


class _RehearsalOverError(Exception):
    """Ends a deletion that only had to be counted, so that its transaction is undone."""


class Erasure:
    """Deletes in one transaction each; what was interrupted is undone whole, and asking again finishes it.

    Messages that still wait in the spool go after the store has let go of the rest.
    """

    def __init__(self, store: Store, recorder: Recorder) -> None:
        self._store = store
        self._recorder = recorder

    def forget(self, *, scope: Scope, memory_id: int, sources: bool = False) -> int:
        """Delete every version of a memory; see ``MemoryManager.forget``. Raises ``NotFoundError``."""
        with self._store.transaction() as tx:
            versions = tx.memories.history(memory_id, scope=scope)
            told = {number for memory in versions for number in memory.source_message_ids}
            deleted = tx.memories.delete(
                [memory.id for memory in versions if memory.id is not None], scope=scope
            )
            if sources:
                tx.messages.delete(sorted(told), scope=scope)
        return deleted

    def delete_session(self, *, scope: Scope) -> Mapping[str, int]:
        """Delete a session with everything derived from it; return the number of rows by kind."""
        return self._with_waiting(self._store.sessions.delete(scope=scope), scope.user, scope.session)

    def delete_user(self, *, scope: Scope) -> Mapping[str, int]:
        """Delete everything of the scope's user; return the number of rows by kind."""
        return self._with_waiting(self._store.sessions.delete_user(user=scope.user), scope.user, None)

    def preview(
        self, *, scope: Scope, memory_id: int | None = None, user: bool = False, sources: bool = False
    ) -> Mapping[str, int]:
        """Return how many rows of each kind would go: of a memory, of the whole user, or of the scope's session.

        It is deleted in a transaction that is then undone, so the figures are exact. Raises ``NotFoundError``.
        """
        before = self._store.counts()
        after: Mapping[str, int] = before
        try:
            with self._store.transaction() as tx:
                if memory_id is not None:
                    self.forget(scope=scope, memory_id=memory_id, sources=sources)
                elif user:
                    tx.sessions.delete_user(user=scope.user)
                else:
                    tx.sessions.get(scope=scope)
                    tx.sessions.delete(scope=scope)
                after = tx.counts()
                raise _RehearsalOverError
        except _RehearsalOverError:
            counts = {kind: number - after[kind] for kind, number in before.items()}
        if memory_id is None:
            waiting = self._recorder.count_waiting(user=scope.user, session=None if user else scope.session)
            counts["messages"] += waiting
        return counts

    def erase(
        self,
        *,
        scope: Scope | None,
        memory_id: int | None = None,
        user: bool = False,
        sources: bool = False,
    ) -> Report:
        """Delete as ``preview`` counts, rewrite the files, and search every file for the text that went.

        Without a scope nothing more is deleted; the files are rewritten all the same. Raises ``StoreError`` when
        another connection holds the log: what was deleted is gone then, and asking again rewrites the files.
        """
        if scope is None:
            return Report(checks=tuple(self._store.scrub()))
        before = set(self._texts(scope.user))
        if memory_id is not None:
            self.forget(scope=scope, memory_id=memory_id, sources=sources)
        elif user:
            self.delete_user(scope=scope)
        else:
            self.delete_session(scope=scope)
        gone = before.difference(self._texts(scope.user))
        return Report(checks=(*self._store.scrub(gone), *self._recorder.check_spool(gone)))

    def _texts(self, user: str) -> Iterator[str]:
        runs: set[Any] = set()
        for table, row in self._store.export_rows():
            if table == "subagent_runs" and row.get("user_id") == user:
                runs.add(row["id"])
            if row.get("user_id") == user or (table == "subagent_messages" and row.get("run_id") in runs):
                yield from (text for name in TEXTS if isinstance(text := row.get(name), str))

    def _with_waiting(self, counts: Mapping[str, int], user: str, session: str | None) -> Mapping[str, int]:
        waiting = self._recorder.discard(user=user, session=session)
        return {**counts, "messages": counts["messages"] + waiting}
