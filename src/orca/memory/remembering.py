"""Letting new statements meet the memories that exist: repeat, contradict, supersede, or stand beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from orca.memory.extractor import Extractor
from orca.memory.similarity import adds_detail, denies, fingerprint, same_statement
from orca.protocols import Clock, Store
from orca.text.normalize import fold
from orca.types import Candidate, Memory, Scope

CONFIDENCE_STEP = 0.05
"""How much each repeat adds to a memory's confidence."""

MAX_CONFIDENCE = 0.95
"""Repeats never make a memory certain; more may be given by hand."""

MAX_SOURCES = 50
"""Most source message ids that a memory keeps: the first one and the newest."""


@dataclass(slots=True)
class _Known:
    """The memories of one scope, as far as they matter to new ones."""

    now: datetime
    active: dict[int, Memory] = field(default_factory=dict)
    inactive: list[Memory] = field(default_factory=list)

    def put(self, memory: Memory) -> None:
        """Take in a memory as it is now."""
        if memory.id is None:
            raise ValueError("only a stored memory can be known")
        self.active.pop(memory.id, None)
        expired = memory.expires_at is not None and memory.expires_at <= self.now
        if memory.state == "active" and not expired:
            self.active[memory.id] = memory
        else:
            self.inactive.append(memory)


