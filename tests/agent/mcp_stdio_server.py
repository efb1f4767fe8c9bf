"""A real MCP server over standard input and output, written with the SDK. Its argument is a folder for notes."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("test", log_level="CRITICAL")
folder = Path(sys.argv[1])


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """Return a picture."""
    return Image(data=b"\x89PNG" + b"\0" * 996, format="png")


@server.tool()
def environment() -> dict[str, str]:
    """Return what the process sees of its environment."""
    return dict(os.environ)


@server.tool()
async def hang() -> str:
    """Wait until told to stop, and leave a note then."""
    (folder / "hanging").touch()
    try:
        await asyncio.Event().wait()
    finally:
        (folder / "stopped").touch()
    return "never"


@server.tool()
async def steps(ctx: Context) -> str:
    """Tell how far it is."""
    await ctx.report_progress(1, 2, "half way")
    await ctx.report_progress(2, 2)
    return "done"


@server.tool(name="读取")
def read() -> list[str]:
    """读取文件。"""
    return ["甲", "乙"]


if __name__ == "__main__":
    with (folder / "pids").open("a") as pids:
        pids.write(f"{os.getpid()}\n")
    server.run()
