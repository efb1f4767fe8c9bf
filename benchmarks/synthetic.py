"""Made-up messages and vectors for measuring speed: the same for the same numbers, on every machine.

Texts draw their words from a Zipf distribution over Chinese and English words, as those of real conversations do:
a few words stand in every second message, most in a handful of a hundred thousand. Vectors lie around centres, one
for every hundred, as those of real texts do, and not evenly over the sphere: there every vector is as far away as
any other, and no search could be right for a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from orca.types import EmbeddingSpace

SEED = 20260501
ROWS_PER_CENTRE = 100
SPREAD = 1.2
"""Length of the noise around a centre, whose length is 1: cosines of .4 within a centre and of 0 between two, which
is what short texts of one topic have."""

_NUMBER = re.compile(r"#(\d+)")
_CONSONANTS = "bcdfghjklmnprstvwz"
_VOWELS = "aeiou"
_HAN_FIRST, _HAN_LAST = 0x4E00, 0x9FA5
_COMMON = (
    "the of and to we for on with it this that is was at by".split(),
    "我们 今天 这个 可以 的 了 是 在 有 就 也 都 和 要 说".split(),
)


def vocabulary(language: Literal["en", "zh"], words: int = 20_000) -> list[str]:
    """Return made-up words, the most frequent first; those at the head are real and say nothing."""
    random = np.random.default_rng([SEED, language == "zh"])
    common = _COMMON[language == "zh"]
    made: dict[str, None] = dict.fromkeys(common)
    while len(made) < words:
        if language == "zh":
            codes = random.integers(_HAN_FIRST, _HAN_LAST, size=random.integers(2, 4))
            made["".join(map(chr, codes.tolist()))] = None
        else:
            syllables = [
                _CONSONANTS[a] + _VOWELS[b]
                for a, b in random.integers([18, 5], size=(random.integers(2, 5), 2)).tolist()
            ]
            made["".join(syllables)] = None
    return list(made)


def texts(count: int, *, start: int = 0, chunk: int = 10_000) -> Iterator[str]:
    """Yield messages from number ``start`` on, English and Chinese by turns, with their number at the end."""
    zh, en = vocabulary("zh"), vocabulary("en")
    for first in range(start - start % chunk, start + count, chunk):
        random = np.random.default_rng([SEED, 7, first])
        lengths = random.integers(6, 24, size=chunk)
        draws = np.minimum(random.zipf(1.25, size=int(lengths.sum())), len(zh)) - 1
        ends = np.cumsum(lengths)
        for place in range(chunk):
            number = first + place
            words = draws[ends[place] - lengths[place] : ends[place]].tolist()
            if start <= number < start + count:
                said = (
                    "".join(zh[word] for word in words)
                    if number % 2
                    else " ".join(en[word] for word in words)
                )
                yield f"{said} #{number}"


def centres(rows: int, dimensions: int) -> np.ndarray:
    """Return the unit vectors around which ``rows`` lie, float32 ``[centres, dimensions]``."""
    random = np.random.default_rng([SEED, 1, dimensions])
    return unit(random.standard_normal((max(rows // ROWS_PER_CENTRE, 1), dimensions), dtype=np.float32))


def vectors(rows: int, dimensions: int, *, chunk: int = 10_000) -> Iterator[np.ndarray]:
    """Yield ``rows`` unit vectors, float32 ``[up to chunk, dimensions]`` at a time."""
    middles = centres(rows, dimensions)
    random = np.random.default_rng([SEED, 2, dimensions])
    for start in range(0, rows, chunk):
        yield _around(middles, min(chunk, rows - start), random)


def queries(rows: int, dimensions: int, count: int) -> np.ndarray:
    """Return unit vectors that ask for some of ``rows``, float32 ``[count, dimensions]``; none is stored."""
    return _around(centres(rows, dimensions), count, np.random.default_rng([SEED, 3, dimensions]))


def unit(matrix: np.ndarray) -> np.ndarray:
    """Return vectors as unit vectors."""
    scaled: np.ndarray = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return scaled


def _around(middles: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    chosen = middles[random.integers(len(middles), size=count)]
    noise = random.standard_normal(chosen.shape, dtype=np.float32) * (SPREAD / chosen.shape[1] ** 0.5)
    return unit(chosen + noise)


class GivenVectors:
    """An embedder that is handed its vectors: by the number behind a text's last #, or the query's that was set last.

    So what is measured is the memory, and not a model.
    """

    max_batch = 256

    def __init__(self, rows: np.ndarray) -> None:
        """``rows`` are unit vectors float32 ``[n, dimensions]``, one for each text's number."""
        self._rows = rows
        self.query = rows[0]

    @property
    def space(self) -> EmbeddingSpace:
        """The space of made-up vectors."""
        return EmbeddingSpace(provider="made-up", model="clusters", dimensions=self._rows.shape[1])

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        """Return the vectors that belong to the texts, float32 ``[n, dimensions]``."""
        if kind == "query":
            return np.repeat(self.query[None], len(texts), axis=0)
        numbers = [int(found[-1]) if (found := _NUMBER.findall(text)) else 0 for text in texts]
        return np.ascontiguousarray(self._rows[np.array(numbers) % len(self._rows)])
