"""Tools from a real MCP server over streamable HTTP on loopback."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer

from orca.agent.mcp_tools import MCPServers
from orca.agent.tools import Tool
from orca.sections import MCPServerSettings
from orca.values import Secret

from .mcp_helpers import answer, ask, by_name, until

KEY = "Bearer tok-77-secret"


class Served:
    """The server's address, and the headers that came with its requests."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.headers: list[dict[str, str]] = []
        self.stopped = threading.Event()


@contextmanager
def serving(port: int = 0, **given: Any) -> Iterator[Served]:
    server = MCPServer("http", log_level="CRITICAL")
    listening = socket.create_server(("127.0.0.1", port))
    served = Served(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    async def hang() -> str:
        """Wait until told to stop."""
        try:
            await asyncio.Event().wait()
        finally:
            served.stopped.set()
        return "never"

    app = server.streamable_http_app(**given)

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            served.headers.append({key.decode(): value.decode() for key, value in scope["headers"]})
        await app(scope, receive, send)

    config = uvicorn.Config(watched, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    assert until(lambda: running.started)
    try:
        yield served
    finally:
        running.should_exit = True
        thread.join(10)
        listening.close()


@pytest.mark.parametrize("given", [{}, {"json_response": True}, {"stateless_http": True}], ids=str)
def test_tools_are_listed_and_called_with_the_headers_that_are_set(given, caplog):
    with caplog.at_level(logging.DEBUG, logger="orca"), serving(**given) as served:
        settings = MCPServerSettings(url=served.url, headers={"Authorization": Secret(KEY)})
        with MCPServers({"web": settings}) as servers:
            tools = by_name(servers)
            assert ask(tools["web__add"], a=1, b=2) == "3"
            assert ask(tools["web__add"], a=3, b=4) == "7"
            assert ask(tools["web__add"], a="x").startswith("[error]")
        assert {headers["authorization"] for headers in served.headers} == {KEY}
    assert KEY not in caplog.text


def test_a_server_that_went_and_came_back_is_used_again():
    with serving() as served:
        port = int(served.url.split(":")[2].partition("/")[0])
        servers = MCPServers({"web": MCPServerSettings(url=served.url)})
        tools = by_name(servers)
        assert ask(tools["web__add"], a=1, b=2) == "3"
    with servers:
        gone = ask(tools["web__add"], a=1, b=2)
        assert gone.startswith("[error] MCP server web")
        with serving(port):
            assert until(lambda: ask(tools["web__add"], a=1, b=2) == "3")


def test_a_slow_call_is_stopped():
    async def both(tools: dict[str, Tool]) -> list[str]:
        return await asyncio.gather(answer(tools["web__hang"]), answer(tools["web__add"], a=1, b=2))

    with (
        serving() as served,
        MCPServers({"web": MCPServerSettings(url=served.url, timeout_seconds=1.5)}) as servers,
    ):
        slow, quick = asyncio.run(both(by_name(servers)))
        assert (slow[:7], quick) == ("[error]", "3")
        assert "did not answer within 1.5 seconds" in slow
        assert until(served.stopped.is_set)


def test_an_address_that_is_no_mcp_server_is_left_out():
    with serving() as served:
        elsewhere = MCPServerSettings(url=served.url.replace("/mcp", "/elsewhere"))
        with MCPServers({"web": elsewhere}) as servers:
            assert servers.tools() == []
            assert "MCP server web is down" in servers.warnings[0]
