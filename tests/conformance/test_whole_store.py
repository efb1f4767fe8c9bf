"""``Store``: transactions, threads, export, backup, and random work after which everything still agrees."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orca.errors import ConflictError
from orca.protocols import Store
from orca.testing import FixedClock
from orca.text.jsonable import to_json
from orca.types import EmbeddingSpace, Memory, Message, Scope, Summary

from .conftest import Backend, unit
from .test_sessions_and_deletes import fill

Check = Callable[[], None]


class Stop(Exception):
    """Raised inside transactions."""


def say(store: Store, scope: Scope, text: str) -> None:
    store.messages.append([Message(role="user", content=text)], scope=scope)


def texts(store: Store, scope: Scope) -> list[object]:
    return [message.content for message in store.messages.recent(scope=scope)]


def test_a_transaction_is_all_or_nothing(vector_store: Store, scope: Scope, check: Check) -> None:
    before = vector_store.counts()
    with pytest.raises(Stop), vector_store.transaction() as tx:  # noqa: PT012 - the block is what is undone
        fill(tx, scope)
        assert tx.messages.count() == 2
        raise Stop
    assert vector_store.counts() == before
    assert vector_store.jobs.pending() == 0
    with vector_store.transaction() as tx:
        fill(tx, scope)
    assert vector_store.messages.count() == 2


def test_transactions_nest(store: Store, scope: Scope, check: Check) -> None:
    with store.transaction() as tx:
        say(tx, scope, "outer before")
        with pytest.raises(Stop), tx.transaction() as inner:  # noqa: PT012 - the same
            say(inner, scope, "inner")
            raise Stop
        with tx.transaction() as inner:
            say(inner, scope, "inner kept")
        say(tx, scope, "outer after")
    assert texts(store, scope) == ["outer before", "inner kept", "outer after"]
    with pytest.raises(Stop), store.transaction() as tx:  # noqa: PT012 - the same
        with tx.transaction() as inner:
            say(inner, scope, "gone with the outer one")
        raise Stop
    assert len(texts(store, scope)) == 3


@pytest.mark.case(5)
def test_threads_write_and_search_at_once(store: Store, check: Check) -> None:
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for turn in range(20):
                scope = Scope(user="u", session=f"s{turn % 2}")
                key = f"{number}.{turn}"
                store.messages.append(
                    [Message(role="user", content=f"word {key}", dedupe_key=key)], scope=scope
                )
                store.messages.search(["word"], scope=scope, limit=5)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert store.messages.count() == 120
    for session in ("s0", "s1"):
        found = store.messages.recent(scope=Scope(user="u", session=session))
        assert [message.position for message in found] == list(range(1, 61))


@pytest.mark.case(33)
@pytest.mark.case(8)
def test_an_export_is_json_and_brings_everything_back(
    vector_store: Store, other_store: Store, space: EmbeddingSpace, scope: Scope, clock: FixedClock
) -> None:
    store = vector_store
    fill(store, scope)
    fill(store, Scope(user="用户\x00", session="../x", agent="a/b"))
    memory = store.memories.find(scope=scope)[0]
    store.memories.supersede(memory.id, replace(memory, content="newer"), scope=scope, now=clock.advance(9))
    say(store, scope, "nul \x00 and \ud800")
    rows = [json.loads(to_json([table, row], where="row")) for table, row in store.export_rows()]
    stored = other_store.import_rows((table, row) for table, row in rows)
    assert sum(stored.values()) == len(rows)
    assert {kind: count for kind, count in other_store.counts().items() if kind != "jobs"} == {
        kind: count for kind, count in store.counts().items() if kind != "jobs"
    }
    for each in (scope, Scope(user="用户\x00", session="../x", agent="a/b")):
        blank = {"has_embedding": False}
        assert [replace(m, **blank) for m in other_store.messages.recent(scope=each)] == [
            replace(m, **blank) for m in store.messages.recent(scope=each)
        ]
        assert [
            replace(m, **blank) for m in other_store.memories.find(scope=each, include_inactive=True)
        ] == [replace(m, **blank) for m in store.memories.find(scope=each, include_inactive=True)]
        runs = store.subagents.find(scope=each)
        assert other_store.subagents.find(scope=each) == runs
        assert other_store.subagents.messages(runs[0].id) == store.subagents.messages(runs[0].id)
    assert other_store.messages.search(["messag"], scope=scope, limit=9).matches
    assert not [check for check in other_store.verify() if not check.ok]
    assert sum(other_store.import_rows((table, row) for table, row in rows).values()) == 0
    other_store.vectors.use_space(space)
    assert not [check for check in other_store.verify() if not check.ok]


@pytest.mark.case(33)
def test_a_backup_of_an_open_store_opens_elsewhere(
    durable: Backend, tmp_path: Path, scope: Scope, clock: FixedClock
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    store = durable.open(tmp_path / "a", clock)
    for number in range(50):
        say(store, scope, f"text {number}")
    target = tmp_path / "b" / Path(store.location).name
    assert store.backup(str(target)) == target.stat().st_size
    with pytest.raises(ConflictError):
        store.backup(str(target))
    copy = durable.open(tmp_path / "b", clock)
    assert texts(copy, scope) == texts(store, scope)
    assert not [check for check in copy.verify() if not check.ok]
    copy.close()
    store.close()
    store.close()


@pytest.mark.case(19)
def test_everything_is_there_after_a_restart(durable: Backend, tmp_path: Path, clock: FixedClock) -> None:
    space = EmbeddingSpace(provider="test", model="axes", dimensions=8)
    store = durable.open(tmp_path, clock)
    store.vectors.use_space(space)
    scope = Scope()
    fill(store, scope)
    counts, last = store.counts(), store.messages.recent(scope=scope)[-1].id
    store.messages.delete([last], scope=scope)
    store.close()
    store = durable.open(tmp_path, clock)
    assert store.vectors.space == space
    assert store.counts()["messages"] == counts["messages"] - 1
    assert store.messages.append([Message(role="user", content="x")], scope=scope)[0].id > last
    assert not [check for check in store.verify() if not check.ok]
    store.close()


STEP = st.tuples(
    st.sampled_from(["say", "summarize", "remember", "replace", "retire", "embed", "delete", "forget", "prune", "drop"]),
    st.integers(0, 30),
    st.sampled_from(["a", "b"]),
)  # fmt: skip


@pytest.mark.case(10)
@pytest.mark.case(19)
@given(steps=st.lists(STEP, min_size=20, max_size=60))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_work_leaves_rows_index_and_vectors_in_step(
    backend: Backend, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str]]
) -> None:
    clock = FixedClock()
    store = backend.open(tmp_path_factory.mktemp("store"), clock)
    store.vectors.use_space(EmbeddingSpace(provider="test", model="axes", dimensions=8))
    for action, number, user in steps:
        clock.advance(1)
        step(store, action, number, Scope(user=user), clock)
    assert not [check for check in store.verify() if not check.ok]
    for user in ("a", "b"):
        scope = Scope(user=user)
        live = {memory.id for memory in store.memories.find(scope=scope)}
        indexed = {match.id for match in store.memories.search(["memori"], scope=scope, limit=999).matches}
        embedded = {
            number for number, _ in store.vectors.search_similar("memory", unit(1), scope=scope, limit=999)
        }
        assert indexed == live
        assert embedded == {memory.id for memory in store.memories.find(scope=scope) if memory.has_embedding}
    store.close()


def step(store: Store, action: str, number: int, scope: Scope, clock: FixedClock) -> None:
    """One random act on the ``number``-th row of its kind, where there is one."""
    messages = store.messages.recent(scope=scope)
    memories = store.memories.find(scope=scope)
    message = messages[number % len(messages)] if messages else None
    memory = memories[number % len(memories)] if memories else None
    match action:
        case "say":
            say(store, scope, f"message of some length {number}")
        case "summarize" if message:
            store.summaries.append(
                Summary(content=f"summary {number}", source_message_ids=(message.id,)), scope=scope
            )
        case "remember":
            store.memories.append(
                Memory(content=f"memory {number}", source_message_ids=(message.id,) if message else ()),
                scope=scope,
            )
        case "replace" if memory:
            store.memories.supersede(
                memory.id, Memory(content=f"memory {number}"), scope=scope, now=clock.now()
            )
        case "retire" if memory:
            store.memories.update(replace(memory, state="retired"), scope=scope)
        case "embed":
            jobs = store.jobs.claim(["embed"], limit=number, lease_seconds=1, owner="w", now=clock.now())
            for job in jobs:
                store.vectors.save_embedding(job.record, [job.target_id], unit(1, number)[None])
            store.jobs.complete([job.id for job in jobs])
        case "delete" if message:
            assert store.messages.delete([message.id], scope=scope) == 1
        case "forget" if memory:
            assert store.memories.delete([memory.id], scope=scope) >= 1
        case "prune":
            store.summaries.mark_consolidated(
                [s.id for s in store.summaries.recent(scope=scope)], scope=scope
            )
            store.summaries.prune(scope=scope, keep=number % 3)
        case "drop" if number % 5 == 0:
            store.sessions.delete(scope=scope)
