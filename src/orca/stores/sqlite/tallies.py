"""How many rows there are: figures that triggers keep (see schema.sql), so that nobody walks the rows for them."""

from __future__ import annotations

from orca.health import Backlog, Check
from orca.stores.sqlite.connection import Connection

WAITING = "waiting"
"""The reason of a job that has not failed yet."""

COUNTED = {
    "sessions": "sessions",
    "messages": "main_messages",
    "summaries": "short_term_memories",
    "memories": "long_term_memories",
    "subagent_runs": "subagent_runs",
    "subagent_messages": "subagent_messages",
    "jobs": "jobs",
}
"""Kinds of rows and their tables, as counts name them."""

_PARTS = {
    **{kind: (table, "''") for kind, table in COUNTED.items()},
    "days": ("main_messages", "coalesce(substr(timestamp, 1, 10), '')"),
    "session_messages": ("main_messages", "session_id"),
    "session_summaries": ("short_term_memories", "session_id"),
    "reasons": ("jobs", "kind || ':' || coalesce(last_error, '')"),
}
"""Kinds of tallies: the table that is counted, and into which parts."""

_COUNT_ALL = " UNION ALL ".join(
    f"SELECT '{kind}' AS kind, user_id, {part} AS part, count(*) AS rows FROM {table} GROUP BY 2, 3"
    for kind, (table, part) in _PARTS.items()
)

_WATCHED = {
    "session": ("sessions",),
    "message": ("messages",),
    "summary": ("summaries",),
    "memory": ("memories",),
    "run": ("subagent_runs", "subagent_messages"),
    "job": ("jobs",),
}
"""Kinds of rows as watchers name them, and the tallies that tell of a change."""


def counts(connection: Connection, user: str | None = None) -> dict[str, int]:
    """Return the number of rows by kind, of one user or of all."""
    owned = "" if user is None else " AND user_id = :user"
    rows: dict[str, int] = dict(
        connection.all(
            f"SELECT kind, sum(rows) FROM tallies WHERE kind IN ({_names(COUNTED)}) AND part = ''{owned}"
            " GROUP BY kind",
            {"user": user},
        )
    )
    return {kind: int(rows.get(kind, 0)) for kind in COUNTED}


def marks(connection: Connection, user: str) -> dict[str, str]:
    """Return a text for each kind of row that is another one when the user's rows of that kind have changed."""
    changes: dict[str, str] = dict(
        connection.all(
            "SELECT kind, changes || '/' || rows FROM tallies"
            f" WHERE kind IN ({_names(COUNTED)}) AND user_id = ? AND part = ''",
            (user,),
        )
    )
    return {name: " ".join(changes.get(kind, "") for kind in kinds) for name, kinds in _WATCHED.items()}


def days(connection: Connection, user: str, since: str) -> list[tuple[str, int]]:
    """Return days from ``since`` on (``YYYY-MM-DD``) with the number of the user's messages of each."""
    return [
        (day, int(rows))
        for day, rows in connection.all(
            "SELECT part, rows FROM tallies WHERE kind = 'days' AND user_id = ? AND part >= ? ORDER BY part",
            (user, since),
        )
    ]


def backlog(connection: Connection, user: str | None = None) -> list[Backlog]:
    """Return the jobs that are not done, grouped by kind and reason, of one user or of all."""
    owned = "" if user is None else " AND user_id = :user"
    rows = connection.all(
        f"SELECT part, sum(rows) FROM tallies WHERE kind = 'reasons'{owned} GROUP BY part", {"user": user}
    )
    found = []
    for part, count in rows:
        kind, _, reason = part.partition(":")
        found.append(Backlog(kind=kind, reason=reason or WAITING, count=int(count)))
    return sorted(found, key=lambda group: (group.kind, group.reason))


def forget(connection: Connection, user: str) -> None:
    """Drop the tallies of a user whose rows are gone: they hold the user's name."""
    connection.run("DELETE FROM tallies WHERE user_id = ?", (user,))


def recount(connection: Connection) -> None:
    """Count every row anew."""
    connection.run(
        f"UPDATE tallies SET rows = 0; INSERT INTO tallies(kind, user_id, part, rows) {_COUNT_ALL}"
        " ON CONFLICT DO UPDATE SET rows = excluded.rows, changes = changes + 1;"
        f" DELETE FROM tallies WHERE rows = 0 AND kind NOT IN ({_names(COUNTED)})"
    )


def check(connection: Connection) -> Check:
    """Compare every tally with the rows."""
    wrong = connection.all(
        f"WITH counted AS MATERIALIZED ({_COUNT_ALL}), kept AS (SELECT kind, user_id, part, rows FROM tallies"
        " WHERE rows <> 0) SELECT kind FROM (SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept)"
        " UNION SELECT * FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted))"
    )
    kinds = sorted({kind for (kind,) in wrong})
    return Check(
        name="tallies",
        ok=not wrong,
        detail=f"wrong for {', '.join(kinds)}; orca reindex counts anew" if wrong else "agree with the rows",
    )


def _names(kinds: dict[str, str]) -> str:
    return ", ".join(f"'{kind}'" for kind in kinds)
