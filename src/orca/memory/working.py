"""The working window: which of a session's newest messages enter the prompt, and where the window begins.

Pure functions over messages. Two promises matter most:

**A window is always a valid history.** A tool call and its results are one unit and stay or go together
(``read_history``). What a crash or a cancellation left half-done is repaired in the prompt only: a call without
a result is closed by a synthesised one, a result without a call and a reply without words are left out. Stored
messages are never changed.

**The window moves in steps.** Providers cache the prefix of a prompt, and a window that slides by one message a
turn changes its prefix every turn. Here the beginning stays where it is until the window is full, and then jumps
forward. The place is derived, not remembered: of all places where the window would hold between ``KEEP_SHARE``
of the budget and all of it, the *roundest* one is taken. How round a place is, is the level of the highest
power-of-two boundary between its position and that of the place before, as on a ruler: 8 is rounder than 4, 4
than 6, 6 than 5. As the session grows both ends of that range only move forward, so the roundest place stays
the same for many turns and is only left when it falls out at the old end or a rounder one comes in at the new
end. The choice needs neither the beginning of the session nor any state: the same newest messages and budget
always give the same window, on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orca.memory.rendering import TokensOf, has_media, tokens_with
from orca.protocols import TokenCounter
from orca.text.parts import plain_text
from orca.types import Message

KEEP_SHARE = 0.5
"""The least share of the budget that a full window keeps when it moves.

Lower is kinder to prompt caches, higher keeps more words. With 0.5, over 200 turns with an 8K window, 91 to 93 %
of the prompt's bytes are an identical prefix of the turn before; with 0.7 it is 83 to 87 %
(``tests/memory/test_prefix.py`` measures it).
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
    ``left_out`` pairs each message that cannot enter with the reason in words.
    """

    pinned: tuple[Message, ...] = ()
    units: tuple[Unit, ...] = ()
    left_out: tuple[tuple[Message, str], ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the units begin where the session begins, as far as their positions tell."""
        return not self.units or self.units[0].place <= len(self.pinned) + 1


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
    start = window_start(history, room, tokens_of, keep=keep)
    return [*pinned, *(message for unit in history.units[start:] for message in unit.messages)]


def unit_tokens(unit: Unit, tokens_of: TokensOf) -> int:
    """Return what a unit costs."""
    return sum(map(tokens_of, unit.messages))


def window_start(
    history: History, token_budget: int, tokens_of: TokensOf, *, keep: float = KEEP_SHARE
) -> int:
    """Return the index of the first unit of the window; the number of units when none of them fits."""
    units = history.units
    held = 0
    start = len(units)
    choices: list[int] = []  # places where the window would hold enough, newest first
    for index in range(len(units) - 1, -1, -1):
        held += unit_tokens(units[index], tokens_of)
        if held > token_budget:
            break
        start = index
        if held >= keep * token_budget:
            choices.append(index)
    if start == 0 and (history.is_whole or not choices):
        return 0
    # A window had best begin with the user's words; where none of the places does, any unit may begin it.
    choices = [index for index in choices if units[index].begins_turn] or choices
    if not choices:
        return start
    return max(reversed(choices), key=lambda index: _roundness(units, index))


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
        if len(calls) != len(message.tool_calls or ()):
            message = replace(message, tool_calls=calls or None)
        draft = _Draft(message, place)
        drafts.append(draft)
        waiting.update((str(call["id"]), draft) for call in calls)
    return History(
        pinned=tuple(message for message in leading if not is_empty(message)),
        units=tuple(draft.close() for draft in drafts),
        left_out=tuple(left_out),
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


def _places(messages: Sequence[Message], *, first: int) -> Iterable[int]:
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
