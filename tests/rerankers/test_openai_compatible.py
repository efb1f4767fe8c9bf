"""The adapter for ``/rerank``: order, gaps, refusals, and servers that give raw logits."""

from __future__ import annotations

import numpy as np
import pytest

from orca.errors import ConfigError, ProviderError, ProviderResponseError, RateLimitError
from orca.rerankers.openai_compatible import OpenAICompatibleReranker
from orca.testing import Reply, ScriptedServer

TEXTS = ["green tea from Hangzhou", "a bicycle light", "the tea house is green"]


@pytest.fixture
def server():
    with ScriptedServer(dimensions=64) as server:
        yield server


@pytest.fixture
def reranker(server):
    with OpenAICompatibleReranker(base_url=server.base_url, model="m", max_documents=2) as reranker:
        yield reranker


@pytest.mark.case(1)
def test_scores_come_back_in_the_order_of_the_texts(server, reranker):
    scores = reranker.rerank("green tea", TEXTS)
    assert scores.shape == (3,)
    assert scores[0] > scores[1]
    assert scores[2] > scores[1]
    assert [request.texts for request in server.requests] == [TEXTS[:2], TEXTS[2:]]


@pytest.mark.case(1)
def test_scores_that_cannot_be_placed_are_left_out(server, reranker):
    server.script(
        Reply(
            {
                "results": [
                    {"index": 1, "relevance_score": 0.4},
                    {"relevance_score": 0.9},
                    {"index": 7, "relevance_score": 1},
                ]
            }
        )
    )
    scores = reranker.rerank("tea", TEXTS[:2])
    assert np.isnan(scores[0])
    assert scores[1] == 0.4


@pytest.mark.case(1)
@pytest.mark.parametrize(
    "body", [{"results": []}, {"results": [{"index": 0, "relevance_score": "high"}]}, {"ok": 1}, []]
)
def test_an_answer_without_any_score_is_an_error(server, reranker, body):
    server.script(Reply(body))
    with pytest.raises(ProviderResponseError):
        reranker.rerank("tea", TEXTS[:2])


def test_raw_logits_become_shares(server, reranker):
    server.script(
        Reply({"results": [{"index": 0, "relevance_score": -3.0}, {"index": 1, "relevance_score": 5.0}]})
    )
    scores = reranker.rerank("tea", TEXTS[:2])
    assert 0 < scores[0] < 0.1 < 0.9 < scores[1] < 1


@pytest.mark.case(2)
def test_a_refused_request_is_sent_in_halves(server, reranker):
    def refuse(request):
        return Reply({"message": "bad text"}, status=400) if TEXTS[1] in request.texts else None

    server.otherwise(refuse)
    scores = reranker.rerank("green tea", TEXTS)
    assert np.isnan(scores).tolist() == [False, True, False]


@pytest.mark.case(2)
def test_other_failures_are_raised(server, reranker):
    server.script(Reply(status=429, headers={"Retry-After": "7"}))
    with pytest.raises(RateLimitError) as raised:
        reranker.rerank("tea", TEXTS)
    assert raised.value.retry_after == 7
    server.script(Reply(status=500))
    with pytest.raises(ProviderError):
        reranker.rerank("tea", TEXTS)


@pytest.mark.case(8)
def test_unusual_texts_and_blank_ones(server, reranker):
    scores = reranker.rerank("tea\x00 \ud800", ["", "tea \ud800\x00 house"])
    assert np.isnan(scores).tolist() == [True, False]
    assert np.isnan(reranker.rerank(" ", TEXTS)).all()
    assert len(server.requests) == 1


def test_a_remote_address_needs_a_key():
    with pytest.raises(ConfigError):
        OpenAICompatibleReranker(base_url="https://api.example.com/v1", model="m")
