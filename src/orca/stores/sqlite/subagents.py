"""Sub-agent runs and their traces, in tables of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import get_args

from orca.errors import NotFoundError
from orca.protocols import Clock
from orca.stores.sqlite.columns import (
    calls_column,
    calls_of,
    content_columns,
    content_of,
    metadata_column,
    metadata_of,
    one_of,
    optional_text,
)
from orca.stores.sqlite.connection import Connection, Database, Row
from orca.stores.sqlite.records import checked, ids_json
from orca.text.normalize import clean
from orca.text.times import from_text, optional_from_text, optional_to_text, to_text
from orca.types import ROLES, RunStatus, Scope, SubAgentMessage, SubAgentRun

STATUSES: tuple[str, ...] = get_args(RunStatus)

RUN_COLUMNS = (
    "id, user_id, session_id, agent_name, task, parent_message_id, parent_run_id, status, summary, error, tokens,"
    " started_at, ended_at"
)
_STEP = (
    "id, run_id, role, content, raw_content, tool_calls, tool_call_id, name, reasoning, token_count, timestamp,"
    " metadata"
)
_OWNED = "user_id = :user AND session_id = :session AND owner_agent = :agent"
_BY_ID = (
    "id IN (SELECT value FROM json_each(:ids)) AND +user_id = :user AND +session_id = :session"
    " AND +owner_agent = :agent"
)
_INSERT_STEP = (
    "INSERT INTO subagent_messages(parent_msg_id, user_id, session_id, agent, agent_name, run_id, role, content,"
    " raw_content, tool_calls, tool_call_id, name, reasoning, token_count, timestamp, metadata)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"
)


class SQLiteSubAgents:
    """The sub-agent facet. See ``orca.protocols.SubAgentStore``."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def start(self, run: SubAgentRun, *, scope: Scope) -> SubAgentRun:
        """Open a run; return it with its id. Raises ``NotFoundError`` for a parent that is not the user's."""
        checked(scope)
        one_of("status", run.status, STATUSES)
        stored = replace(
            run,
            agent=clean(run.agent),
            task=clean(run.task),
            user=scope.user,
            session=scope.session,
            started_at=run.started_at or self._clock.now(),
        )
        with self._database.write() as connection:
            _expect(connection, "main_messages", run.parent_message_id, scope.user)
            _expect(connection, "subagent_runs", run.parent_run_id, scope.user)
            number = connection.value(
                "INSERT INTO subagent_runs(user_id, session_id, owner_agent, agent_name, task, parent_message_id,"
                " parent_run_id, status, summary, error, tokens, started_at, ended_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (
                    scope.user,
                    scope.session,
                    scope.agent,
                    stored.agent,
                    stored.task,
                    run.parent_message_id,
                    run.parent_run_id,
                    run.status,
                    optional_text(run.summary),
                    optional_text(run.error),
                    run.tokens,
                    optional_to_text(stored.started_at),
                    optional_to_text(run.ended_at),
                ),
            )
        return replace(stored, id=int(number))

    def append(self, messages: Sequence[SubAgentMessage], *, scope: Scope) -> list[SubAgentMessage]:
        """Store complete steps of a run in order. Raises ``NotFoundError`` for a run of another scope."""
        for message in messages:
            one_of("role", message.role, ROLES)
        stored = []
        with self._database.write() as connection:
            runs = {
                number: (parent, agent)
                for number, parent, agent in connection.all(
                    f"SELECT id, parent_message_id, agent_name FROM subagent_runs WHERE {_BY_ID}",
                    {**_values(scope), "ids": ids_json(message.run_id for message in messages)},
                )
            }
            for message in messages:
                if message.run_id not in runs:
                    raise NotFoundError(f"session {scope.session!r} has no sub-agent run {message.run_id}")
                parent, agent = runs[message.run_id]
                timed = replace(message, timestamp=message.timestamp or self._clock.now())
                number = connection.value(
                    _INSERT_STEP,
                    (parent, scope.user, scope.session, scope.agent, agent, *_step_values(timed)),
                )
                stored.append(replace(timed, id=int(number)))
        return stored

    def finish(
        self,
        run_id: int,
        *,
        scope: Scope,
        status: RunStatus,
        now: datetime,
        summary: str | None = None,
        error: str | None = None,
        tokens: int = 0,
    ) -> SubAgentRun:
        """Close a run. Raises ``NotFoundError``."""
        one_of("status", status, STATUSES)
        with self._database.write() as connection:
            row = connection.one(
                "UPDATE subagent_runs SET status = :status, ended_at = :now, summary = :summary, error = :error,"
                f" tokens = :tokens WHERE {_BY_ID} RETURNING {RUN_COLUMNS}",
                {
                    **_values(scope),
                    "ids": ids_json([run_id]),
                    "status": status,
                    "now": to_text(now),
                    "summary": optional_text(summary),
                    "error": optional_text(error),
                    "tokens": tokens,
                },
            )
        if row is None:
            raise NotFoundError(f"session {scope.session!r} has no sub-agent run {run_id}")
        return run_of(row)

    def get(self, run_id: int, *, user: str | None = None) -> SubAgentRun:
        """Return one run. Raises ``NotFoundError``."""
        with self._database.read() as connection:
            return _get(connection, run_id, user)

    def find(self, *, scope: Scope, parent_message_id: int | None = None) -> list[SubAgentRun]:
        """Return the session's runs, or those that one message started, in order of id."""
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {RUN_COLUMNS} FROM subagent_runs WHERE {_OWNED}"
                " AND (:parent IS NULL OR parent_message_id = :parent) ORDER BY id",
                {**_values(scope), "parent": parent_message_id},
            )
        return [run_of(row) for row in rows]

    def messages(self, run_id: int, *, user: str | None = None) -> list[SubAgentMessage]:
        """Return a run's whole trace. Raises ``NotFoundError``."""
        with self._database.snapshot() as connection:
            run = _get(connection, run_id, user)
            rows = connection.all(
                f"SELECT {_STEP} FROM subagent_messages WHERE run_id = ? ORDER BY id", (run.id,)
            )
        return [_step(row) for row in rows]


