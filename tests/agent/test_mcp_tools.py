"""Tools from a real MCP server over standard input and output, and what happens when it goes wrong."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orca.agent.events import ToolFinished, ToolsMissing, TurnFinished
from orca.agent.llm_agent import LLMAgent
from orca.agent.mcp_connection import Connection
from orca.agent.mcp_tools import MCPServers, mcp_tools
from orca.agent.tools import Tool, ToolBox
from orca.config import Settings
from orca.errors import ConfigError, MissingExtraError, StoreError, ToolError
from orca.sections import AgentSettings, EmbeddingSettings, LLMSettings, MCPServerSettings, StorageSettings
from orca.testing import stream_reply, tool_call
from orca.values import Secret
from orca.wiring import open_agent

from .helpers import chats, of, turn
from .mcp_helpers import alive, answer, ask, by_name, context, pids, raw, real, until

TOKEN = "tok-3f9a-secret"


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop servers that do not go by themselves after a moment, and not after the SDK's two and two seconds."""
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 0.3)
    monkeypatch.setattr("mcp.client.stdio.FORCE_KILL_TIMEOUT", 0.3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def tools(folder: Path) -> Iterator[dict[str, Tool]]:
    with MCPServers({"real": real(folder, env={"TOKEN": Secret(TOKEN)})}) as servers:
        yield by_name(servers)


def test_tools_have_the_servers_name_description_and_schema(tools):
    add = tools["real__add"]
    assert add.description == "Add two numbers."
    assert add.parameters["properties"]["a"]["type"] == "integer"
    assert add.parameters["required"] == ["a", "b"]
    assert list(tools)[:5] == [f"real__{name}" for name in ("add", "environment", "hang", "picture", "steps")]
    (chinese,) = [tool for tool in tools.values() if tool.description == "读取文件。"]
    assert ask(chinese) == "甲\n\n乙"


def test_results_come_as_text(tools):
    assert ask(tools["real__add"], a=20, b=22) == "42"
    assert ask(tools["real__picture"]) == "[image: image/png, 1000 bytes, not shown]"


def test_a_failed_call_is_a_failed_result_that_names_the_reason(tools):
    assert ask(tools["real__add"], a="x", b=1).startswith("[error] ")
    assert "valid integer" in ask(tools["real__add"], a="x", b=1)


def test_a_server_sees_only_its_own_variables_and_the_safe_ones(tools, monkeypatch):
    seen = json.loads(ask(tools["real__environment"]))
    assert seen["TOKEN"] == TOKEN
    assert "PATH" in seen
    assert not {name for name in seen if name.startswith(("PYTEST", "SILICONFLOW", "ORCA"))}


def test_progress_is_told_while_the_call_runs(tools):
    said: list[str] = []
    assert asyncio.run(tools["real__steps"].handler({}, context(emit=said.append))) == "done"
    assert said == ["half way", "2/2"]


def test_cancelling_a_call_reaches_the_server(tools, folder):
    async def cancelled() -> None:
        call = asyncio.create_task(answer(tools["real__hang"]))
        assert await asyncio.to_thread(until, (folder / "hanging").exists)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cancelled())
    assert until((folder / "stopped").exists)
    assert ask(tools["real__add"], a=1, b=1) == "2"


