"""One streamed reply, from servers of every habit, over real HTTP."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from typing import Any

import pytest

from orca.agent.chat_stream import MAX_PAUSE_SECONDS, MAX_TRIES, StreamingChat
from orca.agent.model import Pause, Piece, Reply
from orca.errors import (
    ConfigError,
    ContextOverflowError,
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    RateLimitError,
)
from orca.testing import DONE, chat_reply, chunk, stream_reply, tool_call
from orca.testing import Reply as Answer

ASK = [{"role": "user", "content": "你好"}]
TOOL = {"type": "function", "function": {"name": "look", "description": "", "parameters": {"type": "object"}}}
END = chunk({}, finish_reason="stop")


async def pieces_of(chat: StreamingChat, **given: Any) -> list[Any]:
    async with chat.session() as session, aclosing(session.reply(ASK, **given)) as pieces:
        return [piece async for piece in pieces]


def ask(chat: StreamingChat, **given: Any) -> list[Any]:
    return asyncio.run(pieces_of(chat, **given))


def said(pieces: list[Any], kind: str) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Piece) and piece.kind == kind)


def test_a_reply_comes_in_pieces_and_then_whole(server, chat):
    server.script(
        stream_reply("你好，世界！Hello", reasoning="hm", usage={"prompt_tokens": 5, "completion_tokens": 9})
    )
    pieces = ask(chat, max_tokens=50)
    assert said(pieces, "text") == "你好，世界！Hello"
    assert said(pieces, "reasoning") == "hm"
    reply = pieces[-1]
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("你好，世界！Hello", "hm", "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (5, 9)
    assert server.requests[0].body == {
        "model": "m",
        "messages": ASK,
        "stream": True,
        "max_tokens": 50,
        "stream_options": {"include_usage": True},
    }


def test_pieces_come_before_the_end(server, chat):
    go = threading.Event()
    server.script(stream_reply("early", before_end=go))

    async def first_piece():
        async with chat.session() as session, aclosing(session.reply(ASK)) as pieces:
            first = await anext(pieces)
            go.set()
            return first, [piece async for piece in pieces][-1]

    first, reply = asyncio.run(first_piece())
    assert first == Piece("text", "earl")
    assert reply.text == "early"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("sent", "text", "reasoning"),
    [
        ("<think>because 1 < 2</think>\n\nyes", "yes", "because 1 < 2"),
        ("  <thinking>a</thinking><think>b</think>yes <think>", "yes <think>", "a\n\nb"),
        ("<thin ice", "<thin ice", None),
        ("say </think> now", "say </think> now", None),
    ],
)
def test_thinking_is_told_apart_wherever_its_marks_are_split(server, chat, size, sent, text, reasoning):
    server.script(stream_reply([sent[i : i + size] for i in range(0, len(sent), size)]))
    pieces = ask(chat)
    assert (pieces[-1].text, pieces[-1].reasoning) == (text, reasoning)
    assert said(pieces, "text").strip() == text
    assert said(pieces, "reasoning") == (reasoning or "").replace("\n\n", "")


def test_thinking_in_other_fields(server, chat):
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "deep"}]},
        {"type": "text", "text": "yes"},
    ]
    server.script(
        Answer(stream=[chunk({"reasoning": "why"}), chunk({"content": "ok"}), END, DONE]),
        Answer(stream=[chunk({"content": parts}), END, DONE]),
    )
    assert (ask(chat)[-1].reasoning, ask(chat)[-1].reasoning) == ("why", "deep")


def fragments(*deltas: Any) -> Answer:
    return Answer(
        stream=[*(chunk({"tool_calls": one}) for one in deltas), chunk({}, finish_reason="tool_calls"), DONE]
    )


def part(name: str | None = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        ([[part("a", '{"x"', index=0, id="1")], [part(None, ": 1}", index=0)]], [("a", '{"x": 1}')]),
        ([[part("a", '{"x"', id="1")], [part(None, ": 1}")]], [("a", '{"x": 1}')]),
        ([[part("a", {"x": 1}, index=0, id="1")]], [("a", '{"x": 1}')]),
        ([[part("a", "{}"), part("b", "{}")]], [("a", "{}"), ("b", "{}")]),
        ([[part("a", "{}", id="1"), part("a", "{}", id="2")]], [("a", "{}"), ("a", "{}")]),
        ([[part("a", "{}"), part("a", "{}")]], [("a", "{}"), ("a", "{}")]),
        ([[part("a", "{", index=0, id="1")], [part("a", "}", index=0, id="1")]], [("a", "{}")]),
        ([[part("a", "{")], [part("a", "}")]], [("a", "{}")]),
        (
            [[part("a", "{}", index=0, id="1")], [part("b", "{}", index=0, id="2")]],
            [("a", "{}"), ("b", "{}")],
        ),
        (
            [[part("look", index=0, id="1")], [part("_up", index=0)], [part(None, "{}", index=0)]],
            [("look_up", "{}")],
        ),
        ([[part("a", index=0, id="1")], [part(index=1)]], [("a", "{}")]),
        (
            [
                [part("a", "{", index=0, id="1")],
                [part("b", "[", index=1, id="2")],
                [part(None, "}", index=0)],
            ],
            [("a", "{}"), ("b", "[")],
        ),
        ([[part("a", "{}", index=0, id="same"), part("b", "{}", index=1, id="same")]], None),
    ],
)
def test_tool_calls_are_put_together_whatever_the_habit(server, chat, deltas, calls):
    server.script(fragments(*deltas))
    found = ask(chat, tools=[TOOL])[-1].tool_calls
    assert len({call.id for call in found}) == len(found)
    assert all(call.id for call in found)
    if calls is not None:
        assert [(call.name, call.arguments) for call in found] == calls


def test_a_server_that_does_not_stream(server, chat):
    server.script(chat_reply("hi", tool_calls=[tool_call("look", {"x": 1})], reasoning_content="hm"))
    reply = ask(chat)[-1]
    assert (reply.text, reply.reasoning, reply.usage.total_tokens) == ("hi", "hm", 10)
    assert reply.tool_calls[0].arguments == '{"x": 1}'


@pytest.mark.parametrize(
    "stream",
    [
        ["data: {broken\n\n"],
        ["data: 5\n\n"],
        ["data: [1]\n\n"],
        [{"choices": "none"}],
        [{"choices": [5]}],
        [{"choices": [{"delta": "text"}]}],
        [chunk({"tool_calls": "look"})],
        [chunk({"tool_calls": [5]})],
        [chunk({"tool_calls": [{"function": "look"}]})],
        [chunk({"tool_calls": [part("a", 5)]})],
        [{"error": {"message": "overloaded"}}],
        [chunk({"content": "half"})],
        [chunk({"content": ""}), END, DONE],
        [b"\xff\xfe\xff"],
        [],
        ["<html>busy</html>"],
    ],
)
def test_what_is_no_reply_is_an_error_of_the_provider(server, chat, stream):
    server.script(Answer(stream=stream))
    with pytest.raises(ProviderResponseError):
        ask(chat)
    assert len(server.requests) == 1


def test_a_body_cut_short_is_an_error_of_the_provider(server, chat):
    server.script(Answer(stream=[chunk({"content": "half"})], headers={"Content-Length": "9999"}))
    with pytest.raises(ProviderError):
        ask(chat)
    assert len(server.requests) == 1  # something was said already: asking again would say it twice


def test_failures_that_may_pass_are_asked_again(server, chat, pauses):
    server.script(
        Answer(status=429, headers={"Retry-After": "3"}),
        Answer(status=503),
        Answer(status=500),
        stream_reply("there"),
    )
    pieces = ask(chat)
    assert pieces[-1].text == "there"
    assert pauses.seconds == [3.25, 1.0, 2.0]
    assert [piece.seconds for piece in pieces if isinstance(piece, Pause)] == pauses.seconds


@pytest.mark.parametrize(
    ("answer", "tries", "error"),
    [
        (Answer(status=429), MAX_TRIES, RateLimitError),
        (Answer(status=502), MAX_TRIES, ProviderError),
        (Answer(status=429, headers={"Retry-After": str(MAX_PAUSE_SECONDS + 1)}), 1, RateLimitError),
        (Answer({"error": {"code": "insufficient_quota", "message": "pay"}}, status=429), 1, RateLimitError),
        (Answer(status=401), 1, ProviderError),
        (Answer(status=404), 1, ProviderError),
        (Answer(status=302, headers={"Location": "/elsewhere"}), 1, ProviderError),
    ],
)
def test_tries_are_bounded_and_not_wasted(server, chat, answer, tries, error):
    server.otherwise(lambda request: answer)
    with pytest.raises(error):
        ask(chat)
    assert len(server.requests) == tries


def test_a_connection_that_is_refused_is_tried_again(pauses):
    chat = StreamingChat(base_url="http://127.0.0.1:9", model="m", sleep=pauses.sleep)
    with pytest.raises(ProviderError, match="cannot be reached"):
        ask(chat)
    assert len(pauses.seconds) == MAX_TRIES - 1


def test_silence_is_a_timeout(server):
    server.script(Answer(hang=True))
    with pytest.raises(ProviderTimeoutError):
        ask(StreamingChat(base_url=server.base_url, model="m", timeout=0.2))


def test_silence_in_the_middle_is_a_timeout(server):
    server.script(Answer(stream=[chunk({"content": "half"}), threading.Event()]))
    with pytest.raises(ProviderTimeoutError):
        ask(StreamingChat(base_url=server.base_url, model="m", timeout=0.2))


def test_a_server_that_refuses_unknown_fields_is_asked_without_them(server):
    chat = StreamingChat(base_url=server.base_url, model="m", parallel_tool_calls=True)
    server.otherwise(
        lambda request: (
            Answer({"error": "unknown field"}, status=400)
            if "stream_options" in request.body
            else stream_reply("ok", usage={})
        )
    )
    replies = [ask(chat, tools=[TOOL])[-1] for _ in range(2)]
    assert [reply.text for reply in replies] == ["ok", "ok"]
    assert replies[0].usage is None
    assert ["parallel_tool_calls" in request.body for request in server.requests] == [True, False, False]


OVERFLOWS = [
    ({"error": {"code": "context_length_exceeded", "message": "no"}}, 400),
    ({"error": {"type": "exceed_context_size_error", "message": "no", "n_ctx": 512}}, 400),
    ({"message": "This model's maximum context length is 4096 tokens."}, 400),
    ({"error": {"message": "输入过长，上下文超出限制"}}, 400),
    ({"detail": "prompt 5100 > limit 4096"}, 422),
    ({"message": "le texte a 5,100 jetons, le maximum est 4,096"}, 400),
    ({"message": "too big"}, 413),
]


@pytest.mark.parametrize(("body", "status"), OVERFLOWS)
def test_a_prompt_that_is_too_long_is_recognised(server, chat, body, status):
    server.otherwise(lambda request: Answer(body, status=status))
    with pytest.raises(ContextOverflowError):
        ask(chat, prompt_tokens=5000)


def test_an_overflow_told_in_the_stream(server, chat):
    server.script(Answer(stream=[{"error": {"code": "context_length_exceeded", "message": "no"}}]))
    with pytest.raises(ContextOverflowError):
        ask(chat, prompt_tokens=5000)


@pytest.mark.parametrize(
    "body", [{"message": "max_tokens must be below 8192"}, {"message": "error 20015 in request 5001"}, {}]
)
def test_other_refusals_are_no_overflow(server, chat, body):
    server.otherwise(lambda request: Answer(body, status=400))
    with pytest.raises(ProviderError):
        ask(chat, prompt_tokens=300)


@pytest.mark.case(7)
def test_one_chat_serves_several_event_loops(server, chat):
    server.otherwise(lambda request: stream_reply("ok"))
    assert [ask(chat)[-1].text for _ in range(3)] == ["ok"] * 3


def test_a_model_needs_a_name(server):
    with pytest.raises(ConfigError):
        StreamingChat(base_url=server.base_url, model="")


def test_lone_surrogates_are_sent_as_text(server, chat):
    server.script(stream_reply("ok"))

    async def run():
        async with chat.session() as session:
            messages = [{"role": "user", "content": "a\ud800b"}]
            return [piece async for piece in session.reply(messages)]

    assert isinstance(asyncio.run(run())[-1], Reply)
    assert server.requests[0].body["messages"][0]["content"] == "a�b"
