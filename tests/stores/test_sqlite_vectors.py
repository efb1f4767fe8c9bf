"""sqlite-vec: with it, without it, and with stale statistics."""

import time

import numpy as np
import pytest

from orca.errors import EmbeddingSpaceMismatchError
from orca.stores.sqlite.connection import load_sqlite_vec
from orca.types import EmbeddingSpace, Memory, Message, Scope, Summary

from .sqlite_helpers import SCOPE, SPACE, failed_checks, open_store, unit


def raises(raw):
    raise OSError("wrong ELF class")


def loads_nothing(raw):
    """Succeeds like an extension that registers less than it should."""


def lacks_the_method(raw):
    raise AttributeError("'Connection' object has no attribute 'enable_load_extension'")


def _messages(count: int) -> list[Message]:
    return [Message(role="user", content=f"a message long enough {n}") for n in range(count)]


@pytest.mark.case(20)
@pytest.mark.parametrize("loader", [raises, loads_nothing, lacks_the_method])
def test_vectors_without_the_extension_are_kept_and_found_once_it_is_back(tmp_path, loader):
    path = tmp_path / "chat.db"
    with open_store(path) as store:
        store.vectors.use_space(SPACE)
        store.messages.append(_messages(4), scope=SCOPE)
        store.vectors.save_embedding("message", [1, 2], np.stack([unit(1), unit(0, 1)]))
    with open_store(path, extension_loader=loader) as store:
        assert not store.vectors.available
        assert "sqlite-vec" in store.vectors.reason
        assert store.vectors.reason in store.degraded
        store.vectors.use_space(SPACE)
        assert store.vectors.save_embedding("message", [3, 2], np.stack([unit(0, 0, 1), unit(0, 0, 1)])) == 2
        assert store.messages.delete([1], scope=SCOPE) == 1
        assert store.vectors.search_similar("message", unit(1), scope=SCOPE, limit=5) == []
        assert store.vectors.spaces()[0].vectors["message"] == 2
        assert [m.has_embedding for m in store.messages.recent(scope=SCOPE)] == [True, True, False]
        assert [line for line in failed_checks(store) if "extension" not in line] == []
    with open_store(path) as store:
        assert store.vectors.available
        found = store.vectors.search_similar("message", unit(0, 0, 1), scope=SCOPE, limit=5)
        assert [number for number, _ in found] == [2, 3]
        assert found[0][1] == pytest.approx(1.0)
        assert failed_checks(store) == []


@pytest.mark.case(1)
@pytest.mark.parametrize("bad", [[np.nan] * 8, [np.inf] + [0.0] * 7, [0.0] * 8])
def test_a_vector_without_direction_is_refused(bad):
    store = open_store()
    store.vectors.use_space(SPACE)
    store.messages.append(_messages(1), scope=SCOPE)
    with pytest.raises(ValueError, match=r"NaN|zero"):
        store.vectors.save_embedding("message", [1], np.array([bad]))
    with pytest.raises(EmbeddingSpaceMismatchError):
        store.vectors.save_embedding("message", [1], np.ones((1, 7)))
    assert not store.messages.get(1, scope=SCOPE).has_embedding


@pytest.mark.case(29)
def test_more_neighbours_than_the_extension_gives_at_once(tmp_path):
    store = open_store()
    store.vectors.use_space(SPACE)
    store.messages.append(_messages(4500), scope=SCOPE)
    store.messages.append(_messages(5), scope=Scope(user="bob", session="s1"))
    vectors = np.random.default_rng(1).normal(size=(4505, 8))
    store.vectors.save_embedding("message", range(1, 4506), vectors)
    found = store.vectors.search_similar("message", vectors[0], scope=SCOPE, limit=10**9)
    assert len(found) == 4500
    assert [s for _, s in found] == sorted((s for _, s in found), reverse=True)
    few = store.vectors.search_similar("message", vectors[0], scope=SCOPE, limit=20)
    assert [number for number, _ in few] == [number for number, _ in found[:20]]
    assert (
        len(store.vectors.search_similar("message", unit(1), scope=Scope(user="bob", session="s1"), limit=9))
        == 5
    )


