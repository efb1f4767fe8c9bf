"""What every embedder does with a call: prefix and clean the texts, check the vectors, keep the good ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from orca.errors import ConfigError, ProviderResponseError
from orca.text.normalize import clean
from orca.types import EmbeddingSpace

MIN_NORM = 1e-6
"""A vector shorter than this has no direction that could be trusted in float32."""


class Batch:
    """The texts of one call that can be sent, and the outcome for each of the texts given.

    ``texts`` are cleaned, carry their prefix and are never blank; ``set`` takes outcomes by position in them.
    Raises ``ConfigError`` for more texts than ``max_batch``.
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        space: EmbeddingSpace,
        kind: Literal["query", "document"],
        max_batch: int,
    ) -> None:
        if isinstance(texts, str):
            raise ConfigError("embed takes a list of texts, not one text")
        if len(texts) > max_batch:
            raise ConfigError(f"one call takes at most {max_batch} texts, not {len(texts)}")
        self.size = len(texts)
        self.texts: list[str] = []
        self._positions: list[int] = []
        self._vectors: dict[int, np.ndarray] = {}
        self._faults: dict[int, str] = {}
        self._dimensions = space.dimensions
        prefix = space.query_prefix if kind == "query" else space.document_prefix
        for position, text in enumerate(texts):
            # A NUL is legal in JSON, yet some servers cut the text there; a space parts words just as well.
            cleaned = clean(text).replace("\x00", " ").strip()
            if cleaned:
                self.texts.append(prefix + cleaned)
                self._positions.append(position)
            else:
                self._faults[position] = "a blank text has no vector"

    def set(self, place: int, outcome: np.ndarray | str) -> None:
        """Record the vector of ``texts[place]``, or the reason why it has none."""
        position = self._positions[place]
        if isinstance(outcome, str):
            self._faults[position] = outcome
        else:
            self._vectors[position] = outcome

    def result(self) -> np.ndarray:
        """Return float32 ``[n, dimensions]``. Raises ``ProviderResponseError`` unless every text has its vector."""
        for position in self._positions:
            if position not in self._vectors:
                self._faults.setdefault(position, "the answer holds no vector for this text")
        if self._faults:
            first = min(self._faults)
            raise ProviderResponseError(
                f"{len(self._faults)} of {self.size} texts have no vector; text {first}: {self._faults[first]}",
                usable=self._vectors,
                faults=self._faults,
            )
        out = np.empty((self.size, self._dimensions), dtype=np.float32)
        for position, vector in self._vectors.items():
            out[position] = vector
        return out


def to_unit(values: Any, dimensions: int) -> np.ndarray | str:
    """Return ``values`` as a unit vector float32 ``[dimensions]``, or the reason why that cannot be."""
    if not isinstance(values, list | np.ndarray):
        return "the vector is missing" if values is None else "the vector is not a list of numbers"
    if len(values) != dimensions:
        return f"the vector has {len(values)} numbers, not {dimensions}: check the model and `dimensions`"
    if isinstance(values, list) and not all(type(value) in (int, float) for value in values):
        return "the vector holds something that is not a number"
    try:
        vector = np.asarray(values, dtype=np.float64)
    except OverflowError:
        return "the vector holds a number without bounds"
    if not np.isfinite(vector).all():
        return "the vector holds NaN or an infinite number"
    largest = float(np.abs(vector).max())
    if largest < MIN_NORM:
        return "the vector is zero"
    vector = vector / largest  # so that squares neither overflow nor vanish
    return (vector / np.linalg.norm(vector)).astype(np.float32)
