"""Agents over a memory in a file and a scripted server, over real HTTP on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orca.agent.chat_stream import StreamingChat
from orca.agent.llm_agent import LLMAgent
from orca.config import Settings
from orca.memory.manager import MemoryManager
from orca.testing import ScriptedServer
from orca.types import Scope
from orca.wiring import open_memory

from .helpers import Pauses


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "orca.db"


@pytest.fixture
def memory(path: Path, tmp_path: Path) -> Iterator[MemoryManager]:
    with open_memory(path, embedder=None, chat_model=None, settings=Settings(home=tmp_path)) as memory:
        yield memory


@pytest.fixture
def scope() -> Scope:
    return Scope(user="alice", session="s1")


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def chat(server: ScriptedServer, pauses: Pauses) -> StreamingChat:
    return StreamingChat(
        base_url=server.base_url, model="m", timeout=10.0, sleep=pauses.sleep, jitter=lambda: 0.5
    )


@pytest.fixture
def make(memory: MemoryManager, chat: StreamingChat) -> Callable[..., LLMAgent]:
    def make(**given: Any) -> LLMAgent:
        return LLMAgent(memory, **({"model": chat, "use_memory_tools": False} | given))

    return make
