"""Joining the lanes: normalisation, smoothing over neighbours, weights and priors. Pure functions on arrays.

What holds for every input: scores lie in [0, 1]; a lane that is missing takes nothing away; all else equal a
better keyword or vector score never lowers a row; ties are broken by id, so that equal state gives equal order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from orca.memory.lexical import Rows
from orca.memory.retrieval_constants import (
    CLEAR_SPREAD,
    FULL_COVERAGE,
    LEXICAL_WEIGHT,
    NEIGHBOURS,
    OTHER_LANGUAGE_WEIGHT,
    SHORT_PRIOR,
    SHORT_TERMS,
    SHRINKAGE,
    SMOOTHING,
)
from orca.types import Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A row's place in a ranking: its score and relevance in [0, 1], what each lane gave, and the priors that acted."""

    id: int
    score: float
    relevance: float
    lanes: Mapping[str, Lane]
    priors: Mapping[str, float] = field(default_factory=dict)


def lexical_weight(best_coverage: float, *, mismatch: float = 0.0) -> float:
    """Return the lexical lane's weight in [0, ``LEXICAL_WEIGHT``] for a query that is covered so far.

    ``mismatch`` in [0, 1] is the mean difference between the languages of query and rows.
    """
    known = 1 - OTHER_LANGUAGE_WEIGHT * mismatch
    return LEXICAL_WEIGHT * known * min(1.0, best_coverage / FULL_COVERAGE)


def dense_trust(similarities: np.ndarray) -> float:
    """Return the share in [0, 1] of its weight that the dense lane gets, by how far its cosines lie apart."""
    known = similarities[~np.isnan(similarities)]
    return min(1.0, float(known.max() - known.min()) / CLEAR_SPREAD) if len(known) else 0.0


def level(similarities: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return cosines without what the language of a row adds to them, ``float64 [n]``; NaN stays NaN.

    ``shares`` say how much of each row is Chinese. Models put the texts of one language together, so a query is
    nearer to all rows of its own. What the share explains of the cosines, by least squares, is subtracted; with few
    rows in one of the languages less of it (ridge regression), since those few may be what is asked for.
    """
    known = ~np.isnan(similarities)
    if not known.any():
        return similarities
    apart = shares - shares[known].mean()
    spread = float((apart[known] ** 2).sum())
    slope = float(apart[known] @ similarities[known]) / (spread + SHRINKAGE)
    levelled: np.ndarray = similarities - slope * apart
    return levelled


def smoothed(similarities: np.ndarray, rows: Rows) -> np.ndarray:
    """Return z-scored cosines with those of the neighbours added, ``float64 [n]``; NaN marks rows without vector.

    Rows without a vector count as average. Raw cosines must not be added up: their mean is not zero, so a turn
    at the edge of a session, which has fewer neighbours, would lose.
    """
    known = ~np.isnan(similarities)
    if not known.any():
        return np.zeros(len(similarities))
    deviation = float(similarities[known].std())
    z = np.where(known, similarities - similarities[known].mean(), 0.0) / (
        deviation if deviation > 1e-9 else 1.0
    )
    total = SMOOTHING[0] * z
    for distance, weight in enumerate(SMOOTHING[1:], 1):
        left, right = rows.neighbours(distance)
        total[left] += weight * z[right]
        total[right] += weight * z[left]
    return total


def min_max(values: np.ndarray) -> np.ndarray:
    """Return values stretched to [0, 1]; all 1 where they are all equal."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12:
        return np.ones(len(values))
    return (values - low) / (high - low)


def share_of_best(values: np.ndarray) -> np.ndarray:
    """Return scores that are at least 0 as shares of the largest of them; all 0 where that is 0."""
    best = float(values.max(initial=0.0))
    return values / best if best > 0 else np.zeros(len(values))


def fuse(
    lexical: np.ndarray | None, dense: np.ndarray | None, *, weight: float, trust: float = 1.0
) -> np.ndarray:
    """Return ``weight`` · lexical + (1 - ``weight``) · ``trust`` · dense, or the one there is, if one is None.

    Both hold scores in [0, 1]; ``trust`` in [0, 1] is how far the dense lane can tell rows apart.
    """
    if lexical is None and dense is None:
        raise ValueError("there is no lane to fuse")
    if lexical is None or dense is None:
        return np.asarray(dense if lexical is None else lexical)
    fused: np.ndarray = weight * lexical + (1 - weight) * trust * dense
    return fused


def lift_best(scores: np.ndarray, lexical: np.ndarray, similarities: np.ndarray) -> np.ndarray:
    """Return scores in which the best keyword match is above every row whose cosine is no better.

    That is what the two lanes say; what stands around a row, and how long it is, must not say the contrary. Rows
    without a vector (NaN) have the lowest cosine. Nothing changes where several rows share the best keyword score.
    """
    if not len(scores) or lexical.max() <= 0 or np.count_nonzero(lexical == lexical.max()) > 1:
        return scores
    best = int(lexical.argmax())
    cosines = np.nan_to_num(similarities, nan=-np.inf)
    rivals = cosines <= cosines[best]
    rivals[best] = False
    if not rivals.any():
        return scores
    lifted = scores.copy()
    lifted[best] = min(1.0, max(scores[best], float(scores[rivals].max()) + 1e-9))
    return lifted


def below_exact(scores: np.ndarray, coverage: np.ndarray, rows: Rows) -> np.ndarray:
    """Return scores in which rows that hold none of a query's words are below the rows near them that hold all."""
    limits = np.full(len(scores), np.inf)
    for distance in range(1, NEIGHBOURS + 1):
        left, right = rows.neighbours(distance)
        for exact, near in ((left, right), (right, left)):
            held = (coverage[exact] > 1 - 1e-9) & (coverage[near] == 0)
            np.minimum.at(limits, near[held], scores[exact[held]])
    bounded: np.ndarray = np.minimum(scores, limits * (1 - 1e-9))
    return bounded


def length_prior(words: np.ndarray) -> np.ndarray:
    """Return the factor in (0, 1] for rows of so many words: short turns say little."""
    return 1 - SHORT_PRIOR * np.clip(1 - words / SHORT_TERMS, 0.0, 1.0)


def best_first(scores: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return indices by falling score, equal ones by rising id."""
    return np.lexsort((ids, -scores))


def ranks(values: np.ndarray, ids: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the ranks from 1 by falling value, ``int64 [n]``; 0 for the rows that are not ``present``."""
    order = best_first(np.where(present, values, -np.inf), ids)
    result = np.empty(len(ids), dtype=np.int64)
    result[order] = np.arange(1, len(ids) + 1)
    return np.where(present, result, 0)


def lanes_at(place: int, lanes: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, Lane]:
    """Return what each lane gave to the row at ``place``; ``lanes`` holds values and ``ranks`` by name."""
    return {
        name: Lane(score=float(values[place]), rank=int(lane_ranks[place]))
        for name, (values, lane_ranks) in lanes.items()
        if lane_ranks[place]
    }
