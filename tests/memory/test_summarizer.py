"""One summary a turn: in order, bounded, never worse than what is there, and facts on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orca.errors import ProviderError, ProviderTimeoutError
from orca.memory.summarizer import MAX_ATTEMPTS, MAX_SUMMARY_UNITS, capped
from orca.protocols import Completion
from orca.stores.sqlite.store import SQLiteStore
from orca.testing.doubles import FixedClock, ScriptedModel
from orca.text.recalled import CLOSE, OPEN
from orca.text.statements import length_units
from orca.types import Message
from tests.memory.making import SAID, SCOPE, Making, echo


@pytest.fixture
def making() -> Iterator[Making]:
    clock = FixedClock(SAID)
    with SQLiteStore(":memory:", clock=clock) as store:
        yield Making(store, clock)


def test_a_turn_gets_one_summary_and_its_facts_at_once(making: Making) -> None:
    user, reply = making.say(
        ("user", "我只吃素，下周去上海出差"), ("assistant", "好的，上海有很多素食餐厅，推荐功德林。")
    )
    making.summarizer().handle(making.claim())
    (summary,) = making.summaries()
    assert summary.method == "extractive"
    assert summary.source_message_ids == (user.id, reply.id)
    assert "吃素" in summary.content
    assert making.memories() == ["用户只吃素", "用户下周（2026-05-18/2026-05-24）去上海出差"]
    assert making.store.memories.find(scope=SCOPE)[0].source_message_ids == (user.id,)
    assert making.store.jobs.pending(["summarize"]) == 0


def test_the_model_is_asked_in_the_language_of_the_conversation(making: Making) -> None:
    model = ScriptedModel(["用户在学 Rust。", "The user learns Rust."])
    making.say(("user", "我在学 Rust，怎么开始？"), ("assistant", "从官方书开始。"))
    making.say(("user", "How do I start with Rust?"), ("assistant", "Start with the book."))
    making.summarizer(model).handle(making.claim())
    assert [summary.content for summary in making.summaries()] == ["用户在学 Rust。", "The user learns Rust."]
    assert [summary.method for summary in making.summaries()] == ["scripted", "scripted"]
    assert "请用一句话总结本轮对话的关键信息，不超过 50 字：" in model.calls[0][-1]["content"]
    assert "in one sentence" in model.calls[1][-1]["content"]


@pytest.mark.case(21)
def test_the_model_reads_in_order_with_tool_results_without_system_text_and_recalled_memory(
    making: Making,
) -> None:
    call: dict[str, Any] = {
        "id": "c1",
        "type": "function",
        "function": {"name": "weather", "arguments": "{}"},
    }
    making.say(("user", "earlier question"), ("assistant", "earlier reply"))
    making.say(
        Message(role="system", content="SECRET RULES"),
        Message(role="user", content=f"first {OPEN}old memory{CLOSE} weather please"),
        Message(role="assistant", tool_calls=[call]),
        Message(role="tool", content="second: 21 degrees " + "x" * 5000, tool_call_id="c1"),
        Message(role="assistant", content="third: it is warm"),
    )
    model = ScriptedModel(lambda messages: "A summary.")
    making.summarizer(model).handle(making.claim())
    text = model.calls[-1][-1]["content"]
    assert text.index("first") < text.index("weather please") < text.index("second: 21") < text.index("third")
    for absent in ("SECRET", "old memory", "earlier"):
        assert absent not in text
    assert len(text) < 2000


@pytest.mark.case(21)
def test_nothing_new_and_an_empty_reply_leave_the_old_summary(making: Making) -> None:
    making.say(("user", "Where is the office?"), ("assistant", "In Oslo."))
    making.summarizer(ScriptedModel(["The office is in Oslo."])).handle(making.claim())
    before = making.summaries()
    making.summarizer(ScriptedModel()).handle(making.claim())  # no jobs, no call
    again = making.store.messages.recent(scope=SCOPE)[-1]
    making.say(again)  # stored again as another message: a turn of its own
    job = making.claim()
    making.store.jobs.complete([j.id or 0 for j in job])
    from_scratch = [
        type(j)(**{f: getattr(j, f) for f in j.__slots__} | {"target_id": before[0].source_message_ids[-1]})
        for j in job
    ]
    making.summarizer(ScriptedModel([""])).handle(from_scratch)
    assert making.summaries()[0] == before[0]


@pytest.mark.case(21)
def test_a_late_job_never_overwrites_what_was_written_meanwhile(making: Making) -> None:
    making.say(("user", "Plan the trip to Kyoto"), ("assistant", "Three days in Kyoto."))
    jobs = making.claim(lease=1)

    def slow(_: object) -> str:
        making.clock.advance(5)
        making.summarizer(ScriptedModel(["Version 2."], name="fast")).handle(making.claim())
        return "Version 1, late."

    making.summarizer(ScriptedModel(slow, name="slow")).handle(jobs)
    assert [(summary.content, summary.method) for summary in making.summaries()] == [("Version 2.", "fast")]


@pytest.mark.case(21)
def test_twenty_rounds_with_an_echo_stay_below_the_cap(making: Making) -> None:
    summarizer = making.summarizer(ScriptedModel(echo))
    for number in range(20):
        last = making.summaries()[-1].content if making.summaries() else ""
        making.say(("user", f"Round {number}: " + "word " * 300), ("assistant", f"Reply {number}. {last}"))
        summarizer.handle(making.claim())
    assert len(making.summaries()) == 20
    assert all(length_units(summary.content) <= MAX_SUMMARY_UNITS for summary in making.summaries())


@pytest.mark.parametrize(
    "failure", [ProviderTimeoutError("too slow"), ProviderError("down", retry_after=90), ""]
)
def test_a_failing_model_leaves_a_summary_by_rule_and_a_visible_reason(
    making: Making, failure: Exception | str, caplog: pytest.LogCaptureFixture
) -> None:
    making.say(("user", "I live in Paris."), ("assistant", "Noted: Paris."))
    making.say(("user", "I love chess."), ("assistant", "Chess is fun."))
    summarizer = making.summarizer(ScriptedModel([failure] * 20))
    summarizer.handle(making.claim())
    assert [summary.method for summary in making.summaries()] == ["extractive", "extractive"]
    assert making.memories() == ["The user lives in Paris.", "The user likes chess."]
    (reason,) = making.reasons()
    assert "by rule" in reason
    assert sum(record.levelname == "WARNING" for record in caplog.records) == 1
    for _ in range(MAX_ATTEMPTS):
        making.clock.advance(3600)
        summarizer.handle(making.claim())
    assert making.store.jobs.pending(["summarize"]) == 0


def test_a_model_that_comes_back_improves_the_summary(making: Making) -> None:
    making.say(("user", "I live in Paris."), ("assistant", "Noted."))
    summarizer = making.summarizer(ScriptedModel([ProviderError("down"), "The user lives in Paris."]))
    summarizer.handle(making.claim())
    (before,) = making.summaries()
    making.clock.advance(3600)
    summarizer.handle(making.claim())
    (after,) = making.summaries()
    assert (after.id, after.content, after.method) == (before.id, "The user lives in Paris.", "scripted")


def test_a_turn_that_says_nothing_has_no_summary(making: Making) -> None:
    making.say(("user", "谢谢"), ("assistant", "不客气！"))
    making.summarizer(ScriptedModel()).handle(making.claim())
    assert making.summaries() == []
    assert making.store.jobs.pending(["summarize"]) == 0


@pytest.mark.case(19)
def test_a_deleted_turn_is_not_summarised(making: Making) -> None:
    stored = making.say(("user", "I live in Paris."), ("assistant", "Noted: Paris."))
    jobs = making.claim()

    def delete(_: object) -> str:
        making.store.messages.delete([message.id or 0 for message in stored], scope=SCOPE)
        return "The user lives in Paris."

    making.summarizer(ScriptedModel(delete)).handle(jobs)
    assert making.summaries() == []
    assert making.memories() == []


@pytest.mark.case(22)
def test_only_the_users_own_words_become_facts(making: Making) -> None:
    making.say(
        Message(role="user", content="What do you know? I live in Oslo.", origin="import"),
        ("assistant", "I live in Paris. I like tea. My name is Bot."),
    )
    making.summarizer().handle(making.claim())
    assert making.memories() == []


def test_twenty_turns_queue_a_consolidation(making: Making) -> None:
    summarizer = making.summarizer()
    for number in range(20):
        making.say(
            ("user", f"Question number {number} about trains"), ("assistant", f"Answer {number} is here.")
        )
        summarizer.handle(making.claim())
        assert making.store.jobs.pending(["consolidate"]) == (number == 19)


@pytest.mark.parametrize("reply", ["<think>" + "long " * 500 + "</think>Short.", "  Short.\n", "“Short.”"])
def test_thinking_and_quotes_are_no_part_of_a_summary(reply: str) -> None:
    assert capped(reply) == "Short."


@pytest.mark.parametrize(
    "reply", ["字" * 5000, "word " * 3000, "a" * 9000, "一句。" * 400, Completion(text="").text]
)
def test_the_cap_holds_for_anything(reply: str) -> None:
    assert length_units(capped(reply)) <= MAX_SUMMARY_UNITS
    assert len(capped(reply)) <= MAX_SUMMARY_UNITS * 12


def test_a_summary_carries_the_time_of_its_turn(making: Making) -> None:
    turn = making.say(("user", "Where is the office?"), ("assistant", "In Oslo, at 4 Main Street."))
    making.clock.advance(3600)
    making.summarizer().handle(making.claim())
    assert making.summaries()[0].created_at == turn[-1].timestamp


def test_small_talk_leaves_no_summary(making: Making) -> None:
    making.say(("user", "谢谢你这两个月的陪伴。"), ("assistant", "能和你一起做出来，我很高兴。"))
    making.summarizer().handle(making.claim())
    assert making.summaries() == []
    assert making.store.jobs.pending(["summarize"]) == 0


def test_a_pronoun_is_understood_from_the_turn_before(making: Making) -> None:
    making.say(("user", "我妹妹五月十六号结婚"), ("assistant", "恭喜你妹妹！"))
    making.say(("user", "莲子羹换成杏仁茶，她对莲子过敏。"), ("assistant", "好的，换成杏仁茶。"))
    making.summarizer().handle(making.claim())
    assert making.memories() == ["用户妹妹五月十六号结婚", "用户妹妹对莲子过敏"]
