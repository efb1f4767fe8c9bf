"""Sub-agents: delegated work, kept apart, and reported on in one bounded text however it ends."""

from __future__ import annotations

import asyncio
import threading

import pytest

from orca.agent.agent_spec import AgentSpec
from orca.agent.events import SubAgentProgress, ToolFinished
from orca.agent.memory_tools import memory_tools
from orca.agent.report import CUT, REPORT_TOKENS, SHORT_REPLY_TOKENS
from orca.config import Settings
from orca.errors import ConfigError, NotFoundError
from orca.sections import AgentSettings, LLMSettings
from orca.testing import Reply, ScriptedModel, stream_reply, tool_call
from orca.wiring import open_agent

from .delegation import CHILD, REPORT, answers, delegating_agent, look
from .helpers import assert_valid, chats, of, prompts, stored, turn

CALL = tool_call("agent_call", {"agent": "coder", "task": "work"}, id="c")


def delegate(*child, final="done", calls=(CALL,)):
    """Return the server's side of a turn in which the child gets ``child``, one after the other."""
    replies = list(child)
    lock = threading.Lock()

    def answer(request):
        messages = request.body["messages"]
        if messages[0]["content"] == CHILD:
            with lock:
                return replies.pop(0)
        if "Condense" in str(messages[0]["content"]):
            with lock:
                return replies.pop(0)
        return stream_reply(final) if messages[-1]["role"] == "tool" else stream_reply(tool_calls=calls)

    return answer


def coder(**given):
    return AgentSpec(
        **({"name": "coder", "description": "writes code", "prompt": CHILD, "tools": [look]} | given)
    )


def test_a_task_is_carried_out_apart_and_reported(server, memory, chat, scope):
    server.otherwise(answers())
    agent = delegating_agent(memory, chat)
    events = turn(agent, "please do both", scope)
    result = events[-1].result
    (run,) = result.runs
    assert (run.agent, run.task, run.status, run.parent_run_id) == ("coder", "work", "done", None)
    assert run.parent_message_id == memory.messages(scope=scope)[1].id
    assert run.tokens == 20
    report = memory.messages(scope=scope)[3].content
    assert report == run.summary == f"[coder · run {run.id} · done]\n{REPORT}"
    assert memory.subagent_runs(scope=scope) == [run]
    trace = memory.subagent_messages(run_id=run.id)
    assert [(step.role, step.content) for step in trace] == [
        ("system", CHILD),
        ("user", "work"),
        ("assistant", "hm nothing"),
        ("tool", "seen: nothing"),
        ("assistant", REPORT),
    ]
    assert trace[-1].reasoning == "now nothing"
    assert all(step.token_count > 0 for step in trace)
    stages = [(event.stage, event.tool, event.status) for event in of(SubAgentProgress, events)]
    assert stages == [("started", None, None), ("tool", "look", None), ("finished", None, "done")]
    described = chats(server)[0].body["tools"][-1]["function"]
    assert described["name"] == "agent_call"
    assert "coder: writes code" in described["description"]
    assert described["parameters"]["properties"]["agent"]["enum"] == ["coder"]
    child = next(messages for messages in prompts(server) if messages[0]["content"] == CHILD)
    assert child == [{"role": "system", "content": CHILD}, {"role": "user", "content": "work"}]


def failing(name):
    return {
        "provider": ([Reply({"error": "secret words"}, status=401)], {}, "failed"),
        "malformed": ([Reply(stream=["data: {secret words\n\n"])], {}, "failed"),
        "timeout": ([Reply(hang=True)], {"timeout_seconds": 0.2}, "timed out"),
        "tokens": (
            [
                stream_reply(
                    "secret words",
                    tool_calls=[tool_call("look", {"at": "secret words"}), tool_call("secret words")],
                )
            ],
            {"max_tokens": 5},
            "failed: used 10 tokens, of 5 allowed",
        ),
        "steps": (
            [stream_reply(tool_calls=[tool_call("look", {"at": "a"})]), stream_reply("as far as I came")],
            {"max_steps": 1},
            "done: stopped at its limit of 1 steps",
        ),
    }[name]


@pytest.mark.case(35)
@pytest.mark.parametrize("ending", ["provider", "malformed", "timeout", "tokens", "steps"])
def test_every_ending_gives_one_report_that_names_it(server, make, memory, scope, ending):
    child, limits, says = failing(ending)
    server.otherwise(delegate(*child))
    events = turn(make(agents=[coder(**limits)]), "go", scope)
    assert events[-1].result.text == "done"
    (run,) = memory.subagent_runs(scope=scope)
    (finished,) = of(ToolFinished, events)
    assert finished.result == run.summary
    assert f"[coder · run {run.id} · {says}" in run.summary
    assert "secret words" not in run.summary
    assert ("as far as I came" in run.summary) is (ending == "steps")
    assert run.status == ("done" if ending == "steps" else "timed_out" if ending == "timeout" else "failed")
    assert run.ended_at is not None


