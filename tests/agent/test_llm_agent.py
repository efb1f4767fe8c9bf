"""Whole conversations through ``LLMAgent`` against a scripted server, over real HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import replace

import pytest

from orca.agent.chat_stream import StreamingChat
from orca.agent.events import (
    ContextBuilt,
    RetryScheduled,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from orca.agent.llm_agent import LLMAgent
from orca.agent.tool_calls import CANCELLED
from orca.agent.tools import ToolContext, tool
from orca.config import Settings
from orca.errors import ConfigError, ContextOverflowError, NotFoundError, ProviderError, ProviderResponseError
from orca.protocols import Completion
from orca.sections import LLMSettings
from orca.testing import Reply, ScriptedModel, chunk, stream_reply, tool_call
from orca.types import Scope
from orca.wiring import open_agent

from .helpers import assert_valid, chats, of, prompts, stored, turn


@tool
def double(number: int) -> int:
    """Double a number."""
    return number * 2


def test_a_conversation_is_kept_and_sent_again(server, make, memory, scope):
    server.script(stream_reply("你好，Alice"), stream_reply("杭州"))
    agent = make(system="Be brief.")
    events = turn(agent, "我叫 Alice，住在杭州", scope)
    assert [type(event) for event in events if not isinstance(event, TextDelta)] == [
        TurnStarted,
        ContextBuilt,
        TurnFinished,
    ]
    assert "".join(event.text for event in of(TextDelta, events)) == "你好，Alice"
    result = asyncio.run(agent.run("我住在哪里？", scope=scope))
    assert (result.text, result.usage.total_tokens, result.steps, result.runs) == ("杭州", 10, 1, ())
    assert result.message.id == memory.messages(scope=scope)[-1].id
    first, second = prompts(server)
    assert first[0] == {"role": "system", "content": "Be brief."}
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert second[1:3] == [
        {"role": "user", "content": "我叫 Alice，住在杭州"},
        {"role": "assistant", "content": "你好，Alice"},
    ]
    assert second[-1]["content"].endswith("我住在哪里？")
    assert stored(memory, scope)[-1] == ("assistant", "杭州")


def test_what_would_be_sent_is_what_is_sent(server, make, memory, scope):
    memory.remember(scope=scope, content="用户对花生过敏", kind="fact")
    agent = make()
    would = agent.build_llm_messages("我对花生过敏吗？", scope=scope)
    assert stored(memory, scope) == []
    asyncio.run(agent.run("我对花生过敏吗？", scope=scope))
    assert prompts(server) == [would]
    assert [message["role"] for message in would] == ["system", "user"]
    assert "花生" not in would[0]["content"]
    assert "<recalled_memory>" in would[-1]["content"]
    assert would[-1]["content"].endswith("我对花生过敏吗？")


def test_tools_take_their_room_from_the_prompt(server, make, memory, scope):
    for number in range(60):
        memory.observe(scope=scope, role="user", content=f"question {number} " + "alpha beta " * 30)
        memory.observe(scope=scope, role="assistant", content=f"answer {number} " + "gamma delta " * 30)

    @tool
    def heavy(number: int) -> int:
        """Weigh."""
        return number

    assert memory.flush()  # no summary may come between what is shown and what is sent
    described = replace(heavy, description="weigh " * 1000)
    without = make().build_context("now?", scope=scope)
    agent = make(tools=[described])
    would = agent.build_llm_messages("now?", scope=scope)
    assert agent.build_context("now?", scope=scope).budget <= without.budget - 600
    asyncio.run(agent.run("now?", scope=scope))
    assert prompts(server) == [would]


def test_tool_calls_run_and_go_back_to_the_model(server, make, memory, scope):
    calls = [tool_call("double", {"number": 2}, id="a"), tool_call("double", {"number": 5}, id="b")]
    server.script(stream_reply("Let me see.", tool_calls=calls, reasoning="sums"), stream_reply("4 and 10"))
    events = turn(make(tools=[double]), "double 2 and 5", scope)
    assert events[-1].result.text == "4 and 10"
    assert events[-1].result.usage.total_tokens == 20
    assert {event.call_id: event.result for event in of(ToolFinished, events)} == {"a": "4", "b": "10"}
    assert [event.arguments for event in of(ToolStarted, events)] == [{"number": 2}, {"number": 5}]
    _, asked, one, two, _ = memory.messages(scope=scope)
    assert (asked.content, asked.reasoning) == ("Let me see.", "sums")
    assert list(asked.tool_calls) == calls
    assert [(row.role, row.tool_call_id, row.content, row.origin) for row in (one, two)] == [
        ("tool", "a", "4", "tool"),
        ("tool", "b", "10", "tool"),
    ]
    sent = prompts(server)[1]
    assert_valid(sent)
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool"]
    assert "reasoning_content" not in json.dumps(sent)
    assert chats(server)[0].body["tools"][0]["function"]["parameters"]["required"] == ["number"]


@pytest.mark.case(26)
def test_results_are_kept_in_the_order_of_the_calls_and_run_beside_each_other(server, make, memory, scope):
    late = asyncio.Event()

    @tool
    async def first() -> str:
        """Wait for the second."""
        await asyncio.wait_for(late.wait(), 5)
        return "1"

    @tool
    async def second() -> str:
        """Let the first go on."""
        late.set()
        return "2"

    server.script(stream_reply(tool_calls=[tool_call("first"), tool_call("second")]), stream_reply("done"))
    events = turn(make(tools=[first, second]), "go", scope)
    assert [event.name for event in of(ToolFinished, events)] == ["second", "first"]
    assert [row.content for row in memory.messages(scope=scope) if row.role == "tool"] == ["1", "2"]


def test_only_so_many_tools_run_at_once(server, make, scope):
    running, most = 0, 0

    @tool
    async def step() -> str:
        """Count."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "ok"

    server.script(
        stream_reply(tool_calls=[tool_call("step", id=f"c{n}") for n in range(6)]), stream_reply("done")
    )
    turn(make(tools=[step], max_parallel_tools=2), "go", scope)
    assert most == 2


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (tool_call("nothing"), "there is no tool 'nothing'; there are: double, broken, slow"),
        (tool_call("double", '{"number": '), "not JSON"),
        (tool_call("double", "[2]"), "not a JSON object"),
        (tool_call("double", {"number": "many"}), "number: Input should be a valid integer"),
        (tool_call("double", {"number": 1, "more": 2}), "more: Extra inputs are not permitted"),
        (tool_call("double", {}), "number: Field required"),
        (tool_call("broken"), "ValueError: no such file"),
        (tool_call("slow"), "not done within 0.05 seconds"),
    ],
)
def test_a_failing_call_is_a_result_and_not_the_end(server, make, memory, scope, call, says):
    @tool
    def broken() -> str:
        """Fail."""
        raise ValueError("no such file")

    @tool(timeout_seconds=0.05)
    async def slow() -> str:
        """Take too long."""
        await asyncio.Event().wait()
        return ""

    server.script(stream_reply(tool_calls=[call]), stream_reply("I see"))
    events = turn(make(tools=[double, broken, slow]), "go", scope)
    assert events[-1].result.text == "I see"
    (finished,) = of(ToolFinished, events)
    assert not finished.ok
    assert says in finished.result
    assert_valid(prompts(server)[1])
    # Some servers parse the arguments of earlier calls: whatever was written, what is sent back is an object.
    arguments = prompts(server)[1][2]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(arguments), dict)


