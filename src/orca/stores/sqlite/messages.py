"""Messages of the main conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from orca.errors import NotFoundError
from orca.protocols import Clock, TokenCounter
from orca.stores.sqlite.cascade import delete_messages
from orca.stores.sqlite.columns import (
    calls_column,
    calls_of,
    content_columns,
    content_hash,
    content_of,
    metadata_column,
    metadata_of,
    one_of,
    optional_text,
)
from orca.stores.sqlite.connection import Connection, Database, Row
from orca.stores.sqlite.fts import Entry, KeywordIndex
from orca.stores.sqlite.jobs import add_jobs
from orca.stores.sqlite.records import BY_ID, checked, ids_json, sql_limit
from orca.text.jsonable import to_json
from orca.text.parts import is_embeddable, plain_text
from orca.text.times import from_text, to_text
from orca.types import ROLES, Job, KeywordResult, Message, MessageType, Placements, Scope

MESSAGE_TYPES: tuple[str, ...] = get_args(MessageType)

MESSAGE_COLUMNS = (
    "id, user_id, session_id, agent, role, content, raw_content, name, tool_calls, tool_call_id, msg_type,"
    " token_count, has_embedding, timestamp, metadata, origin, reasoning, position, summary_id, dedupe_key"
)
_WRITE = (
    "id, user_id, session_id, agent, role, content, raw_content, name, tool_calls, tool_call_id, msg_type,"
    " token_count, timestamp, metadata, origin, reasoning, position, dedupe_key, embeddable, content_hash"
)
_INSERT = f"INSERT INTO main_messages({_WRITE}) VALUES ({', '.join('?' * len(_WRITE.split(',')))})"
IN_SESSION = "user_id = :user AND session_id = :session AND agent = :agent"


class SQLiteMessages:
    """The message facet. See ``orca.protocols.MessageStore``."""

    def __init__(self, database: Database, clock: Clock, token_counter: TokenCounter | None) -> None:
        self._database = database
        self._clock = clock
        self._counter = token_counter
        self._index = KeywordIndex("message")

    def append(self, messages: Sequence[Message], *, scope: Scope) -> list[Message]:
        """Store messages in order and return them with id, position and timestamp."""
        checked(scope)
        for message in messages:
            one_of("role", message.role, ROLES)
            one_of("msg_type", message.msg_type, MESSAGE_TYPES)
        if not messages:
            return []
        keys = [optional_text(message.dedupe_key) for message in messages]
        tokens = [self._tokens(message) for message in messages]
        with self._database.write() as connection:
            stored = _known(connection, keys, scope)
            # "main." because the temporary schema has a table of this name too, made for the vector probe.
            number = (
                connection.value("SELECT seq FROM main.sqlite_sequence WHERE name = 'main_messages'") or 0
            )
            position = last_position(connection, scope)
            result: list[Message] = []
            fresh: list[Message] = []
            for message, key, count in zip(messages, keys, tokens, strict=True):
                known = None if key is None else stored.get(key)
                if known is None:
                    number += 1
                    position += 1
                    known = replace(
                        message,
                        id=number,
                        position=position,
                        user=scope.user,
                        session=scope.session,
                        agent=scope.agent,
                        token_count=count,
                        timestamp=message.timestamp or self._clock.now(),
                        has_embedding=False,
                        summary_id=None,
                        dedupe_key=key,
                    )
                    fresh.append(known)
                    if key is not None:
                        stored[key] = known
                result.append(known)
            if fresh:
                self._insert(connection, fresh, scope)
        return result

    def get(self, message_id: int, *, scope: Scope) -> Message:
        """Return one message of the user, whatever its session. Raises ``NotFoundError``."""
        found = self.get_many([message_id], scope=scope)
        if not found:
            raise NotFoundError(f"there is no message {message_id} of user {scope.user!r}")
        return found[0]

    def get_many(self, message_ids: Sequence[int], *, scope: Scope) -> list[Message]:
        """Return those of the messages that exist for this user and agent, in order of id."""
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {MESSAGE_COLUMNS} FROM main_messages WHERE {BY_ID} ORDER BY id",
                {"ids": ids_json(message_ids), "user": checked(scope).user, "agent": scope.agent},
            )
        return [message_of(row) for row in rows]

    def recent(self, *, scope: Scope, limit: int | None = None, before: int | None = None) -> list[Message]:
        """Return the newest ``limit`` messages of the session (all when None) with an id below ``before``."""
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {MESSAGE_COLUMNS} FROM main_messages WHERE {IN_SESSION} AND (:before IS NULL OR id < :before)"
                " ORDER BY position DESC LIMIT :limit",
                {**_values(scope), "before": before, "limit": sql_limit(limit)},
            )
        return [message_of(row) for row in reversed(rows)]

    def since(self, *, scope: Scope, position: int, limit: int | None = None) -> list[Message]:
        """Return the session's messages after ``position``, oldest first."""
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {MESSAGE_COLUMNS} FROM main_messages WHERE {IN_SESSION} AND position > :position"
                " ORDER BY position LIMIT :limit",
                {**_values(scope), "position": position, "limit": sql_limit(limit)},
            )
        return [message_of(row) for row in rows]

    def search(
        self, terms: Sequence[str], *, scope: Scope, limit: int, across_sessions: bool = True
    ) -> KeywordResult:
        """Return rows that contain any of the index terms, the best ``limit`` by BM25."""
        checked(scope)
        with self._database.snapshot() as connection:
            return self._index.search(
                connection,
                terms,
                scope=scope,
                session=None if across_sessions else scope.session,
                limit=limit,
            )

    def neighbours(
        self, message_ids: Sequence[int], *, scope: Scope, radius: int, terms: Sequence[str] = ()
    ) -> Placements:
        """Return the place of every message within ``radius`` positions of the given ones, themselves included."""
        checked(scope)
        sql_limit(radius)
        with self._database.snapshot() as connection:
            return self._index.around(connection, message_ids, scope=scope, radius=radius, terms=terms)

    def delete(self, message_ids: Sequence[int], *, scope: Scope) -> int:
        """Delete messages with all that is derived from them; return how many rows of messages went."""
        with self._database.write() as connection:
            rows = connection.all(
                f"SELECT id FROM main_messages WHERE {BY_ID}",
                {"ids": ids_json(message_ids), "user": checked(scope).user, "agent": scope.agent},
            )
            return delete_messages(connection, [number for (number,) in rows], user=scope.user)["messages"]

    def count(self, *, scope: Scope | None = None) -> int:
        """Return the number of messages in the scope's session, or in the whole store."""
        with self._database.read() as connection:
            if scope is None:
                return int(connection.value("SELECT count(*) FROM main_messages"))
            return int(
                connection.value(f"SELECT count(*) FROM main_messages WHERE {IN_SESSION}", _values(scope))
            )

    def _tokens(self, message: Message) -> int:
        if message.token_count or self._counter is None:
            return message.token_count
        return self._counter.count(plain_text(message.content) + (calls_column(message.tool_calls) or ""))

    def _insert(self, connection: Connection, messages: Sequence[Message], scope: Scope) -> None:
        rows: list[Row] = []
        entries: list[Entry] = []
        jobs: list[Job] = []
        for message in messages:
            number = message.id or 0
            embeddable = is_embeddable(message)
            rows.append(_row(message, embeddable=embeddable))
            entries.append(
                Entry(
                    number,
                    plain_text(message.content),
                    scope.user,
                    scope.agent,
                    scope.session,
                    message.position,
                    message.name,
                )
            )
            if embeddable:
                jobs.append(
                    Job(
                        kind="embed",
                        record="message",
                        target_id=number,
                        user=scope.user,
                        session=scope.session,
                        agent=scope.agent,
                    )
                )
        times = [row[12] for row in rows]
        touch_session(connection, scope, first=min(times), last=max(times))
        connection.run(
            "INSERT INTO session_positions(user_id, session_id, agent, last_position) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET last_position = excluded.last_position",
            (scope.user, scope.session, scope.agent, messages[-1].position),
        )
        connection.many(_INSERT, rows)
        self._index.add(connection, entries)
        add_jobs(connection, jobs, now=to_text(self._clock.now()))


