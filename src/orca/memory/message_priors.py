"""What a message's words and place say about its being an answer, before any query is compared with it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from orca.memory.retrieval_constants import (
    ANSWER_PRIOR,
    DATE_DAYS,
    DATE_PRIOR,
    QUESTION_PRIOR,
    SPEAKER_PRIOR,
)
from orca.text.analysis import index_terms
from orca.text.dates import NamedDate, named_dates
from orca.text.parts import plain_text
from orca.types import Message

_TRAILING_NOTE = re.compile(r"\s*\[[^\[\]]*\]\s*$")
"""A note in brackets after the words, such as the caption of a shared photo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a query asks for beyond its topic: the speaker it names, if exactly one, and the dates it names."""

    speaker: str | None
    dates: tuple[NamedDate, ...]

    @classmethod
    def of(cls, query: str, candidates: Iterable[Message]) -> Asked:
        """Read a query; the speakers it could name are those of the candidates."""
        speakers = {message.name for message in candidates if message.name}
        terms = set(index_terms(query))
        named = [name for name in speakers if set(index_terms(name)) <= terms] if len(speakers) > 1 else []
        return cls(speaker=named[0] if len(named) == 1 else None, dates=tuple(named_dates(query)))


def message_prior(message: Message, previous: Message | None, asked: Asked) -> float:
    """Return the factor of a message's score, above 0 and at most ``MAX_PRIOR``."""
    factor = 1.0
    if is_question(message):
        factor *= QUESTION_PRIOR
    if asked.speaker is not None and message.name == asked.speaker:
        factor *= SPEAKER_PRIOR
    if asked.dates and message.timestamp is not None:
        day = message.timestamp.date()
        if any(named.is_near(day, DATE_DAYS) for named in asked.dates):
            factor *= DATE_PRIOR
    if previous is not None and _is_other_speaker(message, previous) and is_question(previous):
        factor *= ANSWER_PRIOR
    return factor


def is_question(message: Message) -> bool:
    """Whether a message ends by asking."""
    text = _TRAILING_NOTE.sub("", plain_text(message.content)).rstrip()
    return text.endswith(("?", "？", "؟"))


def _is_other_speaker(message: Message, previous: Message) -> bool:
    return (message.name, message.role) != (previous.name, previous.role)
