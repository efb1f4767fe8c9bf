"""Dates in words: which day "下周三" or "next Friday" means, seen from the day they were said."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from orca.text.analysis import CJK

_ZH_NUMBERS = {
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
}
_EN_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"a": 1, "an": 1}
_ZH_DAYS = {
    "大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "今天": 0, "今晚": 0, "今早": 0, "明天": 1, "明早": 1,
    "明晚": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_ZH_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_ZH_UNITS = {"天": "day", "周": "week", "星期": "week", "月": "month", "年": "year"}
_EN_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_EN_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}

_ZH_NUMBER = r"(?:\d{1,3}|[一二两三四五六七八九十]{1,3})"
_ZH_MONTH = "(?:十[一二]?|[一二三四五六七八九])"
_WEEKDAY = "|".join(_EN_WEEKDAYS)
_MONTH = "|".join(_EN_MONTHS)
_EN_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(_EN_NUMBERS)})"

Resolver = Callable[[re.Match[str], date], str | None]


def _number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    if word.lower() in _EN_NUMBERS:
        return _EN_NUMBERS[word.lower()]
    tens, mark, units = word.partition("十")
    if mark:
        return _ZH_NUMBERS.get(tens, 1) * 10 + _ZH_NUMBERS.get(units, 0)
    return _ZH_NUMBERS.get(word, 0)


def _shift_months(day: date, months: int) -> str | None:
    """Return ``YYYY-MM`` so many months away, or None outside of the calendar."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return f"{year:04d}-{month + 1:02d}" if 1 <= year <= 9999 else None


def _shift_days(day: date, days: int) -> str | None:
    try:
        return (day + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def _shift(day: date, amount: int, unit: str) -> str | None:
    if unit == "month":
        return _shift_months(day, amount)
    if unit == "year":
        return f"{day.year + amount:04d}" if 1 <= day.year + amount <= 9999 else None
    return _shift_days(day, amount * (7 if unit == "week" else 1))


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())  # weeks begin on Monday (ISO 8601, GB/T 7408)


def _week(day: date, weeks: int) -> str | None:
    start, end = _shift_days(_monday(day), weeks * 7), _shift_days(_monday(day), weeks * 7 + 6)
    return f"{start}/{end}" if start and end else None


def _weeks_away(prefix: str) -> int:
    """Return how many weeks or months 上, 下 and 这 point away; each repeated character is one more."""
    return prefix.count("下") - prefix.count("上")


def _zh_weekday(match: re.Match[str], day: date) -> str | None:
    weekday = _ZH_WEEKDAYS[match["weekday"]]
    if not match["prefix"] and weekday < day.weekday():
        return None  # a bare "周三" said on a Friday may be either
    return _shift_days(_monday(day), _weeks_away(match["prefix"]) * 7 + weekday)


def _zh_away(match: re.Match[str], day: date) -> str | None:
    amount = _number(match["number"]) * (-1 if match["way"] == "前" else 1)
    return _shift(day, amount, _ZH_UNITS[match["unit"]])


def _en_weekday(match: re.Match[str], day: date) -> str | None:
    weekday = _EN_WEEKDAYS[match["weekday"].lower()]
    way = match["way"].lower()
    if way == "last":
        return _shift_days(day, -(((day.weekday() - weekday - 1) % 7) + 1))
    if way == "next":  # the named day of the coming week
        return _shift_days(_monday(day), 7 + weekday)
    return _shift_days(day, (weekday - day.weekday()) % 7)


def _en_month(match: re.Match[str], day: date) -> str | None:
    month = _EN_MONTHS[match["month"].lower()]
    year = day.year
    if match["way"].lower() == "last":
        year -= month >= day.month
    elif match["way"].lower() == "next":
        year += month <= day.month
    return f"{year:04d}-{month:02d}"


def _en_unit(match: re.Match[str], day: date) -> str | None:
    step = {"last": -1, "this": 0, "next": 1}[match["way"].lower()]
    unit = match["unit"].lower()
    return _week(day, step) if unit == "week" else _shift(day, step, unit)


def _rule(pattern: str, resolve: Resolver) -> tuple[re.Pattern[str], Resolver]:
    return re.compile(pattern, re.IGNORECASE), resolve


