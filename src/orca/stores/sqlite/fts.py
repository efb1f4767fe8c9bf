"""Keyword search with FTS5, and without it when it is missing or broken.

One contentless table per kind of row holds index terms (see ``orca.text.analysis``) joined by spaces, and two
tokens that stand for the row's owner and session, so that the scope acts before the limit. The ``ascii``
tokenizer is the one that leaves terms alone: to it every character above 127 is part of a token, while
``unicode61`` knows Unicode 6.1 only and splits at any newer letter.

The index is never worth a message: when a write to it fails, the row stays, the index is marked as out of step
in ``meta``, searches scan the newest rows instead and say so, and the next opening builds the index anew.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orca.errors import StoreError
from orca.stores._bm25 import bm25
from orca.stores.sqlite.connection import Connection
from orca.stores.sqlite.records import TABLES, RecordTable, ids_json, row_text, scope_digest, sql_limit
from orca.text.analysis import index_terms
from orca.text.jsonable import to_json
from orca.types import KeywordMatch, KeywordResult, Record, Scope

log = logging.getLogger(__name__)

SCAN_ROWS = 5_000
"""Without the index a search looks at this many of the newest rows: about half a second of work."""

MAX_TERMS = 256
"""A search looks for this many terms at most; FTS5 bounds the size of an expression."""

_SEPARATOR = re.compile(r"[\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\ud800-\udfff]")
"""ASCII characters at which the tokenizer splits, and lone surrogates; no index term holds any."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row on its way into the index."""

    id: int
    terms: Sequence[str]
    user: str
    agent: str
    session: str


