"""The tables behind the vectors: sqlite-vec's, and plain ones that stand in while sqlite-vec is missing.

``<table>_rowids`` is sqlite-vec's own plain list of a table's ids. It is read here for set operations, which it
answers without the extension and without a scan of the vectors.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Sequence

from orca.errors import StoreError
from orca.stores.sqlite.connection import Connection
from orca.stores.sqlite.records import TABLES, RecordTable, ids_json
from orca.stores.sqlite.vector_codes import (
    BATCH,
    MIN_DIMENSIONS,
    VectorEntry,
    clear_codes,
    forget_codes,
    rebuild_codes,
    store_codes,
)
from orca.types import Record

log = logging.getLogger(__name__)

CHUNK_BYTES = 32_768
"""Bytes of vectors to a chunk. A vector is read, and written, by following the pages of its chunk from the start: at
1,024 dimensions 11 µs in chunks of 8, 126 µs in chunks of 256. A scan of the table takes about the same with either."""

MAX_CHUNK_ROWS = 256

PROBE_TABLE = "temp.orca_vector_probe"


def probe(connection: Connection) -> str | None:
    """Return why vectors cannot be stored and searched through this connection, or None when they can."""
    try:
        connection.run(f"CREATE VIRTUAL TABLE {PROBE_TABLE} USING vec0(embedding FLOAT[2])")
        try:
            vector = struct.pack("2f", 0.6, 0.8)
            connection.run(f"INSERT INTO {PROBE_TABLE}(rowid, embedding) VALUES (1, ?)", (vector,))
            found = connection.all(
                f"SELECT rowid, vec_distance_cosine(embedding, ?) FROM {PROBE_TABLE} WHERE embedding MATCH ? AND k = 1",
                (vector, vector),
            )
        finally:
            connection.run(f"DROP TABLE {PROBE_TABLE}")
    except StoreError as error:
        return f"sqlite-vec does not work ({error})"
    return None if len(found) == 1 else "sqlite-vec does not find what was stored"


def create_tables(connection: Connection, space_id: int, dimensions: int) -> None:
    """Create the vector tables of a space where they are missing."""
    existing = table_names(connection)
    for table in TABLES.values():
        if table.vectors(space_id) not in existing:
            create_table(connection, table, space_id, dimensions)


def create_table(connection: Connection, table: RecordTable, space_id: int, dimensions: int) -> None:
    """Create one vector table."""
    connection.run(
        f"CREATE VIRTUAL TABLE {table.vectors(space_id)} USING vec0({table.vector_key} INTEGER PRIMARY KEY,"
        f" embedding FLOAT[{int(dimensions)}] distance_metric=cosine, owner INTEGER, session INTEGER,"
        f" chunk_size={chunk_rows(dimensions)})"
    )


def chunk_rows(dimensions: int) -> int:
    """Return how many vectors a chunk holds, a multiple of 8 as sqlite-vec asks for."""
    return max(8, min(MAX_CHUNK_ROWS, CHUNK_BYTES // (4 * dimensions) // 8 * 8))


def table_names(connection: Connection) -> set[str]:
    """Return the names of the vector tables that exist."""
    rows = connection.all(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'vec_*'"
        " AND sql LIKE 'CREATE VIRTUAL TABLE%'"
    )
    return {name for (name,) in rows}


def record_tables(connection: Connection, record: Record) -> list[tuple[int, str]]:
    """Return ``(space id, vector table)`` of every space that has a table for this kind of row."""
    existing = table_names(connection)
    spaces = connection.all("SELECT id FROM embedding_spaces ORDER BY id")
    named = [(number, TABLES[record].vectors(number)) for (number,) in spaces]
    return [(number, name) for number, name in named if name in existing]


def held(connection: Connection, record: Record, space_id: int) -> tuple[str, dict[str, int | str]]:
    """Return a query, with its values, for the ids that have a vector in a space, in a table or parked."""
    sql = "SELECT target_id FROM parked_vectors WHERE space_id = :space AND record = :record"
    name = TABLES[record].vectors(space_id)
    if name in table_names(connection):
        sql += (
            f" UNION SELECT rowid FROM {name}_rowids"
            " WHERE rowid NOT IN (SELECT target_id FROM vector_tombstones WHERE space_id = :space AND record = :record)"
        )
    return sql, {"space": space_id, "record": record}


def count_vectors(connection: Connection, record: Record, space_id: int, existing: set[str]) -> int:
    """Return how many rows have a vector in a space."""
    name = TABLES[record].vectors(space_id)
    parked = connection.value("SELECT EXISTS (SELECT 1 FROM parked_vectors)")
    if name in existing and not parked:
        stale = connection.value("SELECT EXISTS (SELECT 1 FROM vector_tombstones)")
        if not stale:
            return int(connection.value(f"SELECT count(*) FROM {name}_rowids"))
    sql, values = held(connection, record, space_id)
    return int(connection.value(f"SELECT count(*) FROM ({sql})", values))


def store_vectors(
    connection: Connection, record: Record, space_id: int, entries: Sequence[VectorEntry], *, park: bool
) -> None:
    """Store vectors, replacing older ones of the same rows; ``park`` keeps them in the plain table."""
    table = TABLES[record]
    name = table.vectors(space_id)
    ids = [entry[0] for entry in entries]
    if park:
        forget_codes(connection, record, ids, space_id)
        _bury(connection, record, ids, [(space_id, name)] if name in table_names(connection) else [])
        connection.many(
            "INSERT OR REPLACE INTO parked_vectors(space_id, record, target_id, embedding, owner, session)"
            f" VALUES ({int(space_id)}, '{record}', ?, ?, ?, ?)",
            entries,
        )
        return
    _delete(connection, name, table.vector_key, ids)
    connection.many(
        f"INSERT INTO {name}({table.vector_key}, embedding, owner, session) VALUES (?, ?, ?, ?)", entries
    )
    store_codes(connection, record, space_id, entries)


def forget_vectors(connection: Connection, record: Record, ids: Sequence[int]) -> None:
    """Remove the vectors of rows in every space; without the extension, as soon as it is back."""
    if not ids:
        return
    connection.run(
        "DELETE FROM parked_vectors WHERE record = ? AND target_id IN (SELECT value FROM json_each(?))",
        (record, ids_json(ids)),
    )
    forget_codes(connection, record, ids)
    tables = record_tables(connection, record)
    if connection.vector_reason is not None:
        _bury(connection, record, ids, tables)
        return
    for _, name in tables:
        _delete(connection, name, TABLES[record].vector_key, ids)


def clear_tables(connection: Connection, space_id: int, dimensions: int) -> int:
    """Remove every vector of a space; return how many went."""
    existing = table_names(connection)
    removed = 0
    for record, table in TABLES.items():
        removed += count_vectors(connection, record, space_id, existing)
        name = table.vectors(space_id)
        if name not in existing:
            continue
        if connection.vector_reason is not None:
            ids = connection.all(f"SELECT rowid FROM {name}_rowids")
            _bury(connection, record, [number for (number,) in ids], [(space_id, name)])
        else:
            connection.run(f"DROP TABLE {name}")
            create_table(connection, table, space_id, dimensions)
    connection.run("DELETE FROM parked_vectors WHERE space_id = ?", (space_id,))
    clear_codes(connection, space_id)
    return removed


def absorb_parked(connection: Connection) -> None:
    """Carry out what waited for the extension: deletions first, then the vectors that came meanwhile."""
    waiting = (
        "SELECT EXISTS (SELECT 1 FROM vector_tombstones) OR EXISTS (SELECT 1 FROM parked_vectors)"
        " OR (SELECT count(*) FROM embedding_spaces) > 0"
    )
    if not connection.value(waiting):
        return
    for number, dimensions in connection.all("SELECT id, dimensions FROM embedding_spaces"):
        create_tables(connection, number, dimensions)
        for record, table in TABLES.items():
            buried = connection.all(
                "SELECT target_id FROM vector_tombstones WHERE space_id = ? AND record = ?", (number, record)
            )
            _delete(connection, table.vectors(number), table.vector_key, [target for (target,) in buried])
            chosen = "parked_vectors WHERE space_id = ? AND record = ?"
            while entries := connection.all(
                f"SELECT target_id, embedding, owner, session FROM {chosen} ORDER BY target_id LIMIT ?",
                (number, record, BATCH),
            ):
                store_vectors(connection, record, number, entries, park=False)
                connection.run(f"DELETE FROM {chosen} AND target_id <= ?", (number, record, entries[-1][0]))
    connection.run("DELETE FROM vector_tombstones")


def rebuild_tables(connection: Connection) -> None:
    """Write every vector table anew, so that no deleted vector is left in a half-empty chunk."""
    for number, dimensions in connection.all("SELECT id, dimensions FROM embedding_spaces"):
        for table in TABLES.values():
            _rebuild_table(connection, table, number, dimensions)


def bring_up_to_date(connection: Connection) -> None:
    """Bring what an older version left to this one's form: the size of chunks, and codes where there are none."""
    existing = table_names(connection)
    for number, dimensions in connection.all("SELECT id, dimensions FROM embedding_spaces"):
        for record, table in TABLES.items():
            name = table.vectors(number)
            if name not in existing or not connection.value(f"SELECT EXISTS (SELECT 1 FROM {name}_rowids)"):
                continue
            written = str(connection.value("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)))
            if f"chunk_size={chunk_rows(dimensions)})" not in written:
                log.info("writing %s in smaller chunks, once", name)
                _rebuild_table(connection, table, number, dimensions)
            if dimensions >= MIN_DIMENSIONS and not connection.value(
                "SELECT EXISTS (SELECT 1 FROM vector_codes WHERE space_id = ? AND record = ?)",
                (number, record),
            ):
                log.info("making the codes of %s, once", name)
                rebuild_codes(connection, record, number, dimensions)


def rebuild_all_codes(connection: Connection) -> int:
    """Make the codes of every vector anew; return how many."""
    existing = table_names(connection)
    return sum(
        rebuild_codes(connection, record, number, dimensions)
        for number, dimensions in connection.all("SELECT id, dimensions FROM embedding_spaces")
        for record, table in TABLES.items()
        if table.vectors(number) in existing
    )


def _rebuild_table(connection: Connection, table: RecordTable, space_id: int, dimensions: int) -> None:
    name = table.vectors(space_id)
    columns = f"{table.vector_key}, embedding, owner, session"
    connection.run(f"CREATE TABLE vector_copy AS SELECT {columns} FROM {name}")
    connection.run(f"DROP TABLE {name}")
    create_table(connection, table, space_id, dimensions)
    connection.run(f"INSERT INTO {name}({columns}) SELECT {columns} FROM vector_copy")
    connection.run("DROP TABLE vector_copy")


def _delete(connection: Connection, name: str, key: str, ids: Sequence[int]) -> None:
    present = connection.all(
        f"SELECT rowid FROM {name}_rowids WHERE rowid IN (SELECT value FROM json_each(?))", (ids_json(ids),)
    )
    if present:
        connection.many(f"DELETE FROM {name} WHERE {key} = ?", present)


def _bury(
    connection: Connection, record: Record, ids: Sequence[int], tables: Sequence[tuple[int, str]]
) -> None:
    for space_id, name in tables:
        connection.run(
            "INSERT OR IGNORE INTO vector_tombstones(space_id, record, target_id)"
            f" SELECT {int(space_id)}, '{record}', rowid FROM {name}_rowids"
            " WHERE rowid IN (SELECT value FROM json_each(?))",
            (ids_json(ids),),
        )
