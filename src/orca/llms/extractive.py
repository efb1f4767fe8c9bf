"""Memory without a model: one-line summaries and facts by rule, in Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from orca.llms.rules import en, zh
from orca.llms.rules.base import EXPLICIT_CONFIDENCE, Finding, first_finding
from orca.llms.rules.referents import Referents
from orca.llms.summary_rules import summarize_turn
from orca.text.normalize import clean
from orca.text.relative_dates import annotate_dates
from orca.text.since import started
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

    def subject_of(self, clause: str) -> str | None:
        """Return the subject that the next clause may leave out, as it would be said, or None."""
        ...

    def assumed_subject(self, clause: str) -> str | None:
        """Return the subject that the first clause of a message left out, or None."""
        ...

    def find_statements(self, clause: str, *, subject: str | None) -> list[Finding]:
        """Return what a clause states about the user and theirs; ``subject`` is what it may have left out."""
        ...


_RULES: Mapping[Language, LanguageRules] = {"zh": zh, "en": en}

MAX_SCANNED_CHARACTERS = 20_000
"""Facts about a person stand in what they type; of longer messages (pasted documents) only the start is read."""

EARLIER_MESSAGES = 6
"""The user's messages before this one in which "she" may have been named; further back somebody else may be meant."""

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

    def extract_facts(self, text: str, *, said_at: datetime, earlier: Sequence[str] = ()) -> list[Candidate]:
        """Return what a user's text states; see ``extract_facts``."""
        return extract_facts(text, said_at=said_at, earlier=earlier)

    def read_memory(self, content: str, *, said_at: datetime) -> Candidate | None:
        """Return a memory's sentence with slot and value; see ``read_memory``."""
        return read_memory(content, said_at=said_at)


def extract_facts(text: str, *, said_at: datetime, earlier: Sequence[str] = ()) -> list[Candidate]:
    """Return what the user states about themselves, or asks to remember, in one of their messages.

    Meant for what a user typed; never for text of assistants or tools. ``earlier`` are the user's messages just
    before, oldest first: nothing is extracted from them, they only tell whom "she" means. Precision goes before
    recall: questions, suppositions, quotations, code, pasted text and words that point at something unnamed yield
    nothing; of other people only relatives and people with a name count. Relative dates are counted from
    ``said_at`` and stand beside the words.
    """
    found: dict[str, Candidate] = {}
    for clause, finding, explicit in _findings(clean(text)[:MAX_SCANNED_CHARACTERS], earlier):
        content = annotate_dates(finding.content, said_at=said_at)
        dated = finding.value is not None and content != finding.content
        candidate = Candidate(
            content=content,
            kind=finding.kind,
            slot=finding.slot,
            value=annotate_dates(finding.value or "", said_at=said_at) if dated else finding.value,
            affirmed=finding.affirmed,
            explicit=explicit,
            changed=finding.changed,
            confidence=max(finding.confidence, EXPLICIT_CONFIDENCE) if explicit else finding.confidence,
            said_at=said_at,
            since=started(clause.text, said_at=said_at),
            span=(clause.start, clause.end),
        )
        found.setdefault(candidate.content, candidate)
    return _without_contrasts(list(found.values()))


def _without_contrasts(candidates: list[Candidate]) -> list[Candidate]:
    """Leave out what a message denies only to say what holds instead: "I'm not a designer, I'm a PM" is one fact."""
    said = {candidate.slot for candidate in candidates if candidate.affirmed and candidate.slot}
    return [candidate for candidate in candidates if candidate.affirmed or candidate.slot not in said]


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


def _findings(text: str, earlier: Sequence[str]) -> Iterator[tuple[Clause, Finding, bool]]:
    """Yield each clause that states something, what it states, and whether it was asked to be remembered."""
    people = Referents([message[:MAX_SCANNED_CHARACTERS] for message in earlier[-EARLIER_MESSAGES:]])
    done_sentence = -1
    subject: str | None = None
    subject_sentence = sentence = -1
    of_speaker = True  # nobody else was spoken of yet, so that a message may open without its subject
    for clause in clauses(text):
        if clause.sentence == done_sentence or len(clause.text) > MAX_STATEMENT_CHARACTERS:
            continue
        rules = _RULES[clause.language]
        wish = rules.requested(clause.rest) if len(clause.rest) <= MAX_STATEMENT_CHARACTERS else None
        if wish is not None:
            done_sentence = clause.sentence
            yield from ((clause, finding, True) for finding in _wished(wish, clause.language))
            continue
        if not clause.asserted:
            continue
        spoken = people.resolve(clause.text)
        people.hear(clause.text)
        if subject_sentence != clause.sentence:
            subject = rules.assumed_subject(spoken) if of_speaker and sentence != clause.sentence else None
        sentence = clause.sentence
        yield from ((clause, finding, False) for finding in _stated(clause, spoken, subject))
        named = rules.subject_of(spoken)
        of_speaker = named in ("我", "I")
        if named is not None:
            subject, subject_sentence = named, clause.sentence


def _stated(clause: Clause, spoken: str, subject: str | None) -> list[Finding]:
    """Return what a clause states, trying its sentence's rest first where a comma belongs to the form."""
    rules = _RULES[clause.language]
    rest = clause.rest[:MAX_STATEMENT_CHARACTERS]
    if clause.text != rest and _SPANS_COMMA.search(rest):
        whole = rules.find_statements(rest.rstrip("。.！! "), subject=None)
        if whole:
            return whole
    return rules.find_statements(spoken, subject=subject)


_SPANS_COMMA = re.compile(
    r"不是[^，,]{1,25}[，,]\s*而?是|^预算(?:方面|的话)?[，,:：]|\b(?:is not|isn['’]t)\b[^,]{1,40}, (?:but|it['’]s|it is|rather)\b|^(?:from now on|in (?:the )?future|going forward|以后|今后|从现在起)[,，]|^my [\w-]+, [A-Z]|^(?:我的?)?[^，,]{2,4}(?:又|刚|已经)?[涨降]了[，,]|^i used to \w+,? but i\b|^my [\w-]+(?: [A-Z][a-z]+)? and i are\b",
    re.IGNORECASE,
)


def _wished(wish: str, language: Language) -> list[Finding]:
    """Return the facts in what the user asked to remember; the wish itself where no rule knows its form."""
    rules = _RULES[language]
    known: list[Finding] = []
    for part in clauses(wish):
        subject = ("我" if part.language == "zh" else "I") if known else None
        found = _RULES[part.language].find_statements(part.text, subject=subject)
        if not found:
            known = []
            break
        known += found
    return known or [Finding(content=rules.as_request(wish), kind="fact", confidence=EXPLICIT_CONFIDENCE)]
