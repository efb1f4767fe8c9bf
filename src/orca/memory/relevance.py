"""Whether a row has to do with a query at all, on a scale that can be compared across queries and models.

A fused score only orders the rows of one query: the best of twenty unrelated facts scores as high as a true
match. And a cosine says nothing by itself: unrelated texts lie near 0 in one embedding space and near .4 in
another. So the cosine is measured against what unrelated texts have in the same space, in standard deviations,
and joined with the share of the query's keywords that the row holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orca.memory.retrieval_constants import CLEAR_COVERAGE, CLEAR_DEVIATIONS, MIN_POPULATION, RELEVANCE_FLOOR
from orca.types import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """The cosine similarity that a query has with unrelated texts: its mean and its standard deviation."""

    mean: float
    deviation: float


def background_of(similarities: np.ndarray) -> Background | None:
    """Return the background of a population of cosines, or None where it is too small to tell.

    Most rows of a store have nothing to do with a given query. Median and quartile are used, because the few
    that have lie far out on one side.
    """
    known = similarities[~np.isnan(similarities)]
    if len(known) < MIN_POPULATION:
        return None
    middle, low = float(np.median(known)), float(np.percentile(known, 25))
    # The lower quartile of a normal distribution lies .6745 deviations below its mean.
    return Background(mean=middle, deviation=max((middle - low) / 0.6745, 1e-3))


def relevance(similarities: np.ndarray, coverage: np.ndarray, background: Background | None) -> np.ndarray:
    """Return how sure it is that each row concerns the query, ``float64 [n]`` in [0, 1].

    ``similarities`` are cosines with NaN for rows without a vector; ``coverage`` the share of the query's idf
    that the row holds. ``CLEAR_DEVIATIONS`` above the background or ``CLEAR_COVERAGE`` of the keywords reach
    ``RELEVANCE_FLOOR``, and so do seven tenths of both: they are joined as sides of a right angle, since plain
    addition lets two weak signs pass for one clear one. Without a background a cosine cannot be judged, and a
    row that has one passes: a wrong fact costs some tokens, a lost one the answer.
    """
    keyword = coverage / CLEAR_COVERAGE
    if background is None:
        dense = np.where(np.isnan(similarities), 0.0, 1.0)
    else:
        deviations = (
            np.nan_to_num(similarities, nan=background.mean) - background.mean
        ) / background.deviation
        dense = np.maximum(deviations, 0.0) / CLEAR_DEVIATIONS
    result: np.ndarray = np.clip(np.hypot(keyword, dense) * RELEVANCE_FLOOR, 0.0, 1.0)
    return result


def relevant(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits at or above ``RELEVANCE_FLOOR``: those that may enter a prompt unasked.

    A search that the user asked for shows every hit; this floor is for what is injected automatically.
    """
    return [hit for hit in hits if hit.relevance >= RELEVANCE_FLOOR]
