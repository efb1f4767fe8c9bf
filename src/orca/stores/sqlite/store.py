"""The store in one SQLite file: every facet of ``orca.protocols.Store`` over one database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from orca.errors import ConflictError
from orca.health import Check
from orca.protocols import Clock, TokenCounter
from orca.stores.sqlite import scrubbing, tallies, transfer, verify
from orca.stores.sqlite.browse import SQLiteBrowse
from orca.stores.sqlite.connection import Database, ExtensionLoader, load_sqlite_vec
from orca.stores.sqlite.filesystem import filesystem_type
from orca.stores.sqlite.fts import KeywordIndex
from orca.stores.sqlite.jobs import SQLiteJobs
from orca.stores.sqlite.memories import SQLiteMemories
from orca.stores.sqlite.messages import SQLiteMessages
from orca.stores.sqlite.records import TABLES
from orca.stores.sqlite.schema import migrate
from orca.stores.sqlite.sessions import SQLiteSessions
from orca.stores.sqlite.subagents import SQLiteSubAgents
from orca.stores.sqlite.summaries import SQLiteSummaries
from orca.stores.sqlite.vectors import SQLiteVectors

if TYPE_CHECKING:
    from orca.protocols import Store

COUNT_NAMES: dict[str, str] = {"message": "messages", "summary": "summaries", "memory": "memories"}


class SQLiteStore:
    """A store in one file, or in memory with ``":memory:"``. See ``orca.protocols.Store``.

    ``clock`` gives the times of rows that come without one; ``token_counter`` counts messages that come without
    a count. ``synchronous`` is SQLite's: with ``FULL`` an acknowledged write survives a power cut.
    ``busy_timeout`` is how long, in seconds, a write waits for another process. With ``read_only`` nothing is
    created, changed or upgraded. ``extension_loader`` prepares a driver connection for vectors, ``file_system``
    tells the type of a folder's file system.

    Raises ``StoreUnavailableError`` for a file that is damaged, locked or out of reach, and ``MigrationError``
    for one written by a newer version or by another program.
    """

    backend = "sqlite"

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Clock,
        token_counter: TokenCounter | None = None,
        synchronous: str = "FULL",
        busy_timeout: float = 10.0,
        read_only: bool = False,
        extension_loader: ExtensionLoader = load_sqlite_vec,
        file_system: Callable[[Path], str | None] = filesystem_type,
    ) -> None:
        self._clock = clock
        self._database = Database(
            path,
            synchronous=synchronous,
            busy_timeout=busy_timeout,
            read_only=read_only,
            extension_loader=extension_loader,
            file_system=file_system,
        )
        try:
            self._version = migrate(self._database, clock)
            self._indexes = [KeywordIndex(record) for record in TABLES]
            if not read_only:
                with self._database.write() as connection:
                    for index in self._indexes:
                        index.ensure(connection)
            self.vectors = SQLiteVectors(self._database, clock)
        except BaseException:
            self._database.close()
            raise
        self.messages = SQLiteMessages(self._database, clock, token_counter)
        self.sessions = SQLiteSessions(self._database)
        self.summaries = SQLiteSummaries(self._database, clock)
        self.memories = SQLiteMemories(self._database, clock)
        self.subagents = SQLiteSubAgents(self._database, clock)
        self.jobs = SQLiteJobs(self._database)
        self.browse = SQLiteBrowse(self._database)

    @property
    def location(self) -> str:
        """The file's path, or ``:memory:``."""
        return self._database.location

    @property
    def schema_version(self) -> int:
        """The number of the newest migration applied."""
        return self._version

    @property
    def degraded(self) -> tuple[str, ...]:
        """What is missing here, in words: the vector extension, a keyword index, a safe place for the log."""
        with self._database.read() as connection:
            reasons = [index.out_of_step(connection) for index in self._indexes]
        return tuple(
            dict.fromkeys(
                reason
                for reason in [self._database.notice, self.vectors.reason, self.vectors.notice, *reasons]
                if reason
            )
        )

    @contextmanager
    def transaction(self) -> Iterator[SQLiteStore]:
        """Join all writes of the block into one: all or nothing, durable on leaving.

        Nests: when an inner block raises and the outer one catches that, only the inner writes are undone.
        """
        with self._database.write():
            yield self

    def counts(self) -> Mapping[str, int]:
        """Return the number of rows by kind."""
        with self._database.read() as connection:
            return tallies.counts(connection)

    def verify(self) -> Sequence[Check]:
        """Check rows against keyword index, vectors and jobs, orphans, and the file's integrity."""
        return verify.verify(self._database, vectors_available=self.vectors.available)

    def rebuild_index(self) -> Mapping[str, int]:
        """Build keyword indexes and the codes of vectors anew, and count the rows; return the number indexed by kind."""
        self.vectors.rebuild_codes()
        with self._database.write() as connection:
            tallies.recount(connection)
            return {COUNT_NAMES[index.record]: index.rebuild(connection) for index in self._indexes}

    def backup(self, path: str) -> int:
        """Write a complete, consistent copy; return its size in bytes. Raises ``ConflictError`` if it exists."""
        target = Path(path)
        if target.exists():
            raise ConflictError(f"{path} exists already; choose another name")
        with self._database.exclusive() as connection:
            connection.run("VACUUM INTO ?", (str(target),))
        return target.stat().st_size

    def export_rows(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield ``(table, row)`` of every table but the indexes, in an order that can be imported again."""
        return transfer.export_rows(self._database)

    def import_rows(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Mapping[str, int]:
        """Store exported rows, skipping those that exist; return the number stored by table."""
        return transfer.import_rows(self._database, rows, clock=self._clock)

    def scrub(self, texts: Collection[str] = ()) -> Sequence[Check]:
        """Rewrite the file so that no deleted text is left in it, nor in its log; look for ``texts`` in both."""
        self.vectors.forget_codes()
        scrubbing.scrub(self._database, self._indexes, vectors=self.vectors.available)
        return scrubbing.check_files(self._database, texts)

    def close(self) -> None:
        """Let go of files and connections. Closing twice is fine."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


if TYPE_CHECKING:

    def _fulfils_the_contract(store: SQLiteStore) -> Store:
        return store
