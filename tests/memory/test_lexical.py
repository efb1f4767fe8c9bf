from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.memory.lexical import Lexical, score_rows
from orca.types import KeywordMatch, KeywordResult

from .placing import placed

Place = tuple[int, int, int]
Frequencies = dict[int, tuple[int, ...]]


def _scored(
    places: list[Place], frequencies: Frequencies, *, terms: list[str], documents: int = 100
) -> Lexical:
    result = KeywordResult(
        matches=tuple(
            KeywordMatch(id=i, length=10, frequencies=found) for i, found in frequencies.items() if any(found)
        ),
        document_frequencies=tuple(
            sum(found[k] > 0 for found in frequencies.values()) for k in range(len(terms))
        ),
        documents=documents,
        average_length=10.0,
    )
    return score_rows(result, placed(places, frequencies), terms=terms)


@pytest.mark.case(11)
def test_more_of_a_rare_word_scores_higher_and_never_negative() -> None:
    lexical = _scored([(1, 0, 1), (2, 0, 9), (3, 0, 19)], {1: (3,), 2: (1,)}, terms=["rare"])
    assert lexical.scores[0] > lexical.scores[1] > lexical.scores[2] == 0


def test_a_turn_between_matches_scores_through_its_neighbours_only_in_its_session() -> None:
    places = [(1, 0, 1), (2, 0, 2), (3, 0, 3), (5, 0, 6), (4, 1, 2)]
    scores = _scored(places, {1: (1, 0), 3: (0, 1)}, terms=["one", "two"]).scores
    assert scores[1] > 0
    assert scores[3] == scores[4] == 0


def test_positions_with_gaps_are_not_neighbours() -> None:
    places = [(1, 0, 1), (2, 0, 5)]
    assert _scored(places, {1: (1,)}, terms=["one"]).scores[1] == 0
    assert placed(places).before(np.array([0, 1])).tolist() == [-1, -1]


def test_coverage_counts_unseen_words_but_not_unseen_pairs() -> None:
    words = _scored([(1, 0, 1)], {1: (1, 0)}, terms=["tea", "zebra"])
    pairs = _scored([(1, 0, 1)], {1: (1, 0)}, terms=["茶", "喝茶"])
    assert words.best_coverage < 0.5
    assert pairs.best_coverage == pytest.approx(1.0)


def test_a_store_of_one_row_can_be_covered() -> None:
    lexical = _scored([(1, 0, 1)], {1: (1, 1, 0)}, terms=["x", "y", "z"], documents=1)
    assert lexical.best_coverage > 0.6


def test_nothing_found_scores_nothing() -> None:
    assert score_rows(KeywordResult(), placed([(1, 0, 1)]), terms=[]).scores.tolist() == [0]
    assert score_rows(KeywordResult(), placed([]), terms=["x"]).best_coverage == 0


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 12)), min_size=1, max_size=20, unique=True),
    st.data(),
)
def test_one_occurrence_more_never_lowers_any_row(places: list[tuple[int, int]], data: st.DataObject) -> None:
    rows = [(number, session, position) for number, (session, position) in enumerate(places, 1)]
    frequencies = {
        number: data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
        for number in range(1, len(places) + 1)
    }
    lucky = data.draw(st.integers(1, len(places)))
    more = dict(frequencies)
    more[lucky] = (more[lucky][0] + 1, more[lucky][1])
    result = KeywordResult(
        matches=(KeywordMatch(id=lucky, length=10, frequencies=more[lucky]),),
        document_frequencies=tuple(sum(f[k] > 0 for f in frequencies.values()) for k in range(2)),
        documents=100,
        average_length=10.0,
    )
    before, after = (
        score_rows(result, placed(rows, given), terms=["x", "y"]) for given in (frequencies, more)
    )
    assert (after.scores >= before.scores - 1e-9).all()
    assert ((before.coverage >= 0) & (before.coverage <= 1 + 1e-9)).all()
