"""``SessionStore`` and what goes with a session or a user: everything of it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orca.errors import ConfigError, NotFoundError
from orca.protocols import Store
from orca.testing import FixedClock
from orca.types import Job, Memory, Message, Scope, SubAgentMessage, SubAgentRun, Summary

from .conftest import unit

Check = Callable[[], None]


def fill(store: Store, scope: Scope) -> None:
    """One of everything, with vectors."""
    said = [
        Message(role="user", content="a message long enough"),
        Message(role="assistant", content="and its long answer"),
    ]
    ids = [message.id for message in store.messages.append(said, scope=scope)]
    summary = store.summaries.append(Summary(content="a summary", source_message_ids=tuple(ids)), scope=scope)
    memory = store.memories.append(
        Memory(content="a memory", source_session=scope.session, source_message_ids=(ids[0],)), scope=scope
    )
    store.vectors.save_embedding("message", ids, unit(1)[None].repeat(2, axis=0))
    store.vectors.save_embedding("summary", [summary.id], unit(1)[None])
    store.vectors.save_embedding("memory", [memory.id], unit(1)[None])
    run = store.subagents.start(SubAgentRun(agent="coder", task="t", parent_message_id=ids[1]), scope=scope)
    store.subagents.append([SubAgentMessage(run_id=run.id, role="assistant", content="step")], scope=scope)


def test_a_session_begins_with_its_first_message(store: Store, scope: Scope, clock: FixedClock) -> None:
    with pytest.raises(NotFoundError):
        store.sessions.get(scope=scope)
    store.messages.append([Message(role="user", content="a")], scope=scope)
    session = store.sessions.get(scope=scope)
    assert (session.id, session.user, session.state, session.message_count) == ("s1", "alice", "open", 1)
    assert session.created_at == clock.now()
    ended = store.sessions.update(scope=scope, title="标题", state="ended", consolidated_position=1)
    assert (ended.title, ended.state, ended.consolidated_position) == ("标题", "ended", 1)
    kept = store.sessions.update(scope=scope)
    assert (kept.title, kept.state) == ("标题", "ended")
    store.messages.append([Message(role="user", content="b")], scope=scope)
    assert store.sessions.get(scope=scope).state == "open"
    with pytest.raises(NotFoundError):
        store.sessions.update(scope=replace(scope, user="bob"), title="x")


def test_a_session_moves_up_when_somebody_speaks_and_for_no_other_reason(
    store: Store, clock: FixedClock
) -> None:
    first, second = Scope(user="u", session="first"), Scope(user="u", session="second")
    for scope in (first, second):
        clock.advance(1)
        store.messages.append([Message(role="user", content="a")], scope=scope)
    spoken = store.sessions.get(scope=first).updated_at
    for change in ({"title": "Plans"}, {"state": "ended"}, {"consolidated_position": 1}):
        clock.advance(1)
        before = store.browse.marks(user="u")["session"]
        assert store.sessions.update(scope=first, **change).updated_at == spoken
        assert store.browse.marks(user="u")["session"] != before, "whoever watches hears of it"
    assert [session.id for session in store.sessions.find(user="u")] == ["first", "second"]
    store.messages.append([Message(role="user", content="b")], scope=first)
    assert [session.id for session in store.sessions.find(user="u")] == ["second", "first"]


@pytest.mark.case(3)
def test_find_is_in_order_of_activity(store: Store, clock: FixedClock) -> None:
    for name in ("a", "b", "c", "a"):
        clock.advance(1)
        store.messages.append([Message(role="user", content="x")], scope=Scope(user="u", session=name))
    store.messages.append([Message(role="user", content="x")], scope=Scope(user="v", session="z"))
    assert [session.id for session in store.sessions.find(user="u")] == ["b", "c", "a"]
    assert [session.id for session in store.sessions.find(user="u", limit=2)] == ["c", "a"]
    assert store.sessions.find(user="u", limit=0) == store.sessions.find(user="nobody") == []
    with pytest.raises(ConfigError):
        store.sessions.find(user="u", limit=-1)
    store.memories.append(Memory(content="m"), scope=Scope(user="w"))
    assert sorted(store.sessions.users()) == ["u", "v", "w"]


@pytest.mark.case(19)
@pytest.mark.case(13)
def test_deleting_a_session_takes_all_of_it_and_no_more(vector_store: Store, check: Check) -> None:
    store = vector_store
    mine = Scope(user="a", session="main")
    others = [
        Scope(user="b", session="main"),
        Scope(user="a", session="other"),
        Scope(user="a", session="mainx"),
    ]
    for scope in (mine, *others):
        fill(store, scope)
    before = store.counts()
    gone = store.sessions.delete(scope=mine)
    assert gone["messages"] == 2
    assert gone["summaries"] == gone["memories"] == 1
    after = store.counts()
    assert (before["messages"] - after["messages"], before["memories"] - after["memories"]) == (2, 1)
    assert store.messages.recent(scope=mine) == store.summaries.recent(scope=mine) == []
    assert store.subagents.find(scope=mine) == []
    with pytest.raises(NotFoundError):
        store.sessions.get(scope=mine)
    for scope in others:
        assert store.messages.count(scope=scope) == 2
        assert len(store.subagents.find(scope=scope)) == 1
    check()


@pytest.mark.case(19)
def test_a_memory_from_two_sessions_outlives_one_of_them(store: Store, scope: Scope) -> None:
    other = replace(scope, session="s2")
    a = store.messages.append([Message(role="user", content="x")], scope=scope)[0]
    b = store.messages.append([Message(role="user", content="x")], scope=other)[0]
    both = store.memories.append(
        Memory(content="both", source_session="s1", source_message_ids=(a.id, b.id)), scope=scope
    )
    by_hand = store.memories.append(Memory(content="by hand"), scope=scope)
    store.sessions.delete(scope=scope)
    assert [memory.id for memory in store.memories.find(scope=scope)] == [both.id, by_hand.id]


@pytest.mark.case(19)
def test_deleting_a_user_counts_every_row(vector_store: Store, check: Check) -> None:
    store = vector_store
    a, b = Scope(user="a"), Scope(user="b")
    for scope, count in ((a, 250), (b, 3)):
        fill(store, scope)
        with store.transaction() as tx:
            for number in range(count - 1):
                tx.memories.append(Memory(content=f"fact {number}"), scope=scope)
    gone = store.sessions.delete_user(user="a")
    assert gone["memories"] == 250
    assert store.memories.find(scope=a, include_inactive=True) == []
    assert len(store.memories.find(scope=b)) == 3
    assert store.sessions.users() == ["b"]
    assert store.jobs.pending() == 6  # of user b: two messages, a summary, three memories
    check()


@pytest.mark.case(19)
def test_deleting_messages_takes_what_is_derived_from_them(
    vector_store: Store, scope: Scope, clock: FixedClock, check: Check
) -> None:
    store = vector_store
    fill(store, scope)
    ids = [message.id for message in store.messages.recent(scope=scope)]
    store.jobs.enqueue(
        [Job(kind="summarize", record="message", target_id=ids[1], user="alice")], now=clock.now()
    )
    assert store.messages.delete(ids, scope=scope) == 2
    assert store.summaries.recent(scope=scope) == []
    assert store.subagents.find(scope=scope) == []
    assert store.jobs.pending(["summarize"]) == 0
    check()


@pytest.mark.case(28)
@pytest.mark.case(33)
def test_rebuilding_the_index_loses_no_row(vector_store: Store, scope: Scope, check: Check) -> None:
    fill(vector_store, scope)
    before = vector_store.counts()
    assert vector_store.rebuild_index() == {"messages": 2, "summaries": 1, "memories": 1}
    assert vector_store.counts() == before
    assert len(vector_store.messages.search(["messag"], scope=scope, limit=5).matches) == 1
    vector_store.scrub()
    check()