@pytest.mark.case(35)
def test_an_error_that_nobody_foresaw_is_reported_too(server, make, scope):
    broken = ScriptedModel([RuntimeError("secret words")])
    server.otherwise(delegate())
    (finished,) = of(ToolFinished, turn(make(agents=[coder(model=broken)]), "go", scope))
    assert "failed: RuntimeError]" in finished.result
    assert "secret words" not in finished.result


@pytest.mark.case(35)
def test_a_cancelled_run_is_closed(server, make, memory, scope):
    server.otherwise(delegate(Reply(hang=True)))
    agent = make(agents=[coder()])

    async def run():
        task = asyncio.create_task(agent.run("go", scope=scope))
        await asyncio.to_thread(server.wait_for_requests, 2)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(run())
    (run_,) = memory.subagent_runs(scope=scope)
    assert run_.status == "cancelled"
    assert "cancelled" in run_.summary
    assert stored(memory, scope)[-1][0] == "tool"


def test_several_run_side_by_side(server, make, memory, scope):
    both = threading.Barrier(2, timeout=10)

    def meet(request):
        both.wait()  # neither goes on before the other one is there
        return stream_reply("met")

    calls = [tool_call("agent_call", {"agent": "coder", "task": str(n)}, id=str(n)) for n in range(2)]
    inner = delegate(calls=calls)
    server.otherwise(
        lambda request: meet(request) if request.body["messages"][0]["content"] == CHILD else inner(request)
    )
    result = turn(make(agents=[coder()]), "go", scope)[-1].result
    assert [(run.task, run.status) for run in result.runs] == [("0", "done"), ("1", "done")]


def test_a_long_reply_is_summarised_by_the_model(server, make, memory, scope):
    long = "figure 17 " * SHORT_REPLY_TOKENS
    server.otherwise(delegate(stream_reply([long]), stream_reply("17, briefly")))
    turn(make(agents=[coder()]), "go", scope)
    (run,) = memory.subagent_runs(scope=scope)
    assert run.summary.endswith("done]\n17, briefly")
    assert memory.subagent_messages(run_id=run.id)[-1].content == long
    assert run.tokens == 20  # the summary's are among them


def test_a_reply_is_cut_where_no_summary_is_to_be_had(server, make, memory, scope):
    server.otherwise(delegate(stream_reply(["长话 " * 2 * REPORT_TOKENS]), Reply(status=400)))
    turn(make(agents=[coder()]), "go", scope)
    (run,) = memory.subagent_runs(scope=scope)
    assert run.summary.endswith(CUT)
    assert CUT == "[内容已截断]"
    assert REPORT_TOKENS * 0.9 < memory.counter.count(run.summary) <= REPORT_TOKENS


def test_the_summary_of_a_cut_reply_says_so(server, make, memory, scope):
    server.otherwise(delegate(stream_reply(["word " * 2 * REPORT_TOKENS]), stream_reply("many words")))
    turn(make(agents=[coder()]), "go", scope)
    assert memory.subagent_runs(scope=scope)[0].summary.endswith(f"many words\n{CUT}")


def nested(request):
    messages = request.body["messages"]
    who = messages[0]["content"]
    offered = {one["function"]["name"] for one in request.body.get("tools", ())}
    if messages[-1]["role"] == "tool" or "agent_call" not in offered:
        return stream_reply(f"{who}: {sorted(offered)}")
    target = "inner" if who == "outer!" else "outer"
    return stream_reply(tool_calls=[tool_call("agent_call", {"agent": target, "task": "t"})])


@pytest.mark.parametrize(("depth", "runs"), [(1, 1), (2, 2), (3, 2)])
def test_agents_call_agents_as_deep_as_allowed(server, make, memory, scope, depth, runs):
    server.otherwise(nested)
    agents = [
        AgentSpec(name="outer", prompt="outer!", agents=("inner",)),
        AgentSpec(name="inner", prompt="inner!"),
    ]
    result = turn(make(agents=agents, system="main", max_depth=depth), "go", scope)[-1].result
    found = memory.subagent_runs(scope=scope)
    assert len(found) == runs
    assert [run.agent for run in result.runs] == ["outer"]
    if runs == 2:
        assert (found[1].agent, found[1].parent_run_id) == ("inner", found[0].id)
        assert found[1].parent_message_id == found[0].parent_message_id


def test_an_agent_that_is_not_there_is_a_result(server, make, scope):
    calls = [
        tool_call("agent_call", {"agent": "nobody", "task": "t"}, id="1"),
        tool_call("agent_call", {"agent": "coder", "task": " "}, id="2"),
    ]
    server.otherwise(delegate(calls=calls))
    unknown, empty = (event.result for event in of(ToolFinished, turn(make(agents=[coder()]), "go", scope)))
    assert "there is no agent 'nobody'; there are: coder" in unknown
    assert "task:" in empty


