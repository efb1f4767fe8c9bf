"""Query vectors kept for a while: one turn asks the same question of several indexes."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

import numpy as np

from orca.embedders._wrapping import WrappingEmbedder
from orca.protocols import Embedder

MAX_BYTES = 4 << 20
"""About a thousand queries at 1024 numbers each."""

_Key = tuple[str, str, str]


class CachingEmbedder(WrappingEmbedder):
    """Answers a query it has seen from memory; documents pass through, as each is embedded once anyway.

    The least recently used go first once texts and vectors take more than ``max_bytes``. Safe to share.
    """

    def __init__(self, embedder: Embedder, *, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(embedder)
        self._max_bytes = max_bytes
        self._bytes = 0
        self._vectors: OrderedDict[_Key, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        """Return float32 ``[n, dimensions]``, asking the wrapped embedder only for texts that are not kept."""
        if kind != "query" or not texts or isinstance(texts, str) or len(texts) > self.max_batch:
            return self._embedder.embed(texts, kind=kind)
        space = self._embedder.space.key
        keys = [(space, kind, text) for text in texts]
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
            for key in found:
                self._vectors.move_to_end(key)
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            fresh = self._embedder.embed([text for _, _, text in missing], kind=kind)
            for key, vector in zip(missing, fresh, strict=True):
                found[key] = vector.copy()  # a row of its own, which does not keep the whole batch alive
                self._keep(key, found[key])
        return np.stack([found[key] for key in keys])

    def _keep(self, key: _Key, vector: np.ndarray) -> None:
        with self._lock:
            if key in self._vectors:
                return
            self._vectors[key] = vector
            self._bytes += _size(key, vector)
            while self._bytes > self._max_bytes:
                self._bytes -= _size(*self._vectors.popitem(last=False))


def _size(key: _Key, vector: np.ndarray) -> int:
    return sys.getsizeof(key[2]) + vector.nbytes