_RULES = (
    _rule(
        "|".join(sorted(_ZH_DAYS, key=len, reverse=True)), lambda m, d: _shift_days(d, _ZH_DAYS[m.group()])
    ),
    _rule(
        r"(?P<prefix>上+个?|下+个?|这个?|本|)(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])(?![到至年月个])",
        _zh_weekday,
    ),
    _rule(
        r"(?P<prefix>上+个?|下+个?|这个?|本)(?:周|星期|礼拜)(?![一二三四五六日天末])",
        lambda m, d: _week(d, _weeks_away(m["prefix"])),
    ),
    _rule(r"(?P<prefix>上|下|这|本)个?月(?!\d)", lambda m, d: _shift_months(d, _weeks_away(m["prefix"]))),
    _rule(r"前年|去年|今年|明年|后年", lambda m, d: _shift(d, "前去今明后".index(m.group()[0]) - 2, "year")),
    _rule(rf"(?P<number>{_ZH_NUMBER})个?(?P<unit>天|周|星期|月|年)(?:之|以)?(?P<way>前|后)", _zh_away),
    _rule(r"\bthe day before yesterday\b", lambda _, d: _shift_days(d, -2)),
    _rule(r"\bthe day after tomorrow\b", lambda _, d: _shift_days(d, 2)),
    _rule(r"\b(?:yesterday|last night)\b", lambda _, d: _shift_days(d, -1)),
    _rule(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", lambda _, d: _shift_days(d, 0)),
    _rule(r"\btomorrow\b", lambda _, d: _shift_days(d, 1)),
    _rule(rf"\b(?P<way>last|next|this|on|by)\s+(?P<weekday>{_WEEKDAY})\b", _en_weekday),
    _rule(rf"\b(?P<way>last|next|this)\s+(?P<month>{_MONTH})\b", _en_month),
    _rule(r"\b(?P<way>last|next|this)\s+(?P<unit>week|month|year)\b", _en_unit),
    _rule(
        rf"\b(?P<number>{_EN_NUMBER})\s+(?P<unit>day|week|month|year)s?\s+ago\b",
        lambda m, d: _shift(d, -_number(m["number"]), m["unit"].lower()),
    ),
    _rule(
        rf"\bin\s+(?P<number>{_EN_NUMBER})\s+(?P<unit>day|week|month|year)s?\b",
        lambda m, d: _shift(d, _number(m["number"]), m["unit"].lower()),
    ),
)

_NAMED = re.compile(
    r"\d{4}[-/.年]\d{1,2}(?:[-/.月]\d{1,2}[日号]?)?|\d{1,2}月(?:\d{1,2}[日号]?|底|初|中旬|末)?|\d{1,2}[日号]|"
    rf"{_ZH_MONTH}月(?:{_ZH_NUMBER}[日号]|底|初|中旬|末)|{_ZH_NUMBER}[日号](?!楼|线|机|店)|"
    r"\d{1,2}[:：]\d{2}|"
    r"[一二三四五六七八九十\d]{1,3}点|年底|月底|周末|季度|Q[1-4]|"
    rf"\b(?:{_WEEKDAY}|{_MONTH}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b|\b\d{{1,2}}(?:st|nd|rd|th)\b|"
    r"\b\d{1,2}/\d{1,2}\b|\b\d{1,2}\s?(?:am|pm)\b|\bend of\b|\bnoon\b|\bmidnight\b|\bEOD\b|\bweekend\b",
    re.IGNORECASE,
)


def mentions_date(text: str) -> bool:
    """Whether a text names a day or a time, in words or figures."""
    return bool(_NAMED.search(text)) or any(pattern.search(text) for pattern, _ in _RULES)


_RECURRING = re.compile(
    r"每(?:个|逢|周|星期|天|日|晚|月|年)|周会|例会|晨会|站会|组会|周报|双周|隔周|定期|\b(?:every|each|weekly|biweekly|fortnightly|regular(?:ly)?|recurring|stand-?up)\b",
    re.IGNORECASE,
)
_BARE_WEEKDAY = re.compile(rf"(?:周|星期|礼拜)[一二三四五六日天]|(?:on|by) (?:{_WEEKDAY})", re.IGNORECASE)


def annotate_dates(text: str, *, said_at: datetime) -> str:
    """Return ``text`` with the calendar date beside every relative date, as in "下周三（2026-05-20）".

    Days are counted from ``said_at`` in its own zone; a week is written as ``first/last``. Words that name no
    single date are left alone, and so are dates that have their resolution beside them already, and bare weekdays
    where something recurs ("the weekly call is on Tuesday" means every Tuesday).
    """
    today = said_at.date()
    recurs = bool(_RECURRING.search(text))
    found: list[tuple[int, int, str]] = []
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end, _ in found):
                continue
            if text[match.end() :].lstrip().startswith(("（", "(")):
                continue
            if recurs and _BARE_WEEKDAY.fullmatch(match.group()):
                continue
            if resolved := resolve(match, today):
                found.append((match.start(), match.end(), resolved))
    pieces = []
    position = 0
    for _, end, resolved in sorted(found):
        chinese = bool(re.match(f"[{CJK}]", text[end - 1]))
        pieces.append(text[position:end] + (f"（{resolved}）" if chinese else f" ({resolved})"))
        position = end
    return "".join(pieces) + text[position:]


@dataclass(frozen=True, slots=True)
class Period:
    """The days from ``first`` to ``last``, both included."""

    first: date
    last: date


def named_periods(text: str, *, today: date) -> list[Period]:
    """Return the days, weeks, months and years that ``text`` names relative to ``today``, in no particular order."""
    found = []
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            resolved = resolve(match, today)
            if resolved:
                first, _, last = resolved.partition("/")
                found.append(Period(_edge(first), _edge(last or first, end=True)))
    return found


def _edge(resolved: str, *, end: bool = False) -> date:
    """Return the first or last day of ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``."""
    year, *rest = map(int, resolved.split("-"))
    month = rest[0] if rest else 12 if end else 1
    day = rest[1] if len(rest) > 1 else calendar.monthrange(year, month)[1] if end else 1
    return date(year, month, day)
