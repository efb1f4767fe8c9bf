"""Summaries stay few, little-used memories step back, and nothing that matters goes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from orca.errors import NotFoundError
from orca.memory.maintenance import (
    IDLE_DAYS,
    MEMORIES_BEFORE_RETIRING,
    SUMMARIES_KEPT,
    Maintenance,
    is_expired,
)
from orca.stores.sqlite.store import SQLiteStore
from orca.testing.doubles import FixedClock
from orca.types import Memory
from tests.memory.making import SAID, SCOPE, Making


@pytest.fixture
def making() -> Iterator[Making]:
    clock = FixedClock(SAID)
    with SQLiteStore(":memory:", clock=clock) as store:
        yield Making(store, clock)


@pytest.mark.case(21)
def test_ten_summaries_stay_and_none_that_was_not_taken_in_goes(making: Making) -> None:
    summarizer = making.summarizer()
    for number in range(15):
        making.say(("user", f"Question {number} about trains"), ("assistant", f"Answer {number} on trains"))
        summarizer.handle(making.claim())
    assert len(making.summaries()) == 15
    making.consolidator().consolidate(scope=SCOPE)
    assert len(making.summaries()) == SUMMARIES_KEPT
    assert "14" in making.summaries()[-1].content


def crowd(making: Making, number: int) -> None:
    for index in range(number):
        making.store.memories.append(
            Memory(content=f"filler fact number {index}", confidence=0.6), scope=SCOPE
        )


def test_only_idle_unasked_memories_beyond_the_crowd_retire(making: Making) -> None:
    kept = [
        Memory(content="pinned", confidence=0.5, pinned=True),
        Memory(content="asked for", confidence=0.6, metadata={"explicit": True}),
        Memory(content="repeated", confidence=0.6, evidence_count=3),
        Memory(content="by hand", confidence=0.9),
    ]
    for memory in kept:
        making.store.memories.append(memory, scope=SCOPE)
    crowd(making, MEMORIES_BEFORE_RETIRING)
    maintenance = Maintenance(making.store, clock=making.clock)
    assert maintenance.retire(scope=SCOPE) == []
    making.clock.advance(timedelta(days=IDLE_DAYS).total_seconds())
    used = making.store.memories.find(scope=SCOPE)[4]
    making.store.memories.touch([used.id or 0], scope=SCOPE, now=making.clock.now())
    retired = maintenance.retire(scope=SCOPE)
    assert len(retired) == len(kept)
    assert used.id not in {memory.id for memory in retired}
    left = making.memories()
    assert len(left) == MEMORIES_BEFORE_RETIRING
    assert {memory.content for memory in kept} <= set(left)
    assert all(check.ok for check in making.store.verify())


def test_retiring_can_be_undone(making: Making) -> None:
    crowd(making, MEMORIES_BEFORE_RETIRING + 1)
    making.clock.advance(timedelta(days=IDLE_DAYS).total_seconds())
    maintenance = Maintenance(making.store, clock=making.clock)
    (gone,) = maintenance.retire(scope=SCOPE)
    assert maintenance.reinstate(gone.id or 0, scope=SCOPE).state == "active"
    assert len(making.memories()) == MEMORIES_BEFORE_RETIRING + 1
    with pytest.raises(NotFoundError):
        maintenance.reinstate(gone.id or 0, scope=SCOPE)


@pytest.mark.case(30)
@pytest.mark.parametrize(("seconds", "expired"), [(-1, True), (0, True), (1, False)])
def test_a_memory_expires_at_the_instant(seconds: int, expired: bool) -> None:
    assert is_expired(Memory(content="x", expires_at=SAID + timedelta(seconds=seconds)), SAID) is expired
