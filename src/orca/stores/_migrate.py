"""Numbered SQL migrations: found in a package, put in order, and never applied to a newer schema.

Each backend keeps its files as ``migrations/NNNN_name.sql`` and applies what ``pending`` returns, recording
each one in the transaction that applies it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from orca.errors import MigrationError

_NAME = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of a schema: its number, its name and its SQL, which holds no transaction statement."""

    number: int
    name: str
    sql: str


def load(package: str) -> tuple[Migration, ...]:
    """Return the migrations of ``package``'s folder ``migrations``, in order.

    Raises ``MigrationError`` when the numbers are not 1, 2, 3 … without a gap.
    """
    found = []
    for file in resources.files(package).joinpath("migrations").iterdir():
        match = _NAME.fullmatch(file.name)
        if match:
            sql = file.read_text(encoding="utf-8")
            found.append(Migration(number=int(match[1]), name=match[2], sql=sql))
    found.sort(key=lambda migration: migration.number)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationError(f"the migrations of {package} are not numbered 1, 2, 3 … without a gap")
    return tuple(found)


def pending(migrations: Sequence[Migration], *, applied: int, location: str) -> tuple[Migration, ...]:
    """Return the migrations after number ``applied``.

    Raises ``MigrationError`` when the store at ``location`` was written by a newer version of Orca.
    """
    newest = migrations[-1].number if migrations else 0
    if applied > newest:
        raise MigrationError(
            f"{location} has schema version {applied}, but this version of Orca knows only up to {newest}; "
            "upgrade Orca, or open a backup made before the upgrade"
        )
    return tuple(migration for migration in migrations if migration.number > applied)
