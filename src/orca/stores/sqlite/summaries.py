"""Short-term memories: summaries of a session's turns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from orca.protocols import Clock
from orca.stores.sqlite.cascade import column, delete_rows, leave_indexes
from orca.stores.sqlite.connection import Connection, Database, Row
from orca.stores.sqlite.fts import Entry, KeywordIndex
from orca.stores.sqlite.jobs import add_jobs
from orca.stores.sqlite.records import BY_ID, checked, ids_json, sql_limit
from orca.text.normalize import clean
from orca.text.times import from_text, optional_from_text, to_text
from orca.types import Job, KeywordResult, Scope, Summary

_READ = (
    "id, user_id, session_id, agent, content, source_message_ids, source_count, confidence, origin, method,"
    " has_embedding, consolidated, created_at, updated_at"
)
_IN_SESSION = "user_id = :user AND session_id = :session AND agent = :agent"


class SQLiteSummaries:
    """The summary facet. See ``orca.protocols.SummaryStore``."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._index = KeywordIndex("summary")

    def append(self, summary: Summary, *, scope: Scope) -> Summary:
        """Store a summary, or replace in place the one that its source messages have already."""
        values = _values(scope)
        now = self._clock.now()
        prepared = replace(
            summary,
            content=clean(summary.content),
            user=scope.user,
            session=scope.session,
            agent=scope.agent,
            has_embedding=False,
        )
        sources = {**values, "ids": ids_json(summary.source_message_ids)}
        with self._database.write() as connection:
            existing = column(
                connection,
                f"SELECT DISTINCT summary_id FROM main_messages WHERE {BY_ID} AND +session_id = :session"
                " AND summary_id IS NOT NULL ORDER BY 1",
                sources,
            )
            if existing:
                stored = self._replace(connection, existing, prepared)
            else:
                stored = self._insert(connection, prepared)
            number = stored.id or 0
            connection.run(
                f"UPDATE main_messages SET summary_id = :summary WHERE {BY_ID} AND +session_id = :session",
                {**sources, "summary": number},
            )
            self._index.add(
                connection, [Entry(number, prepared.content, scope.user, scope.agent, scope.session)]
            )
            job = Job(
                kind="embed",
                record="summary",
                target_id=number,
                user=scope.user,
                session=scope.session,
                agent=scope.agent,
            )
            add_jobs(connection, [job], now=to_text(now))
        return stored

    def get_many(self, summary_ids: Sequence[int], *, scope: Scope) -> list[Summary]:
        """Return those of the summaries that exist in the scope's user and agent, in order of id."""
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {_READ} FROM short_term_memories WHERE {BY_ID} ORDER BY id",
                {"ids": ids_json(summary_ids), "user": checked(scope).user, "agent": scope.agent},
            )
        return [_summary(row) for row in rows]

    def recent(self, *, scope: Scope, limit: int | None = None) -> list[Summary]:
        """Return the newest ``limit`` summaries of the session, oldest first."""
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {_READ} FROM short_term_memories WHERE {_IN_SESSION} ORDER BY id DESC LIMIT :limit",
                {**_values(scope), "limit": sql_limit(limit)},
            )
        return [_summary(row) for row in reversed(rows)]

    def search(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordResult:
        """Search the session's summaries by index terms."""
        checked(scope)
        with self._database.snapshot() as connection:
            return self._index.search(connection, terms, scope=scope, session=scope.session, limit=limit)

    def mark_consolidated(self, summary_ids: Sequence[int], *, scope: Scope) -> None:
        """Record that long-term memory has taken these summaries in."""
        with self._database.write() as connection:
            connection.run(
                f"UPDATE short_term_memories SET consolidated = TRUE WHERE {BY_ID}",
                {"ids": ids_json(summary_ids), "user": checked(scope).user, "agent": scope.agent},
            )

    def prune(self, *, scope: Scope, keep: int) -> int:
        """Delete the session's consolidated summaries beyond the newest ``keep``; return how many went."""
        values = {**_values(scope), "keep": sql_limit(keep)}
        with self._database.write() as connection:
            surplus = column(
                connection,
                f"SELECT id FROM (SELECT id, consolidated FROM short_term_memories WHERE {_IN_SESSION}"
                " ORDER BY id DESC LIMIT -1 OFFSET :keep) WHERE consolidated",
                values,
            )
            return delete_rows(connection, "summary", surplus)

    def _insert(self, connection: Connection, summary: Summary) -> Summary:
        created = summary.created_at or self._clock.now()
        updated = summary.updated_at or created
        number = connection.value(
            "INSERT INTO short_term_memories(user_id, session_id, agent, content, source_message_ids, source_count,"
            " confidence, origin, method, consolidated, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                summary.user,
                summary.session,
                summary.agent,
                summary.content,
                ids_json(summary.source_message_ids),
                summary.source_count,
                summary.confidence,
                summary.origin,
                summary.method,
                summary.consolidated,
                to_text(created),
                to_text(updated),
            ),
        )
        return replace(summary, id=int(number), created_at=created, updated_at=updated)

    def _replace(self, connection: Connection, existing: Sequence[int], summary: Summary) -> Summary:
        """Write over the first existing summary and delete the others, whose turns it now covers."""
        number = existing[0]
        delete_rows(connection, "summary", existing[1:])
        # The job goes with the old text: a worker that holds it must not count the new text as done.
        leave_indexes(connection, "summary", [number])
        connection.run("UPDATE main_messages SET summary_id = NULL WHERE summary_id = ?", (number,))
        updated = self._clock.now()
        created = connection.value(
            "UPDATE short_term_memories SET content = ?, source_message_ids = ?, source_count = ?, confidence = ?,"
            " origin = ?, method = ?, consolidated = ?, has_embedding = FALSE, updated_at = ?"
            " WHERE id = ? RETURNING created_at",
            (
                summary.content,
                ids_json(summary.source_message_ids),
                summary.source_count,
                summary.confidence,
                summary.origin,
                summary.method,
                summary.consolidated,
                to_text(updated),
                number,
            ),
        )
        return replace(summary, id=number, created_at=from_text(created), updated_at=updated)


def _values(scope: Scope) -> dict[str, object]:
    checked(scope)
    return {"user": scope.user, "session": scope.session, "agent": scope.agent}


def _summary(row: Row) -> Summary:
    (
        number, user, session, agent, content, sources, count, confidence, origin, method, embedded,
        consolidated, created, updated,
    ) = row  # fmt: skip
    return Summary(
        id=number,
        user=user,
        session=session,
        agent=agent,
        content=content,
        source_message_ids=tuple(json.loads(sources)),
        source_count=count,
        confidence=confidence,
        origin=origin,
        method=method,
        has_embedding=bool(embedded),
        consolidated=bool(consolidated),
        created_at=from_text(created),
        updated_at=optional_from_text(updated),
    )
