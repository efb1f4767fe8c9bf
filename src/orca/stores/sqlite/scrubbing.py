"""Rewriting a database file so that nothing deleted is left in it, and looking whether that is so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from orca.errors import StoreError
from orca.health import Check
from orca.stores.sqlite import transfer
from orca.stores.sqlite.connection import Database
from orca.stores.sqlite.fts import KeywordIndex
from orca.stores.sqlite.vector_tables import rebuild_tables
from orca.text.traces import found_in, pieces_of

ENDINGS = ("", "-wal", "-shm", "-journal")
"""A database and the files that SQLite keeps beside it."""

OUT_OF_SCOPE = "backups, exports and copies made before are not looked at"


def scrub(database: Database, indexes: Sequence[KeywordIndex], *, vectors: bool) -> None:
    """Merge the keyword indexes, build the vector tables anew, rewrite the file and empty the log.

    Deletions overwrite what they delete already (``PRAGMA secure_delete``); this takes the copies that pages, index
    segments, vector chunks and the log keep. Raises ``StoreError`` when another connection holds the log.
    """
    with database.write() as connection:
        for index in indexes:
            index.optimize(connection)
        if vectors:
            rebuild_tables(connection)
    with database.exclusive() as connection:
        connection.run("VACUUM")
        row = connection.one("PRAGMA wal_checkpoint(TRUNCATE)")
    if row is not None and row[0]:
        raise StoreError(f"{database.location}: the log is in use by another connection; scrub again later")


def check_files(database: Database, texts: Collection[str]) -> list[Check]:
    """Look for texts in the database's files; what the rows that stay hold as well is no trace of them."""
    if database.in_memory:
        return [Check(name="file traces", ok=True, detail="in memory: there are no files")]
    with database.read() as connection:
        free = int(connection.value("PRAGMA freelist_count"))
    checks = [Check(name="free pages", ok=free == 0, detail=f"{free} pages that could hold old text")]
    pieces = pieces_of(texts)
    files = [database.path.with_name(database.path.name + ending) for ending in ENDINGS]
    found = {path: found_in(path, pieces) for path in files if path.exists()}
    living = _living(database, set().union(*found.values()) if found else set())
    for path, hits in found.items():
        traces = hits - living
        detail = f"{len(traces)} of {len(pieces)} pieces of deleted text found; {OUT_OF_SCOPE}"
        checks.append(Check(name=f"traces in {Path(path).name}", ok=not traces, detail=detail))
    return checks


def _living(database: Database, pieces: set[bytes]) -> set[bytes]:
    """Return those of the pieces that rows still hold."""
    if not pieces:
        return set()
    living: set[bytes] = set()
    for _, row in transfer.export_rows(database):
        for value in row.values():
            if isinstance(value, str):
                raw = value.encode("utf-8", "replace")
                living |= {piece for piece in pieces if piece in raw}
    return living
