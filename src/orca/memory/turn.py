"""The turn that a prompt is for: the user's message, and the tool calls made since in answer to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orca.memory.packing import comparable
from orca.memory.recalled_block import cut_to_fit
from orca.memory.rendering import tokens_with
from orca.memory.working import Unit, unit_tokens
from orca.protocols import TokenCounter
from orca.text.parts import plain_text
from orca.types import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A history split at its newest turn.

    ``question`` is the user's message, with an id when it is stored already; ``steps`` are the tool calls with
    their results that followed it, ``dropped`` those that found no room.
    """

    past: tuple[Unit, ...] = ()
    question: Message | None = None
    steps: tuple[Unit, ...] = ()
    dropped: tuple[Unit, ...] = ()


def newest_turn(units: Sequence[Unit], query: str | None) -> Turn:
    """Split units at the user message that awaits its answer, or at the query where none does.

    The newest user message awaits its answer when nothing but tool calls followed it. It is the query's own
    when it says the same: an agent stores the message first and asks for the prompt then.
    """
    if query is not None and not query.strip():
        query = None
    start = max((index for index, unit in enumerate(units) if unit.begins_turn), default=None)
    if start is not None and all(unit.is_step for unit in units[start + 1 :]):
        question = units[start].messages[0]
        if query is None or comparable(plain_text(question.content)) == comparable(plain_text(query)):
            return Turn(past=tuple(units[:start]), question=question, steps=tuple(units[start + 1 :]))
    return Turn(past=tuple(units), question=None if query is None else Message(role="user", content=query))


def fit_steps(turn: Turn, room: int, counter: TokenCounter) -> Turn:
    """Keep the newest steps of the turn that fit into ``room`` tokens, and shorten the newest if it must be.

    A model that never sees the result it asked for asks again, so the newest step stays even when it alone is
    too large: its results are cut, each with a mark that names the stored message.
    """
    tokens_of = tokens_with(counter)
    kept: list[Unit] = []
    for unit in reversed(turn.steps):
        fitting: Unit | None = unit
        if unit_tokens(unit, tokens_of) > room:
            fitting = None if kept else _shorten(unit, room, counter)
        if fitting is None:
            break
        kept.insert(0, fitting)
        room -= unit_tokens(fitting, tokens_of)
    return replace(turn, steps=tuple(kept), dropped=turn.steps[: len(turn.steps) - len(kept)])


def _shorten(unit: Unit, limit: int, counter: TokenCounter) -> Unit | None:
    """Return the unit with its results cut to ``limit`` tokens, or None when not even their marks fit."""
    tokens_of = tokens_with(counter)
    head, *results = unit.messages
    room = limit - tokens_of(head) - sum(tokens_of(replace(result, content="")) for result in results)
    shortened = dict.fromkeys(range(len(results)), "")
    by_size = sorted(shortened, key=lambda index: tokens_of(results[index]))
    for served, index in enumerate(by_size):  # smallest first: what they leave goes to the larger ones
        share = room // (len(results) - served)
        text = plain_text(results[index].content)
        if counter.count(text) > share:
            mark = f" …[cut, id {results[index].id}]"
            cut = cut_to_fit(text, share, counter, render=str, mark=mark)
            if cut is None:
                return None
            text = cut
        shortened[index] = text
        room -= counter.count(text)
    cut_results = [replace(result, content=shortened[index]) for index, result in enumerate(results)]
    return replace(unit, messages=(head, *cut_results))
