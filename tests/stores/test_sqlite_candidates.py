"""What FTS5 proposes and what is counted beside it, against counting every row."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orca.stores import _migrate
from orca.stores.jsonl import JSONLStore
from orca.stores.sqlite import candidates, fts, places, term_rows
from orca.stores.sqlite.schema import PACKAGE
from orca.text.analysis import index_terms
from orca.types import KeywordResult, Message, Scope, Summary

from .sqlite_helpers import SCOPE, SteppingClock, failed_checks, open_store

WORDS = ["tea", "plum", "river", "cat", "上海", "出差", "吃素", "rare"]
TERMS = sorted({term for word in WORDS for term in index_terms(word)})
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join), max_size=25)
QUERIES = st.lists(st.sampled_from([*TERMS, "nowhere"]), min_size=1, max_size=6, unique=True)


def said(texts: list[str]) -> list[Message]:
    return [Message(role="user", content=text) for text in texts]


def brute_force(rows: dict[int, str], terms: list[str]) -> dict[int, float]:
    """BM25 of every row that matches, by the textbook."""
    counts = {number: Counter(index_terms(text)) for number, text in rows.items()}
    average = sum(count.total() for count in counts.values()) / max(len(counts), 1)
    scores = {}
    for number, count in counts.items():
        score = 0.0
        for term in terms:
            having = sum(other[term] > 0 for other in counts.values())
            rarity = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
            norm = 1.2 * (0.25 + 0.75 * count.total() / average)
            score += rarity * count[term] * 2.2 / (count[term] + norm)
        if any(count[term] for term in terms):
            scores[number] = score
    return scores


def agrees(found: KeywordResult, rows: dict[int, str], terms: list[str], limit: int) -> None:
    wanted = brute_force(rows, terms)
    best = sorted(wanted.values(), reverse=True)[:limit]
    assert [wanted[match.id] for match in found.matches] == pytest.approx(best)
    counts = {number: Counter(index_terms(text)) for number, text in rows.items()}
    for match in found.matches:
        assert match.frequencies == tuple(counts[match.id][term] for term in terms)
        assert match.length == counts[match.id].total()
    assert found.document_frequencies == tuple(
        sum(count[term] > 0 for count in counts.values()) for term in terms
    )
    assert found.documents == len(rows)


@given(here=TEXTS, there=TEXTS, others=TEXTS, terms=QUERIES, limit=st.integers(1, 30))
@settings(deadline=None, max_examples=15)
def test_within_the_budget_the_best_rows_are_those_of_counting_every_row(
    here: list[str], there: list[str], others: list[str], terms: list[str], limit: int
) -> None:
    store = open_store()
    elsewhere = replace(SCOPE, session="s2")
    mine = dict(enumerate(here, 1))
    store.messages.append(said(here), scope=SCOPE)
    store.messages.append(said(others), scope=Scope(user="bob", session="s1"))
    stored = store.messages.append(said(there), scope=elsewhere)
    all_mine = mine | {message.id or 0: text for message, text in zip(stored, there, strict=True)}
    agrees(store.messages.search(terms, scope=SCOPE, limit=limit), all_mine, terms, limit)
    one = store.messages.search(terms, scope=SCOPE, limit=limit, across_sessions=False)
    agrees(one, mine, terms, limit)
    store.close()


@pytest.mark.parametrize("backend", ["sqlite", "jsonl"])
def test_both_stores_find_the_same(backend: str, tmp_path: Path) -> None:
    texts = [" ".join(WORDS[: n % 8 + 1]) + " tea" * (n % 3) for n in range(60)]
    facet: Any = open_store().messages if backend == "sqlite" else JSONLStore(tmp_path, clock=SteppingClock())
    facet.append(said(texts), scope=SCOPE)
    terms = index_terms("rare tea 上海")
    agrees(facet.search(terms, scope=SCOPE, limit=20), dict(enumerate(texts, 1)), terms, 20)


def test_beyond_the_budget_rare_words_and_pairs_of_common_ones_are_found(monkeypatch: Any) -> None:
    monkeypatch.setattr(candidates, "PROBED", 8)
    monkeypatch.setattr(candidates, "SMALL_RUN", 0)
    monkeypatch.setattr(candidates, "BUDGET", 60)
    store = open_store()
    texts = [f"tea number{n}" if n % 2 else f"plum number{n}" for n in range(400)]
    texts[3] = "tea and plum"  # old, and the only one with both common words
    texts[5] = "rare thing"
    store.messages.append(said(texts), scope=SCOPE)
    found = store.messages.search(["tea", "plum", "rare"], scope=SCOPE, limit=10)
    assert {match.id for match in found.matches[:2]} == {4, 6}
    assert len(found.matches) == 10
    tea, plum, rare = found.document_frequencies
    assert rare == 1
    assert 150 < tea < 250
    assert 150 < plum < 250


def test_a_search_for_many_rows_of_a_common_word_finds_as_many() -> None:
    store = open_store()
    store.messages.append(said(["tea"] * 700), scope=SCOPE)
    assert len(store.messages.search(["tea"], scope=SCOPE, limit=650).matches) == 650
    assert store.messages.search(["tea"], scope=SCOPE, limit=5).document_frequencies == (700,)


def test_the_newest_rows_stand_for_a_word_that_is_everywhere(monkeypatch: Any) -> None:
    monkeypatch.setattr(candidates, "PROBED", 8)
    monkeypatch.setattr(candidates, "SMALL_RUN", 0)
    monkeypatch.setattr(candidates, "BUDGET", 20)
    store = open_store()
    for session in range(5):
        scope = replace(SCOPE, session=f"s{session}")
        store.messages.append(said(["tea"] * 100), scope=scope)
    found = store.messages.search(["tea"], scope=SCOPE, limit=10)
    assert all(match.id > 400 for match in found.matches)
    assert found.document_frequencies == (500,)


@given(st.lists(st.text(max_size=3), max_size=40), st.lists(st.text(max_size=3), max_size=5, unique=True))
def test_packed_terms_count_as_the_terms(row: list[str], asked: list[str]) -> None:
    packed = term_rows.pack(row)
    counts = Counter(row)
    found = term_rows.unpack([packed.hashes, packed.hashes], [packed.counts, packed.counts], asked)
    assert found.tolist() == [[counts[term] for term in asked]] * 2


def test_a_term_that_occurs_very_often_is_counted_up_to_a_byte() -> None:
    packed = term_rows.pack(["a"] * 1000 + ["b"])
    assert term_rows.unpack([packed.hashes], [packed.counts], ["a", "b"]).tolist() == [[255, 1]]


def test_a_session_that_is_full_marks_the_index_and_keeps_the_message(monkeypatch: Any) -> None:
    monkeypatch.setattr(fts, "POSITIONS", 3)
    store = open_store()
    store.messages.append(said(["tea", "tea", "tea"]), scope=SCOPE)
    assert store.messages.count() == 3
    found = store.messages.search(["tea"], scope=SCOPE, limit=9)
    assert len(found.matches) == 3
    assert "more than 2 rows" in (found.degraded or "")


def test_a_deleted_session_leaves_neither_names_nor_places_behind() -> None:
    store = open_store()
    store.messages.append(said(["tea"]), scope=SCOPE)
    store.messages.append(said(["tea"]), scope=replace(SCOPE, session="s2"))
    store.summaries.append(Summary(content="tea"), scope=SCOPE)
    store.sessions.delete(scope=SCOPE)
    writer = store._database._writer
    assert writer.all("SELECT session_id FROM keyword_sessions") == [("s2",)]
    assert failed_checks(store) == []
    again = store.messages.append(said(["tea again"]), scope=SCOPE)
    assert [m.id for m in store.messages.search(["again"], scope=SCOPE, limit=5).matches] == [again[0].id]
    numbers = [number % places.SESSIONS for (number,) in writer.all("SELECT number FROM keyword_sessions")]
    assert sorted(numbers) == [2, 3]  # a place is never given twice
    store.sessions.delete_user(user=SCOPE.user)
    for table in ("keyword_owners", "keyword_sessions", "keyword_totals", "terms_main_messages"):
        assert writer.value(f"SELECT count(*) FROM {table}") == 0


def test_wrong_totals_and_terms_without_a_row_are_seen() -> None:
    store = open_store()
    store.messages.append(said(["tea", "plum"]), scope=SCOPE)
    store._database._writer.run("UPDATE keyword_totals SET terms = 9")
    assert ["wrong totals" in line for line in failed_checks(store)] == [True]
    store.rebuild_index()
    assert failed_checks(store) == []
    store._database._writer.run("DELETE FROM terms_main_messages WHERE id = 1")
    assert any("1 missing" in line for line in failed_checks(store))


@pytest.mark.case(36)
def test_an_index_of_the_older_shape_is_built_anew(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    raw = apsw.Connection(str(path))
    for step in _migrate.load(PACKAGE)[:2]:
        raw.execute(step.sql)
        raw.execute("INSERT INTO schema_migrations VALUES (?, ?, '2026')", (step.number, step.name))
    raw.execute(
        "INSERT INTO sessions(user_id, id, created_at, updated_at) VALUES ('alice', 's1', '2026', '2026');"
        "INSERT INTO session_positions VALUES ('alice', 's1', 'main', 1);"
        "INSERT INTO main_messages(session_id, role, content, timestamp, user_id, position) VALUES"
        " ('s1', 'user', '上海出差', '2026-05-10T08:00:00.000000+00:00', 'alice', 1);"
        "CREATE VIRTUAL TABLE fts_main_messages USING fts5(text, scope, content = '', contentless_delete = 1);"
        "CREATE VIRTUAL TABLE fts_main_messages_terms USING fts5vocab(fts_main_messages, col)"
    )
    raw.close()
    with open_store(path) as store:
        found = store.messages.search(index_terms("上海"), scope=SCOPE, limit=5)
        assert ([match.id for match in found.matches], found.degraded) == ([1], None)
        assert failed_checks(store) == []
