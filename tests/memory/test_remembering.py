"""Each thing is known once, in its newest form, with its history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from orca.llms.extractive import RuleExtractor
from orca.memory.remembering import Rememberer
from orca.stores.sqlite.store import SQLiteStore
from orca.testing.doubles import FixedClock
from orca.types import Memory, Scope

SCOPE = Scope(user="alice", session="s1")
SAID = datetime(2026, 5, 14, 9, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(SAID)


@pytest.fixture
def store(clock: FixedClock) -> Iterator[SQLiteStore]:
    with SQLiteStore(":memory:", clock=clock) as opened:
        yield opened


@pytest.fixture
def rememberer(store: SQLiteStore, clock: FixedClock) -> Rememberer:
    return Rememberer(store, clock=clock, extractor=RuleExtractor())


def say(rememberer: Rememberer, text: str, *, message: int, days: float = 0, scope: Scope = SCOPE) -> None:
    said_at = SAID + timedelta(days=days)
    found = RuleExtractor().extract_facts(text, said_at=said_at)
    assert found
    for candidate in found:
        rememberer.add(replace(candidate, source_message_ids=(message,)), scope=scope)


def active(store: SQLiteStore, scope: Scope = SCOPE) -> list[str]:
    return [memory.content for memory in store.memories.find(scope=scope)]


@pytest.mark.case(16)
def test_the_same_fact_three_times_is_one_memory_with_its_evidence(
    store: SQLiteStore, rememberer: Rememberer
) -> None:
    for form in ("用户只吃素", "用户只吃素。", " 用户只吃素 "):
        memory = rememberer.add(Memory(content=form, confidence=0.7), scope=SCOPE)
    assert active(store) == ["用户只吃素"]
    assert memory.evidence_count == 3
    assert 0.7 < memory.confidence <= 0.95


@pytest.mark.case(16)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Deadline 15 October", "Deadline 16 October"),
        ("port 8080", "port 8081"),
        ("会议室在三楼", "会议室在四楼"),
        ("Ann has a cat", "Bob has a cat"),
    ],
)
def test_facts_that_differ_in_a_number_or_name_stand_beside_each_other(
    store: SQLiteStore, rememberer: Rememberer, first: str, second: str
) -> None:
    for content in (first, second):
        rememberer.add(Memory(content=content), scope=SCOPE)
    assert active(store) == [first, second]


@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("用户喜欢香菜", "用户不喜欢香菜"), ("The user likes tea", "The user does not like tea"), ("用户在A工作", "用户加入了B"),
        ("Works at A", "Joined B"), ("The user lives in Paris", "The user lives in Lyon"), ("The box has a lid", "The box has not a lid"),
        ("用户吃素", "用户不吃素了"), ("用户在腾讯工作", "用户不在腾讯工作了"), ("用户对花生过敏", "用户对花生不过敏"),
    ],
)  # fmt: skip
def test_a_contradiction_leaves_one_active_the_new_one_and_keeps_the_old(
    store: SQLiteStore, rememberer: Rememberer, clock: FixedClock, first: str, second: str
) -> None:
    old = rememberer.add(Memory(content=first), scope=SCOPE)
    clock.advance(60)
    new = rememberer.add(Memory(content=second), scope=SCOPE)
    assert active(store) == [second]
    assert [(m.content, m.state) for m in store.memories.history(new.id or 0, scope=SCOPE)] == [
        (first, "superseded"),
        (second, "active"),
    ]
    assert store.memories.get(old.id or 0, scope=SCOPE).superseded_by == new.id
    assert all(check.ok for check in store.verify())


@pytest.mark.case(25)
def test_denying_one_value_leaves_another_value_alone(store: SQLiteStore, rememberer: Rememberer) -> None:
    say(rememberer, "我住在上海", message=1)
    say(rememberer, "我不再住在北京了", message=2, days=1)
    assert "用户住在上海" in active(store)


@pytest.mark.case(25)
def test_an_older_statement_that_comes_late_never_supersedes(
    store: SQLiteStore, rememberer: Rememberer
) -> None:
    say(rememberer, "我住在上海", message=1)
    say(rememberer, "我住在北京", message=2, days=-90)
    say(rememberer, "我住在北京", message=3, days=-80)
    assert active(store) == ["用户住在上海"]
    past = [
        memory
        for memory in store.memories.find(scope=SCOPE, include_inactive=True)
        if memory.state == "superseded"
    ]
    assert [memory.content for memory in past] == ["用户住在北京"]
    assert [m.content for m in store.memories.find(scope=SCOPE, as_of=SAID - timedelta(days=30))] == [
        "用户住在北京"
    ]
    assert all(check.ok for check in store.verify())


@pytest.mark.case(16)
def test_the_same_messages_again_change_nothing(store: SQLiteStore, rememberer: Rememberer) -> None:
    chat = ["我住在北京", "我喜欢猫", "我搬到上海了", "我对花生过敏", "我们决定用 Rust"]
    for number, text in enumerate(chat, 1):
        say(rememberer, text, message=number, days=number)
    before = store.memories.find(scope=SCOPE, include_inactive=True)
    for number, text in enumerate(chat, 1):
        say(rememberer, text, message=number, days=number)
    assert store.memories.find(scope=SCOPE, include_inactive=True) == before


@pytest.mark.case(16)
def test_the_same_chat_fifty_times_leaves_the_number_of_memories(
    store: SQLiteStore, rememberer: Rememberer
) -> None:
    chat = [
        "我叫李明", "我住在北京", "我喜欢猫", "我不喜欢香菜", "我搬到上海了", "我对花生过敏", "请记住服务器端口是 8080",
        "I work at Acme", "My sister likes sushi", "We decided to use Rust",
    ]  # fmt: skip
    after_one: list[str] = []
    for turn in range(50):
        for number, text in enumerate(chat):
            say(rememberer, text, message=turn * 10 + number + 1, days=turn + number / 100)
        if turn == 0:
            after_one = sorted(active(store))
    assert sorted(active(store)) == after_one
    assert len(after_one) == 9


def test_a_repeat_that_says_more_becomes_the_newer_version(
    store: SQLiteStore, rememberer: Rememberer
) -> None:
    rememberer.add(Memory(content="The team meets every Monday morning at the office"), scope=SCOPE)
    fuller = rememberer.add(
        Memory(content="The team meets every Monday morning at the main office"), scope=SCOPE
    )
    assert active(store) == [fuller.content]
    assert fuller.evidence_count == 2


def test_a_retired_memory_comes_back_when_it_is_said_again(
    store: SQLiteStore, rememberer: Rememberer
) -> None:
    memory = rememberer.add(Memory(content="用户喜欢下围棋"), scope=SCOPE)
    store.memories.update(replace(memory, state="retired"), scope=SCOPE)
    assert active(store) == []
    again = rememberer.add(Memory(content="用户喜欢下围棋"), scope=SCOPE)
    assert again.id == memory.id
    assert active(store) == ["用户喜欢下围棋"]


@pytest.mark.case(30)
@pytest.mark.parametrize("seconds", [-1, 0])
def test_an_expired_memory_takes_no_part_in_deduplication(
    store: SQLiteStore, rememberer: Rememberer, clock: FixedClock, seconds: int
) -> None:
    old = rememberer.add(Memory(content="用户在休假", expires_at=SAID + timedelta(seconds=10)), scope=SCOPE)
    clock.advance(10 - seconds)
    new = rememberer.add(Memory(content="用户在休假"), scope=SCOPE)
    assert new.id != old.id


def test_users_never_meet(store: SQLiteStore, rememberer: Rememberer) -> None:
    other = Scope(user="bob", session="s1")
    rememberer.add(Memory(content="用户住在北京"), scope=SCOPE)
    rememberer.add(Memory(content="用户住在上海"), scope=other)
    assert active(store) == ["用户住在北京"]
    assert active(store, other) == ["用户住在上海"]


def test_a_pinned_memory_stays_pinned_through_its_versions(
    store: SQLiteStore, rememberer: Rememberer
) -> None:
    rememberer.add(Memory(content="用户住在北京", pinned=True), scope=SCOPE)
    assert rememberer.add(Memory(content="用户住在上海"), scope=SCOPE).pinned


def test_an_edited_memory_is_compared_by_its_new_words(store: SQLiteStore, rememberer: Rememberer) -> None:
    old = rememberer.add(Memory(content="用户住在北京", metadata={"note": "x"}), scope=SCOPE)
    edited = rememberer.reread(replace(old, content="用户住在上海"))
    assert (edited.slot, edited.metadata) == ("home", {"value": "上海", "note": "x"})
    assert rememberer.reread(replace(old, content="端口 8080")).slot is None


@pytest.mark.case(16)
def test_a_change_that_is_replayed_fifty_times_leaves_a_bounded_history(
    store: SQLiteStore, rememberer: Rememberer
) -> None:
    for turn in range(50):
        say(rememberer, "我住在北京", message=turn * 2 + 1, days=turn)
        say(rememberer, "我搬到上海了", message=turn * 2 + 2, days=turn + 0.5)
    assert active(store) == ["用户搬到上海了"]
    versions = store.memories.find(scope=SCOPE, include_inactive=True)
    assert [version.content for version in versions] == ["用户住在北京", "用户搬到上海了"] * 2
    assert [m.content for m in store.memories.find(scope=SCOPE, as_of=SAID + timedelta(days=0.2))] == [
        "用户住在北京"
    ]
    assert all(check.ok for check in store.verify())


@pytest.mark.case(25)
def test_a_life_that_returns_keeps_both_of_its_periods(store: SQLiteStore, rememberer: Rememberer) -> None:
    for number, (text, day) in enumerate([("我住在北京", 0), ("我搬到上海了", 10), ("我搬到北京了", 20)], 1):
        say(rememberer, text, message=number, days=day)
    homes = [
        [memory.metadata["value"] for memory in store.memories.find(scope=SCOPE, as_of=SAID + timedelta(days=day))]
        for day in (5, 15, 25)
    ]  # fmt: skip
    assert homes == [["北京"], ["上海"], ["北京"]]


@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("before", "change", "left"),
    [
        (["第一版的截止日期是四月二十号"], "截止日期改到五月八号", ["截止日期改到五月八号"]),
        (["The deadline is 20 April"], "The deadline was moved to 8 May", ["The deadline is 8 May."]),
        # Two are known: nobody can tell which one moved.
        (
            ["论文的截止日期是4月20日", "报告的截止日期是4月22日"],
            "截止日期改到5月8日",
            ["论文的截止日期是4月20日", "报告的截止日期是4月22日", "截止日期改到5月8日"],
        ),
        # No change is told: it may be another project's.
        (
            ["第一版的截止日期是4月20日"],
            "截止日期是5月8日",
            ["第一版的截止日期是4月20日", "截止日期是5月8日"],
        ),
    ],
)
def test_a_change_without_a_subject_is_about_the_only_one_of_its_kind(
    store: SQLiteStore, rememberer: Rememberer, before: list[str], change: str, left: list[str]
) -> None:
    for number, text in enumerate([*before, change], 1):
        say(rememberer, text, message=number, days=number)
    assert active(store) == left


def test_a_statement_meets_its_rivals_among_thousands_without_reading_them_all(
    store: SQLiteStore, rememberer: Rememberer
) -> None:
    rememberer.add_many([Memory(content=f"事项 {n}：编号为 {n * 7} 的箱子") for n in range(300)], scope=SCOPE)
    rememberer.add(Memory(content="用户住在北京"), scope=SCOPE)
    read: list[int] = []
    find = store.memories.find
    store.memories.find = lambda **options: read.append(1) or find(**options)  # type: ignore[method-assign,func-returns-value]
    rememberer.add(Memory(content="用户住在上海"), scope=SCOPE)
    assert read == []
    assert "用户住在北京" not in active(store)
