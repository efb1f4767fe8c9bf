"""Boosts decide between equals, and never beat a clearly better fit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca import Scope, open_memory
from orca.config import Settings
from orca.memory.memory_boosts import LARGEST, MAX_BOOST, boost, factors
from orca.testing import FixedClock
from orca.types import Memory

NOW = datetime(2026, 5, 10, tzinfo=UTC)
PLAIN = Memory(content="x", valid_from=NOW - timedelta(days=90))


@given(
    st.floats(-1, 2),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.booleans(),
    st.integers(-10_000, 100_000),
)
def test_each_factor_stays_within_ten_percent(
    confidence: float, evidence: int, access: int, pinned: bool, days: int
) -> None:
    memory = Memory(
        content="x",
        confidence=confidence,
        evidence_count=evidence,
        access_count=access,
        pinned=pinned,
        valid_from=NOW - timedelta(days=days),
    )
    assert all(1 - LARGEST - 1e-9 <= factor <= 1 + LARGEST + 1e-9 for factor in factors(memory, NOW).values())
    assert 0 < boost(memory, NOW) <= MAX_BOOST + 1e-9


@pytest.mark.parametrize(
    "better",
    [
        {"valid_from": NOW},
        {"confidence": 0.9},
        {"evidence_count": 4},
        {"access_count": 10},
        {"pinned": True},
    ],
)
def test_each_property_alone_lifts_a_memory(better: dict[str, object]) -> None:
    assert boost(replace(PLAIN, **better), NOW) > boost(PLAIN, NOW)  # type: ignore[arg-type]


@pytest.mark.case(25)
def test_of_two_equal_fits_the_newer_comes_first_and_relevance_stays() -> None:
    clock = FixedClock(NOW)
    scope = Scope(user="alice")
    with open_memory(":memory:", embedder=None, chat_model=None, clock=clock, settings=Settings()) as memory:
        memory.remember(scope=scope, content="The blue notebook lies in Porto")
        clock.advance(86_400 * 200)
        memory.remember(scope=scope, content="The blue suitcase lies in Turin")
        hits = memory.get_long_term_memory(scope=scope, query="blue lies")
        assert [hit.content.split()[2] for hit in hits] == ["suitcase", "notebook"]
        assert all(0 <= hit.score <= 1 for hit in hits)
        best = memory.get_long_term_memory(scope=scope, query="blue notebook Porto")[0]
    assert "notebook" in best.content
