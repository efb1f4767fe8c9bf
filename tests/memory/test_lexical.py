from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.memory.lexical import Lexical, place_rows, score_rows
from orca.text.analysis import index_terms
from orca.text.translations import QueryWords
from orca.types import KeywordMatch, KeywordResult, Placements

from .placing import placed

Place = tuple[int, int, int]
Frequencies = dict[int, tuple[int, ...]]


def _scored(
    places: list[Place],
    frequencies: Frequencies,
    *,
    terms: list[str] | None = None,
    query: QueryWords | None = None,
    documents: int = 100,
) -> Lexical:
    words = query or QueryWords.plain(terms or [])
    result = KeywordResult(
        matches=tuple(
            KeywordMatch(id=i, length=10, frequencies=found) for i, found in frequencies.items() if any(found)
        ),
        document_frequencies=tuple(
            sum(found[k] > 0 for found in frequencies.values()) for k in range(len(words.terms))
        ),
        documents=documents,
        average_length=10.0,
    )
    return score_rows(result, placed(places, frequencies), query=words)


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
    assert score_rows(KeywordResult(), placed([(1, 0, 1)]), query=QueryWords.plain([])).scores.tolist() == [0]
    assert score_rows(KeywordResult(), placed([]), query=QueryWords.plain(["x"])).best_coverage == 0


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
        score_rows(result, placed(rows, given), query=QueryWords.plain(["x", "y"]))
        for given in (frequencies, more)
    )
    assert (after.scores >= before.scores - 1e-9).all()
    assert ((before.coverage >= 0) & (before.coverage <= 1 + 1e-9)).all()


def test_a_translation_counts_as_the_word_itself() -> None:
    words = QueryWords(("cat", "food", "猫"), (((0,), (2,)), ((1,),)))
    lexical = _scored([(1, 0, 1), (2, 1, 1)], {1: (1, 0, 0), 2: (0, 0, 1)}, query=words)
    assert lexical.scores[0] == lexical.scores[1] > 0
    assert lexical.coverage[0] == lexical.coverage[1] > 0


def test_a_word_of_several_pairs_occurs_where_all_of_them_do() -> None:
    words = QueryWords(("图书", "书馆"), (((0, 1),),))
    lexical = _scored([(1, 0, 1), (2, 1, 1)], {1: (1, 1), 2: (1, 0)}, query=words)
    assert lexical.scores[0] > 0
    assert lexical.scores[1] == 0


def test_lengths_tell_which_rows_are_chinese() -> None:
    texts = [
        "we moved to a flat near the office",
        "我们搬到了公司附近的一套公寓",
        "我在 Stripe 上班，做 backend",
        "",
    ]
    places = np.arange(len(texts))
    rows = place_rows(
        Placements(
            ids=places,
            sessions=np.zeros(len(texts), dtype=np.int64),
            positions=places,
            lengths=np.array([len(index_terms(text)) for text in texts]),
            characters=np.array([len(text) for text in texts]),
            frequencies=np.zeros((len(texts), 0), dtype=np.int64),
        )
    )
    english, chinese, mixed, nothing = rows.cjk.tolist()
    assert english == nothing == 0
    assert chinese > 0.9
    assert 0.2 < mixed < chinese
    assert rows.words[1] < len(texts[1])
