"""What tests of the agent share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from orca.agent.events import Event
from orca.agent.llm_agent import LLMAgent
from orca.memory.manager import MemoryManager
from orca.testing import Request, ScriptedServer
from orca.types import Scope


class Pauses:
    """Stands in for ``asyncio.sleep`` and remembers what was asked."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def collect(agent: LLMAgent, text: Any, scope: Scope) -> list[Event]:
    async with aclosing(agent.stream(text, scope=scope)) as events:
        return [event async for event in events]


def turn(agent: LLMAgent, text: Any, scope: Scope) -> list[Event]:
    return asyncio.run(collect(agent, text, scope))


def of(kind: type, events: Sequence[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def chats(server: ScriptedServer) -> list[Request]:
    return [request for request in server.requests if request.path.endswith("/chat/completions")]


def prompts(server: ScriptedServer) -> list[list[dict[str, Any]]]:
    return [request.body["messages"] for request in chats(server)]


def stored(memory: MemoryManager, scope: Scope) -> list[tuple[str, Any]]:
    return [(message.role, message.content) for message in memory.messages(scope=scope, limit=None)]


def assert_valid(messages: Sequence[dict[str, Any]]) -> None:
    """Every call is answered at once and once, every answer has its call, no message is empty."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
            assert message["content"]
            continue
        assert not waiting, "a call is not answered before the next message"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        assert len(set(waiting)) == len(waiting)
        assert waiting or message["content"], "an empty message"
    assert not waiting
