"""What is forgotten is gone from everywhere, does not come back, and the files prove it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orca import MemoryManager, Scope, open_memory
from orca.config import Settings
from orca.errors import NotFoundError
from orca.testing import FakeEmbedder

pytestmark = pytest.mark.case(19)

SCOPE = Scope(user="alice", session="s1")
LINE = "我住在里斯本，花园里种着菊花墙"
WORD = "里斯本"


def opened(path: Path) -> MemoryManager:
    return open_memory(path, embedder=FakeEmbedder(), chat_model=None, settings=Settings())


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with opened(tmp_path / "orca.db") as memory:
        yield memory


def tell(memory: MemoryManager, scope: Scope = SCOPE, line: str = LINE) -> int:
    memory.observe(scope=scope, role="user", content=line)
    memory.observe(scope=scope, role="assistant", content="好的，我记下了。")
    assert memory.flush(20)
    return next(fact.id or 0 for fact in memory.memories(scope=scope) if WORD in fact.content)


def exported(memory: MemoryManager, *tables: str) -> str:
    rows = [row for table, row in memory.export_rows() if not tables or table in tables]
    return json.dumps(rows, ensure_ascii=False, default=str)


def test_a_forgotten_fact_is_in_no_summary_fact_index_queue_or_export_and_stays_away(
    memory: MemoryManager,
) -> None:
    number = tell(memory)
    assert WORD in exported(memory, "short_term_memories")
    memory.forget(scope=SCOPE, id=number)
    derived = ("short_term_memories", "long_term_memories", "jobs")
    assert WORD not in exported(memory, *derived)
    assert memory.get_short_term_memory(scope=SCOPE, query=WORD) == []
    memory.end_session(scope=SCOPE)  # reads the message once more
    memory.reindex()
    memory.flush(20)
    assert WORD not in exported(memory, *derived)
    assert WORD in exported(memory, "main_messages")
    assert memory.verify().ok


def test_a_fact_forgotten_before_its_turn_is_summarised_leaves_no_summary(memory: MemoryManager) -> None:
    memory.observe(scope=SCOPE, role="user", content=LINE)
    memory.end_session(scope=SCOPE)
    number = next(fact.id or 0 for fact in memory.memories(scope=SCOPE) if WORD in fact.content)
    memory.forget(scope=SCOPE, id=number)
    memory.observe(scope=SCOPE, role="assistant", content="好的，里斯本。")
    memory.flush(20)
    assert WORD not in exported(memory, "short_term_memories", "long_term_memories")


def test_saying_it_again_is_learned_again(memory: MemoryManager) -> None:
    memory.forget(scope=SCOPE, id=tell(memory))
    assert tell(memory)


def test_the_messages_go_too_when_asked(memory: MemoryManager) -> None:
    other = Scope(user="bob", session="s1")
    kept = tell(memory, other)
    memory.forget(scope=SCOPE, id=tell(memory), sources=True)
    memory.flush(20)
    mine = [row for _, row in memory.export_rows() if row.get("user_id") == "alice"]
    assert WORD not in json.dumps(mine, ensure_ascii=False, default=str)
    assert [fact.id for fact in memory.memories(scope=other)] == [kept]
    assert WORD in memory.get_short_term_memory(scope=other, query=WORD)[0].content
    assert memory.verify().ok


@pytest.mark.parametrize("what", ["memory", "session", "user"])
def test_erasing_proves_that_no_file_holds_the_text(tmp_path: Path, what: str) -> None:
    with opened(tmp_path / "orca.db") as memory:
        number = tell(memory)
        tell(memory, Scope(user="bob", session="s9"), "我住在里斯本的另一条街上，家里有一架钢琴")
        before = dict(memory.status().counts)
        options = {"memory": {"memory_id": number, "sources": True}, "session": {}, "user": {"user": True}}[
            what
        ]
        would = memory.erasure.preview(scope=SCOPE, **options)
        assert dict(memory.status().counts) == before
        report = memory.erasure.erase(scope=SCOPE, **options)
        assert report.ok, report
        after = memory.status().counts
        assert {kind: before[kind] - after[kind] for kind in before} == would
        assert would["memories"] >= 1
        for file in tmp_path.rglob("*"):
            if file.is_file():
                assert "菊花墙".encode() not in file.read_bytes(), file.name
        assert memory.verify().ok
        assert any("traces in orca.db" in check.name for check in report.checks)
        assert "钢琴" in exported(memory)


def test_text_that_others_still_hold_is_no_trace(memory: MemoryManager) -> None:
    tell(memory)
    tell(memory, Scope(user="bob", session="s1"))
    assert memory.erase(scope=SCOPE).ok
    assert WORD in exported(memory)


def test_a_trace_is_found(memory: MemoryManager, tmp_path: Path) -> None:
    tell(memory)
    # Something else wrote the text beside the rows: into the name of an application's own table.
    hidden = tmp_path / "orca.db-journal"
    hidden.write_bytes(b"x" * 100 + LINE.encode())
    report = memory.erase(scope=SCOPE)
    assert not report.ok
    assert [check.name for check in report.checks if not check.ok] == ["traces in orca.db-journal"]
    assert LINE not in str(report)
    hidden.unlink()


def test_an_interrupted_deletion_is_undone_and_can_be_repeated(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(memory)
    before = exported(memory)

    def stop(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("orca.stores.sqlite.sessions.delete_memories", stop)
        with pytest.raises(KeyboardInterrupt):
            memory.delete_session(scope=SCOPE)
    assert exported(memory) == before
    assert memory.delete_session(scope=SCOPE)["messages"] == 2
    assert memory.delete_session(scope=SCOPE)["messages"] == 0
    assert WORD not in exported(memory)


def test_messages_that_wait_in_the_spool_go_too(tmp_path: Path) -> None:
    path = tmp_path / "orca.db"
    path.write_bytes(b"this is no database" * 100)
    with opened(path) as memory:
        memory.observe(scope=SCOPE, role="user", content="the chrysanthemum wall hides it")
        memory.observe(scope=Scope(user="bob"), role="user", content="a piano stands at my place")
        assert memory.erase(scope=SCOPE).ok
    spool = b"".join(file.read_bytes() for file in (tmp_path / "orca.db-spool").rglob("*") if file.is_file())
    assert b"chrysanthemum" not in spool
    assert b"piano" in spool


def test_what_is_not_there_cannot_be_forgotten(memory: MemoryManager) -> None:
    with pytest.raises(NotFoundError):
        memory.forget(scope=SCOPE, id=99)
    number = tell(memory)
    with pytest.raises(NotFoundError):
        memory.erasure.preview(scope=Scope(user="bob", session="s1"), memory_id=number)
