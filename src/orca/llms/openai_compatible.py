"""Chat completions from any OpenAI-compatible API, one whole reply at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, cast
from urllib.parse import urlsplit

from orca.errors import ConfigError, ProviderError, ProviderResponseError
from orca.protocols import Completion
from orca.provider_http import Endpoint
from orca.text.normalize import clean
from orca.text.parts import plain_text
from orca.text.reasoning import split_reasoning
from orca.values import Secret

PATH = "/chat/completions"

_Format = Literal["json_schema", "json_object", "plain"]
_FORMATS: tuple[_Format, ...] = ("json_schema", "json_object", "plain")


class OpenAICompatibleModel:
    """Completes chats through ``{base_url}/chat/completions``. Safe to share between threads.

    A JSON schema is sent as the API's own ``response_format``. Where a server refuses that, the schema is put
    into the prompt instead, with ``json_object`` or with nothing, and what it accepted is remembered. Thinking
    (``reasoning_content``, ``reasoning`` or leading ``<think>`` blocks) is kept apart from the reply.

    ``timeout`` is in seconds per request; nothing is sent twice by itself. Raises ``ConfigError`` as ``Endpoint``.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: Secret | str | None = None,
        timeout: float = 60.0,
        http_client: Any | None = None,
    ) -> None:
        if not model:
            raise ConfigError("the chat model has no name")
        self.endpoint = Endpoint(base_url=base_url, api_key=api_key, timeout=timeout, http_client=http_client)
        self._model = model
        self._format = 0
        # OpenAI itself has replaced the field for its reasoning models; the others know the old name alone.
        own = urlsplit(self.endpoint.base_url).hostname == "api.openai.com"
        self._limit_field = "max_completion_tokens" if own else "max_tokens"

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Return the model's reply.

        Raises ``ProviderResponseError`` for a reply without text and tool calls, and other ``ProviderError``.
        """
        if json_schema is None:
            return self._request(messages, max_tokens=max_tokens)
        number = self._format
        while True:
            asked, fields = _with_schema(messages, json_schema, _FORMATS[number])
            try:
                completion = self._request(asked, max_tokens=max_tokens, **fields)
            except ProviderError as error:
                if not error.refused or number == len(_FORMATS) - 1:
                    raise
                number += 1
            else:
                # Only now: a refusal may have been about the messages, and then nothing is learnt about formats.
                self._format = number
                return completion

    def close(self) -> None:
        """Let the connections go."""
        self.endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(
        self, messages: Sequence[Mapping[str, Any]], *, max_tokens: int | None, **fields: Any
    ) -> Completion:
        if max_tokens is not None:
            fields[self._limit_field] = max_tokens
        with self.endpoint.errors(PATH):
            answer = self.endpoint.client.chat.completions.with_raw_response.create(
                messages=cast("Any", cleaned(list(messages))), model=self._model, **fields
            )
            content = answer.http_response.content
        return self._completion(self.endpoint.parse(content, PATH))

    def _completion(self, answer: Mapping[str, Any]) -> Completion:
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
            raise ProviderResponseError(f"{self._model} answered without a message")
        text, thinking = split_reasoning(_text(message.get("content")))
        apart = _text(message.get("reasoning_content") or message.get("reasoning")).strip()
        calls = message.get("tool_calls")
        tool_calls = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
        finish = choice.get("finish_reason")
        if not text.strip() and not tool_calls:
            raise ProviderResponseError(f"{self._model} gave an empty reply (finish_reason {finish!r})")
        usage = answer.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        return Completion(
            text=text,
            tool_calls=tool_calls,
            reasoning="\n\n".join(filter(None, (apart, thinking))) or None,
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            finish_reason=finish if isinstance(finish, str) else None,
        )


def cleaned(value: Any) -> Any:
    """Return a JSON value with every text in it fit for UTF-8, keys too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(key) if isinstance(key, str) else key: cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    return value


def _with_schema(
    messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any], form: _Format
) -> tuple[Sequence[Mapping[str, Any]], dict[str, Any]]:
    if form == "json_schema":
        given = {"name": "reply", "schema": dict(schema)}
        return messages, {"response_format": {"type": "json_schema", "json_schema": given}}
    told = f"Reply with one JSON value that fits this JSON schema, and nothing else:\n{json.dumps(schema)}"
    first = messages[0] if messages else {}
    if first.get("role") == "system" and isinstance(first.get("content"), str):
        # Some chat templates take a single system message, and only in front.
        asked = [{**first, "content": f"{first['content']}\n\n{told}"}, *messages[1:]]
    else:
        asked = [{"role": "system", "content": told}, *messages]
    return asked, {"response_format": {"type": "json_object"}} if form == "json_object" else {}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return clean(content)
    return clean(plain_text(content)) if isinstance(content, list) else ""


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
