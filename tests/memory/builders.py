"""Short ways to make the messages and hits that tests of the prompt need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from orca.types import Content, Hit, MemoryKind, Message, Origin, Record, Role

START = datetime(2026, 5, 10, 8, 0, tzinfo=UTC)


class WordCounter:
    """One token per word and per Han character: easy to reckon with by eye."""

    name = "words"

    def count(self, text: str) -> int:
        return sum(max(1, sum(ord(char) > 0x2E80 for char in word)) for word in text.split())


class CharacterCounter:
    """One token per character, line breaks and blanks included: the strictest of counters."""

    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


class EstimateCounter:
    """The seed's estimate: a Han character is 1.5 tokens, four other characters are one."""

    name = "estimate"

    def count(self, text: str) -> int:
        han = sum(ord(char) > 0x2E80 for char in text)
        return -(-(han * 3) // 2) + -(-(len(text) - han) // 4)


class OpeningCounter:
    """Prices joined text higher than its parts, as no decent tokenizer does."""

    name = "opening"

    def count(self, text: str) -> int:
        return len(text) + text.count("\n") * 7


COUNTERS = (WordCounter(), CharacterCounter(), EstimateCounter(), OpeningCounter())


class Log:
    """A session's messages, numbered as a store numbers them."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def add(self, role: Role, content: Content = None, **fields: Any) -> Message:
        number = len(self.messages) + 1
        message = Message(
            role=role,
            content=content,
            id=number,
            position=number,
            timestamp=START + timedelta(minutes=number),
            **fields,
        )
        self.messages.append(message)
        return message

    def user(self, text: str) -> Message:
        return self.add("user", text)

    def assistant(self, text: str) -> Message:
        return self.add("assistant", text)

    def calls(self, *ids: str) -> Message:
        return self.add("assistant", None, tool_calls=[call(one) for one in ids])

    def result(self, call_id: str, text: str) -> Message:
        return self.add("tool", text, tool_call_id=call_id)


def call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "look_up", "arguments": arguments}}


def hit(
    content: str,
    *,
    id: int = 1,
    kind: Record = "memory",
    score: float = 0.5,
    source: Origin | None = "user",
    memory_kind: MemoryKind | None = None,
) -> Hit:
    return Hit(
        kind=kind,
        id=id,
        session="s1",
        content=content,
        score=score,
        source=source,
        created_at=START,
        memory_kind=memory_kind,
    )


def texts(messages: Sequence[Any]) -> list[Any]:
    return [one["content"] if isinstance(one, dict) else one.content for one in messages]


def assert_valid(messages: Sequence[Any]) -> None:
    """Every call is answered at once, every answer has its call, and no reply is empty."""
    open_calls: list[str] = []
    for message in messages:
        rendered = (
            message if isinstance(message, dict) else {"role": message.role, "content": message.content}
        )
        calls = message.get("tool_calls") if isinstance(message, dict) else message.tool_calls
        call_id = message.get("tool_call_id") if isinstance(message, dict) else message.tool_call_id
        if rendered["role"] == "tool":
            assert call_id in open_calls
            open_calls.remove(call_id)
            continue
        assert not open_calls, "a call is not answered before the next message"
        open_calls = [one["id"] for one in calls or ()]
        assert len(set(open_calls)) == len(open_calls)
        assert calls is None or calls, "an empty list of calls is refused by providers"
        assert open_calls or rendered["content"], "an empty message"
    assert not open_calls
