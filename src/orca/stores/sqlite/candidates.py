"""Which rows are worth a closer look: postings read in the order of their worth, within a budget.

An OR of a question's words matches a tenth of all rows, and FTS5 reads every one of them whatever the limit. But the
best rows by BM25 hold the rare words, or several of the commoner ones. So each term's newest postings are read
first, which is all of them for most terms; then, by rising number of rows, whole terms as far as the budget goes;
then the rows that hold two of the remaining, common terms, which FTS5 finds by leaping from one list to the other;
and of those only the newest. While all postings are within the budget, which a store of some thousand messages
never exceeds, the candidates are all the rows that match, and the number of rows with a term is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from orca.stores._bm25 import inverse_document_frequencies
from orca.stores.sqlite.connection import Connection
from orca.stores.sqlite.places import Run, documents_since
from orca.stores.sqlite.records import RecordTable

PROBED = 256
"""Postings of each term that are read first; a question of five words has about two terms with more."""

SMALL_RUN = 1_000
"""Rows of a scope, a session mostly, up to which all postings are read, oldest first: FTS5 finds the beginning of a
range in a long list ten times as quickly as its end."""

BUDGET = 6_000
"""Postings that are read in all, about 2 ms; more for a search that asks for more rows than that."""

PAIRED_TERMS = 3
"""So many common terms, the rarest of them, are looked up in pairs."""

PAIR_ROWS = 400
"""Rows of each pair that are taken, the newest ones."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Places in rising order, ``int64 [n]``, what is known of their worth, and the terms' numbers of rows.

    ``weights[i]`` is the sum of the idf of the terms that place i is known to hold; ``spread[t]`` the number of rows
    of the run that hold term t, exact where all of them were read, otherwise an estimate from those read.
    """

    places: np.ndarray
    weights: np.ndarray
    spread: np.ndarray

    def best(self, limit: int) -> np.ndarray:
        """Return up to ``limit`` places of the greatest weight, equal ones the newest first, in rising order."""
        if len(self.places) <= limit:
            return self.places
        return np.sort(self.places[np.lexsort((-self.places, -self.weights))[:limit]])


@dataclass(slots=True)
class _Term:
    """A term on its way: the postings read so far, and the number of rows that hold it."""

    index: int
    phrase: str
    places: np.ndarray
    rows: float
    whole: bool
    more: list[np.ndarray] = field(default_factory=list)


class CandidateFinder:
    """Reads the postings of one index within one run."""

    def __init__(self, connection: Connection, table: RecordTable, run: Run) -> None:
        self._connection = connection
        self._table = table
        self._run = run
        self._small = run.documents <= SMALL_RUN
        order = "ASC" if self._small else "DESC"
        self._sql = (
            f"SELECT group_concat(place) FROM (SELECT rowid - ? AS place FROM {table.keywords}"
            f" WHERE {table.keywords} MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid {order} LIMIT ?)"
        )

    def find(self, phrases: Sequence[str], *, limit: int) -> Candidates:
        """Return candidates for ``limit`` rows; ``phrases`` are the terms as FTS5 strings."""
        terms = [self._probe(index, phrase) for index, phrase in enumerate(phrases)]
        left = max(BUDGET, 2 * limit) - sum(len(term.places) for term in terms)
        common = sorted((term for term in terms if not term.whole), key=lambda term: term.rows)
        while common and common[0].rows <= left:
            term = common[0]
            term.places = self._newest(term.phrase, left)
            self._count(term, asked=left)
            left -= len(term.places)
            if not term.whole:  # it holds more rows than was estimated, and the budget is spent
                break
            common.pop(0)
        for one, other in combinations(common[:PAIRED_TERMS], 2):
            both = self._newest(f"{one.phrase} AND {other.phrase}", PAIR_ROWS)
            one.more.append(both)
            other.more.append(both)
        for term in common:
            asked = max(left, 0) // len(common)
            if asked > len(term.places):
                term.places = self._newest(term.phrase, asked)
                self._count(term, asked=asked)
        return self._joined(terms)

    def _probe(self, index: int, phrase: str) -> _Term:
        asked = self._run.documents + 1 if self._small else PROBED
        term = _Term(index, phrase, self._newest(phrase, asked), 0.0, whole=False)
        self._count(term, asked=asked)
        return term

    def _count(self, term: _Term, *, asked: int) -> None:
        """Set the number of rows that hold the term, by what was found when so many were asked for."""
        read = len(term.places)
        term.whole = read < asked
        term.rows = float(read)
        if not term.whole and read:
            since = documents_since(self._connection, self._table, self._run, int(term.places.min()))
            term.rows = max(float(read), read * self._run.documents / max(since, 1.0))

    def _newest(self, expression: str, limit: int) -> np.ndarray:
        run = self._run
        text = self._connection.value(self._sql, (run.low, expression, run.low, run.high, limit))
        if text is None:
            return np.empty(0, dtype=np.int64)
        return np.fromstring(text, dtype=np.int64, sep=",") + run.low

    def _joined(self, terms: Sequence[_Term]) -> Candidates:
        spread = np.array([term.rows for term in terms], dtype=np.float64)
        lists = [places for term in terms for places in (term.places, *term.more)]
        places = np.unique(np.concatenate(lists)) if lists else np.empty(0, dtype=np.int64)
        held = np.zeros((len(places), len(terms)), dtype=bool)
        for term in terms:
            for read in (term.places, *term.more):
                held[np.searchsorted(places, read), term.index] = True
        weights = held @ inverse_document_frequencies(spread, self._run.documents)
        return Candidates(places, weights, spread)
