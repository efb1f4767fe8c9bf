"""What no honest caller would send, sent through the public face: refused whole, or kept and read again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orca import ConfigError, MemoryManager, Scope, open_memory
from orca.config import Settings
from orca.testing import FakeEmbedder, FixedClock

ALICE = Scope(user="alice", session="s1")
NESTED: dict[str, Any] = {}
_inner = NESTED
for _ in range(2_000):
    _inner["deeper"] = {}
    _inner = _inner["deeper"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with open_memory(
        tmp_path / "orca.db",
        embedder=FakeEmbedder(),
        chat_model=None,
        clock=FixedClock(),
        settings=Settings(),
    ) as opened:
        yield opened


@pytest.mark.case(14)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", 5),
        ("metadata", "text"),
        ("metadata", [1, 2]),
        ("metadata", NESTED),
        ("content", 5),
        ("content", {"type": "text", "text": "x"}),
        ("content", b"bytes"),
        ("content", [NESTED]),
        ("tool_calls", "text"),
        ("tool_calls", [1]),
        ("tool_calls", {"id": "c1"}),
        ("tool_calls", [NESTED]),
        ("name", 5),
        ("tool_call_id", ["c1"]),
    ],
)
def test_a_field_of_a_wrong_shape_is_refused_before_anything_is_written(
    memory: MemoryManager, field: str, value: object
) -> None:
    wrong = {"role": "assistant", "content": "hello", field: value}
    with pytest.raises(ConfigError, match=f"message 2: {field}"):
        memory.observe_many(scope=ALICE, messages=[{"role": "user", "content": "fine"}, wrong])
    assert memory.messages(scope=ALICE) == []


@pytest.mark.case(14)
def test_metadata_of_a_memory_is_a_mapping(memory: MemoryManager) -> None:
    with pytest.raises(ConfigError, match="metadata"):
        memory.remember(scope=ALICE, content="The bicycle is red", metadata=5)  # type: ignore[arg-type]
    assert memory.memories(scope=ALICE) == []


@pytest.mark.case(14)
def test_what_observe_returns_is_what_is_read_again(memory: MemoryManager) -> None:
    returned = memory.observe(
        scope=ALICE,
        role="assistant",
        content=[{"type": "text", "text": "half \ud83d an emoji"}],
        tool_calls=({"id": "c\udc00", "type": "function", "function": {"name": "f", "arguments": "{}"}},),
        name="na\ud800me",
        metadata={"raw": b"\x00", "price": Decimal("1.10"), "nan": float("nan"), "tags": {"b", "a"}},
    )
    assert memory.flush(10)
    (read,) = memory.messages(scope=ALICE)
    assert (returned.content, returned.tool_calls, returned.name, returned.metadata) == (
        read.content,
        read.tool_calls,
        read.name,
        read.metadata,
    )
    assert memory.search_messages(scope=ALICE, query="emoji")[0].id == returned.id


@pytest.mark.case(30)
@pytest.mark.parametrize(
    "time",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
        1_700_000_000,
        1.5,
        "1700000000",
    ],
)
def test_a_time_that_is_none_is_refused(memory: MemoryManager, time: Any) -> None:
    with pytest.raises(ConfigError, match="timestamp"):
        memory.observe(scope=ALICE, role="user", content="hello", timestamp=time)
    assert memory.messages(scope=ALICE) == []


@pytest.mark.case(30)
def test_the_ends_of_the_calendar_are_times(memory: MemoryManager) -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for time in (last, first):
        memory.observe(scope=ALICE, role="user", content="hello there", timestamp=time)
    assert [message.timestamp for message in memory.messages(scope=ALICE)] == [last, first]
    assert memory.recall(scope=ALICE, query="hello last week").working


@pytest.mark.case(32)
def test_a_window_below_zero_is_refused_and_any_other_is_served(memory: MemoryManager) -> None:
    memory.observe(scope=ALICE, role="user", content="The red bicycle stands in the cellar")
    for window in (0, 1, 50, 256, 10**9):
        context = memory.build_context(
            scope=ALICE, query="bicycle?", window_tokens=window, system="be kind " * 40
        )
        assert context.over_budget == (context.tokens > context.budget)
        assert [message["role"] for message in context.messages][:1] == ["system"]
        assert context.messages[-1]["role"] == "user"
    with pytest.raises(ConfigError, match="negative"):
        memory.build_context(scope=ALICE, query="bicycle?", window_tokens=-5)


@pytest.mark.case(11)
@pytest.mark.parametrize("query", ["after", "nul"])
def test_a_word_that_one_message_holds_finds_it_first(memory: MemoryManager, query: str) -> None:
    for text in ("broken emoji", "low half", "before and after the nul", "whole emoji"):
        memory.observe(scope=ALICE, role="user", content=text)
    assert memory.flush(10)
    assert memory.search_messages(scope=ALICE, query=query)[0].content == "before and after the nul"
