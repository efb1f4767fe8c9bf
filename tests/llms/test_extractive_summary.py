"""A turn in one line without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.llms.extractive import RuleExtractor
from orca.llms.summary_rules import MAX_UNITS
from orca.text.recalled import CLOSE, OPEN
from orca.text.statements import length_units
from orca.types import Message


def summary(*lines: tuple[str, str]) -> str:
    return RuleExtractor().summarize_turn([Message(role=role, content=text) for role, text in lines])  # type: ignore[arg-type]


def test_it_keeps_numbers_names_and_decisions() -> None:
    text = summary(
        ("user", "你好！我想了想。我们决定用 PostgreSQL 16 做数据库。天气真好。"),
        ("assistant", "好的！明白了。建议端口用 5433，避免和旧库冲突。希望有帮助！"),
    )
    assert "PostgreSQL 16" in text
    assert "5433" in text
    assert "你好" not in text
    assert length_units(text) <= 50


def test_it_speaks_the_language_of_the_user() -> None:
    assert summary(("user", "Where do I file the 2025 report?"), ("assistant", "在第三个柜子。")).startswith(
        "The user asked: "
    )
    assert summary(("user", "报告放哪？"), ("assistant", "In the third cabinet.")).startswith("用户问：")


@pytest.mark.parametrize(
    "lines",
    [
        [("user", "谢谢！"), ("assistant", "不客气！")], [("user", "Hello"), ("assistant", "Hi! How can I help you today?")], [], [("tool", "a lot of output")],
        [("user", ""), ("assistant", "   ")], [("user", "ok"), ("assistant", "Great.")], [("system", "You are a bot")],
    ],
)  # fmt: skip
def test_it_is_empty_when_nothing_was_said(lines: list[tuple[str, str]]) -> None:
    assert summary(*lines) == ""


@pytest.mark.case(21)
def test_tools_system_text_code_and_recalled_memory_stay_out() -> None:
    text = summary(
        ("system", "SECRET"), ("user", f"{OPEN}OLD FACT{CLOSE} Why does the build fail on Windows?"), ("tool", "DUMP 123"),
        ("assistant", "The path is too long.\n```\nCODE = 1\n```"),
    )  # fmt: skip
    assert "Windows" in text
    assert "path is too long" in text
    for absent in ("SECRET", "OLD FACT", "DUMP", "CODE"):
        assert absent not in text


NOTES = [
    # what was said, what is noted
    ((("user", "谢谢你这两个月的陪伴。"), ("assistant", "能和你一起把潮池做出来，我很高兴。")), ""),
    ((("user", "Thanks, talk on Tuesday."), ("assistant", "Until Tuesday.")), ""),
    ((("user", "Great, see you next week."), ("assistant", "See you, and good night from here.")), ""),
    ((("user", "I don't like gradients. Flat colours only, everywhere."), ("assistant", "No gradients, noted.")), "The user doesn't like gradients. Flat colours only, everywhere."),
    ((("user", "导入要多久？"), ("assistant", "在你的笔记本上 4.8 秒，第二次导入不会产生重复行。")), "用户问：导入要多久？答：在用户的笔记本上 4.8 秒，第二次导入不会产生重复行。"),
    ((("user", "对了，我只吃素。"), ("assistant", "记住了。")), "用户只吃素。"),
    ((("user", "Actually I no longer read mail on weekends."), ("assistant", "Noted, no mail on weekends.")), "Actually the user no longer reads mail on weekends."),
    ((("user", "I took the train and my bag is lost."), ("assistant", "Sorry to hear that. Call 0800 123.")), "The user took the train and their bag is lost. Assistant: Call 0800 123."),
    ((("user", "Noted, no reviews before 9:30."), ("assistant", "Ok.")), "No reviews before 9:30."),
    ((("user", "第一版的截止日期是四月二十号，我答应了一个摄影俱乐部。"), ("assistant", "好的，截止日期四月二十号，离现在七周，来得及。")), "第一版的截止日期是四月二十号，用户答应了一个摄影俱乐部。"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "note"), NOTES)
def test_it_notes_what_was_said_and_leaves_out_small_talk(
    lines: tuple[tuple[str, str], ...], note: str
) -> None:
    assert summary(*lines) == note


@pytest.mark.parametrize(
    "text",
    [
        "最多的反馈是提醒太早，大家希望在低潮前四十分钟提醒，而不是两小时，另外还有人希望可以自己设置提醒的时间，范围从十分钟到三小时都行。",
        "We tried three names for the reminder last week with a group of twelve people from the club, and after a long evening of votes and talks, we will call it Shell Alert, which is short, clear, and easy to say.",
    ],
)  # fmt: skip
def test_a_long_sentence_ends_with_a_whole_clause(text: str) -> None:
    note = summary(("user", text), ("assistant", "好的。"))
    assert "…" not in note
    assert note[-1] in "。."


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=400)), max_size=4))
def test_it_never_exceeds_its_length(lines: list[tuple[str, str]]) -> None:
    text = summary(*lines)
    assert length_units(text) <= max(MAX_UNITS.values())
    assert "\n" not in text


@pytest.mark.parametrize(
    "long",
    ["这是一个没有标点的很长的句子" * 40, "word " * 500, "a" * 3000, "一，" * 300, "价格是 12345 元" * 60],
)
def test_one_endless_sentence_is_cut_at_a_word(long: str) -> None:
    text = summary(("user", long), ("assistant", long))
    assert 0 < length_units(text) <= 50
    assert len(text) < 700
