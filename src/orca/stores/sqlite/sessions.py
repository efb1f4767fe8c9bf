"""Sessions by user, and what goes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from orca.errors import NotFoundError
from orca.stores.sqlite import tallies
from orca.stores.sqlite.cascade import column, delete_memories, delete_messages, delete_rows, delete_runs
from orca.stores.sqlite.columns import optional_text
from orca.stores.sqlite.connection import Connection, Database, Row
from orca.stores.sqlite.places import forget_scopes
from orca.stores.sqlite.records import TABLES, checked, checked_id, ids_json, sql_limit
from orca.text.times import from_text
from orca.types import Scope, Session

SELECT_SESSION = (
    "SELECT id, user_id, title, parent, state, created_at, updated_at,"
    " (SELECT rows FROM tallies WHERE kind = 'session_messages' AND user_id = sessions.user_id AND part = sessions.id),"
    " (SELECT rows FROM tallies WHERE kind = 'session_summaries' AND user_id = sessions.user_id AND part = sessions.id),"
    " consolidated_position FROM sessions"
)
_IN_SESSION = "user_id = :user AND session_id = :session"


class SQLiteSessions:
    """The session facet. See ``orca.protocols.SessionStore``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, *, scope: Scope) -> Session:
        """Return the scope's session. Raises ``NotFoundError``."""
        with self._database.read() as connection:
            return _get(connection, checked(scope))

    def find(self, *, user: str, limit: int | None = None) -> list[Session]:
        """Return the user's sessions, oldest activity first; with ``limit`` the most recently active ones."""
        with self._database.read() as connection:
            rows = connection.all(
                f"{SELECT_SESSION} WHERE user_id = ? ORDER BY updated_at DESC, rowid DESC LIMIT ?",
                (checked_id("user", user), sql_limit(limit)),
            )
        return [session_of(row) for row in reversed(rows)]

    def users(self) -> list[str]:
        """Return every user that has a session or a memory."""
        with self._database.read() as connection:
            rows = connection.all(
                "SELECT user_id FROM sessions UNION SELECT user_id FROM long_term_memories ORDER BY 1"
            )
        return [user for (user,) in rows]

    def update(
        self,
        *,
        scope: Scope,
        title: str | None = None,
        state: Literal["open", "ended"] | None = None,
        consolidated_position: int | None = None,
    ) -> Session:
        """Change what is given and leave the rest, last activity included. Raises ``NotFoundError``."""
        with self._database.write() as connection:
            connection.run(
                "UPDATE sessions SET title = coalesce(?, title), state = coalesce(?, state),"
                " consolidated_position = coalesce(?, consolidated_position)"
                " WHERE user_id = ? AND id = ?",
                (
                    optional_text(title),
                    state,
                    consolidated_position,
                    checked(scope).user,
                    scope.session,
                ),
            )
            return _get(connection, scope)

    def trust(self, message_ids: Sequence[int], *, scope: Scope) -> list[int]:
        """Let imported messages of the session have their role's origin; return the ids of those that had not."""
        with self._database.write() as connection:
            changed = connection.all(
                "UPDATE main_messages SET origin = role WHERE id IN (SELECT value FROM json_each(?))"
                " AND user_id = ? AND agent = ? AND session_id = ? AND origin = 'import' RETURNING id",
                (ids_json(message_ids), checked(scope).user, scope.agent, scope.session),
            )
        return sorted(number for (number,) in changed)

    def delete(self, *, scope: Scope) -> Mapping[str, int]:
        """Delete the session, of every agent, with its messages, summaries, runs, jobs and the memories made only from it."""
        values: dict[str, object] = {"user": checked(scope).user, "session": scope.session}
        with self._database.write() as connection:
            before = tallies.counts(connection, scope.user)
            messages = column(connection, f"SELECT id FROM main_messages WHERE {_IN_SESSION}", values)
            delete_messages(connection, messages, user=scope.user)
            summaries = column(connection, f"SELECT id FROM short_term_memories WHERE {_IN_SESSION}", values)
            delete_rows(connection, "summary", summaries)
            delete_runs(
                connection, column(connection, f"SELECT id FROM subagent_runs WHERE {_IN_SESSION}", values)
            )
            memories = column(
                connection,
                "SELECT id FROM long_term_memories WHERE user_id = :user AND source_session = :session"
                " AND json_array_length(source_message_ids) = 0",
                values,
            )
            delete_memories(connection, memories)
            connection.run(f"DELETE FROM jobs WHERE {_IN_SESSION} AND record <> 'memory'", values)
            connection.run(f"DELETE FROM session_positions WHERE {_IN_SESSION}", values)
            connection.run("DELETE FROM sessions WHERE user_id = :user AND id = :session", values)
            forget_scopes(connection, user=scope.user, session=scope.session)
            return _difference(before, tallies.counts(connection, scope.user))

    def delete_user(self, *, user: str) -> Mapping[str, int]:
        """Delete everything of a user; return the number of rows that went, by kind."""
        values: dict[str, object] = {"user": checked_id("user", user)}
        with self._database.write() as connection:
            before = tallies.counts(connection, user)
            delete_runs(
                connection, column(connection, "SELECT id FROM subagent_runs WHERE user_id = :user", values)
            )
            for record, table in TABLES.items():
                rows = column(connection, f"SELECT id FROM {table.table} WHERE user_id = :user", values)
                delete_rows(connection, record, rows)
            for name in ("jobs", "session_positions", "sessions"):
                connection.run(f"DELETE FROM {name} WHERE user_id = :user", values)
            forget_scopes(connection, user=user)
            after = tallies.counts(connection, user)
            tallies.forget(connection, user)
            return _difference(before, after)


def _difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {kind: before[kind] - after[kind] for kind in before}


def _get(connection: Connection, scope: Scope) -> Session:
    row = connection.one(f"{SELECT_SESSION} WHERE user_id = ? AND id = ?", (scope.user, scope.session))
    if row is None:
        raise NotFoundError(f"user {scope.user!r} has no session {scope.session!r}")
    return session_of(row)


def session_of(row: Row) -> Session:
    """Return a row of ``SELECT_SESSION`` as a session."""
    number, user, title, parent, state, created, updated, messages, summaries, consolidated = row
    return Session(
        id=number,
        user=user,
        title=title,
        parent=parent,
        state=state,
        created_at=from_text(created),
        updated_at=from_text(updated),
        message_count=messages or 0,
        summary_count=summaries or 0,
        consolidated_position=consolidated,
    )
