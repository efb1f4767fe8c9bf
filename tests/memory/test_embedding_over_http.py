"""The queue, the worker, a real client and a server that misbehaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from orca.embedders.openai_compatible import OpenAICompatibleEmbedder
from orca.memory.embedding_queue import EmbeddingQueue
from orca.memory.query_embedding import QueryEmbedder
from orca.memory.worker import BackgroundWorker
from orca.testing.server import Reply, Request, ScriptedServer

from .doubles import SCOPE, say, vectors

PATIENCE = 40.0
FOREVER = 2_000  # requests, far more than any of these tests may make


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(dimensions=16) as server:
        yield server


@pytest.fixture
def embedder(server, store) -> Iterator[OpenAICompatibleEmbedder]:
    with OpenAICompatibleEmbedder(base_url=server.base_url, model="m", dimensions=16, timeout=10) as embedder:
        store.vectors.use_space(embedder.space)
        yield embedder


@pytest.fixture
def queue(store, embedder, clock) -> EmbeddingQueue:
    return EmbeddingQueue(store, embedder, clock=clock)


@pytest.fixture
def worker(store, queue, clock) -> Iterator[BackgroundWorker]:
    worker = BackgroundWorker(store, [queue], clock=clock)
    yield worker
    worker.close()


def always(server: ScriptedServer, answer: Callable[[Request], Reply | None]) -> None:
    server.script(*[answer] * FOREVER)


def sizes(server: ScriptedServer) -> list[int]:
    return [len(request.texts) for request in server.requests]


@pytest.mark.case(2)
@pytest.mark.parametrize(
    ("limit", "status", "body"),
    [
        (64, 413, {"message": "input batch size too large", "code": 20042}),
        (10, 413, {"message": "输入数量超过限制", "code": 20042}),
        (10, 400, b""),
        (10, 422, "<html>too large</html>"),
    ],
)
def test_two_hundred_messages_pass_whatever_the_server_refuses_with(
    server, store, worker, limit, status, body
):
    always(server, lambda request: Reply(body, status=status) if len(request.texts) > limit else None)
    say(store, *(f"第{n}条消息，一共两百条 message {n}" for n in range(200)))
    assert worker.flush(PATIENCE)
    assert vectors(store) == 200
    assert max(sizes(server)) <= 64
    assert len(server.requests) <= 30


@pytest.mark.case(15)
@pytest.mark.parametrize("status", [400, 500])
def test_item_four_fails_for_ever_and_is_the_only_one_without_a_vector(server, store, worker, queue, status):
    def answer(request: Request) -> Reply | None:
        return Reply("no", status=status) if any("number 4" in text for text in request.texts) else None

    always(server, answer)
    said = say(store, *(f"fact number {n} cannot be embedded" for n in range(10)))
    assert not worker.flush(5)
    assert vectors(store) == 9
    [backlog] = store.jobs.backlog()
    assert backlog.count == 1
    assert str(status) in backlog.reason
    assert queue.reason is None
    rows = store.messages.get_many([message.id for message in said], scope=SCOPE)
    assert [row.id for row in rows if not row.has_embedding] == [said[4].id]


@pytest.mark.case(1)
@pytest.mark.parametrize(
    "value",
    [None, [0.0] * 16, [float("nan")] * 16, ["a"] * 16, [1.0] * 8],
    ids=["null", "zero", "nan", "text", "width"],
)
def test_wrong_data_for_one_item_in_mixed_order_keeps_the_others(server, store, worker, value):
    def answer(request: Request) -> Reply:
        items = server.items(request.texts)
        for item, text in zip(items, request.texts, strict=True):
            if "number 2" in text:
                item["embedding"] = value
        return Reply({"data": items[::-1]})

    always(server, answer)
    say(store, *(f"message number {n} of five" for n in range(5)))
    assert not worker.flush(5)
    assert vectors(store) == 4
    assert store.jobs.pending(["embed"]) == 1
    assert len(server.requests) <= 3


@pytest.mark.case(15)
def test_a_server_that_hangs_holds_up_neither_storing_nor_recall(server, store, worker, embedder):
    always(server, lambda request: Reply(hang=True))
    say(store, "the first message of the evening")
    worker.notify()
    assert server.wait_for_requests(1)
    begun = time.monotonic()
    for n in range(20):
        say(store, f"message number {n} goes on being stored")
        worker.notify()
    vector, reason = QueryEmbedder(embedder, deadline_seconds=0.1).embed("what was stored?")
    assert time.monotonic() - begun < 3
    assert vector is None
    assert reason
    assert store.messages.count(scope=SCOPE) == 21
    server.close()


@pytest.mark.case(2)
def test_a_quota_that_is_used_up_is_asked_about_rarely(server, store, worker, queue, clock):
    always(server, lambda request: Reply({"error": {"message": "quota exhausted"}}, status=429))
    say(store, *(f"message number {n} of two hundred" for n in range(200)))
    for _ in range(60):
        assert not worker.flush(0)
        worker.notify()
        clock.advance(1)
    assert not worker.flush(0.5)
    assert 1 <= len(server.requests) <= 10
    assert "429" in (queue.reason or "")
