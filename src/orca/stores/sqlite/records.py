"""The three kinds of rows that can be searched, and what the indexes need to know about each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from orca.errors import ConfigError
from orca.text.parts import indexed_text
from orca.types import Message, Record, Scope

MAX_SQL_LIMIT = 2**63 - 1

BY_ID = "id IN (SELECT value FROM json_each(:ids)) AND +user_id = :user AND +agent = :agent"
"""Condition for the rows of the given ids that are the user's. Without the "+" SQLite, which knows nothing of how
many rows a user has, takes an index that leads with the user and reads all of them to find the few that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTable:
    """Where a kind of row lives: its table, its keyword and vector tables, and SQL conditions and columns."""

    record: Record
    table: str
    vector_key: str
    """The vector table's name for the row's id."""
    live: str
    """Condition under which a row belongs to the keyword index."""
    embeddable: str
    """Condition under which a row gets a vector."""
    session: str
    """The row's session as an SQL expression; memories belong to none."""
    position: str
    name: str
    """The speaker's name as an SQL expression, which is indexed with the text."""

    @property
    def keywords(self) -> str:
        """Return the keyword table."""
        return f"fts_{self.table}"

    @property
    def terms(self) -> str:
        """Return the table of the rows' terms."""
        return f"terms_{self.table}"

    def vectors(self, space_id: int) -> str:
        """Return the vector table of an embedding space; the first space's has the plain name of the design."""
        return f"vec_{self.table}" if space_id == 1 else f"vec_{self.table}_{space_id}"


TABLES: dict[Record, RecordTable] = {
    "message": RecordTable(
        record="message",
        table="main_messages",
        vector_key="msg_id",
        live="TRUE",
        embeddable="embeddable",
        session="session_id",
        position="position",
        name="name",
    ),
    "summary": RecordTable(
        record="summary",
        table="short_term_memories",
        vector_key="summary_id",
        live="TRUE",
        embeddable="TRUE",
        session="session_id",
        position="0",
        name="NULL",
    ),
    "memory": RecordTable(
        record="memory",
        table="long_term_memories",
        vector_key="memory_id",
        live="state = 'active'",
        embeddable="state = 'active'",
        session="''",
        position="0",
        name="NULL",
    ),
}


def row_text(name: str | None, content: str) -> str:
    """Return what is indexed of a row, from its columns."""
    return indexed_text(Message(role="user", name=name, content=content))


def ids_json(ids: Iterable[int]) -> str:
    """Return ids as the JSON list that ``json_each`` takes, which has no limit on their number."""
    return json.dumps([int(number) for number in ids])


def sql_limit(limit: int | None) -> int:
    """Return a limit for SQL: -1, which means all, for None. Raises ``ConfigError`` for a negative one."""
    if limit is None:
        return -1
    if limit < 0:
        raise ConfigError(f"limit is {limit}; give 0 or more, or None for all")
    return min(limit, MAX_SQL_LIMIT)


def checked(scope: Scope) -> Scope:
    """Return the scope. Raises ``ConfigError`` when an id cannot be stored as it is, instead of merging two ids."""
    checked_id("user", scope.user)
    checked_id("session", scope.session)
    checked_id("agent", scope.agent)
    return scope


def checked_id(field: str, text: str) -> str:
    """Return an id given as text. Raises ``ConfigError`` when it holds half a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError(f"{field} is {text!r}, which is not valid Unicode text") from error
    return text


@lru_cache(maxsize=4096)
def scope_digest(*parts: str) -> bytes:
    """Return eight bytes that stand for the parts of a scope inside an index; rows are compared exactly after."""
    return blake2b(json.dumps(parts).encode(), digest_size=8).digest()


def scope_number(*parts: str) -> int:
    """Return the digest as a positive 63-bit integer, which SQLite can hold."""
    return int.from_bytes(scope_digest(*parts), "big") >> 1
