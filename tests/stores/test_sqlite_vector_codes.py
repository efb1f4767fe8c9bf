"""The vector lane through codes: as exact as a scan, in step with every process, gone with what is deleted."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest

from orca.errors import StoreError
from orca.stores.sqlite import code_lanes, nearest, vector_codes, vector_tables
from orca.types import EmbeddingSpace, Message, Scope

from .sqlite_helpers import SCOPE, failed_checks, open_store

SPAWN = multiprocessing.get_context("spawn")
DIMENSIONS = 128
WIDE = EmbeddingSpace(provider="test", model="wide", dimensions=DIMENSIONS)
BOB = Scope(user="bob", session="b1")


@pytest.fixture(autouse=True)
def codes_from_the_first_row(monkeypatch):
    """Every search goes by the codes, however few rows there are."""
    monkeypatch.setattr(nearest, "EXACT_NUMBERS", 0)


def vectors_of(count: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(10, DIMENSIONS))
    made = centres[rng.integers(0, 10, count)] + rng.normal(size=(count, DIMENSIONS))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def add(store, vectors: np.ndarray, scope: Scope = SCOPE) -> list[int]:
    said = [Message(role="user", content=f"a message long enough {n}") for n in range(len(vectors))]
    ids = [message.id for message in store.messages.append(said, scope=scope)]
    assert store.vectors.save_embedding("message", ids, vectors) == len(ids)
    return ids


def filled(path=":memory:", count: int = 300):
    store = open_store(path)
    store.vectors.use_space(WIDE)
    vectors = vectors_of(count)
    return store, vectors, add(store, vectors)


def best(ids: list[int], vectors: np.ndarray, query: np.ndarray, limit: int = 10) -> list[int]:
    return [ids[place] for place in np.argsort(-(vectors @ query), kind="stable")[:limit]]


def found(store, query: np.ndarray, *, scope: Scope = SCOPE, limit: int = 10, **more: bool) -> list[int]:
    return [
        number
        for number, _ in store.vectors.search_similar("message", query, scope=scope, limit=limit, **more)
    ]


@contextmanager
def no_scan(monkeypatch):
    """Inside, a scan of the vectors is an error."""

    def refuse(*_):
        raise AssertionError("every vector was scanned")

    with monkeypatch.context() as patched:
        patched.setattr("orca.stores.sqlite.vectors.scan", refuse)
        yield


class UndoneError(Exception):
    pass


@contextmanager
def undone(store):
    """A transaction that is given up at the end of the block."""
    with suppress(UndoneError), store.transaction():
        yield
        raise UndoneError


@pytest.mark.case(29)
def test_the_best_are_those_of_an_exact_search_and_the_rest_is_near(monkeypatch):
    store, vectors, ids = filled(count=1_500)
    add(store, vectors[:50], scope=BOB)
    agree = []
    with no_scan(monkeypatch):
        for query in vectors_of(20, seed=2):
            hits = store.vectors.search_similar("message", query, scope=SCOPE, limit=400)
            cosines = dict(zip(ids, (vectors @ query).tolist(), strict=True))
            assert [number for number, _ in hits[:10]] == best(ids, vectors, query)
            assert [cosine for _, cosine in hits] == sorted((c for _, c in hits), reverse=True)
            assert [c for _, c in hits[:10]] == pytest.approx([cosines[n] for n, _ in hits[:10]], abs=1e-5)
            assert [c for _, c in hits] == pytest.approx([cosines[n] for n, _ in hits], abs=0.12)
            agree.append(len({n for n, _ in hits} & set(best(ids, vectors, query, 400))) / 400)
        assert np.mean(agree) > 0.85
        assert set(found(store, vectors[0], scope=BOB, limit=500)) == set(range(1_501, 1_551))


@pytest.mark.case(29)
def test_a_session_alone_is_searched_exactly(monkeypatch):
    monkeypatch.setattr(nearest, "EXACT_NUMBERS", 100 * WIDE.dimensions)
    store, vectors, _ = filled()
    other = vectors_of(60, seed=3)
    ids = add(store, other, replace(SCOPE, session="s2"))
    with no_scan(monkeypatch):
        near = found(store, vectors[0], scope=replace(SCOPE, session="s2"), limit=60, across_sessions=False)
    assert near == best(ids, other, vectors[0], 60)


def test_similarities_are_read_for_these_rows_alone(monkeypatch):
    store, vectors, ids = filled()
    chosen = ids[20:80]
    expected = dict(zip(chosen, (vectors[20:80] @ vectors[0]).tolist(), strict=True))
    near = store.vectors.similarities("message", [*chosen, 10**9], vectors[0])
    assert [number for number, _ in near] == chosen
    assert dict(near) == pytest.approx(expected, abs=1e-5)
    monkeypatch.setattr(nearest, "EXACT_LIST", 20)
    assert dict(store.vectors.similarities("message", chosen, vectors[0])) == pytest.approx(
        expected, abs=0.12
    )
    monkeypatch.setattr(nearest, "EXACT_LIST", 100)
    assert dict(store.vectors.similarities("message", chosen, vectors[0])) == pytest.approx(
        expected, abs=1e-5
    )


def test_what_another_store_writes_and_deletes_is_seen_at_the_next_search(tmp_path, monkeypatch):
    store, vectors, ids = filled(tmp_path / "chat.db")
    query = vectors_of(1, seed=5)[0]
    with store, open_store(tmp_path / "chat.db") as other:
        other.vectors.use_space(WIDE)
        with no_scan(monkeypatch):
            assert found(other, query) == found(store, query) == best(ids, vectors, query)
            (new,) = add(other, query[np.newaxis])
            assert found(store, query)[0] == new
            other.vectors.save_embedding("message", [new], -query[np.newaxis])
            assert found(store, query) == best(ids, vectors, query)
            first = best(ids, vectors, query)[0]
            other.messages.delete([first], scope=SCOPE)
            assert found(store, query)[:9] == best(ids, vectors, query)[1:]
            monkeypatch.setattr(vector_codes, "KEPT_CHANGES", 2)  # more than that is missed
            more = add(other, np.stack([query] * 5))
            assert sorted(found(store, query, limit=5)) == more
        assert failed_checks(store) == []


def test_a_transaction_sees_its_own_vectors_and_nobody_else_does(tmp_path, monkeypatch):
    store, vectors, ids = filled(tmp_path / "chat.db")
    query = vectors_of(1, seed=5)[0]
    before = best(ids, vectors, query)
    with store, open_store(tmp_path / "chat.db") as other:
        other.vectors.use_space(WIDE)
        assert found(store, query) == before
        with no_scan(monkeypatch):
            with undone(store):
                (new,) = add(store, query[np.newaxis])
                store.messages.delete([before[0]], scope=SCOPE)
                assert found(store, query) == [new, *before[1:]]
                assert dict(store.vectors.similarities("message", [new, *before], query)).keys() == {
                    new,
                    *before[1:],
                }
                assert found(other, query) == before
            assert found(store, query) == before
            with store.transaction():
                (new,) = add(store, query[np.newaxis])
            assert found(store, query)[0] == found(other, query)[0] == new


def test_the_first_search_may_be_inside_a_transaction():
    store, vectors, _ = filled()
    with undone(store):
        (new,) = add(store, vectors[:1])
        assert new in found(store, vectors[0])
    assert new not in found(store, vectors[0])


def _add_one(path: str) -> None:
    with open_store(path) as store:
        store.vectors.use_space(WIDE)
        add(store, vectors_of(1, seed=5))


def test_what_another_process_writes_is_seen(tmp_path, monkeypatch):
    store, vectors, ids = filled(tmp_path / "chat.db")
    query = vectors_of(1, seed=5)[0]
    with store, no_scan(monkeypatch):
        assert found(store, query) == best(ids, vectors, query)
        process = SPAWN.Process(target=_add_one, args=(str(tmp_path / "chat.db"),))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        assert found(store, query)[0] == len(ids) + 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_searches_although_a_lane_was_locked(tmp_path):
    store, vectors, ids = filled(tmp_path / "chat.db")
    expected = found(store, vectors[0])
    with store:
        with store.vectors._lanes._lock:
            child = os.fork()
            if not child:
                os._exit(0 if found(store, vectors[0]) == expected else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert found(store, vectors[0]) == expected == best(ids, vectors, vectors[0])


def test_a_store_that_is_only_read_searches_by_codes(tmp_path, monkeypatch):
    store, vectors, ids = filled(tmp_path / "chat.db")
    store.close()
    with open_store(tmp_path / "chat.db", read_only=True) as reader, no_scan(monkeypatch):
        reader.vectors.use_space(WIDE)
        assert found(reader, vectors[0]) == best(ids, vectors, vectors[0])


def _raw(store, sql: str) -> None:
    with store._database.write() as connection:
        connection.run(sql)


DAMAGE = {
    "all missing": "DELETE FROM vector_codes",
    "one missing": "DELETE FROM vector_codes WHERE target_id = 7",
    "cut short": "UPDATE vector_codes SET code = substr(code, 1, 20) WHERE target_id = 7",
    "of other vectors": "UPDATE vector_codes SET code = (SELECT code FROM vector_codes WHERE target_id = 300)",
    "not a blob": "UPDATE vector_codes SET code = 'x' WHERE target_id = 7",
}


@pytest.mark.parametrize("searched_before", [True, False])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_where_codes_are_missing_or_wrong_the_scan_serves_and_says_so(tmp_path, damage, searched_before):
    store, vectors, ids = filled(tmp_path / "chat.db")
    with store:
        if searched_before:
            found(store, vectors[0])
        _raw(store, damage)
        for query in vectors_of(3, seed=8):
            assert found(store, query) == best(ids, vectors, query)
        assert "orca reindex" in store.vectors.notice
        assert store.vectors.notice in store.degraded
        assert [line for line in failed_checks(store) if "vector codes of main_messages" in line]
        with open_store(tmp_path / "chat.db") as other:
            other.rebuild_index()
        assert found(store, vectors[0]) == best(ids, vectors, vectors[0])
        assert store.vectors.notice is None
        assert failed_checks(store) == []


def test_codes_left_over_and_codes_of_other_vectors_are_found_by_verify():
    store, _, _ = filled(count=20)
    _raw(
        store,
        "INSERT INTO vector_codes SELECT space_id, record, 999, code FROM vector_codes WHERE target_id = 1",
    )
    _raw(
        store,
        "UPDATE vector_codes SET code = (SELECT code FROM vector_codes WHERE target_id = 1) WHERE target_id = 2",
    )
    (line,) = failed_checks(store)
    assert "21 codes, 1 missing or wrong, 1 without a vector" in line


@pytest.mark.case(19)
def test_deleted_rows_leave_no_code_in_memory_or_in_the_file(tmp_path):
    path = tmp_path / "chat.db"
    store, vectors, _ = filled(path, count=40)
    secret = vectors_of(1, seed=99)
    with store:
        (gone,) = add(store, secret, BOB)
        assert found(store, secret[0], scope=BOB) == [gone]
        code, _ = vector_codes.quantizer(DIMENSIONS).encode(secret)
        with store._database.read() as connection:
            stored = connection.value("SELECT code FROM vector_codes WHERE target_id = ?", (gone,))
        assert stored.endswith(code[0].tobytes())
        store.sessions.delete_user(user="bob")
        assert found(store, vectors[0])
        index = next(iter(store.vectors._lanes._lanes.values())).index
        assert not (index._blocks[0].planes[:, gone - 1]).any()
        assert all(check.ok for check in store.scrub())
        assert store.vectors._lanes._lanes == {}
    for file in tmp_path.iterdir():
        data = file.read_bytes()
        assert code[0].tobytes() not in data
        assert secret[0].tobytes() not in data


def test_a_file_of_an_older_version_gets_smaller_chunks_and_codes(tmp_path, monkeypatch):
    path = tmp_path / "chat.db"
    monkeypatch.setattr(vector_tables, "chunk_rows", lambda dimensions: 256)
    store, vectors, ids = filled(path)
    _raw(store, "DELETE FROM vector_codes")
    store.close()
    monkeypatch.undo()
    monkeypatch.setattr(nearest, "EXACT_NUMBERS", 0)
    with open_store(path) as store, no_scan(monkeypatch):
        store.vectors.use_space(WIDE)
        with store._database.read() as connection:
            sql = connection.value("SELECT sql FROM sqlite_schema WHERE name = 'vec_main_messages'")
        assert f"chunk_size={vector_tables.chunk_rows(DIMENSIONS)})" in sql
        assert found(store, vectors[0]) == best(ids, vectors, vectors[0])
        assert failed_checks(store) == []


@pytest.mark.case(20)
def test_vectors_that_came_without_the_extension_get_their_codes_with_it(tmp_path, monkeypatch):
    path = tmp_path / "chat.db"
    store, vectors, ids = filled(path)
    store.close()

    def broken(raw):
        raise OSError("no such library")

    new = vectors_of(3, seed=4)
    with open_store(path, extension_loader=broken) as store:
        store.vectors.use_space(WIDE)
        added = add(store, new)
        store.vectors.save_embedding("message", [ids[0]], -vectors[:1])
        store.messages.delete(ids[1:2], scope=SCOPE)
        assert [line for line in failed_checks(store) if "extension" not in line] == []
    with open_store(path) as store, no_scan(monkeypatch):
        store.vectors.use_space(WIDE)
        assert found(store, new[0])[0] == added[0]
        assert ids[0] not in found(store, vectors[0])
        assert ids[1] not in found(store, vectors[1])
        assert found(store, -vectors[0])[0] == ids[0]
        assert failed_checks(store) == []


@pytest.mark.case(12)
def test_spaces_have_codes_of_their_own_and_clearing_one_leaves_the_other(monkeypatch):
    store, vectors, ids = filled()
    other = EmbeddingSpace(provider="test", model="other", dimensions=192)
    store.vectors.use_space(other)
    wider = np.random.default_rng(3).normal(size=(20, 192)).astype(np.float32)
    wider /= np.linalg.norm(wider, axis=1, keepdims=True)
    store.vectors.save_embedding("message", ids[:20], wider)
    with no_scan(monkeypatch):
        assert found(store, wider[3]) == best(ids[:20], wider, wider[3])
        assert store.vectors.clear() == 20
        assert found(store, wider[3]) == []
        store.vectors.use_space(WIDE)
        assert found(store, vectors[0]) == best(ids, vectors, vectors[0])
    assert failed_checks(store) == []


def test_narrow_vectors_have_no_codes_and_are_scanned():
    store = open_store()
    narrow = EmbeddingSpace(provider="test", model="narrow", dimensions=vector_codes.MIN_DIMENSIONS - 1)
    store.vectors.use_space(narrow)
    vectors = np.eye(narrow.dimensions, dtype=np.float32)[:5]
    ids = add(store, vectors)
    assert found(store, vectors[2], limit=1) == [ids[2]]
    assert store.vectors.notice is None
    with store._database.read() as connection:
        assert connection.value("SELECT count(*) FROM vector_codes") == 0


def test_reading_past_a_chunk_is_an_error_in_words(monkeypatch):
    store, vectors, ids = filled(count=10)
    _raw(store, "UPDATE vec_main_messages_rowids SET chunk_offset = 10000 WHERE rowid = 3")
    with pytest.raises(StoreError, match="too short"):
        store.vectors.similarities("message", ids, vectors[0])


def test_lists_longer_than_the_codes_serve_are_scanned_exactly(monkeypatch):
    monkeypatch.setattr(nearest, "MAX_LIMIT", 50)
    store, vectors, ids = filled()
    assert found(store, vectors[0], limit=300) == best(ids, vectors, vectors[0], 300)
    monkeypatch.setattr(nearest, "MAX_CHANGED", 3)
    assert found(store, vectors[0]) == best(ids, vectors, vectors[0])
    with store.transaction():
        new = add(store, np.stack([vectors[0]] * 4))
        assert set(found(store, vectors[0], limit=5)) == {ids[0], *new}


def test_two_stores_in_one_process_keep_their_codes_apart():
    first, vectors, ids = filled()
    second = open_store()
    second.vectors.use_space(WIDE)
    mine = add(second, vectors[50:60])
    assert found(second, vectors[50]) == best(mine, vectors[50:60], vectors[50])
    assert found(first, vectors[50]) == best(ids, vectors, vectors[50])
    assert isinstance(first.vectors._lanes, code_lanes.CodeLanes)
