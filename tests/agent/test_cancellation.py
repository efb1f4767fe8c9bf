"""A turn may be stopped at any moment, and the history stays valid."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing

import pytest

from orca.agent.events import TextDelta, TurnFinished
from orca.agent.tool_calls import CANCELLED
from orca.agent.tools import ToolContext, tool
from orca.memory.rendering import render_message
from orca.testing import Reply, chunk, stream_reply, tool_call

from .delegation import ANSWER, QUESTION, answers, delegating_agent
from .helpers import assert_valid, prompts, stored

MOMENTS = range(18)


async def stop_after(agent, scope, moment, *, how):
    """Answer the question, and stop after so many events; return whether the turn was done by then."""
    done = False
    async with aclosing(agent.stream(QUESTION, scope=scope)) as events:
        number = 0
        async for event in events:
            done = isinstance(event, TurnFinished)
            if number == moment:
                if how == "closed":
                    break
                asyncio.current_task().cancel()
            number += 1
    return done


@pytest.mark.case(31)
@pytest.mark.parametrize("how", ["closed", "cancelled"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_turn_stopped_between_any_two_events(server, memory, chat, scope, moment, how):
    server.otherwise(answers())
    agent = delegating_agent(memory, chat)

    async def run():
        task = asyncio.create_task(stop_after(agent, scope, moment, how=how))
        await asyncio.wait({task})
        # The SDK's own generators are closed by the loop, a moment later.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            _, left = await asyncio.wait(left, timeout=5)
        assert not left, "a stopped turn leaves nothing running"
        return task.cancelled() or not task.result()

    stopped = asyncio.run(run())
    rows = memory.messages(scope=scope)
    # What is stored is valid as it stands: every call has a stored result.
    assert_valid([render_message(row) for row in rows])
    assert [row.role for row in rows].count("user") == 1
    if stopped and rows[-1].role == "assistant" and rows[-1].content != ANSWER:
        assert rows[-1].metadata["interrupted"] == "cancelled"
    for run_ in memory.subagent_runs(scope=scope):
        assert run_.status in ("done", "cancelled")
        assert run_.summary
        steps = memory.subagent_messages(run_id=run_.id)
        answered = {step.tool_call_id for step in steps if step.role == "tool"}
        assert {call["id"] for step in steps for call in step.tool_calls or ()} == answered
    # The conversation goes on.
    assert asyncio.run(agent.run("and now?", scope=scope)).text == "ok"
    assert_valid(prompts(server)[-1])


def test_the_moments_cover_the_whole_turn(server, memory, chat, scope):
    server.otherwise(answers())
    agent = delegating_agent(memory, chat)

    async def count():
        return len([event async for event in agent.stream(QUESTION, scope=scope)])

    assert 10 < asyncio.run(count()) <= len(MOMENTS)


def test_half_a_reply_is_kept_and_marked(server, make, memory, scope):
    server.script(Reply(stream=[chunk({"content": "I was about"}), threading.Event()]))
    agent = make()

    async def run():
        async with aclosing(agent.stream("go", scope=scope)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    asyncio.current_task().cancel()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    row = memory.messages(scope=scope)[-1]
    assert (row.role, row.content, row.metadata["interrupted"]) == ("assistant", "I was about", "cancelled")


@pytest.mark.case(31)
def test_tools_under_way_are_stopped_and_finished_ones_keep_their_results(server, make, memory, scope):
    started, told = threading.Event(), []

    @tool
    async def quick() -> str:
        """Be done at once."""
        return "done"

    @tool
    async def hang() -> str:
        """Never end."""
        try:
            await asyncio.Event().wait()
        finally:
            told.append("cleaned up")
        return ""

    @tool
    def stuck(context: ToolContext) -> str:
        """Hold a thread until it is told to stop."""
        started.set()
        context.cancelled.wait(10)
        told.append("told")
        return "late"

    calls = [tool_call("hang"), tool_call("quick"), tool_call("stuck")]
    server.script(stream_reply(tool_calls=calls))
    agent = make(tools=[quick, hang, stuck])

    async def run():
        task = asyncio.create_task(agent.run("go", scope=scope))
        await asyncio.to_thread(started.wait, 10)
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()

    asyncio.run(run())
    results = [(row.tool_call_id, row.content) for row in memory.messages(scope=scope) if row.role == "tool"]
    assert results == [("call_hang", CANCELLED), ("call_quick", "done"), ("call_stuck", CANCELLED)]
    assert "cleaned up" in told


def test_two_cancellations_do_not_tear_a_write(server, make, memory, scope):
    entered, go = threading.Event(), threading.Event()
    write = memory.observe_many

    def slow(**given):
        entered.set()
        go.wait(10)
        return write(**given)

    agent = make()
    memory.observe_many = slow

    async def run():
        task = asyncio.create_task(agent.run("go", scope=scope))
        await asyncio.to_thread(entered.wait, 10)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        go.set()
        await asyncio.wait({task})
        assert task.cancelled()

    asyncio.run(run())
    assert stored(memory, scope) == [("user", "go")]


def test_a_cancelled_turn_lets_the_next_one_in(server, make, scope):
    server.script(Reply(hang=True))
    agent = make()

    async def run():
        task = asyncio.create_task(agent.run("first", scope=scope))
        await asyncio.to_thread(server.wait_for_requests, 1)
        task.cancel()
        await asyncio.wait({task})
        return await agent.run("second", scope=scope)

    assert asyncio.run(run()).text == "ok"
