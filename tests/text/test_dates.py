from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.text.dates import NamedDate, named_dates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did she do on 8 May, 2023?", [(2023, 5, 8)]),
        ("the 14th of August", [(None, 8, 14)]),
        ("December 24th, 2021", [(2021, 12, 24)]),
        ("in March 2022", [(2022, 3, None)]),
        ("by May", [(None, 5, None)]),
        ("During Sept 2021", [(2021, 9, None)]),
        ("in 2022", [(2022, None, None)]),
        ("2023-05-08 meeting", [(2023, 5, 8)]),
        ("2023年5月8日发生了什么", [(2023, 5, 8)]),
        ("２０２３年去了哪", [(2023, None, None)]),
        ("5月8号", [(None, 5, 8)]),
        ("May I ask", []),
        ("the march was long", []),
        ("When did Jan go", []),
        ("99月", []),
        ("room 2022 is open", []),
    ],
)
def test_named_dates(text: str, expected: list[tuple[int | None, int | None, int | None]]) -> None:
    assert named_dates(text) == [NamedDate(*parts) for parts in expected]


def test_nearness() -> None:
    assert NamedDate(None, 12, 30).is_near(date(2024, 1, 2), 7)
    assert not NamedDate(2022, 12, 30).is_near(date(2024, 1, 2), 7)
    assert NamedDate(2022, 3, None).is_near(date(2022, 3, 31), 7)
    assert not NamedDate(2022, 3, None).is_near(date(2022, 4, 1), 7)
    assert NamedDate(2022, None, None).is_near(date(2022, 8, 1), 7)
    assert not NamedDate(2023, 2, 29).is_near(date(2023, 2, 28), 7)


@given(st.text(), st.dates())
def test_any_text_and_any_day(text: str, day: date) -> None:
    for named in named_dates(text):
        named.is_near(day, 7)
