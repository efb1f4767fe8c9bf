"""One MCP server, connected when it is needed and again when it has gone.

A connection is kept by one task that enters and leaves the SDK's contexts, and everything here runs on one event
loop: that of ``orca.agent.mcp_tools``.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import anyio
import httpx2
import pydantic
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult
from mcp_types import Tool as ServerTool

from orca.agent.mcp_transport import Redactor, check, current_server, open_transport
from orca.agent.tools import bounded
from orca.errors import ToolError
from orca.sections import MCPServerSettings

logger = logging.getLogger("orca")

START_SECONDS = 30.0
"""How long a server may take until its tools are known. The first start through a package runner downloads it."""

FIRST_WAIT = 1.0
"""Seconds before a server that failed is tried again; doubled with each failure in a row."""

LONGEST_WAIT = 60.0
"""Seconds at most between two attempts."""

MAX_TOOLS = 128
"""Most tools that are taken from one server; the chat APIs take no more in all."""

MAX_PAGES = 32
"""Most pages of a tool list that are asked for."""

MAX_REASON = 300
"""Longest reason that is passed on, in characters."""


class Progress(Protocol):
    """Hears how far a call has come."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take what the server says: how much is done, of how much, and what it does."""
        ...


class Connection:
    """Holds at most one session with a server. Failures are ``ToolError`` in words that a model can act on."""

    def __init__(
        self,
        name: str,
        settings: MCPServerSettings,
        *,
        start_seconds: float = START_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``now`` is the clock of the waits between attempts. Raises ``ConfigError`` for unusable settings."""
        check(name, settings)
        self.name = name
        self._settings = settings
        self._start_seconds = start_seconds
        self._now = now
        self._redact = Redactor([*settings.env.values(), *settings.headers.values()])
        self._keeper: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._settled = asyncio.Event()
        self._ended = asyncio.Event()
        self._client: Client | None = None
        self._tools: tuple[ServerTool, ...] = ()
        self._reason = ""
        self._logged = ""
        self._last_words = ""
        self._failures = 0
        self._retry_at = -math.inf
        self._closing = False

    @property
    def trouble(self) -> str:
        """What is the matter with a server that could not be started, in words that stay the same while it waits."""
        return f"MCP server {self.name} is down ({self._reason or 'closed'})"

    async def tools(self) -> tuple[ServerTool, ...]:
        """Return what the server offers, by name. Raises ``ToolError`` when it cannot be had."""
        await self._connected()
        return self._tools

    async def call(self, tool: str, arguments: Mapping[str, Any], progress: Progress) -> CallToolResult:
        """Call a tool, on a new session if the server has gone in the meantime.

        A call during which the server goes is not repeated: it may have had effects. Cancelling the task tells
        the server to stop. Raises ``ToolError``.
        """
        current_server.set(self.name)
        for last in (False, True):
            client = await self._connected()
            try:
                async with asyncio.timeout(self._settings.timeout_seconds) as limit:
                    result = await client.call_tool(tool, dict(arguments), progress_callback=progress)
            except MCPError as error:
                if _forgotten(error) and not last:
                    await self._drop()
                    continue
                raise await self._failed(error) from error
            except TimeoutError as error:
                if not limit.expired():
                    raise await self._failed(error) from error
                raise ToolError(
                    f"MCP server {self.name} did not answer within {self._settings.timeout_seconds:g} seconds; "
                    "the call was stopped"
                ) from None
            except Exception as error:
                # The SDK raises errors of many kinds for answers that break the protocol or their own schema.
                raise await self._failed(error) from error
            self._failures = 0
            return result
        raise AssertionError("unreachable: the second round returns or raises")

    async def close(self) -> None:
        """End the session and stop the process. Later calls fail."""
        self._closing = True
        await self._drop()

    async def _connected(self) -> Client:
        if self._closing:
            raise ToolError(f"MCP server {self.name}: its connection is closed")
        if self._ended.is_set():  # whatever is left of the last session goes first
            await self._drop()
        if self._keeper is None:
            wait = self._retry_at - self._now()
            if wait > 0:
                raise ToolError(f"{self.trouble}; it is tried again in {math.ceil(wait)} seconds")
            self._last_words = ""
            self._settled, self._ended, self._scope = asyncio.Event(), asyncio.Event(), anyio.CancelScope()
            self._keeper = asyncio.create_task(self._keep(self._scope), name=f"MCP server {self.name}")
        await self._settled.wait()
        if self._client is None:
            raise ToolError(self.trouble)
        return self._client

    async def _keep(self, scope: anyio.CancelScope) -> None:
        """Hold one session open until it ends or is dropped.

        The SDK's contexts belong to the task that entered them. They are left through the scope and the event,
        never by cancelling the task, which could leave a process behind.
        """
        current_server.set(self.name)
        settled, ended = self._settled, self._ended
        reason = "the server ended the connection"
        try:
            with scope:
                scope.deadline = anyio.current_time() + self._start_seconds
                transport = open_transport(
                    self.name, self._settings, ended=ended.set, said=self._hear, redact=self._redact
                )
                async with Client(transport) as client:
                    self._tools = await _listed(client)
                    scope.deadline = math.inf
                    self._client = client
                    self._logged = ""
                    settled.set()
                    await ended.wait()
                    self._client = None
            if scope.cancelled_caught and not self._closing:
                reason = f"it did not start within {self._start_seconds:g} seconds"
        except Exception as error:  # noqa: BLE001 - whatever a transport raises is the reason, and logged below
            reason = self._describe(error)
        finally:
            self._client = None
            self._gone(reason, started=settled.is_set())
            ended.set()
            settled.set()

    def _gone(self, reason: str, *, started: bool) -> None:
        if self._closing:
            return
        # What it said on the way up is why it is not; what it said at other times may be about anything.
        tell = self._last_words and not started
        self._reason = f"{reason}; it last said: {self._last_words}" if tell else reason
        self._failures += 1
        # A server that had worked is started again at once; one that fails again and again is left alone for longer.
        waits = self._failures - 1 if started else self._failures
        wait = min(FIRST_WAIT * 2 ** min(waits - 1, 16), LONGEST_WAIT) if waits else 0.0
        self._retry_at = self._now() + wait
        # Said once, however often it is tried again in vain.
        log = logger.debug if self._reason == self._logged else logger.warning
        log("MCP server %s is down: %s", self.name, self._reason)
        self._logged = self._reason

    def _hear(self, line: str) -> None:
        self._last_words = bounded(line, MAX_REASON)  # a thread's; assigning a name is atomic

    async def _drop(self) -> None:
        """End the session that there is, and wait until nothing is left of it."""
        keeper = self._keeper
        if keeper is None:
            return
        self._ended.set()
        if self._scope is not None and not self._settled.is_set():
            self._scope.cancel()
        await asyncio.shield(keeper)
        if self._keeper is keeper:
            self._keeper = None

    async def _failed(self, error: Exception) -> ToolError:
        if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
            return ToolError(f"MCP server {self.name} refused the call: {self._describe(error)}")
        if isinstance(error, MCPError):
            # Whether the connection has ended or only this answer, the keeper knows a moment later, and why.
            gone = self._ended.is_set()
            if gone:
                await self._drop()
            reason = self._reason if gone and self._reason else self._describe(error)
            return ToolError(
                f"MCP server {self.name} went away during the call ({reason}); the call may have had effects"
            )
        logger.warning("a call of MCP server %s failed: %s", self.name, self._describe(error))
        return ToolError(f"MCP server {self.name}: {self._describe(error)}")

    def _describe(self, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, MCPError):
            text = error.message or f"error {error.code}"
        elif isinstance(error, FileNotFoundError) and self._settings.command:
            text = f"there is no program {self._settings.command!r}; its arguments belong into args"
        elif isinstance(error, OSError):
            text = error.strerror or type(error).__name__
        elif isinstance(error, pydantic.ValidationError):
            fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            text = f"its answer breaks the protocol: {place}: {fault['msg']}"
        elif isinstance(error, httpx2.ConnectError):
            text = "its address cannot be reached"
        else:
            text = f"{type(error).__name__}: {error}"
        return bounded(self._redact(text), MAX_REASON)


async def _listed(client: Client) -> tuple[ServerTool, ...]:
    """Return the server's tools by name; a list that never ends is cut."""
    tools: list[ServerTool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None or len(tools) > MAX_TOOLS:
            break
    # By name, so that a server that lists its tools in another order each time does not change the prompt.
    return tuple(sorted(tools, key=lambda tool: tool.name))


def _forgotten(error: MCPError) -> bool:
    """Whether an HTTP server does not know the session any more, and so has not run the call.

    The SDK has no code of its own for the 404 that says so, only this text.
    """
    return error.message == "Session terminated"
