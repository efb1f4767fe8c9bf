"""What was true when, and what was believed when: starts that are named, news that comes late, zones that differ."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from orca import MemoryManager, Scope, open_memory
from orca.config import Settings
from orca.testing import FixedClock

pytestmark = pytest.mark.case(30)

ALICE = Scope(user="alice", session="s1")
MARCH = datetime(2026, 3, 1, 12, tzinfo=UTC)
APRIL = datetime(2026, 4, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(MARCH)


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[MemoryManager]:
    with open_memory(":memory:", embedder=None, chat_model=None, clock=clock, settings=Settings()) as opened:
        yield opened


def say(memory: MemoryManager, text: str, when: datetime, *, session: str = "s1") -> None:
    scope = Scope(user="alice", session=session)
    memory.observe(scope=scope, role="user", content=text, timestamp=when)
    memory.observe(scope=scope, role="assistant", content="OK.", timestamp=when)
    memory.flush(20)
    memory.end_session(scope=scope)


def true_at(memory: MemoryManager, when: datetime) -> str:
    return " ".join(fact.content for fact in memory.memories(scope=ALICE, as_of=when))


@pytest.mark.parametrize(
    ("first", "second", "old", "new"),
    [
        ("I live in Porto", "I was wrong about the address, I've been living in Braga since January", "Porto", "Braga"),
        ("我住在北京", "说错了，我从一月起住在杭州", "北京", "杭州"),
    ],
)  # fmt: skip
def test_a_correction_that_names_its_start_holds_from_there(
    memory: MemoryManager, clock: FixedClock, first: str, second: str, old: str, new: str
) -> None:
    say(memory, first, MARCH)
    clock.advance((APRIL - MARCH).total_seconds())
    say(memory, second, APRIL, session="s2")
    [fact] = memory.memories(scope=ALICE)
    assert new in fact.content
    assert fact.valid_from == datetime(2026, 1, 1, tzinfo=UTC)
    for day in (datetime(2026, 1, 15, tzinfo=UTC), MARCH + timedelta(days=3), APRIL + timedelta(days=3)):
        assert new in true_at(memory, day)
        assert old not in true_at(memory, day)
    assert true_at(memory, datetime(2025, 12, 31, tzinfo=UTC)) == ""
    versions = memory.history(scope=ALICE, id=fact.id or 0)  # what was believed, in the order it was learned
    assert [old in versions[0].content, new in versions[1].content] == [True, True]
    assert versions[0].created_at is not None
    assert versions[1].created_at is not None
    assert versions[0].created_at < versions[1].created_at


def test_a_start_within_an_earlier_period_shortens_it(memory: MemoryManager, clock: FixedClock) -> None:
    say(memory, "I live in Oslo", datetime(2025, 6, 1, tzinfo=UTC))
    say(memory, "I moved to Berlin", MARCH, session="s2")
    clock.advance((APRIL - MARCH).total_seconds())
    say(memory, "I have been living in Berlin since February", APRIL, session="s3")
    assert "Oslo" in true_at(memory, datetime(2026, 1, 20, tzinfo=UTC))
    between = true_at(memory, datetime(2026, 2, 10, tzinfo=UTC))
    assert "Berlin" in between
    assert "Oslo" not in between
    assert len(memory.memories(scope=ALICE)) == 1


@pytest.mark.case(25)
def test_a_named_start_does_not_make_the_statement_old(memory: MemoryManager, clock: FixedClock) -> None:
    say(memory, "I work at Acme", MARCH)
    clock.advance((APRIL - MARCH).total_seconds())
    say(memory, "I've been working at Initech since February", APRIL, session="s2")
    assert ["Initech" in fact.content for fact in memory.memories(scope=ALICE)] == [True]
    say(memory, "I work at Acme", MARCH + timedelta(days=1), session="s3")  # said before, arrives last
    assert ["Initech" in fact.content for fact in memory.memories(scope=ALICE)] == [True]


@pytest.mark.case(25)
@pytest.mark.parametrize("hours", [-11, 0, 8, 14])
def test_old_messages_that_come_late_are_the_past_in_every_zone(memory: MemoryManager, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    say(memory, "I live in Graz", MARCH)
    say(memory, "I live in Vienna", (MARCH - timedelta(minutes=30)).astimezone(zone), session="old")
    assert ["Graz" in fact.content for fact in memory.memories(scope=ALICE)] == [True]
    assert "Vienna" in true_at(memory, (MARCH - timedelta(minutes=10)).astimezone(zone))
    assert "Graz" in true_at(memory, MARCH.astimezone(zone))


@pytest.mark.case(16)
def test_a_start_said_again_and_again_is_one_memory(memory: MemoryManager) -> None:
    for number in range(12):
        say(memory, "I've been living in Braga since January", MARCH, session=f"s{number}")
    [fact] = memory.memories(scope=ALICE, include_inactive=True)
    assert fact.valid_from == datetime(2026, 1, 1, tzinfo=UTC)
    assert fact.evidence_count == 12
