"""The loop that the main agent and every sub-agent run: ask the model, run its tool calls, ask again.

What differs between them, where messages are kept and how a prompt is made of them, is a ``Transcript``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from orca.agent.events import ContextBuilt, Event, ReasoningDelta, RetryScheduled, TextDelta
from orca.agent.model import ModelSession, Pause, Piece, Reply, StreamingModel, Usage
from orca.agent.prompts import ANSWER_NOW
from orca.agent.tool_calls import Outcome, ToolRunner
from orca.agent.tools import ToolBox, ToolContext
from orca.errors import ContextOverflowError, ProviderResponseError, SubAgentError
from orca.memory.recalled_block import language_of
from orca.protocols import TokenCounter
from orca.types import Context

LEAST_WINDOW_SHARE = 0.25
"""Tool schemas take room from the prompt, but never more than leaves it this share of the window."""


class Transcript(Protocol):
    """Where the messages of one turn, or of one run, are kept. Writes are not torn by cancellation."""

    async def prompt(self, window_tokens: int) -> Context:
        """Return the next prompt, made for a window of that many tokens."""
        ...

    async def calls(self, reply: Reply) -> int | None:
        """Keep a reply that asks for tools, before any of them runs; return the id to run them under."""
        ...

    async def result(self, outcome: Outcome) -> None:
        """Keep a call's result."""
        ...

    async def answer(self, reply: Reply) -> None:
        """Keep the reply that ends the turn."""
        ...

    async def interrupted(
        self, reason: str, *, partial: str, reasoning: str, finished: Mapping[str, Outcome]
    ) -> None:
        """Leave a valid history: close the calls that are open, keep what was said of a reply."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a turn or a run ends.

    ``steps`` is how often tools may be called; one more reply without tools may follow. ``parallel_tools`` run at
    once. ``reply_tokens`` bounds one reply, ``total_tokens`` all prompts and replies together; None leaves both
    to the model.
    """

    steps: int
    parallel_tools: int = 8
    window_tokens: int = 8192
    reply_tokens: int | None = None
    total_tokens: int | None = None


