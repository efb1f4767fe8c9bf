"""Everyday statements by their frames: who, words of time, a predicate; and what only looks like one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orca.llms.extractive import extract_facts

SAID = datetime(2026, 5, 14, 9, 0, tzinfo=UTC)  # a Thursday

FOUND = [
    # text, content, slot
    ("刚入职一家做电池的公司", "用户刚入职一家做电池的公司", "employer"), ("目前在合肥上班", "用户目前在合肥上班", "work city"),
    ("我现在在 Shopee 做 infra", "用户现在在 Shopee 做 infra", "employer"), ("公司搬了，我也跟着搬到苏州园区这边了", "用户也跟着搬到苏州园区这边了", "home"),
    ("我妹在墨尔本念书", "用户妹在墨尔本念书", "employer:妹妹"), ("膝盖受伤以后我就不攀岩了", "用户就不攀岩了", "taste:攀岩"),
    ("我不太能喝酒，一杯就倒", "用户不太能喝酒", "can take:酒"), ("房租涨了，现在一个月四千二", "房租涨了，现在一个月四千二", "money:房租"),
    ("不对，婚礼是10月3号，我记错了", "婚礼是10月3号", "date:婚礼"), ("跟我一个组的张磊对海鲜过敏", "跟用户一个组的张磊对海鲜过敏", "allergy:海鲜:张磊"),
    ("别再用感叹号了，看着累", "别再用感叹号了", None), ("因为我奶奶九十了，所以走不远", "用户奶奶九十了", "age:奶奶"),
    ("just started at Monzo this week as a backend dev", None, "employer"), ("My sister's living in Dublin with her boyfriend", "The user's sister is living in Dublin with her boyfriend.", "home:sister"),
    ("so yeah we ended up moving to York", "The user's side ended up moving to York.", "home"), ("our dog Biscuit has arthritis so we only do short walks", "The user's dog Biscuit has arthritis.", "condition:arthritis:dog biscuit"),
    ("My wife and I are both night-shift nurses", "The user's wife and the user are both night-shift nurses.", "role:wife"),
    ("I've been learning Korean for about a year", "The user has been learning Korean for about a year.", "learns:korean"),
    ("oh wait, actually my driving test is on the 21st of June", None, "date:driving test"), ("I used to smoke but I quit two years ago", "The user used to smoke but they quit two years ago (2024).", "given up"),
    ("Please stop using emojis in your answers", "The user asks: stop using emojis in your answers.", None), ("I wake up at 5:30 to swim before work", "The user wakes up at 5:30 to swim before work.", None),
    ("got laid off in the spring. I'm freelancing these days", "The user got laid off in the spring.", "employer"),
]  # fmt: skip
NOTHING = [
    "在北京找个好吃的", "老王离职了，现在在美团上班", "我朋友来了。最近迷上了攀岩", "要是我去了北京工作，房租估计受不了", "朋友说：“我搬到海口啦”", "我在努力工作",
    "我打算搬到上海", "刚才说的那个再看看", "我妈问我为什么不回家", "不要用这个方案", "我叫了外卖", "帮我写信：我刚入职一家公司",
    "Learning German is hard", "My sister thinks about moving to Dublin", "I moved to two games", "I'm looking for a nurse", "If I got the job in Cardiff I'd sell the house",
    "He said \"I live in Boston\"", "Starting the server fails", "My sister told me. Just moved to York", "We are having trouble with the child process", "I got over it",
    "Imagine I'm a pirate", "my therapist thinks I have ADHD",
]  # fmt: skip


@pytest.mark.parametrize(("text", "content", "slot"), FOUND)
def test_a_predicate_works_for_whoever_is_spoken_of(text: str, content: str | None, slot: str | None) -> None:
    found = {candidate.content: candidate.slot for candidate in extract_facts(text, said_at=SAID)}
    assert slot in found.values(), found
    assert content is None or found.get(content, "absent") == slot, found


@pytest.mark.parametrize("text", NOTHING)
def test_what_only_looks_like_a_statement_gives_nothing(text: str) -> None:
    assert extract_facts(text, said_at=SAID) == []


@pytest.mark.case(25)
@pytest.mark.parametrize("text", ["其实我不是程序员，我是做产品的", "Actually I'm not a designer, I'm a PM"])
def test_what_is_denied_only_to_say_what_holds_is_one_fact(text: str) -> None:
    [fact] = extract_facts(text, said_at=SAID)
    assert fact.affirmed
    assert fact.slot == "role"


@pytest.mark.case(25)
def test_one_relation_has_one_slot_whatever_word_is_used() -> None:
    slots = {extract_facts(text, said_at=SAID)[0].slot for text in ("我妹住在南京", "我妹妹搬到苏州了")}
    assert slots == {"home:妹妹"}
