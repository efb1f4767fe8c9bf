from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest

from orca.embedders.centred import CentredEmbedder
from orca.testing import FakeEmbedder
from orca.types import EmbeddingSpace


class Loaded:
    """A double that counts its calls and knows whether it was warmed."""

    def __init__(self) -> None:
        self._inner = FakeEmbedder(dimensions=64)
        self.loaded = False
        self.batches: list[int] = []

    @property
    def space(self) -> EmbeddingSpace:
        return self._inner.space

    @property
    def max_batch(self) -> int:
        return 10

    def warm(self) -> None:
        self.loaded = True

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        self.batches.append(len(texts))
        return self._inner.embed(texts, kind=kind)


def test_documents_pass_unchanged_and_make_no_means() -> None:
    inner = Loaded()
    centred = CentredEmbedder(inner)
    texts = ["green tea", "black coffee"]
    assert np.array_equal(centred.embed(texts, kind="document"), inner.embed(texts, kind="document"))
    assert inner.batches == [2, 2]
    assert centred.space == inner.space


def test_queries_lose_the_common_direction_and_keep_unit_length() -> None:
    centred = CentredEmbedder(Loaded())
    for query in ("What is the name of my dog?", "我的狗叫什么名字？", "用 Python 写"):
        vector = centred.embed([query], kind="query")[0]
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert vector.dtype == np.float32


def test_means_are_made_once_in_batches_the_embedder_takes() -> None:
    inner = Loaded()
    centred = CentredEmbedder(inner)
    assert not centred.loaded
    centred.warm()
    assert centred.loaded
    made = len(inner.batches)
    assert max(inner.batches) <= inner.max_batch
    centred.embed(["tea"], kind="query")
    assert len(inner.batches) == made + 1


def test_no_queries_give_no_vectors() -> None:
    assert CentredEmbedder(Loaded()).embed([], kind="query").shape == (0, 64)
