from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.memory.rendering import message_tokens, render_message
from orca.memory.working import INTERRUPTED, read_history, select_window
from orca.types import Message

from .builders import COUNTERS, CharacterCounter, Log, WordCounter, assert_valid, call, texts

ROLES = st.sampled_from(["user", "assistant", "tool", "system"])
CALL_IDS = st.sampled_from(["c1", "c2", "c3", ""])
CONTENT = st.one_of(
    st.none(),
    st.text(max_size=40),
    st.lists(st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=20)), max_size=2),
)


@st.composite
def logs(draw: st.DrawFn) -> list[Message]:
    """Any history, however broken: unanswered calls, orphan results, reused ids, empty replies."""
    log = Log()
    for role in draw(st.lists(ROLES, max_size=25)):
        if role == "tool":
            log.add("tool", draw(CONTENT), tool_call_id=draw(CALL_IDS) or None)
        elif role == "assistant" and draw(st.booleans()):
            log.add(
                "assistant",
                draw(CONTENT),
                tool_calls=[call(one) for one in draw(st.lists(CALL_IDS, max_size=3))],
            )
        else:
            log.add(role, draw(CONTENT))
    return log.messages


def cost(messages: list[Message], counter: CharacterCounter) -> int:
    return sum(message_tokens(render_message(message), counter) for message in messages)


@given(logs(), st.integers(0, 400), st.sampled_from(COUNTERS), st.sampled_from([0.5, 0.7, 1.0]))
def test_a_window_keeps_its_budget_and_is_valid(messages, budget, counter, keep):
    window = select_window(messages, budget, counter, keep=keep)

    assert cost(window, counter) <= budget
    assert_valid([render_message(message) for message in window if message.role != "system"])
    assert window == select_window(messages, budget, counter, keep=keep)


@given(logs())
def test_every_message_is_in_a_unit_or_has_a_reason(messages):
    history = read_history(messages)

    kept = [message for unit in history.units for message in unit.messages if message.id is not None]
    ids = [m.id for m in (*history.pinned, *kept, *(message for message, _ in history.left_out))]
    assert sorted(ids) == [message.id for message in messages]


@given(logs())
def test_with_room_for_all_nothing_is_cut(messages):
    history = read_history(messages)
    everything = [*history.pinned, *(message for unit in history.units for message in unit.messages)]

    assert select_window(messages, 100_000, CharacterCounter()) == everything


@pytest.mark.case(31)
@pytest.mark.parametrize("budget", range(0, 120, 3))
def test_a_call_and_its_result_stay_or_go_together(budget):
    log = Log()
    log.user("What is the weather?")
    log.calls("c1")
    log.result("c1", "sunny")
    log.assistant("It is sunny.")

    window = select_window(log.messages, budget, WordCounter())

    assert_valid([render_message(message) for message in window])
    assert len(log.messages) == 4


@pytest.mark.case(31)
def test_a_parallel_call_is_never_cut_between_its_results():
    log = Log()
    log.user("Look both up.")
    log.calls("c1", "c2")
    log.result("c1", "long " * 5_000)
    log.result("c2", "short")
    log.assistant("Done.")

    for budget in (30, 60, 200, 5_020, 5_200):
        window = select_window(log.messages, budget, WordCounter())
        assert_valid([render_message(message) for message in window])
    assert texts(select_window(log.messages, 60, WordCounter())) == ["Done."]


@pytest.mark.case(31)
def test_an_interrupted_call_is_closed_in_the_window_and_not_in_the_log():
    log = Log()
    log.user("Look both up.")
    log.calls("c1", "c2")
    log.result("c1", "found")
    log.user("And now?")

    window = select_window(log.messages, 1_000, WordCounter())

    assert_valid([render_message(message) for message in window])
    assert [(m.tool_call_id, m.content) for m in window if m.role == "tool"] == [
        ("c1", "found"),
        ("c2", INTERRUPTED),
    ]
    assert len(log.messages) == 4


@pytest.mark.case(31)
def test_an_orphan_result_is_left_out_with_a_reason():
    log = Log()
    log.result("c9", "whose?")
    log.user("Hello")

    history = read_history(log.messages)

    assert texts(history.units[0].messages) == ["Hello"]
    assert history.left_out == ((log.messages[0], "a tool result without its call"),)


@pytest.mark.case(31)
def test_a_late_result_moves_up_to_its_call_and_reused_ids_find_the_nearest():
    log = Log()
    log.calls("call_0")
    log.user("Still there?")
    log.result("call_0", "first")
    log.calls("call_0")
    log.result("call_0", "second")

    window = select_window(log.messages, 1_000, WordCounter())

    assert texts(window) == [None, "first", "Still there?", None, "second"]


@pytest.mark.case(31)
def test_calls_that_no_result_can_name_are_left_out_and_the_words_stay():
    log = Log()
    log.add("assistant", "Let me see.", tool_calls=[{**call("x"), "id": None}])

    (message,) = select_window(log.messages, 1_000, WordCounter())

    assert (message.content, message.tool_calls) == ("Let me see.", None)


@pytest.mark.case(14)
@pytest.mark.parametrize("content", [None, "", "  \n", [], [{"type": "text", "text": ""}]])
def test_an_empty_reply_is_left_out(content):
    log = Log()
    log.user("Hello")
    log.add("assistant", content)
    log.user("Are you there?")

    assert texts(select_window(log.messages, 1_000, WordCounter())) == ["Hello", "Are you there?"]


@pytest.mark.case(26)
def test_the_order_is_the_order_of_storing_whatever_the_clock_says():
    log = Log()
    for number in range(6):
        log.user(f"message {number}")
    same_time = [replace(m, timestamp=log.messages[(m.id * 5) % 6].timestamp) for m in log.messages]

    assert texts(select_window(same_time, 1_000, WordCounter())) == [f"message {n}" for n in range(6)]


@pytest.mark.case(32)
def test_the_leading_system_message_is_in_every_window():
    log = Log()
    log.add("system", "Be brief.")
    for number in range(100):
        log.user(f"question {number}")
        log.assistant(f"answer {number}")

    for budget in (20, 50, 300):
        assert texts(select_window(log.messages, budget, WordCounter()))[0] == "Be brief."


def test_a_full_window_begins_with_the_users_words_and_keeps_half_of_the_budget():
    log = Log()
    for number in range(60):
        log.user(f"question number {number}")
        log.assistant(f"answer number {number}")
        window = select_window(log.messages, 100, WordCounter())

        assert window[0].role == "user"
        assert cost(window, WordCounter()) >= min(50, 14 * (number + 1)) - 14


def test_the_window_begins_at_the_same_place_for_many_turns():
    log = Log()
    starts = []
    for number in range(200):
        log.user(f"question number {number}")
        log.assistant(f"answer number {number}")
        starts.append(select_window(log.messages[-80:], 280, WordCounter())[0].id)

    moves = sum(before != after for before, after in pairwise(starts[20:]))
    assert moves <= 30, "a window of 20 turns that keeps 10 moves every 10 turns, and again with its anchor"
