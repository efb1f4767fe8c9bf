"""Long-term memories with every version of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from orca.errors import ConflictError, NotFoundError
from orca.protocols import Clock
from orca.stores.sqlite.cascade import column, delete_memories, forget_sources, leave_indexes
from orca.stores.sqlite.columns import metadata_column, metadata_of, one_of, optional_text
from orca.stores.sqlite.connection import Connection, Database, Row
from orca.stores.sqlite.fts import Entry, KeywordIndex
from orca.stores.sqlite.jobs import add_jobs
from orca.stores.sqlite.records import BY_ID, checked, ids_json, sql_limit
from orca.text.normalize import clean
from orca.text.times import from_text, optional_from_text, optional_to_text, to_text
from orca.types import MEMORY_KINDS, Job, KeywordResult, Memory, MemoryKind, Scope

_COLUMNS = (
    "user_id, agent, content, memory_type, source_session, source_message_ids, origin, state, slot, confidence,"
    " evidence_count, access_count, last_accessed, expires_at, pinned, root_id, superseded_by, valid_from, valid_to,"
    " created_at, updated_at, metadata"
)
MEMORY_COLUMNS = f"id, has_embedding, {_COLUMNS}"
_INSERT = (
    f"INSERT INTO long_term_memories({_COLUMNS})"
    f" VALUES ({', '.join('?' * len(_COLUMNS.split(',')))}) RETURNING id"
)
_OWNED = "user_id = :user AND agent = :agent"
_VALID = (
    "state IN ('active', 'superseded') AND coalesce(valid_from, created_at) <= :as_of"
    " AND (valid_to IS NULL OR valid_to > :as_of) AND (expires_at IS NULL OR expires_at > :as_of)"
)


class SQLiteMemories:
    """The memory facet. See ``orca.protocols.MemoryStore``."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._index = KeywordIndex("memory")

    def append(self, memory: Memory, *, scope: Scope) -> Memory:
        """Store a new memory, its keyword row and its embedding job; return it with its id."""
        with self._database.write() as connection:
            return self._insert(connection, memory, checked(scope), root_id=memory.root_id)

    def get(self, memory_id: int, *, scope: Scope) -> Memory:
        """Return one memory in any state. Raises ``NotFoundError``."""
        with self._database.read() as connection:
            return _get(connection, memory_id, scope)

    def get_many(self, memory_ids: Sequence[int], *, scope: Scope) -> list[Memory]:
        """Return those of the memories that exist, in order of id."""
        with self._database.read() as connection:
            return _get_many(connection, memory_ids, scope)

    def find(
        self,
        *,
        scope: Scope,
        kind: MemoryKind | None = None,
        include_inactive: bool = False,
        as_of: datetime | None = None,
        limit: int | None = None,
    ) -> list[Memory]:
        """Return memories in order of id, the newest ``limit``; with ``as_of`` those valid at that instant."""
        conditions = [_OWNED, "(:kind IS NULL OR memory_type = :kind)"]
        if as_of is not None:
            conditions.append(_VALID)
        elif not include_inactive:
            conditions.append("state = 'active'")
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {MEMORY_COLUMNS} FROM long_term_memories WHERE {' AND '.join(conditions)}"
                " ORDER BY id DESC LIMIT :limit",
                {
                    **_values(scope),
                    "kind": kind,
                    "as_of": optional_to_text(as_of),
                    "limit": sql_limit(limit),
                },
            )
        return [memory_of(row) for row in reversed(rows)]

    def alike(
        self, *, slots: Sequence[str], contents: Sequence[str], scope: Scope, limit: int
    ) -> list[Memory]:
        """Return memories in any state with one of the slots ("a:*" for all that begin so) or of the texts."""
        families = [slot.removesuffix("*") for slot in slots if slot.endswith("*")]
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {MEMORY_COLUMNS} FROM long_term_memories WHERE id IN ("
                f"SELECT id FROM long_term_memories WHERE {_OWNED} AND slot IN (SELECT value FROM json_each(:slots))"
                " UNION SELECT memory.id FROM json_each(:families) CROSS JOIN long_term_memories AS memory"
                " WHERE memory.user_id = :user AND memory.agent = :agent"
                " AND memory.slot >= value AND memory.slot < value || char(1114111)"
                f" UNION SELECT id FROM long_term_memories WHERE {_OWNED}"
                " AND content IN (SELECT value FROM json_each(:contents)))"
                " ORDER BY state = 'active' DESC, id DESC LIMIT :limit",
                {
                    **_values(scope),
                    "slots": json.dumps(list(slots)),
                    "families": json.dumps(families),
                    "contents": json.dumps([clean(content) for content in contents]),
                    "limit": sql_limit(limit),
                },
            )
        return sorted(map(memory_of, rows), key=lambda memory: memory.id or 0)

    def supersede(self, memory_id: int, replacement: Memory, *, scope: Scope, now: datetime) -> Memory:
        """Close one memory and store its replacement as the next version; return the new one."""
        with self._database.write() as connection:
            old = _get(connection, memory_id, scope)
            if old.state != "active":
                raise ConflictError(
                    f"memory {memory_id} is {old.state}; only an active one can be superseded"
                )
            version = replace(
                replacement,
                created_at=replacement.created_at or old.created_at,
                # A copy of the old version carries its start; the new one is valid from now on.
                valid_from=now
                if replacement.valid_from in (None, old.valid_from)
                else replacement.valid_from,
                valid_to=None,
                superseded_by=None,
                updated_at=now,
            )
            new = self._insert(connection, version, scope, root_id=old.root_id or old.id)
            leave_indexes(connection, "memory", [memory_id])
            connection.run(
                "UPDATE long_term_memories SET state = 'superseded', superseded_by = ?, valid_to = ?,"
                " updated_at = ?, has_embedding = FALSE WHERE id = ?",
                (new.id, to_text(new.valid_from or now), to_text(now), memory_id),
            )
        return new

    def update(self, memory: Memory, *, scope: Scope) -> Memory:
        """Write the fields that are not text; keyword index, vectors and jobs follow the state."""
        number = memory.id if memory.id is not None else -1
        with self._database.write() as connection:
            old = _get(connection, number, scope)
            connection.run(
                "UPDATE long_term_memories SET memory_type = ?, state = ?, slot = ?, pinned = ?, confidence = ?,"
                " evidence_count = ?, expires_at = ?, valid_from = ?, valid_to = ?, superseded_by = ?,"
                " source_message_ids = ?, metadata = ?, updated_at = ? WHERE id = ?",
                (
                    one_of("kind", memory.kind, MEMORY_KINDS),
                    memory.state,
                    optional_text(memory.slot),
                    memory.pinned,
                    memory.confidence,
                    memory.evidence_count,
                    optional_to_text(memory.expires_at),
                    optional_to_text(memory.valid_from),
                    optional_to_text(memory.valid_to),
                    memory.superseded_by,
                    ids_json(memory.source_message_ids),
                    metadata_column(memory.metadata),
                    to_text(self._clock.now()),
                    number,
                ),
            )
            if old.state == "active" and memory.state != "active":
                leave_indexes(connection, "memory", [number])
                connection.run("UPDATE long_term_memories SET has_embedding = FALSE WHERE id = ?", (number,))
            elif old.state != "active" and memory.state == "active":
                self._enter(connection, old)
            return _get(connection, number, scope)

    def history(self, memory_id: int, *, scope: Scope) -> list[Memory]:
        """Return every version of the memory, oldest first. Raises ``NotFoundError``."""
        with self._database.snapshot() as connection:
            memory = _get(connection, memory_id, scope)
            rows = connection.all(
                f"SELECT {MEMORY_COLUMNS} FROM long_term_memories WHERE root_id = :root AND {_OWNED} ORDER BY id",
                {**_values(scope), "root": memory.root_id},
            )
        return [memory_of(row) for row in rows]

    def search(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordResult:
        """Search active memories by index terms."""
        checked(scope)
        with self._database.snapshot() as connection:
            return self._index.search(connection, terms, scope=scope, session=None, limit=limit)

    def most_accessed(self, *, scope: Scope, limit: int, now: datetime) -> list[Memory]:
        """Return active memories by pinned, then access count, then confidence, then newest; expired ones last."""
        with self._database.read() as connection:
            rows = connection.all(
                f"SELECT {MEMORY_COLUMNS} FROM long_term_memories WHERE {_OWNED} AND state = 'active'"
                " ORDER BY expires_at IS NOT NULL AND expires_at <= :now, pinned DESC, access_count DESC,"
                " confidence DESC, id DESC LIMIT :limit",
                {**_values(scope), "now": to_text(now), "limit": sql_limit(limit)},
            )
        return [memory_of(row) for row in rows]

    def replaced(self, *, message_ids: Sequence[int], scope: Scope) -> list[tuple[Memory, Memory]]:
        """Return superseded memories made from any of the messages, each with the active one in its place."""
        with self._database.snapshot() as connection:
            stale = connection.all(
                f"SELECT {MEMORY_COLUMNS} FROM long_term_memories AS old WHERE {_OWNED} AND state = 'superseded'"
                " AND EXISTS (SELECT 1 FROM json_each(old.source_message_ids)"
                " WHERE value IN (SELECT value FROM json_each(:messages))) ORDER BY id",
                {**_values(scope), "messages": ids_json(message_ids)},
            )
            versions = [memory_of(row) for row in stale]
            active = connection.all(
                f"SELECT {MEMORY_COLUMNS} FROM long_term_memories WHERE {_OWNED} AND state = 'active'"
                " AND root_id IN (SELECT value FROM json_each(:roots))",
                {**_values(scope), "roots": ids_json([version.root_id or 0 for version in versions])},
            )
        current = {memory.root_id: memory for memory in map(memory_of, active)}
        return [(version, current[version.root_id]) for version in versions if version.root_id in current]

    def touch(self, memory_ids: Sequence[int], *, scope: Scope, now: datetime) -> None:
        """Count one access of each memory. A count is not worth waiting for the disk."""
        with self._database.write(durable=False) as connection:
            connection.run(
                "UPDATE long_term_memories SET access_count = access_count + 1, last_accessed = :now"
                f" WHERE {BY_ID}",
                {**_values(scope), "ids": ids_json(memory_ids), "now": to_text(now)},
            )

    def delete(self, memory_ids: Sequence[int], *, scope: Scope) -> int:
        """Delete memories for good, every version of each, with the summaries of their sources; return how many went."""
        with self._database.write() as connection:
            versions = column(
                connection,
                f"SELECT id FROM long_term_memories WHERE {_OWNED} AND root_id IN (SELECT root_id"
                f" FROM long_term_memories WHERE {BY_ID})",
                {**_values(scope), "ids": ids_json(memory_ids)},
            )
            forget_sources(connection, versions, user=scope.user)
            return delete_memories(connection, versions)

    def _insert(self, connection: Connection, memory: Memory, scope: Scope, *, root_id: int | None) -> Memory:
        one_of("kind", memory.kind, MEMORY_KINDS)
        created = memory.created_at or self._clock.now()
        stored = replace(
            memory,
            content=clean(memory.content),
            user=scope.user,
            agent=scope.agent,
            created_at=created,
            updated_at=memory.updated_at or created,
            valid_from=memory.valid_from or created,
            has_embedding=False,
            root_id=root_id,
        )
        number = int(connection.value(_INSERT, _row(stored)))
        if root_id is None:
            connection.run("UPDATE long_term_memories SET root_id = id WHERE id = ?", (number,))
        stored = replace(stored, id=number, root_id=root_id or number)
        if stored.state == "active":
            self._enter(connection, stored)
        return stored

    def _enter(self, connection: Connection, memory: Memory) -> None:
        """Put an active memory into keyword index and jobs."""
        number = memory.id or 0
        self._index.add(connection, [Entry(number, memory.content, memory.user, memory.agent, "")])
        job = Job(
            kind="embed",
            record="memory",
            target_id=number,
            user=memory.user,
            session=memory.source_session or "",
            agent=memory.agent,
        )
        add_jobs(connection, [job], now=to_text(self._clock.now()))


def _values(scope: Scope) -> dict[str, object]:
    return {"user": checked(scope).user, "agent": scope.agent}


def _get_many(connection: Connection, ids: Sequence[int], scope: Scope) -> list[Memory]:
    rows = connection.all(
        f"SELECT {MEMORY_COLUMNS} FROM long_term_memories WHERE {BY_ID} ORDER BY id",
        {**_values(scope), "ids": ids_json(ids)},
    )
    return [memory_of(row) for row in rows]


def _get(connection: Connection, number: int, scope: Scope) -> Memory:
    found = _get_many(connection, [number], scope)
    if not found:
        raise NotFoundError(f"there is no memory {number} of user {scope.user!r}")
    return found[0]


def _row(memory: Memory) -> Row:
    return (
        memory.user,
        memory.agent,
        memory.content,
        memory.kind,
        optional_text(memory.source_session),
        ids_json(memory.source_message_ids),
        memory.origin,
        memory.state,
        optional_text(memory.slot),
        memory.confidence,
        memory.evidence_count,
        memory.access_count,
        optional_to_text(memory.last_accessed),
        optional_to_text(memory.expires_at),
        memory.pinned,
        memory.root_id,
        memory.superseded_by,
        optional_to_text(memory.valid_from),
        optional_to_text(memory.valid_to),
        optional_to_text(memory.created_at),
        optional_to_text(memory.updated_at),
        metadata_column(memory.metadata),
    )


def memory_of(row: Row) -> Memory:
    """Return a row of MEMORY_COLUMNS as a memory."""
    (
        number, embedded, user, agent, content, kind, session, sources, origin, state, slot, confidence, evidence,
        accesses, accessed, expires, pinned, root_id, superseded_by, valid_from, valid_to, created, updated,
        metadata,
    ) = row  # fmt: skip
    return Memory(
        id=number,
        has_embedding=bool(embedded),
        user=user,
        agent=agent,
        content=content,
        kind=kind,
        source_session=session,
        source_message_ids=tuple(json.loads(sources)),
        origin=origin,
        state=state,
        slot=slot,
        confidence=confidence,
        evidence_count=evidence,
        access_count=accesses,
        last_accessed=optional_from_text(accessed),
        expires_at=optional_from_text(expires),
        pinned=bool(pinned),
        root_id=root_id,
        superseded_by=superseded_by,
        valid_from=optional_from_text(valid_from),
        valid_to=optional_from_text(valid_to),
        created_at=from_text(created),
        updated_at=optional_from_text(updated),
        metadata=metadata_of(metadata),
    )
