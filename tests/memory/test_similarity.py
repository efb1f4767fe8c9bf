"""Repeats are recognised; what differs in anything that matters is never taken for one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.memory.similarity import adds_detail, denies, fingerprint, same_statement, similarity

SAME = [
    ("用户只吃素", "用户只吃素。"), ("用户很喜欢猫", "用户喜欢猫"), ("The user lives in Paris.", "the user lives in paris"),
    ("The user lives in Paris", "The user is living in Paris"), ("Ｗorks at ＡＢＣ！", "works at abc"),
    ("The user really likes hiking in the mountains", "The user likes hiking in the mountains"),
    ("The team meets every Monday morning at the office", "The team meets every Monday morning at the main office"),
]  # fmt: skip
DIFFERENT = [
    ("Deadline 15 October", "Deadline 16 October"), ("port 8080", "port 8081"), ("The box has a lid", "The box has not a lid"),
    ("用户打算明年夏天和家人一起去苏州旅游", "用户打算明年夏天和家人一起去杭州旅游"), ("用户吃牛肉", "用户不吃牛肉"), ("It costs $5", "It costs €5"),
    ("The route is 5 km long", "The route is 5 miles long"), ("The user likes C++", "The user likes C#"), ("The user likes C", "The user likes C++"),
    ("Alice manages Bob in the sales team", "Bob manages Alice in the sales team"), ("The user was a vegan", "The user is a vegan"),
    ("会议在下周三下午三点", "会议在下周三下午四点"), ("The limit is 1.5 GB for each user", "The limit is 15 GB for each user"),
    ("The whole team meets every Monday at the office", "The whole team meets every Monday at the Berlin office"),
    ("用户喜欢苹果手机和华为平板", "用户喜欢华为手机和苹果平板"), ("The temperature is -5 degrees", "The temperature is 5 degrees"),
    ("用户曾经很喜欢喝咖啡和红茶", "用户很喜欢喝咖啡和红茶"), ("The user never eats breakfast at home", "The user eats breakfast at home"),
    ("用户喜欢🍎", "用户喜欢🍊"), ("The user may move to Rome next year", "The user will move to Rome next year"), ("他喜欢猫", "她喜欢猫"),
]  # fmt: skip


@pytest.mark.case(16)
@pytest.mark.parametrize(("a", "b"), SAME)
def test_a_repeat_in_other_dress_is_a_repeat(a: str, b: str) -> None:
    assert same_statement(a, b)
    assert same_statement(b, a)


@pytest.mark.case(16)
@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_what_differs_in_something_that_matters_is_never_the_same(a: str, b: str) -> None:
    assert not same_statement(a, b)
    assert not same_statement(b, a)


@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("用户吃牛肉", "用户不吃牛肉"),
        ("The user has a car", "The user has not a car"),
        ("The user eats meat.", "The user does not eat meat."),
        ("The user drinks coffee", "The user never drinks coffee"),
        ("The user doesn't own a bike", "The user owns a bike"),
    ],
)
def test_a_denial_is_recognised_both_ways(a: str, b: str) -> None:
    assert denies(a, b)
    assert denies(b, a)


@pytest.mark.parametrize(
    ("a", "b"), [*SAME, ("用户吃牛肉", "用户不吃猪肉"), ("", "not"), ("用户非常喜欢猫", "用户喜欢猫")]
)
def test_nothing_else_is_a_denial(a: str, b: str) -> None:
    assert not denies(a, b)


@given(st.text(max_size=60))
def test_form_width_and_case_do_not_count(text: str) -> None:
    assert fingerprint(unicodedata.normalize("NFD", text)) == fingerprint(unicodedata.normalize("NFC", text))
    assert fingerprint(f"  {text} 。") == fingerprint(text)


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_symmetric_and_bounded(a: str, b: str) -> None:
    assert similarity(a, b) == similarity(b, a)
    assert 0.0 <= similarity(a, b) <= 1.0
    assert same_statement(a, b) == same_statement(b, a)
    assert similarity(a, a) == 1.0


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.sampled_from(["the server listens on port {}", "用户的服务器端口是 {} 号", "deadline {} October"]),
)
def test_numbers_separate(first: int, second: int, template: str) -> None:
    assert same_statement(template.format(first), template.format(second)) == (first == second)


def test_the_longer_of_two_repeats_adds_detail() -> None:
    assert adds_detail("The user likes black tea", "The user likes tea")
    assert not adds_detail("The user really likes tea", "The user likes tea")
