from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from orca.memory.fusion import (
    below_exact,
    best_first,
    dense_trust,
    fuse,
    length_prior,
    level,
    lexical_weight,
    lift_best,
    min_max,
    ranks,
    share_of_best,
    smoothed,
)
from orca.memory.retrieval_constants import LEXICAL_WEIGHT, OTHER_LANGUAGE_WEIGHT

from .placing import placed

SHARES = arrays(np.float64, st.shared(st.integers(1, 12), key="n"), elements=st.floats(0, 1))
COSINES = arrays(
    np.float64, st.shared(st.integers(1, 12), key="n"), elements=st.floats(-1, 1) | st.just(np.nan)
)
WEIGHTS = st.floats(0, 1).map(lexical_weight)


@given(SHARES, SHARES, WEIGHTS)
def test_scores_lie_between_0_and_1(lexical: np.ndarray, dense: np.ndarray, weight: float) -> None:
    fused = fuse(lexical, dense, weight=weight)
    assert ((fused >= 0) & (fused <= 1 + 1e-12)).all()


@pytest.mark.case(11)
@given(SHARES, SHARES, WEIGHTS, st.data())
def test_a_better_keyword_score_never_lowers_a_row(
    lexical: np.ndarray, dense: np.ndarray, weight: float, data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, len(lexical) - 1))
    better = lexical.copy()
    better[row] = data.draw(st.floats(float(lexical[row]), 1))
    ids = np.arange(len(lexical))
    before = best_first(fuse(lexical, dense, weight=weight), ids).tolist().index(row)
    after = best_first(fuse(better, dense, weight=weight), ids).tolist().index(row)
    assert after <= before


@pytest.mark.case(11)
@given(SHARES, SHARES, WEIGHTS)
def test_a_row_with_a_keyword_is_not_below_one_without_that_is_no_nearer(
    lexical: np.ndarray, dense: np.ndarray, weight: float
) -> None:
    fused = fuse(lexical, dense, weight=weight)
    for left in range(len(fused)):
        for right in range(len(fused)):
            if lexical[left] > 0 == lexical[right] and dense[left] >= dense[right]:
                assert fused[left] >= fused[right]


@given(SHARES)
def test_a_missing_lane_takes_nothing_away(values: np.ndarray) -> None:
    assert fuse(values, None, weight=0.3).tolist() == values.tolist()
    assert fuse(None, values, weight=0.3).tolist() == values.tolist()


def test_no_lane_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="no lane"):
        fuse(None, None, weight=0.5)


@given(COSINES)
def test_smoothing_is_total(cosines: np.ndarray) -> None:
    rows = placed((n, n % 2, n) for n in range(len(cosines)))
    assert np.isfinite(smoothed(cosines, rows)).all()
    assert np.isfinite(min_max(smoothed(cosines, rows))).all()


def test_the_edge_of_a_session_is_no_handicap() -> None:
    # Of four equal turns and one that is worse, the edge must not lose to the middle for want of neighbours.
    rows = placed((n, 0, n) for n in range(1, 8))
    similarities = np.array([0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert best_first(smoothed(similarities, rows), rows.ids)[0] == 0


def test_ties_are_broken_by_id() -> None:
    assert best_first(np.array([0.5, 0.5, 0.9]), np.array([7, 3, 9])).tolist() == [2, 1, 0]


def test_ranks_leave_out_absent_rows() -> None:
    values = np.array([0.2, np.nan, 0.7])
    assert ranks(values, np.array([1, 2, 3]), ~np.isnan(values)).tolist() == [2, 0, 1]


def test_junk_keywords_weigh_little() -> None:
    assert lexical_weight(1.0) == LEXICAL_WEIGHT
    assert lexical_weight(0.05) < 0.1 * LEXICAL_WEIGHT + 1e-9
    assert lexical_weight(0.0) == 0


def test_shapes_that_carry_no_information() -> None:
    assert min_max(np.array([0.4, 0.4])).tolist() == [1, 1]
    assert min_max(np.array([])).tolist() == []
    assert share_of_best(np.zeros(3)).tolist() == [0, 0, 0]
    assert length_prior(np.array([0, 100])).tolist() == [0.8, 1.0]


@pytest.mark.case(11)
def test_cosines_that_lie_close_together_have_little_say() -> None:
    assert dense_trust(np.array([0.02, 0.03, np.nan])) == pytest.approx(0.05)
    assert dense_trust(np.array([0.1, 0.7])) == 1
    assert dense_trust(np.array([np.nan])) == 0


@pytest.mark.case(11)
@given(SHARES, SHARES, COSINES)
def test_the_best_keyword_match_is_below_none_that_is_no_nearer(
    scores: np.ndarray, lexical: np.ndarray, cosines: np.ndarray
) -> None:
    lifted = lift_best(scores * 0.9, lexical, cosines)
    best = int(lexical.argmax())
    if lexical[best] > 0 and (lexical == lexical[best]).sum() == 1:
        nearness = np.nan_to_num(cosines, nan=-np.inf)
        for row in range(len(lexical)):
            assert row == best or nearness[row] > nearness[best] or lifted[best] > lifted[row]
    assert ((lifted >= 0) & (lifted <= 1)).all()


@pytest.mark.case(11)
def test_rows_without_the_words_are_below_the_exact_matches_near_them() -> None:
    rows = placed((n, 0, n) for n in (1, 2, 3, 9))
    scores = np.array([0.9, 0.4, 0.6, 0.8])
    bounded = below_exact(scores, np.array([0.0, 1.0, 0.5, 0.0]), rows)
    assert bounded[0] < bounded[1] == 0.4
    assert bounded[2:].tolist() == [0.6, 0.8]  # holds one of the words; stands elsewhere


def test_a_language_is_not_nearer_by_itself() -> None:
    shares = np.array([1.0] * 20 + [0.0] * 20)
    cosines = np.where(shares > 0, 0.5, 0.1) + np.linspace(0, 0.05, 40)
    levelled = level(cosines, shares)
    assert abs(levelled[:20].mean() - levelled[20:].mean()) < 0.5 * abs(
        cosines[:20].mean() - cosines[20:].mean()
    )
    assert (np.diff(levelled[:20]) > 0).all()


def test_where_all_is_in_one_language_cosines_stay() -> None:
    cosines = np.array([0.1, np.nan, 0.3])
    assert np.allclose(level(cosines, np.ones(3)), cosines, equal_nan=True)
    assert np.isnan(level(np.full(2, np.nan), np.array([0.0, 1.0]))).all()


def test_the_one_row_in_another_language_keeps_most_of_its_lead() -> None:
    shares = np.array([0.0] * 30 + [1.0])
    levelled = level(np.array([0.1] * 30 + [0.6]), shares)
    assert levelled[-1] - levelled[0] > 0.4


def test_words_weigh_less_among_rows_in_another_language() -> None:
    assert lexical_weight(1.0, mismatch=1.0) == pytest.approx((1 - OTHER_LANGUAGE_WEIGHT) * LEXICAL_WEIGHT)
