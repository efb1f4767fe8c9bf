"""A reply put together from the chunks of a stream, whatever a server's habits.

Seen in servers that call themselves compatible: tool calls without an index or an id, one index for all of
several calls, the name in every fragment, arguments as an object, whole calls in one chunk, thinking under
``reasoning_content``, ``reasoning``, as typed parts or between ``<think>`` marks, usage in every chunk, no usage
at all, one ``message`` in place of deltas.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orca.agent.model import Piece, Reply, ToolCall, Usage
from orca.errors import ProviderResponseError
from orca.text.normalize import clean
from orca.text.reasoning import split_reasoning

_OPENERS = ("<think>", "<thinking>")


@dataclass(slots=True)
class _Call:
    """A tool call in the making."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a finished JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except ValueError:
            return False


class ReplyBuilder:
    """Takes chunks in, gives pieces of text out as they come, and the whole reply at the end."""

    def __init__(self, model: str) -> None:
        """``model`` names the model in errors."""
        self._model = model
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._splitter = _ThinkSplitter()
        self._calls: list[_Call] = []
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._closed = False

    def take(self, chunk: object) -> Iterator[Piece]:
        """Take one chunk in; yield what it says. Raises ``ProviderResponseError`` for what is no chunk."""
        if not isinstance(chunk, Mapping):
            raise self._malformed("a chunk", chunk)
        if chunk.get("error"):
            raise self._malformed("an error in the stream", chunk["error"])
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = _usage(usage)
        choices = chunk.get("choices")
        if not choices:
            # The chunk with the usage comes last and has no choices: nothing is missing after it.
            self._closed = self._closed or self._usage is not None
            return
        choice = choices[0] if isinstance(choices, list) else None
        delta = choice.get("delta") or choice.get("message") or {} if isinstance(choice, Mapping) else None
        if not isinstance(choice, Mapping) or not isinstance(delta, Mapping):
            raise self._malformed("a choice", choices)
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]
        yield from self._said(delta)
        self._take_calls(delta.get("tool_calls"))

    def finish(self) -> Reply:
        """Return the reply. Raises ``ProviderResponseError`` when it is cut off, or says and asks nothing."""
        if self._finish is None and not self._closed:
            raise ProviderResponseError(f"{self._model}: the stream ended before the reply was complete")
        text, inline = split_reasoning("".join(self._text))
        thinking = "\n\n".join(filter(None, ("".join(self._thinking).strip(), inline)))
        calls = self._finished_calls()
        if not text.strip() and not calls:
            raise ProviderResponseError(f"{self._model} gave an empty reply (finish_reason {self._finish!r})")
        return Reply(
            text=text,
            tool_calls=calls,
            reasoning=thinking or None,
            usage=self._usage,
            finish_reason=self._finish,
        )

    def rest(self) -> Iterator[Piece]:
        """Yield what was held back because it might have become a ``<think>`` mark."""
        yield from self._splitter.flush()

    def _said(self, delta: Mapping[str, Any]) -> Iterator[Piece]:
        apart = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(apart, str) and apart:
            self._thinking.append(clean(apart))
            yield Piece("reasoning", self._thinking[-1])
        for kind, text in _texts(delta.get("content") or delta.get("refusal")):
            if kind == "reasoning":
                self._thinking.append(text)
                yield Piece("reasoning", text)
            else:
                self._text.append(text)
                yield from self._splitter.feed(text)

    def _take_calls(self, fragments: object) -> None:
        if not fragments:
            return
        if not isinstance(fragments, list):
            raise self._malformed("tool calls", fragments)
        for fragment in fragments:
            function = fragment.get("function") if isinstance(fragment, Mapping) else None
            if not isinstance(fragment, Mapping) or not isinstance(function or {}, Mapping):
                raise self._malformed("a tool call", fragment)
            self._take_call(fragment, function or {})

    def _take_call(self, fragment: Mapping[str, Any], function: Mapping[str, Any]) -> None:
        index = fragment.get("index") if type(fragment.get("index")) is int else None
        call_id = fragment["id"] if isinstance(fragment.get("id"), str) else ""
        name = function["name"] if isinstance(function.get("name"), str) else ""
        arguments = function.get("arguments")
        call = self._call_for(index, call_id, name, says_more=bool(arguments))
        call.id = call.id or call_id
        if name and name != call.name and not call.arguments:
            call.name += name  # a server that streams the name in parts
        if isinstance(arguments, str):
            call.arguments += clean(arguments)
        elif isinstance(arguments, Mapping):
            call.arguments = json.dumps(arguments, ensure_ascii=False)
        elif arguments is not None:
            raise self._malformed("a tool call's arguments", arguments)

    def _call_for(self, index: int | None, call_id: str, name: str, *, says_more: bool) -> _Call:
        """Return the call that a fragment belongs to; a new one where it belongs to none."""
        last = self._calls[-1] if self._calls else None
        found = next((call for call in self._calls if index is not None and call.index == index), None)
        if found is not None and call_id and found.id and call_id != found.id:
            found = None  # one index for all calls: the id decides
        if (
            found is not None
            and not call_id
            and found.is_whole
            and name
            and (says_more or name != found.name)
        ):
            found = None  # one index for all calls, and no ids: nothing can follow a whole call but another
        if found is None and call_id:
            found = next((call for call in self._calls if call.id == call_id), None)
        if found is None and index is None and not call_id and last is not None:
            goes_on = not name or (name == last.name and not last.is_whole)
            found = last if goes_on else None
        if found is None:
            found = _Call(index=index)
            self._calls.append(found)
        return found

    def _finished_calls(self) -> tuple[ToolCall, ...]:
        calls: list[ToolCall] = []
        seen: set[str] = set()
        for call in self._calls:
            if not call.name and not call.arguments.strip():
                continue  # an empty fragment that some servers close with
            call_id = call.id if call.id and call.id not in seen else f"call_{secrets.token_hex(8)}"
            seen.add(call_id)
            arguments = call.arguments if call.arguments.strip() else "{}"
            calls.append(ToolCall(id=clean(call_id), name=clean(call.name), arguments=arguments))
        return tuple(calls)

    def _malformed(self, what: str, value: object) -> ProviderResponseError:
        return ProviderResponseError(f"{self._model} sent {what} that cannot be used: {str(value)[:200]}")


