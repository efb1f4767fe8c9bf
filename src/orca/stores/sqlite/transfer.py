"""Export and import of rows: everything but the indexes, which are built anew on the other side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orca.errors import ConfigError
from orca.protocols import Clock
from orca.stores.sqlite.connection import Connection, Database
from orca.stores.sqlite.fts import KeywordIndex
from orca.stores.sqlite.jobs import add_missing_embeddings
from orca.stores.sqlite.messages import mark_embeddable
from orca.stores.sqlite.records import ids_json
from orca.text.times import to_text
from orca.types import Record

Values = dict[str, Any]

DERIVED = frozenset({"has_embedding", "embeddable"})
"""Columns that are worked out again on import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A table that is exported: what makes two of its rows the same, and which columns point to which table."""

    identity: tuple[str, ...]
    record: Record | None = None
    references: Mapping[str, str] = field(default_factory=dict)
    id_lists: Mapping[str, str] = field(default_factory=dict)
    numbered: bool = True
    """Whether rows have an integer id of the store's own giving."""


TABLE_ORDER: dict[str, Exported] = {
    "sessions": Exported(identity=("user_id", "id"), numbered=False),
    "session_positions": Exported(identity=("user_id", "session_id", "agent"), numbered=False),
    "short_term_memories": Exported(
        identity=("user_id", "session_id", "agent", "content", "created_at"),
        record="summary",
        id_lists={"source_message_ids": "main_messages"},
    ),
    "main_messages": Exported(
        identity=("session_id", "timestamp", "user_id", "agent", "content_hash"),
        record="message",
        references={"summary_id": "short_term_memories"},
    ),
    "long_term_memories": Exported(
        identity=("user_id", "agent", "content", "created_at", "state"),
        record="memory",
        references={"root_id": "long_term_memories", "superseded_by": "long_term_memories"},
        id_lists={"source_message_ids": "main_messages"},
    ),
    "subagent_runs": Exported(
        identity=("user_id", "session_id", "owner_agent", "agent_name", "task", "started_at"),
        references={"parent_message_id": "main_messages", "parent_run_id": "subagent_runs"},
    ),
    "subagent_messages": Exported(
        identity=("run_id", "role", "content", "timestamp"),
        references={"parent_msg_id": "main_messages", "run_id": "subagent_runs"},
    ),
}


