"""Messages that the store cannot take wait on disk and come back exactly once, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from orca.errors import ConflictError, StoreUnavailableError
from orca.memory.recorder import Recorder
from orca.memory.spool import DRAIN_BATCH, MessageSpool
from orca.stores.jsonl import JSONLStore
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FixedClock
from orca.types import Message, Scope

SCOPE = Scope(user="u", session="../s")


class Characters:
    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


class Killed(BaseException):
    """Stands for the end of the process."""


class DyingLog(JSONLStore):
    """Dies before or after it removes what came back."""

    dies: str | None = None

    def delete(self, message_ids: Sequence[int], *, scope: Scope) -> int:
        if self.dies == "before":
            raise Killed
        gone = super().delete(message_ids, scope=scope)
        if self.dies == "after":
            raise Killed
        return gone


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def log(tmp_path: Path, clock: FixedClock) -> DyingLog:
    return DyingLog(tmp_path / "spool", clock=clock)


@pytest.fixture
def spool(log: DyingLog, clock: FixedClock) -> MessageSpool:
    return MessageSpool(log, clock)


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> Iterator[SQLiteStore]:
    opened = SQLiteStore(tmp_path / "store.db", clock=clock, synchronous="OFF")
    yield opened
    opened.close()


def said(*texts: str) -> list[Message]:
    return [Message(role="user" if n % 2 == 0 else "assistant", content=text) for n, text in enumerate(texts)]


def texts(store: SQLiteStore, scope: Scope = SCOPE) -> list[object]:
    return [message.content for message in store.messages.recent(scope=scope)]


def recorder_of(store: SQLiteStore, spool: MessageSpool, clock: FixedClock) -> Recorder:
    return Recorder(store, counter=Characters(), clock=clock, spool=spool, notify=lambda: None)


@pytest.mark.case(23)
def test_messages_come_back_once_and_in_order(
    spool: MessageSpool, store: SQLiteStore, tmp_path: Path, clock: FixedClock
) -> None:
    many = [f"message {number}" for number in range(DRAIN_BATCH + 7)]
    other = Scope(user="v")
    for start in range(0, len(many), 50):
        spool.append(said(*many[start : start + 50]), scope=SCOPE)
    spool.append(said("elsewhere"), scope=other)
    assert spool.pending() == len(many) + 1
    assert [message.content for message in spool.waiting(scope=SCOPE)] == many
    again = MessageSpool(JSONLStore(tmp_path / "spool", clock=clock), clock)  # after a restart
    assert again.drain(store) == len(many) + 1
    assert texts(store) == many
    assert texts(store, other) == ["elsewhere"]
    assert again.pending() == spool.pending() == again.drain(store) == 0


def test_a_turn_that_comes_back_is_summarised(spool: MessageSpool, store: SQLiteStore) -> None:
    spool.append(said("question", "answer"), scope=SCOPE)
    spool.drain(store)
    (answer,) = [message for message in store.messages.recent(scope=SCOPE) if message.role == "assistant"]
    jobs = store.jobs.claim(["summarize"], limit=9, lease_seconds=1, owner="w", now=answer.timestamp)
    assert [job.target_id for job in jobs] == [answer.id]


@pytest.mark.case(23)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_while_draining_nothing_is_doubled_or_lost(
    spool: MessageSpool, log: DyingLog, store: SQLiteStore, moment: str
) -> None:
    many = [f"message {number}" for number in range(DRAIN_BATCH + 7)]
    spool.append(said(*many), scope=SCOPE)
    log.dies = moment
    with pytest.raises(Killed):
        spool.drain(store)
    assert store.messages.count() == DRAIN_BATCH
    log.dies = None
    spool.drain(store)
    assert texts(store) == many
    assert spool.pending() == 0


@pytest.mark.case(23)
def test_a_key_that_a_message_has_is_kept(spool: MessageSpool, store: SQLiteStore) -> None:
    keyed = Message(role="user", content="a", dedupe_key="import:1")
    store.messages.append([keyed], scope=SCOPE)
    spool.append([keyed], scope=SCOPE)
    spool.drain(store)
    assert texts(store) == ["a"]


@pytest.mark.case(23)
def test_a_full_disk_loses_no_turn(spool: MessageSpool, store: SQLiteStore, clock: FixedClock) -> None:
    recorder = recorder_of(store, spool, clock)
    with store._database.exclusive() as connection:
        pages = connection.value("PRAGMA page_count")
        connection.run(f"PRAGMA max_page_count = {pages + 4}")
    given = [f"turn {number} " + "long " * 400 for number in range(40)]
    for text in given:
        recorder.record([Message(role="user", content=text)], scope=SCOPE)
    assert recorder.reason is not None
    assert "full" in recorder.reason
    assert 0 < spool.pending() < len(given)
    assert texts(store) + [message.content for message in recorder.waiting(SCOPE)] == given
    with store._database.exclusive() as connection:
        connection.run("PRAGMA max_page_count = 100000")
    recorder.record([Message(role="user", content="after")], scope=SCOPE)
    assert texts(store) == [*given, "after"]
    assert spool.pending() == 0
    assert recorder.reason is None


@pytest.mark.case(23)
def test_a_read_only_store_loses_no_turn(
    spool: MessageSpool, store: SQLiteStore, tmp_path: Path, clock: FixedClock
) -> None:
    store.messages.append(said("first"), scope=SCOPE)
    read_only = SQLiteStore(tmp_path / "store.db", clock=clock, read_only=True)
    recorder = recorder_of(read_only, spool, clock)
    for text in ("second", "third"):
        recorder.record([Message(role="user", content=text)], scope=SCOPE)
    assert recorder.reason is not None
    with pytest.raises(StoreUnavailableError):
        recorder.drain()
    read_only.close()
    assert recorder_of(store, spool, clock).drain() == 2
    assert texts(store) == ["first", "second", "third"]


class Choosy(SQLiteStore):
    """Refuses what no store of its kind would take."""

    @contextmanager
    def transaction(self) -> Iterator[SQLiteStore]:
        with super().transaction() as tx:
            yield tx
            if any(message.content == "refused" for message in tx.messages.recent(scope=SCOPE)):
                raise ConflictError("not this one")


@pytest.mark.case(23)
def test_a_refused_message_stays_and_holds_up_no_other(
    tmp_path: Path, spool: MessageSpool, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    spool.append(said("one", "refused", "two"), scope=SCOPE)
    with closing(Choosy(tmp_path / "choosy.db", clock=clock, synchronous="OFF")) as store:
        for _ in range(2):
            spool.drain(store)
            assert texts(store) == ["one", "two"]
            assert [message.content for message in spool.waiting(scope=SCOPE)] == ["refused"]
    assert "not this one" in caplog.text
