"""``JSONLStore``: messages in plain files, one for each session. What is left when the database cannot be used."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from orca.errors import ConfigError, NotFoundError
from orca.protocols import Clock
from orca.stores._bm25 import best_matches, bm25, counted
from orca.stores.jsonl_files import (
    DirectoryLock,
    GrowingFile,
    append_durably,
    available,
    file_name,
    is_own_name,
    replace_durably,
)
from orca.stores.jsonl_lines import (
    HEAD_KEY,
    check_limit,
    check_message,
    check_scope,
    head_line,
    message_line,
    message_of,
)
from orca.stores.jsonl_old_logs import OldLogs
from orca.text.analysis import index_terms
from orca.text.json_lines import parse_line
from orca.text.parts import indexed_text, plain_text
from orca.types import KeywordResult, Message, Placements, Scope

log = logging.getLogger("orca")


class SessionLog:
    """One session's file, as far as it has been read."""

    def __init__(self, path: Path) -> None:
        """Begin before the first line of ``path``."""
        self.file = GrowingFile(path)
        self._reset()

    def _reset(self) -> None:
        self.messages: dict[int, Message] = {}
        self.keys: dict[str, int] = {}
        self.last_id = 0
        self.last_position = 0

    def refresh(self) -> None:
        """Read the lines that are new. Raises ``OSError``."""
        restarted, lines = self.file.changes()
        if restarted:
            self._reset()
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            fields = parse_line(line)
            if fields is None:
                return
            if HEAD_KEY in fields:
                self._saw(int(fields["last_id"]), int(fields["last_position"]))
                return
            message = message_of(fields)
        except (KeyError, TypeError, ValueError) as error:
            log.warning("%s: a damaged line is left out: %s", self.file.path, error)
            return
        number = message.id or 0
        self._saw(number, message.position)
        self.messages[number] = message
        if message.dedupe_key is not None:
            self.keys[message.dedupe_key] = number

    def _saw(self, number: int, position: int) -> None:
        self.last_id = max(self.last_id, number)
        self.last_position = max(self.last_position, position)

    def remove(self, ids: set[int], scope: Scope) -> None:
        """Write the file anew without some messages; lines that cannot be read stay. Raises ``OSError``."""
        kept = [head_line(scope, last_id=self.last_id, last_position=self.last_position)]
        for line in self.file.path.read_bytes()[: self.file.end].splitlines(keepends=True):
            try:
                fields = parse_line(line) or {}
            except ValueError:
                fields = {}
            if HEAD_KEY not in fields and fields.get("id") not in ids:
                kept.append(line)
        replace_durably(self.file.path, b"".join(kept))
        self.refresh()


