"""From conversation to long-term memory: at a session's end, and every twenty turns."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from orca.errors import NotFoundError, OrcaError, ProviderError, ProviderResponseError
from orca.memory.backoff import RETRY_AFTER_CAP_SECONDS, exponential_delay
from orca.memory.extraction import SCHEMA, Proposal, parse
from orca.memory.extractor import Extractor
from orca.memory.maintenance import Maintenance, is_expired
from orca.memory.prompts import again_message, extraction_messages
from orca.memory.remembering import Rememberer
from orca.memory.similarity import numbers_in
from orca.memory.summarizer import EXTRACTED_ORIGINS, facts_stated, still_sourced
from orca.memory.transcript import said_text, transcript
from orca.protocols import ChatModel, Clock, Store
from orca.text.analysis import query_terms
from orca.text.normalize import fold
from orca.text.relative_dates import annotate_dates
from orca.text.statements import language_of
from orca.types import Candidate, Job, JobKind, Memory, Message, Scope

logger = logging.getLogger("orca")

BATCH_MESSAGES = 60
"""Messages that one extraction reads: about twenty turns with their tool steps."""

OFFERED_MEMORIES = 20
"""Known memories that the model is shown for update, the ones nearest to the conversation."""

MAX_REPLY_TOKENS = 2_000

MODEL_CONFIDENCE = 0.7
"""Confidence of what a model extracted from the user's words and the rules let pass."""

GUESS_CONFIDENCE = 0.4
"""Confidence of what only the assistant said."""

MAX_ATTEMPTS = 5
"""Tries after which a session waits for its next message, or for somebody to ask, instead of by the clock."""

RETRY_BASE_SECONDS = 60.0
RETRY_CAP_SECONDS = 6 * 3600.0


