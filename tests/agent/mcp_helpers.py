"""What tests of MCP tools share."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orca.agent.handles import Handles
from orca.agent.mcp_tools import MCPServers
from orca.agent.tools import Tool, ToolContext
from orca.errors import ToolError
from orca.sections import MCPServerSettings
from orca.types import Scope

HERE = Path(__file__).parent


def real(folder: Path, **given: Any) -> MCPServerSettings:
    """The server that is written with the SDK."""
    script = str(HERE / "mcp_stdio_server.py")
    return MCPServerSettings(command=sys.executable, args=(script, str(folder)), **given)


def raw(fault: str, folder: Path, **given: Any) -> MCPServerSettings:
    """The server of a few lines that does one thing wrong; ``fine`` does none."""
    script = str(HERE / "mcp_raw_server.py")
    return MCPServerSettings(command=sys.executable, args=("-S", script, fault, str(folder)), **given)


def context(**given: Any) -> ToolContext:
    return ToolContext(
        **({"scope": Scope(user="u", session="s"), "memory": None, "handles": Handles()} | given)
    )


def by_name(servers: MCPServers) -> dict[str, Tool]:
    return {tool.name: tool for tool in servers.tools()}


async def answer(tool: Tool, **arguments: Any) -> str:
    """A call's text, or what the model would read of its failure."""
    try:
        text: str = await tool.handler(arguments, context())
    except ToolError as error:
        return f"[error] {error}"
    return text


def ask(tool: Tool, **arguments: Any) -> str:
    """``answer`` in an event loop of its own."""
    return asyncio.run(answer(tool, **arguments))


def pids(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # A process whose parent has not fetched its exit code yet is dead all the same.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # gone in between, or a system without /proc
        return not Path("/proc/self").exists()


def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
