"""What an agent asks of a model: one reply at a time, in pieces as they come.

``StreamingChat`` (``orca.agent.chat_stream``) speaks to OpenAI-compatible servers. ``CompletingModel`` lets any
``ChatModel``, such as a scripted one, take part: its reply comes as one piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from orca.protocols import ChatModel, Completion

ToolSchema = Mapping[str, Any]
"""A tool as the API takes it: ``{"type": "function", "function": {"name", "description", "parameters"}}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or several replies. ``estimated`` says that a provider gave none and they were counted here."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to have a tool run. ``arguments`` is what it wrote: JSON, if it is right."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of a reply, or of the thinking before it, as it comes."""

    kind: Literal["text", "reasoning"]
    text: str


@dataclass(frozen=True, slots=True)
class Pause:
    """The provider could not answer; the same is asked again after ``seconds``."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A complete reply. ``usage`` is None where the provider gave none."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None


class ModelSession(Protocol):
    """A model during one turn; its connections live as long as the turn."""

    def reply(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSchema] = (),
        max_tokens: int | None = None,
        prompt_tokens: int = 0,
    ) -> AsyncGenerator[Piece | Pause | Reply, None]:
        """Yield pieces as they come, and the ``Reply`` last.

        ``prompt_tokens`` is what the caller counted, to tell an overflow by. Raises ``ContextOverflowError``
        when the prompt is longer than the model's window, and ``ProviderError``.
        """
        ...


@runtime_checkable
class StreamingModel(Protocol):
    """A chat model that streams and calls tools. It belongs to no event loop."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def replays_reasoning(self) -> bool:
        """Whether the provider wants a turn's earlier thinking back (``reasoning_content``) with its tool calls."""
        ...

    def session(self) -> AbstractAsyncContextManager[ModelSession]:
        """Open the model for one turn, in the running event loop."""
        ...


class CompletingModel:
    """A ``ChatModel`` as a ``StreamingModel``. Its calls run in a thread; tools are not offered to it."""

    replays_reasoning = False

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    def session(self) -> AbstractAsyncContextManager[ModelSession]:
        """Return itself: there is nothing to open."""
        return nullcontext(self)

    async def reply(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSchema] = (),  # noqa: ARG002 - a ChatModel knows no tools
        max_tokens: int | None = None,
        prompt_tokens: int = 0,  # noqa: ARG002 - nothing to tell an overflow from
    ) -> AsyncGenerator[Piece | Pause | Reply, None]:
        """Yield the reply's thinking and text whole, then the reply."""
        completion = await asyncio.to_thread(self._model.complete, messages, max_tokens=max_tokens)
        if completion.reasoning:
            yield Piece("reasoning", completion.reasoning)
        if completion.text:
            yield Piece("text", completion.text)
        yield _reply(completion)


def as_streaming(model: StreamingModel | ChatModel) -> StreamingModel:
    """Return the model as one that streams."""
    return model if isinstance(model, StreamingModel) else CompletingModel(model)


def _reply(completion: Completion) -> Reply:
    calls = []
    for number, call in enumerate(completion.tool_calls):
        function = call.get("function") or {}
        calls.append(
            ToolCall(
                id=str(call.get("id") or f"call_{number}"),
                name=str(function.get("name") or ""),
                arguments=str(function.get("arguments") or "{}"),
            )
        )
    usage = Usage(prompt_tokens=completion.prompt_tokens, completion_tokens=completion.completion_tokens)
    return Reply(
        text=completion.text,
        tool_calls=tuple(calls),
        reasoning=completion.reasoning,
        usage=usage if usage.total_tokens else None,
        finish_reason=completion.finish_reason,
    )
