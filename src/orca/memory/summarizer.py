"""The turn's summary: written in the background when a reply is complete, by a model or by rule."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from orca.errors import NotFoundError, OrcaError, ProviderError
from orca.memory.backoff import RETRY_AFTER_CAP_SECONDS, exponential_delay
from orca.memory.extractor import Extractor
from orca.memory.maintenance import Maintenance
from orca.memory.prompts import summary_messages
from orca.memory.remembering import Rememberer
from orca.memory.transcript import is_forgotten, said_text, transcript, turn_ending_at
from orca.protocols import ChatModel, Clock, Store
from orca.text.reasoning import split_reasoning
from orca.text.statements import language_of, length_units
from orca.types import Candidate, Job, JobKind, Message, Scope, Summary

logger = logging.getLogger("orca")

EXTRACTIVE = "extractive"
"""The method of summaries made by rule; those of a model carry the model's name."""

MAX_SUMMARY_UNITS = 100
"""Longest summary kept, in Chinese characters and words: twice what is asked for, so that a model that rambles
cannot make memory grow. A longer one is cut after its last whole sentence or clause."""

MAX_REPLY_TOKENS = 300
"""Room for the model's reply; some models think before the sentence."""

TURNS_PER_CONSOLIDATION = 20
"""Turns after which long-term memory takes a session in without waiting for its end (seed)."""

MAX_ATTEMPTS = 4
"""Tries of the model on one turn; after them the summary by rule stays."""

RETRY_BASE_SECONDS = 15.0
RETRY_CAP_SECONDS = 900.0

MESSAGES_BEFORE = 12
"""Messages before a turn that are read for whom its pronouns mean: about six of the user's."""

EXTRACTED_ORIGINS = (None, "user")
"""Whose words may become long-term memories by themselves; imported text waits to be trusted, other text for a promotion."""


class Summarizer:
    """Does ``summarize`` jobs: one summary a turn, and the facts that its user messages state by rule."""

    kind: JobKind = "summarize"
    batch_size = 8
    linger = 0.0
    lease_seconds = 120.0
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
        self._failing = False

    def resume(self) -> None:
        """Allow a try at once; there is no pause beyond each job's own."""

    def handle(self, jobs: Sequence[Job]) -> None:
        """Summarise each job's turn; a job whose model failed comes back later, with a summary by rule meanwhile."""
        for job in jobs:
            self._summarize(job)

    def _summarize(self, job: Job) -> None:
        scope = Scope(user=job.user, session=job.session, agent=job.agent)
        try:
            last = self._store.messages.get(job.target_id, scope=scope)
        except NotFoundError:
            self._store.jobs.complete([_id(job)])  # the message was deleted, and its turn with it
            return
        turn = turn_ending_at(self._store, last, scope=scope)
        before = self._existing(self._store, last, scope)
        text, method, failure = self._write(turn)
        retried = failure is not None and job.attempts + 1 < MAX_ATTEMPTS and not failure[1]
        candidates = facts_stated(turn, self._extractor, earlier=self._before(turn, scope))
        with self._store.transaction() as tx:
            if (
                text
                and self._may_write(tx, last, before, method, scope)
                and not _any_forgotten(tx, turn, scope)
            ):
                tx.summaries.append(self._summary(text, method, turn, scope), scope=scope)
            self._rememberer.add_many(still_sourced(tx, candidates, scope=scope), scope=scope)
            if failure is not None and retried:
                tx.jobs.retry(
                    [_id(job)], error=failure[0], run_after=self._later(job, failure[2]), failed=True
                )
            else:
                tx.jobs.complete([_id(job)])
            self._enqueue_consolidation(tx, last, scope)
        self._maintenance.prune_summaries(scope=scope)

    def _before(self, turn: Sequence[Message], scope: Scope) -> list[Message]:
        return self._store.messages.recent(scope=scope, limit=MESSAGES_BEFORE, before=turn[0].id)

    def _write(self, turn: Sequence[Message]) -> tuple[str, str, tuple[str, bool, float | None] | None]:
        """Return the summary, its method, and for a failed model (reason, whether trying again is useless, wait)."""
        by_rule = self._extractor.summarize_turn(turn)
        if self._model is None or not by_rule:
            return by_rule, EXTRACTIVE, None
        text = transcript(turn)
        language = language_of(
            "".join(said_text(message) for message in turn if message.role == "user") or text
        )
        try:
            completion = self._model.complete(
                summary_messages(text, language=language), max_tokens=MAX_REPLY_TOKENS
            )
        except ProviderError as error:
            return (
                by_rule,
                EXTRACTIVE,
                self._failed(str(error), refused=error.refused, wait=error.retry_after),
            )
        written = capped(completion.text)
        if not written:
            return by_rule, EXTRACTIVE, self._failed("the model's summary is empty", refused=False, wait=None)
        if self._failing:
            self._failing = False
            logger.info("summaries by %s work again", self._model.name)
        return written, self._model.name, None

    def _failed(self, reason: str, *, refused: bool, wait: float | None) -> tuple[str, bool, float | None]:
        log = logger.debug if self._failing else logger.warning
        log("summaries are made by rule: %s", reason)
        self._failing = True
        return f"summary by rule: {reason}", refused, wait

    def _later(self, job: Job, wait: float | None) -> datetime:
        delay = exponential_delay(
            job.attempts + 1, base=RETRY_BASE_SECONDS, cap=RETRY_CAP_SECONDS, factor=4.0
        )
        return self._clock.now() + timedelta(seconds=max(delay, min(wait or 0.0, RETRY_AFTER_CAP_SECONDS)))

    @staticmethod
    def _existing(store: Store, last: Message, scope: Scope) -> Summary | None:
        if last.summary_id is None:
            return None
        return next(iter(store.summaries.get_many([last.summary_id], scope=scope)), None)

    def _may_write(self, tx: Store, last: Message, before: Summary | None, method: str, scope: Scope) -> bool:
        """Whether nobody else has summarised this turn since ``before`` was read, and nothing better is there."""
        try:
            current = tx.messages.get(_message_id(last), scope=scope)
        except NotFoundError:
            return False  # deleted while the model was writing
        now_there = self._existing(tx, current, scope)
        if now_there is None:
            return before is None
        if before is None or _version(now_there) != _version(before):
            return False
        if max(now_there.source_message_ids, default=0) > _message_id(last):
            return False
        return now_there.method == EXTRACTIVE and method != EXTRACTIVE

    def _summary(self, text: str, method: str, turn: Sequence[Message], scope: Scope) -> Summary:
        sources = tuple(_message_id(message) for message in turn)
        return Summary(
            content=text,
            user=scope.user,
            session=scope.session,
            agent=scope.agent,
            source_message_ids=sources,
            source_count=len(sources),
            method=method,
            # The prompt shows it as the turn's date, and a job may run long after.
            created_at=turn[-1].timestamp or self._clock.now(),
        )

    def _enqueue_consolidation(self, tx: Store, last: Message, scope: Scope) -> None:
        """Every twenty turns, and while a model is there to do it, let long-term memory take the session in."""
        try:
            session = tx.sessions.get(scope=scope)
        except NotFoundError:
            return
        if last.position - session.consolidated_position < TURNS_PER_CONSOLIDATION:
            return  # fewer messages than turns are needed: no need to count
        waiting = tx.messages.since(scope=scope, position=session.consolidated_position)
        turns = sum(_is_turn_end(message) for message in waiting if message.position <= last.position)
        if turns and turns % TURNS_PER_CONSOLIDATION == 0:
            job = Job(
                kind="consolidate",
                record="message",
                target_id=_message_id(last),
                user=scope.user,
                session=scope.session,
                agent=scope.agent,
            )
            tx.jobs.enqueue([job], now=self._clock.now())