@dataclass(slots=True)
class Outcome:
    """What one batch gives: statements to remember, memories to forget, and what was refused."""

    statements: list[Candidate] = field(default_factory=list)
    replaced: dict[int, Candidate] = field(default_factory=dict)
    forgotten: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class Consolidator:
    """Does ``consolidate`` jobs, and consolidates a session on request."""

    kind: JobKind = "consolidate"
    batch_size = 1
    linger = 0.0
    lease_seconds = 300.0
    paused_until: datetime | None = None

    def __init__(
        self,
        store: Store,
        chat_model: ChatModel | None,
        *,
        extractor: Extractor,
        rememberer: Rememberer,
        clock: Clock,
    ) -> None:
        self._store = store
        self._model = chat_model
        self._extractor = extractor
        self._rememberer = rememberer
        self._clock = clock
        self._maintenance = Maintenance(store, clock=clock)

    def resume(self) -> None:
        """Allow a try at once; there is no pause beyond each job's own."""

    def handle(self, jobs: Sequence[Job]) -> None:
        """Consolidate each job's session; one whose model failed stays queued, with the reason."""
        for job in jobs:
            scope = Scope(user=job.user, session=job.session, agent=job.agent)
            try:
                self._consolidate(scope)
            except NotFoundError:
                self._store.jobs.complete([_id(job)])  # the session was deleted
            except ProviderError as error:
                self._postpone(job, error)
            else:
                self._store.jobs.complete([_id(job)])

    def consolidate(self, *, scope: Scope) -> int:
        """Take in what a session has said since the last time; return how many messages were read.

        When the model fails, the facts by rule are taken in at once, and a job keeps trying for the rest.
        Raises ``NotFoundError`` for a session that does not exist.
        """
        try:
            return self._consolidate(scope)
        except ProviderError as error:
            logger.warning("session %r waits for its consolidation: %s", scope.session, error)
            self._queue(scope, error)
            return 0

    def _consolidate(self, scope: Scope) -> int:
        read = 0
        for batch in self._batches(scope):
            known = self._offered(batch, scope)
            by_rule = facts_stated(batch, self._extractor)
            if self._model is None:
                outcome = Outcome(statements=by_rule)
            else:
                try:
                    outcome = self._ask(batch, known, by_rule)
                except ProviderError:
                    self._rememberer.add_many(by_rule, scope=scope)  # facts live even while the model is away
                    raise
            self._apply(batch, outcome, scope)
            read += len(batch)
        if read:
            self._maintenance.prune_summaries(scope=scope)
            self._maintenance.retire(scope=scope)
        return read

    def _batches(self, scope: Scope) -> Iterator[list[Message]]:
        """Yield what is not consolidated yet, in order; each batch is applied before the next is read."""
        while True:
            position = self._store.sessions.get(scope=scope).consolidated_position
            batch = self._store.messages.since(scope=scope, position=position, limit=BATCH_MESSAGES)
            if not batch:
                return
            yield batch
            if self._store.sessions.get(scope=scope).consolidated_position <= position:
                return  # somebody moved it back, or nothing moved: never turn in circles

    def _apply(self, batch: Sequence[Message], outcome: Outcome, scope: Scope) -> None:
        """Write memories, marks and position in one transaction, unless somebody else has been here meanwhile."""
        now = self._clock.now()
        with self._store.transaction() as tx:
            session = tx.sessions.get(scope=scope)
            if session.consolidated_position >= batch[-1].position:
                return
            self._rememberer.add_many(still_sourced(tx, outcome.statements, scope=scope), scope=scope)
            for memory_id, candidate in outcome.replaced.items():
                if still_sourced(tx, [candidate], scope=scope):
                    self._update(tx, memory_id, candidate, scope)
            for memory_id in outcome.forgotten:
                still_active = [
                    m for m in tx.memories.get_many([memory_id], scope=scope) if m.state == "active"
                ]
                for memory in still_active:
                    tx.memories.update(replace(memory, state="forgotten", valid_to=now), scope=scope)
            current = tx.messages.get_many([_message_id(message) for message in batch], scope=scope)
            summaries = {message.summary_id for message in current if message.summary_id is not None}
            tx.summaries.mark_consolidated(sorted(summaries), scope=scope)
            tx.sessions.update(scope=scope, consolidated_position=batch[-1].position, now=now)
        for reason in outcome.refused:
            logger.info("a proposed memory was refused: %s", reason)

    def _update(self, tx: Store, memory_id: int, candidate: Candidate, scope: Scope) -> None:
        """Replace one memory where rules agree that the new statement is about the same thing and newer."""
        found = tx.memories.get_many([memory_id], scope=scope)
        if not found:
            return  # forgotten while the model was reading
        old = found[0]
        said_at = candidate.said_at
        newer = said_at is None or old.valid_from is None or said_at >= old.valid_from
        if old.state != "active" or old.pinned or not newer or not _same_matter(candidate, old):
            self._rememberer.add(candidate, scope=scope)
            return
        self._rememberer.supersede(old, candidate, scope=scope)

    # Below: asking the model

    def _offered(self, batch: Sequence[Message], scope: Scope) -> list[Memory]:
        """Return the known memories nearest to the batch by keyword, none when there is no model to show them."""
        if self._model is None:
            return []
        terms = query_terms(" ".join(said_text(message) for message in batch if message.role == "user"))
        matches = (
            self._store.memories.search(terms, scope=scope, limit=OFFERED_MEMORIES).matches if terms else ()
        )
        now = self._clock.now()
        memories = self._store.memories.get_many([match.id for match in matches], scope=scope)
        return [memory for memory in memories if memory.state == "active" and not is_expired(memory, now)]

    def _ask(self, batch: Sequence[Message], known: Sequence[Memory], by_rule: list[Candidate]) -> Outcome:
        """Return what the model proposes as far as rules let it pass. Raises ``ProviderError`` after one more try."""
        if self._model is None:
            raise OrcaError("there is no model to ask")
        text = transcript(batch, numbered=True)
        if not text:
            return Outcome(statements=by_rule)
        language = language_of("".join(said_text(message) for message in batch if message.role == "user"))
        # Small numbers instead of ids: a model cannot reach a memory that it was not shown.
        offered = dict(enumerate(known))
        messages = extraction_messages(
            text, [(number, memory.content) for number, memory in offered.items()], language=language
        )
        reply = self._model.complete(messages, max_tokens=MAX_REPLY_TOKENS, json_schema=SCHEMA).text
        try:
            extraction = parse(reply)
        except ProviderResponseError as error:
            messages += [
                {"role": "assistant", "content": reply or "…"},
                again_message(str(error), language=language),
            ]
            reply = self._model.complete(messages, max_tokens=MAX_REPLY_TOKENS, json_schema=SCHEMA).text
            extraction = parse(reply)
        outcome = Outcome(statements=list(by_rule))
        review = _Review(batch, offered, self._extractor)
        for proposal in extraction.memories:
            review.judge(proposal, outcome)
        return outcome

    # Below: when the model fails

    def _postpone(self, job: Job, error: ProviderError) -> None:
        if job.attempts + 1 == MAX_ATTEMPTS:
            logger.warning(
                "session %r is not consolidated after %d tries: %s", job.session, MAX_ATTEMPTS, error
            )
        delay = exponential_delay(
            job.attempts + 1, base=RETRY_BASE_SECONDS, cap=RETRY_CAP_SECONDS, factor=4.0
        )
        delay = max(delay, min(error.retry_after or 0.0, RETRY_AFTER_CAP_SECONDS))
        run_after = self._clock.now() + timedelta(seconds=delay)
        self._store.jobs.retry([_id(job)], error=str(error), run_after=run_after, failed=True)

    def _queue(self, scope: Scope, error: ProviderError) -> None:
        """Leave a job behind that names the reason; the session's newest message is its target."""
        newest = self._store.messages.recent(scope=scope, limit=1)
        if not newest:
            return
        run_after = self._clock.now() + timedelta(seconds=max(RETRY_BASE_SECONDS, error.retry_after or 0.0))
        job = Job(
            kind="consolidate",
            record="message",
            target_id=_message_id(newest[0]),
            user=scope.user,
            session=scope.session,
            agent=scope.agent,
            run_after=run_after,
            last_error=str(error),
        )
        self._store.jobs.enqueue([job], now=self._clock.now())


class _Review:
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


def _same_matter(candidate: Candidate, old: Memory) -> bool:
    """Whether a statement can be an update of a memory: of the same slot, or with content words in common."""
    if candidate.slot is not None and old.slot is not None:
        return candidate.slot == old.slot
    return bool((set(query_terms(candidate.content)) & set(query_terms(old.content))) - _FRAME)


def _other_script(proposal: Proposal, said: Sequence[Message]) -> bool:
    return language_of(proposal.content) != language_of(" ".join(said_text(message) for message in said))


def _same_source_and_text(a: Candidate, b: Candidate) -> bool:
    return fold(a.content).strip(" .。") == fold(b.content).strip(" .。")


def _message_id(message: Message) -> int:
    if message.id is None:
        raise OrcaError("only stored messages are consolidated")
    return message.id


def _id(job: Job) -> int:
    if job.id is None:
        raise OrcaError("a claimed job has an id")
    return job.id
