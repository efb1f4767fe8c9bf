"""Pages of every kind of row, by keyset: the next page costs the same at row 50 and at row 100,000."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from orca.stores.sqlite import tallies
from orca.stores.sqlite.connection import Database
from orca.stores.sqlite.jobs import JOB_COLUMNS, job_of
from orca.stores.sqlite.memories import MEMORY_COLUMNS, memory_of
from orca.stores.sqlite.messages import IN_SESSION, MESSAGE_COLUMNS, message_of
from orca.stores.sqlite.records import TABLES, checked, checked_id, ids_json, sql_limit
from orca.stores.sqlite.sessions import SELECT_SESSION, session_of
from orca.stores.sqlite.subagents import RUN_COLUMNS, run_of
from orca.stores.sqlite.vector_tables import table_names
from orca.text.jsonable import to_json
from orca.text.normalize import clean
from orca.text.times import to_text
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

_OWN = "user_id = :user AND agent = :agent"
# The "+" keeps SQLite from sorting all rows of a user by an index that leads with the user: it walks the ids.
_OWN_BY_ID = "+user_id = :user AND +agent = :agent"
_HOLDS = "EXISTS (SELECT 1 FROM json_each(:patterns) WHERE {column} LIKE value ESCAPE '\\')"


class SQLiteBrowse:
    """The browsing facet. See ``orca.browsing.BrowseStore``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def version(self) -> int:
        """Return a number that is another one whenever somebody has written since the last call."""
        return self._database.version()

    def marks(self, *, user: str) -> Mapping[str, str]:
        """Return a text for each kind of row that changes with the user's rows of that kind."""
        with self._database.read() as connection:
            return tallies.marks(connection, checked_id("user", user))

    def counts(self, *, user: str) -> Mapping[str, int]:
        """Return the number of a user's rows by kind."""
        with self._database.read() as connection:
            return tallies.counts(connection, checked_id("user", user))

    def activity(self, *, user: str, since: datetime) -> list[tuple[str, int]]:
        """Return days from that of ``since`` on with the number of the user's messages of each."""
        with self._database.read() as connection:
            return tallies.days(connection, checked_id("user", user), to_text(since)[:10])

    def sessions(
        self,
        *,
        user: str,
        limit: int,
        before: tuple[datetime, str] | None = None,
        text: str | None = None,
        state: SessionState | None = None,
    ) -> list[Session]:
        """Return the user's sessions, oldest activity first, whose id or title holds ``text``."""
        conditions = ["user_id = :user"]
        values: dict[str, Any] = {"user": checked_id("user", user), "limit": sql_limit(limit)}
        if before is not None:
            conditions.append("(updated_at, id) < (:moment, :id)")
            values |= {"moment": to_text(before[0]), "id": before[1]}
        if text:
            conditions.append(
                f"({_HOLDS.format(column='sessions.id')} OR {_HOLDS.format(column='sessions.title')})"
            )
            values["patterns"] = _patterns(text)
        _where(conditions, values, state=state)
        with self._database.read() as connection:
            rows = connection.all(
                f"{SELECT_SESSION} WHERE {' AND '.join(conditions)} ORDER BY updated_at DESC, id DESC LIMIT :limit",
                values,
            )
        return [session_of(row) for row in reversed(rows)]

    def messages(
        self,
        *,
        scope: Scope,
        limit: int,
        before: int | None = None,
        after: int | None = None,
        role: Role | None = None,
    ) -> list[Message]:
        """Return messages of the scope's session, by position."""
        conditions = [IN_SESSION]
        values: dict[str, Any] = {**_scope(scope), "session": scope.session, "limit": sql_limit(limit)}
        _place(conditions, values, "position", before, after)
        _where(conditions, values, role=role)
        return self._messages(conditions, "position", values, descending=after is None)

    def all_messages(
        self, *, scope: Scope, limit: int, before: int | None = None, role: Role | None = None
    ) -> list[Message]:
        """Return messages of all sessions, by id."""
        conditions = [_OWN_BY_ID]
        values: dict[str, Any] = {**_scope(scope), "limit": sql_limit(limit)}
        _place(conditions, values, "id", before)
        _where(conditions, values, role=role)
        return self._messages(conditions, "id", values, descending=True)

    def _messages(
        self, conditions: list[str], place: str, values: Mapping[str, Any], *, descending: bool
    ) -> list[Message]:
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {MESSAGE_COLUMNS} FROM main_messages WHERE {' AND '.join(conditions)}"
                f" ORDER BY {place} {'DESC' if descending else 'ASC'} LIMIT :limit",
                values,
            )
        return [message_of(row) for row in (reversed(rows) if descending else rows)]

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
        """Return memories in any state, every version of each, by id."""
        conditions = [_OWN]
        values: dict[str, Any] = {**_scope(scope), "limit": sql_limit(limit)}
        _place(conditions, values, "id", before)
        _where(conditions, values, memory_type=kind, state=state)
        if text:
            conditions.append(_HOLDS.format(column="long_term_memories.content"))
            values["patterns"] = _patterns(text)
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {MEMORY_COLUMNS} FROM long_term_memories WHERE {' AND '.join(conditions)}"
                " ORDER BY id DESC LIMIT :limit",
                values,
            )
        return [memory_of(row) for row in reversed(rows)]

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
        """Return sub-agent runs of the user, whoever delegated them, by id."""
        conditions = ["user_id = :user"]
        values: dict[str, Any] = {"user": checked_id("user", user), "limit": sql_limit(limit)}
        _place(conditions, values, "id", before)
        _where(conditions, values, session_id=session, status=status, parent_run_id=parent_run_id)
        if parent_message_ids is not None:
            conditions.append("parent_message_id IN (SELECT value FROM json_each(:parents))")
            values["parents"] = ids_json(parent_message_ids)
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {RUN_COLUMNS} FROM subagent_runs WHERE {' AND '.join(conditions)}"
                " ORDER BY id DESC LIMIT :limit",
                values,
            )
        return [run_of(row) for row in reversed(rows)]

    def jobs(
        self,
        *,
        user: str,
        limit: int,
        before: int | None = None,
        kind: JobKind | None = None,
        failed: bool | None = None,
    ) -> list[Job]:
        """Return the user's jobs that are not done, by id."""
        conditions = ["+user_id = :user"]
        values: dict[str, Any] = {"user": checked_id("user", user), "limit": sql_limit(limit)}
        _place(conditions, values, "id", before)
        _where(conditions, values, kind=kind)
        if failed is not None:
            conditions.append(f"last_error IS {'NOT ' if failed else ''}NULL")
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {JOB_COLUMNS} FROM jobs WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT :limit",
                values,
            )
        return [job_of(row) for row in reversed(rows)]

    def vectors(self, record: Record, ids: Sequence[int]) -> tuple[list[int], np.ndarray]:
        """Return those of the ids that have a vector in the current space, and the vectors, by id."""
        table = TABLES[record]
        with self._database.snapshot() as connection:
            space = connection.one("SELECT id, dimensions FROM embedding_spaces WHERE current")
            if (
                connection.vector_reason
                or space is None
                or table.vectors(space[0]) not in table_names(connection)
            ):
                return [], np.empty((0, 0), dtype=np.float32)
            rows = connection.all(
                f"SELECT {table.vector_key}, embedding FROM {table.vectors(space[0])}"
                f" WHERE {table.vector_key} IN (SELECT value FROM json_each(?)) ORDER BY 1",
                (ids_json(ids),),
            )
        joined = b"".join(vector for _, vector in rows)
        return [number for number, _ in rows], np.frombuffer(joined, dtype=np.float32).reshape(-1, space[1])


def _scope(scope: Scope) -> dict[str, Any]:
    return {"user": checked(scope).user, "agent": scope.agent}


def _where(conditions: list[str], values: dict[str, Any], **equal: object) -> None:
    """Add a condition for every column that must have a value."""
    for column, value in equal.items():
        if value is not None:
            conditions.append(f"{column} = :{column}")
            values[column] = value


def _place(
    conditions: list[str],
    values: dict[str, Any],
    column: str,
    before: int | None,
    after: int | None = None,
) -> None:
    if before is not None:
        conditions.append(f"{column} < :before")
        values["before"] = before
    if after is not None:
        conditions.append(f"{column} > :after")
        values["after"] = after


def _patterns(text: str) -> str:
    """Return the text in its Unicode forms as patterns for LIKE, in which nothing of it is a wildcard."""
    forms = {unicodedata.normalize(form, clean(text)) for form in ("NFC", "NFD", "NFKC")} | {clean(text)}
    escaped = (form.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for form in sorted(forms))
    return to_json([f"%{form}%" for form in escaped], where="text")
