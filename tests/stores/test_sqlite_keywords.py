"""The FTS5 index: what survives in it, and what happens without it."""

import random

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orca.stores.sqlite.connection import load_sqlite_vec
from orca.text.analysis import index_terms, query_terms
from orca.types import Memory, Message, Scope, Summary

from .sqlite_helpers import SCOPE, failed_checks, open_store

OTHER_MODULES = ["json_each", "json_tree", "pragma_table_info", "vec0"]


def without_fts5(raw: apsw.Connection) -> None:
    load_sqlite_vec(raw)
    raw.drop_modules(OTHER_MODULES)


@given(st.lists(st.text(), max_size=8))
@example(["กำลัง ภาษาไทย", "नमस्ते दुनिया", "한국어", "ｶﾞ ㍿", "é e\u0301", "𞤀𞤁 ꟊ", "\u0378x", "a\0b", "x_y-z's"])
@settings(deadline=None, max_examples=60)
def test_every_index_term_is_one_token_of_the_tokenizer(texts):
    terms = list(dict.fromkeys(term for text in texts for term in index_terms(text)))
    raw = apsw.Connection(":memory:")
    tokenizer = raw.fts5_tokenizer("ascii", [])
    tokens = tokenizer(
        " ".join(terms).encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    assert list(tokens) == terms


@pytest.mark.case(3)
@pytest.mark.parametrize(
    "terms",
    [
        ["'"], ['"'], ["("], ["*"], ["^"], [":"], ["/"], ["@"], ["C++"], ["v1.2.3"], ["AND"], ["OR", "NOT"], ["NEAR("],
        [""], [" "], ["\0"], ["a\0b"], ["multi-part", "AND", "words"], ["x" * 10_000], [f"w{n}" for n in range(3000)], [],
        ["text:word"], ["scope", ":", "o"],
    ],
)  # fmt: skip
def test_raw_strings_as_terms_find_something_or_nothing(terms):
    store = open_store()
    store.messages.append([Message(role="user", content="multi-part AND words")], scope=SCOPE)
    found = store.messages.search(terms, scope=SCOPE, limit=10)
    assert found.degraded is None
    assert len(found.document_frequencies) == len(terms)
    assert all(len(match.frequencies) == len(terms) for match in found.matches)


def test_figures_are_those_of_the_scope():
    store = open_store()
    store.messages.append(
        [Message(role="user", content="apple apple pear"), Message(role="user", content="pear")], scope=SCOPE
    )
    store.messages.append([Message(role="user", content="apple")], scope=Scope(user="bob"))
    terms = query_terms("apple pear missing")
    found = store.messages.search(terms, scope=SCOPE, limit=10)
    best = found.matches[0]
    assert (best.id, best.frequencies, best.length) == (1, (2, 1, 0), 3)
    assert {m.id for m in found.matches} == {1, 2}
    assert found.document_frequencies == (1, 2, 0)
    assert (found.documents, found.average_length) == (2, 2)
    nothing = store.messages.search(["nothing"], scope=Scope(user="nobody"), limit=10)
    assert (nothing.matches, nothing.documents, nothing.document_frequencies) == ((), 0, (0,))


@pytest.mark.case(20)
def test_without_fts5_rows_are_scanned_and_indexed_once_it_is_back(tmp_path):
    path = tmp_path / "chat.db"
    with open_store(path, extension_loader=without_fts5) as store:
        store.messages.append(
            [Message(role="user", content="上海出差"), Message(role="user", content="吃素")], scope=SCOPE
        )
        store.summaries.append(Summary(content="a trip to 上海"), scope=SCOPE)
        store.memories.append(Memory(content="vegetarian"), scope=SCOPE)
        found = store.messages.search(query_terms("上海"), scope=SCOPE, limit=5)
        assert [m.id for m in found.matches] == [1]
        assert "scanned" in found.degraded
        assert any("fts5" in reason.lower() for reason in store.degraded)
        assert store.messages.delete([2], scope=SCOPE) == 1
    with open_store(path) as store:
        assert store.degraded == ()
        found = store.messages.search(query_terms("上海"), scope=SCOPE, limit=5)
        assert ([m.id for m in found.matches], found.degraded) == ([1], None)
        assert failed_checks(store) == []


@pytest.mark.case(8)
@pytest.mark.parametrize("record", ["message", "summary", "memory"])
def test_a_failing_index_never_loses_the_row_and_is_repaired(tmp_path, record):
    path = tmp_path / "chat.db"
    table = {"message": "main_messages", "summary": "short_term_memories", "memory": "long_term_memories"}[
        record
    ]
    with open_store(path) as store:
        facet = {"message": store.messages, "summary": store.summaries, "memory": store.memories}[record]
        row = {
            "message": [Message(role="user", content="zebra crossing")],
            "summary": Summary(content="zebra crossing"),
            "memory": Memory(content="zebra crossing"),
        }[record]
        store._database._writer.run(f"DROP TABLE fts_{table}")
        facet.append(row, scope=SCOPE)
        found = facet.search(query_terms("zebra"), scope=SCOPE, limit=5)
        assert [m.id for m in found.matches] == [1]
        assert found.degraded
        assert len(failed_checks(store)) == 1
    with open_store(path) as store:
        facet = {"message": store.messages, "summary": store.summaries, "memory": store.memories}[record]
        assert facet.search(query_terms("zebra"), scope=SCOPE, limit=5).degraded is None
        assert failed_checks(store) == []


@pytest.mark.case(33)
def test_rebuilding_a_damaged_index_keeps_every_row():
    store = open_store()
    store.messages.append([Message(role="user", content=f"word{n}") for n in range(30)], scope=SCOPE)
    store._database._writer.run("INSERT INTO fts_main_messages(fts_main_messages) VALUES ('delete-all')")
    assert any("missing" in line for line in failed_checks(store))
    before = dict(store.counts())
    assert store.rebuild_index() == {"messages": 30, "summaries": 0, "memories": 0}
    assert dict(store.counts()) == before
    assert failed_checks(store) == []


@pytest.mark.case(10)
def test_random_changes_leave_rows_keywords_and_jobs_in_step():
    store = open_store()
    dice = random.Random(7)
    now = store._clock.now
    for step in range(250):
        memories = store.memories.find(scope=SCOPE)
        action = dice.choice(["add", "supersede", "delete", "retire", "message", "forget"])
        if action == "add" or not memories:
            store.memories.append(
                Memory(content=f"fact number {step}", source_message_ids=(step % 9 + 1,)), scope=SCOPE
            )
        elif action == "supersede":
            store.memories.supersede(
                dice.choice(memories).id, Memory(content=f"new {step}"), scope=SCOPE, now=now()
            )
        elif action == "delete":
            store.memories.delete([dice.choice(memories).id], scope=SCOPE)
        elif action == "message":
            store.messages.append([Message(role="user", content=f"a longer message {step}")], scope=SCOPE)
        elif action == "forget":
            store.messages.delete([step % 9 + 1], scope=SCOPE)
    assert failed_checks(store) == []
