"""A memory for imports: the real recorder over a real store, and nothing in the background."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orca.memory.recorder import Recorder
from orca.protocols import Store
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FixedClock
from orca.text.analysis import query_terms
from orca.types import Hit, Message, Scope, SubAgentMessage, SubAgentRun


class Words:
    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


class Target:
    """What importers use of ``MemoryManager``."""

    def __init__(self, store: Store, clock: FixedClock) -> None:
        self.store = store
        self._recorder = Recorder(store, counter=Words(), clock=clock, spool=None, notify=lambda: None)
        self.transactions = 0

    def observe_many(self, *, scope: Scope, messages: Iterable[Message]) -> list[Message]:
        self.transactions += 1
        return self._recorder.record(list(messages), scope=scope)

    def trust(self, *, scope: Scope, message_ids: Sequence[int]) -> int:
        return len(self.store.sessions.trust(message_ids, scope=scope))

    def messages(self, *, scope: Scope, limit: int | None = 50) -> list[Message]:
        return self.store.messages.recent(scope=scope, limit=limit)

    def search_messages(self, *, scope: Scope, query: str, limit: int = 10) -> list[Hit]:
        found = self.store.messages.search(query_terms(query), scope=scope, limit=limit).matches
        stored = self.store.messages.get_many([match.id for match in found], scope=scope)
        session_of = {message.id: message.session for message in stored}
        return [
            Hit(kind="message", id=match.id, session=session_of[match.id], content="", score=1.0)
            for match in found
        ]

    def subagent_runs(self, *, scope: Scope) -> list[SubAgentRun]:
        return self.store.subagents.find(scope=scope)

    def subagent_messages(self, *, run_id: int, user: str | None = None) -> list[SubAgentMessage]:
        return self.store.subagents.messages(run_id, user=user)

    def record_run(
        self, *, scope: Scope, run: SubAgentRun, messages: Sequence[SubAgentMessage]
    ) -> SubAgentRun:
        return self._recorder.record_run(run, messages, scope=scope)

    def import_rows(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Mapping[str, int]:
        return self.store.import_rows(rows)

    def texts(self, session: str, **scope: str) -> list[object]:
        return [
            message.content for message in self.messages(scope=Scope(session=session, **scope), limit=None)
        ]

    def sessions(self, user: str = "default") -> list[str]:
        return sorted(session.id for session in self.store.sessions.find(user=user))


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Target]:
    store = SQLiteStore(":memory:", clock=clock)
    yield Target(store, clock)
    store.close()


def line(content: object = "hello", role: object = "user", **more: object) -> str:
    return json.dumps({"role": role, "content": content, **more}, ensure_ascii=False) + "\n"


def write(path: Path, *lines: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(item if isinstance(item, bytes) else item.encode() for item in lines))
    return path
