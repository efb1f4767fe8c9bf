"""Rows as they were given: shapes of content, unusual characters, deletion, export and import."""

import os
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from orca.errors import ConfigError
from orca.text.analysis import query_terms
from orca.types import Memory, Message, Scope, SubAgentMessage, SubAgentRun, Summary

from .sqlite_helpers import SCOPE, SPACE, SteppingClock, failed_checks, open_store, unit


@pytest.mark.case(14)
@pytest.mark.parametrize(
    "content",
    [
        "text",
        "",
        None,
        [],
        [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}],
        ["a"],
    ],
)
def test_content_of_any_shape_comes_back_as_it_was(content):
    store = open_store()
    store.messages.append(
        [Message(role="assistant", content=content, tool_calls=[{"id": "c1"}])], scope=SCOPE
    )
    stored = store.messages.get(1, scope=SCOPE)
    assert stored.content == content
    assert stored.tool_calls == [{"id": "c1"}]


@pytest.mark.case(14)
def test_metadata_is_converted_as_documented_or_refused_before_any_write():
    store = open_store()
    metadata = {
        "at": datetime(2026, 1, 1, tzinfo=UTC), "day": date(2026, 1, 1), "raw": b"\0\xff", "price": Decimal("1.10"),
        "tags": {"b", "a"}, "nan": float("nan"), "deep": {"inf": [float("inf")]},
    }  # fmt: skip
    store.messages.append([Message(role="user", content="x", metadata=metadata)], scope=SCOPE)
    assert store.messages.get(1, scope=SCOPE).metadata == {
        "at": "2026-01-01T00:00:00+00:00", "day": "2026-01-01", "raw": {"$base64": "AP8="}, "price": "1.10",
        "tags": ["a", "b"], "nan": None, "deep": {"inf": [None]},
    }  # fmt: skip
    good = Message(role="user", content="good")
    with pytest.raises(ConfigError, match=r"metadata\.thing"):
        store.messages.append([good, replace(good, metadata={"thing": object()})], scope=SCOPE)
    assert store.messages.count() == 1


@pytest.mark.case(8)
def test_surrogates_are_replaced_and_text_on_both_sides_of_a_nul_is_kept():
    store = open_store()
    texts = ["left\0right", "half \ud83d emoji", "other \ude00 half", "\ud83d\ude00 whole"]
    store.messages.append([Message(role="user", content=text, name="n\ud800") for text in texts], scope=SCOPE)
    assert [m.content for m in store.messages.recent(scope=SCOPE)] == [
        "left\0right", "half \ufffd emoji", "other \ufffd half", "😀 whole",
    ]  # fmt: skip
    for word in ("left", "right", "emoji"):
        assert len(store.messages.search(query_terms(word), scope=SCOPE, limit=5).matches) == 1


@pytest.mark.case(13)
def test_ids_are_data_and_match_exactly():
    store = open_store()
    users = [
        "john_doe",
        "john-doe",
        "johnXdoe",
        "user1",
        "user10",
        "%",
        "a'b\"",
        "../../x",
        "a\0b",
        "a",
        "用户",
        "",
    ]
    for user in users:
        store.messages.append([Message(role="user", content=f"words of {user}")], scope=Scope(user=user))
    for user in users:
        assert len(store.messages.recent(scope=Scope(user=user))) == 1
        assert len(store.messages.search(["word"], scope=Scope(user=user), limit=99).matches) == 1
    assert sorted(store.sessions.users()) == sorted(users)
    with pytest.raises(ConfigError, match="user"):
        store.messages.append([Message(role="user", content="x")], scope=Scope(user="half \ud83d"))


