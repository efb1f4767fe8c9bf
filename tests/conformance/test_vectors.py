"""``VectorStore``: the nearest of the scope, whatever lies nearer outside it, and no vector that outlives its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from orca.errors import ConfigError, EmbeddingSpaceMismatchError
from orca.protocols import Store
from orca.types import EmbeddingSpace, Memory, Message, Scope, Summary

from .conftest import DIMENSIONS, unit

Check = Callable[[], None]


def add(store: Store, scope: Scope, vectors: np.ndarray) -> list[int]:
    """Store a message for each vector; return their ids."""
    said = [Message(role="user", content=f"message number {number}") for number in range(len(vectors))]
    ids = [message.id for message in store.messages.append(said, scope=scope)]
    assert store.vectors.save_embedding("message", ids, vectors) == len(ids)
    return ids


def nearest(store: Store, scope: Scope, limit: int, **more: bool) -> list[int]:
    hits = store.vectors.search_similar("message", unit(1), scope=scope, limit=limit, **more)
    return [number for number, _ in hits]


def around(angle: float, count: int) -> np.ndarray:
    return np.stack([unit(np.cos(angle + n * 1e-3), np.sin(angle + n * 1e-3)) for n in range(count)])


@pytest.mark.case(29)
def test_the_scope_acts_before_the_limit(vector_store: Store, scope: Scope) -> None:
    add(vector_store, scope, around(0.0, 500))
    bob = Scope(user="bob", session=scope.session)
    far = add(vector_store, bob, around(1.0, 5))
    coder = add(vector_store, replace(scope, agent="coder"), around(1.2, 2))
    assert nearest(vector_store, bob, 5) == far
    assert nearest(vector_store, bob, 50) == far
    assert nearest(vector_store, replace(scope, agent="coder"), 5) == coder


@pytest.mark.case(29)
def test_one_session_or_all_of_them(vector_store: Store, scope: Scope) -> None:
    near = add(vector_store, scope, around(0.0, 30))
    elsewhere = replace(scope, session="s2")
    far = add(vector_store, elsewhere, around(1.0, 3))
    assert nearest(vector_store, elsewhere, 3, across_sessions=False) == far
    assert nearest(vector_store, elsewhere, 3) == near[:3]
    assert nearest(vector_store, elsewhere, 99) == near + far


@pytest.mark.case(29)
def test_scores_are_cosines_best_first(vector_store: Store, scope: Scope) -> None:
    cosines = [0.1, 0.95, -0.5, 0.6]
    ids = add(vector_store, scope, np.stack([unit(c, np.sqrt(1 - c * c)) for c in cosines]))
    hits = vector_store.vectors.search_similar("message", unit(1), scope=scope, limit=9)
    assert [number for number, _ in hits] == [ids[1], ids[3], ids[0], ids[2]]
    assert [score for _, score in hits] == pytest.approx([0.95, 0.6, 0.1, -0.5], abs=1e-5)
    given = vector_store.vectors.similarities("message", [ids[2], ids[1], 10**9], unit(1))
    assert dict(given) == pytest.approx({ids[2]: -0.5, ids[1]: 0.95}, abs=1e-5)


@pytest.mark.case(29)
@pytest.mark.case(3)
def test_limits_have_no_upper_bound(vector_store: Store, scope: Scope) -> None:
    ids = add(vector_store, scope, around(0.0, 4100))
    assert len(nearest(vector_store, scope, 5000)) == len(nearest(vector_store, scope, 10**9)) == len(ids)
    assert nearest(vector_store, scope, 0) == []
    with pytest.raises(ConfigError):
        nearest(vector_store, scope, -1)


def test_the_best_are_found_among_random_vectors(vector_store: Store, scope: Scope) -> None:
    vectors = np.random.default_rng(7).normal(size=(600, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = add(vector_store, scope, vectors)
    query = vectors[3]
    best = [ids[index] for index in np.argsort(-(vectors @ query))[:10]]
    hits = vector_store.vectors.search_similar("message", query, scope=scope, limit=10)
    assert [number for number, _ in hits] == best


def test_bad_vectors_are_refused_and_nothing_of_the_batch_is_stored(
    vector_store: Store, scope: Scope
) -> None:
    said = [
        Message(role="user", content="message number one"),
        Message(role="user", content="and number two"),
    ]
    ids = [message.id for message in vector_store.messages.append(said, scope=scope)]
    save = vector_store.vectors.save_embedding
    with pytest.raises(EmbeddingSpaceMismatchError):
        save("message", ids, np.ones((2, DIMENSIONS + 1), dtype=np.float32))
    for bad in (np.nan, np.inf, 0.0):
        vectors = np.stack([unit(1), np.full(DIMENSIONS, bad, dtype=np.float32)])
        with pytest.raises(ValueError):  # noqa: PT011 - the contract names no more
            save("message", ids, vectors)
    assert nearest(vector_store, scope, 5) == []
    assert not any(message.has_embedding for message in vector_store.messages.recent(scope=scope))
    with pytest.raises(EmbeddingSpaceMismatchError):
        vector_store.vectors.search_similar("message", np.ones(3, dtype=np.float32), scope=scope, limit=1)


@pytest.mark.case(10)
def test_a_second_vector_replaces_the_first(vector_store: Store, scope: Scope, check: Check) -> None:
    (number,) = add(vector_store, scope, unit(1)[None])
    assert vector_store.vectors.save_embedding("message", [number], unit(0, 1)[None]) == 1
    hits = vector_store.vectors.search_similar("message", unit(0, 1), scope=scope, limit=5)
    assert hits == [(number, pytest.approx(1.0, abs=1e-5))]
    assert vector_store.messages.get(number, scope=scope).has_embedding


@pytest.mark.case(19)
def test_deleted_rows_take_no_place_and_get_no_vector(
    vector_store: Store, scope: Scope, check: Check
) -> None:
    bob = Scope(user="bob")
    gone = add(vector_store, bob, around(0.0, 50))
    (mine,) = add(vector_store, scope, unit(1, 1)[None])
    assert vector_store.messages.delete(gone, scope=bob) == 50
    assert nearest(vector_store, scope, 5) == [mine]
    assert nearest(vector_store, bob, 5) == []
    assert vector_store.vectors.save_embedding("message", [gone[0], mine], np.stack([unit(1)] * 2)) == 1


def test_every_kind_of_row_has_vectors_of_its_own(vector_store: Store, scope: Scope, check: Check) -> None:
    store = vector_store
    message = store.messages.append([Message(role="user", content="a long enough text")], scope=scope)[0]
    summary = store.summaries.append(Summary(content="a summary"), scope=scope)
    memory = store.memories.append(Memory(content="a memory"), scope=scope)
    rows = {"message": message.id, "summary": summary.id, "memory": memory.id}
    for record, number in rows.items():
        store.vectors.save_embedding(record, [number], unit(1)[None])
    for record, number in rows.items():
        hits = store.vectors.search_similar(record, unit(1), scope=scope, limit=5)
        assert [hit for hit, _ in hits] == [number]
    elsewhere = replace(scope, session="s2")
    assert store.vectors.search_similar("summary", unit(1), scope=elsewhere, limit=5) == []
    assert len(store.vectors.search_similar("memory", unit(1), scope=elsewhere, limit=5)) == 1
    assert store.summaries.recent(scope=scope)[0].has_embedding
    assert store.memories.get(memory.id, scope=scope).has_embedding


def test_spaces_never_meet_and_return_with_their_vectors(
    vector_store: Store, space: EmbeddingSpace, scope: Scope, check: Check
) -> None:
    store = vector_store
    (number,) = add(store, scope, unit(1)[None])
    assert store.jobs.pending(["embed"]) == 0 or store.vectors.space == space
    other = EmbeddingSpace(provider="test", model="other", dimensions=3)
    store.vectors.use_space(other)
    assert store.vectors.space == other
    assert not store.messages.get(number, scope=scope).has_embedding
    assert store.jobs.pending(["embed"]) >= 1
    query = np.array([1, 0, 0], dtype=np.float32)
    assert store.vectors.search_similar("message", query, scope=scope, limit=5) == []
    store.vectors.use_space(space)
    assert store.messages.get(number, scope=scope).has_embedding
    assert nearest(store, scope, 5) == [number]
    status = {item.key: item for item in store.vectors.spaces()}
    assert set(status) == {space.key, other.key}
    assert status[space.key].current
    assert status[space.key].vectors["message"] == 1
    assert store.vectors.clear() == 1
    assert not store.messages.get(number, scope=scope).has_embedding


def test_before_any_space_there_are_no_vectors(store: Store, scope: Scope) -> None:
    assert store.vectors.space is None
    assert store.vectors.available
    assert store.vectors.reason is None
    assert store.vectors.spaces() == []
    assert store.vectors.search_similar("message", unit(1), scope=scope, limit=5) == []
