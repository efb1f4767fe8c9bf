"""Tools from MCP servers, through the official client. Needs the extra ``mcp``.

An agent may be used from one event loop after another, and a session with a server belongs to the loop that opened
it. So all sessions live on one loop in a thread of their own, and calls come to it from wherever the agent runs.

Servers start in the background, and a turn waits for them only so long. A server that is down never ends a turn. Down
or still starting when tools are asked for: it is left out, with a warning, until it is up. Gone later: a call starts
it again, or gets a result that says why it could not.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

from orca.agent.kit import Offer
from orca.agent.tools import Tool, ToolContext, bounded
from orca.config import Settings
from orca.errors import MissingExtraError, ToolError
from orca.sections import MCPServerSettings

try:
    from mcp_types import CallToolResult
    from mcp_types import Tool as ServerTool

    from orca.agent import mcp_results
    from orca.agent.mcp_connection import MAX_TOOLS, START_SECONDS, Connection, Progress
except ImportError as missing:
    if (missing.name or "").partition(".")[0] not in ("mcp", "mcp_types", "httpx2", "anyio"):
        raise
    raise MissingExtraError(
        "an MCP server is configured and the client for it is not installed; run: pip install 'orca-agent[mcp]'"
    ) from missing

logger = logging.getLogger("orca")

CLOSE_SECONDS = 15.0
"""Longest wait for servers to stop. The SDK gives a process 2 seconds to go by itself, 2 after SIGTERM, then kills."""

READY_SECONDS = 5.0
"""How long turns wait for servers, all in all, from the moment that they began to start.

