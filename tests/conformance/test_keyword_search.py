"""Keyword search of messages: every script, hostile queries, and figures that BM25 can be computed from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orca.facets import MessageStore
from orca.text.analysis import query_terms
from orca.types import Message, Scope

HOSTILE = [
    "", " ", "'", '"', "(", ")", "*", "^", ":", "/", "@", "-", "C++", "v1.2.3", "AND", "OR", "NOT", "NEAR(", "NEAR(a b)",
    "multi-part AND words", "a AND", 'say "hi', "don't", "text:word", "scope:x", "{a b}:c", "word*", "^word", "+word",
    "-word", "'; DROP TABLE main_messages; --", "%", "_", "\\", "\x00", "a\x00b", "\ud800", "😀", "x" * 10_000,
    "the of and", "的", "。。。", "SELECT", "null", "true", "1 2 3", "\u2028",
]  # fmt: skip


def ids_of(messages: MessageStore, query: str, scope: Scope, limit: int = 1000) -> set[int]:
    return {match.id for match in messages.search(query_terms(query), scope=scope, limit=limit).matches}


def store(messages: MessageStore, scope: Scope, *texts: str) -> list[int]:
    return [
        message.id
        for message in messages.append([Message(role="user", content=text) for text in texts], scope=scope)
    ]


@pytest.mark.case(27)
@pytest.mark.parametrize(
    ("text", "queries"),
    [
        (
            "我只吃素，下周去上海出差",
            ["素", "上海", "出差", "下周", "只吃素", "上海出差", "我只吃素，下周去上海出差"],
        ),
        ("東京タワーへ行きたいです", ["東京", "タワー", "行きたい", "東京タワーへ行きたいです"]),
        ("저는 서울에서 일합니다", ["서울", "일합", "저는 서울에서 일합니다"]),
        ("用Python写代码", ["Python", "python", "代码", "写代码"]),
        ("cafe\u0301 re\u0301sume\u0301", ["caf\u00e9", "r\u00e9sum\u00e9", "cafe"]),
        ("caf\u00e9", ["cafe\u0301", "CAFE\u0301"]),
        ("ＡＢＣ１２３ full width", ["abc123", "ABC123"]),
        ("abc123", ["ＡＢＣ１２３"]),
        ("She was running with the dogs", ["run", "runs", "dog", "Running"]),
        ("ﬁne ﬂow", ["fine", "flow"]),
        ("Straße", ["strasse", "STRASSE"]),
    ],
)
def test_every_script_is_found_by_its_words(
    messages: MessageStore, scope: Scope, text: str, queries: list[str]
) -> None:
    (number, _) = store(messages, scope, text, "etwas ganz anderes 别的东西")
    for query in queries:
        assert number in ids_of(messages, query, scope), query


@pytest.mark.case(27)
def test_a_word_is_found_wherever_it_stands(messages: MessageStore, scope: Scope) -> None:
    texts = [("花生" + "好" * n, "好" * n + "花生" + "的" * n, "好" * n + "花生")[n % 3] for n in range(100)]
    ids = store(messages, scope, *texts)
    assert ids_of(messages, "花生", scope) == set(ids)


@pytest.mark.case(3)
@pytest.mark.case(8)
@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_no_query_is_an_error(messages: MessageStore, scope: Scope, query: str) -> None:
    store(messages, scope, "multi-part words AND more", "don't say hi", "C++ v1.2.3 a b c")
    result = messages.search(query_terms(query), scope=scope, limit=10)
    assert result.degraded is None
    assert len(result.document_frequencies) == len(query_terms(query))


@pytest.mark.case(3)
def test_hyphens_and_operators_are_words(messages: MessageStore, scope: Scope) -> None:
    (first, second) = store(messages, scope, "a multi-part answer", "NEAR the river OR sea")
    assert first in ids_of(messages, "multi-part AND words", scope)
    assert ids_of(messages, "river", scope) == ids_of(messages, "river NOT", scope) == {second}


def test_no_terms_find_nothing(messages: MessageStore, scope: Scope) -> None:
    store(messages, scope, "something")
    result = messages.search([], scope=scope, limit=5)
    assert result.matches == ()
    assert result.document_frequencies == ()


def test_figures_are_those_of_the_rows(messages: MessageStore, scope: Scope) -> None:
    a, b, c = store(messages, scope, "apple apple pear", "apple plum", "unrelated words here now")
    elsewhere = Scope(user="bob")
    store(messages, elsewhere, "pear apple")
    result = messages.search(["appl", "pear", "nothing"], scope=scope, limit=10)
    matches = {match.id: match for match in result.matches}
    assert set(matches) == {a, b}
    assert matches[a].frequencies == (2, 1, 0)
    assert matches[b].frequencies == (1, 0, 0)
    assert (matches[a].length, matches[b].length) == (3, 2)
    assert result.document_frequencies == (2, 1, 0)
    assert result.documents == 3
    assert result.average_length == pytest.approx((3 + 2 + 4) / 3)
    assert c not in matches


def test_the_best_come_first_and_the_limit_keeps_them(messages: MessageStore, scope: Scope) -> None:
    ids = store(messages, scope, *["tea " + "filler " * 30] * 20, "tea tea rare", "rare tea")
    found = messages.search(["tea", "rare"], scope=scope, limit=2).matches
    assert {match.id for match in found} == set(ids[-2:])


def test_the_scope_acts_before_the_limit(messages: MessageStore, scope: Scope) -> None:
    store(messages, Scope(user="bob"), *["plum plum"] * 50)
    store(messages, replace(scope, agent="other"), *["plum plum"] * 50)
    (mine,) = store(messages, scope, "a plum among many other words of mine")
    assert ids_of(messages, "plum", scope, limit=1) == {mine}


def test_one_session_or_all_of_them(messages: MessageStore, scope: Scope) -> None:
    (here,) = store(messages, scope, "plum here")
    (there,) = store(messages, replace(scope, session="s2"), "plum there")
    assert ids_of(messages, "plum", scope) == {here, there}
    found = messages.search(["plum"], scope=scope, limit=9, across_sessions=False).matches
    assert [match.id for match in found] == [here]


@pytest.mark.case(14)
def test_media_are_no_words(messages: MessageStore, scope: Scope) -> None:
    uri = "data:image/png;base64," + "iVBORw0KGgo" * 30_000
    content = [{"type": "text", "text": "see picture"}, {"type": "image_url", "image_url": {"url": uri}}]
    stored = messages.append(
        [Message(role="user", content=content), Message(role="tool", content=f"done {uri}")], scope=scope
    )
    assert ids_of(messages, "picture", scope) == {stored[0].id}
    assert ids_of(messages, "iVBORw0KGgo", scope) == set()
    assert messages.get(stored[1].id, scope=scope).content == f"done {uri}"
