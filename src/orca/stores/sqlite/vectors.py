"""Vectors in sqlite-vec tables, one per embedding space and kind of row, and parked when sqlite-vec is missing.

A vector and its code carry two integers that stand for the row's owner and session, so that the scope acts inside
the nearest-neighbour search and not after it. Rows found are compared with their scope exactly. The codes are searched
(``nearest.py``); where they cannot be, sqlite-vec scans every vector.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from orca.errors import EmbeddingSpaceMismatchError, StoreError
from orca.health import SpaceStatus
from orca.protocols import Clock
from orca.stores._code_index import ScopeColumn
from orca.stores.sqlite.code_lanes import CodeLanes
from orca.stores.sqlite.connection import Connection, Database
from orca.stores.sqlite.jobs import add_missing_embeddings
from orca.stores.sqlite.nearest import Nearest, living, scan
from orca.stores.sqlite.records import TABLES, ids_json, scope_number, sql_limit
from orca.stores.sqlite.vector_tables import (
    absorb_parked,
    bring_up_to_date,
    clear_tables,
    count_vectors,
    create_tables,
    held,
    probe,
    rebuild_all_codes,
    store_vectors,
    table_names,
)
from orca.text.times import to_text
from orca.types import EmbeddingSpace, Record, Scope

log = logging.getLogger(__name__)


class SQLiteVectors:
    """The vector facet. See ``orca.protocols.VectorStore``."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lanes = CodeLanes(database)
        with database.exclusive() as connection:
            self._reason = connection.vector_reason or probe(connection)
            # An extension that loads and does not work is as good as none, on this and every later connection.
            connection.vector_reason = database.vector_reason = self._reason
        if self._reason is not None:
            log.warning("vectors are off: %s", self._reason)
        elif not database.read_only:
            with database.write() as connection:
                absorb_parked(connection)
                bring_up_to_date(connection)
        with database.read() as connection:
            row = connection.one("SELECT id, dimensions FROM embedding_spaces WHERE current")
        self._space: tuple[int, int] | None = None if row is None else (row[0], row[1])

    @property
    def available(self) -> bool:
        """Whether vectors can be searched right now; proven by a query when the store was opened."""
        return self._reason is None

    @property
    def reason(self) -> str | None:
        """Why vectors are off, in words, or None."""
        return self._reason

    @property
    def notice(self) -> str | None:
        """Why a search scans every vector although there should be codes, in words, or None."""
        return self._lanes.reason

    @property
    def space(self) -> EmbeddingSpace | None:
        """The current space as the store knows it now (another process may change it), or None before any."""
        with self._database.read() as connection:
            row = connection.one(
                "SELECT provider, model, dimensions, query_prefix, document_prefix FROM embedding_spaces WHERE current"
            )
        if row is None:
            return None
        provider, model, dimensions, query_prefix, document_prefix = row
        return EmbeddingSpace(
            provider=provider,
            model=model,
            dimensions=dimensions,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )

    def use_space(self, space: EmbeddingSpace) -> None:
        """Make a space current. Quick when it is current already."""
        if self._database.read_only:
            with self._database.read() as connection:
                number = connection.value("SELECT id FROM embedding_spaces WHERE key = ?", (space.key,))
            self._space = None if number is None else (number, space.dimensions)
            return
        now = to_text(self._clock.now())
        with self._database.write() as connection:
            connection.run(
                "INSERT OR IGNORE INTO embedding_spaces(key, provider, model, dimensions, query_prefix,"
                " document_prefix, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    space.key,
                    space.provider,
                    space.model,
                    space.dimensions,
                    space.query_prefix,
                    space.document_prefix,
                    now,
                ),
            )
            row = connection.one("SELECT id, current FROM embedding_spaces WHERE key = ?", (space.key,))
            if row is None:
                raise StoreError(f"{self._database.location}: the embedding space was not stored")
            number, current = row
            if self.available:
                create_tables(connection, number, space.dimensions)
            if not current:
                connection.run("UPDATE embedding_spaces SET current = (id = ?)", (number,))
                for record in TABLES:
                    _recompute_flags(connection, record, number)
                # What one model's provider refused or could not do says nothing about the next one.
                connection.run(
                    "UPDATE jobs SET run_after = ?, attempts = 0, last_error = NULL"
                    " WHERE kind = 'embed' AND lease_owner IS NULL",
                    (now,),
                )
            for record in TABLES:
                add_missing_embeddings(connection, record, now=now)
        self._space = (number, space.dimensions)

    def clear(self) -> int:
        """Drop every vector of the current space, so that all rows are embedded anew; return how many went."""
        with self._database.write() as connection:
            row = connection.one("SELECT id, dimensions FROM embedding_spaces WHERE current")
            if row is None:
                return 0
            removed = clear_tables(connection, *row)
            for record in TABLES:
                _recompute_flags(connection, record, row[0])
                add_missing_embeddings(connection, record, now=to_text(self._clock.now()))
        return removed

    def spaces(self) -> list[SpaceStatus]:
        """Return every space that the store knows, with its numbers of vectors."""
        with self._database.snapshot() as connection:
            names = table_names(connection)
            return [
                SpaceStatus(
                    key=key,
                    dimensions=dimensions,
                    current=bool(current),
                    vectors={record: count_vectors(connection, record, number, names) for record in TABLES},
                )
                for number, key, dimensions, current in connection.all(
                    "SELECT id, key, dimensions, current FROM embedding_spaces ORDER BY id"
                )
            ]

    def save_embedding(self, record: Record, ids: Sequence[int], vectors: np.ndarray) -> int:
        """Store unit vectors for rows that still exist; return how many were stored."""
        if self._space is None:
            raise EmbeddingSpaceMismatchError("no embedding space is in use; call use_space first")
        number, dimensions = self._space
        checked = unit_vectors(vectors, dimensions)
        if len(checked) != len(ids):
            raise ValueError(f"{len(ids)} ids were given with {len(checked)} vectors")
        by_id = {int(target): checked[index].tobytes() for index, target in enumerate(ids)}
        table = TABLES[record]
        with self._database.write() as connection:
            rows = connection.all(
                f"SELECT id, user_id, agent, {table.session} FROM {table.table}"
                f" WHERE id IN (SELECT value FROM json_each(?)) AND {table.live}",
                (ids_json(by_id),),
            )
            entries = [
                (target, by_id[target], scope_number(user, agent), scope_number(user, agent, session))
                for target, user, agent, session in rows
            ]
            store_vectors(connection, record, number, entries, park=not self.available)
            connection.run(
                f"UPDATE {table.table} SET has_embedding = TRUE WHERE id IN (SELECT value FROM json_each(?))"
                " AND EXISTS (SELECT 1 FROM embedding_spaces WHERE id = ? AND current)",
                (ids_json(row[0] for row in rows), number),
            )
        return len(entries)

    def search_similar(
        self, record: Record, query: np.ndarray, *, scope: Scope, limit: int, across_sessions: bool = True
    ) -> list[tuple[int, float]]:
        """Return ``(id, cosine similarity)`` of the ``limit`` nearest rows of the scope, best first."""
        sql_limit(limit)
        if not (self.available and self._space and limit):
            return []
        number, dimensions = self._space
        vector = unit_vectors(query, dimensions)[0]
        one_session = record == "summary" or (record == "message" and not across_sessions)
        column: ScopeColumn = "session" if one_session else "owner"
        parts = (scope.user, scope.agent, scope.session) if one_session else (scope.user, scope.agent)
        with self._database.snapshot() as connection:
            nearest = Nearest(self._lanes, connection, (number, record, dimensions), vector)
            found = nearest.search(column, scope_number(*parts), limit)
            if found is None:
                name = TABLES[record].vectors(number)
                found = scan(
                    connection, name, TABLES[record].vector_key, vector, column, scope_number(*parts), limit
                )
            return living(connection, record, found, scope=scope, one_session=one_session)

    def similarities(self, record: Record, ids: Sequence[int], query: np.ndarray) -> list[tuple[int, float]]:
        """Return ``(id, cosine similarity)`` of those of the given rows that have a vector, in order of id."""
        if not (self.available and self._space):
            return []
        number, dimensions = self._space
        vector = unit_vectors(query, dimensions)[0]
        with self._database.snapshot() as connection:
            nearest = Nearest(self._lanes, connection, (number, record, dimensions), vector)
            return sorted(nearest.similarities(ids))

    def rebuild_codes(self) -> int:
        """Make the codes of every vector anew; return how many. Nothing without the extension."""
        if not self.available:
            return 0
        with self._database.write() as connection:
            return rebuild_all_codes(connection)

    def forget_codes(self) -> None:
        """Let go of the codes in memory, those of deleted rows among them; the next search reads what is stored."""
        self._lanes.forget()


