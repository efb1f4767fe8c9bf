"""Keyword search with FTS5, and without it when it is missing or broken.

One contentless FTS5 table per kind of row holds index terms (see ``orca.text.analysis``) joined by spaces, under
row numbers that say whose they are (``places``), and beside it stands a table with the terms of each row
(``term_rows``). FTS5 proposes candidates (``candidates``); their exact frequencies are read from their rows. The
``ascii`` tokenizer is the one that leaves terms alone: to it every character above 127 is part of a token, while
``unicode61`` knows Unicode 6.1 only and splits at any newer letter.

The index is never worth a message: when a write to it fails, the row stays, the index is marked as out of step
in ``meta``, searches scan the newest rows instead and say so, and the next opening builds the index anew.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from orca.errors import StoreError
from orca.stores._bm25 import best_matches, bm25
from orca.stores.sqlite.candidates import CandidateFinder
from orca.stores.sqlite.connection import Connection, Row
from orca.stores.sqlite.places import POSITION_BITS, POSITIONS, add_totals, find_run, session_number
from orca.stores.sqlite.records import TABLES, RecordTable, ids_json, row_text, sql_limit
from orca.stores.sqlite.scanning import scan, scan_around
from orca.stores.sqlite.term_rows import pack, unpack
from orca.text.analysis import index_terms
from orca.types import KeywordResult, Placements, Record, Scope

log = logging.getLogger(__name__)

MAX_TERMS = 256
"""A search looks for this many terms at most: each is a question of its own to FTS5."""

LOOKED_AT, LEAST_LOOKED_AT = 2, 400
"""Candidates whose terms are read, for each row that is asked for and at least: which are the best shows only then."""

INDEXED_AT_ONCE = 2_000
"""Rows that are indexed at a time when an index is built."""

_READ = "held.place, held.id, held.length, held.characters, held.hashes, held.counts"

_SEPARATOR = re.compile(r"[\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\ud800-\udfff]")
"""ASCII characters at which the tokenizer splits, and lone surrogates; no index term holds any."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row on its way into the index: what it says, whose it is, and where it stands.

    ``name`` is the speaker's. Without a ``position`` the row gets the next free one of its session.
    """

    id: int
    content: str
    user: str
    agent: str
    session: str
    position: int = 0
    name: str | None = None


class KeywordIndex:
    """The keyword index of one kind of row."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.table: RecordTable = TABLES[record]
        self._flag = f"keyword.{record}"

    def ensure(self, connection: Connection) -> None:
        """Create the index where it is missing, and build it anew where it is marked as out of step."""
        name = self.table.keywords
        try:
            if connection.fts5_reason is not None:
                raise StoreError(connection.fts5_reason)
            # Of an almost empty table ANALYZE notes what makes a scan of every look-up; all else does without, too.
            connection.run("DROP TABLE IF EXISTS sqlite_stat1")
            if not connection.value("SELECT count(*) FROM sqlite_schema WHERE name = ?", (name,)):
                self._create(connection)
                if connection.value(f"SELECT EXISTS (SELECT 1 FROM {self.table.table})"):
                    self.rebuild(connection)
            else:
                connection.value(f"SELECT count(*) FROM (SELECT 1 FROM {name} LIMIT 1)")
                if self.out_of_step(connection) is not None:
                    self.rebuild(connection)
        except StoreError as error:
            self._mark(connection, error)

    def out_of_step(self, connection: Connection) -> str | None:
        """Return why the index cannot be used, or None."""
        if connection.fts5_reason is not None:
            return connection.fts5_reason
        reason = connection.value("SELECT value FROM meta WHERE key = ?", (self._flag,))
        return None if reason is None else str(reason)

    def add(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Index rows. A failure marks the index and leaves the rows."""
        if not entries or self.out_of_step(connection) is not None:
            return
        try:
            self._insert(connection, entries)
        except StoreError as error:
            self._mark(connection, error)

    def remove(self, connection: Connection, ids: Iterable[int]) -> None:
        """Take rows out of the index. A failure marks the index."""
        rows = connection.all(
            f"SELECT place, length FROM {self.table.terms} WHERE id IN (SELECT value FROM json_each(?))",
            (ids_json(ids),),
        )
        places = ids_json(place for place, _ in rows)
        listed = "IN (SELECT value FROM json_each(?))"
        connection.run(f"DELETE FROM {self.table.terms} WHERE place {listed}", (places,))
        add_totals(connection, self.table, _by_session((place, -1, -length) for place, length in rows))
        if self.out_of_step(connection) is not None:
            return
        try:
            connection.run(f"DELETE FROM {self.table.keywords} WHERE rowid {listed}", (places,))
        except StoreError as error:
            self._mark(connection, error)

    def rebuild(self, connection: Connection) -> int:
        """Build the index anew from the rows; return how many rows are in it. Raises ``StoreError``."""
        connection.run(f"DROP TABLE IF EXISTS {self.table.keywords}_terms")  # of an older version
        connection.run(f"DROP TABLE IF EXISTS {self.table.keywords}")
        connection.run(f"DELETE FROM {self.table.terms}")
        connection.run("DELETE FROM keyword_totals WHERE record = ?", (self.record,))
        self._create(connection)
        number = self.index_rows(connection)
        connection.run("DELETE FROM meta WHERE key = ?", (self._flag,))
        return number

    def index_rows(self, connection: Connection, ids: Sequence[int] | None = None) -> int:
        """Index the live rows among ``ids``, or all; return how many. Raises ``StoreError``."""
        table = self.table
        # In the order of places, since FTS5 writes out what it has gathered whenever a row number is lower.
        rows = connection.iterate(
            f"SELECT id, user_id, agent, {table.session} AS session, {table.position} AS place, {table.name}, content"
            f" FROM {table.table} WHERE {table.live} AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids)))"
            " ORDER BY user_id, agent, session, place, id",
            {"ids": None if ids is None else ids_json(ids)},
        )
        number = 0
        while batch := list(islice(rows, INDEXED_AT_ONCE)):
            self._insert(connection, list(_entries(batch)))
            number += len(batch)
        return number

    def index_new(self, connection: Connection, ids: Sequence[int]) -> None:
        """Index rows that were written without it. A failure marks the index and leaves the rows."""
        if self.out_of_step(connection) is not None:
            return
        try:
            self.index_rows(connection, ids)
        except StoreError as error:
            self._mark(connection, error)

    def optimize(self, connection: Connection) -> None:
        """Merge the index into one piece, which drops what deleted rows left in it."""
        if self.out_of_step(connection) is None:
            name = self.table.keywords
            connection.run(f"INSERT INTO {name}({name}) VALUES ('optimize')")

    def search(
        self, connection: Connection, terms: Sequence[str], *, scope: Scope, session: str | None, limit: int
    ) -> KeywordResult:
        """Return the best ``limit`` rows of the scope's owner, or of one session, by BM25."""
        sql_limit(limit)
        reason = self.out_of_step(connection)
        if reason is None:
            try:
                return self._search(connection, terms, scope, session, limit)
            except StoreError as error:
                reason = str(error)
                log.warning("keyword index of %s cannot be searched: %s", self.table.table, error)
        return scan(connection, self.table, terms, scope=scope, session=session, limit=limit, reason=reason)

    def around(
        self, connection: Connection, ids: Sequence[int], *, scope: Scope, radius: int, terms: Sequence[str]
    ) -> Placements:
        """Return the rows of the scope's owner within ``radius`` places of the given ones, in order of id."""
        if self.out_of_step(connection) is not None:
            return scan_around(connection, ids, scope=scope, radius=radius, terms=terms)
        run = find_run(connection, self.table, scope, None)
        given = [] if run is None else connection.all(
            f"SELECT place FROM json_each(?) AS given CROSS JOIN {self.table.terms} AS held ON held.id = given.value"
            " WHERE +held.place BETWEEN ? AND ?",
            (ids_json(ids), run.low, run.high),
        )  # fmt: skip
        rows = connection.all(
            f"SELECT {_READ} FROM json_each(?) AS given CROSS JOIN {self.table.terms} AS held"
            " WHERE place BETWEEN given.value ->> 0 AND given.value ->> 1",
            (json.dumps(_ranges([place for (place,) in given], radius).tolist()),),
        )
        (places, found, lengths, characters), frequencies = _columns(rows, terms)
        order = np.argsort(found)  # SQLite would carry the terms through its sorting
        return Placements(
            ids=found[order],
            sessions=places[order] >> POSITION_BITS,
            positions=places[order] % POSITIONS,
            lengths=lengths[order],
            characters=characters[order],
            frequencies=frequencies[order],
        )

    def _create(self, connection: Connection) -> None:
        name = self.table.keywords
        connection.run(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5"
            "(text, content = '', contentless_delete = 1, tokenize = 'ascii', detail = none)"
        )
        connection.run(f"INSERT INTO {name}({name}, rank) VALUES ('secure-delete', 1)")

    def _insert(self, connection: Connection, entries: Sequence[Entry]) -> None:
        table = self.table
        keywords: list[Row] = []
        rows: list[Row] = []
        for place, entry in self._placed(connection, entries):
            terms = index_terms(row_text(entry.name, entry.content))
            packed = pack(terms)
            keywords.append((place, " ".join(terms)))
            rows.append((place, entry.id, len(terms), len(entry.content), packed.hashes, packed.counts))
        connection.many(
            f"INSERT INTO {table.terms}(place, id, length, characters, hashes, counts) VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )
        connection.many(f"INSERT INTO {table.keywords}(rowid, text) VALUES (?, ?)", keywords)
        add_totals(connection, table, _by_session((place, 1, length) for place, _, length, *_ in rows))

    def _placed(self, connection: Connection, entries: Sequence[Entry]) -> list[tuple[int, Entry]]:
        """Return the entries with their places, in the order of these. Raises ``StoreError`` for a full session."""
        placed = []
        sessions: dict[tuple[str, str, str], int] = {}
        last: dict[int, int] = {}
        for entry in entries:
            key = (entry.user, entry.agent, entry.session)
            if key not in sessions:
                sessions[key] = session_number(connection, *key)
            number = sessions[key]
            position = entry.position
            if not position:
                if number not in last:
                    end = connection.value(
                        f"SELECT max(place) FROM {self.table.terms} WHERE place BETWEEN ? AND ?",
                        (number * POSITIONS, (number + 1) * POSITIONS - 1),
                    )
                    last[number] = (end or 0) % POSITIONS
                position = last[number] = last[number] + 1
            if position >= POSITIONS:
                raise StoreError(f"session {entry.session!r} has more than {POSITIONS - 1} rows")
            placed.append(((number << POSITION_BITS) | position, entry))
        return sorted(placed, key=lambda pair: pair[0])

    def _mark(self, connection: Connection, error: StoreError) -> None:
        reason = f"the keyword index of {self.table.table} is out of step: {error}"
        connection.run("INSERT OR IGNORE INTO meta(key, value) VALUES (?, ?)", (self._flag, reason))
        log.warning("%s; searches scan rows until it is built anew", reason)

    def _search(
        self, connection: Connection, terms: Sequence[str], scope: Scope, session: str | None, limit: int
    ) -> KeywordResult:
        run = find_run(connection, self.table, scope, session)
        if run is None:
            return KeywordResult(document_frequencies=(0,) * len(terms))
        usable = [
            index for index, term in enumerate(terms[:MAX_TERMS]) if term and not _SEPARATOR.search(term)
        ]
        asked = [terms[index] for index in usable]
        found = CandidateFinder(connection, self.table, run).find(
            [f'"{term}"' for term in asked], limit=limit
        )
        rows = connection.all(
            f"SELECT {_READ} FROM json_each(?) AS given CROSS JOIN {self.table.terms} AS held ON place = given.value",
            (json.dumps(found.best(max(LOOKED_AT * limit, LEAST_LOOKED_AT)).tolist()),),
        )
        (_, ids, lengths, _), counted = _columns(rows, asked)
        spread = np.zeros(len(terms))
        spread[usable] = found.spread
        frequencies = np.zeros((len(rows), len(terms)), dtype=np.int64)
        frequencies[:, usable] = counted
        average = run.terms / run.documents if run.documents else 0.0
        scores = bm25(frequencies, lengths, spread=spread, documents=run.documents, average=average)
        return KeywordResult(
            matches=best_matches(ids, lengths, frequencies, scores, limit=limit),
            document_frequencies=tuple(np.rint(spread).astype(int).tolist()),
            documents=run.documents,
            average_length=average,
        )


def _entries(rows: Iterable[Row]) -> Iterator[Entry]:
    for number, user, agent, session, position, name, content in rows:
        yield Entry(number, content, user, agent, session, position, name)


def _columns(rows: Sequence[Row], terms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return places, ids, lengths and characters of rows ``int64 [4, n]``, and the terms' frequencies ``[n, terms]``."""
    *numbers, hashes, counts = zip(*rows, strict=True) if rows else ((),) * 6
    return np.array(numbers, dtype=np.int64), unpack(hashes, counts, terms)


def _by_session(rows: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return ``(session's number, rows, terms)`` from the same of places, added up."""
    totals: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
    for place, documents, terms in rows:
        total = totals[place >> POSITION_BITS]
        total[0] += documents
        total[1] += terms
    return [(number, documents, terms) for number, (documents, terms) in totals.items()]


def _ranges(places: Sequence[int], radius: int) -> np.ndarray:
    """Return the ranges within ``radius`` of places and within their sessions, joined, ``int64 [n, 2]``."""
    given = np.sort(np.array(places, dtype=np.int64))
    if not len(given):
        return np.empty((0, 2), dtype=np.int64)
    reach = min(radius, POSITIONS)
    first = given & -POSITIONS
    low = np.maximum(given - reach, first)
    high = np.minimum(given + reach, first + POSITIONS - 1)
    begins = np.concatenate([[True], low[1:] > high[:-1] + 1])
    return np.stack([low[begins], high[np.concatenate([begins[1:], [True]])]], axis=1)
