"""The one place that touches the SQLite driver: connections, transactions, and the driver's errors in Orca's words.

One connection writes, under a lock and with ``BEGIN IMMEDIATE``, because a transaction that reads first and
writes later fails at once when another process wrote in between, whatever the busy timeout. Every thread reads
through its own connection. A database in memory has one connection for everything. After a fork the child
opens its own connections and leaves the parent's alone: closing them would touch the parent's locks.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

import apsw
import sqlite_vec

from orca.errors import StoreError, StoreUnavailableError
from orca.stores.sqlite.errors import translate
from orca.stores.sqlite.filesystem import NETWORK_TYPES, filesystem_type

Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]
ExtensionLoader = Callable[[Any], None]
"""Prepares a driver connection for vectors; raises when it cannot."""

SQLITE_HEADER_BYTES = 100
MEMORY = ":memory:"
BUSY_STEP_SECONDS = 0.01
"""Pause before the journal mode is asked again while another process converts the same new file."""

_abandoned: list[Connection] = []
"""Connections inherited over a fork, kept so that the garbage collector does not close them."""


def load_sqlite_vec(raw: Any) -> None:
    """Load the sqlite-vec extension into a driver connection."""
    raw.enable_load_extension(True)  # noqa: FBT003 -- the driver's own signature
    try:
        raw.load_extension(sqlite_vec.loadable_path())
    finally:
        raw.enable_load_extension(False)  # noqa: FBT003 -- the driver's own signature


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn the driver's errors of the block into Orca's, naming ``location``."""
    try:
        yield
    except apsw.Error as error:
        raise translate(type(error).__name__, str(error), location) from error
    except OverflowError as error:
        raise StoreError(f"{location}: a number is too large for SQLite, which ends at 2**63 - 1") from error


class Connection:
    """A driver connection that speaks rows and Orca's errors. Safe to share between threads, one at a time."""

    def __init__(self, raw: apsw.Connection, location: str) -> None:
        self.raw = raw
        self.location = location
        self.fts5_reason: str | None = None
        self.vector_reason: str | None = None
        self._lock = threading.RLock()

    def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return every row of a statement."""
        with self._lock, translated(self.location):
            return self.raw.execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """Return the first row of a statement, or None."""
        with self._lock, translated(self.location):
            return self.raw.execute(sql, parameters).fetchone()

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(sql, parameters)
        return None if row is None else row[0]

    def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement (or several, without parameters); return how many rows the last one changed."""
        with self._lock, translated(self.location):
            self.raw.execute(sql, parameters).fetchall()
            return self.raw.changes()

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        """Run a statement once for each of ``rows``."""
        with self._lock, translated(self.location):
            self.raw.executemany(sql, rows).fetchall()

    def iterate(self, sql: str, parameters: Parameters = ()) -> Iterator[Row]:
        """Yield the rows of a statement without holding all of them."""
        with translated(self.location):
            yield from self.raw.execute(sql, parameters)

    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.raw.in_transaction

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo the writes of the block, and only these, when it raises."""
        self.run("SAVEPOINT block")
        try:
            yield
        except BaseException:
            # A full disk may already have rolled everything back, and the savepoint with it.
            if self.in_transaction():
                self.run("ROLLBACK TO block; RELEASE block")
            raise
        self.run("RELEASE block")

    def close(self) -> None:
        """Close the driver's connection, waiting for a statement that runs."""
        with self._lock, translated(self.location):
            self.raw.close()


