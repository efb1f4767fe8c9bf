"""Codes of many vectors in memory, searched by Hamming distance first and by estimated cosine then.

Nothing here knows a database. Codes lie in blocks that are never moved, so a search may go on while codes are added
or removed: it works on what was there when it began, and whoever asks looks at the rows themselves afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from orca.stores._hamming import hamming
from orca.stores._quantizer import Quantizer, QueryCode

ScopeColumn = Literal["owner", "session"]

BLOCK_ROWS = 32_768
FIRST_ROWS = 256
"""Rows of a full block, and of the first one, which grows by doubling: a small store stays small."""

ESTIMATED = 8_192
"""Rows whose cosine is estimated at once. Of more, the signs decide which ones: a pass over one bit a dimension."""

SURVIVORS = 32
"""Of so many rows one passes the signs, and never fewer than ``ESTIMATED`` in all. With 60,000 clustered vectors of
1,024 dimensions, .997 of the ten nearest are in the first twentieth, 1.000 in the first sixth."""

THREADED_ROWS = 150_000
THREADS = 2
"""Rows from which on the signs are compared in several threads: half a memory's bandwidth is one thread's."""

NOBODY = -1
"""Owner and session of a removed row; the numbers of scopes are never negative."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Rows of an index: ids, owners and sessions int64 ``[n]``, codes uint8 ``[n, code_bytes]``, scales float32 ``[n]``."""

    ids: np.ndarray
    owners: np.ndarray
    sessions: np.ndarray
    codes: np.ndarray
    scales: np.ndarray


class _Block:
    """Up to ``BLOCK_ROWS`` rows."""

    def __init__(self, rows: int, quantizer: Quantizer) -> None:
        self.used = 0
        self.ascending = True
        self.ids = np.zeros(rows, dtype=np.int64)
        self.owner = np.full(rows, NOBODY, dtype=np.int64)
        self.session = np.full(rows, NOBODY, dtype=np.int64)
        self.planes = np.zeros((quantizer.planes, rows, quantizer.plane_bytes), dtype=np.uint8)
        self.scales = np.zeros(rows, dtype=np.float32)

    @property
    def free(self) -> int:
        return len(self.ids) - self.used

    def grown(self, quantizer: Quantizer) -> _Block:
        block = _Block(min(2 * len(self.ids), BLOCK_ROWS), quantizer)
        block.put(self.ids, self.owner, self.session, self.planes, self.scales)
        return block

    def put(
        self, ids: np.ndarray, owner: np.ndarray, session: np.ndarray, planes: np.ndarray, scales: np.ndarray
    ) -> None:
        place = slice(self.used, self.used + len(ids))
        before = self.ids[max(self.used - 1, 0) : self.used]
        self.ascending = self.ascending and bool((np.diff(np.concatenate([before, ids])) > 0).all())
        self.ids[place] = ids
        self.planes[:, place] = planes
        self.scales[place] = scales
        self.owner[place] = owner
        self.session[place] = session
        self.used += len(ids)  # last: a search that runs meanwhile sees whole rows

    def remove(self, places: np.ndarray) -> None:
        self.owner[places] = NOBODY
        self.session[places] = NOBODY
        self.planes[:, places] = 0
        self.scales[places] = 0.0


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows of a block: those in ``places``, or the first ``count`` where that is None."""

    block: _Block
    places: np.ndarray | None
    count: int

    def of(self, values: np.ndarray) -> np.ndarray:
        return values[: self.count] if self.places is None else np.take(values, self.places, axis=0)

    def plane(self, number: int) -> np.ndarray:
        return self.of(self.block.planes[number])

    def chosen(self, places: np.ndarray) -> _Part:
        return _Part(self.block, places if self.places is None else self.places[places], len(places))


class Selection:
    """Rows of an index that a search is about."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.parts = [part for part in parts if part.count]

    def __len__(self) -> int:
        return sum(part.count for part in self.parts)

    @property
    def ids(self) -> np.ndarray:
        """Return the rows' ids int64 ``[n]``."""
        return self._joined(lambda part: part.of(part.block.ids), np.int64)

    @property
    def scales(self) -> np.ndarray:
        """Return the scales of the rows' codes."""
        return self._joined(lambda part: part.of(part.block.scales), np.float32)

    def planes(self, quantizer: Quantizer) -> np.ndarray:
        """Return the rows' planes uint8 ``[planes, n, plane_bytes]``."""
        result = np.empty((quantizer.planes, len(self), quantizer.plane_bytes), dtype=np.uint8)
        end = 0
        for part in self.parts:
            start, end = end, end + part.count
            for number in range(quantizer.planes):
                result[number, start:end] = part.plane(number)
        return result

    def _joined(self, values: Callable[[_Part], np.ndarray], kind: type[np.generic]) -> np.ndarray:
        return np.concatenate([values(part) for part in self.parts] or [np.zeros(0, dtype=kind)])


