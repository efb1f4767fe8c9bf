"""A real MCP server over standard input and output for the tests. What it is to do wrong comes as arguments."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("test", log_level="ERROR")
misbehaviour = sys.argv[1] if len(sys.argv) > 1 else ""
folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def fail(reason: str) -> str:
    """Fail with a reason."""
    raise ValueError(reason)


@server.tool()
def picture() -> Image:
    """Return a picture."""
    return Image(data=b"\x89PNG" + b"\0" * 996, format="png")


@server.tool()
def die() -> str:
    """End the process in the middle of the call."""
    os._exit(3)


@server.tool()
def environment() -> dict[str, str]:
    """Return what the process sees of its environment."""
    return dict(os.environ)


@server.tool()
def pid() -> int:
    """Return the process's id."""
    return os.getpid()


@server.tool()
async def hang() -> str:
    """Wait until told to stop, and leave a note then."""
    assert folder is not None
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
def read() -> str:
    """读取文件。"""
    return "内容"


@server.tool(name="dotted.name/with:signs")
def dotted() -> str:
    """Have a name that no chat API takes."""
    return "dotted"


if __name__ == "__main__":
    if folder is not None:
        with (folder / "pids").open("a") as pids:
            pids.write(f"{os.getpid()}\n")
    if misbehaviour == "noisy":
        print("Welcome to the noisy server! {not json", flush=True)
        os.write(1, b"\xff\xfe binary noise\n")
        print(f"token is {os.environ.get('TOKEN')}", file=sys.stderr, flush=True)
    if misbehaviour == "silent":
        time.sleep(600)
    if misbehaviour == "crash":
        print("cannot open the database", file=sys.stderr, flush=True)
        sys.exit(1)
    if misbehaviour == "stubborn":
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            server.run()
        finally:
            time.sleep(600)
    server.run()
