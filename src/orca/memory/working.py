"""The working window: which of a session's newest messages enter the prompt, and where the window begins.

Pure functions over messages. Two promises matter most:

**A window is always a valid history.** A tool call and its results are one unit and stay or go together
(``read_history``). What a crash or a cancellation left half-done is repaired in the prompt only: a call without
a result is closed by a synthesised one, a result without a call and a reply without words are left out. Stored
messages are never changed.

**The window moves in steps.** Providers cache the prefix of a prompt, and a window that slides by one message a
turn changes its prefix every turn. Here the beginning stays where it is until the window is full, and then jumps
forward to where ``KEEP_SHARE`` of the budget is still held. The place is derived, not remembered: it is found by
replaying the messages from an anchor. The anchor is the session's beginning, or, when older messages were not
given, the *roundest* place in the older half of those that were. How round a place is, is the level of the
highest power-of-two boundary between its position and that of the place before, as on a ruler: 8 is rounder
than 4, 4 than 6, 6 than 5. So the anchor stays the same for many turns although the list of newest messages
begins elsewhere each time. The same messages and budget give the same window, on every machine, with no state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orca.memory.rendering import TokensOf, has_media, tokens_with
from orca.protocols import TokenCounter
from orca.text.parts import plain_text
from orca.types import Message

KEEP_SHARE = 0.5
"""The least share of the budget that a full window keeps when it moves.

Lower is kinder to prompt caches, higher keeps more words. Over 200 turns of ordinary length with an 8K window,
the share of a prompt's bytes that the prompt before began with is, on average (median), with 0.5: 93 % (97 %),
and 89 % (93 %) with memory recalled anew every turn; with 0.7: 90 % (98 %) and 87 % (94 %); with a window that
slides by one message: 4 % (1 %). ``tests/memory/test_prefix.py`` measures it.
"""

INTERRUPTED = "[interrupted: no result was recorded]"
"""The result that closes a tool call whose own result never came."""

NOTHING_SAID = "nothing was said"
"""Why a message without words, media or calls is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Messages that enter a prompt together or not at all: one message, or a tool call with all its results."""

    messages: tuple[Message, ...]
    place: int

    @property
    def begins_turn(self) -> bool:
        """Whether the unit is something the user said."""
        return self.messages[0].role == "user"

    @property
    def is_step(self) -> bool:
        """Whether the unit is a tool call with its results, so that the turn goes on after it."""
        return bool(self.messages[0].tool_calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Messages made fit for a prompt.

    ``pinned`` are the system messages that a conversation begins with: they belong into every prompt.
    ``left_out`` pairs each message that cannot enter with the reason in words. ``is_whole`` says that the
    messages began where the session begins, as far as their positions tell.
    """

    pinned: tuple[Message, ...] = ()
    units: tuple[Unit, ...] = ()
    left_out: tuple[tuple[Message, str], ...] = ()
    is_whole: bool = True


def select_window(
    messages: Sequence[Message], token_budget: int, counter: TokenCounter, *, keep: float = KEEP_SHARE
) -> list[Message]:
    """Return the newest messages within ``token_budget`` tokens, chronological and valid as a prompt.

    Args:
        messages: The session's newest messages in the order of storing; what is older than the budget reaches
            need not be among them.
        token_budget: The most tokens that the window may take, as ``message_tokens`` counts them.
        counter: Counts the tokens.
        keep: The least share of the budget that a full window keeps when it moves; 1.0 is a window that
            slides with every message.

    """
    tokens_of = tokens_with(counter)
    history = read_history(messages)
    pinned = history.pinned
    room = token_budget - sum(map(tokens_of, pinned))
    if room < 0:
        pinned, room = (), token_budget
    start = window_start(history.units, room, tokens_of, is_whole=history.is_whole, keep=keep)
    return [*pinned, *(message for unit in history.units[start:] for message in unit.messages)]


def unit_tokens(unit: Unit, tokens_of: TokensOf) -> int:
    """Return what a unit costs."""
    return sum(map(tokens_of, unit.messages))


def window_start(
    units: Sequence[Unit],
    token_budget: int,
    tokens_of: TokensOf,
    *,
    is_whole: bool,
    keep: float = KEEP_SHARE,
) -> int:
    """Return the index of the first unit of the window; the number of units when none of them fits.

    ``is_whole`` says that the units begin where the session begins.
    """
    sizes = [unit_tokens(unit, tokens_of) for unit in units]
    start = 0 if is_whole else _anchor(units, sizes)
    held = 0
    for end, size in enumerate(sizes, 1):
        if end <= start:
            continue
        held += size
        if held > token_budget:
            start, held = _advance(units, sizes, start, end, held, token_budget, keep)
    return start