class CodeIndex:
    """Rows with their codes, by id. One thread changes it at a time; any number may search meanwhile."""

    def __init__(self, quantizer: Quantizer) -> None:
        self.quantizer = quantizer
        self._blocks: list[_Block] = []
        self._live = 0
        self._newest = NOBODY

    def __len__(self) -> int:
        return self._live

    def put(self, entries: Entries) -> None:
        """Add rows, in place of those with the same ids."""
        self.remove(entries.ids)
        shape = (len(entries.ids), self.quantizer.planes, self.quantizer.plane_bytes)
        planes = entries.codes.reshape(shape).transpose(1, 0, 2)
        start = 0
        while start < len(entries.ids):
            block = self._writable()
            end = start + block.free
            block.put(
                entries.ids[start:end],
                entries.owners[start:end],
                entries.sessions[start:end],
                planes[:, start:end],
                entries.scales[start:end],
            )
            start = end
        self._live += len(entries.ids)
        self._newest = max(self._newest, int(entries.ids.max(initial=NOBODY)))

    def remove(self, ids: np.ndarray) -> None:
        """Take rows out and overwrite their codes."""
        if (
            not len(ids) or ids.min() > self._newest
        ):  # ids grow, so that most new rows are seen to be new at once
            return
        for block, places in self._find(ids):
            block.remove(places)
            self._live -= len(places)
        self._compact()

    def in_scope(self, column: ScopeColumn, number: int) -> Selection:
        """Return the rows of an owner or of a session."""
        parts = []
        for block in self._blocks:
            used = block.used
            same = (block.owner if column == "owner" else block.session)[:used] == number
            count = int(np.count_nonzero(same))
            parts.append(_Part(block, None if count == used else np.flatnonzero(same), count))
        return Selection(parts)

    def with_ids(self, ids: np.ndarray) -> Selection:
        """Return those of the rows that are there."""
        return Selection([_Part(block, places, len(places)) for block, places in self._find(ids)])

    def search(self, query: QueryCode, rows: Selection, *, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and estimated cosines of the nearest ``limit`` of ``rows``, best first; equals by id."""
        if len(rows) > ESTIMATED:
            rows = _nearest_by_sign(query, rows, keep=max(ESTIMATED, limit, len(rows) // SURVIVORS))
        ids = rows.ids
        estimates = self.quantizer.estimate(query, rows.planes(self.quantizer), rows.scales)
        if limit < len(ids):
            best = np.argpartition(-estimates, limit)[:limit]
            ids, estimates = ids[best], estimates[best]
        order = np.lexsort((ids, -estimates))
        return ids[order], estimates[order]

    def _writable(self) -> _Block:
        last = self._blocks[-1] if self._blocks else None
        if last is not None and last.free:
            return last
        if last is not None and len(last.ids) < BLOCK_ROWS:
            block = last.grown(self.quantizer)
            self._blocks = [*self._blocks[:-1], block]
        else:
            block = _Block(BLOCK_ROWS if last is not None else FIRST_ROWS, self.quantizer)
            self._blocks = [*self._blocks, block]
        return block

    def _find(self, ids: np.ndarray) -> Iterator[tuple[_Block, np.ndarray]]:
        wanted = np.unique(ids)
        for block in self._blocks:
            held = block.ids[: block.used]
            if not len(held):
                continue
            first, last = (held[0], held[-1]) if block.ascending else (held.min(), held.max())
            near = wanted[np.searchsorted(wanted, first) : np.searchsorted(wanted, last, "right")]
            if not len(near):
                continue
            if block.ascending:
                places = np.searchsorted(held, near)
                places = places[held[places] == near]
            else:
                places = np.flatnonzero(near[np.minimum(np.searchsorted(near, held), len(near) - 1)] == held)
            places = places[block.owner[places] != NOBODY]
            if len(places):
                yield block, places

    def _compact(self) -> None:
        """Give back what removed rows take, once they are as many as the others."""
        taken = sum(block.used for block in self._blocks)
        if taken - self._live <= max(self._live, FIRST_ROWS):
            return
        old, self._blocks, self._live = self._blocks, [], 0
        for block in old:
            left = np.flatnonzero(block.owner[: block.used] != NOBODY)
            codes = block.planes[:, left].transpose(1, 0, 2).reshape(len(left), self.quantizer.code_bytes)
            self.put(
                Entries(block.ids[left], block.owner[left], block.session[left], codes, block.scales[left])
            )


def _nearest_by_sign(query: QueryCode, rows: Selection, *, keep: int) -> Selection:
    """Return the ``keep`` rows whose signs differ least from the query's, and those that equal the last of them."""
    apart = np.empty(len(rows), dtype=np.float32)
    ends = np.cumsum([part.count for part in rows.parts]).tolist()

    def compare(first: int) -> None:
        for part, end in zip(rows.parts[first::threads], ends[first::threads], strict=True):
            apart[end - part.count : end] = hamming(query.planes[:1], part.plane(0))[0]

    threads = THREADS if len(rows) >= THREADED_ROWS else 1
    if threads == 1:
        compare(0)
    else:  # threads of this search alone: none is left over that a fork would lose
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(compare, range(threads)))
    furthest = np.partition(apart, keep - 1)[keep - 1]
    return Selection(
        [
            part.chosen(np.flatnonzero(apart[end - part.count : end] <= furthest))
            for part, end in zip(rows.parts, ends, strict=True)
        ]
    )
