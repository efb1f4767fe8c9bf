"""The next prompt, assembled from the tiers within a token budget, and the ledger that accounts for it.

The order of a prompt, and why:

1. the system text, then the system messages that the conversation began with: they never change;
2. the working window, word for word, oldest first: it only grows at its end (``orca.memory.working``);
3. the newest user message, with the recalled memory as a quoted block *before its own text*;
4. in the middle of a turn, the tool calls made since and their results.

What is recalled differs from turn to turn, so it comes as late as it can: everything before it is the same
bytes as in the turn before, and a provider's prompt cache serves it. It shares the user's message because many
chat templates refuse two user messages in a row, and because the next turn's history then holds the plain
message: the two prompts part exactly where the block began. It never stands in the system role: stored text is
data, and the block says so.

Nothing here reads a clock, a store or a model: the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orca.memory.packing import (
    comparable,
    gather,
    leave_out_shown,
    leave_out_unfit,
    pack,
)
from orca.memory.prompt import Prompt
from orca.memory.recalled_block import language_of
from orca.memory.rendering import RememberingCounter, tokens_with
from orca.memory.turn import Turn, fit_steps, newest_turn
from orca.memory.working import KEEP_SHARE, History, Unit, read_history, unit_tokens, window_start
from orca.protocols import TokenCounter
from orca.text.parts import plain_text
from orca.text.redaction import MASKED, Redaction
from orca.types import Context, Correction, Hit, Message, TokenBudget

WINDOW_STEPS = 8
"""The window's room is rounded down to eighths of the budget.

Recalled memory and the query take a little more or less every turn; without rounding each of them would move
the window's beginning and void the provider's cache. The rounded-off room goes to recalled memory.
"""

FULL_STEPS = 7
"""A window that cannot hold the whole session is full at the seventh step, or where what is recalled needs more room.