def _known(connection: Connection, keys: Sequence[str | None], scope: Scope) -> dict[str, Message]:
    """Return the stored messages that have one of these dedupe keys."""
    asked = [key for key in keys if key is not None]
    if not asked:
        return {}
    rows = connection.all(
        f"SELECT {MESSAGE_COLUMNS} FROM main_messages WHERE {IN_SESSION}"
        " AND dedupe_key IN (SELECT value FROM json_each(:keys))",
        {**_values(scope), "keys": to_json(asked, where="dedupe_key")},
    )
    return {
        message.dedupe_key: message for message in map(message_of, rows) if message.dedupe_key is not None
    }


def touch_session(connection: Connection, scope: Scope, *, first: str, last: str) -> None:
    """Create the session where there is none; reopen it and move its activity forward where there is one."""
    connection.run(
        "INSERT INTO sessions(user_id, id, created_at, updated_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET state = 'open', updated_at = max(updated_at, excluded.updated_at)",
        (scope.user, scope.session, first, last),
    )


def last_position(connection: Connection, scope: Scope) -> int:
    """Return the last position given out in the session; deleted messages keep theirs."""
    return int(
        connection.value(
            f"SELECT last_position FROM session_positions WHERE {IN_SESSION}",
            _values(scope),
        )
        or 0
    )


