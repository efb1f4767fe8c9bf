from __future__ import annotations

import logging
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from orca.errors import (
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    RateLimitError,
)
from orca.memory.embedding_queue import EmbeddingQueue
from orca.protocols import Store
from orca.types import EmbeddingSpace, Memory, Scope, Summary

from .doubles import SCOPE, SPACE, ScriptedEmbedder, SteppedClock, say, vector_of, vectors, work

TEN = [f"message number {n} is long enough" for n in range(10)]
POISON = TEN[3]


def queue_for(store: Store, embedder: ScriptedEmbedder, clock: SteppedClock) -> EmbeddingQueue:
    return EmbeddingQueue(store, embedder, clock=clock, random=Random(7))


def refuse_above(limit: int, message: str = "") -> ScriptedEmbedder:
    def fault(texts: Sequence[str]) -> None:
        if len(texts) > limit:
            raise ProviderError(message, refused=True)

    return ScriptedEmbedder(fault)


def fail_on(poison: str, error: ProviderError) -> ScriptedEmbedder:
    def fault(texts: Sequence[str]) -> None:
        if any(poison.startswith(text) or text == poison for text in texts):
            raise error

    return ScriptedEmbedder(fault)


def fail_times(times: int, error: ProviderError) -> ScriptedEmbedder:
    left = [times]

    def fault(texts: Sequence[str]) -> None:
        if left[0]:
            left[0] -= 1
            raise error

    return ScriptedEmbedder(fault)


@pytest.mark.case(1)
def test_every_row_gets_its_own_vector(store, clock):
    rows = say(store, *TEN)
    work(queue_for(store, ScriptedEmbedder(), clock), store, clock)
    assert store.jobs.pending(["embed"]) == 0
    for row, text in zip(rows, TEN, strict=True):
        [(found, similarity), *_] = store.vectors.search_similar(
            "message", vector_of(text), scope=SCOPE, limit=1
        )
        assert found == row.id
        assert similarity == pytest.approx(1, abs=1e-5)
        assert store.messages.get(row.id, scope=SCOPE).has_embedding


def test_rows_of_all_kinds_users_and_agents_are_embedded(store, clock):
    say(store, "said by alice to main", scope=SCOPE)
    say(store, "said by bob to a coder", scope=Scope(user="bob", session="s1", agent="main/coder"))
    store.summaries.append(Summary(content="一句话的摘要"), scope=SCOPE)
    store.memories.append(Memory(content="alice eats no meat"), scope=SCOPE)
    work(queue_for(store, ScriptedEmbedder(), clock), store, clock)
    assert store.jobs.pending(["embed"]) == 0
    assert [vectors(store, record) for record in ("message", "summary", "memory")] == [2, 1, 1]


def test_a_job_without_its_row_ends_and_nothing_is_sent_for_it(store, clock):
    message = say(store, "this message is about to go")[0]
    embedder = ScriptedEmbedder()
    jobs = store.jobs.claim(["embed"], limit=5, lease_seconds=20, owner="test", now=clock.now())
    store.messages.delete([message.id], scope=SCOPE)
    queue_for(store, embedder, clock).handle(jobs)
    assert embedder.calls == []
    assert store.jobs.pending(["embed"]) == 0


@pytest.mark.case(2)
@pytest.mark.parametrize("limit", [64, 10, 1])
@pytest.mark.parametrize("message", ["batch size too large", "输入条数超过上限", ""])
def test_a_batch_that_is_too_large_is_halved_until_it_passes(store, clock, limit, message):
    say(store, *(f"{n}: one of two hundred messages" for n in range(200)))
    embedder = refuse_above(limit, message)
    work(queue_for(store, embedder, clock), store, clock)
    assert vectors(store) == 200
    assert store.jobs.pending(["embed"]) == 0
    assert max(embedder.sizes) <= 64
    refused = [size for size in embedder.sizes if size > limit]
    # The size that passed is remembered; much later a larger one is tried again.
    assert len(refused) <= (9 if limit == 1 else 6)


@pytest.mark.case(2)
def test_a_text_that_is_too_long_is_shortened_and_sent_once_more(store, clock):
    def fault(texts: Sequence[str]) -> None:
        if any(len(text) > 999 for text in texts):
            raise ProviderError(refused=True)

    embedder = ScriptedEmbedder(fault)
    say(store, *TEN[:2], "字" * 1000)
    work(queue_for(store, embedder, clock), store, clock)
    assert vectors(store) == 3
    assert ["字" * 500] in embedder.calls