@pytest.mark.case(30)
@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone cannot be changed here")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York"])
def test_the_zone_of_the_machine_changes_no_instant(monkeypatch, zone):
    given = datetime(2026, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    store = open_store()
    try:
        monkeypatch.setitem(os.environ, "TZ", zone)
        time.tzset()
        store.messages.append([Message(role="user", content="x", timestamp=given)], scope=SCOPE)
        assert store.messages.get(1, scope=SCOPE).timestamp == given
        naive = Message(role="user", content="x", timestamp=given.replace(tzinfo=None))
        with pytest.raises(ConfigError, match="time zone"):
            store.messages.append([naive], scope=SCOPE)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.case(26)
def test_a_deleted_messages_id_and_position_are_never_given_again():
    store = open_store()
    first = store.messages.append([Message(role="user", content=str(n)) for n in range(3)], scope=SCOPE)
    store.messages.delete([first[2].id], scope=SCOPE)
    later = store.messages.append([Message(role="user", content="later")], scope=SCOPE)
    assert (later[0].id, later[0].position) == (4, 4)


def _filled(store):
    store.vectors.use_space(SPACE)
    other = Scope(user="alice", session="s2")
    clock = SteppingClock()
    a = store.messages.append(
        [Message(role="user", content=f"a message of s1, number {n}") for n in range(3)], scope=SCOPE
    )
    b = store.messages.append([Message(role="user", content="a message of s2, longer")], scope=other)
    store.summaries.append(Summary(content="about it", source_message_ids=(a[0].id, a[1].id)), scope=SCOPE)
    only = store.memories.append(Memory(content="only here", source_message_ids=(a[0].id,)), scope=SCOPE)
    store.memories.append(Memory(content="both", source_message_ids=(a[0].id, b[0].id)), scope=SCOPE)
    store.memories.supersede(
        only.id, Memory(content="newer", source_message_ids=(b[0].id,)), scope=SCOPE, now=clock.now()
    )
    run = store.subagents.start(SubAgentRun(agent="coder", task="t", parent_message_id=a[0].id), scope=SCOPE)
    store.subagents.start(SubAgentRun(agent="helper", task="t", parent_run_id=run.id), scope=SCOPE)
    store.subagents.append(
        [SubAgentMessage(run_id=run.id, role="tool", content=[{"text": "x"}])], scope=SCOPE
    )
    store.vectors.save_embedding("message", [a[0].id], unit(1))
    return a, b


@pytest.mark.case(19)
def test_a_deleted_message_takes_along_what_was_made_of_it_alone():
    store = open_store()
    a, b = _filled(store)
    assert store.messages.delete([a[0].id, 999], scope=Scope(user="bob")) == 0
    assert store.messages.delete([a[0].id], scope=SCOPE) == 1
    memories = store.memories.find(scope=SCOPE, include_inactive=True)
    assert [(m.content, m.source_message_ids, m.root_id) for m in memories] == [
        ("both", (b[0].id,), 2), ("newer", (b[0].id,), 3),
    ]  # fmt: skip
    counts = store.counts()
    assert (counts["summaries"], counts["subagent_runs"], counts["subagent_messages"]) == (0, 0, 0)
    assert [m.summary_id for m in store.messages.recent(scope=SCOPE)] == [None, None]
    assert failed_checks(store) == []


@pytest.mark.case(19)
def test_a_deleted_session_reports_exact_counts():
    store = open_store()
    _filled(store)
    gone = store.sessions.delete(scope=SCOPE)
    assert {kind: gone[kind] for kind in ("sessions", "messages", "summaries", "memories", "subagent_runs")} == {
        "sessions": 1, "messages": 3, "summaries": 1, "memories": 1, "subagent_runs": 2,
    }  # fmt: skip
    assert store.messages.count() == 1
    assert failed_checks(store) == []


@pytest.mark.case(33)
def test_an_export_into_an_empty_store_restores_everything():
    store, copy = open_store(), open_store()
    _filled(store)
    rows = list(store.export_rows())
    stored = copy.import_rows(rows)
    assert sum(stored.values()) == len(rows)
    assert list(copy.export_rows()) == rows
    assert failed_checks(copy) == []
    assert sum(copy.import_rows(rows).values()) == 0
    assert copy.jobs.pending(["embed"]) == 4 + 1 + 2


@pytest.mark.case(33)
def test_an_export_into_a_filled_store_gets_new_ids_and_keeps_its_links():
    store, copy = open_store(), open_store()
    a, _ = _filled(store)
    copy.messages.append([Message(role="user", content=f"there already {n}") for n in range(4)], scope=SCOPE)
    copy.memories.append(Memory(content="there already"), scope=SCOPE)
    rows = list(store.export_rows())
    copy.import_rows(rows)
    assert sum(copy.import_rows(rows).values()) == 0
    messages = copy.messages.recent(scope=SCOPE)
    assert [m.position for m in messages] == list(range(1, 8))
    summary = copy.summaries.recent(scope=SCOPE)[0]
    assert [m.content for m in copy.messages.get_many(summary.source_message_ids, scope=SCOPE)] == [
        m.content for m in a[:2]
    ]
    assert [m.id for m in messages if m.summary_id == summary.id] == list(summary.source_message_ids)
    newest = copy.memories.find(scope=SCOPE)[-1]
    assert [m.content for m in copy.memories.history(newest.id, scope=SCOPE)] == ["only here", "newer"]
    run = copy.subagents.find(scope=SCOPE)[0]
    assert copy.messages.get(run.parent_message_id, scope=SCOPE).content == a[0].content
    assert len(copy.subagents.messages(run.id)) == 1
    assert failed_checks(copy) == []


@pytest.mark.case(13)
@pytest.mark.parametrize(
    "row",
    [
        ("jobs", {"id": 1}),
        ("sessions", {"id); DROP TABLE meta; --": 1}),
        ("nothing", {}),
        ("main_messages", {"x": 1}),
    ],
)
def test_an_import_refuses_tables_and_columns_that_no_export_writes(row):
    store = open_store()
    with pytest.raises(ConfigError):
        store.import_rows([row])


@pytest.mark.case(33)
def test_an_export_may_be_given_up_after_the_store_was_closed(tmp_path):
    store = open_store(tmp_path / "chat.db")
    store.messages.append([Message(role="user", content="hello there")], scope=SCOPE)
    rows = store.export_rows()
    next(rows)
    store.close()
    rows.close()