@pytest.mark.case(7)
def test_one_session_serves_several_event_loops_and_threads(tools, folder):
    async def many() -> list[str]:
        return await asyncio.gather(*(answer(tools["real__add"], a=number, b=1) for number in range(20)))

    expected = [str(number + 1) for number in range(20)]
    assert asyncio.run(many()) == expected
    assert asyncio.run(many()) == expected
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(asyncio.run(many()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 3
    assert len(pids(folder)) == 1


@pytest.mark.case(7)
def test_a_call_does_not_block_the_callers_loop(tools, folder):
    async def measured() -> float:
        call = asyncio.create_task(answer(tools["real__hang"]))
        await asyncio.sleep(0)
        begun = time.perf_counter()
        await asyncio.sleep(0.02)
        late = time.perf_counter() - begun
        call.cancel()
        await asyncio.wait([call])
        return late

    assert asyncio.run(measured()) < 0.5


def test_nothing_is_started_before_tools_are_asked_for(tmp_path):
    with MCPServers({"raw": raw("fine", tmp_path)}) as servers:
        assert not (tmp_path / "pids").exists()
        assert "raw__say" in by_name(servers)
    assert not any(alive(pid) for pid in pids(tmp_path))


def test_a_server_that_died_is_started_again_by_the_next_call(tmp_path):
    with MCPServers({"raw": raw("fine", tmp_path)}) as servers:
        tools = by_name(servers)
        assert ask(tools["raw__say"], a=1) == "say {'a': 1}"
        died = ask(tools["raw__die"])
        assert died.startswith("[error] MCP server raw went away during the call")
        assert "may have had effects" in died
        assert ask(tools["raw__say"]) == "say {}"
        assert len(pids(tmp_path)) == 2
    assert not any(alive(pid) for pid in pids(tmp_path))


def test_a_server_killed_between_calls_costs_no_call(tmp_path):
    with MCPServers({"raw": raw("fine", tmp_path)}) as servers:
        tools = by_name(servers)
        assert ask(tools["raw__say"]) == "say {}"
        subprocess.run(["kill", "-9", str(pids(tmp_path)[0])], check=True)
        assert until(lambda: not alive(pids(tmp_path)[0]))
        assert until(lambda: not ask(tools["raw__say"]).startswith("[error]"))
        assert len(pids(tmp_path)) == 2


def test_waits_grow_while_a_server_fails_and_end_with_a_call_that_works(tmp_path):
    time_now = [0.0]

    async def attempts() -> list[tuple[float, str]]:
        connection = Connection("raw", raw("crash", tmp_path), now=lambda: time_now[0])
        told = []
        for moment in (0.0, 0.5, 1.1, 2.0, 3.2, 7.3, 1e6):
            time_now[0] = moment
            with pytest.raises(ToolError) as failure:
                await connection.tools()
            told.append((moment, str(failure.value)))
        await connection.close()
        return told

    told = asyncio.run(attempts())
    waited = [moment for moment, text in told if "tried again" in text]
    assert waited == [0.5, 2.0]
    assert len(pids(tmp_path)) == 5
    assert all("it last said: cannot open the database" in text for _, text in told)
    assert "in 1 seconds" in told[1][1]
    assert not any(alive(pid) for pid in pids(tmp_path))


def test_servers_that_are_down_at_the_start_are_left_out_with_a_warning(tmp_path, caplog):
    given = {
        "missing": MCPServerSettings(command="no-such-program --flag"),
        "crash": raw("crash", tmp_path),
        "silent": raw("silent", tmp_path),
        "invalid": raw("invalid", tmp_path),
        "away": MCPServerSettings(url="http://127.0.0.1:9/mcp"),
        "fine": raw("fine", tmp_path),
    }
    with caplog.at_level(logging.WARNING), MCPServers(given, start_seconds=3.0) as servers:
        begun = time.monotonic()
        tools = by_name(servers)
        assert time.monotonic() - begun < 15
        assert {name.partition("__")[0] for name in tools} == {"fine"}
        missing, crash, silent, invalid, away = servers.warnings
        assert "no program 'no-such-program --flag'; its arguments belong into args" in missing
        assert "cannot open the database" in crash
        assert "did not start within 3 seconds" in silent
        assert "its answer breaks the protocol: tools.0.inputSchema.type" in invalid
        assert "MCP server away is down (its address cannot be reached)" in away
        for name in given.keys() - {"fine"}:  # once each
            assert (
                sum(f"MCP server {name} is down: " in record.getMessage() for record in caplog.records) == 1
            )
        assert ask(tools["fine__say"]) == "say {}"
    assert not any(alive(pid) for pid in pids(tmp_path))


def test_a_slow_call_is_stopped_and_the_session_goes_on(tmp_path):
    with MCPServers({"real": real(tmp_path, timeout_seconds=1.0)}) as servers:
        tools = by_name(servers)
        assert "did not answer within 1 seconds" in ask(tools["real__hang"])
        assert until((tmp_path / "stopped").exists)
        assert ask(tools["real__steps"]) == "done"
        assert len(pids(tmp_path)) == 1


@pytest.mark.case(9)
def test_noise_goes_to_the_log_without_secrets_and_nowhere_else(tmp_path, caplog, capfd):
    settings = raw("noisy", tmp_path, env={"TOKEN": Secret(TOKEN)})
    with caplog.at_level(logging.DEBUG, logger="orca"), MCPServers({"raw": settings}) as servers:
        tools = by_name(servers)
        assert ask(tools["raw__say"]) == "say {}"
        refused = ask(tools["raw__secret"])
    assert refused == "[error] MCP server raw refused the call: bad token …"
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    assert "MCP server raw: [31mtoken is …" in [record.getMessage() for record in caplog.records]
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(settings)
    assert [record for record in caplog.records if record.name.startswith("mcp.client")] == []


def test_hostile_names_and_schemas_are_made_safe_or_left_out(tmp_path):
    with MCPServers({"evil server": raw("hostile", tmp_path)}) as servers:
        tools = servers.tools()
        left_out = " ".join(servers.warnings)
    names = [tool.name for tool in tools]
    assert len(ToolBox(tools)) == len(names) == 11
    assert names.count("evil_server__plain") == 1
    assert all(len(tool.description) < 4_100 for tool in tools)
    assert not any(character in tool.description for tool in tools for character in "\x1b\0\ud800")
    assert all(tool.parameters["type"] == "object" for tool in tools)
    assert len([name for name in names if name.startswith("evil_server__aaaa")]) == 2
    assert "tool 'plain' is left out: the server lists it more than once" in left_out
    assert "'vast' is left out: its schema has" in left_out
    (nested,) = [tool for tool in tools if tool.name.endswith("nested")]
    assert nested.parameters["$defs"] == {"A": {"enum": [1]}}


def test_a_list_of_tools_ends(tmp_path):
    (tmp_path / "many").mkdir()
    with MCPServers({"endless": raw("endless", tmp_path), "many": raw("many", tmp_path / "many")}) as servers:
        names = list(by_name(servers))
        assert sum(name.startswith("endless__") for name in names) == 32
        assert sum(name.startswith("many__") for name in names) == 128
        assert servers.warnings == ("MCP server many has more than 128 tools; the rest is left out",)


def test_every_kind_of_content_has_its_text(tmp_path):
    with MCPServers({"raw": raw("fine", tmp_path)}) as servers:
        tools = by_name(servers)

        def said(name: str) -> str:
            return ask(tools[f"raw__{name}"])

        assert said("parts").split("\n\n") == [
            "one",
            "[audio: audio/wav, 3 bytes, not shown]",
            "[link: a link file:///x]",
            "[file:///t]\ninside",
            "[file:///b: binary, 4 bytes, not shown]",
            "half \ufffd",
        ]
        assert said("structured") == '{"城市":"上海","n":1}'
        assert said("twice") == '{"a": 1}'
        assert said("both") == 'see below\n\n{"a":1}'
        assert said("empty") == ""
        assert said("error") == "[error] no such city"
        assert said("silent_error") == "[error] the tool failed and does not say why"
        assert said("garbage").startswith("[error] MCP server raw")
        assert said("say") == "say {}"


def test_closing_ends_stubborn_servers_and_their_children(tmp_path):
    servers = MCPServers({"raw": raw("stubborn", tmp_path)})
    tools = by_name(servers)
    assert ask(tools["raw__say"]) == "say {}"
    assert len(pids(tmp_path)) == 2
    asyncio.run(servers.aclose())
    assert not any(alive(pid) for pid in pids(tmp_path))
    assert ask(tools["raw__say"]) == "[error] the MCP servers are closed"
    servers.close()
    with pytest.raises(ToolError, match="closed"):
        servers.tools()


def test_closing_while_a_server_starts_and_while_it_is_called(tmp_path):
    servers = MCPServers({"silent": raw("silent", tmp_path)})
    asking = threading.Thread(target=servers.tools)
    asking.start()
    assert until((tmp_path / "pids").exists)
    servers.close()
    asking.join(10)
    assert not asking.is_alive()
    assert not any(alive(pid) for pid in pids(tmp_path))

    async def called() -> str:
        with MCPServers({"real": real(tmp_path)}) as servers:
            tools = await asyncio.to_thread(by_name, servers)
            call = asyncio.create_task(answer(tools["real__hang"]))
            assert await asyncio.to_thread(until, (tmp_path / "hanging").exists)
            await servers.aclose()
            return await call

    assert asyncio.run(called()).startswith("[error] MCP server real went away during the call")


def test_servers_that_nobody_closed_end_when_they_are_forgotten_and_with_the_process(tmp_path):
    servers = MCPServers({"raw": raw("fine", tmp_path)})
    say = by_name(servers)["raw__say"]
    del servers
    gc.collect()
    assert ask(say) == "say {}"
    del say
    gc.collect()
    assert until(lambda: not any(alive(pid) for pid in pids(tmp_path)))
    script = (
        "import sys; from pathlib import Path; from tests.agent.mcp_helpers import *\n"
        "servers = MCPServers({'raw': raw('fine', Path(sys.argv[1]))}); print(ask(by_name(servers)['raw__say']))"
    )
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=root,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "say {}\n", "")
    assert not any(alive(pid) for pid in pids(tmp_path))


@pytest.mark.parametrize(
    "settings",
    [
        MCPServerSettings(),
        MCPServerSettings(command="a", url="http://127.0.0.1/"),
        MCPServerSettings(url="ftp://127.0.0.1/"),
        MCPServerSettings(url="http:///mcp"),
    ],
)
def test_settings_that_name_no_server_are_refused(settings):
    with pytest.raises(ConfigError, match=r"\[mcp_servers.files\]"):
        mcp_tools(Settings(mcp_servers={"files": settings}))


@pytest.mark.case(4)
def test_the_extra_is_asked_for_only_where_a_server_is_configured(monkeypatch, tmp_path, memory):
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    for name in [name for name in sys.modules if name.startswith("orca.agent.mcp_")]:
        monkeypatch.delitem(sys.modules, name)
    llm = LLMSettings(model="m", base_url="http://127.0.0.1:9/v1")
    open_agent(memory, settings=Settings(home=tmp_path, llm=llm))
    with pytest.raises(MissingExtraError, match=r"pip install 'orca-agent\[mcp\]'"):
        open_agent(
            memory, settings=Settings(home=tmp_path, llm=llm, mcp_servers={"raw": raw("fine", tmp_path)})
        )
    with pytest.raises(ImportError):
        importlib.import_module("orca.agent.mcp_tools")


def test_an_agent_and_its_sub_agents_use_configured_servers(server, memory, scope, tmp_path):
    settings = Settings(
        home=tmp_path,
        llm=LLMSettings(model="m", base_url=server.base_url),
        mcp_servers={"raw": raw("fine", tmp_path), "gone": raw("crash", tmp_path)},
        agents={"coder": AgentSettings(description="codes", tools=("raw__s*", "gone__any"))},
    )
    agent = open_agent(memory, settings=settings)
    server.script(
        stream_reply(tool_calls=[tool_call("raw__die", {}), tool_call("raw__say", {"city": "上海"})]),
        stream_reply(tool_calls=[tool_call("agent_call", {"agent": "coder", "task": "say it"})]),
        stream_reply(tool_calls=[tool_call("raw__say", {"by": "coder"})]),
        stream_reply("coder is done"),
        stream_reply("all done"),
    )
    events = turn(agent, "go", scope)
    (missing,) = of(ToolsMissing, events)
    assert missing.reasons == agent.missing_tools
    assert "MCP server gone is down" in missing.reasons[0]
    assert missing.reasons[1] == "agent coder goes without gone__any: there is no such tool"
    died, _, called = of(ToolFinished, events)
    assert (died.ok, died.result[:24]) == (False, "[error] MCP server raw w")
    assert called.ok
    assert events[-1].result.text == "all done"
    offered = {tool["function"]["name"] for tool in chats(server)[2].body["tools"]}
    assert offered >= {"raw__say", "raw__silent_error", "raw__structured"}
    assert "raw__die" not in offered
    assert "{'by': 'coder'}" in str(chats(server)[3].body["messages"])
    asyncio.run(agent.aclose())
    agent.close()
    assert not any(alive(pid) for pid in pids(tmp_path))


def test_what_nobody_closes_ends_with_the_agent(server, memory, scope, tmp_path):
    llm = LLMSettings(model="m", base_url=server.base_url)
    settings = Settings(home=tmp_path, llm=llm, mcp_servers={"raw": raw("fine", tmp_path)})
    agent = open_agent(memory, settings=settings)
    turn(agent, "go", scope)
    assert "raw__say" in agent.tools.names
    del agent
    gc.collect()
    assert until(lambda: not any(alive(pid) for pid in pids(tmp_path)))


@pytest.mark.case(4)
def test_a_slow_server_holds_up_neither_the_opening_nor_a_turn_and_joins_when_it_is_up(
    server, memory, scope, tmp_path
):
    given = {"late": raw("late", tmp_path), "fine": raw("fine", tmp_path)}
    with MCPServers(given, ready_seconds=0.0) as servers:
        agent = LLMAgent(memory, model="m", base_url=server.base_url, servers=servers)
        servers.start()
        assert until(lambda: (tmp_path / "pids").exists() and len(pids(tmp_path)) == 2)
        events = turn(agent, "first", scope)
        assert isinstance(events[-1], TurnFinished)
        (missing,) = of(ToolsMissing, events)
        assert "MCP server late is still starting; its tools join when it is up" in missing.reasons
        (tmp_path / "go").touch()
        assert until(lambda: not of(ToolsMissing, turn(agent, "again", scope)))
        assert agent.missing_tools == ()
        offered = [tool["function"]["name"] for tool in chats(server)[-1].body["tools"]]
        assert {"late__say", "fine__say"} <= set(offered)
        # What was there stays in its place, so that the prompt's beginning does.
        before = [tool["function"]["name"] for tool in chats(server)[-2].body["tools"]]
        assert offered[: len(before)] == before


def test_a_first_turn_waits_for_servers_that_are_about_to_be_up(server, memory, scope, tmp_path):
    with MCPServers({"late": raw("late", tmp_path)}, ready_seconds=60.0) as servers:
        agent = LLMAgent(memory, model="m", base_url=server.base_url, servers=servers)
        servers.start()
        assert until((tmp_path / "pids").exists)

        async def answered() -> list[str]:
            running = asyncio.create_task(agent.run("go", scope=scope))
            await asyncio.sleep(0)
            (tmp_path / "go").touch()
            await running
            return [tool["function"]["name"] for tool in chats(server)[-1].body["tools"]]

        assert "late__say" in asyncio.run(answered())


def test_a_turn_that_waits_for_servers_can_be_stopped(server, memory, scope, tmp_path):
    with MCPServers({"silent": raw("silent", tmp_path)}, ready_seconds=60.0) as servers:
        agent = LLMAgent(memory, model="m", base_url=server.base_url, servers=servers)

        async def stopped() -> bool:
            running = asyncio.create_task(agent.run("go", scope=scope))
            assert await asyncio.to_thread(until, (tmp_path / "pids").exists)
            running.cancel()
            await asyncio.wait({running}, timeout=5)
            return running.cancelled()

        assert asyncio.run(stopped())
    assert [row.content for row in memory.messages(scope=scope)] == ["go"]
    assert chats(server) == []


@pytest.mark.case(35)
def test_a_pattern_lends_no_memory_tools(server, memory, scope, tmp_path):
    agents = {"coder": AgentSettings(description="codes", tools=("*",))}
    settings = Settings(home=tmp_path, llm=LLMSettings(model="m", base_url=server.base_url), agents=agents)
    server.script(
        stream_reply(tool_calls=[tool_call("agent_call", {"agent": "coder", "task": "work"})]),
        stream_reply("done"),
        stream_reply("all done"),
    )
    with open_agent(
        memory, settings=settings, tools=[Tool(name="look", description="", parameters={}, handler=str)]
    ) as agent:
        turn(agent, "go", scope)
    offered = [tool["function"]["name"] for tool in chats(server)[1].body["tools"]]
    assert offered == ["look"]


def test_closing_an_agent_closes_what_was_opened_for_it_and_nothing_else(server, memory, scope, tmp_path):
    llm = LLMSettings(model="m", base_url=server.base_url)
    settings = Settings(
        home=tmp_path,
        storage=StorageSettings(url=str(tmp_path / "own.db")),
        embedding=EmbeddingSettings(provider="off"),
        llm=llm,
        mcp_servers={"raw": raw("fine", tmp_path)},
    )

    async def talk() -> LLMAgent:
        async with open_agent(settings=settings) as agent:
            await agent.run("hello", scope=scope)
            return agent

    closed = asyncio.run(talk())
    assert not any(alive(pid) for pid in pids(tmp_path))
    with pytest.raises(StoreError):
        closed.memory.messages(scope=scope)
    with MCPServers({"raw": raw("fine", tmp_path)}) as servers:
        open_agent(memory, settings=settings, servers=servers).close()
        assert "raw__say" in by_name(servers)
        assert memory.messages(scope=scope) == []
