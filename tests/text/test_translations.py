"""What a query is searched for: its words, the dictionary's words in it, and their translations."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.text.analysis import MAX_QUERY_TERMS, STOP_TERMS, index_terms, query_terms
from orca.text.translations import MAX_SEARCHED_TERMS, QueryWords


def _concepts(query: str) -> list[list[str]]:
    words = QueryWords.of(query)
    return [
        ["+".join(words.terms[place] for place in variant) for variant in concept]
        for concept in words.concepts
    ]


@pytest.mark.parametrize(
    ("query", "row"),
    [
        ("Which hospital is it?", "她在医院上班"),
        ("我女儿在哪所学校", "My daughter likes her new school"),
        ("图书馆几点关门", "the library is closed"),
        ("library", "图书馆"),
    ],
)
@pytest.mark.case(27)
def test_a_word_is_found_in_the_other_language(query: str, row: str) -> None:
    held = set(index_terms(row))
    words = QueryWords.of(query)
    assert any(
        all(words.terms[place] in held for place in variant)
        for concept in words.concepts
        for variant in concept
    )


def test_a_word_and_its_translations_are_one_concept() -> None:
    assert _concepts("cat") == [["cat", "猫"]]
    assert ["医院", "hospit", "clinic"] in _concepts("上海的医院")


def test_the_longest_word_wins_and_what_straddles_two_is_left_out() -> None:
    assert [concept[0] for concept in _concepts("飞机票")] == ["飞机", "票", "机票"]
    assert not any("院上" in variant for concept in _concepts("医院上班") for variant in concept)


@pytest.mark.case(27)
def test_a_name_keeps_its_pairs_though_one_of_its_characters_is_a_word() -> None:
    assert ["江陵"] in _concepts("江陵路")
    assert ["陵路"] in _concepts("江陵路")


def test_words_that_the_dictionary_lacks_stay_as_they_are() -> None:
    assert _concepts("Zweibrücken") == [[index_terms("Zweibrücken")[0]]]


@given(st.text(max_size=200))
def test_own_terms_come_first_and_every_concept_can_be_looked_up(query: str) -> None:
    words = QueryWords.of(query)
    own = query_terms(query)
    assert list(words.terms[: len(own)]) == own
    assert len(set(words.terms)) == len(words.terms) <= max(MAX_SEARCHED_TERMS, len(own))
    assert all(0 <= place < len(words.terms) for c in words.concepts for v in c for place in v)
    assert all(variant for concept in words.concepts for variant in concept)
    assert bool(words.concepts) == bool(own)


def test_a_long_query_is_bounded() -> None:
    words = QueryWords.of("医院学校公司图书馆老师医生朋友 house family money weather " * 50)
    assert len(words.terms) <= MAX_SEARCHED_TERMS
    assert len(QueryWords.of(" ".join(f"word{n}" for n in range(999))).terms) == MAX_QUERY_TERMS


def test_every_line_of_the_list_has_both_sides() -> None:
    text = resources.files("orca.text").joinpath("translations.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            left, _, right = line.partition(": ")
            assert left.split(), line
            assert left.isascii(), line
            assert right.split(), line
            assert all(word not in STOP_TERMS for word in right.split() if len(word) == 1), line