class Database:
    """The connections to one database file, and the transactions over them."""

    def __init__(
        self,
        path: str | Path,
        *,
        synchronous: str = "FULL",
        busy_timeout: float = 10.0,
        read_only: bool = False,
        extension_loader: ExtensionLoader = load_sqlite_vec,
        file_system: Callable[[Path], str | None] = filesystem_type,
    ) -> None:
        self.in_memory = str(path) == MEMORY
        self.path = Path(path)
        self.location = MEMORY if self.in_memory else str(self.path)
        self.read_only = read_only
        self.notice: str | None = None
        self.vector_reason: str | None = None
        self._synchronous = synchronous
        self._busy_timeout = busy_timeout
        self._load_extension = extension_loader
        self._immutable = False
        self._closed = False
        self._writer: Connection | None = None
        self._reset()
        if not self.in_memory:
            self._prepare_folder(file_system)
        self._writer = self._connect()
        if not (self.in_memory or read_only):
            self._set_journal_mode(self._writer)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._local = threading.local()
        self._readers: WeakSet[Connection] = WeakSet()
        self._watcher: Connection | None = None

    def _prepare_folder(self, file_system: Callable[[Path], str | None]) -> None:
        if self.read_only:
            if not self.path.is_file():
                raise StoreUnavailableError(f"{self.location}: there is no such file")
        else:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreUnavailableError(
                    f"{self.location}: the folder cannot be made ({error})"
                ) from error
        _check_length(self.path)
        kind = file_system(self.path.parent)
        if kind in NETWORK_TYPES:
            self.notice = (
                f"{self.path.parent} is a network or shared folder ({kind}), where SQLite's write-ahead log is "
                "not safe; the slower rollback journal is used, and one machine should write at a time"
            )

    def _connect(self) -> Connection:
        with translated(self.location):
            raw = self._open()
        raw.set_busy_timeout(int(self._busy_timeout * 1000))
        connection = Connection(raw, self.location)
        if not (self.read_only or self.in_memory):
            connection.run(f"PRAGMA synchronous = {self._synchronous}")
        connection.run("PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON")
        if "ENABLE_FTS5" not in apsw.compile_options:
            connection.fts5_reason = "this SQLite has no FTS5"
        try:
            self._load_extension(raw)
        except (apsw.Error, AttributeError, OSError, RuntimeError) as error:
            connection.vector_reason = f"sqlite-vec cannot be loaded ({type(error).__name__}: {error})"
        connection.vector_reason = connection.vector_reason or self.vector_reason
        return connection

    def _open(self) -> apsw.Connection:
        if not self.read_only:
            return apsw.Connection(self.location)
        uri = self.path.resolve().as_uri()
        if not self._immutable:
            try:
                raw = apsw.Connection(
                    f"{uri}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
                )
                raw.execute("PRAGMA schema_version").fetchall()
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                # A write-ahead log cannot be read from a folder that cannot be written; without one there is
                # nothing but the file itself, which may then be read as it is.
                if _size(self.path.with_name(self.path.name + "-wal")):
                    raise
                self._immutable = True
            else:
                return raw
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(f"{uri}?mode=ro&immutable=1", flags=flags)

    def _set_journal_mode(self, connection: Connection) -> None:
        """Set the journal mode; SQLite does not wait its busy timeout for this lock, so it is asked again."""
        wanted = "delete" if self.notice else "wal"
        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                if connection.value("PRAGMA journal_mode") == wanted:
                    return
                if connection.value(f"PRAGMA journal_mode = {wanted}") == wanted:
                    return
            except StoreUnavailableError as error:
                if not isinstance(error.__cause__, apsw.BusyError):
                    raise
            if time.monotonic() > deadline:
                raise StoreUnavailableError(f"{self.location}: another process holds the file locked")
            time.sleep(BUSY_STEP_SECONDS)

    def _check(self) -> None:
        if self._closed:
            raise StoreUnavailableError(f"{self.location}: the store is closed; open it again")
        if self._pid != os.getpid():
            inherited = self._writer
            _abandoned.extend(self._readers)
            self._reset()
            if not self.in_memory:  # the child has its own copy of the memory
                self._writer = None
                if inherited is not None:
                    _abandoned.append(inherited)

    def _writing(self) -> Connection:
        if self._writer is None:
            self._writer = self._connect()
        return self._writer

    @property
    def inside(self) -> bool:
        """Whether this thread is in a transaction."""
        return getattr(self._local, "inside", False)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection to read from: inside a transaction the writing one, which sees its own writes."""
        self._check()
        if self.in_memory or self.inside:
            with self._lock:
                yield self._writing()
            return
        connection: Connection | None = getattr(self._local, "reader", None)
        if connection is None:
            connection = self._connect()
            self._local.reader = connection
            self._readers.add(connection)
        yield connection

    def version(self) -> int:
        """Return a number that is another one whenever somebody committed since the last call, in any process."""
        self._check()
        if self.in_memory:
            return int(self._writing().value("SELECT total_changes()"))
        if (
            self._watcher is None
        ):  # PRAGMA data_version tells what others wrote, so this connection never writes
            self._watcher = self._connect()
            self._readers.add(self._watcher)
        return int(self._watcher.value("PRAGMA data_version"))

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Give a connection on which several reads see one and the same state."""
        with self.read() as connection:
            if connection.in_transaction():
                yield connection
                return
            connection.run("BEGIN")
            try:
                yield connection
            finally:
                # Rows that are read one by one may be given up after the store was closed.
                if not self._closed and connection.in_transaction():
                    connection.run("ROLLBACK")

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """Give the writing connection inside a transaction: all or nothing, durable on leaving.

        What is not ``durable`` is seen by everybody at once, and may be lost in a power cut until something durable
        follows; with a write-ahead log it can harm nothing else, and without one it is durable all the same. An inner
        block is a savepoint: when it raises and the caller catches that, only its own writes are undone.
        """
        self._check()
        with self._lock:
            connection = self._writing()
            if self.inside:
                with connection.savepoint():
                    yield connection
                return
            waits = durable or self.notice is not None
            if not waits:
                connection.run("PRAGMA synchronous = NORMAL")
            try:
                connection.run("BEGIN IMMEDIATE")
                self._local.inside = True
                yield connection
                connection.run("COMMIT")
            except BaseException:
                if connection.in_transaction():
                    connection.run("ROLLBACK")
                raise
            finally:
                self._local.inside = False
                if not waits:
                    connection.run(f"PRAGMA synchronous = {self._synchronous}")

    @contextmanager
    def exclusive(self) -> Iterator[Connection]:
        """Give the writing connection outside any transaction, for statements that need that (``VACUUM``)."""
        self._check()
        with self._lock:
            if self.inside:
                raise StoreError("this cannot be done inside a transaction; leave it first")
            yield self._writing()

    def close(self) -> None:
        """Close every connection; a second call does nothing."""
        if self._closed:
            return
        self._check()
        with self._lock:
            self._closed = True
            for connection in [*self._readers, self._writer]:
                if connection is not None:
                    connection.close()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _check_length(path: Path) -> None:
    """Raise ``StoreUnavailableError`` when the file is shorter than its own header says.

    Layout: "Database File Format", section 1.3: page size at offset 16, size in pages at 28, valid when the
    counters at 24 and 92 agree. While a write-ahead log or a journal exists the file may lag behind legitimately.
    """
    size = _size(path)
    if not size or any(_size(path.with_name(path.name + end)) for end in ("-wal", "-journal")):
        return
    try:
        with path.open("rb") as file:
            header = file.read(SQLITE_HEADER_BYTES)
    except OSError as error:
        raise StoreUnavailableError(f"{path}: the file cannot be read ({error})") from error
    if not header.startswith(b"SQLite format 3\0") or len(header) < SQLITE_HEADER_BYTES:
        raise StoreUnavailableError(
            f"{path}: the file is not a database or is damaged; keep it aside and restore a backup"
        )
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65_536 if page_size == 1 else page_size
    pages = int.from_bytes(header[28:32], "big") if header[24:28] == header[92:96] else 0
    if size < page_size * pages:
        raise StoreUnavailableError(
            f"{path}: the file is damaged: it ends after {size} of {page_size * pages} bytes; "
            "keep it aside and restore a backup"
        )