class JSONLStore:
    """Messages in one directory of JSON Lines files. See ``orca.protocols.MessageStore``.

    Several threads and processes may use one directory. An append is durable on return; a line that a crash cut
    off is ignored, and removed by the next append. Searches scan, which suits thousands of messages, not millions.
    Plain logs that lie in the directory are read as sessions of the default user, named as in the lines or by
    the file. Nothing is created before the first write. Every method raises ``StoreUnavailableError`` when the
    directory cannot be used.
    """

    def __init__(self, directory: str | Path, *, clock: Clock) -> None:
        """Use ``directory``; ``clock`` gives the time of messages that come without one."""
        self._directory = Path(directory)
        self._clock = clock
        self._locked = DirectoryLock(self._directory)
        self._logs: dict[str, SessionLog] = {}
        self._old = OldLogs(self._directory)
        self._terms: dict[int, Counter[str]] = {}

    @property
    def location(self) -> str:
        """The directory's path."""
        return str(self._directory)

    def append(self, messages: Sequence[Message], *, scope: Scope) -> list[Message]:
        """Store messages in order and return them with id, position and timestamp."""
        prepared = [self._prepare(message, check_scope(scope)) for message in messages]
        if not prepared:
            return []
        with self._writing():
            path = self._directory / file_name(scope)
            session = self._logs.get(path.name) or SessionLog(path)
            position = self._last_position(scope)
            last_id = self._last_id()
            keys = dict(session.keys)
            numbers: list[int] = []
            lines = [] if session.file.end else [head_line(scope, last_id=last_id, last_position=position)]
            for message in prepared:
                known = keys.get(message.dedupe_key) if message.dedupe_key is not None else None
                if known is None:
                    last_id, position = last_id + 1, position + 1
                    known = last_id
                    lines.append(message_line(replace(message, id=known, position=position)))
                    if message.dedupe_key is not None:
                        keys[message.dedupe_key] = known
                numbers.append(known)
            if len(lines) > (not session.file.end):
                append_durably(path, b"".join(lines), at=session.file.end)
                session.refresh()
                self._logs[path.name] = session
            return [session.messages[number] for number in numbers]

    def get(self, message_id: int, *, scope: Scope) -> Message:
        """Return one message of the user, whatever its session. Raises ``NotFoundError``."""
        found = self.get_many([message_id], scope=scope)
        if not found:
            raise NotFoundError(f"there is no message {message_id} of user {scope.user!r}")
        return found[0]

    def get_many(self, message_ids: Sequence[int], *, scope: Scope) -> list[Message]:
        """Return those of the messages that exist for this user and agent, in order of id."""
        wanted = set(message_ids)
        check_scope(scope)
        with self._reading():
            return [message for message in self._of_owner(scope) if message.id in wanted]

    def recent(self, *, scope: Scope, limit: int | None = None, before: int | None = None) -> list[Message]:
        """Return the newest ``limit`` messages of the session (all when None) with an id below ``before``."""
        check_limit(limit)
        with self._reading():
            found = [
                message for message in self._of_session(scope) if before is None or (message.id or 0) < before
            ]
        return found if limit is None else found[max(0, len(found) - limit) :]

    def since(self, *, scope: Scope, position: int, limit: int | None = None) -> list[Message]:
        """Return the session's messages after ``position``, oldest first."""
        check_limit(limit)
        with self._reading():
            return [message for message in self._of_session(scope) if message.position > position][:limit]

    def search(
        self, terms: Sequence[str], *, scope: Scope, limit: int, across_sessions: bool = True
    ) -> KeywordResult:
        """Return rows that contain any of the index terms, the best ``limit`` by BM25."""
        check_limit(limit)
        check_scope(scope)
        with self._reading():
            wanted = self._of_owner(scope) if across_sessions else self._of_session(scope)
            counts = [self._counts(message) for message in wanted]
        ids = np.array([message.id or 0 for message in wanted], dtype=np.int64)
        lengths, frequencies = counted(counts, terms)
        spread = np.count_nonzero(frequencies, axis=0)
        average = float(lengths.mean()) if counts else 0.0
        scores = bm25(frequencies, lengths, spread=spread, documents=len(counts), average=average)
        return KeywordResult(
            matches=best_matches(ids, lengths, frequencies, scores, limit=limit),
            document_frequencies=tuple(spread.tolist()),
            documents=len(counts),
            average_length=average,
        )

    def neighbours(
        self, message_ids: Sequence[int], *, scope: Scope, radius: int, terms: Sequence[str] = ()
    ) -> Placements:
        """Return the place of every message within ``radius`` positions of the given ones, themselves included."""
        if radius < 0:
            raise ConfigError(f"radius is {radius}; give 0 or more")
        found: dict[int, Message] = {}
        given = self.get_many(message_ids, scope=scope)
        with self._reading():
            for message in given:
                for near in self._of_session(replace(scope, session=message.session)):
                    if near.id is not None and abs(near.position - message.position) <= radius:
                        found[near.id] = near
            messages = [found[number] for number in sorted(found)]
            lengths, frequencies = counted([self._counts(message) for message in messages], terms)
        numbers = {session: number for number, session in enumerate({m.session for m in messages})}
        return Placements(
            ids=np.array(sorted(found), dtype=np.int64),
            sessions=np.array([numbers[message.session] for message in messages], dtype=np.int64),
            positions=np.array([message.position for message in messages], dtype=np.int64),
            lengths=lengths,
            characters=np.array([len(plain_text(message.content)) for message in messages], dtype=np.int64),
            frequencies=frequencies,
        )

    def delete(self, message_ids: Sequence[int], *, scope: Scope) -> int:
        """Delete messages; return how many went."""
        wanted = set(message_ids)
        if not wanted or not self.get_many(message_ids, scope=scope):
            return 0
        with self._writing():
            found = [message for message in self._of_owner(scope) if message.id in wanted]
            for session in {message.session for message in found}:
                owner = replace(scope, session=session)
                ids = {
                    message.id for message in found if message.session == session if message.id is not None
                }
                own = self._logs.get(file_name(owner))
                if own is not None and ids & own.messages.keys():
                    own.remove(ids, owner)
            old = {message.id for message in found if message.id is not None} & self._old.messages.keys()
            if old:
                self._old.remove(old)
            for number in wanted:
                self._terms.pop(number, None)
        return len(found)

    def count(self, *, scope: Scope | None = None) -> int:
        """Return the number of messages in the scope's session, or in the whole store."""
        with self._reading():
            return len(self._of_session(scope)) if scope is not None else sum(1 for _ in self._all())

    def scopes(self) -> list[Scope]:
        """Return the scopes that hold messages, the one with the oldest message first."""
        with self._reading():
            first: dict[Scope, int] = {}
            for message in self._all():
                scope = Scope(user=message.user, session=message.session, agent=message.agent)
                first[scope] = min(message.id or 0, first.get(scope, message.id or 0))
        return sorted(first, key=first.__getitem__)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the directory's lock, with everything read that others wrote."""
        with available(self._directory), self._locked():
            self._refresh()
            yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with available(self._directory), self._locked.threads():
            self._refresh()
            yield

    def _refresh(self) -> None:
        try:
            names = os.listdir(self._directory)  # noqa: PTH208 - names are all that is needed
        except FileNotFoundError:
            names = []
        own = {name for name in names if is_own_name(name)}
        for name in self._logs.keys() - own:
            del self._logs[name]
        for name in own:
            session = self._logs.setdefault(name, SessionLog(self._directory / name))
            session.refresh()
        if self._old.refresh(names):
            self._number_old_logs(names)

    def _number_old_logs(self, names: list[str]) -> None:
        try:
            with self._locked():
                self._old.refresh(names)  # another process may have given the ids meanwhile
                self._old.number(after_id=self._last_id(), after_position=self._own_position, durable=True)
        except OSError as error:
            # A directory that can only be read: the same order gives the same ids each time.
            log.info("%s: ids of old logs are not kept: %s", self._directory, error)
            self._old.number(after_id=self._last_id(), after_position=self._own_position, durable=False)

    def _prepare(self, message: Message, scope: Scope) -> Message:
        check_message(message)
        prepared = replace(
            message,
            id=0,
            user=scope.user,
            session=scope.session,
            agent=scope.agent,
            timestamp=message.timestamp or self._clock.now(),
            has_embedding=False,
            summary_id=None,
        )
        message_line(prepared)  # raises before anything is written
        return prepared

    def _own_position(self, scope: Scope) -> int:
        session = self._logs.get(file_name(scope))
        return session.last_position if session else 0

    def _last_position(self, scope: Scope) -> int:
        old = self._old.last_positions.get(scope.session, 0) if _may_be_old(scope) else 0
        return max(self._own_position(scope), old)

    def _last_id(self) -> int:
        return max([self._old.last_id, *(session.last_id for session in self._logs.values())])

    def _all(self) -> Iterator[Message]:
        yield from self._old.messages.values()
        for session in self._logs.values():
            yield from session.messages.values()

    def _of_owner(self, scope: Scope) -> list[Message]:
        found = [
            message for message in self._all() if message.user == scope.user and message.agent == scope.agent
        ]
        return sorted(found, key=lambda message: message.id or 0)

    def _of_session(self, scope: Scope) -> list[Message]:
        session = self._logs.get(file_name(check_scope(scope)))
        found = list(session.messages.values()) if session else []
        if _may_be_old(scope):
            found += [message for message in self._old.messages.values() if message.session == scope.session]
        return sorted(found, key=lambda message: message.id or 0)

    def _counts(self, message: Message) -> Counter[str]:
        counts = self._terms.get(message.id or 0)
        if counts is None:
            counts = self._terms[message.id or 0] = Counter(index_terms(indexed_text(message)))
        return counts


def _may_be_old(scope: Scope) -> bool:
    return scope.user == Scope().user and scope.agent == Scope().agent
