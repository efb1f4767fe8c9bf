"""Rules that judge what a model proposes to remember."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orca.errors import OrcaError
from orca.memory.extraction import Proposal
from orca.memory.extractor import Extractor
from orca.memory.similarity import differs_in_one_place, numbers_in
from orca.memory.summarizer import EXTRACTED_ORIGINS
from orca.memory.transcript import said_text
from orca.text.analysis import query_terms
from orca.text.normalize import fold
from orca.text.relative_dates import annotate_dates
from orca.text.statements import language_of
from orca.types import Candidate, Memory, Message

MODEL_CONFIDENCE = 0.7
"""Confidence of what a model extracted from the user's words and the rules let pass."""

GUESS_CONFIDENCE = 0.4
"""Confidence of what only the assistant said."""


@dataclass(slots=True)
class Outcome:
    """What one batch gives: statements to remember, memories to forget, and what was refused."""

    statements: list[Candidate] = field(default_factory=list)
    replaced: dict[int, Candidate] = field(default_factory=dict)
    forgotten: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class Review:
    """Judges a model's proposals by rule: known ids, the user's own words, numbers that were really said."""

    def __init__(self, batch: Sequence[Message], offered: Mapping[int, Memory], extractor: Extractor) -> None:
        self._by_id = {_message_id(message): message for message in batch}
        self._offered = offered
        self._extractor = extractor

    def judge(self, proposal: Proposal, outcome: Outcome) -> None:
        """Add a proposal to the outcome, or the reason why not."""
        if proposal.action == "none":
            return
        old: Memory | None = None
        if proposal.action in ("update", "delete"):
            old = self._offered.get(proposal.id) if isinstance(proposal.id, int) else None
            if old is None or old.id is None:
                outcome.refused.append(f"{proposal.action} of memory {proposal.id!r}, which was not offered")
                return
        sources, reason = self._sources(proposal)
        if reason is not None:
            outcome.refused.append(reason)
            return
        from_user = self._from_user(proposal, sources)
        if proposal.action == "delete":
            self._judge_deletion(old, from_user=from_user, outcome=outcome)
            return
        candidate = self._candidate(proposal, sources, from_user=from_user)
        if candidate is None:
            outcome.refused.append(f"{proposal.content!r} is empty or holds a number that nobody said")
        elif old is not None and old.id is not None and from_user:
            outcome.replaced[old.id] = candidate
        elif old is not None:
            outcome.refused.append("an update that only the assistant asserts")
        elif not any(_same_source_and_text(candidate, other) for other in outcome.statements):
            outcome.statements.append(candidate)

    @staticmethod
    def _judge_deletion(old: Memory | None, *, from_user: bool, outcome: Outcome) -> None:
        if old is None or old.id is None:
            return
        if not from_user or old.pinned:
            outcome.refused.append(f"deletion of memory {old.id}, which the user did not ask for")
        else:
            outcome.forgotten.append(old.id)

    def _sources(self, proposal: Proposal) -> tuple[list[Message], str | None]:
        sources = [
            self._by_id[number]
            for number in proposal.message_ids
            if isinstance(number, int) and number in self._by_id
        ]
        if proposal.message_ids and not sources:
            return [], f"{proposal.content!r} names messages that were not given: {proposal.message_ids}"
        # A model that names no message leaves the whole batch to be searched.
        return sources or list(self._by_id.values()), None

    @staticmethod
    def _from_user(proposal: Proposal, sources: Sequence[Message]) -> bool:
        """Whether the user said it: the model says so, and a user's message of the sources shares its words."""
        if proposal.speaker != "user":
            return False
        said = [
            message for message in sources if message.role == "user" and message.origin in EXTRACTED_ORIGINS
        ]
        if not said:
            return False
        wanted = set(query_terms(proposal.content)) - _FRAME
        spoken = set().union(*(query_terms(said_text(message)) for message in said))
        # Half of the words may be the model's own; translations share none, but then the model named the messages.
        named = bool(proposal.message_ids)
        return (
            not wanted
            or len(wanted & spoken) >= (1 if named else len(wanted) / 2)
            or (named and _other_script(proposal, said))
        )

    def _candidate(
        self, proposal: Proposal, sources: Sequence[Message], *, from_user: bool
    ) -> Candidate | None:
        content = " ".join(proposal.content.split())
        own = [
            message
            for message in sources
            if (message.role == "user") == from_user and message.role in ("user", "assistant")
        ]
        spoken = " ".join(said_text(message) for message in (own or sources))
        times = [message.timestamp for message in own or sources if message.timestamp is not None]
        said_at = max(times, default=None)
        if said_at is not None:
            spoken = f"{spoken} {annotate_dates(spoken, said_at=said_at)} {said_at.date().isoformat()}"
        if not content or not numbers_in(content) <= numbers_in(spoken):
            return None
        read = (
            self._extractor.read_memory(content, said_at=said_at)
            if said_at is not None and from_user
            else None
        )
        return Candidate(
            content=content if said_at is None else annotate_dates(content, said_at=said_at),
            kind=proposal.kind,
            slot=read.slot if read else None,
            value=read.value if read else None,
            affirmed=read.affirmed if read else True,
            confidence=MODEL_CONFIDENCE if from_user else GUESS_CONFIDENCE,
            origin="user" if from_user else "assistant",
            said_at=said_at,
            source_message_ids=tuple(_message_id(message) for message in own[:20]),
        )


_FRAME = frozenset(
    query_terms("用户 the user user's wants likes 用户这边")
)  # words of the frame, not of the fact


def same_matter(candidate: Candidate, old: Memory) -> bool:
    """Whether a statement can be an update of a memory.

    That is one of the same slot, or with content words in common and one thing changed. A model that takes two
    ports, two pets or two people for one would lose a fact; the worst that refusing does is that both stand.
    """
    if candidate.slot is not None and old.slot is not None:
        return candidate.slot == old.slot
    return differs_in_one_place(candidate.content, old.content) and bool(
        (set(query_terms(candidate.content)) & set(query_terms(old.content))) - _FRAME
    )


def _other_script(proposal: Proposal, said: Sequence[Message]) -> bool:
    return language_of(proposal.content) != language_of(" ".join(said_text(message) for message in said))


def _same_source_and_text(a: Candidate, b: Candidate) -> bool:
    return fold(a.content).strip(" .。") == fold(b.content).strip(" .。")


def _message_id(message: Message) -> int:
    if message.id is None:
        raise OrcaError("only stored messages are consolidated")
    return message.id