def unit_vectors(vectors: np.ndarray, dimensions: int) -> np.ndarray:
    """Return vectors as float32 ``[n, dimensions]`` of unit length.

    sqlite-vec takes zero and infinite vectors and ranks them by nonsense, so they are refused here: raises
    ``EmbeddingSpaceMismatchError`` on a wrong width, ``ValueError`` on a vector that has no direction.
    """
    matrix = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
    if matrix.ndim != 2 or (matrix.size and matrix.shape[1] != dimensions):
        width = matrix.shape[-1]
        raise EmbeddingSpaceMismatchError(
            f"the embedding space has {dimensions} dimensions, the vector {width}; run `orca reindex` after a change of model"
        )
    if not matrix.size:
        return np.empty((0, dimensions), dtype=np.float32)
    if not np.isfinite(matrix).all():
        raise ValueError("a vector holds NaN or infinity")
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not norms.all():
        raise ValueError("a vector is zero")
    return np.ascontiguousarray(matrix / norms, dtype=np.float32)


def _recompute_flags(connection: Connection, record: Record, space_id: int) -> None:
    """Set ``has_embedding`` by the vectors of a space, and drop the embedding jobs of rows that have one."""
    table = TABLES[record]
    holders, values = held(connection, record, space_id)
    connection.run(
        f"UPDATE {table.table} SET has_embedding = TRUE WHERE NOT has_embedding AND id IN ({holders})", values
    )
    connection.run(
        f"UPDATE {table.table} SET has_embedding = FALSE WHERE has_embedding AND id NOT IN ({holders})",
        values,
    )
    connection.run(
        f"DELETE FROM jobs WHERE kind = 'embed' AND record = '{record}' AND target_id IN ({holders})", values
    )
