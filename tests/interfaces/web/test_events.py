"""Live events over a real connection."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from orca import Scope, open_memory
from orca.interfaces.web import changes
from orca.interfaces.web.app import create_app
from orca.memory.manager import MemoryManager

from .conftest import API, PLENTY, SCOPE, served

WAIT = 30


class Heard:
    """The events of one connection, as they come."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._names: queue.Queue[str] = queue.Queue()
        self._lines = lines

    def read(self) -> None:
        try:
            for line in self._lines:
                if line.startswith("event: "):
                    self._names.put(line.removeprefix("event: "))
        except httpx.HTTPError:
            pass
        self._names.put("end")

    def until(self, name: str) -> set[str]:
        """Wait for an event; return the names of all before it, its own included."""
        seen: set[str] = set()
        while name not in seen:
            seen.add(self._names.get(timeout=WAIT))
        return seen


@contextmanager
def listening(address: str, user: str = "default") -> Iterator[Heard]:
    url = f"{address}{API}/events"
    with httpx.stream("GET", url, params={"user": user}, timeout=WAIT) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines).startswith("retry: ")
        assert next(line for line in lines if line) == ":"  # from here on nothing is missed
        heard = Heard(lines)
        thread = threading.Thread(target=heard.read)
        thread.start()
        yield heard
        answer.close()
    thread.join(WAIT)


@pytest.fixture(autouse=True)
def _short_silences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that waits notices only at the next line that its connection was closed."""
    monkeypatch.setattr(changes, "HEARTBEAT_SECONDS", 0.2)


@pytest.fixture
def address(memory: MemoryManager) -> Iterator[str]:
    with served(create_app(memory, limits=PLENTY)) as url:
        yield url


def test_a_message_is_told_to_its_user(memory: MemoryManager, address: str) -> None:
    with listening(address) as mine, listening(address, user="bob") as theirs:
        memory.observe(scope=SCOPE, role="user", content="hello out there")
        assert mine.until("message") <= {"message", "session", "job"}
        memory.remember(scope=Scope(user="bob"), content="bob likes tea")
        assert "message" not in theirs.until("memory")


def test_what_another_process_writes_is_told_too(tmp_path: Path, address: str) -> None:
    with listening(address) as heard:
        # A second memory on the same file has connections of its own, as another process has.
        with open_memory(tmp_path / "chat.db", embedder=None, chat_model=None) as other:
            other.observe(scope=SCOPE, role="user", content="hello from elsewhere")
        heard.until("message")


def test_the_store_is_asked_only_while_somebody_listens(memory: MemoryManager) -> None:
    app = create_app(memory, limits=PLENTY)
    with served(app) as address:
        with listening(address):
            assert app.state.orca.changes.listeners == 1
        done = threading.Event()
        while app.state.orca.changes.listeners or app.state.orca.changes._task is not None:
            assert not done.wait(0.01)


def test_listeners_are_bounded(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_LISTENERS", 1)
    with listening(address):
        refused = httpx.get(f"{address}{API}/events", timeout=WAIT)
    assert refused.status_code == 503
    assert refused.headers["retry-after"]
    assert refused.headers["content-type"] == "application/problem+json"


def test_a_slow_listener_is_told_to_load_again(memory: MemoryManager) -> None:
    listener = changes._Listener("u")
    for _ in range(changes.QUEUED + 1):
        listener.put(changes.Event("message"))
    assert listener.queue.get_nowait() == changes.Event(changes.RESYNC)
    assert listener.queue.qsize() == 1


def test_stopping_ends_the_streams_at_once(memory: MemoryManager) -> None:
    with ExitStack() as stack:
        stopped = stack.enter_context(ExitStack())
        address = stopped.enter_context(served(create_app(memory, limits=PLENTY)))
        heard = stack.enter_context(listening(address))
        stopped.close()  # waits until the server is gone, which the open stream must not prevent
        heard.until("end")


@pytest.mark.case(9)
@pytest.mark.parametrize("path", ["/", f"{API}/status", f"{API}/events", "/static/orca.js"])
def test_a_real_server_refuses_foreign_names_and_pages(address: str, path: str) -> None:
    refused = httpx.get(address + path, headers={"Host": "evil.example"}, timeout=WAIT)
    assert refused.status_code == 403
    foreign = {"Origin": "http://evil.example"}
    assert httpx.post(address + path, headers=foreign, timeout=WAIT).status_code == 403