class Rememberer:
    """Writes long-term memories so that each thing is known once, in its newest form, with its history."""

    def __init__(self, store: Store, *, clock: Clock, extractor: Extractor | None = None) -> None:
        """``extractor`` reads slot and value of memories that come without, such as those written by hand."""
        self._store = store
        self._clock = clock
        self._extractor = extractor

    def add(self, statement: Candidate | Memory, *, scope: Scope) -> Memory:
        """Let one statement into memory; return the memory that holds it now. See ``add_many``."""
        return self.add_many([statement], scope=scope)[0]

    def add_many(self, statements: Iterable[Candidate | Memory], *, scope: Scope) -> list[Memory]:
        """Let statements into memory in one transaction; return the memories that hold them now.

        A repeat counts as evidence for the memory it repeats. Another value for the same slot, or the denial of
        what is known, supersedes the old memory if it was said later, and becomes part of its past if it was
        said earlier. What came from a message before changes nothing.
        """
        new = [self._as_memory(statement, scope) for statement in statements]
        if not new:
            return []
        with self._store.transaction() as tx:
            known = _Known(self._clock.now())
            for memory in tx.memories.find(scope=scope, include_inactive=True):
                known.put(memory)
            return [self._meet(tx, memory, known, scope) for memory in new]

    def reread(self, memory: Memory) -> Memory:
        """Return an edited memory with the slot and the value of its new words instead of the old ones."""
        kept = {name: value for name, value in memory.metadata.items() if name not in _READ_DETAILS}
        bare = replace(memory, slot=None, metadata=kept)
        if self._extractor is None:
            return bare
        read = self._extractor.read_memory(bare.content, said_at=self._clock.now())
        return bare if read is None else replace(bare, slot=read.slot, metadata={**kept, **_details(read)})

    def supersede(self, old: Memory, statement: Candidate, *, scope: Scope) -> Memory:
        """Let a statement take the place of one memory, as somebody decided who saw both; return the new version.

        A statement that repeats the memory counts as evidence for it instead.
        """
        new = self._as_memory(statement, scope)
        with self._store.transaction() as tx:
            known = _Known(self._clock.now())
            for memory in tx.memories.find(scope=scope, include_inactive=True):
                known.put(memory)
            if (same := _from_same_message(new, [*known.active.values(), *known.inactive])) is not None:
                return same
            if (repeated := _repeated(new, known.active.values())) is not None:
                return self._repeat(tx, repeated, new, known, scope)
            rivals = [
                other for other in known.active.values() if contradicts(new, other) or other.id == old.id
            ]
            return self._replace(tx, rivals, new, known, scope)

    def _meet(self, tx: Store, new: Memory, known: _Known, scope: Scope) -> Memory:
        if (same := _from_same_message(new, [*known.active.values(), *known.inactive])) is not None:
            return same
        if (old := _repeated(new, known.active.values())) is not None:
            return self._repeat(tx, old, new, known, scope)
        rivals = [old for old in known.active.values() if contradicts(new, old)]
        if rivals:
            return self._replace(tx, rivals, new, known, scope)
        if (old := _repeated(new, [old for old in known.inactive if old.state == "retired"])) is not None:
            known.inactive.remove(old)
            return self._repeat(tx, replace(old, state="active", valid_to=None), new, known, scope)
        stored = tx.memories.append(new, scope=scope)
        known.put(stored)
        return stored

    def _repeat(self, tx: Store, old: Memory, new: Memory, known: _Known, scope: Scope) -> Memory:
        """Count a repeat; where it says more, its text becomes the next version."""
        refreshed = replace(
            old,
            evidence_count=old.evidence_count + 1,
            confidence=max(
                old.confidence, min(MAX_CONFIDENCE, max(old.confidence, new.confidence) + CONFIDENCE_STEP)
            ),
            source_message_ids=_joined(old.source_message_ids, new.source_message_ids),
            expires_at=new.expires_at
            if old.expires_at is None or new.expires_at is None
            else max(old.expires_at, new.expires_at),
            slot=old.slot or new.slot,
            metadata={**new.metadata, **old.metadata, "last_said": _said_at(new).isoformat()},
        )
        if (
            adds_detail(new.content, old.content)
            and _said_at(new) >= _said_at(old)
            and old.state == "active"
            and not old.pinned
        ):
            version = replace(
                refreshed,
                id=None,
                content=new.content,
                valid_from=new.valid_from,
                created_at=self._clock.now(),
                root_id=None,
                has_embedding=False,
            )
            stored = tx.memories.supersede(_id(old), version, scope=scope, now=self._clock.now())
            known.active.pop(_id(old), None)
        else:
            stored = tx.memories.update(refreshed, scope=scope)
        known.put(stored)
        return stored

    def _replace(
        self, tx: Store, rivals: Sequence[Memory], new: Memory, known: _Known, scope: Scope
    ) -> Memory:
        """Let the statement that was said last be the active one, and keep the others as its past."""
        now = self._clock.now()
        newest = max(rivals, key=_last_said)
        if _last_said(newest) > _said_at(new):
            if (
                told := _repeated(new, [old for old in known.inactive if old.state == "superseded"])
            ) is not None:
                sources = _joined(told.source_message_ids, new.source_message_ids)
                known.inactive.remove(told)
                known.put(tx.memories.update(replace(told, source_message_ids=sources), scope=scope))
                return newest
            past = replace(
                new,
                state="superseded",
                superseded_by=newest.id,
                root_id=newest.root_id or newest.id,
                valid_to=newest.valid_from or newest.created_at,
            )
            known.put(tx.memories.append(past, scope=scope))
            return newest
        pinned = any(old.pinned for old in rivals)
        stored = tx.memories.supersede(_id(newest), replace(new, pinned=pinned), scope=scope, now=now)
        known.active.pop(_id(newest))
        for old in rivals:
            if old.id != newest.id:
                closed = replace(old, state="superseded", superseded_by=stored.id, valid_to=_said_at(new))
                known.put(tx.memories.update(closed, scope=scope))
        known.inactive.append(replace(newest, state="superseded", superseded_by=stored.id))
        known.put(stored)
        return stored

    def _as_memory(self, statement: Candidate | Memory, scope: Scope) -> Memory:
        now = self._clock.now()
        said_at = (statement.said_at if isinstance(statement, Candidate) else statement.valid_from) or now
        memory = self._from_candidate(statement, scope) if isinstance(statement, Candidate) else statement
        if memory.slot is None and self._extractor is not None:
            read = self._extractor.read_memory(memory.content, said_at=said_at)
            if read is not None:
                memory = replace(memory, slot=read.slot, metadata={**memory.metadata, **_details(read)})
        created_at = memory.created_at or now
        return replace(memory, user=scope.user, agent=scope.agent, valid_from=said_at, created_at=created_at)

    @staticmethod
    def _from_candidate(statement: Candidate, scope: Scope) -> Memory:
        return Memory(
            content=statement.content,
            kind=statement.kind,
            source_session=scope.session,
            source_message_ids=statement.source_message_ids,
            origin=statement.origin,
            slot=statement.slot,
            confidence=statement.confidence,
            metadata=_details(statement),
        )


