from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from orca.embedders.centred import UNRELATED_DEVIATION, UNRELATED_MEAN, CentredEmbedder
from orca.embedders.local import LocalEmbedder
from orca.memory.record_search import RecordSearch
from orca.memory.relevance import Background, relevant
from orca.protocols import Embedder
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FakeEmbedder, FixedClock
from orca.types import Memory, Scope, Summary

SCOPE = Scope(user="alice", session="s1")


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    store = SQLiteStore(":memory:", clock=FixedClock())
    yield store
    store.close()


def _remember(store: SQLiteStore, texts: list[str], embedder: Embedder | None = None) -> list[int]:
    ids = [store.memories.append(Memory(content=text), scope=SCOPE).id for text in texts]
    known = [row for row in ids if row is not None]
    if embedder is not None:
        store.vectors.use_space(embedder.space)
        store.vectors.save_embedding("memory", known, embedder.embed(texts, kind="document"))
    return known


@pytest.mark.case(11)
def test_a_lone_fact_of_low_similarity_is_returned_and_relevant(store: SQLiteStore) -> None:
    space = FakeEmbedder(dimensions=8).space
    store.vectors.use_space(space)
    (row,) = _remember(store, ["the user keeps bees"])
    stored = np.zeros((1, 8), dtype=np.float32)
    stored[0, 0] = 1
    store.vectors.save_embedding("memory", [row], stored)
    query = np.zeros(8, dtype=np.float32)
    query[:2] = 0.18, np.sqrt(1 - 0.18**2)
    hits = RecordSearch(store, clock=FixedClock()).search("memory", "hobbies", query, scope=SCOPE, limit=5)
    assert [hit.id for hit in relevant(hits)] == [row]


@pytest.mark.case(29)
def test_nearer_is_better_and_scores_lie_between_0_and_1(store: SQLiteStore) -> None:
    store.vectors.use_space(FakeEmbedder(dimensions=8).space)
    ids = _remember(store, ["first", "second", "third"])
    cosines = (0.6, 0.95, -0.1)
    vectors = np.array([[c, np.sqrt(1 - c * c), 0, 0, 0, 0, 0, 0] for c in cosines], dtype=np.float32)
    store.vectors.save_embedding("memory", ids, vectors)
    query = np.eye(8, dtype=np.float32)[0]
    hits = RecordSearch(store, clock=FixedClock()).search("memory", "unknown", query, scope=SCOPE, limit=5)
    assert [hit.id for hit in hits] == [ids[1], ids[0], ids[2]]
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert hits[0].lanes["dense"].score == pytest.approx(0.95, abs=1e-3)
    assert hits[0].lanes["dense"].rank == 1


def test_summaries_of_the_session_are_found_by_keyword(store: SQLiteStore) -> None:
    store.summaries.append(Summary(content="用户决定用PostgreSQL做后端数据库"), scope=SCOPE)
    store.summaries.append(Summary(content="用户聊了聊天气"), scope=SCOPE)
    search = RecordSearch(store, clock=FixedClock())
    hits = search.search("summary", "后端用什么数据库", None, scope=SCOPE, limit=3)
    assert hits[0].content == "用户决定用PostgreSQL做后端数据库"
    assert hits[0].kind == "summary"
    assert hits[0].session == "s1"
    assert search.search("summary", "数据库", None, scope=Scope(user="alice", session="s2"), limit=3) == []


@pytest.mark.case(3)
@pytest.mark.parametrize(("query", "limit"), [("", 3), ("tea", 0), ("tea", -1)])
def test_nothing_asked_gives_nothing(store: SQLiteStore, query: str, limit: int) -> None:
    _remember(store, ["the user likes tea"])
    assert (
        RecordSearch(store, clock=FixedClock()).search("memory", query, None, scope=SCOPE, limit=limit) == []
    )


FACTS = [
    "用户只吃素，不吃肉和鱼",
    "The user's dog is called Doudou, a three year old corgi",
    "用户住在杭州西湖区",
    "The project's backend uses a PostgreSQL database and FastAPI",
    "用户每天早上六点跑步五公里",
    "The user plans to travel to Iceland in October to see the northern lights",
    "用户的女儿今年上小学一年级",
    "The user drives a white Tesla Model 3",
]


@pytest.fixture(scope="module")
def embedded() -> Iterator[tuple[RecordSearch, CentredEmbedder]]:
    embedder = CentredEmbedder(LocalEmbedder())
    store = SQLiteStore(":memory:", clock=FixedClock())
    _remember(store, FACTS, embedder)
    yield (
        RecordSearch(
            store,
            clock=FixedClock(),
            background=Background(mean=UNRELATED_MEAN, deviation=UNRELATED_DEVIATION),
        ),
        embedder,
    )
    store.close()


def _injected(embedded: tuple[RecordSearch, CentredEmbedder], query: str) -> list[str]:
    search, embedder = embedded
    vector = embedder.embed([query], kind="query")[0]
    return [hit.content for hit in relevant(search.search("memory", query, vector, scope=SCOPE, limit=2))]


@pytest.mark.case(11)
@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("我平时能吃牛排吗？", 0),
        ("Can I eat steak, or am I vegetarian?", 0),
        ("我家宠物叫什么名字", 1),
        ("What is the name of my pet dog?", 1),
        ("我住在哪个城市", 2),
        ("Which city in China do I live in?", 2),
        ("我们后端用的什么数据库", 3),
        ("Which database did we pick for the backend?", 3),
        ("我的运动习惯是什么", 4),
        ("How far do I run every morning?", 4),
        ("我打算去哪里旅游", 5),
        ("我孩子上几年级了", 6),
        ("What car do I drive?", 7),
        ("我的车是什么型号", 7),
    ],
)
def test_a_related_query_finds_its_fact_in_either_language(
    embedded: tuple[RecordSearch, CentredEmbedder], query: str, fact: int
) -> None:
    assert FACTS[fact] in _injected(embedded, query)


@pytest.mark.case(11)
@pytest.mark.parametrize(
    "query",
    [
        "谢谢",
        "好的，继续",
        "Thanks!",
        "解释一下量子纠缠",
        "Explain quantum entanglement",
        "勾股定理怎么证明",
        "Prove the Pythagorean theorem",
        "一加一等于几",
        "How do I fold a paper plane?",
        "什么是通货膨胀",
        "What is inflation?",
        "How tall is Mount Everest?",
    ],
)
def test_an_unrelated_query_brings_nothing_into_the_prompt(
    embedded: tuple[RecordSearch, CentredEmbedder], query: str
) -> None:
    assert _injected(embedded, query) == []
