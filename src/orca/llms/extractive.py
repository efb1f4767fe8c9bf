"""Memory without a model: one-line summaries and facts by rule, in Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from orca.llms.rules import en, zh
from orca.llms.rules.base import EXPLICIT_CONFIDENCE, Finding, first_finding
from orca.llms.summary_rules import summarize_turn
from orca.text.normalize import clean
from orca.text.relative_dates import annotate_dates
from orca.text.statements import Clause, Language, clauses
from orca.types import Candidate, Message


class LanguageRules(Protocol):
    """What the module of each language offers."""

    def requested(self, sentence: str) -> str | None:
        """Return what a sentence asks to remember, or None."""
        ...

    def as_request(self, wish: str) -> str:
        """Return the sentence under which a wish without a known form is kept."""
        ...

    def names_speaker(self, clause: str) -> bool:
        """Whether the next clause may leave out its subject."""
        ...

    def find_statement(self, clause: str, *, after_subject: bool) -> Finding | None:
        """Return what a clause states about the user."""
        ...


_RULES: Mapping[Language, LanguageRules] = {"zh": zh, "en": en}

MAX_SCANNED_CHARACTERS = 20_000
"""Facts about a person stand in what they type; of longer messages (pasted documents) only the start is read."""

MAX_STATEMENT_CHARACTERS = 400
"""Clauses and wishes beyond this are pasted text, not a statement."""


class RuleExtractor:
    """Summaries and facts by rule, in the form that ``orca.memory`` asks for."""

    @property
    def name(self) -> str:
        """What is recorded as the method."""
        return "extractive"

    def summarize_turn(self, messages: Sequence[Message]) -> str:
        """Return one or two sentences on a turn; see ``summarize_turn``."""
        return summarize_turn(messages)

    def extract_facts(
        self, text: str, *, said_at: datetime, language: Language | None = None
    ) -> list[Candidate]:
        """Return what a user's text states; see ``extract_facts``."""
        return extract_facts(text, said_at=said_at, language=language)

    def read_memory(self, content: str, *, said_at: datetime) -> Candidate | None:
        """Return a memory's sentence with slot and value; see ``read_memory``."""
        return read_memory(content, said_at=said_at)


def extract_facts(text: str, *, said_at: datetime, language: Language | None = None) -> list[Candidate]:
    """Return what the user states about themselves, or asks to remember, in one of their messages.

    Meant for what a user typed; never for text of assistants or tools. With ``language`` only clauses in that
    language are read. Precision goes before recall: questions, suppositions, quotations, code, pasted text and
    statements about other people yield nothing (about relatives they yield facts about the relatives).
    Relative dates are counted from ``said_at`` and stand beside the words.
    """
    found: dict[str, Candidate] = {}
    for clause, finding, explicit in _findings(clean(text)[:MAX_SCANNED_CHARACTERS]):
        if language not in (None, clause.language):
            continue
        candidate = Candidate(
            content=annotate_dates(finding.content, said_at=said_at),
            kind=finding.kind,
            slot=finding.slot,
            value=annotate_dates(finding.value, said_at=said_at) if finding.value else None,
            affirmed=finding.affirmed,
            explicit=explicit,
            confidence=max(finding.confidence, EXPLICIT_CONFIDENCE) if explicit else finding.confidence,
            said_at=said_at,
            span=(clause.start, clause.end),
        )
        found.setdefault(candidate.content, candidate)
    return list(found.values())


def read_memory(content: str, *, said_at: datetime) -> Candidate | None:
    """Return a sentence about the user ("用户住在北京", "The user works at A") with its slot and value.

    None when no rule knows its form. Only what a person can be or have one of is read, no dates and decisions:
    whoever writes a memory by hand may mean two different deadlines by "the deadline".
    """
    for rules in (zh, en):
        spoken = rules.as_spoken(content)
        finding = first_finding(rules.PERSON_RULES, spoken) if spoken else None
        if finding is not None and finding.slot is not None:
            return Candidate(
                content=content,
                kind=finding.kind,
                slot=finding.slot,
                value=finding.value,
                affirmed=finding.affirmed,
                confidence=finding.confidence,
                said_at=said_at,
            )
    return None


def _findings(text: str) -> Iterator[tuple[Clause, Finding, bool]]:
    """Yield each clause that states something, what it states, and whether it was asked to be remembered."""
    done_sentence = -1
    subject_of = -1
    for clause in clauses(text):
        if clause.sentence == done_sentence or len(clause.text) > MAX_STATEMENT_CHARACTERS:
            continue
        rules = _RULES[clause.language]
        wish = rules.requested(clause.rest) if len(clause.rest) <= MAX_STATEMENT_CHARACTERS else None
        if wish is not None:
            done_sentence = clause.sentence
            yield from ((clause, finding, True) for finding in _wished(wish, clause.language))
            continue
        after_subject = subject_of == clause.sentence
        if not clause.asserted:
            continue
        if rules.names_speaker(clause.text):
            subject_of = clause.sentence
        if finding := _stated(clause, after_subject=after_subject):
            yield clause, finding, False


def _stated(clause: Clause, *, after_subject: bool) -> Finding | None:
    """Return what a clause states, trying its sentence's rest first where a comma belongs to the form."""
    rules = _RULES[clause.language]
    if clause.text != clause.rest[:MAX_STATEMENT_CHARACTERS] and _SPANS_COMMA.search(
        clause.rest[:MAX_STATEMENT_CHARACTERS]
    ):
        whole = rules.find_statement(clause.rest.rstrip("。.！! "), after_subject=False)
        if whole is not None:
            return whole
    return rules.find_statement(clause.text, after_subject=after_subject)


_SPANS_COMMA = re.compile(
    r"不是[^，,]{1,25}[，,]\s*而?是|\b(?:is not|isn['’]t)\b[^,]{1,40}, (?:but|it['’]s|it is|rather)\b|^(?:from now on|in (?:the )?future|going forward|以后|今后|从现在起)[,，]",
    re.IGNORECASE,
)


def _wished(wish: str, language: Language) -> list[Finding]:
    """Return the facts in what the user asked to remember; the wish itself where no rule knows its form."""
    rules = _RULES[language]
    known: list[Finding] = []
    for part in clauses(wish):
        finding = _RULES[part.language].find_statement(part.text, after_subject=bool(known))
        if finding is None:
            known = []
            break
        known.append(finding)
    return known or [Finding(content=rules.as_request(wish), kind="fact", confidence=EXPLICIT_CONFIDENCE)]
