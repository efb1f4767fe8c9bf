"""Since when something holds is read where it is said, seen from the day it was said, in any time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.text.since import started

pytestmark = pytest.mark.case(30)

SAID = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I've lived in Braga since January", "2026-01-01"), ("I have lived here since May", "2025-05-01"), ("vegan since March 3rd", "2026-03-03"),
        ("I've worked at Acme since 2019", "2019-01-01"), ("since June 2024 I live in Rome", "2024-06-01"), ("married since last year", "2025-01-01"),
        ("since 2025-11-30", "2025-11-30"), ("我从一月起住在杭州", "2026-01-01"), ("我从去年（2025）开始吃素", "2025-01-01"), ("自2024年3月起在美团工作", "2024-03-01"),
        ("我5月份开始不喝咖啡了", "2025-05-01"), ("我从去年十二月就住在成都", "2025-12-01"), ("2026年2月3日起住在武汉", "2026-02-03"),
    ],
)  # fmt: skip
def test_a_start_is_read(text: str, day: str) -> None:
    assert started(text, said_at=SAID) == datetime.fromisoformat(day).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Since I'm colorblind, avoid red", "I live in Braga", "since December 2026", "since 31 June", "since February 30 2025", "我从三楼搬到五楼",
        "从今以后用中文", "我三月要去上海", "since forever", "I moved in May", "2019年的房子",
    ],
)  # fmt: skip
def test_nothing_else_is_a_start(text: str) -> None:
    assert started(text, said_at=SAID) is None


@given(st.integers(-12, 12), st.sampled_from(["since January", "我从一月起住在杭州", "since 2019"]))
def test_the_zone_of_the_clock_does_not_matter(hours: int, text: str) -> None:
    elsewhere = SAID.astimezone(timezone(timedelta(hours=hours)))
    assert started(text, said_at=elsewhere) == started(text, said_at=SAID)


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        started("since May", said_at=SAID.replace(tzinfo=None))
