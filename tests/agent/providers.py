"""Servers that call themselves OpenAI-compatible, each with the habits and refusals it is known for.

A ``Profile`` is the server's side of a conversation: it refuses what the real one refuses, in its own words, and
answers in the chunks that the real one sends. The conversation is always the same: a question with thinking and two
tool calls, the answer to their results, then another question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orca.testing import DONE, Reply, Request, chunk

THOUGHT = "the weather and the time, so two calls"
QUESTION = "How is the weather, and what time is it?"
ANSWER = "晴，九点。 Take an umbrella? No."
CALLS = (("weather", '{"city":"上海"}'), ("clock", "{}"))
USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}
KEY = "sk-test"
COMMON = {"model", "messages", "stream", "stream_options", "tools", "max_tokens"}

Chunks = Callable[[], list[Any]]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How one server behaves.

    ``asks`` and ``says`` are the chunks of the reply with the calls and of the answer. ``needs_key`` refuses requests
    without ``KEY`` and, where it is false, those with one. ``replays`` says whether ``reasoning_content`` has to come
    back with the calls of the turn that goes on; anywhere else it is refused. ``strict_roles`` refuses two user messages in a row.
    ``refused`` are fields of the request that it does not know. ``overflow`` is its answer to a prompt that is too
    long, made of what it counted. ``reports`` says whether it counts tokens.
    """

    asks: Sequence[Any]
    says: Sequence[Any]
    needs_key: bool = True
    replays: bool = False
    strict_roles: bool = False
    refused: frozenset[str] = frozenset()
    overflow: Callable[[int, int], Reply] = field(
        default=lambda size, limit: _error(
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in {size} "
            "tokens.",
            code="context_length_exceeded",
        )
    )
    reports: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, request: Request) -> Reply:
        """Answer one request, or refuse it."""
        key = request.headers.get("authorization")
        if key != (f"Bearer {KEY}" if self.needs_key else None):
            return _error("invalid api key" if self.needs_key else "unexpected credentials", status=401)
        if request.path != "/v1/chat/completions":
            return Reply("404 page not found", status=404)
        if fault := self._fault(request.body):
            return _error(fault)
        last = request.body["messages"][-1]
        return Reply(
            stream=self.says if last["role"] == "tool" or "tools" not in request.body else self._first(last)
        )

    def _first(self, last: Mapping[str, Any]) -> Sequence[Any]:
        return self.asks if str(last["content"]).endswith(QUESTION) else self.says

    def _fault(self, body: Mapping[str, Any]) -> str | None:
        if unknown := (body.keys() - COMMON) | (body.keys() & self.refused):
            return f"unknown field: {sorted(unknown)}"
        waiting: list[str] = []
        before = ""
        asked = max(place for place, message in enumerate(body["messages"]) if message["role"] == "user")
        for place, message in enumerate(body["messages"]):
            role, calls = message["role"], message.get("tool_calls") or []
            if role == "tool":
                if message.get("tool_call_id") not in waiting:
                    return "tool message without a preceding call"
                waiting.remove(message["tool_call_id"])
            elif waiting:
                return "insufficient tool messages following tool_calls"
            if self.strict_roles and role == before == "user":
                return "Conversation roles must alternate user/assistant/user/assistant/..."
            if role != "assistant" and not message.get("content"):
                return "content is required"
            wanted = self.replays and bool(calls) and place > asked
            if ("reasoning_content" in message) is not wanted:
                return f"reasoning_content is {'missing' if wanted else 'not allowed here'}"
            if message.keys() - {"role", "content", "tool_calls", "tool_call_id", "reasoning_content"}:
                return f"unknown field in a message: {sorted(message)}"
            waiting = [call["id"] for call in calls] if calls else waiting
            before = role
        return "dangling tool_calls" if waiting else None


def _error(message: str, *, status: int = 400, **fields: Any) -> Reply:
    return Reply({"error": {"message": message, "type": "invalid_request_error", **fields}}, status=status)


def _bare(code: int, message: str, status: int = 400) -> Reply:
    """An error as SiliconFlow writes it."""
    return Reply({"code": code, "message": message, "data": None}, status=status)


def _pieces(text: str, size: int = 3) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _call(index: int | None, name: str | None, arguments: Any, **fields: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**({} if index is None else {"index": index}), **fields, "function": function}


def _finish(reason: str = "stop", **fields: Any) -> dict[str, Any]:
    return chunk({"content": ""}, finish_reason=reason, **fields)


def _last(usage: Mapping[str, Any] = USAGE) -> list[Any]:
    return [{"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": dict(usage)}, DONE]


