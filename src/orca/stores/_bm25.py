"""BM25 of one row, for backends that look at rows themselves instead of asking an index for the best."""

from __future__ import annotations

import math
from collections.abc import Sequence

from orca.types import KeywordMatch

BM25_K1 = 1.2
BM25_B = 0.75
"""Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework", section 3.4; FTS5 uses the same."""


def bm25(match: KeywordMatch, spread: Sequence[int], documents: int, average: float) -> float:
    """Return the row's BM25; ``spread[i]`` of the ``documents`` rows contain term i, ``average`` is their length.

    The inverse document frequency is the one with 1 added inside the logarithm, which is never negative.
    """
    score = 0.0
    for count, rows in zip(match.frequencies, spread, strict=True):
        if count:
            rarity = math.log(1 + (documents - rows + 0.5) / (rows + 0.5))
            norm = BM25_K1 * (1 - BM25_B + BM25_B * match.length / average)
            score += rarity * count * (BM25_K1 + 1) / (count + norm)
    return score
