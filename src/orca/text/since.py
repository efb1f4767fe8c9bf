"""Since when something holds, where a statement says so: "since May", "从去年开始", "自2024年3月起"."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_ZH_NUMBERS = {
    text: number for number, text in enumerate("一 二 三 四 五 六 七 八 九 十 十一 十二".split(), start=1)
}
_ZH_YEARS = {"今年": 0, "去年": -1, "前年": -2}
_EN = re.compile(
    rf"\bsince (?:(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})\b|(?:about |around |early |late |the start of |the beginning of )?"
    rf"(?:(?P<last>last year)|(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?(?: (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?(?:,? (?:of )?(?P<my>\d{{4}}))?|(?P<year>(?:19|20)\d{{2}})\b))",
    re.IGNORECASE,
)
_ZH_BEGIN = r"(?:初|份)?(?:（[^）]*）)?(?:起|开始|以来|就(?=一直|已经|住|在|不|开始|搬))"
_ZH = re.compile(
    rf"(?:从|自从?|打)?(?:(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})|(?:(?P<year>(?:19|20)\d{{2}})年|(?P<rel>{'|'.join(_ZH_YEARS)}))?(?:（\d{{4}}）)?"
    rf"(?:(?P<month>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?:(?P<day>[12]\d|3[01]|[1-9])[日号])?)?){_ZH_BEGIN}"
)


def started(text: str, *, said_at: datetime) -> datetime | None:
    """Return the instant since which a statement says that it holds, or None where it does not say so.

    A month without a year is the latest one that had begun when it was said; days begin at midnight UTC, like all
    dates in text. None as well for what would begin after ``said_at``. Raises ``ValueError`` for a naive ``said_at``.
    """
    if said_at.tzinfo is None:
        raise ValueError("said_at needs a time zone")
    now = said_at.astimezone(UTC)
    for pattern in (_EN, _ZH):
        for match in pattern.finditer(text):
            begin = _begin(match.groupdict(), now)
            if begin is not None and begin <= now:
                return begin
    return None


def _begin(groups: dict[str, str | None], now: datetime) -> datetime | None:
    if iso := groups["iso"]:
        return _midnight(*map(int, iso.split("-")))
    word = groups["month"]
    month = None if word is None else _month(word)
    given = groups["year"] or groups.get("my")
    year = int(given) if given else None
    if groups.get("last"):
        year = now.year - 1
    elif relative := groups.get("rel"):
        year = now.year + _ZH_YEARS[relative]
    if year is None and month is None:
        return None
    day = int(groups["day"] or 1)
    if year is None and month is not None:
        begun = (month, day) <= (now.month, now.day)
        year = now.year if begun else now.year - 1
    return _midnight(year or now.year, month or 1, day)


def _month(word: str) -> int:
    return int(word) if word.isdecimal() else _MONTHS.get(word.lower()) or _ZH_NUMBERS[word]


def _midnight(year: int, month: int, day: int) -> datetime | None:
    """Return a day's beginning, or None for a day that no calendar has ("31 June")."""
    if not 1 <= month <= 12 or not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    return datetime(year, month, day, tzinfo=UTC)
