"""Runs the turn of ``delegation`` in processes that die after their first, second, … write: see ``test_crash``.

One process imports everything and forks the others, which takes milliseconds where a start takes seconds.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from orca.agent.chat_stream import StreamingChat
from orca.config import Settings
from orca.memory.manager import MemoryManager
from orca.types import Scope
from orca.wiring import open_memory

from .delegation import QUESTION, delegating_agent

WRITES = ("observe_many", "start_run", "append_run_messages", "finish_run")
SCOPE = Scope(user="alice", session="s1")


def die_after(memory: MemoryManager, writes: int) -> None:
    """Let the process be killed as soon as so many writes are durable."""
    left = writes

    def deadly(write: Any) -> Any:
        def call(*args: Any, **given: Any) -> Any:
            nonlocal left
            result = write(*args, **given)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name in WRITES:
        setattr(memory, name, deadly(getattr(memory, name)))


def run(base_url: str, path: Path, writes: int) -> None:
    """Answer the question, or die."""
    memory = open_memory(path, embedder=None, chat_model=None, settings=Settings(home=path.parent))
    die_after(memory, writes)
    agent = delegating_agent(memory, StreamingChat(base_url=base_url, model="m"))
    asyncio.run(agent.run(QUESTION, scope=SCOPE))
    memory.close()


def main(base_url: str, directory: str) -> None:
    """Make one database for each number of writes, until a turn gets through; print how many died."""
    # A first turn loads what is loaded late; its threads and connections are gone before the first fork.
    run(base_url, Path(directory) / "warm.db", sys.maxsize)
    writes = 0
    while True:
        writes += 1
        child = os.fork()
        if child == 0:
            run(base_url, Path(directory) / f"{writes}.db", writes)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            if status:
                sys.exit(f"the turn failed with status {status}")
            print(writes - 1)
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
