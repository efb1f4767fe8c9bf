"""Figures that triggers keep: right after every kind of write, in an upgraded file, and without the names of the gone."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from orca.stores import _migrate
from orca.stores.sqlite.schema import PACKAGE
from orca.types import Job, Memory, Message, Scope, SubAgentMessage, SubAgentRun, Summary

from .sqlite_helpers import SCOPE, SteppingClock, failed_checks, open_store

ELSEWHERE = Scope(user="alice", session="s2")


def fill(store) -> None:
    now = SteppingClock().now()
    for day, scope in enumerate((SCOPE, SCOPE, ELSEWHERE, Scope(user="bob", session="s1"))):
        message = Message(role="user", content=f"day {day}", timestamp=now + timedelta(days=day))
        number = store.messages.append([message], scope=scope)[0].id
        store.summaries.append(Summary(content=f"sum {day}", source_message_ids=(number,)), scope=scope)
        run = store.subagents.start(SubAgentRun(agent="a", task="t", parent_message_id=number), scope=scope)
        store.subagents.append([SubAgentMessage(run_id=run.id, role="user", content="x")], scope=scope)
        store.memories.append(Memory(content=f"memory {day}", source_message_ids=(number,)), scope=scope)


def test_every_way_to_write_keeps_them() -> None:
    store = open_store()
    now = SteppingClock().now()
    fill(store)
    assert failed_checks(store) == []
    assert store.browse.activity(user="alice", since=now) == [
        ("2026-05-10", 1),
        ("2026-05-11", 1),
        ("2026-05-12", 1),
    ]
    embed = Job(kind="embed", record="message", target_id=1, user="alice", session="s1")
    store.jobs.enqueue([embed, embed], now=now)  # they are there already
    assert failed_checks(store) == []
    claimed = store.jobs.claim(["embed"], limit=2, lease_seconds=9, owner="w", now=now + timedelta(days=9))
    store.jobs.retry([job.id for job in claimed], error="429: slow down", run_after=now, failed=True)
    backlog = Counter({group.reason: group.count for group in store.jobs.backlog()})
    assert backlog["429: slow down"] == 2
    store.jobs.complete([claimed[0].id])
    assert [failed for failed in failed_checks(store) if failed.startswith("tallies")] == []
    store.jobs.enqueue([claimed[0]], now=now)
    store.messages.delete([1], scope=SCOPE)
    store.memories.delete([store.memories.find(scope=SCOPE)[0].id], scope=SCOPE)
    assert failed_checks(store) == []
    before = store.counts()
    gone = store.sessions.delete(scope=SCOPE)
    assert gone["messages"] == 1
    assert before["messages"] - store.counts()["messages"] == 1
    assert failed_checks(store) == []


def test_what_is_watched_changes_with_the_rows_and_not_with_an_access() -> None:
    store = open_store()
    fill(store)
    marks = store.browse.marks(user="alice")
    store.memories.touch([1], scope=SCOPE, now=SteppingClock().now())
    store.messages.append([Message(role="user", content="x")], scope=Scope(user="bob", session="s1"))
    assert store.browse.marks(user="alice") == marks
    store.memories.update(store.memories.get(1, scope=SCOPE), scope=SCOPE)
    store.subagents.append([SubAgentMessage(run_id=1, role="user", content="y")], scope=SCOPE)
    changed = {kind for kind, mark in store.browse.marks(user="alice").items() if mark != marks[kind]}
    assert changed >= {"memory", "run"}
    assert not changed & {"message", "session", "summary"}


@pytest.mark.case(19)
def test_a_deleted_user_leaves_no_name_behind() -> None:
    store = open_store()
    fill(store)
    assert store.sessions.delete_user(user="alice")["messages"] == 3
    with store._database.read() as connection:
        assert connection.value("SELECT count(*) FROM tallies WHERE user_id = 'alice'") == 0
    assert failed_checks(store) == []


def test_a_deleted_session_leaves_no_name_behind() -> None:
    store = open_store()
    fill(store)
    store.sessions.delete(scope=ELSEWHERE)
    with store._database.read() as connection:
        assert connection.value("SELECT count(*) FROM tallies WHERE part = 's2'") == 0


@pytest.mark.case(36)
def test_an_older_file_is_counted_when_it_is_upgraded(tmp_path: Path) -> None:
    steps = _migrate.load(PACKAGE)
    before = next(step.number for step in steps if step.name == "tallies") - 1
    path = tmp_path / "chat.db"
    with open_store(path) as store:
        fill(store)
        expected = store.counts()
        triggers = store._database
        with triggers.write() as connection:
            for (name,) in connection.all("SELECT name FROM sqlite_schema WHERE type = 'trigger'"):
                connection.run(f"DROP TRIGGER {name}")
            connection.run("DROP TABLE tallies; DROP INDEX idx_jobs_due")
            connection.run("UPDATE sessions SET updated_at = '2030' WHERE id = 's2'")  # it was renamed then
            for table in ("main_messages", "short_term_memories", "long_term_memories"):
                connection.run(f"ALTER TABLE {table} ADD COLUMN term_count")  # a later migration drops it
            connection.run(f"DELETE FROM schema_migrations WHERE version > {before}")
    with open_store(path) as store:
        assert store.counts() == expected
        assert failed_checks(store) == []
        assert [session.id for session in store.sessions.find(user="alice")] == ["s1", "s2"]
        assert store.sessions.get(scope=ELSEWHERE).updated_at.year == 2026


@pytest.mark.case(28)
def test_wrong_figures_are_found_and_counted_anew() -> None:
    store = open_store()
    fill(store)
    with store._database.write() as connection:
        connection.run("UPDATE tallies SET rows = 9 WHERE kind = 'messages'")
        connection.run("DELETE FROM tallies WHERE kind = 'days'")
    assert failed_checks(store) == ["tallies: wrong for days, messages; orca reindex counts anew"]
    store.rebuild_index()
    assert failed_checks(store) == []
