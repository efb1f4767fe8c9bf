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
    """What a rule read in a clause; ``orca.llms.extractive`` makes a candidate of it."""

    content: str
    kind: MemoryKind
    slot: str | None = None
    value: str | None = None
    affirmed: bool = True
    confidence: float = STATED_CONFIDENCE


Maker = Callable[[re.Match[str]], Finding | None]
"""Turns a match into a finding, or None when the words turn out to mean something else."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that a whole clause must match, and what follows."""

    pattern: re.Pattern[str]
    make: Maker


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