def export_rows(database: Database) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield ``(table, row)`` of every table but the indexes, all from one state of the database."""
    with database.snapshot() as connection:
        for table, exported in TABLE_ORDER.items():
            names = [name for name in _columns(connection, table) if name not in DERIVED]
            order = "id" if exported.numbered else ", ".join(exported.identity)
            for row in connection.iterate(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}"):
                yield table, dict(zip(names, row, strict=True))


def import_rows(
    database: Database, rows: Iterable[tuple[str, Mapping[str, Any]]], *, clock: Clock
) -> dict[str, int]:
    """Store exported rows in one transaction; return the number stored by table.

    A row that exists already is skipped. A row whose id is taken by another one gets a new id, and whatever
    points to it follows. Raises ``ConfigError`` for a table or a column that no export writes.
    """
    with database.write() as connection:
        connection.run("PRAGMA defer_foreign_keys = ON")
        importer = _Importer(connection)
        for table, row in rows:
            importer.add(table, row)
        importer.finish(now=to_text(clock.now()))
        return importer.counts


def _columns(connection: Connection, table: str) -> list[str]:
    return [name for (name,) in connection.all("SELECT name FROM pragma_table_info(?)", (table,))]


class _Importer:
    """Keeps, while rows come in, which id each of them got."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._columns = {table: set(_columns(connection, table)) - DERIVED for table in TABLE_ORDER}
        self._filled = {
            table: bool(connection.value(f"SELECT EXISTS (SELECT 1 FROM {table})")) for table in TABLE_ORDER
        }
        self._ids: dict[str, dict[int, int]] = {table: {} for table in TABLE_ORDER}
        self._taken: dict[str, set[int]] = {table: set() for table in TABLE_ORDER}
        self._new: dict[str, list[int]] = {table: [] for table in TABLE_ORDER}
        self.counts = dict.fromkeys(TABLE_ORDER, 0)

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        """Store one row unless it exists."""
        exported = TABLE_ORDER.get(table)
        if exported is None:
            raise ConfigError(f"table {table!r} is not one that an export holds")
        unknown = set(row) - self._columns[table]
        if unknown:
            raise ConfigError(f"table {table!r} has no column {min(unknown)!r}")
        values = dict(row)
        if not exported.numbered:
            self._add_plain(table, values)
            return
        if table == "subagent_messages":  # the run is part of what makes a step the same
            values["run_id"] = self._ids["subagent_runs"].get(values["run_id"], values["run_id"])
        old = int(values["id"])
        known = self._find(table, exported, values) if self._filled[table] else None
        if known is None:
            known = self._insert(table, values)
            self._new[table].append(known)
            self.counts[table] += 1
        self._taken[table].add(known)
        self._ids[table][old] = known

    def finish(self, *, now: str) -> None:
        """Let references follow the rows that got new ids; build indexes and jobs."""
        for table, exported in TABLE_ORDER.items():
            for column, target in exported.references.items():
                if column != "run_id":
                    self._follow(table, column, target)
            for column, target in exported.id_lists.items():
                self._follow_list(table, column, target)
        self._restore_positions()
        mark_embeddable(self._connection, self._new["main_messages"])
        for table, exported in TABLE_ORDER.items():
            if exported.record is not None and self._new[table]:
                KeywordIndex(exported.record).index_new(self._connection, self._new[table])
                add_missing_embeddings(self._connection, exported.record, now=now)

    def _add_plain(self, table: str, values: Values) -> None:
        self.counts[table] += self._connection.run(
            f"INSERT OR IGNORE INTO {table}({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)})",
            values,
        )

    def _find(self, table: str, exported: Exported, values: Values) -> int | None:
        """Return the id of the stored row that is the same and was not matched before."""
        same = " AND ".join(f"{name} IS :{name}" for name in exported.identity)
        bound = {name: values.get(name) for name in exported.identity}
        found = self._connection.all(
            f"SELECT id FROM {table} WHERE {same} ORDER BY id = :id DESC, id", {**bound, "id": values["id"]}
        )
        return next((int(number) for (number,) in found if number not in self._taken[table]), None)

    def _insert(self, table: str, values: Values) -> int:
        if self._connection.value(f"SELECT 1 FROM {table} WHERE id = ?", (values["id"],)):
            del values["id"]
        if table == "main_messages":
            self._place(values)
        number = self._connection.value(
            f"INSERT INTO {table}({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)}) RETURNING id",
            values,
        )
        return int(number)

    def _place(self, values: Values) -> None:
        """Give a message whose position is taken the next free one of its session."""
        where = "user_id = :user_id AND session_id = :session_id AND agent = :agent"
        scope = {name: values[name] for name in ("user_id", "session_id", "agent")}
        taken = self._connection.value(
            f"SELECT 1 FROM main_messages WHERE {where} AND position = :position",
            {**scope, "position": values["position"]},
        )
        if taken:
            newest = self._connection.value(f"SELECT max(position) FROM main_messages WHERE {where}", scope)
            values["position"] = int(newest) + 1

    def _follow(self, table: str, column: str, target: str) -> None:
        moved = {old: new for old, new in self._ids[target].items() if old != new}
        if not moved:
            return
        self._connection.run(
            f"UPDATE {table} SET {column} = coalesce(:moved ->> ('$.' || {column}), {column})"
            f" WHERE id IN (SELECT value FROM json_each(:new)) AND {column} IS NOT NULL",
            {"moved": json.dumps(moved), "new": ids_json(self._new[table])},
        )

    def _follow_list(self, table: str, column: str, target: str) -> None:
        moved = {old: new for old, new in self._ids[target].items() if old != new}
        if not moved:
            return
        self._connection.run(
            f"UPDATE {table} SET {column} = (SELECT json_group_array(coalesce(:moved ->> ('$.' || source.value),"
            f" source.value)) FROM json_each({table}.{column}) AS source)"
            " WHERE id IN (SELECT value FROM json_each(:new))",
            {"moved": json.dumps(moved), "new": ids_json(self._new[table])},
        )

    def _restore_positions(self) -> None:
        """Never give out a position again that an imported message has."""
        if self._new["main_messages"]:
            self._connection.run(
                "INSERT INTO session_positions(user_id, session_id, agent, last_position)"
                " SELECT user_id, session_id, agent, max(position) FROM main_messages"
                " WHERE TRUE GROUP BY user_id, session_id, agent"
                " ON CONFLICT DO UPDATE SET last_position = max(last_position, excluded.last_position)"
            )