class StepLoop:
    """Runs one turn. Afterwards it knows the last reply, the last prompt, the steps and the usage."""

    def __init__(
        self,
        *,
        model: StreamingModel,
        session: ModelSession,
        transcript: Transcript,
        tools: ToolBox,
        context: ToolContext,
        limits: Limits,
        counter: TokenCounter,
        question: str,
    ) -> None:
        """``question`` is the user's text, whose language the loop's own words follow."""
        self._model = model
        self._session = session
        self._transcript = transcript
        self._tools = tools
        self._limits = limits
        self._counter = counter
        self._question = question
        self._schema_tokens = schema_tokens(tools, counter)
        self._window = prompt_window(limits.window_tokens, tools, counter)
        self._runner = ToolRunner(tools, context, limit=limits.parallel_tools)
        self._partial: list[str] = []
        self._partial_reasoning: list[str] = []
        self._thoughts: dict[str, str] = {}
        self.reply: Reply | None = None
        self.context: Context | None = None
        self.usage = Usage()
        self.steps = 0

    @property
    def partial(self) -> str:
        """What was said of the reply that is not complete."""
        return "".join(self._partial)

    @property
    def ran_out_of_steps(self) -> bool:
        """Whether the last reply had to come without tools."""
        return self.steps > self._limits.steps

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the turn and yield what happens. Whatever ends it, the transcript is left valid.

        Raises ``OrcaError``: of the provider, the store, or ``SubAgentError`` at a limit of tokens.
        """
        try:
            while True:
                self.steps += 1
                self._check_tokens()
                async with aclosing(self._ask(last=self.ran_out_of_steps)) as asking:
                    async for event in asking:
                        yield event
                reply = self._complete()
                if not reply.tool_calls or self.ran_out_of_steps:
                    await self._transcript.answer(reply)
                    return
                async with aclosing(self._act(reply)) as acting:
                    async for event in acting:
                        yield event
        except (asyncio.CancelledError, GeneratorExit):
            await self._interrupt("cancelled")
            raise
        except BaseException as error:
            await self._interrupt(type(error).__name__)
            raise

    async def _interrupt(self, reason: str) -> None:
        await self._transcript.interrupted(
            reason,
            partial=self.partial,
            reasoning="".join(self._partial_reasoning),
            finished=self._runner.finished,
        )

    def _complete(self) -> Reply:
        """Return the reply that has come. Raises ``ProviderResponseError`` where there is no answer in it."""
        if self.reply is None:
            raise ProviderResponseError(f"{self._model.name} ended without a reply")
        if self.ran_out_of_steps and not self.reply.text.strip():
            raise ProviderResponseError(
                f"{self._model.name} gave no answer after its {self._limits.steps} steps with tools"
            )
        return self.reply

    def _check_tokens(self) -> None:
        limit = self._limits.total_tokens
        if limit is not None and self.usage.total_tokens >= limit:
            raise SubAgentError(f"used {self.usage.total_tokens} tokens, of {limit} allowed")

    async def _ask(self, *, last: bool) -> AsyncGenerator[Event, None]:
        """Get one reply. A prompt that is too long is built once more, for half of the window."""
        self.reply = None
        rebuilt = False
        while True:
            self.context = await self._transcript.prompt(self._window)
            yield ContextBuilt(context=self.context)
            try:
                async with aclosing(self._stream(self.context, last=last)) as streaming:
                    async for event in streaming:
                        yield event
            except ContextOverflowError:
                if rebuilt or self._partial:
                    raise
                rebuilt = True
                self._window //= 2
            else:
                return

    async def _stream(self, context: Context, *, last: bool) -> AsyncGenerator[Event, None]:
        messages = self._messages(context, last=last)
        counted = context.tokens + (0 if last else self._schema_tokens)
        replying = self._session.reply(
            messages,
            tools=() if last else self._tools.schemas,
            max_tokens=self._limits.reply_tokens,
            prompt_tokens=counted,
        )
        async with aclosing(replying) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    self._take(piece, counted)
                elif isinstance(piece, Pause):
                    yield RetryScheduled(seconds=piece.seconds, reason=piece.reason)
                else:
                    yield self._said(piece)

    def _said(self, piece: Piece) -> Event:
        if piece.kind == "reasoning":
            self._partial_reasoning.append(piece.text)
            return ReasoningDelta(text=piece.text)
        self._partial.append(piece.text)
        return TextDelta(text=piece.text)

    def _take(self, reply: Reply, prompt_tokens: int) -> None:
        said = [reply.text, reply.reasoning or "", *(call.arguments for call in reply.tool_calls)]
        self.usage += reply.usage or Usage(
            prompt_tokens=prompt_tokens,
            completion_tokens=sum(map(self._counter.count, said)),
            estimated=True,
        )
        self.reply = reply

    def _messages(self, context: Context, *, last: bool) -> list[dict[str, Any]]:
        asked = max((place for place, one in enumerate(context.messages) if one["role"] == "user"), default=0)
        # Ids of calls may come again in every turn: thoughts belong to the calls that followed the question.
        messages = [*context.messages[:asked], *map(self._with_thoughts, context.messages[asked:])]
        if last:
            messages.append({"role": "user", "content": ANSWER_NOW[language_of(self._question)]})
        return merged_user_messages(messages)

    def _with_thoughts(self, message: dict[str, Any]) -> dict[str, Any]:
        calls = message.get("tool_calls")
        if not calls or not self._model.replays_reasoning:
            return message
        thoughts = self._thoughts.get(str(calls[0].get("id")))
        return {**message, "reasoning_content": thoughts} if thoughts else message

    async def _act(self, reply: Reply) -> AsyncGenerator[Event, None]:
        """Keep the calls, run them, keep their results in the order of the calls."""
        if reply.reasoning:
            self._thoughts[reply.tool_calls[0].id] = reply.reasoning
        self._runner.finished.clear()
        # From here on the text belongs to a stored message, and is no half reply any more.
        self._partial.clear()
        self._partial_reasoning.clear()
        message_id = await self._transcript.calls(reply)
        async with aclosing(self._runner.run(reply.tool_calls, message_id=message_id)) as running:
            async for event in running:
                if isinstance(event, Outcome):
                    await self._transcript.result(event)
                else:
                    yield event


def schema_tokens(tools: ToolBox, counter: TokenCounter) -> int:
    """Return what the tools' descriptions add to every request."""
    return sum(counter.count(json.dumps(one, ensure_ascii=False)) for one in tools.schemas)


def prompt_window(window_tokens: int, tools: ToolBox, counter: TokenCounter) -> int:
    """Return the part of a model's window that the tools leave to the messages."""
    return max(window_tokens - schema_tokens(tools, counter), int(window_tokens * LEAST_WINDOW_SHARE))


def merged_user_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages in which no plain user message follows another one.

    A turn that was stopped leaves a question without an answer, and many chat templates refuse two user
    messages in a row.
    """
    merged: list[dict[str, Any]] = []
    for message in messages:
        before = merged[-1] if merged else None
        if before is not None and _joins(before, message):
            merged[-1] = {**before, "content": f"{before['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged


def _joins(before: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    both = (before, message)
    return all(
        one["role"] == "user" and isinstance(one["content"], str) and "name" not in one for one in both
    )
