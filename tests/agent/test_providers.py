"""One conversation with every server that people use, each with its habits: see ``providers``."""

from __future__ import annotations

import json

import pytest

from orca.agent.chat_stream import StreamingChat
from orca.agent.events import RetryScheduled
from orca.agent.tools import tool
from orca.memory.rendering import render_message
from orca.testing import Reply

from .helpers import assert_valid, chats, of, turn
from .providers import ANSWER, CALLS, KEY, PROFILES, QUESTION, THOUGHT, USAGE


@tool
async def weather(city: str) -> str:
    """Say what the weather is."""
    return f"{city}: sunny"


@tool
async def clock() -> str:
    """Say what time it is."""
    return "nine"


@pytest.fixture(params=sorted(PROFILES))
def profile(request):
    return PROFILES[request.param]


@pytest.fixture
def agent(profile, server, make, pauses):
    chat = StreamingChat(
        base_url=server.base_url,
        model="m",
        api_key=KEY if profile.needs_key else None,
        sleep=pauses.sleep,
        **profile.settings,
    )
    server.otherwise(profile.answer)
    return make(model=chat, tools=[weather, clock], system="Be brief.")


def test_a_conversation_with_thinking_and_tools(profile, agent, server, memory, scope):
    first = turn(agent, QUESTION, scope)[-1].result
    second = turn(agent, "Thanks!", scope)[-1].result
    assert (first.text, first.steps, second.text, second.steps) == (ANSWER, 2, ANSWER, 1)
    rows = memory.messages(scope=scope)
    assert [row.role for row in rows] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    calls = rows[1].tool_calls
    assert [(one["function"]["name"], one["function"]["arguments"]) for one in calls] == list(CALLS)
    assert [row.content for row in rows[2:4]] == ["上海: sunny", "nine"]
    assert_valid([render_message(row) for row in rows])
    # What the model thought is kept, apart from what it said.
    assert rows[1].reasoning == THOUGHT
    assert THOUGHT not in json.dumps([row.content for row in rows])
    assert first.usage.estimated is not profile.reports
    if profile.reports:
        assert first.usage.prompt_tokens == 2 * USAGE["prompt_tokens"]
        assert first.usage.completion_tokens == 2 * USAGE["completion_tokens"]
    # Ids that a server gives anew in every turn confuse nobody.
    again = turn(agent, QUESTION, scope)[-1].result
    assert (again.text, again.steps) == (ANSWER, 2)
    # Nothing was refused but fields that a server does not know, and those once.
    assert len(chats(server)) == 5 + bool(profile.refused)


def test_a_prompt_that_is_too_long_is_made_shorter(profile, agent, server, memory, scope):
    for number in range(40):
        memory.observe(scope=scope, role="user", content=f"{number} " + "word " * 60)
        memory.observe(scope=scope, role="assistant", content=f"{number} " + "more " * 60)

    def too_long(request):
        size = memory.counter.count(json.dumps(request.body["messages"]))
        return profile.overflow(size, 3000) if size > 3000 else None

    server.script(*[lambda request: too_long(request) or profile.answer(request)] * 4)
    assert turn(agent, "go", scope)[-1].result.text == ANSWER
    sizes = [len(request.raw) for request in chats(server)]
    assert sizes[-1] < 0.7 * sizes[0]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(profile, agent, server, scope, pauses, status):
    if profile.refused:  # the first request only finds out what the server does not know
        turn(agent, "hello", scope)
    server.script(Reply({"message": "busy"}, status=status, headers={"Retry-After": "2"}))
    events = turn(agent, "go", scope)
    assert events[-1].result.text == ANSWER
    assert len(of(RetryScheduled, events)) == len(pauses.seconds) == 1
    assert pauses.seconds[0] >= 2


def test_a_question_that_was_left_without_an_answer_is_no_second_user_message(profile, agent, server, scope):
    server.script(Reply({"message": "no"}, status=401))
    turn(agent, "first", scope)
    assert turn(agent, "second", scope)[-1].result.text == ANSWER