At six, the window of a session of short messages moved three times as often: 7 % of a prompt's bytes were lost to it
instead of 2 %, and no more of the evidence was shown for it; see ``benchmarks/prompt_cache.py``.
"""


class ContextBuilder:
    """Assembles prompts. Holds a counter and a floor, no state: one builder serves all threads."""

    def __init__(
        self,
        counter: TokenCounter,
        *,
        relevance_floor: float = 0.0,
        keep_share: float = KEEP_SHARE,
        redaction: Redaction = MASKED,
    ) -> None:
        """Count by ``counter``; leave out hits whose relevance is below ``relevance_floor`` (0 leaves none out).

        ``keep_share`` is the least share of its room that a full window keeps when it moves; 1.0 gives a window
        that slides with every message, which no prompt cache can follow.
        """
        self._counter = RememberingCounter(counter)
        self._keep_share = keep_share
        self._tokens_of = tokens_with(self._counter)
        self._floor = relevance_floor
        self._redaction = redaction

    def build(
        self,
        *,
        system: str | None = None,
        working: Sequence[Message] = (),
        short_term: Sequence[Hit] = (),
        long_term: Sequence[Hit] = (),
        messages: Sequence[Hit] = (),
        query: str | None = None,
        budget: TokenBudget,
        corrections: Sequence[Correction] = (),
        degraded: str | None = None,
    ) -> Context:
        """Return the prompt for the next turn and its ledger.

        Each tier has its share of the budget; room that one does not use goes to the others. When it does not
        all fit, long-term memory shrinks to its best hit, then short-term memory to its best, then the oldest
        of the working window go (the order of the seed). ``tokens`` of what returns is counted on the messages
        as they are, and is at most ``budget.total`` unless system text and newest turn alone exceed it: then
        they are the prompt, and ``over_budget`` is true.

        Args:
            system: The system prompt.
            working: The session's newest messages in the order of storing, up to the whole budget's worth,
                behind the system messages that the session began with.
            short_term: Summaries of this session.
            long_term: Memories across sessions.
            messages: Older messages of this session and messages of others.
            query: The new user message; one that ``working`` ends with already is not repeated.
            budget: How many tokens there are, and the tiers' shares of them.
            corrections: Superseded values whose sources may be among the messages; shown ones are set right.
            degraded: Why something was missing in the recall; handed on.

        """
        query = self._redaction.optional(query)
        history = read_history(working)
        turn = newest_turn(history.units, query)
        recalled = gather(
            short_term=short_term,
            long_term=long_term,
            messages=messages,
            corrections=corrections,
            language=language_of(_recent_words(turn, system)),
            counter=self._counter,
        )
        question = None if turn.question is None else plain_text(turn.question.content)
        leave_out_unfit(recalled, query=question, floor=self._floor)
        prompt = Prompt(
            counter=self._counter,
            system=_system_messages(system, history.pinned),
            turn=turn,
            start=len(turn.past),
            recalled=recalled,
        )
        fits = self._fill(prompt, budget, is_whole=history.is_whole)
        return prompt.as_context(
            budget, left_out=_left_out(history, prompt.system), over_budget=not fits, degraded=degraded
        )

    def _fill(self, prompt: Prompt, budget: TokenBudget, *, is_whole: bool) -> bool:
        """Fill the prompt up to the budget; return whether it keeps it."""
        turn = prompt.turn
        prompt.turn = Turn(past=turn.past, question=turn.question)
        room = budget.total - prompt.tokens()
        if room >= 0:
            prompt.turn = fit_steps(turn, room, self._counter)
            self._choose_window(prompt, budget, is_whole=is_whole)
        if room < 0 or (turn.question is None and turn.past and not prompt.shown_past):
            prompt.turn = turn
            prompt.keep_newest_turn()
            return prompt.tokens() <= budget.total
        self._add_recalled(prompt, budget)
        return prompt.shrink_to(budget.total)

    def _choose_window(self, prompt: Prompt, budget: TokenBudget, *, is_whole: bool) -> None:
        """Set where the past begins: as much as the others leave, and its own share before they get theirs.

        The steps of the turn do not count as long as recalled memory can make room for them, down to the best of
        each pool: so the window stays where the turn's first prompt had it, and a cache serves the later ones.
        """
        steps = sum(unit_tokens(unit, self._tokens_of) for unit in prompt.turn.steps)
        room = budget.total - prompt.tokens()
        best = prompt.recalled.least(short_share=budget.short_term, long_share=budget.long_term)
        past = prompt.turn.past
        prompt.start = self._window_within(room + steps, prompt, budget, is_whole=is_whole)
        if steps and sum(unit_tokens(unit, self._tokens_of) for unit in past[prompt.start :]) > room - best:
            prompt.start = self._window_within(room, prompt, budget, is_whole=is_whole)

    def _window_within(self, room: int, prompt: Prompt, budget: TokenBudget, *, is_whole: bool) -> int:
        """Return where the past begins when it and recalled memory have ``room`` tokens.

        Every other allowance is another window, and a change from one to the other voids the cache as much as a step
        does. So what recalled memory needs is compared with what the window holds, not with what it may hold: a window
        that moves in steps is full only just before it moves.
        """
        recalled, past = prompt.recalled, prompt.turn.past
        short, long = budget.short_term, budget.long_term
        sizes = [unit_tokens(unit, self._tokens_of) for unit in past]

        def spare(start: int) -> int:
            """Return what the window from ``start`` on and the recall that it does not show leave of the room."""
            shown, summaries = _shown_from(past, start)
            needed = recalled.need(short_share=short, long_share=long, shown=shown, summaries=summaries)
            return room - sum(sizes[start:]) - needed

        if is_whole and spare(0) >= 0:
            return 0
        step = max((budget.total - prompt.system_tokens()) // WINDOW_STEPS, 1)
        needed = recalled.need(short_share=short, long_share=long)
        least = recalled.least(short_share=short, long_share=long)
        sure = max(room - needed, min(budget.working, room - least), 0)
        sure -= sure % step if sure >= step else 0
        full = FULL_STEPS * step
        for allowance in (*range(full, sure, -step), min(sure, full)):
            start = window_start(past, allowance, self._tokens_of, is_whole=is_whole, keep=self._keep_share)
            if spare(start) >= 0:
                break
        return start

    def _add_recalled(self, prompt: Prompt, budget: TokenBudget) -> None:
        """Let recalled hits into the room that is left, none of which the prompt shows already."""
        shown = list(prompt.shown())
        older = [message for unit in prompt.turn.past[: prompt.start] for message in unit.messages]
        leave_out_shown(
            prompt.recalled,
            ids={message.id for message in shown if message.id is not None},
            texts={comparable(plain_text(message.content)) for message in shown},
            summary_ids=_summaries_of(shown) - _summaries_of(older),
        )
        pack(
            prompt.recalled,
            budget.total - prompt.tokens(),
            short_share=budget.short_term,
            long_share=budget.long_term,
        )


def _system_messages(system: str | None, pinned: Sequence[Message]) -> tuple[Message, ...]:
    """Return the system text and the system messages that the conversation began with, none of them twice."""
    given = (Message(role="system", content=system),) if system and system.strip() else ()
    return (*given, *(message for message in pinned if message.content != system))


def _left_out(history: History, system: Sequence[Message]) -> list[tuple[Message, str]]:
    """Return the messages that can enter no prompt, or need not since the system text says the same."""
    repeated = [message for message in history.pinned if message not in system]
    return [*((message, "the same text as the system prompt") for message in repeated), *history.left_out]


def _shown_from(past: Sequence[Unit], start: int) -> tuple[set[int], set[int]]:
    """Return the ids of the messages that a window from ``start`` on shows, and of the summaries of its turns."""
    shown = [message for unit in past[start:] for message in unit.messages]
    older = [message for unit in past[:start] for message in unit.messages]
    return {message.id for message in shown if message.id is not None}, _summaries_of(shown) - _summaries_of(
        older
    )


def _summaries_of(messages: Iterable[Message]) -> set[int]:
    """Return the ids of the summaries that the messages went into."""
    return {message.summary_id for message in messages if message.summary_id is not None}


def _recent_words(turn: Turn, system: str | None) -> str:
    """Return the words whose language the block speaks: the question's, else the newest of the user's."""
    if turn.question is not None:
        return plain_text(turn.question.content)
    newest = next((unit for unit in reversed(turn.past) if unit.begins_turn), None)
    return plain_text(newest.messages[0].content) if newest is not None else system or ""
