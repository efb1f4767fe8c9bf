"""The stored codes of vectors: written with each vector, removed with it, and read into memory at the first search.

A row of ``vector_codes`` holds the numbers of the owner and of the session as 64-bit integers, the code's scale as a
32-bit float, all little-endian, and the code itself (see ``orca.stores._quantizer``). Triggers write down in
``vector_changes`` which rows changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np

from orca.errors import StoreError
from orca.stores._code_index import Entries
from orca.stores._quantizer import Quantizer
from orca.stores.sqlite.connection import Connection, Row
from orca.stores.sqlite.records import TABLES, ids_json
from orca.stores.sqlite.vector_reads import read_vectors, scope_numbers
from orca.types import Record

MIN_DIMENSIONS = 64
"""Narrower vectors have no codes: an estimate would err by .03 and more, and a scan of them is quick."""

BATCH = 8_192
"""Rows that are read or made at a time: about 1.3 MB of codes, 32 MB of vectors."""

KEPT_CHANGES = 65_536
"""Entries of ``vector_changes`` that are kept. Who missed more than these reads all codes anew, in about the time."""

WHOLE_LANE = 0
"""The id that stands in ``vector_changes`` for every row of a lane; rows are numbered from 1."""

VectorEntry = tuple[int, bytes, int, int]
"""A row's id, its vector as float32 bytes, and the numbers of its owner and of its session."""


class WrongCodesError(StoreError):
    """The codes of vectors do not agree with the vectors."""


@lru_cache(maxsize=16)
def quantizer(dimensions: int) -> Quantizer:
    """Return what makes codes of vectors of a width."""
    return Quantizer(dimensions)


@lru_cache(maxsize=16)
def _layout(code_bytes: int) -> np.dtype[np.void]:
    return np.dtype(
        [("owner", "<i8"), ("session", "<i8"), ("scale", "<f4"), ("code", np.uint8, (code_bytes,))]
    )


def store_codes(
    connection: Connection, record: Record, space_id: int, entries: Sequence[VectorEntry]
) -> None:
    """Make and store the codes of vectors, in place of older ones of the same rows."""
    if not entries or len(entries[0][1]) // 4 < MIN_DIMENSIONS:
        return
    rows = _coded(entries)
    raw, width = rows.tobytes(), rows.dtype.itemsize
    connection.many(
        "INSERT OR REPLACE INTO vector_codes(space_id, record, target_id, code)"
        f" VALUES ({int(space_id)}, '{record}', ?, ?)",
        ((entry[0], raw[place * width : (place + 1) * width]) for place, entry in enumerate(entries)),
    )
    forget_old_changes(connection)


def forget_codes(
    connection: Connection, record: Record, ids: Sequence[int], space_id: int | None = None
) -> None:
    """Remove the codes of rows, in one space or in all of them."""
    connection.run(
        "DELETE FROM vector_codes WHERE space_id IN (SELECT id FROM embedding_spaces WHERE ?1 IS NULL OR id = ?1)"
        " AND record = ?2 AND target_id IN (SELECT value FROM json_each(?3))",
        (space_id, record, ids_json(ids)),
    )
    forget_old_changes(connection)


def clear_codes(connection: Connection, space_id: int) -> None:
    """Remove every code of a space."""
    connection.run("DELETE FROM vector_codes WHERE space_id = ?", (space_id,))
    _tell_all_changed(connection, space_id)


def rebuild_codes(connection: Connection, record: Record, space_id: int, dimensions: int) -> int:
    """Make the codes of a kind of row anew from its stored vectors; return how many."""
    connection.run("DELETE FROM vector_codes WHERE space_id = ? AND record = ?", (space_id, record))
    if dimensions < MIN_DIMENSIONS:
        return 0
    made = 0
    for vectors in stored_vectors(connection, record, space_id, dimensions):
        store_codes(connection, record, space_id, vectors)
        made += len(vectors)
    _tell_all_changed(connection, space_id)
    return made


def stored_vectors(
    connection: Connection, record: Record, space_id: int, dimensions: int
) -> Iterator[list[VectorEntry]]:
    """Yield every stored vector of a kind of row in a space, in batches in order of id."""
    name = TABLES[record].vectors(space_id)
    last = -1
    while True:
        scopes = scope_numbers(connection, name, after=last, limit=BATCH)
        if not scopes:
            return
        last = max(scopes)
        found, vectors = read_vectors(connection, name, list(scopes), dimensions)
        rows = zip(found.tolist(), vectors, strict=True)
        yield sorted((number, vector.tobytes(), *scopes[number]) for number, vector in rows)


def newest_change(connection: Connection) -> int:
    """Return the number of the last change of any code."""
    return int(connection.value("SELECT max(seq) FROM vector_changes") or 0)


