from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from orca.errors import ConfigError, ProviderError, ProviderResponseError
from orca.protocols import Completion
from orca.testing import FakeEmbedder, FixedClock, ScriptedModel


def test_the_clock_moves_only_when_told():
    clock = FixedClock(datetime(2026, 3, 1, 8, tzinfo=timezone(timedelta(hours=8))))
    assert clock.now() == datetime(2026, 3, 1, tzinfo=UTC)
    assert clock.now().tzinfo is UTC
    clock.advance(90)
    assert clock.now() == datetime(2026, 3, 1, 0, 1, 30, tzinfo=UTC)
    with pytest.raises(ConfigError):
        FixedClock(datetime(2026, 3, 1))  # noqa: DTZ001


@pytest.mark.parametrize("dimensions", [2, 8, 100, 512, 1024])
def test_fake_vectors_are_deterministic_unit_vectors(dimensions):
    texts = ["a b", "!!!", "用户只吃素", "the of"]
    first = FakeEmbedder(dimensions).embed(texts, kind="query")
    assert np.array_equal(first, FakeEmbedder(dimensions).embed(texts, kind="document"))
    assert np.allclose(np.linalg.norm(first, axis=1), 1, atol=1e-5)


def test_shared_words_make_texts_near():
    query, near, far = FakeEmbedder().embed(
        ["用户的饮食偏好", "饮食偏好：素食", "deploy the server"], kind="document"
    )
    assert query @ near > 0.3
    assert abs(query @ far) < 0.15


def test_fake_failures_by_text():
    embedder = FakeEmbedder(8, fails=lambda text: "bad" in text and "spoilt")
    with pytest.raises(ProviderResponseError) as caught:
        embedder.embed(["a", "bad", "c"], kind="document")
    assert caught.value.faults == {1: "spoilt"}
    assert set(caught.value.usable) == {0, 2}
    embedder.fails = lambda _: ProviderError("down")
    with pytest.raises(ProviderError, match="down"):
        embedder.embed(["a"], kind="query")
    assert embedder.calls == [(("a", "bad", "c"), "document"), (("a",), "query")]


def test_a_script_of_replies():
    model = ScriptedModel(
        ["one", Completion(text="two"), ProviderError("three"), lambda messages: messages[0]["content"]]
    )
    ask = [{"role": "user", "content": "four"}]
    assert model.complete(ask, json_schema={"type": "object"}).text == "one"
    assert model.complete(ask).text == "two"
    with pytest.raises(ProviderError, match="three"):
        model.complete(ask)
    assert model.complete(ask).text == "four"
    with pytest.raises(AssertionError, match="beyond its script"):
        model.complete(ask)
    assert model.calls[0] == ask
    assert model.schemas[:2] == [{"type": "object"}, None]


def test_one_function_answers_every_call():
    model = ScriptedModel(lambda messages: f"{len(messages)}")
    assert [model.complete([{}] * n).text for n in (1, 2)] == ["1", "2"]
