"""``SummaryStore``: one summary a turn, replaced in place, and none lost before it was consolidated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orca.errors import ConfigError
from orca.protocols import Store
from orca.testing import FixedClock
from orca.text.analysis import query_terms
from orca.types import Message, Scope, Summary

from .conftest import unit

Check = Callable[[], None]


def turn(store: Store, scope: Scope, text: str) -> tuple[int, ...]:
    return tuple(
        message.id
        for message in store.messages.append(
            [Message(role="user", content=text), Message(role="assistant", content=f"about {text}")],
            scope=scope,
        )
    )


def found(store: Store, query: str, scope: Scope) -> list[int]:
    return [match.id for match in store.summaries.search(query_terms(query), scope=scope, limit=9).matches]


def test_a_summary_comes_back_and_marks_its_messages(store: Store, scope: Scope, check: Check) -> None:
    ids = turn(store, scope, "plums")
    stored = store.summaries.append(
        Summary(content="聊了李子", source_message_ids=ids, source_count=2, confidence=0.6, method="m"),
        scope=scope,
    )
    assert (
        store.summaries.recent(scope=scope) == [stored] == store.summaries.get_many([stored.id], scope=scope)
    )
    assert stored.source_message_ids == ids
    assert (stored.confidence, stored.method, stored.source_count) == (0.6, "m", 2)
    assert [message.summary_id for message in store.messages.recent(scope=scope)] == [stored.id] * 2
    assert found(store, "李子", scope) == [stored.id]


@pytest.mark.case(10)
def test_a_second_summary_of_a_turn_replaces_the_first_in_place(
    vector_store: Store, scope: Scope, clock: FixedClock, check: Check
) -> None:
    store = vector_store
    ids = turn(store, scope, "fruit")
    first = store.summaries.append(Summary(content="cherries", source_message_ids=ids), scope=scope)
    store.vectors.save_embedding("summary", [first.id], unit(1)[None])
    clock.advance(60)
    second = store.summaries.append(Summary(content="apricots", source_message_ids=ids), scope=scope)
    assert (second.id, second.session, second.created_at) == (first.id, first.session, first.created_at)
    assert second.content == "apricots"
    assert not second.has_embedding
    assert store.summaries.recent(scope=scope) == [second]
    assert (found(store, "cherries", scope), found(store, "apricots", scope)) == ([], [first.id])
    assert store.vectors.search_similar("summary", unit(1), scope=scope, limit=5) == []
    check()


@pytest.mark.case(13)
def test_sessions_users_and_agents_do_not_meet(store: Store, scope: Scope) -> None:
    mine = store.summaries.append(Summary(content="plums"), scope=scope)
    for other in (replace(scope, session="s2"), replace(scope, user="bob"), replace(scope, agent="coder")):
        assert store.summaries.recent(scope=other) == []
        assert found(store, "plums", other) == []
        store.summaries.mark_consolidated([mine.id], scope=replace(other, session=scope.session))
    assert store.summaries.get_many([mine.id], scope=replace(scope, session="s2")) == [
        *store.summaries.recent(scope=scope)
    ]
    assert store.summaries.get_many([mine.id], scope=replace(scope, user="bob")) == []


def test_prune_keeps_the_newest_and_everything_not_consolidated(
    store: Store, scope: Scope, check: Check
) -> None:
    ids = [
        store.summaries.append(
            Summary(content=f"plum {number}", source_message_ids=turn(store, scope, "x")), scope=scope
        ).id
        for number in range(6)
    ]
    assert store.summaries.prune(scope=scope, keep=2) == 0
    store.summaries.mark_consolidated([ids[0], ids[2], ids[5]], scope=scope)
    assert store.summaries.prune(scope=replace(scope, session="s2"), keep=0) == 0
    assert store.summaries.prune(scope=scope, keep=2) == 2
    assert [summary.id for summary in store.summaries.recent(scope=scope)] == [ids[1], *ids[3:]]
    assert store.summaries.prune(scope=scope, keep=0) == 1
    assert found(store, "plum", scope)
    assert ids[5] not in found(store, "plum", scope)
    assert store.messages.count() == 12


@pytest.mark.case(3)
def test_limits(store: Store, scope: Scope) -> None:
    for number in range(3):
        store.summaries.append(Summary(content=f"plum {number}"), scope=scope)
    recent = store.summaries.recent
    assert [summary.content for summary in recent(scope=scope, limit=2)] == ["plum 1", "plum 2"]
    assert recent(scope=scope, limit=0) == []
    assert len(recent(scope=scope, limit=10**9)) == 3
    with pytest.raises(ConfigError):
        recent(scope=scope, limit=-1)
    with pytest.raises(ConfigError):
        store.summaries.search(["plum"], scope=scope, limit=-1)
    with pytest.raises(ConfigError):
        store.summaries.prune(scope=scope, keep=-1)