A server that is installed is up within a second or two; one that a package runner downloads first may take a minute,
and nobody wants to sit in front of a silent chat for that long.
"""

Value = TypeVar("Value")


def mcp_tools(settings: Settings) -> MCPServers:
    """Return the servers of ``[mcp_servers.*]``; nothing is started yet. Raises ``ConfigError``."""
    return MCPServers(settings.mcp_servers)


class MCPServers:
    """Servers and their tools, for an agent and its sub-agents. Thread-safe; close it when the agent is closed.

    What is never closed is stopped when the object is collected or the interpreter ends.
    """

    def __init__(
        self,
        servers: Mapping[str, MCPServerSettings],
        *,
        start_seconds: float = START_SECONDS,
        ready_seconds: float = READY_SECONDS,
    ) -> None:
        """Start nothing yet; each server may later take ``start_seconds`` to start.

        ``ready_seconds`` is how long ``offer`` waits for them from the moment that they begin to start. Raises
        ``ConfigError`` for a server with neither or both of ``command`` and ``url``.
        """
        self._connections = {
            name: Connection(name, settings, start_seconds=start_seconds)
            for name, settings in servers.items()
        }
        self._thread = _LoopThread(list(self._connections.values()))
        self._stop_forgotten = weakref.finalize(self, self._thread.close)
        self._ready_seconds = ready_seconds
        self._deadline: float | None = None
        # Below: touched on the servers' own loop only.
        self._asking: dict[str, asyncio.Task[tuple[ServerTool, ...] | ToolError]] = {}
        self._made: dict[str, Tool] = {}
        self._left_out: dict[str, list[str]] = {}
        self.warnings: tuple[str, ...] = ()
        """What ``tools`` or ``offer`` had to leave out, and why."""

    def start(self) -> None:
        """Begin to start the servers, all at once, without waiting for any."""
        if self._deadline is None:
            self._deadline = time.monotonic() + self._ready_seconds
        if self._connections:
            self._thread.submit(self._ask())

    def tools(self) -> list[Tool]:
        """Return the tools of all servers that can be had: servers in their order, their tools by name.

        Blocks until each server has answered or its time is over (``start_seconds``); in a coroutine use ``await
        asyncio.to_thread(servers.tools)``, or ``offer``, which waits for less. Each server that is left out, and each
        tool, is a warning.
        """
        if not self._connections:
            return []
        return list(self._thread.submit(self._settle(None)).result().tools)

    async def offer(self) -> Offer:
        """Return the tools of the servers that are up, and what is missing.

        Starts the servers if nobody did. What is there stays, also when its server goes: a call brings it back. A
        server that is late or down joins when it is up, behind the others, so that a prompt's beginning stays.
        """
        if not self._connections:
            return Offer()
        try:
            self.start()
            waiting = max((self._deadline or 0.0) - time.monotonic(), 0.0)
            return await asyncio.wrap_future(self._thread.submit(self._settle(waiting)))
        except ToolError as error:  # closed; its tools say the same to whoever calls them
            return Offer(tools=tuple(self._made.values()), missing=(str(error),))

    def close(self) -> None:
        """End all sessions and stop all processes; returns when they are gone. May be called again."""
        self._stop_forgotten()

    async def aclose(self) -> None:
        """Do what ``close`` does, without blocking the event loop."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _ask(self) -> None:
        """Ask every server for its tools that has not given them; one that failed only when its wait is over."""
        for name, connection in self._connections.items():
            asked = self._asking.get(name)
            if asked is None or (asked.done() and isinstance(asked.result(), ToolError)):
                self._asking[name] = asyncio.create_task(_offered(connection))

    async def _settle(self, seconds: float | None) -> Offer:
        """Wait for servers that are asked, at most so long, and take in the tools of those that are up."""
        await self._ask()
        await asyncio.wait(self._asking.values(), timeout=seconds)
        warnings: list[str] = []
        for name, connection in self._connections.items():
            found = self._asking[name].result() if self._asking[name].done() else None
            if found is None:
                warnings.append(f"MCP server {name} is still starting; its tools join when it is up")
            elif isinstance(found, ToolError):
                warnings.append(
                    f"{connection.trouble}; its tools are left out"
                )  # the connection has logged it
            elif name not in self._left_out:
                self._left_out[name] = self._make(connection, found, self._made)
                for warning in self._left_out[name]:
                    logger.warning("%s", warning)
            warnings += self._left_out.get(name, ())
        self.warnings = tuple(warnings)
        return Offer(tools=tuple(self._made.values()), missing=self.warnings)

    def _make(
        self, connection: Connection, offered: Sequence[ServerTool], made: dict[str, Tool]
    ) -> list[str]:
        """Add the tools of one server to ``made``; return what had to be left out."""
        warnings = []
        listed: set[str] = set()
        for one in offered[:MAX_TOOLS]:
            try:
                if one.name in listed:
                    raise ToolError("the server lists it more than once")
                listed.add(one.name)
                tool = self._tool(connection, one, taken=made)
            except ToolError as error:
                name = bounded(repr(one.name), 100)
                warnings.append(f"MCP server {connection.name}: tool {name} is left out: {error}")
            else:
                made[tool.name] = tool
        if len(offered) > MAX_TOOLS:
            warnings.append(
                f"MCP server {connection.name} has more than {MAX_TOOLS} tools; the rest is left out"
            )
        return warnings

    def _tool(self, connection: Connection, offered: ServerTool, *, taken: Mapping[str, Tool]) -> Tool:
        # The handler holds this object, so that the servers live as long as anybody has their tools.
        async def call(arguments: Mapping[str, Any], context: ToolContext) -> str:
            return await self._call(connection, offered.name, arguments, context)

        return Tool(
            name=mcp_results.tool_name(connection.name, offered.name, taken=taken),
            description=mcp_results.description(offered),
            parameters=mcp_results.parameters(offered),
            handler=call,
            timeout_seconds=None,  # the connection keeps the time: of starting again, and of the call
        )

    async def _call(
        self, connection: Connection, name: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> str:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            of = f"/{total:g}" if total is not None else ""
            context.emit(message or f"{progress:g}{of}")

        result = await asyncio.wrap_future(self._thread.submit(_answer(connection, name, arguments, report)))
        text = mcp_results.result_text(result)
        if result.is_error:
            raise ToolError(text or "the tool failed and does not say why")
        return text


async def _offered(connection: Connection) -> tuple[ServerTool, ...] | ToolError:
    try:
        return await connection.tools()
    except ToolError as error:
        return error


async def _answer(
    connection: Connection, name: str, arguments: Mapping[str, Any], progress: Progress
) -> CallToolResult:
    return await connection.call(name, arguments, progress)


class _LoopThread:
    """An event loop in a daemon thread, which starts with the first piece of work."""

    def __init__(self, connections: Sequence[Connection]) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], None] | None = None
        self._closed = False

    def submit(self, work: Coroutine[Any, Any, Value]) -> Future[Value]:
        """Run ``work`` on the loop; cancelling the future cancels it. Raises ``ToolError`` once closed."""
        with self._lock:
            if self._closed:
                work.close()
                raise ToolError("the MCP servers are closed")
            if self._loop is None:
                self._loop = self._started()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Close the connections, end the loop and wait for both."""
        with self._lock:
            self._closed = True
            thread, stop = self._thread, self._stop
            self._stop = None
        if stop is not None:
            stop()
        if thread is None or thread is threading.current_thread():  # collected by the loop's own thread
            return
        thread.join(CLOSE_SECONDS)
        if thread.is_alive():
            logger.warning("the MCP servers did not stop within %g seconds", CLOSE_SECONDS)

    def _started(self) -> asyncio.AbstractEventLoop:
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready)), name="MCP servers", daemon=True
        )
        self._thread.start()
        return ready.result()

    async def _serve(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()

        def stop() -> None:
            loop.call_soon_threadsafe(stopped.set)

        self._stop = stop
        ready.set_result(loop)
        await stopped.wait()
        await asyncio.gather(*(connection.close() for connection in self._connections))
        # Calls whose server has just been closed under them are told so; ``asyncio.run`` cancels what is left.
        if calls := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(calls, timeout=1.0)