class KeywordIndex:
    """The keyword index of one kind of row."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.table: RecordTable = TABLES[record]
        self._flag = f"keyword.{record}"

    def ensure(self, connection: Connection) -> None:
        """Create the index where it is missing, and build it anew where it is marked as out of step."""
        name = self.table.keywords
        known = "SELECT count(*) FROM sqlite_schema WHERE name IN (?, ?)"
        try:
            if connection.fts5_reason is not None:
                raise StoreError(connection.fts5_reason)
            if connection.value(known, (name, f"{name}_terms")) != 2:
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
        if self.out_of_step(connection) is not None:
            return
        try:
            connection.run(
                f"DELETE FROM {self.table.keywords} WHERE rowid IN (SELECT value FROM json_each(?))",
                (ids_json(ids),),
            )
        except StoreError as error:
            self._mark(connection, error)

    def rebuild(self, connection: Connection) -> int:
        """Build the index anew from the rows; return how many rows are in it. Raises ``StoreError``."""
        connection.run(f"DROP TABLE IF EXISTS {self.table.keywords}_terms")
        connection.run(f"DROP TABLE IF EXISTS {self.table.keywords}")
        self._create(connection)
        number = self.index_rows(connection)
        connection.run("DELETE FROM meta WHERE key = ?", (self._flag,))
        return number

    def index_rows(self, connection: Connection, ids: Sequence[int] | None = None) -> int:
        """Index the live rows among ``ids``, or all; return how many. Raises ``StoreError``."""
        table = self.table
        rows = connection.all(
            f"SELECT id, user_id, agent, {table.session}, {table.name}, content FROM {table.table}"
            f" WHERE {table.live} AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids)))",
            {"ids": None if ids is None else ids_json(ids)},
        )
        entries = [
            Entry(number, index_terms(row_text(name, content)), user, agent, session)
            for number, user, agent, session, name, content in rows
        ]
        self._insert(connection, entries)
        connection.many(
            f"UPDATE {table.table} SET term_count = ? WHERE id = ? AND term_count <> ?",
            [(len(entry.terms), entry.id, len(entry.terms)) for entry in entries],
        )
        return len(entries)

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
        return self._scan(connection, terms, scope, session, limit, reason)

    def _create(self, connection: Connection) -> None:
        name = self.table.keywords
        connection.run(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5"
            "(text, scope, content = '', contentless_delete = 1, tokenize = 'ascii')"
        )
        connection.run(f"INSERT INTO {name}({name}, rank) VALUES ('secure-delete', 1)")
        connection.run(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name}_terms USING fts5vocab({name}, col)")

    def _insert(self, connection: Connection, entries: Sequence[Entry]) -> None:
        connection.many(
            f"INSERT INTO {self.table.keywords}(rowid, text, scope) VALUES (?, ?, ?)",
            [
                (
                    entry.id,
                    " ".join(entry.terms),
                    f"{_owner(entry.user, entry.agent)} {_session(entry.user, entry.agent, entry.session)}",
                )
                for entry in entries
            ],
        )

    def _mark(self, connection: Connection, error: StoreError) -> None:
        reason = f"the keyword index of {self.table.table} is out of step: {error}"
        connection.run("INSERT OR IGNORE INTO meta(key, value) VALUES (?, ?)", (self._flag, reason))
        log.warning("%s; searches scan rows until it is built anew", reason)

    def _search(
        self, connection: Connection, terms: Sequence[str], scope: Scope, session: str | None, limit: int
    ) -> KeywordResult:
        usable = [
            index for index, term in enumerate(terms[:MAX_TERMS]) if term and not _SEPARATOR.search(term)
        ]
        documents, total = self._figures(connection)
        matches: list[KeywordMatch] = []
        token = (
            _owner(scope.user, scope.agent) if session is None else _session(scope.user, scope.agent, session)
        )
        if usable and limit:
            words = " OR ".join(f'"{terms[index]}"' for index in usable)
            table = self.table
            # Sorted by FTS5's own "rank", the frequencies are worked out for the rows within the limit only. A
            # row's place is looked up in a query of its own, which goes by primary key whatever the planner's
            # statistics say: those that ANALYZE left in an almost empty store turned a join into a scan per row.
            place = (
                f"SELECT json_array({table.session}, {table.position}, term_count) FROM {table.table}"
                f" WHERE id = found.id AND user_id = ? AND agent = ? AND (? IS NULL OR {table.session} = ?)"
            )
            rows = connection.all(
                f"WITH found AS MATERIALIZED (SELECT rowid AS id, orca_frequencies({table.keywords}) AS frequencies,"
                f" rank AS score FROM {table.keywords}"
                f" WHERE {table.keywords} MATCH ? AND rank MATCH 'bm25(1.0, 0.0)' ORDER BY rank LIMIT ?),"
                f" placed AS MATERIALIZED (SELECT id, score, frequencies, ({place}) AS place FROM found)"
                " SELECT id, place, frequencies FROM placed WHERE place IS NOT NULL ORDER BY score, id",
                (
                    f'scope:"{token}" AND text:({words})',
                    sql_limit(limit),
                    scope.user,
                    scope.agent,
                    session,
                    session,
                ),
            )
            matches = [_match(row, usable, len(terms)) for row in rows]
        return KeywordResult(
            matches=tuple(matches),
            document_frequencies=self._document_frequencies(connection, terms),
            documents=documents,
            average_length=total / documents if documents else 0.0,
            scope_documents=self._scope_documents(connection, token) if len(matches) < limit else 0,
        )

    def _figures(self, connection: Connection) -> tuple[int, int]:
        """Return the index's numbers of rows and of terms, which FTS5 tells beside any row it finds."""
        table = self.table
        newest = connection.one(
            f"SELECT user_id, agent FROM {table.table} WHERE {table.live} ORDER BY id DESC LIMIT 1"
        )
        if newest is None:
            return 0, 0
        text = connection.value(
            f"SELECT orca_totals({table.keywords}) FROM {table.keywords} WHERE {table.keywords} MATCH ? LIMIT 1",
            (f'scope:"{_owner(*newest)}"',),
        )
        if text is None:
            raise StoreError(f"the keyword index of {table.table} lacks its newest row")
        rows, terms = text.split(",")
        return int(rows), int(terms)

    def _scope_documents(self, connection: Connection, token: str) -> int:
        found = connection.value(
            f"SELECT doc FROM {self.table.keywords}_terms WHERE col = 'scope' AND term = ?", (token,)
        )
        return int(found or 0)

    def _document_frequencies(self, connection: Connection, terms: Sequence[str]) -> tuple[int, ...]:
        found: dict[str, int] = dict(
            connection.all(
                f"SELECT term, doc FROM {self.table.keywords}_terms"
                " WHERE col = 'text' AND term IN (SELECT value FROM json_each(?))",
                (_texts_json(terms),),
            )
        )
        return tuple(found.get(term, 0) for term in terms)

    def _scan(
        self,
        connection: Connection,
        terms: Sequence[str],
        scope: Scope,
        session: str | None,
        limit: int,
        reason: str,
    ) -> KeywordResult:
        """Search the newest rows of the scope without the index."""
        table = self.table
        rows = connection.all(
            f"SELECT id, {table.session}, {table.position}, {table.name}, content FROM {table.table}"
            f" WHERE user_id = ? AND agent = ? AND (? IS NULL OR {table.session} = ?) AND {table.live}"
            " ORDER BY id DESC LIMIT ?",
            (scope.user, scope.agent, session, session, SCAN_ROWS),
        )
        documents = [
            (number, where, position, index_terms(row_text(name, content)))
            for number, where, position, name, content in rows
        ]
        matches = []
        for number, where, position, words in documents:
            counts = Counter(words)
            frequencies = tuple(counts[term] for term in terms)
            if any(frequencies):
                matches.append(
                    KeywordMatch(
                        id=number,
                        session=where,
                        position=position,
                        length=len(words),
                        frequencies=frequencies,
                    )
                )
        spread = tuple(sum(match.frequencies[index] > 0 for match in matches) for index in range(len(terms)))
        average = sum(len(words) for *_, words in documents) / len(documents) if documents else 0.0
        matches.sort(key=lambda match: (-bm25(match, spread, len(documents), average), match.id))
        return KeywordResult(
            matches=tuple(matches[:limit]),
            document_frequencies=spread,
            documents=len(documents),
            average_length=average,
            scope_documents=len(documents) if len(matches) <= limit else 0,
            degraded=f"{reason}; the newest {SCAN_ROWS} rows were scanned instead",
        )


def _owner(user: str, agent: str) -> str:
    return "o" + scope_digest(user, agent).hex()


def _session(user: str, agent: str, session: str) -> str:
    return "s" + scope_digest(user, agent, session).hex()


def _match(row: tuple[int, str, str], usable: Sequence[int], width: int) -> KeywordMatch:
    number, place, text = row
    session, position, length = json.loads(place)
    frequencies = [0] * width
    for index, count in zip(usable, text.split(","), strict=True):
        frequencies[index] = int(count)
    return KeywordMatch(
        id=number, session=session, position=position, length=length, frequencies=tuple(frequencies)
    )


def _texts_json(texts: Sequence[str]) -> str:
    return to_json(list(texts), where="terms")
