"""The codes in memory: one index for each kind of row and space that is searched, in step with the database.

An index is loaded at the first search and follows the list of changes from then on, whoever made them. It only ever
holds what was committed: a search inside a transaction sees its own changes as an overlay over the index. When codes
are missing or do not agree with the vectors the lane says so, and sqlite-vec's scan serves.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass

import numpy as np

from orca.stores._code_index import CodeIndex
from orca.stores.sqlite.connection import Connection, Database
from orca.stores.sqlite.records import TABLES
from orca.stores.sqlite.vector_codes import (
    MIN_DIMENSIONS,
    WrongCodesError,
    changed_since,
    newest_change,
    quantizer,
    read_codes,
)
from orca.types import Record

log = logging.getLogger(__name__)

REPAIR = "`orca reindex` makes the codes anew"

Key = tuple[int, Record, int]
"""A lane: its space's id, its kind of row, and the space's dimensions."""


@dataclass(frozen=True, slots=True)
class View:
    """An index as one connection sees it: ``changed`` ids are not to be taken from it but from the vectors."""

    index: CodeIndex
    changed: frozenset[int] = frozenset()
    exact: bool = True
    """Whether the index is of the very state that the connection reads, and not of a newer one."""


class _Lane:
    """One index, the last change that it knows, and what is wrong with its codes."""

    def __init__(self) -> None:
        self.index: CodeIndex | None = None
        self.seq = -1
        self.reason: str | None = None


class CodeLanes:
    """Every index of one store. Thread-safe; after a fork the child loads its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._lanes: dict[Key, _Lane] = {}

    @property
    def reason(self) -> str | None:
        """Why the scan serves in place of the codes, in words, or None."""
        return next((lane.reason for lane in list(self._lanes.values()) if lane.reason), None)

    def forget(self) -> None:
        """Let go of every index; the next search loads what it needs."""
        self._start()

    def view(self, connection: Connection, key: Key) -> View | None:
        """Return the codes of a lane as the connection's snapshot has them, or None when the scan must serve."""
        if key[2] < MIN_DIMENSIONS:
            return None
        if self._pid != os.getpid():
            self._start()
        newest = newest_change(connection)
        with self._lock:
            lane = self._lanes.setdefault(key, _Lane())
            if lane.index is not None and newest <= lane.seq:
                return View(lane.index, exact=newest == lane.seq)
            try:
                return self._follow(connection, key, lane, newest)
            except WrongCodesError as error:
                self._fail(key, lane, newest, str(error))
                return None

    def doubt(self, connection: Connection, key: Key, problem: str) -> None:
        """Take note that codes and vectors disagree, so that the scan serves from now on."""
        with self._lock:
            self._fail(key, self._lanes.setdefault(key, _Lane()), newest_change(connection), problem)

    def _follow(self, connection: Connection, key: Key, lane: _Lane, newest: int) -> View | None:
        space_id, record, dimensions = key
        since = None if lane.seq < 0 else changed_since(connection, lane.seq, record, space_id)
        if lane.index is None:
            if lane.reason is not None and since is not None:
                return None  # nobody has made the codes anew
            # What is not committed yet may be undone, so it must not enter the index.
            return None if self._database.inside else self._load(connection, key, lane, newest)
        if self._database.inside:
            return None if since is None else View(lane.index, frozenset(since))
        if since is None:
            return self._load(connection, key, lane, newest)
        if since:
            gone = np.array(since, dtype=np.int64)
            for entries in read_codes(connection, record, space_id, dimensions, since):
                lane.index.put(entries)
                gone = np.setdiff1d(gone, entries.ids)
            lane.index.remove(gone)
            self._check_removed(connection, key, gone.tolist())
        lane.seq = newest
        return View(lane.index)

    def _load(self, connection: Connection, key: Key, lane: _Lane, newest: int) -> View:
        space_id, record, dimensions = key
        index = CodeIndex(quantizer(dimensions))
        for entries in read_codes(connection, record, space_id, dimensions):
            index.put(entries)
        vectors = connection.value(f"SELECT count(*) FROM {TABLES[record].vectors(space_id)}_rowids")
        if len(index) != vectors:
            raise WrongCodesError(f"{len(index)} codes for {vectors} vectors")
        lane.index, lane.seq, lane.reason = index, newest, None
        return View(index)

    def _check_removed(self, connection: Connection, key: Key, ids: list[int]) -> None:
        name = TABLES[key[1]].vectors(key[0])
        for number in ids:
            if connection.value(f"SELECT 1 FROM {name}_rowids WHERE rowid = ?", (number,)):
                raise WrongCodesError("a code was removed whose vector is still there")

    def _fail(self, key: Key, lane: _Lane, newest: int, problem: str) -> None:
        lane.index, lane.seq = None, newest
        lane.reason = f"the codes of {TABLES[key[1]].table} are wrong ({problem}); every vector is scanned until {REPAIR}"
        log.warning("%s", lane.reason)
