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
        "User: "
    )
    assert summary(("user", "报告放哪？"), ("assistant", "In the third cabinet.")).startswith("用户：")


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
