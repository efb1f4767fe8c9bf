"""Dates that a text names: days, months and years, in English and Chinese."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH_NUMBER = {name: number for number, name in enumerate(_MONTHS, 1)}
_MONTH_NUMBER |= {name[:3]: number for name, number in _MONTH_NUMBER.items()} | {"sept": 9}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True)) + r")\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ORDINAL = r"(?:st|nd|rd|th)?"

_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_YEAR}-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?\b",
        rf"(?:{_YEAR}\s*年)?\s*(?P<month>\d\d?)\s*月(?:\s*(?P<day>\d\d?)\s*[日号號])?",
        rf"\b(?:the\s+)?(?P<day>\d\d?){_ORDINAL}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR}\b)?",
        rf"\b{_MONTH}\s+(?P<day>\d\d?){_ORDINAL}\b(?:,?\s+{_YEAR}\b)?",
        rf"\b{_MONTH}(?:,?\s+(?:of\s+)?{_YEAR}\b)?",
        rf"\b(?:in|of|during|since)\s+{_YEAR}\b",
        rf"{_YEAR}\s*年",
    )
)
# "may", "march" and their short forms are words too: alone they name a month only after "in", "last" and the like.
_AMBIGUOUS = frozenset({"may", "mar", "march", "dec", "sep", "jan", "jun", "oct"})
_BEFORE_MONTH = re.compile(
    r"\b(?:in|last|this|next|during|since|of|until|by|early|late|mid)[\s-]+$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A date as far as it was named: a year, a month of some or one year, or a day."""

    year: int | None
    month: int | None
    day: int | None

    def is_near(self, when: date, days: int) -> bool:
        """Whether ``when`` lies in the named month or year, or within ``days`` days of the named day."""
        if self.month is None:
            return when.year == self.year
        if self.day is None:
            return when.month == self.month and self.year in (None, when.year)
        years = (self.year,) if self.year else (when.year - 1, when.year, when.year + 1)
        return any(abs(when - named) <= timedelta(days=days) for named in map(self._in_year, years) if named)

    def _in_year(self, year: int) -> date | None:
        try:
            return date(year, self.month or 1, self.day or 1)
        except ValueError:  # 29 February of a common year
            return None


def named_dates(text: str) -> list[NamedDate]:
    """Return the dates named in ``text``, in no particular order; what cannot be a date is left out."""
    found: list[NamedDate] = []
    rest = unicodedata.normalize("NFKC", text)
    for pattern in _PATTERNS:
        for match in pattern.finditer(rest):
            named = _read(match)
            if named is not None:
                found.append(named)
                # What was read is blanked, so that "8 May" is not found again as "May".
                rest = rest[: match.start()] + " " * (match.end() - match.start()) + rest[match.end() :]
    return found


def _read(match: re.Match[str]) -> NamedDate | None:
    groups = match.groupdict()
    year, month, day = groups.get("year"), groups.get("month"), groups.get("day")
    if month and month.lower() in _AMBIGUOUS and not (year or day) and not _names_month(match, month):
        return None
    number = None if month is None else _MONTH_NUMBER.get(month.lower()) or int(month)
    if (number is not None and not 1 <= number <= 12) or (day is not None and not 1 <= int(day) <= 31):
        return None
    return NamedDate(int(year) if year else None, number, int(day) if day else None)


def _names_month(match: re.Match[str], month: str) -> bool:
    return month[0].isupper() and bool(_BEFORE_MONTH.search(match.string[: match.start()]))
