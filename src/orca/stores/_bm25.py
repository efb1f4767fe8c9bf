"""BM25 over arrays of term frequencies: how every backend finds out which rows are the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from orca.types import KeywordMatch

BM25_K1 = 1.2
BM25_B = 0.75
"""Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework", section 3.4; FTS5 uses the same."""


def inverse_document_frequencies(spread: np.ndarray, documents: float) -> np.ndarray:
    """Return the idf of terms that ``spread[i]`` of ``documents`` rows contain, ``float64 [terms]``.

    It is the one with 1 added inside the logarithm, as in Lucene, which is never negative.
    """
    rows = np.maximum(float(documents), spread)  # counts of different moments, or estimates, may disagree
    rarity: np.ndarray = np.log1p((rows - spread + 0.5) / (spread + 0.5))
    return rarity


def bm25(
    frequencies: np.ndarray, lengths: np.ndarray, *, spread: np.ndarray, documents: int, average: float
) -> np.ndarray:
    """Return the BM25 of rows, ``float64 [n]``.

    ``frequencies`` is ``[n, terms]``, ``lengths`` the rows' numbers of index terms ``[n]`` with the mean
    ``average``; ``spread[i]`` of ``documents`` rows contain term i.
    """
    norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths / max(average, 1e-9))
    saturated = frequencies * (BM25_K1 + 1) / (frequencies + norm[:, np.newaxis])
    scores: np.ndarray = saturated @ inverse_document_frequencies(spread, documents)
    return scores


def counted(rows: Sequence[Counter[str]], terms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows' numbers of terms ``int64 [n]`` and the terms' frequencies ``int64 [n, terms]``."""
    lengths = np.array([row.total() for row in rows], dtype=np.int64)
    table = np.array([[row[term] for term in terms] for row in rows], dtype=np.int64)
    return lengths, table.reshape(len(rows), len(terms))


def best_matches(
    ids: np.ndarray, lengths: np.ndarray, frequencies: np.ndarray, scores: np.ndarray, *, limit: int
) -> tuple[KeywordMatch, ...]:
    """Return the ``limit`` best rows that hold a term, by falling score, equal ones by rising id."""
    order = np.lexsort((ids, -scores))
    order = order[frequencies[order].any(axis=1)][:limit]
    rows: Sequence[tuple[int, ...]] = list(map(tuple, frequencies[order].tolist()))
    return tuple(
        KeywordMatch(id=number, length=length, frequencies=row)
        for number, length, row in zip(ids[order].tolist(), lengths[order].tolist(), rows, strict=True)
    )
