"""Messages as OpenAI-style dicts, and what they cost. The one place that counts the tokens of a message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from orca.protocols import TokenCounter
from orca.text.parts import strip_media
from orca.types import Content, Message

MESSAGE_OVERHEAD = 4
"""Tokens around every message: the marks that open and close it and its role.

OpenAI's ``tiktoken`` cookbook counts 3 for its chat models; ChatML (Qwen and others) takes
``<|im_start|>role\\n … <|im_end|>\\n``, which is 4 beside the role's word. The higher one is safe for both.
"""

NAME_OVERHEAD = 1
"""Tokens for a message's ``name`` beside the name itself (OpenAI's cookbook)."""

CALL_OVERHEAD = 8
"""Tokens around a tool call or a tool result: its type, the keys of its JSON, and the marks that frame it."""

REPLY_PRIMING = 3
"""Tokens with which every reply is primed, once a prompt (OpenAI's cookbook)."""

MEDIA_TOKENS = 1_000
"""Flat price of an image, a sound or a file: OpenAI bills a 1024 × 1024 image at 765 tokens, and bytes in
base64 are never billed as text."""

_MEDIA_WORDS = ("image", "audio", "video", "file", "document", "media")

TokensOf = Callable[[Message], int]
"""What a message costs in a prompt, by some counter."""


@runtime_checkable
class ManyCounter(TokenCounter, Protocol):
    """A counter that counts many texts at once more quickly than one by one."""

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text."""
        ...


class RememberingCounter:
    """Another counter that remembers what it counted: a prompt prices the same messages turn after turn.

    It holds the newest 4,096 texts of up to 8,192 characters; longer ones are rare and are counted again.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._remembered = lru_cache(maxsize=4_096)(counter.count)

    @property
    def name(self) -> str:
        """The name of the counter that counts."""
        return self._counter.name

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``."""
        return self._remembered(text) if len(text) <= 8_192 else self._counter.count(text)


def tokens_with(counter: TokenCounter) -> TokensOf:
    """Return the function that prices a message by ``counter``."""
    return lambda message: message_tokens(render_message(message), counter)


def render_message(message: Message) -> dict[str, Any]:
    """Return the message as OpenAI-style APIs take it: role, content, name, tool calls; nothing else.

    Content is as stored, with one exception: a tool result's *text* has data URIs and long base64 runs replaced
    by a short mark, since they would be billed as text and tell a model nothing. The stored row keeps them.
    """
    rendered: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        rendered["content"] = _without_media_text(message.content)
        rendered["tool_call_id"] = message.tool_call_id
    if message.name:
        rendered["name"] = message.name
    if message.tool_calls:
        rendered["tool_calls"] = [dict(call) for call in message.tool_calls]
    return rendered


def message_tokens(message: Mapping[str, Any], counter: TokenCounter) -> int:
    """Return what one rendered message costs: overhead, content, name, tool calls and the id it answers."""
    tokens = MESSAGE_OVERHEAD + content_tokens(message.get("content"), counter)
    if name := message.get("name"):
        tokens += NAME_OVERHEAD + counter.count(str(name))
    for call in message.get("tool_calls") or ():
        tokens += CALL_OVERHEAD + _call_tokens(call, counter)
    if call_id := message.get("tool_call_id"):
        tokens += CALL_OVERHEAD + counter.count(str(call_id))
    return tokens


def all_message_tokens(messages: Sequence[Mapping[str, Any]], counter: TokenCounter) -> list[int]:
    """Return what each rendered message costs; their texts are counted at once where the counter can do that."""
    if not isinstance(counter, ManyCounter):
        return [message_tokens(message, counter) for message in messages]
    asked = _Asked(counter.name)
    for message in messages:
        message_tokens(message, asked)
    asked.answer(counter)
    return [message_tokens(message, asked) for message in messages]


class _Asked:
    """Gathers the texts whose tokens are asked for, and knows them once they were counted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._counts: dict[str, int] = {}

    def count(self, text: str) -> int:
        return self._counts.setdefault(text, 0)

    def answer(self, counter: ManyCounter) -> None:
        texts = list(self._counts)
        self._counts = dict(zip(texts, counter.count_many(texts), strict=True))


def prompt_tokens(messages: Iterable[Mapping[str, Any]], counter: TokenCounter) -> int:
    """Return what a whole prompt costs: its messages, and the priming of the reply."""
    return REPLY_PRIMING + sum(message_tokens(message, counter) for message in messages)


def content_tokens(content: Content, counter: TokenCounter) -> int:
    """Return the tokens of a content of any shape; media parts have a flat price, whatever their bytes."""
    if content is None:
        return 0
    if isinstance(content, str):
        return counter.count(content)
    return sum(_part_tokens(part, counter) for part in content)


def has_media(content: Content) -> bool:
    """Whether a content holds an image, a sound or a file."""
    return isinstance(content, Sequence) and any(
        isinstance(part, Mapping) and _is_media(part) for part in content
    )


def _part_tokens(part: Any, counter: TokenCounter) -> int:
    if isinstance(part, str):
        return counter.count(part)
    if isinstance(part, Mapping):
        if _is_media(part):
            return MEDIA_TOKENS
        if isinstance(part.get("text"), str):
            return counter.count(part["text"])
    return counter.count(_as_json(part))


def _is_media(part: Mapping[str, Any]) -> bool:
    kind = str(part.get("type", "")).casefold()
    return any(word in kind for word in _MEDIA_WORDS)


def _call_tokens(call: Mapping[str, Any], counter: TokenCounter) -> int:
    function = call.get("function")
    if not isinstance(function, Mapping):  # another maker's shape: what it holds is what it costs
        return counter.count(_as_json(call))
    arguments = function.get("arguments", "")
    texts = (
        str(call.get("id") or ""),
        str(function.get("name") or ""),
        arguments if isinstance(arguments, str) else _as_json(arguments),
    )
    return sum(counter.count(text) for text in texts)


def _as_json(value: Any) -> str:
    # default=str: the price of a value is wanted here, not its faithful form.
    return json.dumps(value, ensure_ascii=False, default=str)


def _without_media_text(content: Content) -> Content:
    if content is None:
        return ""  # a tool result without content is refused by several providers
    if isinstance(content, str):
        return strip_media(content)
    return [_text_part_without_media(part) for part in content]


def _text_part_without_media(part: Any) -> Any:
    if isinstance(part, str):
        return strip_media(part)
    if isinstance(part, Mapping) and not _is_media(part) and isinstance(part.get("text"), str):
        return {**part, "text": strip_media(part["text"])}
    return part
