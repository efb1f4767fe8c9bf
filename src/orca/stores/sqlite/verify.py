"""Checks that everything in the file agrees with everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orca.errors import StoreError
from orca.health import Check
from orca.stores.sqlite import tallies
from orca.stores.sqlite.connection import Connection, Database
from orca.stores.sqlite.fts import KeywordIndex
from orca.stores.sqlite.records import TABLES, RecordTable
from orca.stores.sqlite.vector_codes import MIN_DIMENSIONS, check_codes
from orca.stores.sqlite.vector_tables import held, record_tables

SHOWN = 3
"""How many findings of one check are named."""


_WRONG_TOTALS = (
    "WITH counted AS (SELECT place >> 22 AS number, count(*) AS documents, sum(length) AS terms FROM {terms} GROUP BY 1),"
    " wanted AS (SELECT * FROM counted UNION ALL SELECT number >> 22 << 22, sum(documents), sum(terms) FROM counted"
    " GROUP BY 1) SELECT (SELECT count(*) FROM wanted LEFT JOIN keyword_totals AS total"
    " ON total.record = '{record}' AND total.number = wanted.number"
    " WHERE (total.documents, total.terms) IS NOT (wanted.documents, wanted.terms))"
    " + (SELECT count(*) FROM keyword_totals WHERE record = '{record}' AND documents > 0"
    " AND number NOT IN (SELECT number FROM wanted))"
)
"""Counts the totals, by session and by owner, that are not those of the terms beside the index."""


def verify(database: Database, *, vectors_available: bool) -> Sequence[Check]:
    """Return every check with its outcome. Looks at one state of the database and changes nothing."""
    checks: list[Check] = []
    with database.snapshot() as connection:
        checks.extend(_file(connection))
        for table in TABLES.values():
            checks.append(_keywords(connection, table))
            checks.extend(_vectors(connection, table))
            checks.append(_codes(connection, table))
            checks.append(_jobs(connection, table))
        checks.append(_runs(connection))
        checks.append(_chains(connection))
        checks.append(tallies.check(connection))
    if not database.read_only:
        checks.extend(_keyword_integrity(database))
    if not vectors_available:
        checks.append(Check(name="vector extension", ok=False, detail="sqlite-vec is missing; vectors wait"))
    return checks


def _file(connection: Connection) -> Iterator[Check]:
    findings = [str(row[0]) for row in connection.all(f"PRAGMA integrity_check({SHOWN})")]
    yield Check(name="file integrity", ok=findings == ["ok"], detail="; ".join(findings))
    broken = connection.all("PRAGMA foreign_key_check")
    yield Check(
        name="references",
        ok=not broken,
        detail="all hold" if not broken else f"{len(broken)} broken, first in {broken[0][0]}",
    )


def _keywords(connection: Connection, table: RecordTable) -> Check:
    name = f"keyword index of {table.table}"
    reason = KeywordIndex(table.record).out_of_step(connection)
    if reason is not None:
        return Check(name=name, ok=False, detail=reason)
    indexed = f"SELECT terms.id FROM {table.terms} AS terms JOIN {table.keywords}_docsize AS held ON held.id = terms.place"
    try:
        missing, halves, wrong, rows = (
            int(connection.value(sql))
            for sql in (
                f"SELECT count(*) FROM {table.table} WHERE {table.live} AND id NOT IN ({indexed})",
                # What stands in one half of the index without the other, or without a row.
                (
                    f"SELECT (SELECT count(*) FROM {table.keywords}_docsize WHERE id NOT IN (SELECT place FROM {table.terms}))"
                    f" + (SELECT count(*) FROM {table.terms}"
                    f" WHERE id NOT IN (SELECT id FROM {table.table} WHERE {table.live}))"
                ),
                _WRONG_TOTALS.format(terms=table.terms, record=table.record),
                f"SELECT count(*) FROM {table.keywords}_docsize",
            )
        )
    except StoreError as error:
        return Check(name=name, ok=False, detail=str(error))
    return Check(
        name=name,
        ok=not (missing or halves or wrong),
        detail=f"{rows} rows indexed, {missing} missing, {halves} without a row, {wrong} wrong totals",
    )


def _vectors(connection: Connection, table: RecordTable) -> Iterator[Check]:
    current = connection.value("SELECT id FROM embedding_spaces WHERE current")
    if current is not None:
        holders, values = held(connection, table.record, current)
        wrong = int(
            connection.value(
                f"SELECT count(*) FROM {table.table} WHERE has_embedding <> (id IN ({holders}))", values
            )
        )
        total = int(connection.value(f"SELECT count(*) FROM ({holders})", values))
        yield Check(
            name=f"vectors of {table.table}",
            ok=not wrong,
            detail=f"{total} vectors in the current space, {wrong} rows wrongly marked",
        )
    orphans = 0
    for number, _ in record_tables(connection, table.record):
        holders, values = held(connection, table.record, number)
        orphans += int(
            connection.value(
                f"SELECT count(*) FROM ({holders}) WHERE target_id NOT IN"
                f" (SELECT id FROM {table.table} WHERE {table.live})",
                values,
            )
        )
    yield Check(
        name=f"orphan vectors of {table.table}", ok=not orphans, detail=f"{orphans} vectors without a row"
    )


def _codes(connection: Connection, table: RecordTable) -> Check:
    """Make the code of every vector anew and compare it with the one that is stored."""
    total = wrong = extra = 0
    widths: dict[int, int] = dict(connection.all("SELECT id, dimensions FROM embedding_spaces"))
    for number, _ in record_tables(connection, table.record):
        if widths[number] >= MIN_DIMENSIONS:
            found = check_codes(connection, table.record, number, widths[number])
            total, wrong, extra = (sum(pair) for pair in zip((total, wrong, extra), found, strict=True))
    return Check(
        name=f"vector codes of {table.table}",
        ok=not (wrong or extra),
        detail=f"{total} codes, {wrong} missing or wrong, {extra} without a vector",
    )


def _jobs(connection: Connection, table: RecordTable) -> Check:
    forgotten = int(
        connection.value(
            f"SELECT count(*) FROM {table.table} WHERE {table.embeddable} AND NOT has_embedding AND id NOT IN"
            " (SELECT target_id FROM jobs WHERE kind = 'embed' AND record = ?)",
            (table.record,),
        )
    )
    orphans = int(
        connection.value(
            f"SELECT count(*) FROM jobs WHERE record = ? AND target_id NOT IN (SELECT id FROM {table.table})",
            (table.record,),
        )
    )
    return Check(
        name=f"jobs of {table.table}",
        ok=not (forgotten or orphans),
        detail=f"{forgotten} rows wait for a vector without a job, {orphans} jobs without a row",
    )


def _runs(connection: Connection) -> Check:
    orphans = int(
        connection.value(
            "SELECT (SELECT count(*) FROM subagent_messages WHERE run_id NOT IN (SELECT id FROM subagent_runs))"
            " + (SELECT count(*) FROM subagent_runs WHERE parent_message_id IS NOT NULL"
            " AND parent_message_id NOT IN (SELECT id FROM main_messages))"
        )
    )
    return Check(
        name="sub-agent runs", ok=not orphans, detail=f"{orphans} steps or runs without what they belong to"
    )


def _chains(connection: Connection) -> Check:
    broken = int(
        connection.value(
            "SELECT count(*) FROM long_term_memories WHERE root_id IS NULL"
            " OR root_id NOT IN (SELECT id FROM long_term_memories)"
            " OR (superseded_by IS NOT NULL AND superseded_by NOT IN (SELECT id FROM long_term_memories))"
        )
    )
    return Check(name="versions of memories", ok=not broken, detail=f"{broken} versions point nowhere")


def _keyword_integrity(database: Database) -> Iterator[Check]:
    """Run FTS5's own check, the only one that sees inside its index; it is written as an insert."""
    with database.write() as connection:
        for table in TABLES.values():
            if KeywordIndex(table.record).out_of_step(connection) is not None:
                continue
            detail = "ok"
            try:
                connection.run(f"INSERT INTO {table.keywords}({table.keywords}) VALUES ('integrity-check')")
            except StoreError as error:
                detail = str(error)
            yield Check(name=f"inside of {table.keywords}", ok=detail == "ok", detail=detail)
