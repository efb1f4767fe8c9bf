"""What a rule is: a pattern over one clause, and the sentence and slot that follow from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from orca.text.normalize import fold
from orca.types import MemoryKind

EXPLICIT_CONFIDENCE = 0.8
"""Confidence when the user asked for it to be remembered; by hand is 0.9 (see the curator)."""

STATED_CONFIDENCE = 0.7
"""Confidence of a plain statement in a form that is rarely misread."""

LOOSE_CONFIDENCE = 0.6
"""Confidence of a statement in a form that has other readings now and then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule read in a clause; ``orca.llms.extractive`` makes a candidate of it, with the same meanings."""

    content: str
    kind: MemoryKind
    slot: str | None = None
    value: str | None = None
    affirmed: bool = True
    confidence: float = STATED_CONFIDENCE
    changed: bool = False


UNNAMED_DEADLINE = "deadline:*"
"""Slot of a deadline without a subject: never the same as another one, but what a change may refer to."""

Maker = Callable[[re.Match[str]], Finding | None]
"""Turns a match into a finding, or None when the words turn out to mean something else."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that a whole clause must match, and what follows."""

    pattern: re.Pattern[str]
    make: Maker


@dataclass(frozen=True, slots=True)
class Frame:
    """A predicate that follows its subject at once or after adverbs; ``v`` is its value.

    ``slot`` names what can have one value at a time; of somebody else's it gets their relation behind it. Where it is
    ``dated``, it says something only with a date.
    """

    predicate: str
    slot: str | None = None
    kind: MemoryKind = "fact"
    confidence: float = STATED_CONFIDENCE
    affirmed: bool = True
    value: str | None = None
    dated: bool = False


def first_finding(rules: tuple[Rule, ...], clause: str) -> Finding | None:
    """Return what the first rule that applies finds in a clause."""
    for rule in rules:
        match = rule.pattern.fullmatch(clause)
        if match and (finding := rule.make(match)):
            return finding
    return None


def key(text: str) -> str:
    """Return a text as part of a slot's name: folded, without quotes and blanks at its edges."""
    return re.sub(r"\s+", " ", fold(text)).strip(" \t\"'“”‘’「」『』《》.,，。!！~的")


_EVENTS = {
    "周会": "weekly meeting", "每周例会": "weekly meeting", "例会": "regular meeting", "站会": "stand-up", "晨会": "stand-up", "每日站会": "stand-up",
    "weekly call": "weekly meeting", "weekly sync": "weekly meeting", "weekly": "weekly meeting", "standup": "stand-up", "daily standup": "stand-up",
    "daily stand-up": "stand-up", "评审会": "review", "复盘会": "retrospective", "retro": "retrospective",
}  # fmt: skip


def event_slot(name: str) -> str:
    """Return the slot of an event's date; common meetings have one slot in both languages."""
    plain = re.sub(r"^(?:the|our|my|我们的?|咱们的?|这个|那个) ?", "", key(name))
    return f"date:{_EVENTS.get(plain, plain)}"


_DAY_PARTS = {
    "早上": "morning", "早晨": "morning", "上午": "morning", "早餐": "morning", "中午": "noon", "下午": "afternoon", "晚上": "evening",
    "每晚": "evening", "睡前": "evening", "morning": "morning", "afternoon": "afternoon", "evening": "evening", "night": "evening",
}  # fmt: skip
_DAY_PART = re.compile("|".join(_DAY_PARTS))


def drinking_slot(text: str) -> str | None:
    """Return the slot of what somebody drinks at a time of day, in both languages; None where no time is named."""
    match = _DAY_PART.search(text)
    return f"habit:drink:{_DAY_PARTS[match.group()]}" if match else None
