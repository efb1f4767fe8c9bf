"""A memory with something of everything in it, and clients of an app over it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from orca import Scope, open_memory
from orca.interfaces.web.app import create_app
from orca.interfaces.web.limits import Limits, Rate
from orca.interfaces.web.serve import listen, server
from orca.memory.manager import MemoryManager
from orca.testing import FakeEmbedder
from orca.types import SubAgentMessage, SubAgentRun

BASE = "http://127.0.0.1:8420"
API = "/api/v1"
TOKEN = "open-sesame"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PLENTY = Limits(requests=Rate(burst=1e9, per_second=1e9), wrong_tokens=Rate(burst=1e9, per_second=1e9))

SCOPE = Scope(user="default", session="trip")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ORCA_HOME", str(tmp_path / "home"))


def open_at(path: Path) -> MemoryManager:
    return open_memory(path, embedder=FakeEmbedder(dimensions=16), chat_model=None)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with open_at(tmp_path / "chat.db") as opened:
        yield opened


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with something of everything; each test works on a copy, which is quicker than filling it again."""
    folder = tmp_path_factory.mktemp("stored")
    with open_at(folder / "chat.db") as memory:
        _fill(memory)
        memory.backup(str(folder / "copy.db"))
    return folder / "copy.db"


@pytest.fixture
def filled(stored: Path, tmp_path: Path) -> Iterator[MemoryManager]:
    """A session with tool calls and a sub-agent's run, memories, and another user's rows."""
    shutil.copyfile(stored, tmp_path / "filled.db")
    with open_at(tmp_path / "filled.db") as opened:
        yield opened


def _fill(memory: MemoryManager) -> None:
    memory.observe(scope=SCOPE, role="user", content="我只吃素，下周去上海出差")
    call = memory.observe(
        scope=SCOPE,
        role="assistant",
        tool_calls=[{"id": "c1", "type": "function", "function": {"name": "agent_call", "arguments": "{}"}}],
    )
    run = memory.start_run(SubAgentRun(agent="scout", task="find", parent_message_id=call.id), scope=SCOPE)
    step = SubAgentMessage(run_id=run.id or 0, role="assistant", content="looking at the menus")
    memory.append_run_messages([step], scope=SCOPE)
    memory.finish_run(
        SubAgentRun(id=run.id, agent="scout", task="find", status="done", summary="two places", tokens=7),
        scope=SCOPE,
    )
    memory.observe(scope=SCOPE, role="tool", content="two places", tool_call_id="c1")
    memory.observe(scope=SCOPE, role="assistant", content="好的，找到两家素食餐馆。")
    memory.remember(scope=SCOPE, content="User prefers window seats", kind="preference")
    memory.observe(scope=Scope(user="bob", session="trip"), role="user", content="bob's secret plan")
    memory.remember(scope=Scope(user="bob"), content="bob's secret memory")
    assert memory.flush(30)


def client(app: FastAPI, **headers: str) -> TestClient:
    return TestClient(app, base_url=BASE, headers=headers)


@pytest.fixture
def api(filled: MemoryManager) -> TestClient:
    """A client that holds the access token."""
    return client(create_app(filled, token=TOKEN, limits=PLENTY), **BEARER)


@pytest.fixture
def browser(filled: MemoryManager) -> TestClient:
    """A client of a server without access token, as a browser on the same machine is."""
    return client(create_app(filled, limits=PLENTY))


Get = Callable[..., Any]


@pytest.fixture
def get(api: TestClient) -> Get:
    """Return the JSON at a path of the API, after checking its status."""

    def read(path: str, *, expect: int = 200, **params: Any) -> Any:
        answer = api.get(path if path.startswith(API) else API + path, params=params or None)
        assert answer.status_code == expect, answer.text
        return answer.json()

    return read


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """A real server on loopback for the time of the block; gives its address."""
    with listen("127.0.0.1", 0) as socket:
        running = server(app)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [socket]})
        thread.start()
        address = f"http://127.0.0.1:{socket.getsockname()[1]}"
        try:
            assert httpx.get(address + "/static/orca.js", timeout=30).status_code == 200
            yield address
        finally:
            running.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
