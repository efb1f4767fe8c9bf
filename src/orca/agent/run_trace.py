"""A sub-agent's run, as it is kept: every complete message a row of its own tables, and nothing anywhere else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace

from orca.agent.model import Reply, ToolCall
from orca.agent.tool_calls import CANCELLED, Outcome, stored_call
from orca.agent.writing import to_the_end
from orca.errors import StoreError
from orca.memory.context import ContextBuilder
from orca.memory.manager import MemoryManager
from orca.types import Context, Message, Scope, SubAgentMessage

logger = logging.getLogger("orca")


class RunTrace:
    """Writes a run's messages and builds its prompts from them alone. See ``Transcript``."""

    def __init__(self, memory: MemoryManager, scope: Scope, run_id: int, *, system: str) -> None:
        self._memory = memory
        self._scope = scope
        self._run_id = run_id
        self._system = system
        self._builder = ContextBuilder(memory.counter)
        self._messages: list[Message] = []
        self._open: dict[str, ToolCall] = {}
        self._done = False
        self.tools_used: dict[str, int] = {}

    async def begin(self, task: str) -> None:
        """Keep the system prompt and the task."""
        system = SubAgentMessage(run_id=self._run_id, role="system", content=self._system)
        question = SubAgentMessage(run_id=self._run_id, role="user", content=task)

        async def write() -> None:
            _, kept = await self._store(system, question)
            self._take(kept)

        await to_the_end(write())

    async def prompt(self, window_tokens: int) -> Context:
        """Return the prompt: system prompt, task, and the newest steps that fit."""
        return await asyncio.to_thread(
            self._builder.build,
            system=self._system,
            working=tuple(self._messages),
            budget=replace(self._memory.budget, window_tokens=window_tokens),
        )

    async def calls(self, reply: Reply) -> int | None:
        """Keep a reply that asks for tools. Runs of agents it calls belong to the same main message."""
        step = SubAgentMessage(
            run_id=self._run_id,
            role="assistant",
            content=reply.text or None,
            tool_calls=[stored_call(call) for call in reply.tool_calls],
            reasoning=reply.reasoning,
        )

        async def write() -> None:
            self._take(*await self._store(step))
            self._open = {call.id: call for call in reply.tool_calls}
            for call in reply.tool_calls:
                self.tools_used[call.name] = self.tools_used.get(call.name, 0) + 1

        await to_the_end(write())
        return None

    async def result(self, outcome: Outcome) -> None:
        """Keep a call's result."""

        async def write() -> None:
            self._take(*await self._store(self._result(outcome)))
            self._open.pop(outcome.call.id, None)

        await to_the_end(write())

    async def answer(self, reply: Reply) -> None:
        """Keep the final reply, whole."""
        step = SubAgentMessage(
            run_id=self._run_id, role="assistant", content=reply.text, reasoning=reply.reasoning
        )

        async def write() -> None:
            await self._store(step)
            self._done = True

        await to_the_end(write())

    async def interrupted(
        self, reason: str, *, partial: str, reasoning: str, finished: Mapping[str, Outcome]
    ) -> None:
        """Close the open calls. A half reply is not kept: rows are complete messages."""
        del reason, partial, reasoning
        if self._done:
            return
        self._done = True
        steps = [
            self._result(finished.get(call.id) or Outcome(call=call, text=CANCELLED, ok=False))
            for call in self._open.values()
        ]
        try:
            if steps:
                await to_the_end(self._store(*steps))
        except StoreError as error:  # what ended the run matters more
            logger.warning("the end of run %d was not stored: %s", self._run_id, error)

    def _result(self, outcome: Outcome) -> SubAgentMessage:
        return SubAgentMessage(
            run_id=self._run_id,
            role="tool",
            content=outcome.text,
            tool_call_id=outcome.call.id,
            name=outcome.call.name or None,
            metadata={} if outcome.ok else {"failed": True},
        )

    async def _store(self, *steps: SubAgentMessage) -> list[SubAgentMessage]:
        return await asyncio.to_thread(self._memory.append_run_messages, steps, scope=self._scope)

    def _take(self, step: SubAgentMessage) -> None:
        self._messages.append(
            Message(
                role=step.role,
                content=step.content,
                id=step.id,
                position=len(self._messages) + 1,
                tool_calls=step.tool_calls,
                tool_call_id=step.tool_call_id,
                token_count=step.token_count,
                timestamp=step.timestamp,
            )
        )
