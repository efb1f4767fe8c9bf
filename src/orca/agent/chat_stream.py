"""Streaming chat over any OpenAI-compatible API: one reply at a time, retried before its first piece."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import openai

from orca.agent.chunks import ReplyBuilder
from orca.agent.model import ModelSession, Pause, Piece, Reply, ToolSchema
from orca.agent.overflow import is_overflow
from orca.errors import (
    ConfigError,
    ContextOverflowError,
    ProviderError,
    ProviderResponseError,
    RateLimitError,
)
from orca.llms.openai_compatible import cleaned
from orca.provider_http import Endpoint
from orca.values import Secret

PATH = "/chat/completions"

MAX_TRIES = 4
"""How often one reply is asked for, the first time included."""

FIRST_PAUSE_SECONDS = 0.5
"""The first pause; each further one is twice as long."""

MAX_PAUSE_SECONDS = 30.0
"""Nobody waits longer than this in front of a chat: a provider that asks for more has failed."""

Sleep = Callable[[float], Awaitable[None]]


class StreamingChat:
    """A chat model behind ``{base_url}/chat/completions``, streamed. Belongs to no event loop or thread.

    Args:
        base_url: The API's address, as ``Endpoint`` takes it.
        model: The model's name there.
        api_key: Its key; local addresses need none.
        timeout: Seconds of silence after which a request has failed: before the first byte, and between bytes.
        replay_reasoning: Send a turn's thinking back with its tool calls, as ``reasoning_content``. Some
            reasoning models need it, some providers refuse it; off unless asked for.
        parallel_tool_calls: Sent only when set; several servers refuse the field.
        extra: Further fields of the request (``temperature``, ``extra_body``-like vendor fields), sent as they are.
        sleep: Waits between tries; tests replace it.
        jitter: Returns a number in [0, 1) that spreads the tries of several clients.

    Raises ``ConfigError`` as ``Endpoint`` does.

    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: Secret | str | None = None,
        timeout: float = 60.0,
        replay_reasoning: bool = False,
        parallel_tool_calls: bool | None = None,
        extra: Mapping[str, Any] | None = None,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if not model:
            raise ConfigError("the chat model has no name")
        self.endpoint = Endpoint(base_url=base_url, api_key=api_key, timeout=timeout)
        self._model = model
        self._replay_reasoning = replay_reasoning
        self._extra = dict(extra or {})
        self._sleep = sleep
        self._jitter = jitter
        own = urlsplit(self.endpoint.base_url).hostname == "api.openai.com"
        self.limit_field = "max_completion_tokens" if own else "max_tokens"
        # What a server may refuse to know. Dropped for good once it answers without them.
        self.optional: dict[str, Any] = {"stream_options": {"include_usage": True}}
        if parallel_tool_calls is not None:
            self.optional["parallel_tool_calls"] = parallel_tool_calls

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    @property
    def replays_reasoning(self) -> bool:
        """Whether a turn's thinking is sent back with its tool calls."""
        return self._replay_reasoning

    @asynccontextmanager
    async def session(self) -> AsyncIterator[ModelSession]:
        """Open a client for one turn: its replies share connections, and no loop outlives them."""
        # In a thread: loading the trusted certificates takes a tenth of a second of the loop's time.
        client = await asyncio.to_thread(self.endpoint.async_client)
        try:
            yield _Session(self, client)
        finally:
            await client.close()

    def body(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[ToolSchema]) -> dict[str, Any]:
        """Return a request without its optional fields."""
        body: dict[str, Any] = {**self._extra, "model": self._model, "messages": cleaned(list(messages))}
        body["stream"] = True
        if tools:
            body["tools"] = cleaned(list(tools))
        return body

    def pause(self, error: ProviderError, number: int) -> Pause | None:
        """Return how long to wait before try ``number`` + 1, or None where another one is useless."""
        if number >= MAX_TRIES or not _may_pass(error):
            return None
        seconds = FIRST_PAUSE_SECONDS * 2 ** (number - 1) * (0.5 + self._jitter())
        if error.retry_after is not None:
            if error.retry_after > MAX_PAUSE_SECONDS:
                return None
            seconds = error.retry_after + FIRST_PAUSE_SECONDS * self._jitter()
        return Pause(min(seconds, MAX_PAUSE_SECONDS), str(error))

    async def wait(self, pause: Pause) -> None:
        """Wait out a pause."""
        await self._sleep(pause.seconds)


class _Session:
    """One turn's connections."""

    def __init__(self, chat: StreamingChat, client: openai.AsyncOpenAI) -> None:
        self._chat = chat
        self._client = client

    async def reply(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSchema] = (),
        max_tokens: int | None = None,
        prompt_tokens: int = 0,
    ) -> AsyncGenerator[Piece | Pause | Reply, None]:
        """Yield the pieces of one reply, and the reply last. See ``ModelSession``."""
        body = self._chat.body(messages, tools)
        if max_tokens is not None:
            body[self._chat.limit_field] = max_tokens
        optional = dict(self._chat.optional)
        if not tools:
            optional.pop("parallel_tool_calls", None)
        number = 0
        begun = False
        while True:
            number += 1
            try:
                async with aclosing(self._once({**body, **optional})) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
            except ProviderError as error:
                if is_overflow(error, prompt_tokens=prompt_tokens):
                    raise ContextOverflowError(f"the prompt is too long: {error}") from error
                if error.refused and optional and not begun:
                    optional = {}
                    continue
                pause = None if begun else self._chat.pause(error, number)
                if pause is None:
                    raise
                yield pause
                await self._chat.wait(pause)
            else:
                if not optional:
                    self._chat.optional.clear()
                return

    async def _once(self, body: Mapping[str, Any]) -> AsyncGenerator[Piece | Reply, None]:
        """Send one request and yield what comes. Raises ``ProviderError``."""
        builder = ReplyBuilder(self._chat.name)
        with self._chat.endpoint.errors(PATH):
            stream = await self._client.post(
                PATH, cast_to=object, body=body, stream=True, stream_cls=openai.AsyncStream[object]
            )
            try:
                async with aclosing(self._chunks(stream)) as chunks:
                    async for chunk in chunks:
                        for piece in builder.take(chunk):
                            yield piece
            finally:
                await stream.close()
        for piece in builder.rest():
            yield piece
        yield builder.finish()

    async def _chunks(self, stream: openai.AsyncStream[object]) -> AsyncGenerator[object, None]:
        if stream.response.headers.get("content-type", "").startswith("application/json"):
            # A server that does not stream answers with one completion, whose message reads like one delta.
            yield self._chat.endpoint.parse(await stream.response.aread(), PATH)
            return
        iterator = aiter(stream)
        while True:
            try:
                chunk = await anext(iterator)
            except StopAsyncIteration:
                return
            except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ProviderResponseError(
                    f"{self._chat.name} sent a chunk that is not JSON: {self._chat.endpoint.excerpt(error)}"
                ) from error
            yield chunk


def _may_pass(error: ProviderError) -> bool:
    """Whether asking again after a pause may help: too many requests, a failing server, a broken connection."""
    cause = error.__cause__
    if isinstance(error, RateLimitError):
        # OpenAI's code for an account without money has the status of a rate limit, and no end.
        return not (isinstance(cause, openai.APIStatusError) and cause.code == "insufficient_quota")
    if isinstance(cause, openai.APIStatusError):
        return cause.status_code >= 500
    return isinstance(cause, openai.APIConnectionError) and not isinstance(cause, openai.APITimeoutError)