def _values(scope: Scope) -> dict[str, str | int | None]:
    checked(scope)
    return {"user": scope.user, "session": scope.session, "agent": scope.agent}


def _row(message: Message, *, embeddable: bool) -> Row:
    content, raw = content_columns(message.content)
    calls = calls_column(message.tool_calls)
    name = optional_text(message.name)
    call_id = optional_text(message.tool_call_id)
    return (
        message.id,
        message.user,
        message.session,
        message.agent,
        message.role,
        content,
        raw,
        name,
        calls,
        call_id,
        message.msg_type,
        message.token_count,
        to_text(message.timestamp) if message.timestamp else None,
        metadata_column(message.metadata),
        message.origin,
        optional_text(message.reasoning),
        message.position,
        message.dedupe_key,
        embeddable,
        content_hash(message.role, name, raw if raw is not None else content, calls, call_id),
    )


def message_of(row: Row) -> Message:
    """Return a row of MESSAGE_COLUMNS as a message."""
    (
        number, user, session, agent, role, content, raw, name, calls, call_id, msg_type, tokens, embedded,
        timestamp, metadata, origin, reasoning, position, summary_id, dedupe_key,
    ) = row  # fmt: skip
    return Message(
        id=number,
        user=user,
        session=session,
        agent=agent,
        role=role,
        content=content_of(content, raw),
        name=name,
        tool_calls=calls_of(calls),
        tool_call_id=call_id,
        msg_type=msg_type,
        token_count=tokens,
        has_embedding=bool(embedded),
        timestamp=from_text(timestamp),
        metadata=metadata_of(metadata),
        origin=origin,
        reasoning=reasoning,
        position=position,
        summary_id=summary_id,
        dedupe_key=dedupe_key,
    )


def mark_embeddable(connection: Connection, ids: Sequence[int]) -> None:
    """Work out anew which of these messages get a vector."""
    rows = connection.all(
        f"SELECT {MESSAGE_COLUMNS} FROM main_messages WHERE id IN (SELECT value FROM json_each(?))",
        (ids_json(ids),),
    )
    connection.many(
        "UPDATE main_messages SET embeddable = TRUE WHERE id = ?",
        [(message.id,) for message in map(message_of, rows) if is_embeddable(message)],
    )
