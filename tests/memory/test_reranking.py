"""The reranking lane: it orders what it read, and its failures cost nothing but its order."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from orca.errors import ProviderError, RateLimitError
from orca.memory.reranking import RERANKED_HITS, HitReranker
from orca.rerankers.openai_compatible import OpenAICompatibleReranker
from orca.testing import FixedClock, Reply, ScriptedServer
from orca.types import Hit, Scope
from orca.wiring import open_memory


def hits(count: int) -> list[Hit]:
    return [
        Hit(kind="message", id=number, session="s", content=f"text {number}", score=1 - number / 100)
        for number in range(count)
    ]


class Judge:
    """Gives each text the number in it; ``fault`` may raise or wait."""

    name = "judge"

    def __init__(self, fault=lambda: None) -> None:
        self.calls = 0
        self.fault = fault

    def rerank(self, query, documents):
        self.calls += 1
        self.fault()
        return np.array([int(text.split()[-1]) / 100 for text in documents])


def test_the_model_orders_what_it_read_and_the_rest_follows():
    ordered, reason = HitReranker(Judge(), clock=FixedClock()).order("q", hits(RERANKED_HITS + 3))
    assert reason is None
    assert [hit.id for hit in ordered[:2]] == [RERANKED_HITS - 1, RERANKED_HITS - 2]
    assert [hit.id for hit in ordered[-3:]] == [RERANKED_HITS, RERANKED_HITS + 1, RERANKED_HITS + 2]
    assert ordered[0].lanes["rerank"].rank == 1
    scores = [hit.score for hit in ordered]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= min(scores) <= max(scores) <= 1


def test_a_text_without_a_score_keeps_its_place_below():
    judge = Judge()
    judge.rerank = lambda query, documents: np.array([0.1, np.nan, 0.9])
    ordered, _ = HitReranker(judge, clock=FixedClock()).order("q", hits(3))
    assert [hit.id for hit in ordered] == [2, 0, 1]


@pytest.mark.case(15)
@pytest.mark.parametrize("error", [ProviderError("down"), ValueError("odd")])
def test_a_failure_leaves_the_hits_and_says_why(error):
    def fail():
        raise error

    clock, judge = FixedClock(), Judge(fail)
    reranker = HitReranker(judge, clock=clock)
    given = hits(3)
    assert reranker.order("q", given) == (given, f"rerank: {error}")
    found, reason = reranker.order("q", given)
    assert (found, judge.calls) == (given, 1)
    assert "not asked" in reason
    clock.advance(2.1)
    judge.fault = lambda: None
    assert reranker.order("q", given)[1] is None
    assert judge.calls == 2


@pytest.mark.case(2)
def test_a_provider_that_asks_to_wait_is_left_alone_so_long():
    def limit():
        raise RateLimitError("slow down", retry_after=30)

    clock, judge = FixedClock(), Judge(limit)
    reranker = HitReranker(judge, clock=clock)
    reranker.order("q", hits(2))
    clock.advance(20)
    reranker.order("q", hits(2))
    assert judge.calls == 1


def test_a_slow_model_is_not_waited_for():
    release = threading.Event()
    judge = Judge(lambda: release.wait(10))
    given = hits(2)
    found, reason = HitReranker(judge, clock=FixedClock(), deadline_seconds=0.05).order("q", given)
    release.set()
    assert found == given
    assert "no answer" in reason


def test_scores_of_another_number_are_not_believed():
    judge = Judge()
    judge.rerank = lambda query, documents: np.zeros(1)
    given = hits(3)
    found, reason = HitReranker(judge, clock=FixedClock()).order("q", given)
    assert found == given
    assert "shape" in reason


@pytest.mark.case(15)
def test_a_recall_through_a_server_is_reranked_and_survives_its_fall():
    scope = Scope(user="alice")
    with ScriptedServer(dimensions=64) as server:
        reranker = OpenAICompatibleReranker(base_url=server.base_url, model="m")
        with open_memory(":memory:", embedder=None, chat_model=None, reranker=reranker) as memory:
            for text in ("the tea is green", "green tea from the hills", "a green bicycle"):
                memory.observe(scope=scope, role="user", content=text)
            found = memory.recall(scope=scope, query="green bicycle")
            assert found.messages[0].content == "a green bicycle"
            assert "rerank" in found.messages[0].lanes
            server.script(Reply(status=500))
            fallen = memory.recall(scope=scope, query="green bicycle")
            assert len(fallen.messages) == 3
            assert "rerank" in fallen.degraded
        reranker.close()
