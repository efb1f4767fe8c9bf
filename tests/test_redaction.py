"""No secret reaches a file, an index, a job, a log, an embedder, a model or a prompt."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import apsw
import pytest

from orca import MemoryManager, Message, Scope, open_memory
from orca.config import Settings
from orca.sections import MemorySettings
from orca.testing import FakeEmbedder, ScriptedModel
from orca.types import SubAgentMessage, SubAgentRun

pytestmark = pytest.mark.case(17)

SCOPE = Scope(user="alice", session="s1")
# One per place, put together here so that no scanner takes the test for a leak.
B62 = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3f"


def secret(number: int) -> str:
    return f"sk-{number:02d}{B62}"


class Listening(FakeEmbedder):
    """Remembers every text that it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def embed(self, texts: Any, *, kind: Any) -> Any:
        self.heard += texts
        return super().embed(texts, kind=kind)


def opened(path: Path, **memory: Any) -> tuple[MemoryManager, Listening, list[str]]:
    embedder = Listening()
    sent: list[str] = []

    def reply(messages: Any) -> str:
        sent.append(json.dumps(messages, ensure_ascii=False))
        return "Noted."

    settings = Settings(memory=MemorySettings(**memory))
    return (
        open_memory(path, embedder=embedder, chat_model=ScriptedModel(reply), settings=settings),
        embedder,
        sent,
    )


def tell(memory: MemoryManager) -> list[str]:
    """Put a secret into every field that takes text; return them."""
    secrets = iter([secret(number) for number in range(40)])
    used: list[str] = []

    def one() -> str:
        used.append(next(secrets))
        return used[-1]

    memory.observe(scope=SCOPE, role="user", content=f"请记住我的密钥是 {one()}，下周去上海")
    memory.observe(
        scope=SCOPE, role="user", content=[{"type": "text", "text": f"and {one()}"}, f"bare {one()}"]
    )
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": json.dumps({"k": one()})}}
    memory.observe(scope=SCOPE, role="assistant", tool_calls=[call], reasoning=f"hm {one()}")
    memory.observe(
        scope=SCOPE, role="tool", tool_call_id="c1", content=f"out {one()}", metadata={"a": [one()]}
    )
    memory.observe_many(
        scope=SCOPE,
        messages=[{"role": "assistant", "content": f"You said {one()}"}, Message(role="user", content=one())],
    )
    fact = memory.remember(scope=SCOPE, content=f"The key is {one()}", metadata={"note": one()})
    memory.update_memory(scope=SCOPE, id=fact.id or 0, content=f"The new key is {one()}")
    memory.rename_session(scope=SCOPE, title=f"About {one()}")
    run = memory.start_run(SubAgentRun(agent="coder", task=f"use {one()}"), scope=SCOPE)
    memory.append_run_messages(
        [SubAgentMessage(run_id=run.id or 0, role="assistant", content=one(), reasoning=one())], scope=SCOPE
    )
    memory.finish_run(
        SubAgentRun(agent="coder", task="t", id=run.id, status="done", summary=one(), error=one()),
        scope=SCOPE,
    )
    memory.record_run(
        scope=SCOPE,
        run=SubAgentRun(agent="coder", task=one(), status="done", summary=one()),
        messages=[SubAgentMessage(run_id=0, role="tool", content=one(), tool_call_id="x")],
    )
    memory.promote(scope=SCOPE, content=f"Promoted {one()}", run_id=run.id)
    memory.recall(scope=SCOPE, query=f"what is {one()}")
    memory.search_messages(scope=SCOPE, query=f"where is {one()}")
    context = memory.build_context(scope=SCOPE, query=f"how about {one()}")
    assert not [text for text in used if text in json.dumps(context.messages)]
    return used


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def leaks(secrets: list[str], raw: bytes) -> list[str]:
    """Return the secrets found whole or by their tails, in either case: keyword rows are folded."""
    lowered = raw.lower()
    return [
        text for text in secrets if text.lower().encode() in lowered or text[3:].lower().encode() in lowered
    ]


