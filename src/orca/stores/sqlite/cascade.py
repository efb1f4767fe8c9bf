"""Deleting rows with all that hangs on them, in the caller's transaction.

SQLite's own cascades do not reach virtual tables, JSON lists or jobs, so every deletion goes through here.
"""

from __future__ import annotations

from collections.abc import Sequence

from orca.stores.sqlite.connection import Connection
from orca.stores.sqlite.fts import KeywordIndex
from orca.stores.sqlite.jobs import remove_jobs
from orca.stores.sqlite.records import TABLES, ids_json
from orca.stores.sqlite.vector_tables import forget_vectors
from orca.types import Record

_LISTED = "IN (SELECT value FROM json_each(:ids))"


def column(connection: Connection, sql: str, values: dict[str, object]) -> list[int]:
    """Return the first column of a query as integers."""
    return [int(row[0]) for row in connection.all(sql, values)]


def leave_indexes(connection: Connection, record: Record, ids: Sequence[int]) -> None:
    """Take rows out of keyword index, vectors and jobs; the rows stay."""
    if ids:
        KeywordIndex(record).remove(connection, ids)
        forget_vectors(connection, record, ids)
        remove_jobs(connection, record, ids)


def delete_rows(connection: Connection, record: Record, ids: Sequence[int]) -> int:
    """Delete rows of one kind with their index entries; return how many went."""
    if not ids:
        return 0
    leave_indexes(connection, record, ids)
    return connection.run(f"DELETE FROM {TABLES[record].table} WHERE id {_LISTED}", {"ids": ids_json(ids)})


def delete_messages(connection: Connection, ids: Sequence[int], *, user: str) -> dict[str, int]:
    """Delete messages of a user with the summaries, memories and runs made from them; return counts by kind."""
    counts = {"summaries": 0, "memories": 0, "subagent_runs": 0, "subagent_messages": 0}
    if ids:
        values: dict[str, object] = {"ids": ids_json(ids), "user": user}
        runs = column(
            connection,
            "WITH RECURSIVE gone(id) AS ("
            f" SELECT id FROM subagent_runs WHERE parent_message_id {_LISTED}"
            " UNION SELECT run.id FROM subagent_runs AS run JOIN gone ON run.parent_run_id = gone.id)"
            " SELECT id FROM gone",
            {"ids": values["ids"]},
        )
        counts |= delete_runs(connection, runs)
        summaries = column(
            connection,
            "SELECT DISTINCT summary.id FROM short_term_memories AS summary,"
            f" json_each(summary.source_message_ids) AS source WHERE summary.user_id = :user AND source.value {_LISTED}",
            values,
        )
        counts["summaries"] = delete_rows(connection, "summary", summaries)
        counts["memories"] = _drop_sources(connection, values)
    counts["messages"] = delete_rows(connection, "message", ids)
    return counts


def delete_runs(connection: Connection, ids: Sequence[int]) -> dict[str, int]:
    """Delete sub-agent runs with their traces; return counts by kind."""
    values = {"ids": ids_json(ids)}
    messages = connection.run(f"DELETE FROM subagent_messages WHERE run_id {_LISTED}", values)
    runs = connection.run(f"DELETE FROM subagent_runs WHERE id {_LISTED}", values)
    return {"subagent_runs": runs, "subagent_messages": messages}


def delete_memories(connection: Connection, ids: Sequence[int]) -> int:
    """Delete versions of memories and close the gaps that they leave in the chains of versions."""
    if not ids:
        return 0
    values = {"ids": ids_json(ids)}
    skip = (
        "UPDATE long_term_memories SET superseded_by = (SELECT next.superseded_by FROM long_term_memories AS next"
        f" WHERE next.id = long_term_memories.superseded_by) WHERE superseded_by {_LISTED} AND id NOT {_LISTED}"
    )
    while connection.run(skip, values):  # a step over each deleted version in a row
        pass
    roots = column(
        connection, f"SELECT DISTINCT root_id FROM long_term_memories WHERE id {_LISTED}", dict(values)
    )
    deleted = delete_rows(connection, "memory", ids)
    connection.run(
        "UPDATE long_term_memories SET root_id = (SELECT min(version.id) FROM long_term_memories AS version"
        f" WHERE version.root_id = long_term_memories.root_id) WHERE root_id {_LISTED}",
        {"ids": ids_json(roots)},
    )
    return deleted


def forget_sources(connection: Connection, ids: Sequence[int], *, user: str) -> None:
    """Delete the summaries of the messages that memories came from, and mark these messages as forgotten."""
    values: dict[str, object] = {"user": user}
    sources = column(
        connection,
        "SELECT DISTINCT source.value FROM long_term_memories AS memory, json_each(memory.source_message_ids) AS source"
        f" WHERE memory.user_id = :user AND memory.id {_LISTED}",
        {**values, "ids": ids_json(ids)},
    )
    values["ids"] = ids_json(sources)
    summaries = column(
        connection,
        "SELECT DISTINCT summary.id FROM short_term_memories AS summary,"
        f" json_each(summary.source_message_ids) AS source WHERE summary.user_id = :user AND source.value {_LISTED}",
        values,
    )
    delete_rows(connection, "summary", summaries)
    connection.run(
        "UPDATE main_messages SET metadata = json_set(coalesce(metadata, '{}'), '$.forgotten', json('true'))"
        f" WHERE user_id = :user AND id {_LISTED}",
        values,
    )


def _drop_sources(connection: Connection, values: dict[str, object]) -> int:
    """Delete the memories that were made from these messages alone, and take the ids out of the others."""
    touched = connection.all(
        "SELECT memory.id, count(*) FILTER (WHERE source.value NOT IN (SELECT value FROM json_each(:ids)))"
        " FROM long_term_memories AS memory, json_each(memory.source_message_ids) AS source"
        " WHERE memory.user_id = :user GROUP BY memory.id"
        f" HAVING count(*) FILTER (WHERE source.value {_LISTED}) > 0",
        values,
    )
    orphans = [number for number, left in touched if not left]
    others = [number for number, left in touched if left]
    if others:
        connection.run(
            "UPDATE long_term_memories SET source_message_ids = (SELECT json_group_array(source.value)"
            " FROM json_each(long_term_memories.source_message_ids) AS source"
            f" WHERE source.value NOT {_LISTED})"
            " WHERE id IN (SELECT value FROM json_each(:others))",
            {"ids": values["ids"], "others": ids_json(others)},
        )
    return delete_memories(connection, orphans)
