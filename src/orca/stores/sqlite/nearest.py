"""The nearest rows of a scope by their codes, and exactly by their vectors where it matters.

Estimates decide which vectors are read. They are read from the best estimate downwards until no further row is likely
to belong to the best ones, given the known error of an estimate. Rows further down keep an estimate, corrected by what
the vectors that were read say about the estimates of this search.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orca.stores._code_index import ScopeColumn
from orca.stores.sqlite.code_lanes import CodeLanes, Key, View
from orca.stores.sqlite.connection import Connection
from orca.stores.sqlite.records import BY_ID, TABLES, ids_json
from orca.stores.sqlite.vector_codes import quantizer, read_codes
from orca.stores.sqlite.vector_reads import read_vectors
from orca.types import Record, Scope

EXACT_NUMBERS = 1 << 19
"""Scopes whose vectors hold up to so many numbers are compared exactly, row by row: 1,024 rows of 512 dimensions, 512
rows of 1,024. That takes 4 ms; above it codes are quicker."""

EXACT_LIST = 64
"""Lists of ids up to this size are compared exactly."""

EXACT_TOP = 20
"""The best rows of a longer list that are exact, in value and in order."""

MARGIN = 2.0
"""Standard deviations of an estimate that are read below the last of the exact rows: of the rows that belong there,
.977 are found even if they all were among the last."""

STEP = 64
MAX_READ = 1_024
"""Vectors read at a time, and in one search: about 10 ms at 1,024 dimensions."""

SAMPLE = 32
"""Vectors read along the rows that keep an estimate, to correct it."""

MAX_K = 4_096
"""The most neighbours that sqlite-vec's own search gives; beyond it the table is scanned and sorted."""

MAX_LIMIT = MAX_K
MAX_CHANGED = 4_096
"""Longer lists, and transactions with more changes than this, are served by the scan."""

IMPOSSIBLE = 10.0
"""Standard deviations between an estimate and its cosine that do not happen where both are of one vector."""

Found = list[tuple[int, float]]


class Nearest:
    """Searches one lane through one connection."""

    def __init__(self, lanes: CodeLanes, connection: Connection, key: Key, query: np.ndarray) -> None:
        self._lanes = lanes
        self._connection = connection
        self._key = key
        self._query = query
        self._name = TABLES[key[1]].vectors(key[0])
        self._error = quantizer(key[2]).error

    def search(self, column: ScopeColumn, number: int, limit: int) -> Found | None:
        """Return ``(id, cosine)`` of the nearest rows of a scope, best first, or None when the scan must serve."""
        view = self._lanes.view(self._connection, self._key) if limit <= MAX_LIMIT else None
        if view is None or len(view.changed) > MAX_CHANGED:
            return None
        rows = view.index.in_scope(column, number)
        changed = self._changed(view, column, number)
        if len(rows) * self._key[2] <= EXACT_NUMBERS:
            ids = np.setdiff1d(rows.ids, np.array(list(view.changed), dtype=np.int64))
            return _best(self._exact([*ids.tolist(), *changed]), limit)
        ids, estimates = view.index.search(
            view.index.quantizer.encode_query(self._query),
            rows,
            limit=max(limit, MAX_READ) + len(view.changed),
        )
        found = self._refine(view, ids, estimates, limit)
        return None if found is None else _best([*found, *self._exact(changed)], limit)

    def similarities(self, ids: Sequence[int]) -> Found:
        """Return ``(id, cosine)`` of those of the rows that have a vector: estimates in a list of many.

        A search has found the best rows already, so that no further vectors have to be read for those around them.
        """
        view = self._lanes.view(self._connection, self._key) if len(ids) > EXACT_LIST else None
        if view is None or len(view.changed) > MAX_CHANGED:
            return self._exact(ids)
        wanted = np.unique(np.array(ids, dtype=np.int64))
        rows = view.index.with_ids(wanted)
        found_ids, estimates = view.index.search(
            view.index.quantizer.encode_query(self._query), rows, limit=len(wanted)
        )
        found = self._refine(view, found_ids, estimates, len(wanted), top=0)
        if found is None:
            return self._exact(ids)
        return [*found, *self._exact(sorted(view.changed.intersection(wanted.tolist())))]

    def _changed(self, view: View, column: ScopeColumn, number: int) -> list[int]:
        """Return the rows of a scope that this transaction has changed."""
        if not view.changed:
            return []
        space_id, record, dimensions = self._key
        return [
            row_id
            for entries in read_codes(self._connection, record, space_id, dimensions, list(view.changed))
            for row_id in entries.ids[
                (entries.owners if column == "owner" else entries.sessions) == number
            ].tolist()
        ]

    def _exact(self, ids: Sequence[int]) -> Found:
        if not len(ids):
            return []
        found, vectors = read_vectors(self._connection, self._name, ids, self._key[2])
        return list(zip(found.tolist(), (vectors @ self._query).tolist(), strict=True))

    def _refine(
        self, view: View, ids: np.ndarray, estimates: np.ndarray, limit: int, *, top: int = EXACT_TOP
    ) -> Found | None:
        """Return rows with their cosines, exact for the ``top``; None when they show that the codes are wrong."""
        kept = ~np.isin(ids, np.array(list(view.changed), dtype=np.int64))
        ids, estimates = ids[kept], estimates[kept]
        cosines = np.full(len(ids), np.nan)
        done, worst = self._read_best(ids, estimates, cosines, min(limit, top)) if top else (0, 1.0)
        if done < min(limit, len(ids)):
            self._read(ids, cosines, np.unique(np.linspace(done, len(ids) - 1, SAMPLE).astype(np.int64)))
        known = ~np.isnan(cosines)
        if np.abs(cosines[known] - estimates[known]).max(initial=0.0) > IMPOSSIBLE * self._error:
            if view.exact:  # a newer index may know another vector of the same row
                self._lanes.doubt(self._connection, self._key, "an estimate is far from its cosine")
            return None
        if limit > done:
            rest = np.flatnonzero(~known[done:]) + done
            cosines[rest] = np.minimum(_corrected(estimates, cosines, known)[rest], worst)
        left = ~np.isnan(cosines)
        return list(zip(ids[left].tolist(), cosines[left].tolist(), strict=True))

    def _read_best(
        self, ids: np.ndarray, estimates: np.ndarray, cosines: np.ndarray, top: int
    ) -> tuple[int, float]:
        """Fill in the cosines of the best estimates; return of how many, and the last of the ``top`` cosines."""
        done, worst = 0, -1.0
        while done < min(len(ids), MAX_READ):
            end = min(done + STEP, len(ids))
            self._read(ids, cosines, np.arange(done, end))
            done = end
            known = cosines[:done][~np.isnan(cosines[:done])]
            if len(known) >= top:
                worst = float(np.partition(known, len(known) - top)[len(known) - top])
                if done < len(ids) and estimates[done] + MARGIN * self._error < worst:
                    break
        return done, worst

    def _read(self, ids: np.ndarray, cosines: np.ndarray, places: np.ndarray) -> None:
        """Fill in the cosines at some places; a row without a vector keeps NaN."""
        found = dict(self._exact(ids[places].tolist()))
        for place in places.tolist():
            cosines[place] = found.get(int(ids[place]), np.nan)


