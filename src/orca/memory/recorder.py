"""Taking messages in: cleaned, counted, stored with their jobs, and never lost when the store fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

from orca.errors import ConfigError, StoreUnavailableError
from orca.health import Check
from orca.memory.rendering import all_message_tokens, render_message
from orca.memory.spool import MessageSpool
from orca.memory.turn_end import ends_turn, is_blank, summary_job
from orca.protocols import Clock, Store, TokenCounter
from orca.text.jsonable import jsonable
from orca.text.normalize import clean
from orca.text.redaction import MASKED, Redaction, mask_message, mask_run
from orca.types import ROLES, Message, MessageType, Origin, Role, Scope, SubAgentMessage, SubAgentRun

logger = logging.getLogger("orca")

_ORIGINS: Mapping[Role, Origin] = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "system": "system",
}


class Recorder:
    """Writes messages to the store, or to the spool while the store cannot take them."""

    def __init__(
        self,
        store: Store,
        *,
        counter: TokenCounter,
        clock: Clock,
        spool: MessageSpool | None,
        notify: Callable[[], None],
        stand_in: bool = False,
        redaction: Redaction = MASKED,
    ) -> None:
        """``stand_in`` says that ``store`` forgets on closing, so that every message goes to the spool as well."""
        self._store = store
        self._counter = counter
        self._clock = clock
        self._spool = spool
        self._notify = notify
        self._stand_in = stand_in
        self._redaction = redaction
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Why messages are going to the spool, or None."""
        return self._reason

    def record(self, messages: Sequence[Message], *, scope: Scope) -> list[Message]:
        """Store messages in one transaction with the jobs they cause; return them with their ids.

        Raises ``ConfigError`` for a message that cannot be kept, before anything is written.
        """
        checked = [self._checked(message, number) for number, message in enumerate(messages, 1)]
        if not checked:
            return []
        tokens = all_message_tokens([render_message(message) for message in checked], self._counter)
        prepared = [
            self._completed(message, scope, count, number)
            for number, (message, count) in enumerate(zip(checked, tokens, strict=True), 1)
        ]
        if self._stand_in and self._spool is not None:
            self._spool.append(prepared, scope=scope)
            return self._store_messages(prepared, scope)
        try:
            if self._spool is not None and self._spool.pending():
                # What waited longest goes first, so that positions follow the order of speaking.
                self._spool.drain(self._store)
            stored = self._store_messages(prepared, scope)
        except StoreUnavailableError as error:
            if self._spool is None:
                raise
            if self._reason is None:
                logger.warning(
                    "messages are kept in %s until the store is well: %s", self._spool.location, error
                )
            self._reason = str(error)
            return self._spool.append(prepared, scope=scope)
        self._reason = None
        return stored

    def record_run(
        self, run: SubAgentRun, messages: Sequence[SubAgentMessage], *, scope: Scope
    ) -> SubAgentRun:
        """Store a finished sub-agent run with its trace, or more steps of one that has an id, in one transaction."""
        run = mask_run(run, self._redaction)
        messages = [mask_message(message, self._redaction) for message in messages]
        with self._store.transaction() as tx:
            stored = run if run.id is not None else tx.subagents.start(run, scope=scope)
            if stored.id is None:
                raise ConfigError("the store gave the run no id")
            tx.subagents.append([replace(message, run_id=stored.id) for message in messages], scope=scope)
            return tx.subagents.finish(
                stored.id,
                scope=scope,
                status=run.status,
                now=run.ended_at or self._clock.now(),
                summary=run.summary,
                error=run.error,
                tokens=run.tokens,
            )

    def drain(self) -> int:
        """Bring spooled messages back into a store that is well again; return how many came."""
        if self._spool is None or self._stand_in or not self._spool.pending():
            return 0
        drained = self._spool.drain(self._store)
        self._reason = None
        self._notify()
        return drained

    def waiting(self, scope: Scope) -> list[Message]:
        """Return the scope's messages that are still in the spool, oldest first."""
        if self._spool is None or self._stand_in:
            return []
        return self._spool.waiting(scope=scope)

    def count_waiting(self, *, user: str, session: str | None) -> int:
        """Return how many messages of a user, or of one session, wait in the spool."""
        return 0 if self._spool is None else self._spool.count_of(user=user, session=session)

    def discard(self, *, user: str, session: str | None) -> int:
        """Delete the messages of a user, or of one session, that wait in the spool; return how many."""
        return 0 if self._spool is None else self._spool.discard(user=user, session=session)

    def check_spool(self, texts: Collection[str]) -> list[Check]:
        """Look for deleted texts in the files of the spool."""
        return [] if self._spool is None else self._spool.check_files(texts)

    def _store_messages(self, messages: Sequence[Message], scope: Scope) -> list[Message]:
        now = self._clock.now()
        with self._store.transaction() as tx:
            stored = tx.messages.append(messages, scope=scope)
            turns = [message for message in stored if ends_turn(message)]
            tx.jobs.enqueue([summary_job(message) for message in turns], now=now)
        self._notify()
        return stored

    def _checked(self, message: Message, number: int) -> Message:
        if message.role not in ROLES:
            raise ConfigError(f"message {number}: role {message.role!r} is not one of {', '.join(ROLES)}")
        if message.msg_type not in get_args(MessageType):
            raise ConfigError(
                f"message {number}: msg_type {message.msg_type!r} is not one of {', '.join(get_args(MessageType))}"
            )
        message = _plain(message, number)
        if message.role in ("user", "system") and is_blank(message.content):
            raise ConfigError(f"message {number}: the content of a {message.role} message is empty")
        return mask_message(message, self._redaction)

    def _completed(self, message: Message, scope: Scope, tokens: int, number: int) -> Message:
        return replace(
            message,
            user=scope.user,
            session=scope.session,
            agent=scope.agent,
            origin=message.origin or _ORIGINS[message.role],
            token_count=tokens,
            timestamp=as_utc(message.timestamp or self._clock.now(), field=f"message {number}: timestamp"),
        )