@pytest.fixture(autouse=True)
def _debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def test_no_secret_is_in_files_logs_embed_requests_or_prompts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory, embedder, sent = opened(tmp_path / "orca.db")
    with memory:
        secrets = tell(memory)
        before = bytes_of(tmp_path)  # with the write-ahead log as it is, jobs still waiting
        memory.flush(20)
        memory.end_session(scope=SCOPE)
        exported = json.dumps(list(memory.export_rows()), ensure_ascii=False, default=str).encode()
        after = bytes_of(tmp_path)
    assert (tmp_path / "orca.db").exists()
    assert b"[redacted: api key]" in after
    assert not leaks(secrets, before)
    assert not leaks(secrets, after)
    assert not leaks(secrets, bytes_of(tmp_path))
    assert not leaks(secrets, exported)
    assert not leaks(secrets, caplog.text.encode())
    assert not leaks(secrets, "\n".join(embedder.heard).encode())
    assert sent
    assert not leaks(secrets, "\n".join(sent).encode())


def test_no_secret_is_in_the_keyword_index(tmp_path: Path) -> None:
    memory, _, _ = opened(tmp_path / "orca.db")
    with memory:
        memory.observe(scope=SCOPE, role="user", content="my password is hunter2xyz and I like tea")
        assert memory.search_messages(scope=SCOPE, query="tea")
    with apsw.Connection(str(tmp_path / "orca.db")) as raw:
        tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [
            str(row) for name in tables if "vec" not in name for row in raw.execute(f"SELECT * FROM {name}")
        ]
    assert not [row for row in rows if "hunter2xyz" in row]


def test_no_secret_is_in_the_spool(tmp_path: Path) -> None:
    path = tmp_path / "orca.db"
    path.write_bytes(b"this is no database" * 100)
    memory, _, _ = opened(path)
    with memory:
        memory.observe(scope=SCOPE, role="user", content=f"key {secret(1)}", metadata={"k": secret(2)})
        assert "orca.db-spool" in " ".join(memory.status().degraded)
    assert b"[redacted: api key]" in bytes_of(tmp_path / "orca.db-spool")
    assert not leaks([secret(1), secret(2)], bytes_of(tmp_path))


def test_rows_from_elsewhere_are_masked_too(tmp_path: Path) -> None:
    plain, _, _ = opened(tmp_path / "plain.db", redaction="off")
    with plain:
        secrets = tell_plain(plain)
        rows = list(plain.export_rows())
    (tmp_path / "new").mkdir()
    memory, _, _ = opened(tmp_path / "new" / "orca.db")
    with memory:
        assert memory.import_rows(iter(rows))["main_messages"] == 1
        memory.flush(20)
    assert not leaks(secrets, bytes_of(tmp_path / "new"))


def tell_plain(memory: MemoryManager) -> list[str]:
    message = memory.observe(scope=SCOPE, role="user", content=f"key {secret(1)}", metadata={"k": secret(2)})
    assert secret(1) in str(message.content)  # off is off
    assert message.metadata["k"] == secret(2)
    return [secret(1), secret(2)]


def test_what_is_allowed_stays_and_own_patterns_go(tmp_path: Path) -> None:
    memory, _, _ = opened(
        tmp_path / "orca.db", redaction_allow=("sk-01.*",), redaction_patterns=(r"EMP-\d+",)
    )
    with memory:
        stored = memory.observe(scope=SCOPE, role="user", content=f"{secret(1)} {secret(2)} EMP-77")
    assert stored.content == f"{secret(1)} [redacted: api key] [redacted: secret]"


def test_message_values_keep_their_shape(tmp_path: Path) -> None:
    memory, _, _ = opened(tmp_path / "orca.db")
    parts = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "https://x.y/a.png"}}]
    with memory:
        stored = memory.observe(
            scope=SCOPE, role="user", content=parts, metadata={"n": 1, "f": None, "t": (1, 2)}
        )
        again = memory.messages(scope=SCOPE)[0]
    assert stored.content == parts
    assert again.content == parts
    assert again.metadata["n"] == 1
