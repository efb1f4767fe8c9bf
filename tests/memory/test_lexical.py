from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.memory.lexical import place_rows, score_rows
from orca.types import KeywordMatch, KeywordResult, Placement


def _rows(*places: tuple[int, str, int]):
    return place_rows([Placement(id=i, session=s, position=p, length=10) for i, s, p in places])


def _result(frequencies: dict[int, tuple[int, ...]], *, documents: int = 100) -> KeywordResult:
    count = len(next(iter(frequencies.values())))
    return KeywordResult(
        matches=tuple(
            KeywordMatch(id=i, session="", position=0, length=10, frequencies=found)
            for i, found in frequencies.items()
        ),
        document_frequencies=tuple(sum(found[k] > 0 for found in frequencies.values()) for k in range(count)),
        documents=documents,
        average_length=10.0,
    )


@pytest.mark.case(11)
def test_more_of_a_rare_word_scores_higher_and_never_negative() -> None:
    rows = _rows((1, "a", 1), (2, "a", 9), (3, "a", 19))
    lexical = score_rows(_result({1: (3,), 2: (1,)}), rows, terms=["rare"])
    assert lexical.scores[0] > lexical.scores[1] > lexical.scores[2] == 0


def test_a_turn_between_matches_scores_through_its_neighbours_only_in_its_session() -> None:
    rows = _rows((1, "a", 1), (2, "a", 2), (3, "a", 3), (4, "b", 2), (5, "a", 6))
    lexical = score_rows(_result({1: (1, 0), 3: (0, 1)}), rows, terms=["one", "two"])
    by_id = dict(zip(rows.ids.tolist(), lexical.scores.tolist(), strict=True))
    assert by_id[2] > 0
    assert by_id[4] == by_id[5] == 0


def test_positions_with_gaps_are_not_neighbours() -> None:
    rows = _rows((1, "a", 1), (2, "a", 5))
    assert score_rows(_result({1: (1,)}), rows, terms=["one"]).scores[1] == 0
    assert rows.before(np.array([0, 1])).tolist() == [-1, -1]


def test_coverage_counts_unseen_words_but_not_unseen_pairs() -> None:
    rows = _rows((1, "a", 1))
    words = score_rows(_result({1: (1, 0)}), rows, terms=["tea", "zebra"])
    pairs = score_rows(_result({1: (1, 0)}), rows, terms=["茶", "喝茶"])
    assert words.best_coverage < 0.5
    assert pairs.best_coverage == pytest.approx(1.0)


def test_a_store_of_one_row_can_be_covered() -> None:
    rows = _rows((1, "a", 1))
    assert score_rows(_result({1: (1, 1, 0)}, documents=1), rows, terms=["x", "y", "z"]).best_coverage > 0.6


def test_nothing_found_scores_nothing() -> None:
    assert score_rows(KeywordResult(), _rows((1, "a", 1)), terms=[]).scores.tolist() == [0]
    assert score_rows(KeywordResult(), _rows(), terms=["x"]).best_coverage == 0


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 12)), min_size=1, max_size=20, unique=True),
    st.data(),
)
def test_one_occurrence_more_never_lowers_any_row(places: list[tuple[int, int]], data: st.DataObject) -> None:
    rows = _rows(*[(number, str(session), position) for number, (session, position) in enumerate(places, 1)])
    frequencies = {
        number: data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
        for number in range(1, len(places) + 1)
    }
    result = _result(frequencies)
    lucky = data.draw(st.integers(1, len(places)))
    more = KeywordResult(
        matches=tuple(
            KeywordMatch(
                id=m.id,
                session="",
                position=0,
                length=10,
                frequencies=(m.frequencies[0] + (m.id == lucky), m.frequencies[1]),
            )
            for m in result.matches
        ),
        document_frequencies=result.document_frequencies,
        documents=result.documents,
        average_length=result.average_length,
    )
    before, after = (score_rows(one, rows, terms=["x", "y"]) for one in (result, more))
    assert (after.scores >= before.scores - 1e-9).all()
    assert ((before.coverage >= 0) & (before.coverage <= 1 + 1e-9)).all()