def _plain(message: Message, number: int) -> Message:
    """Return a message made of clean text and JSON's own types, as it will be read again.

    Raises ``ConfigError`` for a field that is no text, list or mapping where it has to be one.
    """
    content, metadata, calls = message.content, message.metadata, message.tool_calls
    where = f"message {number}: "
    if not (content is None or isinstance(content, str | list | tuple)):
        raise ConfigError(f"{where}content is a {_kind(content)}; give a text, a list of parts or nothing")
    if not isinstance(metadata, Mapping):
        raise ConfigError(f"{where}metadata is a {_kind(metadata)}; give a mapping")
    if not (
        calls is None or (isinstance(calls, list | tuple) and all(isinstance(one, Mapping) for one in calls))
    ):
        raise ConfigError(f"{where}tool_calls is not a list of mappings")
    plain = {
        "content": jsonable(content, where=f"{where}content"),
        "metadata": jsonable(metadata, where=f"{where}metadata"),
        "tool_calls": jsonable(calls, where=f"{where}tool_calls"),
        "name": _text(message.name, where=f"{where}name"),
        "tool_call_id": _text(message.tool_call_id, where=f"{where}tool_call_id"),
        "reasoning": _text(message.reasoning, where=f"{where}reasoning"),
        "dedupe_key": _text(message.dedupe_key, where=f"{where}dedupe_key"),
    }
    # Most messages are plain already, and a copy of a message costs more than all that is looked at here.
    changed = {name: value for name, value in plain.items() if _differs(getattr(message, name), value)}
    return replace(message, **changed) if changed else message


def _differs(old: object, new: object) -> bool:
    return old is not new and not (type(old) is type(new) and not old and not new)


def _text(value: object, *, where: str) -> str | None:
    if not (value is None or isinstance(value, str)):
        raise ConfigError(f"{where} is a {_kind(value)}; give a text")
    return None if value is None else clean(value)


def _kind(value: object) -> str:
    return type(value).__name__


def as_message(value: Message | Mapping[str, Any]) -> Message:
    """Return a message given as one or as a mapping of its fields. Raises ``ConfigError`` on unknown fields."""
    if isinstance(value, Message):
        return value
    if "role" not in value:
        raise ConfigError("a message needs a role")
    fields = dict(value)
    try:
        return Message(**fields)
    except TypeError as error:
        known = ", ".join(sorted(set(fields) - set(Message.__dataclass_fields__)))
        raise ConfigError(f"a message has no field {known or error}") from None


def as_utc(value: datetime | str, *, field: str) -> datetime:
    """Return a time as timezone-aware UTC; one without a zone is taken as UTC. Raises ``ConfigError``."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ConfigError(
                f"{field}: {value!r} is not an ISO 8601 time like 2026-05-10T08:30:00+08:00"
            ) from None
    if not isinstance(value, datetime):
        raise ConfigError(f"{field}: {value!r} is not a time; give a datetime or ISO 8601 text")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ConfigError(f"{field}: {value!r} lies outside the years 1 to 9999 in UTC") from None
