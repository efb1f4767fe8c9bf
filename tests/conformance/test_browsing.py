"""``BrowseStore``: pages without gaps or repeats, of one user only, and a version that moves with every write."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from orca.errors import ConfigError
from orca.protocols import Store
from orca.testing import FixedClock
from orca.types import Job, Memory, Message, Scope, SubAgentMessage, SubAgentRun

from .conftest import Backend, unit


def say(store: Store, scope: Scope, *texts: str) -> list[Message]:
    return store.messages.append([Message(role="user", content=text) for text in texts], scope=scope)


def texts(messages: list[Message]) -> list[object]:
    return [message.content for message in messages]


def test_a_session_is_paged_both_ways(store: Store, scope: Scope) -> None:
    say(store, scope, *"abcde")
    say(store, replace(scope, session="other"), "x")
    read = store.browse.messages
    assert texts(read(scope=scope, limit=2)) == ["d", "e"]
    assert texts(read(scope=scope, limit=2, before=4)) == ["b", "c"]
    assert texts(read(scope=scope, limit=2, after=0)) == ["a", "b"]
    assert texts(read(scope=scope, limit=2, after=4)) == ["e"]
    assert read(scope=scope, limit=9, before=1) == read(scope=scope, limit=9, role="tool") == []


@pytest.mark.case(26)
def test_pages_neither_repeat_nor_skip_while_others_write(store: Store, scope: Scope) -> None:
    say(store, scope, *map(str, range(7)))
    say(store, replace(scope, user="bob"), "not mine")
    seen: list[object] = []
    before = None
    while page := store.browse.all_messages(scope=scope, limit=3, before=before):
        seen[:0] = texts(page)
        before = page[0].id
        say(store, scope, "later")
    assert seen == [str(number) for number in range(7)]


@pytest.mark.case(3)
def test_limits(store: Store, scope: Scope) -> None:
    say(store, scope, "a")
    assert store.browse.messages(scope=scope, limit=0) == []
    assert len(store.browse.messages(scope=scope, limit=10**9)) == 1
    with pytest.raises(ConfigError):
        store.browse.sessions(user="alice", limit=-1)


def test_sessions_are_paged_by_activity(store: Store, clock: FixedClock) -> None:
    for name in ("a", "b", "c", "d"):  # c and d at the same instant
        clock.advance(0 if name == "d" else 1)
        say(store, Scope(user="u", session=name), "x")
    say(store, Scope(user="v", session="z"), "x")
    first = store.browse.sessions(user="u", limit=2)
    assert [session.id for session in first] == ["c", "d"]
    place = (first[0].updated_at or clock.now(), first[0].id)
    assert [session.id for session in store.browse.sessions(user="u", limit=9, before=place)] == ["a", "b"]


@pytest.mark.case(13)
@pytest.mark.case(27)
def test_sessions_are_found_by_id_or_title_as_written(store: Store, clock: FixedClock) -> None:
    for name in ("john_doe", "john-doe", "100%", "1000", "旅行", "cafe\u0301"):
        say(store, Scope(user="u", session=name), "x")
    store.sessions.update(scope=Scope(user="u", session="1000"), title="Big Plan")

    def found(text: str) -> set[str]:
        return {session.id for session in store.browse.sessions(user="u", limit=9, text=text)}

    assert found("john_") == {"john_doe"}
    assert found("0%") == {"100%"}
    assert found("big") == {"1000"}
    assert found("旅") == {"旅行"}
    assert found("caf\u00e9") == {"cafe\u0301"}
    assert found("\\") == found("'; --") == set()
    store.sessions.update(scope=Scope(user="u", session="100%"), state="ended")
    assert [s.id for s in store.browse.sessions(user="u", limit=9, state="ended")] == ["100%"]


def test_memories_of_every_state(store: Store, scope: Scope, clock: FixedClock) -> None:
    one = store.memories.append(Memory(content="lives in Paris", kind="fact"), scope=scope)
    store.memories.supersede(one.id, replace(one, content="lives in Rome"), scope=scope, now=clock.advance(1))
    store.memories.append(Memory(content="likes tea", kind="preference"), scope=scope)
    store.memories.append(Memory(content="lives in Oslo"), scope=replace(scope, user="bob"))
    read = store.browse.memories
    assert [memory.content for memory in read(scope=scope, limit=2)] == ["lives in Rome", "likes tea"]
    assert [memory.state for memory in read(scope=scope, limit=9, text="LIVES")] == ["superseded", "active"]
    assert [memory.content for memory in read(scope=scope, limit=9, kind="preference")] == ["likes tea"]
    assert [memory.content for memory in read(scope=scope, limit=9, state="superseded")] == ["lives in Paris"]
    assert [memory.id for memory in read(scope=scope, limit=9, before=one.id)] == []


def test_runs_are_found_whoever_delegated_them(store: Store, scope: Scope) -> None:
    message, other = say(store, scope, "a", "b")
    start = store.subagents.start
    outer = start(SubAgentRun(agent="coder", task="t", parent_message_id=message.id), scope=scope)
    inner = start(
        SubAgentRun(agent="tester", task="u", parent_run_id=outer.id), scope=replace(scope, agent="coder")
    )
    elsewhere = start(SubAgentRun(agent="x", task="v", status="failed"), scope=replace(scope, session="s2"))
    start(SubAgentRun(agent="y", task="w"), scope=replace(scope, user="bob"))
    read = store.browse.runs
    assert read(user="alice") == [outer, inner, elsewhere]
    assert read(user="alice", limit=1, before=inner.id) == [outer]
    assert read(user="alice", session="s2") == read(user="alice", status="failed") == [elsewhere]
    assert read(user="alice", parent_message_ids=[message.id, other.id]) == [outer]
    assert read(user="alice", parent_message_ids=[]) == []
    assert read(user="alice", parent_run_id=outer.id) == [inner]


def test_jobs_of_one_user_and_their_release(store: Store, clock: FixedClock) -> None:
    now = clock.now()
    jobs = [
        Job(kind="embed", record="memory", target_id=1, user="a"),
        Job(kind="consolidate", record="message", target_id=2, user="a"),
        Job(kind="embed", record="memory", target_id=3, user="b"),
    ]
    store.jobs.enqueue(jobs, now=now)
    claimed = store.jobs.claim(["embed"], limit=9, lease_seconds=9, owner="w", now=now)
    later = now + timedelta(days=1)
    store.jobs.retry([job.id for job in claimed], error="429", run_after=later, failed=True)
    mine = store.browse.jobs(user="a", limit=9)
    assert [(job.kind, job.last_error) for job in mine] == [("embed", "429"), ("consolidate", None)]
    assert store.browse.jobs(user="a", limit=9, failed=True) == mine[:1]
    assert store.browse.jobs(user="a", limit=9, failed=False, kind="consolidate") == mine[1:]
    assert store.browse.jobs(user="a", limit=1, before=mine[1].id) == mine[:1]
    assert [(item.kind, item.count) for item in store.jobs.backlog(user="b")] == [("embed", 1)]
    every = [job.id for job in (*mine, *store.browse.jobs(user="b", limit=9))]
    assert store.jobs.release(ids=every, user="a", now=now) == 2
    assert store.jobs.release(ids=[], user="a", now=now) == 0
    assert [job.run_after for job in store.browse.jobs(user="b", limit=9)] == [later]


def test_vectors_come_back_as_they_were(vector_store: Store, scope: Scope) -> None:
    first, second, third = say(vector_store, scope, "long enough 1", "long enough 2", "long enough 3")
    vector_store.vectors.save_embedding("message", [third.id, first.id], np.stack([unit(1), unit(0, 1)]))
    ids, vectors = vector_store.browse.vectors("message", [third.id, second.id, first.id])
    assert ids == [first.id, third.id]
    assert np.allclose(vectors, np.stack([unit(0, 1), unit(1)]))
    assert vector_store.browse.vectors("memory", [1])[0] == []


def test_without_a_space_there_are_no_vectors(store: Store) -> None:
    assert store.browse.vectors("message", [1])[0] == []


def test_counts_and_activity_of_one_user(store: Store, scope: Scope, clock: FixedClock) -> None:
    start = clock.now()
    say(store, scope, "a", "b")
    clock.advance(24 * 3600)
    say(store, scope, "c")
    say(store, replace(scope, user="bob"), "d")
    counts = store.browse.counts(user="alice")
    assert (counts["sessions"], counts["messages"], counts["memories"]) == (1, 3, 0)
    days = store.browse.activity(user="alice", since=start)
    assert [number for _, number in days] == [2, 1]
    assert days[0][0] == start.date().isoformat()
    assert [number for _, number in store.browse.activity(user="alice", since=clock.now())] == [1]


def test_marks_tell_which_kind_of_row_has_changed(store: Store, scope: Scope, clock: FixedClock) -> None:
    def changed(before: dict[str, str]) -> set[str]:
        return {kind for kind, mark in marks().items() if mark != before[kind]}

    def marks() -> dict[str, str]:
        return dict(store.browse.marks(user="alice"))

    seen = marks()
    say(store, replace(scope, user="bob"), "not mine")
    assert changed(seen) == set()
    say(store, scope, "a")
    assert changed(seen) == {"session", "message"}
    seen = marks()
    memory = store.memories.append(Memory(content="m"), scope=scope)
    assert changed(seen) == {"memory", "job"}
    seen = marks()
    clock.advance(1)
    store.memories.update(replace(memory, pinned=True), scope=scope)
    assert changed(seen) == {"memory"}
    run = store.subagents.start(SubAgentRun(agent="coder", task="t"), scope=scope)
    seen = marks()
    store.subagents.append([SubAgentMessage(run_id=run.id, role="assistant", content="x")], scope=scope)
    assert changed(seen) == {"run"}
    seen = marks()
    store.subagents.finish(run.id, scope=scope, status="done", now=clock.now())
    assert changed(seen) == {"run"}


def test_the_version_moves_with_every_write_here(store: Store, scope: Scope) -> None:
    version = store.browse.version()
    assert store.browse.version() == version
    store.messages.recent(scope=scope)
    assert store.browse.version() == version
    say(store, scope, "a")
    assert store.browse.version() != version


def test_the_version_moves_when_somebody_else_writes(
    durable: Backend, tmp_path: Path, clock: FixedClock, scope: Scope
) -> None:
    mine, theirs = durable.open(tmp_path, clock), durable.open(tmp_path, clock)
    version = mine.browse.version()
    say(theirs, scope, "a")
    assert mine.browse.version() != version
    mine.close()
    theirs.close()
