"""What an embedder that wraps another takes over from it."""

from __future__ import annotations

from orca.protocols import Embedder
from orca.types import EmbeddingSpace


class WrappingEmbedder:
    """Shows the space, the limit and the state of the embedder inside; a subclass adds ``embed``."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def space(self) -> EmbeddingSpace:
        """The wrapped embedder's space."""
        return self._embedder.space

    @property
    def max_batch(self) -> int:
        """The most texts that one call of the wrapped embedder may carry."""
        return self._embedder.max_batch

    @property
    def loaded(self) -> bool:
        """Whether the wrapped embedder's model is in memory; true of one that has none to load."""
        return bool(getattr(self._embedder, "loaded", True))
