"""Letting new statements meet the memories that exist: repeat, contradict, supersede, or stand beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from orca.memory.extractor import Extractor
from orca.memory.matching import (
    READ_DETAILS,
    contradicts,
    details,
    earliest,
    from_same_message,
    joined,
    last_said,
    latest_period,
    meant_by_change,
    repeated,
    said_at,
    stored_id,
)
from orca.memory.similarity import adds_detail
from orca.protocols import Clock, Store
from orca.text.analysis import index_terms
from orca.text.since import started
from orca.types import Candidate, Memory, Scope

CONFIDENCE_STEP = 0.05
"""How much each repeat adds to a memory's confidence."""

MAX_CONFIDENCE = 0.95
"""Repeats never make a memory certain; more may be given by hand."""

MAX_TERMS = 60
"""Words of a statement that are looked up; a memory is a sentence."""


NEAREST_BY_WORDS = 20
"""Active memories compared with a statement by its words, the best by BM25: a repeat or a denial shares nearly all."""

NEAREST_BY_SLOT = 500
"""Most memories read for the slots of one call, active ones first."""


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
            known = self._known(tx, new, scope)
            return [self._meet(tx, memory, known, scope) for memory in new]

    def _known(self, tx: Store, new: Sequence[Memory], scope: Scope) -> _Known:
        """Read the memories that statements can have to do with: same slot, same text, or nearly the same words."""
        ids: list[int] = []
        for memory in new:
            terms = list(dict.fromkeys(index_terms(memory.content)))[:MAX_TERMS]
            ids += [
                match.id for match in tx.memories.search(terms, scope=scope, limit=NEAREST_BY_WORDS).matches
            ]
        by_words = tx.memories.get_many(sorted(set(ids)), scope=scope)
        alike = tx.memories.alike(
            slots=sorted({memory.slot for memory in (*new, *by_words) if memory.slot}),
            contents=sorted({memory.content for memory in new}),
            scope=scope,
            limit=NEAREST_BY_SLOT,
        )
        known = _Known(self._clock.now())
        for memory in sorted({stored_id(m): m for m in (*by_words, *alike)}.values(), key=stored_id):
            known.put(memory)
        return known

    def reread(self, memory: Memory) -> Memory:
        """Return an edited memory with the slot and the value of its new words instead of the old ones."""
        kept = {name: value for name, value in memory.metadata.items() if name not in READ_DETAILS}
        bare = replace(memory, slot=None, metadata=kept)
        if self._extractor is None:
            return bare
        read = self._extractor.read_memory(bare.content, said_at=self._clock.now())
        return bare if read is None else replace(bare, slot=read.slot, metadata={**kept, **details(read)})

    def supersede(self, old: Memory, statement: Candidate, *, scope: Scope) -> Memory:
        """Let a statement take the place of one memory, as somebody decided who saw both; return the new version.

        A statement that repeats the memory counts as evidence for it instead.
        """
        new = self._as_memory(statement, scope)
        with self._store.transaction() as tx:
            known = self._known(tx, [new, old], scope)
            if (same := from_same_message(new, [*known.active.values(), *known.inactive])) is not None:
                return same
            if (same := repeated(new, known.active.values())) is not None:
                return self._repeat(tx, same, new, known, scope)
            rivals = [
                other for other in known.active.values() if contradicts(new, other) or other.id == old.id
            ]
            return self._replace(tx, rivals, new, known, scope)

    def _meet(self, tx: Store, new: Memory, known: _Known, scope: Scope) -> Memory:
        if (same := from_same_message(new, [*known.active.values(), *known.inactive])) is not None:
            return same
        if (old := repeated(new, known.active.values())) is not None:
            return self._repeat(tx, old, new, known, scope)
        rivals = [old for old in known.active.values() if contradicts(new, old)]
        if not rivals and (meant := meant_by_change(new, known.active.values())) is not None:
            new, rivals = replace(new, slot=meant.slot), [meant]
        if rivals:
            return self._replace(tx, rivals, new, known, scope)
        if (old := repeated(new, [old for old in known.inactive if old.state == "retired"])) is not None:
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
            source_message_ids=joined(old.source_message_ids, new.source_message_ids),
            expires_at=new.expires_at
            if old.expires_at is None or new.expires_at is None
            else max(old.expires_at, new.expires_at),
            slot=old.slot or new.slot,
            valid_from=earliest(old, new),
            metadata={
                **new.metadata,
                **old.metadata,
                "last_said": max(last_said(old), last_said(new)).isoformat(),
            },
        )
        if (
            adds_detail(new.content, old.content)
            and last_said(new) >= last_said(old)
            and old.state == "active"
            and not old.pinned
        ):
            version = replace(
                refreshed,
                id=None,
                content=new.content,
                valid_from=earliest(old, new) if "since" in new.metadata else new.valid_from,
                created_at=self._clock.now(),
                root_id=None,
                has_embedding=False,
            )
            stored = tx.memories.supersede(stored_id(old), version, scope=scope, now=self._clock.now())
            known.active.pop(stored_id(old), None)
        else:
            stored = tx.memories.update(refreshed, scope=scope)
        known.put(stored)
        self._close_before(tx, stored, new, known, scope)
        return stored

    def _replace(
        self, tx: Store, rivals: Sequence[Memory], new: Memory, known: _Known, scope: Scope
    ) -> Memory:
        """Let the statement that was said last be the active one, and keep the others as its past."""
        now = self._clock.now()
        newest = max(rivals, key=last_said)
        if last_said(newest) > last_said(new):
            if (
                told := repeated(new, [old for old in known.inactive if old.state == "superseded"])
            ) is not None:
                sources = joined(told.source_message_ids, new.source_message_ids)
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
        if (returned := latest_period(new, rivals, known.inactive)) is not None:
            return self._reopen(tx, returned, replace(new, pinned=pinned), rivals, known, scope)
        stored = tx.memories.supersede(stored_id(newest), replace(new, pinned=pinned), scope=scope, now=now)
        known.active.pop(stored_id(newest))
        for old in rivals:
            if old.id != newest.id:
                closed = replace(old, state="superseded", superseded_by=stored.id, valid_to=said_at(new))
                known.put(tx.memories.update(closed, scope=scope))
        closed = replace(newest, state="superseded", superseded_by=stored.id, valid_to=stored.valid_from)
        known.inactive.append(closed)
        known.put(stored)
        self._close_before(tx, stored, new, known, scope)
        return stored

    def _close_before(self, tx: Store, stored: Memory, new: Memory, known: _Known, scope: Scope) -> None:
        """Let no earlier version be true beyond the day since which the newest is, where the statement names it."""
        begin = stored.valid_from
        if "since" not in new.metadata or begin is None:
            return
        for place, old in enumerate(known.inactive):
            overlaps = old.valid_to is not None and old.valid_to > begin
            if old.state == "superseded" and old.root_id == stored.root_id and overlaps:
                known.inactive[place] = tx.memories.update(replace(old, valid_to=begin), scope=scope)

    def _reopen(
        self,
        tx: Store,
        returned: Memory,
        new: Memory,
        rivals: Sequence[Memory],
        known: _Known,
        scope: Scope,
    ) -> Memory:
        """Make a value's latest version active again, from now on, in place of the rivals."""
        when = said_at(new)
        for old in rivals:
            closed = replace(old, state="superseded", superseded_by=returned.id, valid_to=when)
            known.put(tx.memories.update(closed, scope=scope))
        known.inactive.remove(returned)
        stored = tx.memories.update(
            replace(
                returned,
                state="active",
                superseded_by=None,
                valid_from=when,
                valid_to=None,
                pinned=new.pinned,
                evidence_count=returned.evidence_count + 1,
                source_message_ids=joined(returned.source_message_ids, new.source_message_ids),
                metadata={**returned.metadata, "last_said": last_said(new).isoformat()},
            ),
            scope=scope,
        )
        known.put(stored)
        return stored

    def _as_memory(self, statement: Candidate | Memory, scope: Scope) -> Memory:
        now = self._clock.now()
        when = (statement.said_at if isinstance(statement, Candidate) else statement.valid_from) or now
        since = statement.since if isinstance(statement, Candidate) else None
        if since is None and (isinstance(statement, Candidate) or statement.valid_from is None):
            since = started(statement.content, said_at=when)
        memory = self._from_candidate(statement, scope) if isinstance(statement, Candidate) else statement
        if memory.slot is None and self._extractor is not None:
            read = self._extractor.read_memory(memory.content, said_at=when)
            if read is not None:
                memory = replace(memory, slot=read.slot, metadata={**memory.metadata, **details(read)})
        if since is not None:
            memory = replace(
                memory,
                metadata={**memory.metadata, "since": since.isoformat(), "last_said": when.isoformat()},
            )
        return replace(
            memory,
            user=scope.user,
            agent=scope.agent,
            valid_from=since or when,
            created_at=memory.created_at or now,
        )

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
            metadata=details(statement),
        )
