"""Streamed chat completions for ``ScriptedServer``, in the pieces that a server would send."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orca.testing.server import Reply

DONE = "data: [DONE]\n\n"
"""Ends a stream."""


def chunk(delta: Mapping[str, Any], *, finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return one chunk of a stream: what ``delta`` says, and further top-level fields."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
    return {"id": "chat-1", "object": "chat.completion.chunk", "choices": [choice], **fields}


def tool_call(name: str, arguments: Any = None, *, id: str | None = None) -> dict[str, Any]:
    """Return a call as a reply carries it; ``arguments`` is text as it is, or a value to write as JSON."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {
        "id": id or f"call_{name}",
        "type": "function",
        "function": {"name": name, "arguments": written},
    }


def stream_reply(
    text: str | Iterable[str] | None = None,
    *,
    tool_calls: Sequence[Mapping[str, Any]] = (),
    reasoning: str | None = None,
    finish_reason: str | None = None,
    usage: Mapping[str, int] | None = None,
    before_end: threading.Event | None = None,
) -> Reply:
    """Return a streamed chat completion.

    Args:
        text: What is said: a text, sent in pieces of a few characters, or the pieces themselves.
        tool_calls: Calls (see ``tool_call``), their arguments sent in halves.
        reasoning: Thinking, sent first as ``reasoning_content``.
        finish_reason: None for ``stop``, or ``tool_calls`` where there are any.
        usage: What the last chunk counts; an empty mapping sends none.
        before_end: Waited for after everything is said and before the stream ends.

    """
    pieces = [text[i : i + 4] for i in range(0, len(text), 4)] if isinstance(text, str) else list(text or ())
    chunks: list[Any] = [chunk({"role": "assistant", "content": ""})]
    if reasoning:
        chunks.append(chunk({"reasoning_content": reasoning}))
    chunks += [chunk({"content": piece}) for piece in pieces]
    for index, call in enumerate(tool_calls):
        function = call["function"]
        middle = len(function["arguments"]) // 2
        first = {**function, "arguments": function["arguments"][:middle]}
        rest = {"arguments": function["arguments"][middle:]}
        chunks.append(chunk({"tool_calls": [{**call, "index": index, "function": first}]}))
        chunks.append(chunk({"tool_calls": [{"index": index, "function": rest}]}))
    if before_end is not None:
        chunks.append(before_end)
    chunks.append(chunk({}, finish_reason=finish_reason or ("tool_calls" if tool_calls else "stop")))
    counted = {"prompt_tokens": 7, "completion_tokens": 3} if usage is None else usage
    if counted:
        chunks.append({"id": "chat-1", "choices": [], "usage": dict(counted)})
    return Reply(stream=[*chunks, DONE])
