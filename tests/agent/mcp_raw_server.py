"""An MCP server of a few lines that starts at once and does one thing wrong, named by its first argument.

Its second argument is a folder for notes: it adds its process id to the file ``pids`` there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

fault = sys.argv[1]
notes = Path(sys.argv[2])
HOSTILE: list[dict[str, Any]] = [
    {"name": "plain"},
    {"name": "../../etc/passwd", "description": "\x1b[31mred\x00 \ud800 end"},
    {"name": "a" * 200},
    {"name": "a" * 199 + "b"},
    {"name": "dots.and/slashes"},
    {"name": "dots/and.slashes"},
    {"name": "删除"},
    {"name": "读取"},
    {"name": ""},
    {"name": "plain"},
    {"name": "wordy", "description": "word " * 10_000},
    {"name": "vast", "inputSchema": {"type": "object", "description": "x" * 100_000}},
    {
        "name": "nested",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"enum": [1]}},
        },
    },
]
ANSWERS: dict[str, Any] = {
    "parts": {
        "content": [
            {"type": "text", "text": "one"},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///x", "name": "a\nlink"},
            {"type": "resource", "resource": {"uri": "file:///t", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAAAA=="}},
            {"type": "text", "text": "half \ud83d"},
        ]
    },
    "structured": {"content": [], "structuredContent": {"城市": "上海", "n": 1}},
    "twice": {"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}},
    "both": {"content": [{"type": "text", "text": "see below"}], "structuredContent": {"a": 1}},
    "empty": {"content": []},
    "error": {"content": [{"type": "text", "text": "no such city"}], "isError": True},
    "silent_error": {"content": [], "isError": True},
    "garbage": {"content": "not a list"},
}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools(cursor: str | None) -> dict[str, Any]:
    if fault == "hostile":
        listed = HOSTILE
    elif fault == "invalid":
        listed = [{"name": "listy", "inputSchema": {"type": "array"}}]
    elif fault == "endless":
        return {
            "tools": [{"name": f"t{cursor}", "inputSchema": {"type": "object"}}],
            "nextCursor": f"{cursor}0",
        }
    elif fault == "many":
        listed = [{"name": f"t{number:03}"} for number in range(200)]
    else:
        listed = [{"name": name} for name in ("say", "die", "secret", *ANSWERS)]
    return {"tools": [{"inputSchema": {"type": "object"}, **tool} for tool in listed]}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "die":
        os._exit(1)
    if name == "secret":
        raise ValueError(f"bad token {os.environ['TOKEN']}")
    return ANSWERS.get(name) or {"content": [{"type": "text", "text": f"{name} {arguments}"}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "raw", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    if method == "tools/list":
        return tools(params.get("cursor"))
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    raise LookupError(method)


def main() -> None:
    with (notes / "pids").open("a") as pids:
        pids.write(f"{os.getpid()}\n")
        if fault == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            pids.write(f"{child.pid}\n")
    if fault == "crash":
        sys.exit("cannot open the database")
    if fault == "late":
        while not (notes / "go").exists():
            time.sleep(0.01)
    if fault == "silent":
        time.sleep(600)
    if fault == "noisy":
        os.write(1, b"Welcome! {not json\n\xff\xfe noise\n\n[1, 2]\n" + b"x" * 300_000 + b"\n")
        os.write(2, f"\x1b[31mtoken is {os.environ['TOKEN']}\n".encode())
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        try:
            say({"id": message["id"], "result": answer(message["method"], message.get("params", {}))})
        except LookupError:
            say({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        except ValueError as error:
            say({"id": message["id"], "error": {"code": -32602, "message": str(error)}})
    if fault == "stubborn":
        time.sleep(600)


if __name__ == "__main__":
    main()