def _corrected(estimates: np.ndarray, cosines: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return what cosine to expect for each estimate, by least squares over the rows whose cosine is known.

    Rows come in for their high estimates, so their cosines are lower on average: regression to the mean.
    """
    given = estimates[known].astype(np.float64)
    spread = given - given.mean() if len(given) else given
    if not spread.any():
        return estimates.astype(np.float64)
    slope = float(np.clip(spread @ cosines[known] / (spread @ spread), 0.0, 1.0))
    result: np.ndarray = cosines[known].mean() + slope * (estimates - given.mean())
    return result


def _best(found: Found, limit: int) -> Found:
    """Return the best ``limit``, best first; equals by id."""
    return sorted(found, key=lambda row: (-row[1], row[0]))[:limit]


def scan(
    connection: Connection,
    name: str,
    key: str,
    query: np.ndarray,
    column: ScopeColumn,
    number: int,
    limit: int,
) -> Found:
    """Return the nearest rows of a scope by sqlite-vec's comparison with every vector of the table."""
    if limit <= MAX_K:
        sql = (
            f"SELECT {key}, distance FROM {name}"
            f" WHERE embedding MATCH :vector AND k = :limit AND {column} = :scope"
        )
    else:
        sql = (
            f"SELECT {key}, vec_distance_cosine(embedding, :vector) AS distance"
            f" FROM {name} WHERE {column} = :scope ORDER BY distance LIMIT :limit"
        )
    values = {"vector": query.tobytes(), "limit": limit, "scope": number}
    return _best([(row_id, 1.0 - distance) for row_id, distance in connection.all(sql, values)], limit)


def living(connection: Connection, record: Record, found: Found, *, scope: Scope, one_session: bool) -> Found:
    """Return those of the rows that exist in the scope; an index knows scopes by their digests alone."""
    table = TABLES[record]
    session = f" AND +{table.session} = :session" if one_session else ""
    rows = connection.all(
        f"SELECT id FROM {table.table} WHERE {BY_ID} AND +({table.live}){session}",
        {
            "ids": ids_json(number for number, _ in found),
            "user": scope.user,
            "agent": scope.agent,
            **({"session": scope.session} if one_session else {}),
        },
    )
    alive = {number for (number,) in rows}
    return [(number, cosine) for number, cosine in found if number in alive]
