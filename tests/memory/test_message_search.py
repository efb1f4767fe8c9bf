from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from orca.memory.message_search import MessageSearch
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FakeEmbedder, FixedClock
from orca.text.parts import indexed_text, is_embeddable
from orca.types import Hit, Message, Scope

SCOPE = Scope(user="alice", session="s1")
START = datetime(2023, 5, 8, 9, 0, tzinfo=UTC)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder(dimensions=128, max_batch=1_000)


@pytest.fixture
def store(embedder: FakeEmbedder) -> Iterator[SQLiteStore]:
    store = SQLiteStore(":memory:", clock=FixedClock())
    store.vectors.use_space(embedder.space)
    yield store
    store.close()


def _say(
    store: SQLiteStore,
    lines: Sequence[str | Message],
    *,
    scope: Scope = SCOPE,
    embedder: FakeEmbedder | None = None,
    start: datetime = START,
) -> list[int]:
    messages = [
        line
        if isinstance(line, Message)
        else Message(role="user", content=line, timestamp=start + timedelta(minutes=n))
        for n, line in enumerate(lines)
    ]
    stored = store.messages.append(messages, scope=scope)
    if embedder is not None:
        worth = [message for message in stored if is_embeddable(message)]
        vectors = embedder.embed([indexed_text(message) for message in worth], kind="document")
        store.vectors.save_embedding("message", [_id(message) for message in worth], vectors)
    return [_id(message) for message in stored]


def _id(message: Message) -> int:
    assert message.id is not None
    return message.id


def _ids(hits: Sequence[Hit]) -> list[int]:
    return [hit.id for hit in hits]


FILLER = [f"Nothing of note happened on walk number {n}, truly nothing." for n in range(8)]


@pytest.mark.case(11)
def test_keywords_alone_rank_by_strength_and_lose_nothing(store: SQLiteStore) -> None:
    gap = ["filler words here", "other filler words", "more filler words"]
    lines = [line for n in range(1, 6) for line in (" ".join(["zebra"] * n + ["grass"] * (6 - n)), *gap)]
    ids = _say(store, lines)[::4]
    hits = MessageSearch(store).search("zebra", None, scope=SCOPE, limit=50)
    assert [row for row in _ids(hits) if row in ids] == ids[::-1]
    assert len({hit.score for hit in hits if hit.id in ids}) == 5
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert all(hit.lanes["keyword"].rank >= 1 and "dense" not in hit.lanes for hit in hits)


@pytest.mark.case(11)
def test_a_keyword_hit_is_not_below_a_row_that_is_only_near(store: SQLiteStore) -> None:
    ids = _say(
        store,
        ["obsidian obsidian obsidian", *FILLER, "one obsidian stone here", *FILLER, "a black volcanic rock"],
    )
    strong, weak, near = ids[0], ids[9], ids[18]
    vector = np.zeros(128, dtype=np.float32)
    vector[0] = 1
    others = np.zeros((len(ids), 128), dtype=np.float32)
    others[:, 1] = 1
    others[[0, 9, 18]] = 0
    others[[0, 9], 0], others[[0, 9], 1] = 0.6, 0.8
    others[18, 0], others[18, 1] = 0.62, np.sqrt(1 - 0.62**2)
    store.vectors.save_embedding("message", ids, others)
    order = _ids(MessageSearch(store).search("obsidian", vector, scope=SCOPE, limit=50))
    assert order.index(strong) < order.index(weak) < order.index(near)


@pytest.mark.case(3)
@pytest.mark.parametrize("limit", [0, -1])
def test_no_hits_for_a_limit_below_one(store: SQLiteStore, limit: int) -> None:
    _say(store, ["hello world there"])
    assert MessageSearch(store).search("hello", None, scope=SCOPE, limit=limit) == []


@pytest.mark.case(3)
@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "\x00",
        "\ud800",
        '"',
        "(",
        "*",
        "^",
        ":",
        "/",
        "@",
        "AND",
        "OR NOT",
        "NEAR(",
        "C++",
        "it's",
        "?!",
        "a" * 10_000,
        "multi-part AND words " * 500,
    ],
)
def test_any_query_is_answered(store: SQLiteStore, embedder: FakeEmbedder, query: str) -> None:
    _say(store, ["words of a multi-part message", "it's C++ and v1.2.3"], embedder=embedder)
    for limit in (1, 10**9):
        MessageSearch(store).search(query, None, scope=SCOPE, limit=limit)


@pytest.mark.case(27)
@pytest.mark.parametrize("query", ["虹桥", "虹桥机场", "我们下周三去上海虹桥机场接她"])
def test_chinese_is_found_whole_and_in_part(store: SQLiteStore, query: str) -> None:
    ids = _say(store, ["今天天气不错", *FILLER, "我们下周三去上海虹桥机场接她"])
    assert _ids(MessageSearch(store).search(query, None, scope=SCOPE, limit=1)) == [ids[-1]]