def facts_stated(
    messages: Sequence[Message], extractor: Extractor, *, earlier: Sequence[Message] = ()
) -> list[Candidate]:
    """Return what the user's own messages state by rule, each with its message as source.

    From ``earlier``, the messages just before, nothing is extracted; they tell whom "she" means.
    """
    candidates: list[Candidate] = []
    said = [said_text(message) for message in earlier if _is_own(message)]
    for message in messages:
        if not _is_own(message) or message.timestamp is None:
            continue
        text = said_text(message)
        candidates += [
            replace(candidate, source_message_ids=(_message_id(message),))
            for candidate in extractor.extract_facts(text, said_at=message.timestamp, earlier=said)
        ]
        said.append(text)
    return candidates


def _is_own(message: Message) -> bool:
    return message.role == "user" and message.origin in EXTRACTED_ORIGINS


def still_sourced(tx: Store, candidates: Sequence[Candidate], *, scope: Scope) -> list[Candidate]:
    """Return the candidates whose messages exist still: what was deleted or forgotten must not come back."""
    ids = {number for candidate in candidates for number in candidate.source_message_ids}
    there = {
        message.id for message in tx.messages.get_many(sorted(ids), scope=scope) if not is_forgotten(message)
    }
    return [candidate for candidate in candidates if there.issuperset(candidate.source_message_ids)]


def _any_forgotten(tx: Store, turn: Sequence[Message], scope: Scope) -> bool:
    """Whether what one of the messages said was forgotten, now or while a model wrote."""
    current = tx.messages.get_many([_message_id(message) for message in turn], scope=scope)
    return any(map(is_forgotten, current))


_BREAKS = re.compile(r"[^。！？!?.；;，,]*[。！？!?.；;，,]+\s*|[^。！？!?.；;，,]+$")


def capped(reply: str) -> str:
    """Return a model's summary as one line of at most ``MAX_SUMMARY_UNITS``, cut after a whole sentence or clause."""
    text = re.sub(r"\s+", " ", split_reasoning(reply)[0]).strip().strip('"“”` ')
    if length_units(text) <= MAX_SUMMARY_UNITS:
        return text[: MAX_SUMMARY_UNITS * 12]
    kept = ""
    for piece in _BREAKS.findall(text):
        if length_units(kept + piece) > MAX_SUMMARY_UNITS:
            break
        kept += piece
    if not kept:
        words = re.findall(r"\s*\w[\w'’.-]*|.", text) if " " in text else list(text)
        kept = "".join(words[:MAX_SUMMARY_UNITS])
    return kept.rstrip(" ,，;；") + "…"


def _version(summary: Summary) -> tuple[object, ...]:
    return (summary.id, summary.content, summary.method, summary.updated_at)


def _is_turn_end(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls and bool(said_text(message))


def _message_id(message: Message) -> int:
    if message.id is None:
        raise OrcaError("only a stored message can be summarised")
    return message.id


def _id(job: Job) -> int:
    if job.id is None:
        raise OrcaError("a claimed job has an id")
    return job.id
