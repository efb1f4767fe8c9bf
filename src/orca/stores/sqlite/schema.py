"""Bringing a database file to this version's schema."""

from __future__ import annotations

from pathlib import Path

from orca.errors import MigrationError, StoreError
from orca.protocols import Clock
from orca.stores import _migrate
from orca.stores.sqlite.connection import Connection, Database
from orca.text.times import to_text

PACKAGE = "orca.stores.sqlite"
OWN_TABLES = frozenset({"schema_migrations", "main_messages", "short_term_memories", "long_term_memories"})
"""Any of these in a file without a recorded version means that a migration of ours was broken off."""

APPLICATION_ID = 0x4F524341
"""``ORCA`` in ASCII, written into the file's header so that tools and we can tell whose file it is."""


def migrate(database: Database, clock: Clock) -> int:
    """Apply the migrations that the file lacks; return the schema's version.

    A copy is made beside an existing file first. Several processes may do this at once: the first one that gets
    the write lock migrates, the others find nothing left to do. Raises ``MigrationError`` for a file of a newer
    version, of another program, or of an older version when it was opened read-only.
    """
    migrations = _migrate.load(PACKAGE)
    with database.read() as connection:
        applied = schema_version(connection)
        foreign = _foreign_tables(connection) if not applied else []
    steps = _migrate.pending(migrations, applied=applied, location=database.location)
    if foreign:
        raise MigrationError(
            f"{database.location} is the database of another program (it has the table {foreign[0]!r}); "
            "choose another file"
        )
    if not steps:
        return applied
    if database.read_only:
        raise MigrationError(
            f"{database.location} has schema version {applied}, this version of Orca needs {len(migrations)}; "
            "open it once without read-only to upgrade it"
        )
    _back_up(database, applied)
    with database.write() as connection:
        applied = schema_version(connection)  # another process may have been quicker
        for step in _migrate.pending(migrations, applied=applied, location=database.location):
            try:
                connection.run(step.sql)
                connection.run(
                    "INSERT INTO schema_migrations(version, name, applied_at) VALUES (?, ?, ?)",
                    (step.number, step.name, to_text(clock.now())),
                )
            except StoreError as error:
                raise MigrationError(
                    f"{database.location}: migration {step.number} ({step.name}) failed, nothing was changed: {error}"
                ) from error
        connection.run(f"PRAGMA application_id = {APPLICATION_ID}")
    return len(migrations)


def schema_version(connection: Connection) -> int:
    """Return the number of the newest migration applied, 0 for an empty file."""
    known = connection.value(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'"
    )
    return int(connection.value("SELECT max(version) FROM schema_migrations") or 0) if known else 0


def _foreign_tables(connection: Connection) -> list[str]:
    """Return the tables of a file that no migration has touched and none of which is ours."""
    names = [
        name
        for (name,) in connection.all(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
    ]
    return names if OWN_TABLES.isdisjoint(names) else []


def _back_up(database: Database, applied: int) -> None:
    """Copy an existing, non-empty file to ``<name>.v<version>.bak`` before its schema changes."""
    with database.exclusive() as connection:
        empty = not connection.value("SELECT count(*) FROM sqlite_schema")
        if database.in_memory or empty:
            return
        target = backup_path(database.path, applied)
        if not target.exists():
            connection.run("VACUUM INTO ?", (str(target),))


def backup_path(path: Path, applied: int) -> Path:
    """Return where the copy made before an upgrade from schema version ``applied`` lies."""
    return path.with_name(f"{path.name}.v{applied}.bak")
