"""What a message's words and place say about its being an answer, before any query is compared with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from orca.memory.retrieval_constants import (
    AMOUNT_PRIOR,
    ANSWER_PRIOR,
    DATE_DAYS,
    DATE_PRIOR,
    QUESTION_PRIOR,
    RELATIVE_DATE_PRIOR,
    SPEAKER_PRIOR,
    TELLER_PRIOR,
    TIME_PRIOR,
)
from orca.text.analysis import index_terms
from orca.text.dates import NamedDate, named_dates
from orca.text.parts import plain_text
from orca.text.relative_dates import Period, mentions_date, named_periods
from orca.types import Message

_TRAILING_NOTE = re.compile(r"\s*\[[^\[\]]*\]\s*$")
"""A note in brackets after the words, such as the caption of a shared photo."""

_ASSISTANT_NAMED = re.compile(r"\b(?:you|your|yours)\b|[你您]", re.IGNORECASE)

_ASKS_WHEN = re.compile(
    r"^\s*when\b|\bwhen (?:is|was|are|were|do|does|did|will|should|would|can|could|have|has|had)\b"
    r"|\b(?:what|which) (?:date|day|time|month|year|morning|afternoon|evening|night)\b"
    r"|什么时候|什么时间|何时|哪[一]?[天年]|哪个月|几[号点月]|星期几|周几|礼拜几|日期",
    re.IGNORECASE,
)
_ASKS_HOW_MUCH = re.compile(
    r"\bhow (?:many|much|long|old|often|far|high|tall|fast|big|large|heavy|soon)\b"
    r"|\bwhat (?:size|percentage|number|price|age|score|rate|dose|temperature)\b|多少|几|多[大久长高远厚宽快重]",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|[一二两三四五六七八九十百千万半]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|"
    r"half|once|twice|dozen|couple|few|several)\b",
    re.IGNORECASE,
)

SLACK = timedelta(days=1)
"""Around a period, because days are counted in UTC and people live elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a query asks for beyond its topic: whose words it wants, and from when.

    ``speaker`` is the one whom it names, if exactly one; ``dates`` those that it names, and ``periods`` those that it
    names relative to today. ``of_assistant`` is whether it speaks to the assistant ("what did you recommend?"),
    ``when`` whether it asks for a time, and ``how_much`` whether for any other number.
    """

    speaker: str | None = None
    dates: tuple[NamedDate, ...] = ()
    periods: tuple[Period, ...] = ()
    of_assistant: bool = False
    when: bool = False
    how_much: bool = False

    @classmethod
    def of(cls, query: str, candidates: Iterable[Message], *, today: date | None = None) -> Asked:
        """Read a query; the speakers it could name are those of the candidates. Without ``today`` no period is read."""
        speakers = {message.name for message in candidates if message.name}
        terms = set(index_terms(query))
        named = [name for name in speakers if set(index_terms(name)) <= terms] if len(speakers) > 1 else []
        when = bool(_ASKS_WHEN.search(query))
        periods = [] if today is None else named_periods(query, today=today)
        return cls(
            speaker=named[0] if len(named) == 1 else None,
            dates=tuple(named_dates(query)),
            # Nothing was said yet on a day to come.
            periods=tuple(period for period in periods if today is not None and period.first <= today),
            of_assistant=bool(_ASSISTANT_NAMED.search(query)),
            when=when,
            how_much=not when and bool(_ASKS_HOW_MUCH.search(query)),
        )


def message_priors(message: Message, previous: Message | None, asked: Asked) -> Mapping[str, float]:
    """Return the factors of a message's score by name, above 0 each; their product is at most ``MAX_PRIOR``."""
    factors: dict[str, float] = {}
    asks = is_question(message)
    if asks:
        factors["question"] = QUESTION_PRIOR
    answers = previous is not None and _is_other_speaker(message, previous) and is_question(previous)
    if message.name is None and not asked.of_assistant and (message.role == "user" or asks or answers):
        factors["teller"] = TELLER_PRIOR
    if asked.speaker is not None and message.name == asked.speaker:
        factors["speaker"] = SPEAKER_PRIOR
    if message.timestamp is not None:
        day = message.timestamp.date()
        if any(period.first - SLACK <= day <= period.last + SLACK for period in asked.periods):
            factors["date"] = RELATIVE_DATE_PRIOR
        elif any(named.is_near(day, DATE_DAYS) for named in asked.dates):
            factors["date"] = DATE_PRIOR
    if answers:
        factors["answer"] = ANSWER_PRIOR
    if asked.when and mentions_date(plain_text(message.content)):
        factors["time"] = TIME_PRIOR
    if asked.how_much and _NUMBER.search(plain_text(message.content)):
        factors["amount"] = AMOUNT_PRIOR
    return factors


def is_question(message: Message) -> bool:
    """Whether a message ends by asking."""
    text = _TRAILING_NOTE.sub("", plain_text(message.content)).rstrip()
    return text.endswith(("?", "？", "؟"))


def _is_other_speaker(message: Message, previous: Message) -> bool:
    return (message.name, message.role) != (previous.name, previous.role)
