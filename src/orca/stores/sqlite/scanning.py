"""Keyword search without an index: the newest rows are read and their words counted, until there is one again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from orca.stores._bm25 import best_matches, bm25, counted
from orca.stores.sqlite.connection import Connection
from orca.stores.sqlite.records import RecordTable, ids_json, row_text
from orca.text.analysis import index_terms
from orca.types import KeywordResult, Placements, Scope

SCAN_ROWS = 5_000
"""Without the index a search looks at this many of the newest rows: about half a second of work."""


def scan(
    connection: Connection,
    table: RecordTable,
    terms: Sequence[str],
    *,
    scope: Scope,
    session: str | None,
    limit: int,
    reason: str,
) -> KeywordResult:
    """Search the newest rows of the scope's owner, or of one session; ``reason`` says why."""
    rows = connection.all(
        f"SELECT id, {table.name}, content FROM {table.table}"
        f" WHERE user_id = ? AND agent = ? AND (? IS NULL OR {table.session} = ?) AND {table.live}"
        " ORDER BY id DESC LIMIT ?",
        (scope.user, scope.agent, session, session, SCAN_ROWS),
    )
    ids = np.array([number for number, _, _ in rows], dtype=np.int64)
    lengths, frequencies = _counted([(name, content) for _, name, content in rows], terms)
    spread = np.count_nonzero(frequencies, axis=0)
    average = float(lengths.mean()) if len(rows) else 0.0
    scores = bm25(frequencies, lengths, spread=spread, documents=len(rows), average=average)
    return KeywordResult(
        matches=best_matches(ids, lengths, frequencies, scores, limit=limit),
        document_frequencies=tuple(spread.tolist()),
        documents=len(rows),
        average_length=average,
        degraded=f"{reason}; the newest {SCAN_ROWS} rows were scanned instead",
    )


def scan_around(
    connection: Connection, ids: Sequence[int], *, scope: Scope, radius: int, terms: Sequence[str]
) -> Placements:
    """Return the messages of the scope's owner within ``radius`` positions of the given ones, in order of id."""
    rows = connection.all(
        # Each given row is looked up in a query of its own, by primary key whatever the planner's statistics.
        "WITH given AS MATERIALIZED (SELECT"
        " (SELECT position FROM main_messages WHERE id = value) AS position, (SELECT session_id"
        " FROM main_messages WHERE id = value AND user_id = :user AND agent = :agent) AS session_id"
        " FROM json_each(:ids))"
        " SELECT DISTINCT near.id, near.session_id, near.position, near.name, near.content"
        " FROM given CROSS JOIN main_messages AS near ON near.user_id = :user"
        " AND near.session_id = given.session_id AND near.agent = :agent"
        " AND near.position BETWEEN given.position - :radius AND given.position + :radius"
        " ORDER BY near.id",
        {"ids": ids_json(ids), "radius": radius, "user": scope.user, "agent": scope.agent},
    )
    numbers: dict[str, int] = {}
    lengths, frequencies = _counted([(name, content) for *_, name, content in rows], terms)
    return Placements(
        ids=np.array([row[0] for row in rows], dtype=np.int64),
        sessions=np.array([numbers.setdefault(row[1], len(numbers)) for row in rows], dtype=np.int64),
        positions=np.array([row[2] for row in rows], dtype=np.int64),
        lengths=lengths,
        characters=np.array([len(row[4] or "") for row in rows], dtype=np.int64),
        frequencies=frequencies,
    )


def _counted(rows: Sequence[tuple[str | None, str]], terms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    return counted([Counter(index_terms(row_text(name, content))) for name, content in rows], terms)
