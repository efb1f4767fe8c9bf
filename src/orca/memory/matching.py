"""How a statement stands to a memory: the same, another value of the same thing, a denial, or nothing to do with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from orca.memory.similarity import denies, fingerprint, same_statement
from orca.text.normalize import fold
from orca.text.numerals import in_digits
from orca.types import Candidate, Memory

MAX_PERIODS = 2
"""Versions of one history that may hold the same value: its first period and its latest. "A, then B, then A" is a
life; a chat replayed fifty times is not, and beyond this the latest version is opened again instead of a new one."""

MAX_SOURCES = 50
"""Most source message ids that a memory keeps: the first one and the newest."""


def meant_by_change(new: Memory, active: Iterable[Memory]) -> Memory | None:
    """Return the memory that a change without a subject is about ("the deadline moved to May 8"): the only one of its kind."""
    if new.slot is None or not new.slot.endswith(_UNNAMED) or new.metadata.get("changed") is not True:
        return None
    kind = new.slot.removesuffix("*")
    meant = [old for old in active if old.slot is not None and old.slot.startswith(kind)]
    return meant[0] if len(meant) == 1 and last_said(meant[0]) <= last_said(new) else None


def latest_period(new: Memory, rivals: Sequence[Memory], inactive: Iterable[Memory]) -> Memory | None:
    """Return the latest version with the value of ``new`` in the rivals' histories, if they hold enough of them."""
    roots = {old.root_id for old in rivals}
    same = [
        old
        for old in inactive
        if old.state == "superseded" and old.root_id in roots and repeated(new, [old]) is not None
    ]
    return max(same, key=said_at) if len(same) >= MAX_PERIODS else None


def contradicts(new: Memory, old: Memory) -> bool:
    """Whether two memories cannot both be true: one slot with two values, or one denies the other.

    A denial ("no longer works at A") contradicts only the value that it denies.
    """
    if new.slot is not None and new.slot == old.slot and not new.slot.endswith(_UNNAMED):
        new_value, old_value = _value(new), _value(old)
        affirmed = (_affirmed(new), _affirmed(old))
        if affirmed == (True, True):
            return new_value != old_value or new_value is None
        if affirmed == (False, False):
            return False
        return new_value == old_value or affirmed == (True, False)
    return denies(new.content, old.content)


def repeated(new: Memory, memories: Iterable[Memory]) -> Memory | None:
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


def from_same_message(new: Memory, memories: Sequence[Memory]) -> Memory | None:
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


_UNNAMED = ":*"
"""End of a slot that has no name of its own ("deadline:*"): two statements with it may be about two things."""

READ_DETAILS = ("value", "affirmed", "changed")


def details(candidate: Candidate) -> dict[str, object]:
    """Return what a memory keeps of a candidate beside its columns."""
    details: dict[str, object] = {}
    if candidate.value is not None:
        details["value"] = candidate.value
    if not candidate.affirmed:
        details["affirmed"] = False
    if candidate.changed:
        details["changed"] = True
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
    return " ".join(in_digits(fold(value)).split()) if isinstance(value, str) else None


def _affirmed(memory: Memory) -> bool:
    return memory.metadata.get("affirmed") is not False


def said_at(memory: Memory) -> datetime:
    """Return when a memory was said. Raises ``ValueError`` for one that is neither stored nor dated."""
    time = memory.valid_from or memory.created_at
    if time is None:
        raise ValueError("a memory was said at some time")
    return time


def last_said(memory: Memory) -> datetime:
    """Return when a memory was last confirmed: a repeat counts as saying it again."""
    last = memory.metadata.get("last_said")
    return max(said_at(memory), datetime.fromisoformat(last)) if isinstance(last, str) else said_at(memory)


def earliest(old: Memory, new: Memory) -> datetime | None:
    """Return since when a memory that is said again holds: earlier than it was known, where the new words say so."""
    if "since" not in new.metadata or new.valid_from is None or old.valid_from is None:
        return old.valid_from
    return min(old.valid_from, new.valid_from)


def joined(old: Sequence[int], new: Sequence[int]) -> tuple[int, ...]:
    """Return the source ids of both, without repeats: the first one and the newest."""
    ids = list(dict.fromkeys([*old, *new]))
    return tuple(ids if len(ids) <= MAX_SOURCES else [ids[0], *ids[-(MAX_SOURCES - 1) :]])


def stored_id(memory: Memory) -> int:
    """Return a stored memory's id. Raises ``ValueError`` for one that was never stored."""
    if memory.id is None:
        raise ValueError("a stored memory has an id")
    return memory.id