def test_a_long_run_keeps_its_task_and_its_newest_steps(server, make, scope):
    steps = [
        stream_reply(tool_calls=[tool_call("look", {"at": f"{n} " + "alpha beta " * 150}, id=f"c{n}")])
        for n in range(12)
    ]
    server.otherwise(delegate(*steps, stream_reply("done")))
    turn(make(agents=[coder(window_tokens=4096)]), "go", scope)
    last = [messages for messages in prompts(server) if messages[0]["content"] == CHILD][-1]
    assert_valid(last)
    assert last[1] == {"role": "user", "content": "work"}
    assert "seen: 11" in last[-1]["content"]
    assert len(last) < 26


@pytest.mark.parametrize("may", [True, False])
def test_memory_is_read_where_the_declaration_says_so(server, make, memory, scope, may):
    memory.remember(scope=scope, content="用户只吃素", kind="preference")
    call = tool_call("memory_search", {"query": "用户吃什么"})
    save = tool_call("memory_save", {"content": "用户喜欢辣椒"})
    server.otherwise(delegate(stream_reply(tool_calls=[call, save]), stream_reply("done")))
    turn(make(agents=[coder(read_memory=may)], use_memory_tools=True), "go", scope)
    (run,) = memory.subagent_runs(scope=scope)
    results = [step.content for step in memory.subagent_messages(run_id=run.id) if step.role == "tool"]
    assert ("只吃素" in results[0]) is may
    assert "there is no tool 'memory_save'" in results[1]
    assert [fact.content for fact in memory.memories(scope=scope)] == ["用户只吃素"]


def test_a_memory_tool_given_to_an_agent_still_cannot_write(server, make, memory, scope):
    writing = [one for one in memory_tools() if one.name == "memory_save"]
    server.otherwise(
        delegate(stream_reply(tool_calls=[tool_call("memory_save", {"content": "x"})]), stream_reply("done"))
    )
    turn(make(agents=[coder(tools=writing, read_memory=True)]), "go", scope)
    (run,) = memory.subagent_runs(scope=scope)
    assert "cannot change" in memory.subagent_messages(run_id=run.id)[-2].content
    assert memory.memories(scope=scope) == []


@pytest.mark.case(35)
def test_a_report_becomes_a_memory_by_promotion_alone(server, make, memory, scope):
    server.otherwise(delegate(stream_reply("The user's server is called atlas.")))
    turn(make(agents=[coder()]), "go", scope)
    memory.end_session(scope=scope)
    assert memory.flush()
    assert memory.memories(scope=scope) == []
    (run,) = memory.subagent_runs(scope=scope)
    promoted = memory.promote(scope=scope, run_id=run.id, content="The user's server is called atlas.")
    assert (promoted.origin, promoted.metadata["promoted"], promoted.metadata["run_id"]) == (
        "subagent",
        True,
        run.id,
    )
    assert promoted.source_message_ids == (run.parent_message_id,)
    result = memory.messages(scope=scope)[2]
    assert memory.promote(scope=scope, message_id=result.id, content="atlas runs Linux").origin == "tool"
    with pytest.raises(ConfigError):
        memory.promote(scope=scope, content="x")
    with pytest.raises(NotFoundError):
        memory.promote(scope=scope.__class__(user="mallory"), run_id=run.id, content="x")


def test_agents_from_settings(server, memory, scope, tmp_path):
    settings = Settings(
        home=tmp_path,
        llm=LLMSettings(base_url=server.base_url, model="big"),
        agents={"coder": AgentSettings(model="small", prompt=CHILD, tools=("look",), max_steps=3)},
    )
    server.otherwise(delegate(stream_reply("done")))
    result = turn(open_agent(memory, settings=settings, tools=[look]), "go", scope)[-1].result
    assert [run.status for run in result.runs] == ["done"]
    assert [request.body["model"] for request in chats(server)] == ["big", "small", "big"]
    with pytest.raises(ConfigError, match=r"\[agents.coder\] tools: there is no tool look"):
        open_agent(memory, settings=settings)


@pytest.mark.parametrize(
    "agents",
    [
        [coder(), coder()],
        [coder(agents=("nobody",))],
        [coder(tools=[look, look])],
    ],
)
def test_declarations_that_cannot_be_used_are_refused(make, agents):
    with pytest.raises(ConfigError):
        make(agents=agents)


@pytest.mark.parametrize("given", [{"name": "a b"}, {"name": ""}, {"max_steps": 0}, {"timeout_seconds": 0}])
def test_values_that_cannot_be_used_are_refused(given):
    with pytest.raises(ConfigError):
        coder(**given)
