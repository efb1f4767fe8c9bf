"""Reading single vectors out of sqlite-vec's tables.

sqlite-vec answers a query for one id in about 30 µs, and a query for several with a scan of the table. It keeps vectors
in chunks, one blob each, and lists in ``<table>_rowids`` which chunk and place a row has; both are plain tables. A
place of a blob is read by SQLite's incremental reading, which follows the blob's pages from its start: 11 µs a vector in
chunks of 32 KB, 126 µs in chunks of 1 MB, less where neighbours are asked for together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from orca.errors import StoreError
from orca.stores.sqlite.connection import Connection, translated
from orca.stores.sqlite.records import ids_json

FLOAT_BYTES = 4


def read_vectors(
    connection: Connection, name: str, ids: Sequence[int], dimensions: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids int64 ``[n]`` of those rows that have a vector in a table, and the vectors float32 ``[n, d]``."""
    places = connection.all(
        f"SELECT chunk_id, chunk_offset, rowid FROM {name}_rowids"
        " WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY chunk_id, chunk_offset",
        (ids_json(ids),),
    )
    size = dimensions * FLOAT_BYTES
    result = bytearray(len(places) * size)
    if places:
        view, end = memoryview(result), 0
        with translated(connection.location):
            blob = connection.raw.blob_open("main", f"{name}_vector_chunks00", "vectors", places[0][0], False)  # noqa: FBT003 -- the driver's own signature
            try:
                for chunk, rows in groupby(places, key=lambda place: place[0]):
                    blob.reopen(chunk)
                    for _, offset, _ in rows:
                        if (offset + 1) * size > blob.length():
                            raise StoreError(f"{connection.location}: a chunk of {name} is too short")
                        blob.seek(offset * size)
                        blob.read_into(view, end, size)
                        end += size
            finally:
                blob.close()
    found = np.array([number for _, _, number in places], dtype=np.int64)
    return found, np.frombuffer(result, dtype="<f4").reshape(len(places), dimensions)


def scope_numbers(connection: Connection, name: str, *, after: int, limit: int) -> dict[int, tuple[int, int]]:
    """Return the numbers of owner and session of the first rows of a table with an id above ``after``.

    Chunks of these columns are 64-bit integers in the processor's own order, which is little-endian everywhere that
    sqlite-vec has wheels for.
    """
    rows = connection.all(
        "SELECT place.rowid, substr(owner.data, 1 + 8 * place.chunk_offset, 8),"
        f" substr(session.data, 1 + 8 * place.chunk_offset, 8) FROM {name}_rowids AS place"
        f" CROSS JOIN {name}_metadatachunks00 AS owner ON owner.rowid = place.chunk_id"
        f" CROSS JOIN {name}_metadatachunks01 AS session ON session.rowid = place.chunk_id"
        " WHERE place.rowid > ? ORDER BY place.rowid LIMIT ?",
        (after, limit),
    )
    return {
        number: (int.from_bytes(owner, "little"), int.from_bytes(session, "little"))
        for number, owner, session in rows
    }