@pytest.mark.case(15)
@pytest.mark.parametrize(
    "error",
    [
        ProviderError("内容违规", refused=True),
        ProviderError("500: internal error"),
        ProviderResponseError("the vector is missing"),
    ],
    ids=["refused", "server error", "bad answer"],
)
def test_one_bad_item_stays_pending_with_its_reason_and_holds_up_no_other(store, clock, error):
    say(store, *TEN)
    queue = queue_for(store, fail_on(POISON, error), clock)
    work(queue, store, clock, seconds=5)
    assert vectors(store) == 9
    [backlog] = store.jobs.backlog()
    assert (backlog.count, backlog.reason) == (1, str(error))
    assert queue.state == "ok"


@pytest.mark.case(1)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
@pytest.mark.parametrize("position", [0, 3, 9])
def test_a_vector_without_direction_is_never_stored(store, clock, bad, position):
    def answer(texts: Sequence[str]) -> np.ndarray:
        return np.stack([np.full(16, bad) if text == TEN[position] else vector_of(text) for text in texts])

    rows = say(store, *TEN)
    work(queue_for(store, ScriptedEmbedder(answer), clock), store, clock, seconds=10)
    assert vectors(store) == 9
    assert store.jobs.pending(["embed"]) == 1
    found = store.vectors.search_similar("message", vector_of(TEN[position]), scope=SCOPE, limit=20)
    assert rows[position].id not in [id_ for id_, _ in found]


@pytest.mark.case(1)
def test_the_good_part_of_an_answer_is_kept_and_not_asked_for_again(store, clock):
    def fault(texts: Sequence[str]) -> None:
        if POISON in texts:
            usable = {n: vector_of(text) for n, text in enumerate(texts) if text != POISON}
            faults = {texts.index(POISON): "the vector is zero"}
            raise ProviderResponseError("1 of 10", usable=usable, faults=faults)

    embedder = ScriptedEmbedder(fault)
    say(store, *TEN)
    work(queue_for(store, embedder, clock), store, clock)
    assert vectors(store) == 9
    assert embedder.sizes == [10, 1]


@pytest.mark.case(1)
def test_a_wrong_count_stores_nothing_and_is_asked_for_in_smaller_parts(store, clock):
    def answer(texts: Sequence[str]) -> np.ndarray | None:
        return np.stack([vector_of(text) for text in texts[1:]]) if len(texts) > 4 else None

    say(store, *TEN)
    work(queue_for(store, ScriptedEmbedder(answer), clock), store, clock)
    assert vectors(store) == 10
    for text in TEN:
        assert store.vectors.search_similar("message", vector_of(text), scope=SCOPE, limit=1)[0][1] > 0.99