def _halves(fields: Callable[[int], dict[str, Any]]) -> list[Any]:
    """Both calls, their arguments in two parts, as most servers stream them."""
    chunks = []
    for index, (name, arguments) in enumerate(CALLS):
        middle = len(arguments) // 2
        chunks.append(chunk({"tool_calls": [_call(index, name, arguments[:middle], **fields(index))]}))
        chunks.append(chunk({"tool_calls": [_call(index, None, arguments[middle:])]}))
    return chunks


def _thinking(key: str) -> list[Any]:
    return [chunk({key: piece, "content": None}) for piece in _pieces(THOUGHT, 8)]


def _with_usage(chunks: Sequence[Any]) -> list[Any]:
    return [{**one, "usage": USAGE} if isinstance(one, dict) else one for one in chunks]


_SAYS = [
    chunk({"role": "assistant", "content": ""}),
    *(chunk({"content": piece}) for piece in _pieces(ANSWER)),
]


def _ids(prefix: str) -> Callable[[int], dict[str, Any]]:
    return lambda index: {"id": f"{prefix}{index}", "type": "function"}


_ASKS = [*_thinking("reasoning_content"), *_halves(_ids("call_")), _finish("tool_calls"), *_last()]

PROFILES: dict[str, Profile] = {
    # Usage in every chunk, errors without an "error" object, more than one index for one id.
    "siliconflow": Profile(
        asks=[*_with_usage(_ASKS[:-2]), DONE],
        says=[*_with_usage([*_SAYS, _finish()]), DONE],
        overflow=lambda size, limit: _bare(
            20015, f"length of prompt_tokens ({size}) must be less than max_seq_len ({limit})."
        ),
    ),
    # Comments keep the connection alive; what it thought must not come back.
    "deepseek": Profile(
        asks=[": keep-alive\n\n", *_ASKS],
        says=[": keep-alive\n\n", *_SAYS, _finish(), *_last(USAGE | {"prompt_cache_hit_tokens": 64})],
    ),
    # The same house's newer models: what it thought must come back with a turn's calls, and only there.
    "deepseek that wants its thinking": Profile(
        asks=_ASKS, says=[*_SAYS, _finish(), *_last()], replays=True, settings={"replay_reasoning": True}
    ),
    # Later fragments of a call carry an empty id and an empty name.
    "qwen": Profile(
        asks=[
            *_thinking("reasoning_content"),
            *(
                chunk(
                    {"tool_calls": [_call(index, name, part, id=call_id, type="function")], "content": None}
                )
                for index, (tool, arguments) in enumerate(CALLS)
                for name, part, call_id in ((tool, "", f"call_{index}"), ("", arguments, ""), ("", None, ""))
            ),
            _finish("tool_calls"),
            *_last(),
        ],
        says=[*_SAYS, _finish(), *_last(USAGE | {"prompt_tokens_details": {"cached_tokens": 32}})],
        overflow=lambda size, limit: _error(
            f"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {limit}], got {size}"
        ),
    ),
    # No key; whole calls in one chunk without ids, all under index 0, with the wrong finish reason; no counts.
    "ollama": Profile(
        needs_key=False,
        asks=[
            *_thinking("reasoning"),
            *(chunk({"tool_calls": [_call(0, name, arguments, id="")]}) for name, arguments in CALLS),
            _finish("stop"),
            DONE,
        ],
        says=[*_SAYS, _finish(), DONE],
        refused=frozenset({"stream_options"}),
        reports=False,
        overflow=lambda size, limit: _error(f"input length {size} exceeds maximum context length {limit}"),
    ),
    # Thinking under another name, long ids, refusals with the fields at the top.
    "vllm": Profile(
        needs_key=False,
        asks=[*_thinking("reasoning"), *_halves(_ids("chatcmpl-tool-")), _finish("tool_calls"), *_last()],
        says=[*_SAYS, _finish(), *_last()],
        overflow=lambda size, limit: Reply(
            {
                "object": "error",
                "message": f"This model's maximum context length is {limit} tokens. However, you requested {size} "
                "tokens. Please reduce the length of the messages.",
                "type": "BadRequestError",
                "code": 400,
            },
            status=400,
        ),
    ),
    # Thinking between marks in the text, a chat template that wants the roles to alternate, calls without ids.
    "llama.cpp": Profile(
        needs_key=False,
        strict_roles=True,
        asks=[
            *(chunk({"content": piece}) for piece in _pieces(f"<think>{THOUGHT}</think>\n\n")),
            *(
                chunk({"tool_calls": [_call(index, name, arguments)]})
                for index, (name, arguments) in enumerate(CALLS)
            ),
            _finish("tool_calls"),
            *_last(),
        ],
        says=[*_SAYS, _finish(), *_last()],
        overflow=lambda size, limit: _error(
            f"the request exceeds the available context size ({limit} tokens)",
            code=400,
            type="exceed_context_size_error",
            n_prompt_tokens=size,
            n_ctx=limit,
        ),
    ),
}