def test_a_tool_that_needs_a_yes(server, make, scope):
    asked = []

    @tool(confirm=True)
    def wipe(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    async def confirm(confirmation):
        asked.append((confirmation.tool, dict(confirmation.arguments), confirmation.agent))
        return confirmation.arguments["path"] == "a"

    calls = [tool_call("wipe", {"path": path}, id=path) for path in "ab"]
    server.script(stream_reply(tool_calls=calls), stream_reply("done"))
    events = turn(make(tools=[wipe], confirm=confirm), "go", scope)
    assert {event.call_id: event.ok for event in of(ToolFinished, events)} == {"a": True, "b": False}
    assert sorted(asked, key=str) == [("wipe", {"path": path}, "main") for path in "ab"]
    server.script(stream_reply(tool_calls=calls[:1]), stream_reply("done"))
    (finished,) = of(ToolFinished, turn(make(tools=[wipe]), "go", scope))
    assert "did not allow" in finished.result


def test_a_tool_knows_its_call_and_tells_its_progress(server, make, memory, scope):
    seen = []

    @tool
    def work(context: ToolContext, times: int = 1) -> dict:
        """Work."""
        seen.append(context)
        context.emit("half way")
        return {"次数": times}

    server.script(stream_reply(tool_calls=[tool_call("work")]), stream_reply("done"))
    events = turn(make(tools=[work]), "go", scope)
    assert [event.text for event in of(ToolProgress, events)] == ["half way"]
    assert of(ToolFinished, events)[0].result == '{"次数":1}'
    (context,) = seen
    rows = memory.messages(scope=scope)
    assert (context.scope, context.question_id, context.message_id) == (scope, rows[0].id, rows[1].id)
    assert (context.agent, context.run_id, context.call_id) == ("main", None, "call_work")


def test_long_results_are_cut_and_marked(server, make, memory, scope):
    @tool
    def dump() -> str:
        """Say much."""
        return "word " * 50_000

    server.script(stream_reply(tool_calls=[tool_call("dump")]), stream_reply("done"))
    turn(make(tools=[dump]), "go", scope)
    assert memory.messages(scope=scope)[2].content.endswith("…[cut: 218000 more characters]")


def test_steps_are_bounded_and_end_in_an_answer(server, make, memory, scope):
    server.otherwise(
        lambda request: (
            stream_reply(tool_calls=[tool_call("double", {"number": 1})])
            if "tools" in request.body
            else stream_reply("enough")
        )
    )
    result = asyncio.run(make(tools=[double], max_steps=3).run("一直算", scope=scope))
    assert (result.text, result.steps, len(chats(server))) == ("enough", 4, 4)
    last = prompts(server)[-1]
    assert_valid(last)
    assert "上限" in last[-1]["content"]
    assert [role for role, _ in stored(memory, scope)].count("user") == 1


def test_a_model_that_will_not_answer_ends_the_turn(server, make, memory, scope):
    server.otherwise(lambda request: stream_reply(tool_calls=[tool_call("double", {"number": 1})]))
    (failed,) = of(TurnFailed, turn(make(tools=[double], max_steps=1), "go", scope))
    assert isinstance(failed.error, ProviderResponseError)
    assert stored(memory, scope)[-1][0] == "tool"


def test_a_broken_stream_keeps_what_was_said(server, make, memory, scope):
    server.script(Reply(stream=[chunk({"reasoning_content": "hm"}), chunk({"content": "The answer is"})]))
    agent = make()
    (failed,) = of(TurnFailed, turn(agent, "go", scope))
    assert isinstance(failed.error, ProviderResponseError)
    assert failed.partial == "The answer is"
    row = memory.messages(scope=scope)[-1]
    assert (row.role, row.content, row.reasoning) == ("assistant", "The answer is", "hm")
    assert row.metadata["interrupted"] == "ProviderResponseError"
    server.script(stream_reply("42"))
    assert turn(agent, "go on", scope)[-1].result.text == "42"
    assert_valid(prompts(server)[-1])


def test_failures_of_the_provider_end_the_turn_and_leave_the_question(server, make, memory, scope):
    server.script(Reply({"error": "no"}, status=401))
    agent = make()
    with pytest.raises(ProviderError):
        asyncio.run(agent.run("first", scope=scope))
    assert stored(memory, scope) == [("user", "first")]
    assert asyncio.run(agent.run(None, scope=scope)).text == "ok"
    assert stored(memory, scope) == [("user", "first"), ("assistant", "ok")]
    with pytest.raises(NotFoundError):
        asyncio.run(agent.run(None, scope=scope))


def test_a_question_without_an_answer_joins_the_next_one(server, make, scope):
    server.script(Reply(status=401), stream_reply("ok"))
    agent = make()
    turn(agent, "first", scope)
    turn(agent, "second", scope)
    roles = [message["role"] for message in prompts(server)[-1]]
    assert roles == ["system", "user"]
    assert "first" in prompts(server)[-1][-1]["content"]


def test_retries_are_told(server, make, scope, pauses):
    server.script(Reply(status=503), stream_reply("ok"))
    events = turn(make(), "go", scope)
    assert [event.seconds for event in of(RetryScheduled, events)] == pauses.seconds
    assert events[-1].result.text == "ok"


def too_long(limit):
    def answer(request):
        size = sum(len(str(message["content"])) for message in request.body["messages"])
        if size > limit:
            return Reply({"error": {"code": "context_length_exceeded", "message": "no"}}, status=400)
        return stream_reply("fits")

    return answer


def test_an_overflow_is_answered_with_a_smaller_prompt(server, make, memory, scope):
    for number in range(60):
        memory.observe(scope=scope, role="user", content=f"question {number} " + "alpha beta " * 30)
        memory.observe(scope=scope, role="assistant", content=f"answer {number} " + "gamma delta " * 30)
    server.otherwise(too_long(14_000))
    events = turn(make(window_tokens=8192), "what now?", scope)
    assert events[-1].result.text == "fits"
    first, second = (event.context for event in of(ContextBuilt, events))
    assert second.tokens <= second.budget <= first.budget // 2


def test_an_overflow_that_stays_is_an_error(server, make, memory, scope):
    server.otherwise(too_long(0))
    events = turn(make(), "go", scope)
    assert isinstance(events[-1].error, ContextOverflowError)
    assert len(of(ContextBuilt, events)) == 2
    assert stored(memory, scope) == [("user", "go")]


@pytest.mark.parametrize("wanted", [True, False])
def test_thinking_goes_back_only_where_it_is_wanted(server, make, scope, wanted):
    chat = StreamingChat(base_url=server.base_url, model="m", replay_reasoning=wanted)
    calls = [tool_call("double", {"number": 2})]
    server.script(stream_reply(tool_calls=calls, reasoning="sums"), stream_reply("4"), stream_reply("bye"))
    agent = make(model=chat, tools=[double])
    turn(agent, "double 2", scope)
    turn(agent, "thanks", scope)
    _, second, third = prompts(server)
    assert ("sums" in json.dumps(second)) is wanted
    assert "sums" not in json.dumps(third)  # the thinking of earlier turns is never sent


def test_usage_is_counted_where_none_is_given(server, make, scope):
    server.script(stream_reply("one two three", usage={}))
    usage = asyncio.run(make().run("hello", scope=scope)).usage
    assert usage.estimated
    assert usage.prompt_tokens > 0
    assert usage.completion_tokens == 3


def test_an_empty_message_is_refused_before_anything_is_kept(server, make, memory, scope):
    with pytest.raises(ConfigError):
        turn(make(), "  ", scope)
    assert stored(memory, scope) == []
    assert server.requests == []


def test_a_picture_is_sent_as_it_is(server, make, scope):
    parts = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
    turn(make(), parts, scope)
    assert prompts(server)[0][-1] == {"role": "user", "content": parts}


def test_turns_of_one_session_come_one_after_the_other(server, make, memory, scope):
    go = threading.Event()
    server.script(stream_reply("one", before_end=go), stream_reply("two"), stream_reply("other"))
    agent = make()

    async def both():
        first = asyncio.create_task(agent.run("first", scope=scope))
        await asyncio.to_thread(server.wait_for_requests, 1)
        second = asyncio.create_task(agent.run("second", scope=scope))
        dropped = asyncio.create_task(agent.run("dropped", scope=scope))
        await asyncio.sleep(0)
        dropped.cancel()
        other = asyncio.create_task(agent.run("elsewhere", scope=Scope(user="alice", session="s2")))
        await other  # another session does not wait
        go.set()
        return await asyncio.gather(first, second, dropped, return_exceptions=True)

    first, second, dropped = asyncio.run(both())
    assert isinstance(dropped, asyncio.CancelledError)
    assert stored(memory, scope) == [
        ("user", "first"),
        ("assistant", first.text),
        ("user", "second"),
        ("assistant", second.text),
    ]


@pytest.mark.case(7)
def test_one_agent_serves_several_event_loops_at_once(server, make, memory, scope):
    server.otherwise(lambda request: stream_reply("ok"))
    agent = make()
    failures = []

    def talk(number):
        try:
            for _ in range(3):
                asyncio.run(agent.run(f"from {number}", scope=scope))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert [role for role, _ in stored(memory, scope)] == ["user", "assistant"] * 9


@pytest.mark.case(7)
def test_a_turn_whose_loop_was_closed_holds_nobody_up(make, memory, scope):
    agent = make()
    loop = asyncio.new_event_loop()
    abandoned = agent.stream("first", scope=scope)
    assert isinstance(loop.run_until_complete(anext(abandoned)), TurnStarted)
    loop.close()
    result = asyncio.run(asyncio.wait_for(agent.run("second", scope=scope), 10))
    assert result.text == "ok"
    del abandoned


@pytest.mark.case(7)
def test_the_loop_is_never_kept_waiting(server, make, memory, scope):
    @tool
    def block() -> str:
        """Hold a thread for a while."""
        threading.Event().wait(0.2)
        return "done"

    server.script(stream_reply(tool_calls=[tool_call("block")]), stream_reply("ok"))
    gaps = []

    async def heartbeat():
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - start)

    async def run():
        beating = asyncio.create_task(heartbeat())
        await make(tools=[block]).run("go", scope=scope)
        beating.cancel()

    asyncio.run(run())
    assert sorted(gaps)[len(gaps) // 2] < 0.05
    assert len(gaps) > 10


def test_a_model_that_does_not_stream_takes_part(memory, scope):
    calls = [tool_call("double", {"number": 4})]
    model = ScriptedModel([Completion(text="", tool_calls=calls), "8"])
    agent = LLMAgent(memory, model=model, tools=[double], use_memory_tools=False)
    assert asyncio.run(agent.run("double 4", scope=scope)).text == "8"


def test_an_agent_from_settings(server, memory, scope, tmp_path):
    settings = Settings(home=tmp_path, llm=LLMSettings(base_url=server.base_url, model="from-settings"))
    agent = open_agent(memory, settings=settings)
    assert asyncio.run(agent.run("hi", scope=scope)).text == "ok"
    assert chats(server)[0].body["model"] == "from-settings"
    named = LLMAgent(memory, model="by-name", base_url=server.base_url)
    asyncio.run(named.run("hi", scope=scope))
    assert chats(server)[1].body["model"] == "by-name"
    with pytest.raises(ConfigError, match="no chat model is configured"):
        open_agent(memory, settings=Settings(home=tmp_path))
    with pytest.raises(ConfigError, match="base_url"):
        LLMAgent(memory, model="by-name")


def test_two_tools_of_one_name_are_refused(make):
    with pytest.raises(ConfigError, match="two tools named 'double'"):
        make(tools=[double, double])


def test_calls_left_open_by_a_crash_are_closed_when_the_turn_is_taken_up(server, make, memory, scope):
    memory.observe(scope=scope, role="user", content="double 2 and 3")
    calls = [tool_call("double", {"number": 2}, id="a"), tool_call("double", {"number": 3}, id="b")]
    memory.observe(scope=scope, role="assistant", tool_calls=calls)
    memory.observe(scope=scope, role="tool", content="4", tool_call_id="a")
    server.script(stream_reply("4 and 6"))
    asyncio.run(make(tools=[double]).run(None, scope=scope))
    assert stored(memory, scope)[-2:] == [("tool", CANCELLED), ("assistant", "4 and 6")]
    assert_valid(prompts(server)[0])
