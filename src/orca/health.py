"""What is said about a store and about work done on it: status, verification, imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatus:
    """One embedding space in the store, and how many vectors it holds per kind of row."""

    key: str
    dimensions: int
    current: bool
    vectors: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Jobs of one kind that wait for the same reason."""

    kind: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A store's health. ``counts`` maps a kind of row to its number; ``degraded`` lists reasons in words."""

    backend: str
    location: str
    counts: Mapping[str, int]
    spaces: tuple[SpaceStatus, ...]
    backlog: tuple[Backlog, ...]
    degraded: tuple[str, ...]
    counter: str
    embedder: str | None
    chat_model: str | None
    schema_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was verified: what, whether it holds, and the figures."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of ``verify``: each check, and whether all of them hold."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did: rows stored, rows that were there already, and lines that could not be read."""

    imported: int = 0
    skipped: int = 0
    errors: tuple[Mapping[str, Any], ...] = ()
    sessions: int = 0
