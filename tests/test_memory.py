"""The memory as a user meets it: through ``open_memory``, on a real file, with the shipped doubles."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from orca import AsyncMemory, ConfigError, MemoryManager, Message, Scope, StoreError, open_memory
from orca.config import Settings
from orca.errors import ConflictError, NotFoundError, ProviderTimeoutError
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FakeEmbedder, FixedClock

ALICE = Scope(user="alice", session="s1")
START = datetime(2026, 5, 10, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock, embedder: FakeEmbedder) -> Iterator[MemoryManager]:
    with open_memory(
        tmp_path / "orca.db", embedder=embedder, chat_model=None, clock=clock, settings=Settings()
    ) as opened:
        yield opened


def open_plain(path: Path, **options: object) -> MemoryManager:
    return open_memory(path, **{"embedder": None, "chat_model": None, "settings": Settings(), **options})


def say(memory: MemoryManager, *texts: str, scope: Scope = ALICE) -> list[Message]:
    return [memory.observe(scope=scope, role="user", content=text) for text in texts]


def test_what_was_said_in_one_session_is_recalled_in_another(memory: MemoryManager) -> None:
    say(memory, "我只吃素，下周去上海出差，请记住", "The red bicycle stands in the cellar")
    memory.observe(scope=ALICE, role="assistant", content="好的，我记住了，你只吃素。")
    assert memory.flush(10)
    other = Scope(user="alice", session="s2")
    recall = memory.recall(scope=other, query="Where is the red bicycle?")
    assert recall.degraded is None
    assert recall.working == ()
    assert recall.messages[0].content == "The red bicycle stands in the cellar"
    assert set(recall.messages[0].lanes) == {"keyword", "dense"}
    assert any("只吃素" in fact.content for fact in memory.memories(scope=other))
    assert "素" in memory.recall(scope=other, query="我吃什么？只吃素").long_term[0].content


def test_a_stranger_recalls_nothing(memory: MemoryManager) -> None:
    say(memory, "The red bicycle stands in the cellar")
    memory.flush(10)
    for stranger in (Scope(user="bob", session="s1"), Scope(user="alice", session="s1", agent="other")):
        assert memory.recall(scope=stranger, query="red bicycle").messages == ()
        assert memory.messages(scope=stranger) == []


@pytest.mark.case(28)
def test_a_recall_embeds_its_query_once(memory: MemoryManager, embedder: FakeEmbedder) -> None:
    say(memory, "The red bicycle stands in the cellar")
    memory.flush(10)
    for ask in (memory.recall, memory.build_context):
        before = sum(kind == "query" for _, kind in embedder.calls)
        ask(scope=ALICE, query=f"Where is the bicycle, {ask.__name__}?")
        assert sum(kind == "query" for _, kind in embedder.calls) == before + 1


def test_the_prompt_holds_the_tiers_in_order_and_accounts_for_each(memory: MemoryManager) -> None:
    memory.remember(scope=ALICE, content="Alice eats vegetarian food only", kind="preference")
    say(memory, "Let us talk about the trip to Rome")
    memory.flush(10)
    context = memory.build_context(scope=ALICE, query="Which vegetarian food is in Rome?", system="Be kind.")
    assert isinstance(context.messages, list)  # ready to send, and to add the reply to
    assert context.messages[0] == {"role": "system", "content": "Be kind."}
    assert context.messages[1]["content"] == "Let us talk about the trip to Rome"
    last = context.messages[-1]
    assert last["role"] == "user"
    assert last["content"].index("vegetarian food only") < last["content"].index("Which vegetarian")
    assert context.tokens <= context.budget
    assert {item.tier for item in context.items if item.included} >= {
        "system",
        "working",
        "long_term",
        "query",
    }
    assert context == memory.build_context(
        scope=ALICE, query="Which vegetarian food is in Rome?", system="Be kind."
    )


def test_reading_a_memory_counts_as_an_access(memory: MemoryManager) -> None:
    fact = memory.remember(scope=ALICE, content="The spare key is under the mat")
    memory.flush(10)
    memory.get_long_term_memory(scope=ALICE, query="Where is the spare key?")
    (stored,) = memory.memories(scope=ALICE)
    assert (stored.id, stored.access_count) == (fact.id, 1)
    assert stored.last_accessed == START


@pytest.mark.case(30)
def test_an_expired_memory_is_gone_at_the_instant(memory: MemoryManager, clock: FixedClock) -> None:
    memory.remember(
        scope=ALICE, content="The parking permit is valid", expires_at=START + timedelta(seconds=1)
    )
    memory.flush(10)
    assert memory.get_long_term_memory(scope=ALICE, query="parking permit")
    clock.advance(1)
    assert memory.memories(scope=ALICE) == []
    assert memory.get_long_term_memory(scope=ALICE, query="parking permit") == []
    prompt = memory.build_context(scope=ALICE, query="Is the parking permit valid?")
    assert not any(item.included for item in prompt.items if item.tier == "long_term")
    again = memory.remember(scope=ALICE, content="The parking permit is valid")
    assert [fact.id for fact in memory.memories(scope=ALICE)] == [again.id]


def test_a_pinned_memory_enters_every_prompt(memory: MemoryManager) -> None:
    fact = memory.remember(scope=ALICE, content="Answers must be short")
    memory.pin(scope=ALICE, id=fact.id or 0)
    memory.flush(10)
    prompt = memory.build_context(scope=ALICE, query="How high is Mont Blanc?")
    assert "Answers must be short" in prompt.messages[-1]["content"]


def test_an_edit_keeps_the_history_and_hides_the_old_text(memory: MemoryManager) -> None:
    fact = memory.remember(scope=ALICE, content="The cat is called Tom", metadata={"tags": ["pets"]})
    newer = memory.update_memory(scope=ALICE, id=fact.id or 0, content="The cat is called Kitty")
    memory.flush(10)
    assert newer.metadata == {"tags": ["pets"]}
    assert [version.content for version in memory.history(scope=ALICE, id=newer.id or 0)] == [
        "The cat is called Tom",
        "The cat is called Kitty",
    ]
    assert [fact.content for fact in memory.memories(scope=ALICE)] == ["The cat is called Kitty"]
    assert memory.verify().ok
    with pytest.raises(ConflictError):
        memory.update_memory(scope=ALICE, id=fact.id or 0, content="too late")


def test_forgetting_takes_every_version(memory: MemoryManager) -> None:
    fact = memory.remember(scope=ALICE, content="The cat is called Tom")
    newer = memory.update_memory(scope=ALICE, id=fact.id or 0, content="The cat is called Kitty")
    assert memory.forget(scope=ALICE, id=newer.id or 0) == 2
    assert memory.memories(scope=ALICE, include_inactive=True) == []
    with pytest.raises(NotFoundError):
        memory.forget(scope=ALICE, id=newer.id or 0)


@pytest.mark.case(19)
def test_deleting_a_user_takes_all_of_one_and_nothing_of_another(memory: MemoryManager) -> None:
    bob = Scope(user="bob", session="s1")
    for number in range(250):
        memory.remember(scope=ALICE, content=f"Locker {number} belongs to team {number * 7}")
    for number in range(3):
        memory.remember(scope=bob, content=f"Shelf {number} holds books of year {1900 + number}")
    memory.flush(30)
    assert memory.delete_user(scope=ALICE)["memories"] == 250
    assert memory.memories(scope=ALICE) == []
    assert len(memory.memories(scope=bob)) == 3
    assert memory.verify().ok


def test_deleted_text_is_in_no_file_after_erase(memory: MemoryManager, tmp_path: Path) -> None:
    say(memory, "My secret garden is behind the chrysanthemum wall")
    memory.observe(scope=ALICE, role="assistant", content="A lovely chrysanthemum wall it must be.")
    memory.flush(10)
    memory.erase(scope=ALICE)
    assert memory.messages(scope=ALICE) == []
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert b"chrysanthemum" not in file.read_bytes().lower(), file.name


def test_ending_a_session_consolidates_it(memory: MemoryManager) -> None:
    say(memory, "I live in Lisbon and my name is Alice Moreau.")
    memory.observe(scope=ALICE, role="assistant", content="Lisbon is a lovely place to live, Alice.")
    session = memory.end_session(scope=ALICE)
    assert session.state == "ended"
    assert any("Lisbon" in fact.content for fact in memory.memories(scope=ALICE))
    with pytest.raises(NotFoundError):
        memory.end_session(scope=Scope(user="alice", session="never"))


@pytest.mark.case(3)
@pytest.mark.parametrize(
    "ask",
    [
        lambda memory: memory.messages(scope=ALICE, limit=-1),
        lambda memory: memory.search_messages(scope=ALICE, query="x", limit=-1),
        lambda memory: memory.get_short_term_memory(scope=ALICE, query="x", max_items=-1),
        lambda memory: memory.get_long_term_memory(scope=ALICE, max_items=-1),
        lambda memory: memory.get_working_memory(scope=ALICE, token_budget=-1),
        lambda memory: memory.recall(scope=ALICE, query="x", limit=-1),
    ],
)
def test_a_negative_limit_is_refused_and_zero_gives_nothing(memory: MemoryManager, ask: object) -> None:
    say(memory, "something to find")
    with pytest.raises(ConfigError, match="-1"):
        ask(memory)  # type: ignore[operator]
    assert memory.messages(scope=ALICE, limit=0) == []
    assert memory.search_messages(scope=ALICE, query="something", limit=0) == []
    assert memory.get_working_memory(scope=ALICE, token_budget=0) == []


@pytest.mark.case(3)
@pytest.mark.parametrize("text", ["", "   ", "\n\t", None])
def test_a_blank_statement_is_refused_before_anything_is_written(
    memory: MemoryManager, embedder: FakeEmbedder, text: str | None
) -> None:
    with pytest.raises(ConfigError, match="message 2"):
        memory.observe_many(
            scope=ALICE, messages=[{"role": "user", "content": "fine"}, {"role": "user", "content": text}]
        )
    with pytest.raises(ConfigError):
        memory.remember(scope=ALICE, content=text or "")
    assert memory.status().counts["messages"] == 0
    assert embedder.calls == []


@pytest.mark.case(3)
@pytest.mark.parametrize(
    "query",
    ["'", '"', "(", "*", "C++", "v1.2.3", "AND OR NEAR(", "\0", "a" * 10_000, "multi-part AND", "😀", ""],
)
def test_any_query_is_answered(memory: MemoryManager, query: str) -> None:
    say(memory, "C++ and v1.2.3 are multi-part words")
    memory.search_messages(scope=ALICE, query=query)
    memory.recall(scope=ALICE, query=query)
    memory.build_context(scope=ALICE, query=query)


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ({"role": "robot", "content": "x"}, "robot"),
        ({"content": "x"}, "role"),
        ({"role": "user", "content": "x", "colour": "red"}, "colour"),
        ({"role": "user", "content": "x", "timestamp": "yesterday"}, "yesterday"),
        ({"role": "user", "content": "x", "msg_type": "joke"}, "joke"),
        ({"role": "user", "content": "x", "metadata": {"f": object()}}, "metadata"),
    ],
)
def test_a_wrong_message_names_what_is_wrong_and_stores_nothing(
    memory: MemoryManager, message: dict[str, object], word: str
) -> None:
    with pytest.raises(ConfigError, match=word):
        memory.observe_many(scope=ALICE, messages=[{"role": "user", "content": "fine"}, message])
    assert memory.messages(scope=ALICE) == []


@pytest.mark.case(14)
def test_any_shape_of_content_comes_back_as_it_was(memory: MemoryManager) -> None:
    parts = [
        {"type": "text", "text": "The lighthouse on the cliff"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 60_000}},
        {"type": "text", "text": "was painted yesterday"},
    ]
    stored = memory.observe(scope=ALICE, role="user", content=parts)
    memory.observe(scope=ALICE, role="assistant", content="")
    memory.observe(
        scope=ALICE,
        role="user",
        content="odd metadata",
        metadata={
            "when": START,
            "raw": b"\x00",
            "price": Decimal("1.10"),
            "tags": {"b", "a"},
            "nan": float("nan"),
        },
    )
    assert memory.messages(scope=ALICE)[0].content == parts
    assert stored.token_count < 2_000
    assert memory.search_messages(scope=ALICE, query="lighthouse painted")[0].id == stored.id
    assert memory.search_messages(scope=ALICE, query="QUJDQUJDQUJD") == [] or all(
        "QUJD" not in hit.content for hit in memory.search_messages(scope=ALICE, query="QUJDQUJDQUJD")
    )
    prompt = memory.build_context(scope=ALICE, query="And now?")
    assert all(message.get("content") for message in prompt.messages)


@pytest.mark.case(8)
def test_odd_characters_never_lose_a_turn(memory: MemoryManager) -> None:
    for text in ("broken \ud83d emoji", "low \udc00 half", "before\0after the nul", "whole 😀 emoji"):
        memory.observe(scope=ALICE, role="user", content=text)
    assert memory.flush(10)
    contents = [message.content for message in memory.messages(scope=ALICE)]
    assert contents == ["broken \ufffd emoji", "low \ufffd half", "before\0after the nul", "whole 😀 emoji"]
    assert memory.search_messages(scope=ALICE, query="after")[0].content == "before\0after the nul"
    assert memory.search_messages(scope=ALICE, query="\ud83d emoji")


@pytest.mark.case(30)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York"])
def test_an_instant_stays_the_same_in_every_zone(tmp_path: Path, zone: str) -> None:
    script = (
        "import sys, orca; from orca.config import Settings\n"
        "memory = orca.open_memory(sys.argv[1], embedder=None, chat_model=None, settings=Settings())\n"
        "scope = orca.Scope(user='a', session='s')\n"
        "message = memory.observe(scope=scope, role='user', content='hi there', timestamp=sys.argv[2])\n"
        "print(memory.messages(scope=scope)[0].timestamp.isoformat()); memory.close()"
    )
    said = datetime(2026, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "orca.db"), said.isoformat()],
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=True,
    )
    assert datetime.fromisoformat(done.stdout.strip()) == said


@pytest.mark.case(15)
def test_a_dead_provider_costs_neither_message_nor_time(tmp_path: Path, clock: FixedClock) -> None:
    def fails(text: str) -> Exception | None:
        return ProviderTimeoutError("no answer")

    with open_memory(
        tmp_path / "orca.db",
        embedder=FakeEmbedder(fails=fails),
        chat_model=None,
        clock=clock,
        settings=Settings(),
    ) as memory:
        started = time.monotonic()
        say(memory, "The red bicycle stands in the cellar")
        recall = memory.recall(scope=ALICE, query="red bicycle")
        assert time.monotonic() - started < 10
        assert recall.messages[0].content == "The red bicycle stands in the cellar"
        assert "no answer" in (recall.degraded or "")
        assert not memory.flush(0.5)
        (waiting,) = [entry for entry in memory.status().backlog if entry.kind == "embed"]
        assert waiting.count == 1


def test_what_waited_for_an_embedder_is_embedded_when_there_is_one(tmp_path: Path) -> None:
    with open_plain(tmp_path / "orca.db") as memory:
        say(memory, "The red bicycle stands in the cellar")
        assert memory.flush(5)
        assert "embedding" in (memory.recall(scope=ALICE, query="bicycle").degraded or "")
    with open_plain(tmp_path / "orca.db", embedder=FakeEmbedder()) as memory:
        assert memory.flush(10)
        assert memory.messages(scope=ALICE)[0].has_embedding


@pytest.mark.case(12)
def test_another_model_embeds_all_anew_and_the_first_finds_its_vectors_again(tmp_path: Path) -> None:
    path = tmp_path / "orca.db"
    with open_plain(path, embedder=FakeEmbedder(dimensions=1024)) as memory:
        say(memory, "The red bicycle stands in the cellar")
        memory.flush(10)
    with open_plain(path, embedder=FakeEmbedder(dimensions=768)) as memory:
        assert memory.search_messages(scope=ALICE, query="red bicycle")
        assert memory.flush(10)
        spaces = {space.dimensions: space for space in memory.status().spaces}
        assert spaces[768].current
        assert spaces[768].vectors["message"] == spaces[1024].vectors["message"] == 1
    first = FakeEmbedder(dimensions=1024)
    with open_plain(path, embedder=first) as memory:
        assert memory.flush(10)
        assert memory.messages(scope=ALICE)[0].has_embedding
        assert first.calls == []


@pytest.mark.case(23)
@pytest.mark.parametrize("damage", ["garbage", "zeroed", "truncated"])
def test_a_damaged_file_does_not_stop_the_conversation(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "orca.db"
    with open_plain(path) as memory:
        say(memory, *(f"line number {number} of the old file" for number in range(50)))
    good = path.read_bytes()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    bad = {
        "garbage": b"not a database" * 500,
        "zeroed": b"\0" * 4096 + good[4096:],
        "truncated": good[:5000],
    }[damage]
    path.write_bytes(bad)
    with open_plain(path) as memory:
        say(memory, "said while the file was damaged")
        assert str(path) in " ".join(memory.status().degraded)
        assert memory.messages(scope=ALICE)[-1].content == "said while the file was damaged"
        assert memory.recall(scope=ALICE, query="damaged file").messages
    assert path.read_bytes() == bad
    path.write_bytes(good)
    for _ in range(2):  # exactly once, also when opened again
        with open_plain(path) as memory:
            contents = [message.content for message in memory.messages(scope=ALICE, limit=None)]
            assert contents.count("said while the file was damaged") == 1
            assert len(contents) == 51
            assert memory.status().degraded == ()


@pytest.mark.case(23)
def test_a_full_disk_keeps_the_turn_and_returns_it_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SQLiteStore(tmp_path / "probe.db", clock=FixedClock(START))
    store.close()
    with open_plain(tmp_path / "orca.db") as memory:
        say(memory, "before the disk was full")
        database = memory._store._database  # type: ignore[attr-defined] # no public way to fill a disk
        with database.write() as connection:
            pages = connection.value("PRAGMA page_count")
            connection.run(f"PRAGMA max_page_count = {pages}")
        kept = [
            memory.observe(scope=ALICE, role="user", content=f"{n} " + "filler " * 600) for n in range(30)
        ]
        assert len(kept) == 30
        assert memory.status().degraded
        assert [row.content for row in memory.get_working_memory(scope=ALICE, token_budget=10**6)][
            -1
        ] == kept[-1].content
        with database.write() as connection:
            connection.run("PRAGMA max_page_count = 1073741823")
        say(memory, "after there was room again")
        contents = [message.content for message in memory.messages(scope=ALICE, limit=None)]
        assert contents == [
            "before the disk was full",
            *(row.content for row in kept),
            "after there was room again",
        ]
        assert memory.status().degraded == ()
        assert memory.verify().ok


@pytest.mark.case(7)
def test_one_memory_serves_several_event_loops_and_threads(memory: MemoryManager) -> None:
    shared = AsyncMemory(memory)

    async def turn(number: int) -> None:
        await shared.observe(scope=ALICE, role="user", content=f"statement number {number} of the day")
        await shared.recall(scope=ALICE, query=f"number {number}")

    for number in range(3):
        asyncio.run(turn(number))
    threads = [threading.Thread(target=lambda n=n: asyncio.run(turn(n))) for n in range(3, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(message.position for message in memory.messages(scope=ALICE)) == list(range(1, 10))


@pytest.mark.case(7)
def test_a_slow_embedder_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    class Slow(FakeEmbedder):
        def embed(self, texts, *, kind):  # type: ignore[no-untyped-def]
            if kind == "query":
                asked.set()
                release.wait(10)
            return super().embed(texts, kind=kind)

    async def run(memory: AsyncMemory) -> None:
        recall = asyncio.create_task(memory.recall(scope=ALICE, query="anything at all"))
        await asyncio.to_thread(asked.wait, 10)
        assert not recall.done()  # the loop is free while the embedder is busy
        release.set()
        await recall

    with open_plain(tmp_path / "orca.db", embedder=Slow()) as memory:
        say(memory, "The red bicycle stands in the cellar")
        asyncio.run(run(AsyncMemory(memory)))


def test_export_and_import_are_a_round_trip(memory: MemoryManager, tmp_path: Path) -> None:
    say(memory, "The red bicycle stands in the cellar", "我只吃素，请记住")
    memory.observe(scope=ALICE, role="assistant", content="好的，我记住了，你只吃素。")
    memory.flush(10)
    rows = list(memory.export_rows())
    with open_plain(tmp_path / "copy.db") as copy:
        copy.import_rows(rows)
        assert copy.messages(scope=ALICE) == [
            message.__class__(**{**_fields(message), "has_embedding": False})
            for message in memory.messages(scope=ALICE)
        ]
        assert [fact.content for fact in copy.memories(scope=ALICE)] == [
            fact.content for fact in memory.memories(scope=ALICE)
        ]
        assert copy.verify().ok


def test_reindex_rebuilds_keywords_and_vectors(memory: MemoryManager, embedder: FakeEmbedder) -> None:
    say(memory, "The red bicycle stands in the cellar")
    memory.flush(10)
    embedder.calls.clear()
    memory.reindex(vectors=True)
    assert memory.flush(10)
    assert [kind for _, kind in embedder.calls] == ["document"]
    assert memory.search_messages(scope=ALICE, query="bicycle")
    assert memory.verify().ok


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = open_plain(tmp_path / "orca.db")
    memory.close()
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.messages(scope=ALICE)


def _fields(message: Message) -> dict[str, object]:
    return {name: getattr(message, name) for name in Message.__dataclass_fields__}
