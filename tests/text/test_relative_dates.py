"""Relative dates are counted from when they were said, and stand beside the words."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.text.relative_dates import Period, annotate_dates, mentions_date, named_periods

SAID = datetime(2026, 5, 14, 9, 0, tzinfo=UTC)  # a Thursday


@pytest.mark.case(30)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("下周三交报告", "下周三（2026-05-20）交报告"), ("上周五", "上周五（2026-05-08）"), ("下下周一", "下下周一（2026-05-25）"), ("这周日", "这周日（2026-05-17）"),
        ("周五开会", "周五（2026-05-15）开会"), ("周一开会", "周一开会"), ("明天", "明天（2026-05-15）"), ("大后天", "大后天（2026-05-17）"), ("前天", "前天（2026-05-12）"),
        ("下个月", "下个月（2026-06）"), ("上个月", "上个月（2026-04）"), ("去年", "去年（2025）"), ("三天后", "三天后（2026-05-17）"), ("两周前", "两周前（2026-04-30）"),
        ("十二天之后", "十二天之后（2026-05-26）"), ("下周", "下周（2026-05-18/2026-05-24）"), ("我的生日是1月3日", "我的生日是1月3日"),
        ("2025年5月20日", "2025年5月20日"), ("next Friday", "next Friday (2026-05-22)"), ("by Friday", "by Friday (2026-05-15)"), ("last Thursday", "last Thursday (2026-05-07)"),
        ("last May", "last May (2025-05)"), ("next month", "next month (2026-06)"), ("in two weeks", "in two weeks (2026-05-28)"), ("3 days ago", "3 days ago (2026-05-11)"),
        ("the day after tomorrow", "the day after tomorrow (2026-05-16)"), ("yesterday", "yesterday (2026-05-13)"), ("tomorrow (2026-05-15)", "tomorrow (2026-05-15)"),
        ("last year", "last year (2025)"), ("2月30日", "2月30日"), ("99月99日", "99月99日"), ("plain words", "plain words"),
    ],
)  # fmt: skip
def test_a_relative_date_gets_its_day(text: str, expected: str) -> None:
    assert annotate_dates(text, said_at=SAID) == expected


@pytest.mark.case(30)
def test_the_day_is_that_of_the_speakers_zone() -> None:
    late = datetime(2026, 5, 14, 23, 30, tzinfo=UTC)
    assert (
        annotate_dates("明天", said_at=late.astimezone(timezone(timedelta(hours=8)))) == "明天（2026-05-16）"
    )
    assert annotate_dates("明天", said_at=late) == "明天（2026-05-15）"


@given(st.text(max_size=60), st.datetimes(timezones=st.just(UTC)))
def test_annotating_twice_is_annotating_once(text: str, said_at: datetime) -> None:
    once = annotate_dates(text, said_at=said_at)
    assert annotate_dates(once, said_at=said_at) == once


@pytest.mark.parametrize(
    "text", ["6月30日", "2026-05-20", "5pm", "next week", "周末", "end of Q3", "15 October", "3月底"]
)
def test_dates_are_recognised(text: str) -> None:
    assert mentions_date(text)


@pytest.mark.parametrize("text", ["", "hello", "PostgreSQL", "数据库"])
def test_other_text_names_no_date(text: str) -> None:
    assert not mentions_date(text)


@pytest.mark.case(30)
@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", "2026-05-12", "2026-05-12"),
        ("上周", "2026-05-04", "2026-05-10"),
        ("last month", "2026-04-01", "2026-04-30"),
        ("去年", "2025-01-01", "2025-12-31"),
    ],
)
def test_periods_hold_all_their_days(text: str, first: str, last: str) -> None:
    found = named_periods(text, today=date(2026, 5, 13))
    assert found == [Period(date.fromisoformat(first), date.fromisoformat(last))]
