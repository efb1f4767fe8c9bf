"""From conversation to long-term memory: at a session's end, and every twenty turns."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from orca.errors import NotFoundError, OrcaError, ProviderError, ProviderResponseError
from orca.memory.backoff import RETRY_AFTER_CAP_SECONDS, exponential_delay
from orca.memory.extraction import SCHEMA, parse
from orca.memory.extractor import Extractor
from orca.memory.maintenance import Maintenance, is_expired
from orca.memory.prompts import again_message, extraction_messages
from orca.memory.remembering import Rememberer
from orca.memory.review import Outcome, Review, same_matter
from orca.memory.summarizer import facts_stated, still_sourced
from orca.memory.transcript import is_forgotten, said_text, transcript
from orca.protocols import ChatModel, Clock, Store
from orca.text.analysis import query_terms
from orca.text.statements import language_of
from orca.types import Candidate, Job, JobKind, Memory, Message, Scope

logger = logging.getLogger("orca")

BATCH_MESSAGES = 60
"""Messages that one extraction reads: about twenty turns with their tool steps."""

OFFERED_MEMORIES = 20
"""Known memories that the model is shown for update, the ones nearest to the conversation."""

MAX_REPLY_TOKENS = 2_000

MAX_ATTEMPTS = 5
"""Tries after which a session waits for its next message, or for somebody to ask, instead of by the clock."""

RETRY_BASE_SECONDS = 60.0
RETRY_CAP_SECONDS = 6 * 3600.0


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
            read += len(batch)
            told = [message for message in batch if not is_forgotten(message)]
            known = self._offered(told, scope)
            by_rule = facts_stated(told, self._extractor)
            if self._model is None:
                outcome = Outcome(statements=by_rule)
            else:
                try:
                    outcome = self._ask(told, known, by_rule)
                except ProviderError:
                    self._rememberer.add_many(by_rule, scope=scope)  # facts live even while the model is away
                    raise
            self._apply(batch, outcome, scope)
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
            tx.sessions.update(scope=scope, consolidated_position=batch[-1].position)
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
        if old.state != "active" or old.pinned or not newer or not same_matter(candidate, old):
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
        review = Review(batch, offered, self._extractor)
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


def _message_id(message: Message) -> int:
    if message.id is None:
        raise OrcaError("only stored messages are consolidated")
    return message.id


def _id(job: Job) -> int:
    if job.id is None:
        raise OrcaError("a claimed job has an id")
    return job.id