@pytest.mark.case(27)
def test_every_row_with_the_word_is_found(store: SQLiteStore) -> None:
    shapes = ("quokka is a word at the start", "in the middle a quokka sits", "at the end there is a quokka")
    ids = _say(store, [shapes[n % 3] for n in range(100)])
    assert sorted(_ids(MessageSearch(store).search("quokka", None, scope=SCOPE, limit=200))) == ids


@pytest.mark.case(27)
def test_as_many_rows_as_are_asked_for_are_found(store: SQLiteStore) -> None:
    ids = _say(store, [f"the quokka number {n}" for n in range(1_100)])
    assert sorted(_ids(MessageSearch(store).search("quokka", None, scope=SCOPE, limit=10**9))) == ids


@pytest.mark.case(29)
def test_a_crowded_user_does_not_push_out_another(store: SQLiteStore, embedder: FakeEmbedder) -> None:
    _say(store, ["alice likes green tea very much"] * 500, embedder=embedder)
    other = Scope(user="bob", session="s1")
    ids = _say(
        store, [f"the number of the day is {n}, said bob" for n in range(5)], scope=other, embedder=embedder
    )
    vector = embedder.embed(["alice likes green tea"], kind="query")[0]
    hits = MessageSearch(store).search("green tea", vector, scope=other, limit=5)
    assert sorted(_ids(hits)) == ids


def test_one_session_can_be_searched_alone(store: SQLiteStore, embedder: FakeEmbedder) -> None:
    _say(store, ["the cat is called Tom"], scope=Scope(user="alice", session="s2"), embedder=embedder)
    here = _say(store, ["a cat came by today"], embedder=embedder)
    vector = embedder.embed(["cat"], kind="query")[0]
    search = MessageSearch(store)
    assert _ids(search.search("cat", vector, scope=SCOPE, limit=9, across_sessions=False)) == here
    assert len(search.search("cat", vector, scope=SCOPE, limit=9)) == 2


def test_an_answer_without_the_words_is_found_through_the_question_before_it(store: SQLiteStore) -> None:
    ids = _say(
        store,
        [
            *FILLER,
            Message(role="assistant", content="Which restaurant should we book for the anniversary?"),
            Message(
                role="user",
                content="The one by the harbour where Marta works in the evenings, for seven please",
            ),
            *FILLER,
        ],
    )
    hits = MessageSearch(store).search("restaurant for the anniversary", None, scope=SCOPE, limit=2)
    assert _ids(hits) == [ids[8], ids[9]]


def test_the_named_speaker_and_the_named_day_come_first(store: SQLiteStore) -> None:
    line = "I went hiking in the hills with an old friend and it was lovely, we saw eagles, deer and a fox"
    stored: dict[tuple[str, int], int] = {}
    for month in (3, 5, 8):
        for name in ("Ann", "Ben"):
            said = Message(
                role="user", name=name, content=line, timestamp=datetime(2023, month, 8, tzinfo=UTC)
            )
            stored[name, month] = _say(store, [said], scope=Scope(user="alice", session=f"{name}{month}"))[0]
    search = MessageSearch(store)
    assert _ids(search.search("What did Ben do on 8 May 2023?", None, scope=SCOPE, limit=1)) == [
        stored["Ben", 5]
    ]
    assert _ids(search.search("Ben hiking 2023年8月", None, scope=SCOPE, limit=1)) == [stored["Ben", 8]]


def test_equal_state_gives_equal_order(store: SQLiteStore, embedder: FakeEmbedder) -> None:
    _say(store, ["the same words again here"] * 20, embedder=embedder)
    vector = embedder.embed(["same words"], kind="query")[0]
    search = MessageSearch(store)
    first = search.search("same words", vector, scope=SCOPE, limit=20)
    assert first == search.search("same words", vector, scope=SCOPE, limit=20)


@pytest.mark.case(28)
def test_a_search_reads_rows_a_fixed_number_of_times(store: SQLiteStore, embedder: FakeEmbedder) -> None:
    _say(store, [f"message number {n} about topic {n % 7}" for n in range(300)], embedder=embedder)

    class Counting:
        def __init__(self, facet: object) -> None:
            self.facet = facet
            self.calls: list[str] = []

        def __getattr__(self, name: str) -> object:
            self.calls.append(name)
            return getattr(self.facet, name)

    messages, vectors = Counting(store.messages), Counting(store.vectors)

    class Watched:
        pass

    watched = Watched()
    watched.messages, watched.vectors = messages, vectors  # type: ignore[attr-defined]
    vector = embedder.embed(["topic 3"], kind="query")[0]
    hits = MessageSearch(watched).search("topic 3", vector, scope=SCOPE, limit=50)  # type: ignore[arg-type]
    assert len(hits) == 50
    assert sorted(messages.calls) == ["get_many", "neighbours", "search"]
    assert vectors.calls.count("search_similar") == 1


def test_small_talk_is_relevant_to_nothing(store: SQLiteStore, embedder: FakeEmbedder) -> None:
    _say(store, ["thanks for the tea, it was great"], embedder=embedder)
    hits = MessageSearch(store).search("Thanks!", None, scope=SCOPE, limit=3)
    assert [hit.relevance for hit in hits] == [0.0]