def contradicts(new: Memory, old: Memory) -> bool:
    """Whether two memories cannot both be true: one slot with two values, or one denies the other.

    A denial ("no longer works at A") contradicts only the value that it denies.
    """
    if new.slot is not None and new.slot == old.slot:
        new_value, old_value = _value(new), _value(old)
        affirmed = (_affirmed(new), _affirmed(old))
        if affirmed == (True, True):
            return new_value != old_value or new_value is None
        if affirmed == (False, False):
            return False
        return new_value == old_value or affirmed == (True, False)
    return denies(new.content, old.content)


def _repeated(new: Memory, memories: Iterable[Memory]) -> Memory | None:
    """Return the memory that ``new`` repeats: the same words first, then the same value, then similar words."""
    candidates = list(memories)
    mark = fingerprint(new.content)
    for old in candidates:
        if fingerprint(old.content) == mark:
            return old
    for old in candidates:
        if _same_value(new, old):
            return old
    for old in candidates:
        if not (new.slot and old.slot) and same_statement(new.content, old.content):
            return old
    return None


def _from_same_message(new: Memory, memories: Sequence[Memory]) -> Memory | None:
    """Return the memory that this very statement of this very message went into before."""
    sources = set(new.source_message_ids)
    if not sources:
        return None
    for old in memories:
        if sources & set(old.source_message_ids) and (
            fingerprint(old.content) == fingerprint(new.content)
            or _same_value(new, old)
            or same_statement(new.content, old.content)
        ):
            return old
    return None


_READ_DETAILS = ("value", "affirmed")


def _details(candidate: Candidate) -> dict[str, object]:
    """Return what a memory keeps of a candidate beside its columns."""
    details: dict[str, object] = {}
    if candidate.value is not None:
        details["value"] = candidate.value
    if not candidate.affirmed:
        details["affirmed"] = False
    if candidate.explicit:
        details["explicit"] = True
    return details


def _same_value(new: Memory, old: Memory) -> bool:
    """Whether two memories give the same slot the same value, or deny the same value."""
    if new.slot is None or new.slot != old.slot or _value(new) is None:
        return False
    return _value(new) == _value(old) and _affirmed(new) == _affirmed(old)


def _value(memory: Memory) -> str | None:
    value = memory.metadata.get("value")
    return fold(value).strip() if isinstance(value, str) else None


def _affirmed(memory: Memory) -> bool:
    return memory.metadata.get("affirmed") is not False


def _said_at(memory: Memory) -> datetime:
    said_at = memory.valid_from or memory.created_at
    if said_at is None:
        raise ValueError("a memory was said at some time")
    return said_at


def _last_said(memory: Memory) -> datetime:
    """Return when a memory was last confirmed: a repeat counts as saying it again."""
    last = memory.metadata.get("last_said")
    return max(_said_at(memory), datetime.fromisoformat(last)) if isinstance(last, str) else _said_at(memory)


def _joined(old: Sequence[int], new: Sequence[int]) -> tuple[int, ...]:
    ids = list(dict.fromkeys([*old, *new]))
    return tuple(ids if len(ids) <= MAX_SOURCES else [ids[0], *ids[-(MAX_SOURCES - 1) :]])


def _id(memory: Memory) -> int:
    if memory.id is None:
        raise ValueError("a stored memory has an id")
    return memory.id
