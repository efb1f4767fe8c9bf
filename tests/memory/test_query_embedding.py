from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from orca.errors import ProviderError
from orca.memory.query_embedding import LOADING, MAX_OVERDUE, QUERY_CHARACTERS, QueryEmbedder, bounded

from .doubles import ScriptedEmbedder, vector_of


class HangingEmbedder(ScriptedEmbedder):
    """Answers when ``release`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()
        self.fault = lambda texts: self.release.wait(30) and None
        self.loaded = True


@pytest.mark.case(28)
def test_a_query_is_embedded_once_as_a_query():
    embedder = ScriptedEmbedder()
    vector, reason = QueryEmbedder(embedder).embed("  where does she live? ")
    assert reason is None
    assert embedder.calls == [["where does she live?"]]
    np.testing.assert_allclose(vector, vector_of("where does she live?"), atol=1e-6)


@pytest.mark.case(2)
def test_a_very_long_query_is_bounded_to_its_head_and_tail():
    embedder = ScriptedEmbedder()
    QueryEmbedder(embedder).embed("head " + "x" * 50_000 + " and the question at the tail?")
    [[sent]] = embedder.calls
    assert len(sent) == QUERY_CHARACTERS
    assert sent.startswith("head")
    assert sent.endswith("and the question at the tail?")


@pytest.mark.parametrize("query", ["", " \n", "\x00"])
def test_a_blank_query_has_no_vector_and_is_nobodys_fault(query):
    embedder = ScriptedEmbedder()
    assert QueryEmbedder(embedder).embed(query) == (None, None)
    assert embedder.calls == []


def test_a_query_with_half_a_character_can_be_sent():
    assert bounded("abc\ud83d\x00 ").encode() == "abc\ufffd".encode()


def test_without_an_embedder_the_reason_says_so():
    assert QueryEmbedder(None).embed("where?") == (None, "no embedding model is in use")


@pytest.mark.case(12)
def test_a_failure_is_a_reason_and_the_next_query_tries_again(caplog):
    failures = [ProviderError("503: try later"), ProviderError("503: try later")]

    def fault(texts):
        if failures:
            raise failures.pop()

    queries = QueryEmbedder(ScriptedEmbedder(fault))
    with caplog.at_level(logging.WARNING, logger="orca"):
        for _ in range(2):
            assert queries.embed("where?") == (None, "query embedding: 503: try later")
    assert len(caplog.records) == 1
    vector, reason = queries.embed("where?")
    assert vector is not None
    assert reason is None


@pytest.mark.parametrize(
    "bad", [np.zeros((1, 16)), np.full((1, 16), np.nan), np.ones((1, 8)), np.ones((2, 16))]
)
def test_an_answer_that_is_no_vector_is_a_reason(bad):
    vector, reason = QueryEmbedder(ScriptedEmbedder(lambda texts: bad)).embed("where?")
    assert vector is None
    assert reason


def test_an_error_that_an_embedder_does_not_declare_is_logged_and_does_not_reach_the_chat(caplog):
    def fault(texts):
        raise KeyError("data")

    vector, reason = QueryEmbedder(ScriptedEmbedder(fault)).embed("where?")
    assert vector is None
    assert "data" in (reason or "")
    assert caplog.records[0].exc_info is not None


@pytest.mark.case(15)
def test_a_provider_that_hangs_delays_a_recall_by_the_deadline_and_then_not_at_all():
    embedder = HangingEmbedder()
    queries = QueryEmbedder(embedder, deadline_seconds=0.05)
    for _ in range(MAX_OVERDUE):
        assert queries.embed("where?") == (None, "query embedding: no answer within 0.05 s")
    begun = time.monotonic()
    for _ in range(100):
        assert queries.embed("where?")[0] is None
    assert time.monotonic() - begun < 4  # a hundred deadlines would be five seconds
    assert len(embedder.calls) == MAX_OVERDUE
    embedder.release.set()
    deadline = time.monotonic() + 5
    while queries.embed("where?")[0] is None:  # back as soon as an overdue call has ended
        assert time.monotonic() < deadline


@pytest.mark.case(24)
def test_while_the_model_loads_keyword_serves_and_who_can_wait_gets_the_vector():
    embedder = HangingEmbedder()
    embedder.loaded = False
    queries = QueryEmbedder(embedder, deadline_seconds=0.05)
    assert queries.embed("where?") == (None, LOADING)
    waited = []
    thread = threading.Thread(target=lambda: waited.append(queries.embed("where?", wait=True)))
    thread.start()
    embedder.release.set()
    thread.join(5)
    assert waited[0][0] is not None


@pytest.mark.case(7)
def test_a_hanging_call_does_not_hold_up_the_interpreters_exit():
    program = (
        "import threading\n"
        "from tests.memory.doubles import ScriptedEmbedder\n"
        "from orca.memory.query_embedding import QueryEmbedder\n"
        "hang = ScriptedEmbedder(lambda texts: threading.Event().wait())\n"
        "print(QueryEmbedder(hang, deadline_seconds=0.05).embed('where?')[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True
    )
    assert "no answer" in done.stdout
