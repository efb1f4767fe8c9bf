"""``MemoryStore``: versions, validity, rank, and an index that follows every change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from orca.errors import ConfigError, ConflictError, NotFoundError
from orca.protocols import Store
from orca.testing import FixedClock
from orca.text.analysis import query_terms
from orca.types import Memory, Message, Scope

from .conftest import unit

Check = Callable[[], None]


def found(store: Store, query: str, scope: Scope) -> list[int]:
    return [match.id for match in store.memories.search(query_terms(query), scope=scope, limit=50).matches]


def nearest(store: Store, scope: Scope, limit: int = 5) -> list[int]:
    hits = store.vectors.search_similar("memory", unit(1), scope=scope, limit=limit)
    return [number for number, _ in hits]


def test_every_field_comes_back(store: Store, scope: Scope, clock: FixedClock) -> None:
    source = store.messages.append([Message(role="user", content="I eat no meat")], scope=scope)[0]
    given = Memory(
        content="用户只吃素\x00",
        kind="preference",
        source_session=scope.session,
        source_message_ids=(source.id,),
        origin="user",
        slot="diet",
        confidence=0.75,
        evidence_count=3,
        access_count=2,
        last_accessed=clock.now(),
        expires_at=clock.now() + timedelta(days=1),
        pinned=True,
        valid_from=clock.now() - timedelta(days=2),
        metadata={"tags": ["a"], "source": "饭"},
    )
    stored = store.memories.append(given, scope=scope)
    assert stored.id is not None
    again = store.memories.get(stored.id, scope=scope)
    assert again == stored
    assert again.root_id == again.id
    kept = ("content", "kind", "source_session", "source_message_ids", "origin", "slot", "confidence",
            "evidence_count", "access_count", "last_accessed", "expires_at", "pinned", "valid_from", "metadata")  # fmt: skip
    assert {name: getattr(again, name) for name in kept} == {name: getattr(given, name) for name in kept}
    assert (again.user, again.agent, again.state) == (scope.user, scope.agent, "active")
    assert again.created_at == clock.now()


@pytest.mark.case(10)
def test_a_new_version_takes_the_place_of_the_old_one_everywhere(
    vector_store: Store, scope: Scope, clock: FixedClock, check: Check
) -> None:
    store = vector_store
    cat = store.memories.append(Memory(content="a cat at home", metadata={"tags": [1]}), scope=scope)
    store.vectors.save_embedding("memory", [cat.id], unit(1)[None])
    clock.advance(60)
    dog = store.memories.supersede(
        cat.id, replace(cat, id=None, content="a dog at home"), scope=scope, now=clock.now()
    )
    assert found(store, "cat", scope) == []
    assert found(store, "dog", scope) == [dog.id]
    assert nearest(store, scope) == []
    old = store.memories.get(cat.id, scope=scope)
    assert (old.state, old.superseded_by, old.valid_to) == ("superseded", dog.id, clock.now())
    assert (dog.state, dog.root_id, dog.metadata, dog.has_embedding) == (
        "active",
        cat.id,
        {"tags": [1]},
        False,
    )
    assert [memory.id for memory in store.memories.history(dog.id, scope=scope)] == [cat.id, dog.id]
    assert store.memories.history(cat.id, scope=scope) == store.memories.history(dog.id, scope=scope)
    assert [memory.id for memory in store.memories.find(scope=scope)] == [dog.id]
    assert len(store.memories.find(scope=scope, include_inactive=True)) == 2
    check()
    with pytest.raises(ConflictError):
        store.memories.supersede(cat.id, replace(cat, content="x"), scope=scope, now=clock.now())
    with pytest.raises(NotFoundError):
        store.memories.supersede(10**9, replace(cat, content="x"), scope=scope, now=clock.now())


@pytest.mark.case(10)
@pytest.mark.parametrize("state", ["superseded", "retired", "forgotten"])
def test_an_inactive_memory_leaves_index_vectors_and_jobs_and_returns(
    vector_store: Store, scope: Scope, check: Check, state: str
) -> None:
    store = vector_store
    memory = store.memories.append(Memory(content="a secret plum"), scope=scope)
    store.vectors.save_embedding("memory", [memory.id], unit(1)[None])
    store.memories.update(replace(memory, state=state, pinned=True, confidence=0.9), scope=scope)
    assert found(store, "plum", scope) == nearest(store, scope) == []
    assert store.jobs.pending(["embed"]) == 0
    check()
    changed = store.memories.get(memory.id, scope=scope)
    assert (changed.state, changed.pinned, changed.confidence) == (state, True, 0.9)
    assert changed.content == "a secret plum"
    assert changed.created_at == memory.created_at
    store.memories.update(replace(changed, state="active"), scope=scope)
    assert found(store, "plum", scope) == [memory.id]
    assert store.jobs.pending(["embed"]) == 1
    with pytest.raises(NotFoundError):
        store.memories.update(replace(memory, id=10**9), scope=scope)


@pytest.mark.case(30)
def test_as_of_gives_what_was_true_then(store: Store, scope: Scope, clock: FixedClock) -> None:
    start = clock.now()
    paris = store.memories.append(
        Memory(content="lives in Paris", valid_from=start, slot="home"), scope=scope
    )
    moved = clock.advance(3600)
    rome = store.memories.supersede(
        paris.id, Memory(content="lives in Rome", slot="home", valid_from=moved), scope=scope, now=moved
    )

    def then(seconds: float) -> list[int]:
        at = start + timedelta(seconds=seconds)
        return [memory.id for memory in store.memories.find(scope=scope, as_of=at)]

    assert then(-1) == []
    assert then(0) == then(3599) == [paris.id]
    assert then(3600) == then(9999) == [rome.id]


@pytest.mark.case(30)
def test_most_accessed_ranks_and_expired_sink(store: Store, scope: Scope, clock: FixedClock) -> None:
    def add(name: str, **fields: object) -> int:
        clock.advance(1)
        return store.memories.append(Memory(content=name, **fields), scope=scope).id

    soon = clock.now() + timedelta(hours=1)
    expiring = add("expiring", access_count=9, expires_at=soon)
    pinned_expiring = add("pinned expiring", pinned=True, expires_at=soon)
    used = add("used", access_count=5)
    sure = add("sure", access_count=1, confidence=0.9)
    older = add("older", access_count=1)
    newer = add("newer", access_count=1)
    pinned = add("pinned", pinned=True)
    add_other = store.memories.append(Memory(content="other", pinned=True), scope=Scope(user="bob"))

    def ranked(now: object) -> list[int]:
        return [memory.id for memory in store.memories.most_accessed(scope=scope, limit=99, now=now)]

    rest = [used, sure, newer, older]
    assert set(ranked(clock.now())[:2]) == {pinned, pinned_expiring}
    assert ranked(clock.now())[2:] == [expiring, *rest]
    assert ranked(soon) == [pinned, *rest, pinned_expiring, expiring]
    assert add_other.id not in ranked(soon)
    assert ranked(soon)[:2] == [
        memory.id for memory in store.memories.most_accessed(scope=scope, limit=2, now=soon)
    ]
    assert store.memories.most_accessed(scope=scope, limit=0, now=soon) == []
    with pytest.raises(ConfigError):
        store.memories.most_accessed(scope=scope, limit=-1, now=soon)


def test_touch_counts_one_access(store: Store, scope: Scope, clock: FixedClock) -> None:
    memory = store.memories.append(Memory(content="a"), scope=scope)
    now = clock.advance(5)
    store.memories.touch([memory.id, 10**9], scope=scope, now=now)
    store.memories.touch([memory.id], scope=Scope(user="bob"), now=now)
    touched = store.memories.get(memory.id, scope=scope)
    assert (touched.access_count, touched.last_accessed) == (1, now)


@pytest.mark.case(13)
def test_users_and_agents_do_not_meet_but_sessions_share(
    store: Store, scope: Scope, clock: FixedClock
) -> None:
    memory = store.memories.append(Memory(content="a plum"), scope=scope)
    assert store.memories.get(memory.id, scope=replace(scope, session="s2")) == memory
    assert found(store, "plum", replace(scope, session="s2")) == [memory.id]
    for other in (Scope(user="bob", session="s1"), replace(scope, agent="coder")):
        assert found(store, "plum", other) == []
        assert store.memories.find(scope=other) == []
        assert store.memories.get_many([memory.id], scope=other) == []
        assert store.memories.delete([memory.id], scope=other) == 0
        for call in (
            lambda other=other: store.memories.get(memory.id, scope=other),
            lambda other=other: store.memories.history(memory.id, scope=other),
            lambda other=other: store.memories.update(memory, scope=other),
            lambda other=other: store.memories.supersede(memory.id, memory, scope=other, now=clock.now()),
        ):
            with pytest.raises(NotFoundError):
                call()
    assert store.memories.get(memory.id, scope=scope) == memory


@pytest.mark.case(3)
def test_find_filters_and_limits(store: Store, scope: Scope) -> None:
    kinds = ["fact", "preference", "fact", "decision"]
    ids = [store.memories.append(Memory(content=kind, kind=kind), scope=scope).id for kind in kinds]
    assert [memory.id for memory in store.memories.find(scope=scope, kind="fact")] == [ids[0], ids[2]]
    assert [memory.id for memory in store.memories.get_many(ids[::-1], scope=scope)] == ids
    assert store.memories.find(scope=scope, limit=0) == []
    assert len(store.memories.find(scope=scope, limit=10**9)) == 4
    with pytest.raises(ConfigError):
        store.memories.find(scope=scope, limit=-1)
    with pytest.raises(ConfigError):
        store.memories.search(["a"], scope=scope, limit=-1)


@pytest.mark.case(19)
def test_delete_takes_every_version(
    vector_store: Store, scope: Scope, clock: FixedClock, check: Check
) -> None:
    store = vector_store
    first = store.memories.append(Memory(content="one plum"), scope=scope)
    kept = store.memories.append(Memory(content="kept plum"), scope=scope)
    store.vectors.save_embedding("memory", [first.id, kept.id], np_rows(2))
    second = store.memories.supersede(first.id, Memory(content="two plums"), scope=scope, now=clock.now())
    third = store.memories.supersede(second.id, Memory(content="three plums"), scope=scope, now=clock.now())
    assert store.memories.delete([second.id], scope=scope) == 3
    assert [memory.id for memory in store.memories.find(scope=scope, include_inactive=True)] == [kept.id]
    assert found(store, "plum", scope) == nearest(store, scope) == [kept.id]
    later = store.memories.append(Memory(content="later"), scope=scope)
    assert later.id > third.id
    assert store.counts()["memories"] == 2
    check()


def np_rows(count: int) -> object:
    return unit(1)[None].repeat(count, axis=0)


def test_memories_alike_are_found_by_slot_by_family_and_by_text(
    store: Store, scope: Scope, clock: FixedClock
) -> None:
    def add(content: str, slot: str | None, whose: Scope = scope) -> Memory:
        return store.memories.append(Memory(content=content, slot=slot), scope=whose)

    home, other_home = add("lives in Paris", "home"), add("lives in Rome", "home")
    store.memories.supersede(
        home.id or 0, Memory(content="lives in Lyon", slot="home"), scope=scope, now=clock.now()
    )
    report, unnamed = add("the report is due", "deadline:report"), add("it is due", "deadline:*")
    plain = add("the box is red", None)
    add("lives in Oslo", "home", Scope(user=f"{scope.user}-other", session=scope.session))

    def alike(*, slots: tuple[str, ...] = (), contents: tuple[str, ...] = (), limit: int = 50) -> list[str]:
        found = store.memories.alike(slots=slots, contents=contents, scope=scope, limit=limit)
        assert [memory.id for memory in found] == sorted(memory.id or 0 for memory in found)
        return [memory.content for memory in found]

    assert alike(slots=("home",)) == ["lives in Paris", "lives in Rome", "lives in Lyon"]
    assert alike(slots=("home",), limit=2) == ["lives in Rome", "lives in Lyon"]  # active ones first
    assert alike(slots=("deadline:*",)) == [report.content, unnamed.content]
    assert alike(slots=("deadline:report",), contents=("the box is red",)) == [report.content, plain.content]
    assert alike(contents=("lives in Paris",)) == ["lives in Paris"]
    assert alike(slots=("deadline:%", "hom_"), contents=("%",)) == []
    assert alike() == []
    assert other_home.slot == "home"
