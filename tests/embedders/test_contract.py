"""What every embedder promises, run over each of them."""

import numpy as np
import pytest

from orca.embedders.caching import CachingEmbedder
from orca.embedders.guarding import GuardedEmbedder
from orca.embedders.local import LocalEmbedder
from orca.embedders.openai_compatible import OpenAICompatibleEmbedder
from orca.errors import ConfigError, ProviderResponseError
from orca.testing import FakeEmbedder, FixedClock, ScriptedServer


@pytest.fixture(params=["fake", "local", "api", "cached", "guarded"])
def embedder(request):
    if request.param == "api":
        with (
            ScriptedServer() as server,
            OpenAICompatibleEmbedder(base_url=server.base_url, model="m", dimensions=1024) as embedder,
        ):
            yield embedder
    elif request.param == "local":
        yield LocalEmbedder()
    elif request.param == "cached":
        yield CachingEmbedder(FakeEmbedder())
    elif request.param == "guarded":
        yield GuardedEmbedder(FakeEmbedder(), clock=FixedClock())
    else:
        yield FakeEmbedder()


@pytest.fixture(params=["query", "document"])
def kind(request):
    return request.param


TEXTS = ["用户只吃素，下周去上海出差", "The deploy script reads its port from the environment", "短"]


def test_unit_vectors_in_the_order_given(embedder, kind):
    vectors = embedder.embed(TEXTS, kind=kind)
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, embedder.space.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    turned = embedder.embed(TEXTS[::-1], kind=kind)
    assert np.allclose(vectors, turned[::-1], atol=1e-5)
    assert np.allclose(embedder.embed(TEXTS[:1], kind=kind), vectors[:1], atol=1e-5)


def test_a_text_is_nearer_to_itself_in_other_words_than_to_another(embedder):
    query, near, far = embedder.embed(
        ["which port does the deploy script use", TEXTS[1], "my grandmother paints birds"], kind="document"
    )
    assert query @ near > query @ far


def test_no_texts_give_no_vectors(embedder, kind):
    assert embedder.embed([], kind=kind).shape == (0, embedder.space.dimensions)


@pytest.mark.case(8)
@pytest.mark.parametrize(
    "text", ["a\ud83d b", "\udc00", "left\x00right", "😀" * 50, "\u202e\ufeff x", "𠮷" * 20]
)
def test_unusual_characters_are_embedded(embedder, kind, text):
    vector = embedder.embed([text], kind=kind)
    assert np.isfinite(vector).all()


@pytest.mark.case(1)
@pytest.mark.parametrize("blank", ["", "  \n", "\x00"])
def test_a_blank_text_has_no_vector_and_costs_the_others_nothing(embedder, kind, blank):
    with pytest.raises(ProviderResponseError) as caught:
        embedder.embed([TEXTS[0], blank, TEXTS[1]], kind=kind)
    assert set(caught.value.usable) == {0, 2}
    assert set(caught.value.faults) == {1}
    expected = embedder.embed(TEXTS[:2], kind=kind)
    assert np.allclose(caught.value.usable[2], expected[1], atol=1e-5)


@pytest.mark.case(2)
def test_more_texts_than_the_limit_are_refused_before_anything_is_sent(embedder, kind):
    with pytest.raises(ConfigError, match=str(embedder.max_batch)):
        embedder.embed(["x"] * (embedder.max_batch + 1), kind=kind)


@pytest.mark.case(12)
def test_the_space_tells_two_embedders_apart(embedder):
    assert embedder.space.key
    assert embedder.space.dimensions in (512, 1024)


def test_a_text_in_place_of_a_list_is_a_mistake_and_not_many_letters(embedder, kind):
    with pytest.raises(ConfigError):
        embedder.embed("x" * 3, kind=kind)
