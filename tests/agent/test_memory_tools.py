"""Memory in the model's hands: small numbers, full text on request, and nobody else's rows."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from orca.agent.handles import Handles
from orca.agent.memory_tools import EXPANDED_IDS, LINE_CHARACTERS, memory_tools
from orca.agent.model import ToolCall
from orca.agent.tool_calls import Outcome, ToolRunner
from orca.agent.tools import ToolBox, ToolContext
from orca.testing import stream_reply, tool_call
from orca.text.recalled import strip_recalled
from orca.types import Scope

from .helpers import turn


@pytest.fixture
def context(memory, scope):
    return ToolContext(scope=scope, memory=memory, handles=Handles())


@pytest.fixture
def call(context):
    """Call a memory tool as a model does; return the text of its result."""

    def call(name, *, within=context, **arguments):
        written = ToolCall(id="c", name=name, arguments=tool_call(name, arguments)["function"]["arguments"])

        async def run():
            runner = ToolRunner(ToolBox(memory_tools()), within, limit=1)
            return [one async for one in runner.run([written], message_id=None) if isinstance(one, Outcome)]

        (outcome,) = asyncio.run(run())
        return outcome.text

    return call


def numbers(text):
    return [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]


def test_search_gives_short_numbered_lines_of_quoted_data(call, memory, scope):
    memory.remember(scope=scope, content="用户只吃素", kind="preference")
    long = "我们讨论了素食餐厅 " + "很长 " * 200
    memory.observe(scope=replace(scope, session="old"), role="user", content=long)
    found = call("memory_search", query="素食")
    assert numbers(found) == [1, 2]
    assert "[" in found
    assert "偏好" in found
    assert max(map(len, found.splitlines())) < LINE_CHARACTERS + 60
    assert strip_recalled(found) == ""  # as recalled memory it is never taken for something newly said


def test_nothing_found(call):
    assert call("memory_search", query="anything") == "nothing found"


def test_the_same_row_keeps_its_number(call, memory, scope):
    memory.remember(scope=scope, content="The user lives in Paris", kind="fact")
    memory.remember(scope=scope, content="The user plays chess", kind="fact")
    first = call("memory_search", query="chess")
    again = call("memory_search", query="user plays chess in Paris")
    line = next(line for line in first.splitlines() if "chess" in line)
    assert line in again.splitlines()


def test_a_message_expands_with_what_stood_around_it(call, memory, scope):
    old = replace(scope, session="old")
    for number in range(8):
        memory.observe(
            scope=old, role="user", content=f"note {number} " + ("zebra " * 60 if number == 4 else "")
        )
    found = call("memory_search", query="zebra")
    assert found.count("zebra") < 30
    expanded = call("memory_expand", ids=[numbers(found)[0]])
    assert [number for number in range(8) if f"note {number}" in expanded] == [2, 3, 4, 5, 6]
    assert expanded.count("zebra") == 60


@pytest.mark.parametrize("name", ["memory_expand", "memory_update", "memory_forget"])
def test_numbers_that_were_not_given_are_refused_with_words(call, memory, scope, name):
    fact = memory.remember(scope=scope, content="The user plays chess", kind="fact")
    arguments = {"ids": [fact.id]} if name == "memory_expand" else {"id": fact.id}
    if name == "memory_update":
        arguments["content"] = "x"
    refused = call(name, **arguments)
    assert f"there is no id {fact.id}" in refused
    assert "memory_search" in refused
    assert [one.content for one in memory.memories(scope=scope)] == ["The user plays chess"]


def test_save_update_and_forget(call, memory, scope):
    assert call("memory_save", content="用户养了一只猫", kind="fact") == "saved as 1: 用户养了一只猫"
    (fact,) = memory.memories(scope=scope)
    assert (fact.origin, fact.kind) == ("assistant", "fact")
    assert call("memory_update", id=1, content="用户养了两只猫") == "updated; it is now 2: 用户养了两只猫"
    (fact,) = memory.memories(scope=scope)
    assert (fact.content, fact.origin) == ("用户养了两只猫", "assistant")
    assert len(memory.history(scope=scope, id=fact.id)) == 2
    assert call("memory_forget", id=2) == "forgotten: 用户养了两只猫"
    assert memory.memories(scope=scope, include_inactive=True) == []
    assert "not there any more" in call("memory_forget", id=2)


def test_messages_are_not_memories(call, memory, scope):
    memory.observe(scope=replace(scope, session="old"), role="user", content="zebra crossing ahead")
    (number,) = numbers(call("memory_search", query="zebra"))
    assert "cannot be changed" in call("memory_forget", id=number)


@pytest.mark.case(13)
def test_another_user_is_out_of_reach(call, context, memory):
    other = Scope(user="bob", session="s1")
    memory.remember(scope=other, content="Bob keeps a zebra", kind="fact")
    memory.observe(scope=other, role="user", content="my zebra is called Max")
    assert call("memory_search", query="zebra") == "nothing found"
    assert "zebra" in call("memory_search", query="zebra", within=replace(context, scope=other))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"ids": []}, "ids"), ({"ids": [1] * (EXPANDED_IDS + 1)}, "ids"), ({"ids": ["x"]}, "ids")],
)
def test_bad_arguments_are_explained(call, arguments, says):
    assert says in call("memory_expand", **arguments)


def test_a_whole_turn_with_memory_tools(server, make, memory, scope):
    memory.observe(
        scope=replace(scope, session="old"), role="user", content="The cellar key is under the blue pot"
    )
    server.script(
        stream_reply(tool_calls=[tool_call("memory_search", {"query": "where is the cellar key"}, id="a")]),
        stream_reply(tool_calls=[tool_call("memory_expand", {"ids": [1]}, id="b")]),
        stream_reply("under the pot"),
        stream_reply(tool_calls=[tool_call("memory_expand", {"ids": [1]}, id="c")]),
        stream_reply("gone"),
    )
    agent = make(use_memory_tools=True)
    turn(agent, "where is the cellar key?", scope)
    turn(agent, "say it again", scope)
    first, second, third = (row.content for row in memory.messages(scope=scope) if row.role == "tool")
    assert "blue pot" in first
    assert "where is the cellar key?" not in first  # the question that is being answered is no find
    assert "blue pot" in second
    assert "there is no id 1" in third  # numbers hold for one turn
