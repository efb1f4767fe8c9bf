"""The command line on a database of its own, without keys, network or the reader's language."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from orca.interfaces.cli import i18n
from orca.interfaces.cli.main import app
from orca.testing import Reply, Request, ScriptedServer

Answer = Reply | Callable[[Request], Reply | None]
COMMAND = typer.main.get_command(app)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Orca:
    """Runs commands in this process."""

    def __init__(self, db: Path) -> None:
        self.db = db

    def run(self, *words: str, typed: str | None = None) -> Outcome:
        """Run a command as it is typed."""
        result = CliRunner().invoke(app, list(words), input=typed)
        return Outcome(result.exit_code, result.stdout, result.stderr)

    def __call__(self, *words: str, typed: str | None = None) -> Outcome:
        """Run a command on this test's database."""
        return self.run(*words, "--db", str(self.db), typed=typed)

    def json(self, *words: str, code: int = 0) -> Any:
        """Run a command with --json; return the document after checking the exit code."""
        outcome = self(*words, "--json")
        assert outcome.code == code, outcome.err
        return outcome.json()


class Model:
    """A server whose streamed replies a test puts in line; summaries, which are not streamed, do not take from it."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.prompts: list[list[dict[str, Any]]] = []
        """The messages of every streamed request, in the order they came."""
        self._replies: deque[Answer] = deque()
        server.otherwise(self._answer)

    def says(self, *replies: Answer) -> None:
        """Put replies in line; without any the model says ``ok``."""
        self._replies.extend(replies)

    def _answer(self, request: Request) -> Reply | None:
        if request.path != "/v1/chat/completions" or not request.body.get("stream"):
            return None
        self.prompts.append(request.body["messages"])
        reply = self._replies.popleft() if self._replies else None
        return reply(request) if callable(reply) else reply


@pytest.fixture
def model() -> Iterator[Model]:
    """A model on loopback; ``talking`` makes it the configured one."""
    with ScriptedServer() as server:
        yield Model(server)


@pytest.fixture
def talking(model: Model, monkeypatch: pytest.MonkeyPatch) -> Model:
    """The model that the settings name."""
    monkeypatch.setenv("ORCA_LLM_BASE_URL", model.server.base_url)
    monkeypatch.setenv("ORCA_LLM_MODEL", "test-model")
    return model


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("SILICONFLOW_API_KEY", "ORCA_LANG", "LC_ALL", "LC_MESSAGES", "ORCA_STORAGE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("typer.testing._get_command", lambda _: COMMAND)  # built once, not for every call
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("ORCA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ORCA_EMBEDDING_PROVIDER", "off")
    monkeypatch.setenv("COLUMNS", "100")
    yield
    i18n.use("en")


@pytest.fixture
def orca(tmp_path: Path) -> Orca:
    return Orca(tmp_path / "chat.db")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A plain log: two sessions, Chinese and English."""
    lines = [
        {"session": "trip", "role": "user", "content": "我只吃素，下周去上海出差。", "timestamp": "2026-03-01T08:00:00Z"},
        {"session": "trip", "role": "assistant", "content": "好的，我会找上海的素食餐馆。", "timestamp": "2026-03-01T08:00:05Z"},
        {"session": "work", "role": "user", "content": "We decided to ship on Friday.", "timestamp": "2026-03-02T08:00:00Z"},
        {"session": "work", "role": "assistant", "content": "Noted: shipping on Friday.", "timestamp": "2026-03-02T08:00:05Z"},
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def loaded(orca: Orca, log: Path) -> Orca:
    """A database that holds the log."""
    assert orca("import", str(log), "--trust").code == 0
    return orca