@pytest.mark.case(15)
@pytest.mark.parametrize(
    "error",
    [
        ProviderError("503"),
        RateLimitError("429"),
        ProviderTimeoutError("no answer"),
        ProviderResponseError("html"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("count", [1, 2, 10])
def test_five_failures_then_recovery_embeds_everything(store, clock, error, count):
    say(store, *TEN[:count])
    embedder = fail_times(5, error)
    work(queue_for(store, embedder, clock), store, clock, seconds=31)
    assert vectors(store) == count
    assert store.jobs.pending(["embed"]) == 0


@pytest.mark.case(2)
def test_requests_are_few_while_the_provider_always_says_429(store, clock, caplog):
    say(store, *(f"{n}: one of two hundred messages" for n in range(200)))
    embedder = fail_times(10**9, RateLimitError("429: quota exhausted"))
    queue = queue_for(store, embedder, clock)
    with caplog.at_level(logging.INFO, logger="orca"):
        work(queue, store, clock, seconds=60)
        assert len(embedder.calls) <= 10
        work(queue, store, clock, seconds=6 * 3600)
    assert len(embedder.calls) <= 10 + 6 * 12 + 12
    assert len(caplog.records) == 1
    assert queue.reason is not None
    assert "429" in queue.reason
    assert {job.attempts for job in claim_all(store, clock)} == {0}


@pytest.mark.case(2)
def test_the_wait_that_a_provider_asks_for_is_honoured(store, clock):
    say(store, *TEN)
    embedder = fail_times(1, RateLimitError("429", retry_after=120))
    queue = queue_for(store, embedder, clock)
    work(queue, store, clock, seconds=119)
    assert len(embedder.calls) == 1
    assert queue.reason == "embedding: 429, retry in 1 s"
    work(queue, store, clock, seconds=2)
    assert vectors(store) == 10


@pytest.mark.case(12)
@pytest.mark.case(15)
def test_recovery_brings_back_rows_that_failed_often_at_once(store, clock, caplog):
    bad = [True]

    def fault(texts: Sequence[str]) -> None:
        if bad[0] and POISON in texts:
            raise ProviderError("500")
        if bad[0] and "x" * 20 in texts:
            raise ProviderTimeoutError("no answer")

    say(store, *TEN)
    queue = queue_for(store, ScriptedEmbedder(fault), clock)
    work(queue, store, clock, seconds=24 * 3600)
    assert store.jobs.pending(["embed"]) == 1
    say(store, "x" * 20)
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="orca"):
        work(queue, store, clock)
        bad[0] = False
        work(queue, store, clock, seconds=2)
    assert store.jobs.pending(["embed"]) == 0
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_row_that_hangs_the_provider_does_not_stop_the_others_for_good(store, clock):
    say(store, *TEN)
    queue = queue_for(store, fail_on(POISON, ProviderTimeoutError("no answer")), clock)
    work(queue, store, clock, seconds=600)
    assert vectors(store) == 9


@pytest.mark.case(2)
def test_a_server_that_refuses_everything_is_an_outage_and_not_two_hundred_bad_rows(store, clock):
    say(store, *(f"{n}: one of two hundred messages" for n in range(200)))
    embedder = fail_times(10**9, ProviderError("model not found", refused=True))
    queue = queue_for(store, embedder, clock)
    work(queue, store, clock, seconds=60)
    assert len(embedder.calls) < 40
    assert queue.state == "paused"


@pytest.mark.case(10)
def test_a_memory_changed_while_it_is_embedded_does_not_get_the_old_vector(store, clock):
    old = store.memories.append(Memory(content="the animal is a cat"), scope=SCOPE)

    def change(texts: Sequence[str]) -> None:
        if "the animal is a cat" in texts:
            new = Memory(content="the animal is a dog")
            store.memories.supersede(old.id, new, scope=SCOPE, now=clock.now())

    work(queue_for(store, ScriptedEmbedder(change), clock), store, clock, seconds=1)
    [(found, similarity)] = store.vectors.search_similar(
        "memory", vector_of("the animal is a dog"), scope=SCOPE, limit=9
    )
    assert found != old.id
    assert similarity > 0.99
    assert store.jobs.pending(["embed"]) == 0


@pytest.mark.case(10)
def test_a_summary_rewritten_while_it_is_embedded_gets_the_vector_of_its_new_text(store, clock):
    message = say(store, "long enough to be told of")[0]
    before = Summary(content="before", source_message_ids=(message.id,))
    store.summaries.append(before, scope=SCOPE)

    def change(texts: Sequence[str]) -> None:
        if "before" in texts:
            store.summaries.append(Summary(content="after", source_message_ids=(message.id,)), scope=SCOPE)

    work(queue_for(store, ScriptedEmbedder(change), clock), store, clock, seconds=1)
    [(_, similarity)] = store.vectors.search_similar("summary", vector_of("after"), scope=SCOPE, limit=9)
    assert similarity > 0.99
    assert store.jobs.pending(["embed"]) == 0


@pytest.mark.case(12)
def test_no_vector_enters_a_space_that_is_not_its_own(store, clock):
    other = EmbeddingSpace(provider="fake", model="another", dimensions=SPACE.dimensions)
    say(store, *TEN)
    embedder = ScriptedEmbedder(lambda texts: store.vectors.use_space(other))
    queue = queue_for(store, embedder, clock)
    work(queue, store, clock, seconds=60)
    assert vectors(store) == 0
    assert store.jobs.pending(["embed"]) == 10
    assert len(embedder.calls) == 1
    assert "another" in (queue.reason or "")
    store.vectors.use_space(SPACE)
    embedder.fault = lambda texts: None
    work(queue, store, clock, seconds=120)
    assert vectors(store) == 10


def claim_all(store: Store, clock: SteppedClock) -> Sequence:
    clock.advance(24 * 3600)
    return store.jobs.claim(["embed"], limit=1000, lease_seconds=1, owner="look", now=clock.now())