def _advance(
    units: Sequence[Unit],
    sizes: Sequence[int],
    start: int,
    end: int,
    held: int,
    token_budget: int,
    keep: float,
) -> tuple[int, int]:
    """Return where a full window begins anew, and what it holds then.

    That is the last place where it still holds ``keep`` of the budget, at the user's words if it can be.
    """
    best: tuple[int, int] | None = None
    while start < end:
        held -= sizes[start]
        start += 1
        if held > token_budget:
            continue
        if best is not None and held < keep * token_budget:
            break
        begins_turn = start < end and units[start].begins_turn
        if best is None or begins_turn or not units[best[0]].begins_turn:
            best = (start, held)
    return best if best is not None else (end, 0)


def _anchor(units: Sequence[Unit], sizes: Sequence[int]) -> int:
    """Return the index of the roundest place in the older half of the units: there the replay begins."""
    half = sum(sizes) / 2
    older: list[int] = []
    passed = 0
    for index, size in enumerate(sizes):
        if passed > half:
            break
        older.append(index)
        passed += size
    older = [index for index in older if units[index].begins_turn] or older
    return max(older, key=lambda index: _roundness(units, index), default=0)


def _roundness(units: Sequence[Unit], index: int) -> int:
    """Return the level of the highest power-of-two boundary between this place and the one before of its sort."""
    place = units[index].place
    before = place - 1
    for earlier in range(index - 1, -1, -1):
        if units[earlier].begins_turn == units[index].begins_turn:
            before = units[earlier].place
            break
    return (before ^ place).bit_length()


def read_history(messages: Sequence[Message]) -> History:
    """Return stored messages as pinned system messages and units that are valid in any order-keeping suffix.

    A tool result belongs to the nearest call before it with its id; results that came late are moved up to
    their call. Where places are not known (messages that were never stored), the order given counts.
    """
    count = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    leading, rest = messages[:count], messages[count:]
    places = _places(rest, first=count + 1)
    drafts: list[_Draft] = []
    waiting: dict[str, _Draft] = {}
    left_out = [(message, NOTHING_SAID) for message in leading if is_empty(message)]
    for message, place in zip(rest, places, strict=True):
        if message.role == "tool":
            draft = waiting.pop(message.tool_call_id or "", None)
            if draft is None:
                left_out.append((message, "a tool result without its call"))
            else:
                draft.results.append(message)
            continue
        calls = _answerable(message.tool_calls or ())
        if not calls and is_empty(message):
            left_out.append((message, NOTHING_SAID))
            continue
        whole = len(calls) == len(message.tool_calls or ())
        draft = _Draft(message if whole else replace(message, tool_calls=calls or None), place)
        drafts.append(draft)
        waiting.update((str(call["id"]), draft) for call in calls)
    return History(
        pinned=tuple(message for message in leading if not is_empty(message)),
        units=tuple(draft.close() for draft in drafts),
        left_out=tuple(left_out),
        is_whole=not rest or places[0] <= count + 1,
    )


def is_empty(message: Message) -> bool:
    """Whether a message carries neither words nor media; several providers refuse a prompt with such a one."""
    return not plain_text(message.content).strip() and not has_media(message.content)


@dataclass(slots=True)
class _Draft:
    """A unit in the making."""

    head: Message
    place: int
    results: list[Message] = field(default_factory=list)

    def close(self) -> Unit:
        answered = {result.tool_call_id for result in self.results}
        missing = [
            _interrupted(self.head, str(call["id"]))
            for call in self.head.tool_calls or ()
            if call["id"] not in answered
        ]
        return Unit(messages=(self.head, *self.results, *missing), place=self.place)


def _places(messages: Sequence[Message], *, first: int) -> Sequence[int]:
    positions = [message.position for message in messages]
    if all(before < after for before, after in zip([0, *positions], positions, strict=False)):
        return positions
    return range(first, first + len(messages))


def _answerable(calls: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the calls that a result can name: those with an id, each id once."""
    by_id: dict[str, Mapping[str, Any]] = {}
    for call in calls:
        if isinstance(call.get("id"), str) and call["id"]:
            by_id.setdefault(call["id"], call)
    return list(by_id.values())


def _interrupted(head: Message, call_id: str) -> Message:
    return Message(
        role="tool",
        content=INTERRUPTED,
        tool_call_id=call_id,
        user=head.user,
        session=head.session,
        agent=head.agent,
        timestamp=head.timestamp,
        origin="system",
    )
