"""Priors: what is asked for beyond the topic, and which turns gain by it."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.memory.message_priors import Asked, message_priors
from orca.memory.retrieval_constants import MAX_PRIOR
from orca.types import Message

TODAY = date(2026, 5, 13)  # a Wednesday


def said(text: str, day: int = 1, **fields) -> Message:
    given = {"role": "user", "content": text, "timestamp": datetime(2026, 5, day, 12, tzinfo=UTC)}
    return Message(**(given | fields))


@pytest.mark.case(30)
@pytest.mark.parametrize(
    ("query", "day", "near"),
    [
        ("what did I say yesterday", 12, True),
        ("what did I say yesterday", 5, False),
        ("我上周说了什么", 6, True),
        ("我上周说了什么", 1, False),
        ("who called two days ago", 11, True),
        ("上个月的体检", 10, False),
    ],
)
def test_days_named_relative_to_today_lift_the_turns_of_those_days(query, day, near):
    asked = Asked.of(query, [], today=TODAY)
    assert ("date" in message_priors(said("the plumber", day), None, asked)) is near


def test_days_to_come_lift_nothing_and_without_a_clock_nothing_is_relative():
    assert Asked.of("what happens next month", [], today=TODAY).periods == ()
    assert Asked.of("what happened yesterday", []).periods == ()


@pytest.mark.parametrize(
    ("role", "text", "before", "lifted"),
    [
        ("user", "I moved to Hangzhou", None, True),
        ("assistant", "Congratulations.", "I moved to Hangzhou", False),
        ("assistant", "Try the night train.", "How do I get there?", True),
        ("assistant", "Which city?", "I moved", True),
    ],
)
def test_only_comments_of_the_assistant_do_not_tell(role, text, before, lifted):
    previous = None if before is None else said(before)
    factors = message_priors(said(text, role=role), previous, Asked.of("where do I live", []))
    assert ("teller" in factors) is lifted


@pytest.mark.parametrize("query", ["what did you recommend", "你推荐了什么"])
def test_a_query_to_the_assistant_prefers_nobody(query):
    asked = Asked.of(query, [])
    assert "teller" not in message_priors(said("I moved"), None, asked)


def test_named_speakers_are_told_apart_by_name_alone():
    anna, ben = said("tea", name="Anna"), said("tea", name="Ben")
    asked = Asked.of("what does Anna drink", [anna, ben])
    assert "speaker" in message_priors(anna, None, asked)
    assert not message_priors(ben, None, asked)


@given(
    st.sampled_from(["user", "assistant"]),
    st.sampled_from([None, "Anna", "Ben"]),
    st.sampled_from(["Anna yesterday?", "我5月12日说了什么", "you", "Ben on 12 May"]),
    st.sampled_from(["ok", "Really?", "really？"]),
)
def test_the_product_of_priors_is_bounded(role, name, query, text):
    message = said(text, 12, role=role, name=name)
    before = said("When?", 12, name="Ben" if name == "Anna" else "Anna")
    asked = Asked.of(query, [message, before], today=TODAY)
    assert 0 < math.prod(message_priors(message, before, asked).values()) <= MAX_PRIOR


@pytest.mark.parametrize(
    ("query", "text", "prior"),
    [
        ("When does the course start?", "It starts on Monday.", "time"),
        ("体检是哪天", "六月二号上午去体检", "time"),
        ("what time is the train", "the train leaves at 7:30", "time"),
        ("How many people came?", "Nineteen, I counted twelve chairs", "amount"),
        ("房租多少", "房租一个月五千四", "amount"),
        ("How much is the rent?", "I pay 620 including bills", "amount"),
        ("When does the course start?", "I have two cats", None),
        ("Who came?", "Nineteen people on Monday", None),
        ("多谢", "三个人", None),
    ],
)
def test_turns_that_hold_the_kind_of_answer_that_is_asked_for_gain(query, text, prior):
    factors = message_priors(said(text), None, Asked.of(query, []))
    assert {"time", "amount"} & set(factors) == ({prior} if prior else set())
