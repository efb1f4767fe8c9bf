"""A prompt in the making: what is in it so far, what it costs, and what is given up when it is too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orca.memory.packing import Entry, Recalled
from orca.memory.recalled_block import with_block
from orca.memory.rendering import message_tokens, prompt_tokens, render_message
from orca.memory.turn import Turn
from orca.memory.working import Unit
from orca.protocols import TokenCounter
from orca.text.parts import plain_text
from orca.types import Context, ContextItem, Message, Tier, TokenBudget

PREVIEW_CHARACTERS = 200
"""The ledger shows this much of a message's text."""


@dataclass(slots=True, kw_only=True, eq=False)
class Prompt:
    """System messages, the past from unit ``start`` on, the question with the recalled block, and its steps."""

    counter: TokenCounter
    system: tuple[Message, ...]
    turn: Turn
    start: int
    recalled: Recalled

    @property
    def shown_past(self) -> tuple[Unit, ...]:
        """The units of the past that are in the prompt."""
        return self.turn.past[self.start :]

    def shown(self) -> Iterator[Message]:
        """Yield the messages in the prompt beside the question: system, past and steps."""
        yield from self.system
        for unit in (*self.shown_past, *self.turn.steps):
            yield from unit.messages

    def render(self) -> list[dict[str, Any]]:
        """Return the prompt as OpenAI-style dicts."""
        rendered = [render_message(message) for message in self.system]
        rendered += [render_message(message) for unit in self.shown_past for message in unit.messages]
        block = self.recalled.block()
        if self.turn.question is not None:
            question = render_message(self.turn.question)
            if block is not None:
                question["content"] = with_block(question["content"], block)
            rendered.append(question)
        rendered += [render_message(message) for unit in self.turn.steps for message in unit.messages]
        if self.turn.question is None and block is not None:
            rendered.append({"role": "user", "content": block})
        return rendered

    def tokens(self) -> int:
        """Return what the prompt costs as it is now."""
        return prompt_tokens(self.render(), self.counter)

    def system_tokens(self) -> int:
        """Return what the system messages cost, with the priming of the reply."""
        return prompt_tokens(map(render_message, self.system), self.counter)

    def keep_newest_turn(self) -> None:
        """Give up everything but the system messages and the newest turn."""
        turn = self.turn
        if turn.question is None:
            newest = next((unit for unit in reversed(turn.past) if unit.begins_turn), None)
            if newest is not None:
                self.turn = Turn(
                    past=tuple(unit for unit in turn.past if unit is not newest), question=newest.messages[0]
                )
        self.start = len(self.turn.past)
        for candidate in self.recalled.everything:
            if candidate.open or candidate.included:
                candidate.leave("no room: system text and newest turn alone fill the budget")

    def shrink_to(self, total: int) -> bool:
        """Give up piece after piece until the prompt costs at most ``total`` tokens; return whether it does.

        Packing adds up the price of lines, while a tokenizer may price them a little higher once they are
        joined; the promise is about the joined text.
        """
        while self.tokens() > total:
            if not self._give_up_one():
                return False
        return True

    def _give_up_one(self) -> bool:
        """Give up the next piece in the seed's order: long-term, short-term (each to 1), then the oldest past."""
        pools = (self.recalled.long_term, self.recalled.short_term)
        for least in (1, 0):
            for pool in pools:
                included = [candidate for candidate in pool if candidate.included]
                if len(included) > least:
                    included[-1].leave("no room in the end")
                    return True
            if least == 1 and self.start < len(self.turn.past):
                self.start += 1
                return True
        if self.turn.steps:
            oldest, *steps = self.turn.steps
            self.turn = replace(self.turn, steps=tuple(steps), dropped=(*self.turn.dropped, oldest))
            return True
        return False

    def as_context(
        self,
        budget: TokenBudget,
        *,
        left_out: Sequence[tuple[Message, str]],
        over_budget: bool,
        degraded: str | None,
    ) -> Context:
        """Return the finished prompt with its ledger; ``left_out`` are messages with the reason in words."""
        rendered = self.render()
        return Context(
            messages=rendered,
            items=tuple(self._items(left_out)),
            tokens=prompt_tokens(rendered, self.counter),
            budget=budget.total,
            over_budget=over_budget,
            degraded=degraded,
        )

    def _items(self, left_out: Sequence[tuple[Message, str]]) -> Iterator[ContextItem]:
        for message in self.system:
            yield self._item("system", message, included=True, reason="in every prompt")
        for index, unit in enumerate(self.turn.past):
            included = index >= self.start
            reason = "in the working window" if included else "older than the working window"
            yield from self._unit_items(unit, included=included, reason=reason)
        for message, reason in left_out:
            yield self._item("working", message, included=False, reason=reason)
        yield from map(Entry.as_item, self.recalled.everything)
        if self.turn.question is not None:
            yield self._item("query", self.turn.question, included=True, reason="the newest user message")
        for unit in self.turn.dropped:
            yield from self._unit_items(unit, included=False, reason="no room: an older step of this turn")
        for unit in self.turn.steps:
            yield from self._unit_items(unit, included=True, reason="a step of this turn")

    def _unit_items(self, unit: Unit, *, included: bool, reason: str) -> Iterator[ContextItem]:
        for message in unit.messages:
            closing = (
                included and message.role == "tool" and message.origin == "system" and message.id is None
            )
            yield self._item(
                "working",
                message,
                included=included,
                reason="closes an interrupted tool call" if closing else reason,
            )

    def _item(self, tier: Tier, message: Message, *, included: bool, reason: str) -> ContextItem:
        return ContextItem(
            tier=tier,
            id=message.id,
            tokens=message_tokens(render_message(message), self.counter),
            score=None,
            included=included,
            reason=reason,
            text=plain_text(message.content)[:PREVIEW_CHARACTERS],
        )