@pytest.mark.case(12)
def test_a_space_left_and_taken_again_has_its_vectors_still():
    other = EmbeddingSpace(provider="test", model="other", dimensions=4)
    store = open_store()
    store.vectors.use_space(SPACE)
    store.messages.append(_messages(3), scope=SCOPE)
    store.vectors.save_embedding("message", [1, 2], np.stack([unit(1), unit(1)]))
    store.vectors.use_space(other)
    assert store.vectors.space == other
    assert [m.has_embedding for m in store.messages.recent(scope=SCOPE)] == [False] * 3
    store.vectors.save_embedding("message", [3], np.ones((1, 4)))
    assert failed_checks(store) == []
    store.vectors.use_space(SPACE)
    assert [m.has_embedding for m in store.messages.recent(scope=SCOPE)] == [True, True, False]
    assert store.jobs.pending(["embed"]) == 1
    assert failed_checks(store) == []
    store.messages.delete([3], scope=SCOPE)
    assert [space.vectors["message"] for space in store.vectors.spaces()] == [2, 0]
    assert store.vectors.clear() == 2
    assert store.jobs.pending(["embed"]) == 2
    assert failed_checks(store) == []


@pytest.mark.case(28)
def test_stale_planner_statistics_do_not_repeat_the_vector_scan(tmp_path):
    path = tmp_path / "chat.db"
    with open_store(path) as store:
        store.vectors.use_space(SPACE)
        store.messages.append(_messages(1), scope=SCOPE)
        store.vectors.save_embedding("message", [1], unit(1))
        store._database._writer.run("ANALYZE")
    with open_store(path) as store:
        store.messages.append(_messages(8000), scope=SCOPE)
        store.vectors.save_embedding(
            "message", range(2, 8002), np.random.default_rng(2).normal(size=(8000, 8))
        )
        started = time.perf_counter()
        near = store.vectors.search_similar("message", unit(1), scope=SCOPE, limit=1000)
        assert len(near) == 1000
        assert len(store.messages.search(["messag"], scope=SCOPE, limit=1000).matches) == 1000
        assert (
            len(store.messages.neighbours([number for number, _ in near], scope=SCOPE, radius=2).ids) > 1000
        )
        assert time.perf_counter() - started < 20  # a scan of the rows for every neighbour takes a minute
        store.sessions.find(user=SCOPE.user)
        store.vectors.use_space(SPACE)
        assert failed_checks(store) == []
        assert time.perf_counter() - started < 60  # a repeated scan takes many minutes


@pytest.mark.case(10)
def test_a_replaced_text_loses_its_vector_at_once():
    store = open_store()
    store.vectors.use_space(SPACE)
    store.messages.append(_messages(1), scope=SCOPE)
    summary = store.summaries.append(Summary(content="old words", source_message_ids=(1,)), scope=SCOPE)
    memory = store.memories.append(Memory(content="old words"), scope=SCOPE)
    store.vectors.save_embedding("summary", [summary.id], unit(1))
    store.vectors.save_embedding("memory", [memory.id], unit(1))
    held = store.jobs.claim(["embed"], limit=9, lease_seconds=60, owner="w", now=store._clock.now())
    store.summaries.append(Summary(content="new words", source_message_ids=(1,)), scope=SCOPE)
    store.memories.supersede(memory.id, Memory(content="new words"), scope=SCOPE, now=store._clock.now())
    assert store.vectors.search_similar("summary", unit(1), scope=SCOPE, limit=5) == []
    assert store.vectors.search_similar("memory", unit(1), scope=SCOPE, limit=5) == []
    store.jobs.complete([job.id for job in held if job.record != "message"])
    assert store.jobs.pending(["embed"]) == 3  # the new texts wait, though the old ones' jobs were done
    assert failed_checks(store) == []


@pytest.mark.case(19)
def test_deleted_rows_take_no_place_among_the_neighbours():
    store = open_store(extension_loader=load_sqlite_vec)
    store.vectors.use_space(SPACE)
    bob = Scope(user="bob")
    mine = store.memories.append(Memory(content="mine"), scope=SCOPE)
    theirs = [store.memories.append(Memory(content=f"theirs {n}"), scope=bob).id for n in range(50)]
    store.vectors.save_embedding("memory", [mine.id, *theirs], np.stack([unit(1, 1), *[unit(1)] * 50]))
    assert store.sessions.delete_user(user="bob")["memories"] == 50
    assert [n for n, _ in store.vectors.search_similar("memory", unit(1), scope=SCOPE, limit=5)] == [mine.id]
    store.scrub()
    assert [n for n, _ in store.vectors.search_similar("memory", unit(1), scope=SCOPE, limit=5)] == [mine.id]
    assert failed_checks(store) == []
