"""One turn of the main conversation, as it is kept: valid at every moment, whatever stops the turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from orca.agent.model import Reply, ToolCall
from orca.agent.tool_calls import CANCELLED, Outcome, stored_call
from orca.agent.writing import to_the_end
from orca.errors import NotFoundError, StoreError
from orca.memory.manager import MemoryManager
from orca.text.parts import plain_text
from orca.types import Content, Context, Message, Scope

logger = logging.getLogger("orca")

PENDING_ROWS = 200
"""How far back a message without an answer is looked for."""


class TurnLog:
    """Writes a turn through ``MemoryManager`` and builds its prompts. See ``Transcript``.

    An assistant message with tool calls is stored before any of them runs, so that a crash leaves a call without
    a result, which every later prompt closes; never a result without a call.
    """

    def __init__(self, memory: MemoryManager, scope: Scope, *, system: str | None, model: str) -> None:
        self._memory = memory
        self._scope = scope
        self._system = system
        self._model = model
        self._open: dict[str, ToolCall] = {}
        self._done = False
        self.question: Message | None = None
        self.answered: Message | None = None
        self.call_message_ids: set[int] = set()

    @property
    def query(self) -> str:
        """The words of the message that the turn answers."""
        return "" if self.question is None else plain_text(self.question.content)

    async def begin(self, content: Content) -> Message:
        """Store the user's message. Raises ``ConfigError`` for an empty one."""
        (self.question,) = await self._write(Message(role="user", content=content))
        return self.question

    async def take_up(self) -> Message:
        """Go on with the newest user message where nothing but tool calls followed it.

        Calls that a crash left open get a stored result. Raises ``NotFoundError`` when no message waits for an
        answer.
        """
        rows = await asyncio.to_thread(self._memory.messages, scope=self._scope, limit=PENDING_ROWS)
        place = max((index for index, row in enumerate(rows) if row.role == "user"), default=None)
        later = [] if place is None else rows[place + 1 :]
        if place is None or any(row.role != "tool" and not row.tool_calls for row in later):
            raise NotFoundError(f"session {self._scope.session!r} has no message that waits for an answer")
        self.question = rows[place]
        answered = {row.tool_call_id for row in later if row.role == "tool"}
        calls = [call for row in later for call in row.tool_calls or ()]
        left = [str(call["id"]) for call in calls if call.get("id") and call["id"] not in answered]
        if left:
            await self._write(*(_cancelled(call_id) for call_id in dict.fromkeys(left)))
        return self.question

    async def prompt(self, window_tokens: int) -> Context:
        """Return the prompt for the turn as it stands."""
        return await asyncio.to_thread(
            self._memory.build_context,
            scope=self._scope,
            query=self.query or None,
            window_tokens=window_tokens,
            system=self._system,
        )

    async def calls(self, reply: Reply) -> int | None:
        """Store a reply that asks for tools."""

        async def write() -> int | None:
            (stored,) = await self._store(
                Message(
                    role="assistant",
                    content=reply.text or None,
                    tool_calls=[stored_call(call) for call in reply.tool_calls],
                    reasoning=reply.reasoning,
                    metadata=self._about(reply),
                )
            )
            self._open = {call.id: call for call in reply.tool_calls}
            if stored.id is not None:
                self.call_message_ids.add(stored.id)
            return stored.id

        return await to_the_end(write())

    async def result(self, outcome: Outcome) -> None:
        """Store a call's result."""

        async def write() -> None:
            await self._store(_result(outcome))
            self._open.pop(outcome.call.id, None)

        await to_the_end(write())

    async def answer(self, reply: Reply) -> None:
        """Store the reply that ends the turn."""

        async def write() -> None:
            (self.answered,) = await self._store(
                Message(
                    role="assistant",
                    content=reply.text,
                    reasoning=reply.reasoning,
                    metadata=self._about(reply),
                )
            )
            self._done = True

        await to_the_end(write())

    async def interrupted(
        self, reason: str, *, partial: str, reasoning: str, finished: Mapping[str, Outcome]
    ) -> None:
        """Store results for the open calls, and the half reply with ``metadata["interrupted"]`` as the reason."""
        if self._done:
            return
        self._done = True
        rows = [
            _result(finished[call_id]) if call_id in finished else _cancelled(call_id)
            for call_id in self._open
        ]
        if partial.strip():
            rows.append(
                Message(
                    role="assistant",
                    content=partial,
                    reasoning=reasoning or None,
                    metadata={"interrupted": reason, "model": self._model},
                )
            )
        try:
            if rows:
                await self._write(*rows)
        except StoreError as error:
            # What stopped the turn matters more; without these rows the next prompt closes the calls itself.
            logger.warning("the end of an interrupted turn was not stored: %s", error)

    async def _write(self, *messages: Message) -> list[Message]:
        return await to_the_end(self._store(*messages))

    async def _store(self, *messages: Message) -> list[Message]:
        return await asyncio.to_thread(self._memory.observe_many, scope=self._scope, messages=messages)

    def _about(self, reply: Reply) -> dict[str, Any]:
        about: dict[str, Any] = {"model": self._model}
        if reply.finish_reason not in (None, "stop", "tool_calls"):
            about["finish_reason"] = reply.finish_reason
        if reply.usage is not None:
            about["prompt_tokens"] = reply.usage.prompt_tokens
            about["completion_tokens"] = reply.usage.completion_tokens
        return about


def _result(outcome: Outcome) -> Message:
    metadata = {} if outcome.ok else {"failed": True}
    return Message(role="tool", content=outcome.text, tool_call_id=outcome.call.id, metadata=metadata)


def _cancelled(call_id: str) -> Message:
    return Message(role="tool", content=CANCELLED, tool_call_id=call_id, metadata={"cancelled": True})
