"""What a statement reads: the rows that it names, however many the user has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from orca.stores.sqlite.store import SQLiteStore
from orca.types import Memory, Message, SubAgentMessage, SubAgentRun, Summary

from .sqlite_helpers import SCOPE, SteppingClock, open_store

ALL_OF_A_USER = re.compile(r"(SCAN (?!json_each|given)|INDEX \w+ \(user_id=\?\)$)")
"""A plan that reads a whole table, or every row of a user."""


@contextmanager
def statements(store: SQLiteStore) -> Iterator[list[tuple[str, Any]]]:
    """The statements that run in the block, with what was bound to them."""
    ran: list[tuple[str, Any]] = []
    with store._database.exclusive() as connection:
        raw = connection.raw

    def note(_: Any, sql: str, bindings: Any) -> bool:
        ran.append((sql, bindings))
        return True

    raw.exec_trace = note
    try:
        yield ran
    finally:
        raw.exec_trace = None


def plans(store: SQLiteStore, ran: list[tuple[str, Any]]) -> list[str]:
    with store._database.exclusive() as connection:
        return [
            f"{row[3]} :: {sql}"
            for sql, bindings in ran
            if sql.startswith(("SELECT", "UPDATE", "WITH"))
            for row in connection.all(f"EXPLAIN QUERY PLAN {sql}", bindings or ())
        ]


def test_a_lookup_by_id_does_not_walk_all_rows_of_the_user() -> None:
    store = open_store()
    now = SteppingClock().now()
    store.messages.append(
        [Message(role="user", content="hello"), Message(role="user", content="you")], scope=SCOPE
    )
    memory = store.memories.append(Memory(content="likes tea", kind="fact"), scope=SCOPE)
    run = store.subagents.start(SubAgentRun(agent="scout", task="look", parent_message_id=1), scope=SCOPE)
    with statements(store) as ran:
        store.messages.get_many([1, 2], scope=SCOPE)
        store.messages.neighbours([1, 2], scope=SCOPE, radius=1)
        store.memories.get_many([1], scope=SCOPE)
        store.memories.touch([1], scope=SCOPE, now=now)
        store.subagents.append([SubAgentMessage(run_id=run.id or 0, role="user", content="x")], scope=SCOPE)
        store.subagents.start(SubAgentRun(agent="scout", task="look", parent_message_id=1), scope=SCOPE)
        store.subagents.finish(run.id or 0, scope=SCOPE, status="done", now=now)
        summary = store.summaries.append(
            Summary(content="said hello", source_message_ids=(1, 2)), scope=SCOPE
        )
        store.summaries.get_many([summary.id or 0], scope=SCOPE)
        store.summaries.mark_consolidated([summary.id or 0], scope=SCOPE)
        store.memories.get(memory.id or 0, scope=SCOPE)
    read = plans(store, ran)
    assert any("INTEGER PRIMARY KEY" in plan for plan in read)
    assert [plan for plan in read if ALL_OF_A_USER.search(plan.partition(" :: ")[0])] == []
