from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.text.analysis import (
    MAX_QUERY_TERMS,
    MAX_WORD_CHARACTERS,
    count_words,
    index_terms,
    query_terms,
)

ANY_TEXT = st.text(st.characters(), max_size=200)  # lone surrogates and NUL included


def _found(query: str, stored: str) -> bool:
    terms = set(index_terms(stored))
    return all(term in terms for term in query_terms(query))


@pytest.mark.case(27)
@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("我们下周三去上海虹桥机场接她", "上海"),
        ("我们下周三去上海虹桥机场接她", "虹桥机场"),
        ("我们下周三去上海虹桥机场接她", "我们下周三去上海虹桥机场接她"),
        ("明日は京都でラーメンを食べます", "ラーメン"),
        ("明日は京都でラーメンを食べます", "京都"),
        ("내일 서울에서 비빔밥을 먹어요", "비빔밥"),
        ("내일 서울에서 비빔밥을 먹어요", "서울"),
        ("พรุ่งนี้ไปกรุงเทพ", "กรุงเทพ"),
        ("用Python写的脚本", "python"),
        ("ラーメン", "ﾗｰﾒﾝ"),
        ("版本是ＡＢＣ１２３", "abc123"),
        ("हिन्दी में लिखा", "हिन्दी"),
        ("葛\U000e0100城市", "葛城"),
    ],
)
def test_a_word_inside_unspaced_text_is_found(stored: str, query: str) -> None:
    assert _found(query, stored)


@pytest.mark.case(27)
@pytest.mark.parametrize("word", ["café", "naïve", "Ångström", "crème brûlée", "이름", "が", "ñandú"])
@pytest.mark.parametrize("stored_form", ["NFC", "NFD"])
@pytest.mark.parametrize("query_form", ["NFC", "NFD"])
def test_normal_forms_are_equal(word: str, stored_form: str, query_form: str) -> None:
    stored = unicodedata.normalize(stored_form, f"a {word} b")  # type: ignore[arg-type]
    assert _found(unicodedata.normalize(query_form, word), stored)  # type: ignore[arg-type]


def test_accents_and_vowel_points_are_optional() -> None:
    assert _found("cafe", "Café")
    assert _found("مرحبا", "مَرْحَبًا")


def test_voiced_kana_stay_apart_from_unvoiced() -> None:
    assert index_terms("か") != index_terms("が")


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("she bought it", "buy"),
        ("they went home", "going"),
        ("two children", "child"),
        ("Running shoes", "run shoe"),
    ],
)
def test_forms_of_an_english_word_meet(stored: str, query: str) -> None:
    assert _found(query, stored)


@pytest.mark.case(3)
@pytest.mark.parametrize(
    "query",
    [
        "multi-part AND words",
        "it's",
        '"',
        "(",
        "*",
        "^",
        ":",
        "/",
        "@",
        "C++",
        "v1.2.3",
        "NEAR(",
        "a\x00b",
        "",
    ],
)
def test_operators_are_only_separators(query: str) -> None:
    assert all(term.isalnum() for term in query_terms(query))


@pytest.mark.case(3)
def test_a_query_is_bounded() -> None:
    assert len(query_terms(" ".join(f"word{n}" for n in range(10_000)))) == MAX_QUERY_TERMS
    assert len(index_terms("x" * 10_000)[0]) == MAX_WORD_CHARACTERS


@given(ANY_TEXT)
def test_terms_hold_only_letters_digits_and_marks(text: str) -> None:
    for term in index_terms(text):
        assert term
        assert all(unicodedata.category(char)[0] in "LNM" for char in term), term
        term.encode("utf-8")


@given(ANY_TEXT)
def test_every_query_term_of_a_text_is_among_its_index_terms(text: str) -> None:
    assert set(query_terms(text)) <= set(index_terms(text))


@given(ANY_TEXT, ANY_TEXT)
def test_texts_joined_by_a_space_keep_their_terms(left: str, right: str) -> None:
    assert index_terms(f"{left} {right}") == index_terms(left) + index_terms(right)


def test_a_query_drops_stop_words_unless_nothing_else_is_left() -> None:
    assert query_terms("What is the capital of France?") == ["capit", "franc"]
    assert query_terms("你是谁") != []
    assert query_terms("to be or not to be") != []


def test_emoji_leave_no_terms() -> None:
    assert index_terms("❤️ 👨‍👩‍👧 1️⃣") == ["1"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", 0),
        ("bicycle", 1),
        ("red bicycle", 2),
        ("素食", 1),
        ("虹桥机场", 2),
        ("上海 weather", 2),
        ("我只吃素的人", 2),
    ],
)
def test_two_characters_of_an_unspaced_script_count_as_a_word(query: str, words: int) -> None:
    assert count_words(query_terms(query)) == words
