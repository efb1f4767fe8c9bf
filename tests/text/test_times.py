"""Instants as text that sorts."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.errors import ConfigError
from orca.text.times import from_text, to_text

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)  # noqa: DTZ001 -- bounds are naive


@pytest.mark.case(30)
@given(MOMENTS, MOMENTS)
def test_text_sorts_as_instants_do_and_comes_back(one, other):
    assert (to_text(one) < to_text(other)) == (one < other)
    assert from_text(to_text(one)) == one


@pytest.mark.case(30)
def test_text_without_an_offset_is_utc_and_naive_times_are_refused():
    assert from_text("2026-05-10 08:00:00") == datetime(2026, 5, 10, 8, tzinfo=UTC)
    with pytest.raises(ConfigError, match="time zone"):
        to_text(datetime(2026, 5, 10))  # noqa: DTZ001 -- that is the point
