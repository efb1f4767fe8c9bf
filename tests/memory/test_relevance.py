from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orca.memory.relevance import Background, background_of, relevance, relevant
from orca.memory.retrieval_constants import MIN_POPULATION, RELEVANCE_FLOOR
from orca.types import Hit

KNOWN = Background(mean=0.0, deviation=0.06)
HIT = Hit(kind="memory", id=1, session=None, content="x", score=1.0)


def _one(cosine: float, coverage: float, background: Background | None) -> float:
    return float(relevance(np.array([cosine]), np.array([coverage]), background)[0])


@pytest.mark.case(11)
def test_a_low_cosine_is_clear_where_unrelated_texts_have_a_lower_one() -> None:
    assert _one(0.2, 0.0, KNOWN) >= RELEVANCE_FLOOR
    assert _one(0.05, 0.0, KNOWN) < RELEVANCE_FLOOR
    assert _one(0.5, 0.0, Background(mean=0.45, deviation=0.05)) < RELEVANCE_FLOOR


@pytest.mark.case(11)
def test_a_cosine_that_cannot_be_judged_passes() -> None:
    assert _one(0.18, 0.0, None) >= RELEVANCE_FLOOR
    assert _one(np.nan, 0.0, None) == 0


def test_keywords_alone_can_show_relevance_and_weak_signs_do_not_add_up_to_one() -> None:
    assert _one(np.nan, 0.45, KNOWN) >= RELEVANCE_FLOOR
    assert _one(0.09, 0.2, KNOWN) < RELEVANCE_FLOOR
    assert _one(1.0, 1.0, KNOWN) == 1.0


def test_a_background_is_learned_from_enough_rows_and_ignores_the_few_that_match() -> None:
    unrelated = np.random.default_rng(1).normal(0.4, 0.05, size=300)
    found = background_of(np.append(unrelated, [0.9] * 10 + [np.nan]))
    assert found is not None
    assert found.mean == pytest.approx(0.4, abs=0.02)
    assert found.deviation == pytest.approx(0.05, abs=0.02)
    assert background_of(unrelated[: MIN_POPULATION - 1]) is None
    assert background_of(np.full(40, np.nan)) is None


def test_the_floor_keeps_what_is_on_it() -> None:
    hits = [replace(HIT, relevance=RELEVANCE_FLOOR), replace(HIT, relevance=RELEVANCE_FLOOR - 0.01)]
    assert relevant(hits) == hits[:1]
