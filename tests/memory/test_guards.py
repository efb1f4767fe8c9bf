"""No two statements that differ in a number, date, name, unit or negation become one; replays and prompts add none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orca import Scope, open_memory
from orca.config import Settings
from orca.memory.matching import repeated
from orca.memory.similarity import denies, same_statement
from orca.text.numerals import in_digits
from orca.types import Memory

pytestmark = pytest.mark.case(16)

# In each row no two tokens mean the same.
GUARDS = {
    "数": ("两百", "三百", "201", "二十", "三", "三十", "半", "１０"), "星期": ("周一", "周二", "星期日", "5月3日", "五月三十日", "明天"),
    "时段": ("上午三点", "下午三点", "下午四点", "凌晨一点", "15:30"), "单位": ("180°C", "180°F", "5公斤", "5斤", "5 km", "5公里外", "5%"),
    "人": ("小李", "小王", "张三丰", "Anna", "Maria"), "number": ("two", "three", "twenty", "21", "２２", "half", "2.5", "2,500"),
    "day": ("on Monday", "on Tuesday", "on May 3", "on May 13", "on June 3"), "clock": ("at 6 am", "at 6 pm", "at 7am", "at 7pm", "at 19:00", "at noon"),
    "unit": ("5 kg", "5 lb", "5 mg", "5 mcg", "180 °C", "180 °F", "$5", "€5", "-5"), "name": ("Anna", "Maria", "Anna Bell", "Bob", "Robert"),
}  # fmt: skip
FRAMES = {
    "zh": ("用户记下的是{}这件要紧的事情", "{}的安排用户已经和公司说好", "用户的妈妈在{}等着他们一家人", "请记住{}"),
    "en": ("The user wrote {} into the long plan for the summer house", "{} is what the team has agreed upon at last", "The user's mother waits {} at the old station"),
}  # fmt: skip
DENIED = [
    ("用户{}吃牛肉和羊肉", ("", "不", "没", "别", "很少", "不再", "拒绝")), ("用户{}住在上海的老房子里", ("", "不", "没", "曾经", "不再", "可能", "想")),
    ("The user {}drinks black coffee at the office", ("", "never ", "no longer ", "hardly ", "rarely ")),
    ("The user {} eat meat at dinner with the family", ("does", "does not", "doesn't", "can't", "won't", "used to", "wants to", "may")),
    ("{} call the user after nine in the evening", ("Please", "Don't", "Never", "Do not ever")),
]  # fmt: skip


def cases() -> st.SearchStrategy[tuple[str, str]]:
    def build(family: str, frame: str, picks: tuple[str, ...]) -> tuple[str, str]:
        return frame.format(picks[0]), frame.format(picks[1])

    return st.sampled_from([
        (family, frame)
        for family in GUARDS
        for frame in FRAMES["en" if family.isascii() else "zh"]
    ]).flatmap(
        lambda pair: st.permutations(GUARDS[pair[0]]).map(lambda tokens: build(*pair, tuple(tokens[:2])))
    )  # fmt: skip


@given(cases())
@settings(max_examples=400, deadline=None)
def test_no_pair_that_differs_in_a_guard_merges(pair: tuple[str, str]) -> None:
    first, second = pair
    assert not same_statement(first, second)
    assert not same_statement(second, first)
    assert repeated(Memory(content=first), [Memory(content=second)]) is None


@pytest.mark.case(25)
@pytest.mark.parametrize(("frame", "words"), DENIED)
def test_no_two_degrees_of_yes_and_no_merge(frame: str, words: tuple[str, ...]) -> None:
    synonyms = {
        frozenset(pair) for pair in (("does not", "doesn't"), ("Don't", "Do not ever"), ("不", "不再"))
    }
    for first in words:
        for second in words:
            if first != second and frozenset((first, second)) not in synonyms:
                assert not same_statement(frame.format(first), frame.format(second)), (first, second)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("用户有三只猫", "用户有3只猫"), ("用户有两百本书", "用户有２００本书"), ("The user has two cats", "The user has 2 cats"),
        ("用户的生日是五月三日", "用户的生日是5月3日"), ("The rent is two hundred and five euros", "the rent is 205 euros"),
    ],
)  # fmt: skip
def test_one_number_in_two_ways_of_writing_is_one_number(a: str, b: str) -> None:
    assert same_statement(a, b)
    assert same_statement(b, a)


@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("a", "b"),
    [("The user no longer eats meat", "The user eats meat"), ("The user can eat nuts", "The user can't eat nuts")],
)  # fmt: skip
def test_two_words_that_deny_once_are_one_denial(a: str, b: str) -> None:
    assert denies(a, b)
    assert denies(b, a)


@given(st.integers(1, 99_999_999))
def test_chinese_numbers_are_read_as_they_are_spoken(number: int) -> None:
    assert in_digits(_spoken(number)).strip() == str(number)


def _spoken(number: int) -> str:
    if number >= 10_000:
        high, low = divmod(number, 10_000)
        return _spoken(high) + "万" + (("零" if low < 1_000 else "") + _spoken(low) if low else "")
    text, gap = "", False
    for unit, sign in ((1_000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, unit)
        if digit:
            text += ("零" if gap and text else "") + "零一二三四五六七八九"[digit] + sign
        gap = not digit
    return text


LINES = (
    "我住在杭州，对花生过敏", "我有三只猫", "婚礼定在10月2号", "不对，婚礼是10月3号", "I work at Acme as a nurse", "My sister's living in Dublin",
    "my rent is $1,450", "我不吃香菜", "I don't drink coffee anymore", "刚入职一家做电池的公司",
)  # fmt: skip


def test_a_chat_replayed_fifty_times_and_its_own_prompts_add_nothing() -> None:
    scope = Scope(user="alice", session="s1")
    with open_memory(":memory:", embedder=None, chat_model=None, settings=Settings()) as memory:

        def tell(text: str, session: str) -> None:
            memory.observe(scope=Scope(user="alice", session=session), role="user", content=text)

        def count() -> int:
            return len(memory.memories(scope=scope))

        for line in LINES:
            tell(line, "s1")
        memory.end_session(scope=scope)
        known = count()
        assert known >= len(LINES) - 1
        for round_number in range(50):
            for line in LINES:
                tell(line, f"r{round_number}")
            memory.end_session(scope=Scope(user="alice", session=f"r{round_number}"))
        assert count() == known
        for number, query in enumerate(("猫", "杭州 婚礼", "coffee", "sister rent")):
            prompt = memory.build_context(scope=scope, query=query)
            tell("\n".join(str(message["content"]) for message in prompt.messages), f"p{number}")
            memory.end_session(scope=Scope(user="alice", session=f"p{number}"))
        assert count() == known
