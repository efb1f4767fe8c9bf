"""Upkeep of memory: few summaries a session, and little-used memories step back."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime, timedelta

from orca.errors import NotFoundError
from orca.protocols import Clock, Store
from orca.types import Memory, Scope

logger = logging.getLogger("orca")

SUMMARIES_KEPT = 10
"""Summaries kept a session, the newest ones (seed). One that long-term memory has not taken in is never dropped."""

IDLE_DAYS = 180
"""A memory that nobody met for this long may retire."""

RETIRE_BELOW_CONFIDENCE = 0.75
"""Only memories below this confidence retire: neither asked for (0.8), nor written by hand (0.9), nor repeated."""

MEMORIES_BEFORE_RETIRING = 50
"""With fewer active memories than this nothing retires: there is no crowd to thin."""


class Maintenance:
    """What is done now and then so that memory stays small and current."""

    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def prune_summaries(self, *, scope: Scope) -> int:
        """Drop a session's consolidated summaries beyond the newest ten; return how many went."""
        return self._store.summaries.prune(scope=scope, keep=SUMMARIES_KEPT)

    def retire(self, *, scope: Scope) -> list[Memory]:
        """Retire the scope's low-use memories; return them. ``reinstate`` brings one back.

        A memory retires when all of this holds: it is neither pinned nor explicitly asked for; it was stated
        once only; its confidence is below 0.75; nothing recalled, stated or changed it for 180 days; and there
        are more than fifty active memories, of which only the surplus retires, the longest unused first. Expired
        memories do not count and are left as they are: they sink by themselves.
        """
        now = self._clock.now()
        with self._store.transaction() as tx:
            active = [memory for memory in tx.memories.find(scope=scope) if not is_expired(memory, now)]
            surplus = len(active) - MEMORIES_BEFORE_RETIRING
            idle = sorted((memory for memory in active if may_retire(memory, now)), key=_last_use)
            retired = [
                tx.memories.update(replace(memory, state="retired"), scope=scope)
                for memory in idle[: max(surplus, 0)]
            ]
        if retired:
            logger.info("%d memories of user %r retired for want of use", len(retired), scope.user)
        return retired

    def reinstate(self, memory_id: int, *, scope: Scope) -> Memory:
        """Make a retired memory active again. Raises ``NotFoundError`` when it is not retired."""
        with self._store.transaction() as tx:
            memory = tx.memories.get(memory_id, scope=scope)
            if memory.state != "retired":
                raise NotFoundError(f"memory {memory_id} is {memory.state}, not retired")
            return tx.memories.update(replace(memory, state="active"), scope=scope)


def is_expired(memory: Memory, now: datetime) -> bool:
    """Whether a memory's time is over at ``now``; the instant itself belongs to the time after."""
    return memory.expires_at is not None and memory.expires_at <= now


def may_retire(memory: Memory, now: datetime) -> bool:
    """Whether the rule of ``Maintenance.retire`` lets a memory go, apart from how many there are."""
    return (
        memory.state == "active"
        and not memory.pinned
        and memory.metadata.get("explicit") is not True
        and memory.evidence_count <= 1
        and memory.confidence < RETIRE_BELOW_CONFIDENCE
        and now - _last_use(memory) >= timedelta(days=IDLE_DAYS)
    )


def _last_use(memory: Memory) -> datetime:
    times = [
        time for time in (memory.last_accessed, memory.valid_from, memory.created_at) if time is not None
    ]
    return max(times)