def _values(scope: Scope) -> dict[str, object]:
    checked(scope)
    return {"user": scope.user, "session": scope.session, "agent": scope.agent}


def _expect(connection: Connection, table: str, number: int | None, user: str) -> None:
    if number is None:
        return
    found = connection.value(
        f"SELECT 1 FROM {table} WHERE id IN (SELECT value FROM json_each(?)) AND +user_id = ?",
        (ids_json([number]), user),
    )
    if found is None:
        raise NotFoundError(f"user {user!r} has no parent {number} in {table}")


def _get(connection: Connection, run_id: int, user: str | None) -> SubAgentRun:
    row = connection.one(
        f"SELECT {RUN_COLUMNS} FROM subagent_runs WHERE id IN (SELECT value FROM json_each(?))"
        " AND (? IS NULL OR +user_id = ?)",
        (ids_json([run_id]), user, user),
    )
    if row is None:
        raise NotFoundError(f"there is no sub-agent run {run_id}")
    return run_of(row)


def _step_values(message: SubAgentMessage) -> Row:
    content, raw = content_columns(message.content)
    return (
        message.run_id,
        message.role,
        content,
        raw,
        calls_column(message.tool_calls),
        optional_text(message.tool_call_id),
        optional_text(message.name),
        optional_text(message.reasoning),
        message.token_count,
        optional_to_text(message.timestamp),
        metadata_column(message.metadata),
    )


def _step(row: Row) -> SubAgentMessage:
    number, run_id, role, content, raw, calls, call_id, name, reasoning, tokens, timestamp, metadata = row
    return SubAgentMessage(
        id=number,
        run_id=run_id,
        role=role,
        content=content_of(content, raw),
        tool_calls=calls_of(calls),
        tool_call_id=call_id,
        name=name,
        reasoning=reasoning,
        token_count=tokens,
        timestamp=from_text(timestamp),
        metadata=metadata_of(metadata),
    )


def run_of(row: Row) -> SubAgentRun:
    """Return a row of RUN_COLUMNS as a run."""
    (
        number, user, session, agent, task, parent, parent_run, status, summary, error, tokens, started, ended,
    ) = row  # fmt: skip
    return SubAgentRun(
        id=number,
        user=user,
        session=session,
        agent=agent,
        task=task,
        parent_message_id=parent,
        parent_run_id=parent_run,
        status=status,
        summary=summary,
        error=error,
        tokens=tokens,
        started_at=from_text(started),
        ended_at=optional_from_text(ended),
    )