def changed_since(connection: Connection, seq: int, record: Record, space_id: int) -> list[int] | None:
    """Return the ids of a lane's rows that changed after a change; None when all may have changed."""
    oldest = connection.value("SELECT min(seq) FROM vector_changes")
    if oldest is not None and oldest > seq + 1:
        return None
    rows = connection.all(
        "SELECT DISTINCT target_id FROM vector_changes WHERE seq > ? AND space_id = ? AND record = ?",
        (seq, space_id, record),
    )
    ids = [number for (number,) in rows]
    return None if WHOLE_LANE in ids else ids


def read_codes(
    connection: Connection, record: Record, space_id: int, dimensions: int, ids: Sequence[int] | None = None
) -> Iterator[Entries]:
    """Yield the codes of a lane in order of id, or those of some of its rows. Raises ``WrongCodesError``."""
    kind = _layout(quantizer(dimensions).code_bytes)
    chosen = "" if ids is None else " AND target_id IN (SELECT value FROM json_each(?))"
    rows = connection.iterate(
        f"SELECT target_id, code FROM vector_codes WHERE space_id = ? AND record = ?{chosen} ORDER BY target_id",
        (space_id, record) if ids is None else (space_id, record, ids_json(ids)),
    )
    while batch := list(islice(rows, BATCH)):
        yield _entries(batch, kind)


def check_codes(
    connection: Connection, record: Record, space_id: int, dimensions: int
) -> tuple[int, int, int]:
    """Return how many codes there are, how many vectors lack theirs or have a wrong one, and how many codes are left over."""
    coder = quantizer(dimensions)
    stored = "SELECT target_id FROM vector_codes WHERE space_id = ? AND record = ?"
    total = int(connection.value(f"SELECT count(*) FROM ({stored})", (space_id, record)))
    over = f" WHERE target_id NOT IN (SELECT rowid FROM {TABLES[record].vectors(space_id)}_rowids)"
    extra = int(connection.value(f"SELECT count(*) FROM ({stored}){over}", (space_id, record)))
    buried = {
        number
        for (number,) in connection.all(
            "SELECT target_id FROM vector_tombstones WHERE space_id = ? AND record = ?", (space_id, record)
        )
    }
    wrong = 0
    for batch in stored_vectors(connection, record, space_id, dimensions):
        vectors = [entry for entry in batch if entry[0] not in buried]
        held: dict[int, object] = dict(
            connection.all(
                "SELECT target_id, code FROM vector_codes WHERE space_id = ? AND record = ?"
                " AND target_id BETWEEN ? AND ?",
                (space_id, record, batch[0][0], batch[-1][0]),
            )
        )
        made = _coded(vectors) if vectors else ()
        wrong += sum(
            not _agree(held.get(entry[0]), row, coder) for entry, row in zip(vectors, made, strict=True)
        )
    return total, wrong, extra


SAME_BITS = 0.99
"""Share of bits that a code has in common with the same code made on another processor, where a number close to the
edge between two levels may be rounded to the other side."""


def _coded(entries: Sequence[VectorEntry]) -> np.ndarray:
    """Return the rows of ``vector_codes`` for vectors of one width."""
    vectors = np.frombuffer(b"".join(entry[1] for entry in entries), dtype="<f4").reshape(len(entries), -1)
    coder = quantizer(vectors.shape[1])
    rows = np.zeros(len(entries), dtype=_layout(coder.code_bytes))
    rows["owner"] = [entry[2] for entry in entries]
    rows["session"] = [entry[3] for entry in entries]
    rows["code"], rows["scale"] = coder.encode(vectors)
    return rows


def _agree(stored: object, made: np.void, coder: Quantizer) -> bool:
    if not isinstance(stored, bytes) or len(stored) != made.dtype.itemsize:
        return False
    row = np.frombuffer(stored, dtype=made.dtype)[0]
    if row["owner"] != made["owner"] or row["session"] != made["session"]:
        return False
    apart = int(np.bitwise_count(row["code"] ^ made["code"]).sum())
    same_bits = apart <= (1 - SAME_BITS) * coder.planes * coder.dimensions
    return same_bits and bool(np.isclose(row["scale"], made["scale"], rtol=1 - SAME_BITS))


def _entries(rows: Sequence[Row], kind: np.dtype[np.void]) -> Entries:
    if any(not isinstance(code, bytes) or len(code) != kind.itemsize for _, code in rows):
        raise WrongCodesError("a code of a vector has the wrong length")
    values = np.frombuffer(b"".join(code for _, code in rows), dtype=kind)
    return Entries(
        ids=np.array([number for number, _ in rows], dtype=np.int64),
        owners=values["owner"],
        sessions=values["session"],
        codes=values["code"],
        scales=values["scale"],
    )


def _tell_all_changed(connection: Connection, space_id: int) -> None:
    connection.many(
        "INSERT INTO vector_changes(space_id, record, target_id) VALUES (?, ?, ?)",
        [(space_id, record, WHOLE_LANE) for record in TABLES],
    )
    forget_old_changes(connection)


def forget_old_changes(connection: Connection) -> None:
    """Keep the newest entries of the list of changes."""
    connection.run(
        "DELETE FROM vector_changes WHERE seq <= (SELECT max(seq) FROM vector_changes) - ?", (KEPT_CHANGES,)
    )