class _ThinkSplitter:
    """Tells leading ``<think>`` blocks from the reply while the text comes in pieces of any length."""

    def __init__(self) -> None:
        self._held = ""
        self._closer: str | None = None
        self._leading = True

    def feed(self, text: str) -> Iterator[Piece]:
        """Take text in; yield what can be told apart already."""
        self._held += clean(text)
        while self._held:
            if self._closer is not None:
                end = self._held.find(self._closer)
                if end < 0:
                    yield from self._release(keep=_overlap(self._held, self._closer))
                    return
                if end:
                    yield Piece("reasoning", self._held[:end])
                self._held = self._held[end + len(self._closer) :]
                self._closer = None
            elif not self._leading:
                yield from self._release(keep=0)
            elif not self._open():
                return

    def flush(self) -> Iterator[Piece]:
        """Yield what was held back."""
        if self._held.strip() or not self._leading:
            yield from self._release(keep=0)

    def _open(self) -> bool:
        """Look for a block's beginning; return whether there is something to go on with."""
        text = self._held.lstrip()
        if not text:
            return False
        for opener in _OPENERS:
            if text.startswith(opener):
                self._closer = f"</{opener[1:]}"
                self._held = text[len(opener) :]
                return True
        if any(opener.startswith(text) for opener in _OPENERS):
            return False
        self._leading = False
        return True

    def _release(self, *, keep: int) -> Iterator[Piece]:
        cut = len(self._held) - keep
        text, self._held = self._held[:cut], self._held[cut:]
        if text:
            yield Piece("text" if self._closer is None else "reasoning", text)


def _overlap(text: str, mark: str) -> int:
    """Return how many characters at the end of ``text`` may be the beginning of ``mark``."""
    return next((size for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), 0)


def _texts(content: object) -> Iterator[tuple[str, str]]:
    """Yield ``(kind, text)`` of a delta's content: text, or parts of which some are thinking."""
    if isinstance(content, str):
        if content:
            yield "text", content
        return
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, Mapping):
            continue
        if isinstance(part.get("text"), str) and part["text"]:
            yield "text", part["text"]
        thinking = part.get("thinking")
        if isinstance(thinking, str) and thinking:
            yield "reasoning", clean(thinking)
        elif isinstance(thinking, list):
            yield from (("reasoning", clean(text)) for _, text in _texts(thinking))


def _usage(given: Mapping[str, Any]) -> Usage:
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return Usage(
        prompt_tokens=_count(given.get("prompt_tokens")),
        completion_tokens=_count(given.get("completion_tokens")),
        cached_tokens=_count(cached if cached is not None else given.get("prompt_cache_hit_tokens")),
    )


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
