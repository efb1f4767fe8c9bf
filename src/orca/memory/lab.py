"""Trying out a recall: what each lane finds, in what order it comes, and what enters the prompt. Leaves no trace."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from orca.errors import ConfigError
from orca.memory.context import ContextBuilder
from orca.memory.recaller import Recaller
from orca.memory.retrieval_constants import LANES, SearchLane
from orca.types import Context, ContextItem, Hit, Record, Scope, Tier, TokenBudget

MIN_WINDOW = 256
MAX_WINDOW = 10_000_000
"""Windows that can be tried, in tokens; the same bounds as ``llm.window_tokens``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialHit:
    """A candidate, its rank over all tiers from 1, and its line of the ledger; None when it never got that far."""

    rank: int
    hit: Hit
    item: ContextItem | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one setting gives: the candidates best first, and the prompt that is made of them."""

    lanes: tuple[SearchLane, ...]
    budget: TokenBudget
    hits: tuple[TrialHit, ...]
    context: Context


class RecallLab:
    """Builds prompts as the agent would, with settings of the moment; it counts no access and stores nothing."""

    def __init__(self, recaller: Recaller, builder: ContextBuilder, budget: TokenBudget) -> None:
        self._recaller = recaller
        self._builder = builder
        self._budget = budget

    def try_out(
        self,
        *,
        scope: Scope,
        query: str,
        window_tokens: int | None = None,
        lanes: Collection[SearchLane] = LANES,
        system: str | None = None,
    ) -> Trial:
        """Return what a query brings back and what its prompt would be.

        Args:
            scope: Whose memory, and the session that asks.
            query: The user's next message.
            window_tokens: The model's window; None for the configured one.
            lanes: The lanes that search; one that is left out is as good as missing.
            system: The system prompt.

        Raises ``ConfigError`` for a window that cannot be used.

        """
        budget = self._budget if window_tokens is None else replace(self._budget, window_tokens=window_tokens)
        if not MIN_WINDOW <= budget.window_tokens <= MAX_WINDOW:
            raise ConfigError(f"window_tokens is {window_tokens}; give {MIN_WINDOW} to {MAX_WINDOW}")
        found = self._recaller.for_prompt(
            scope=scope, query=query, token_budget=budget.total, lanes=lanes, trial=True
        )
        context = self._builder.build(
            system=system,
            working=found.working,
            short_term=found.short_term,
            long_term=found.long_term,
            messages=found.messages,
            query=query,
            budget=budget,
            corrections=found.corrections,
            degraded=found.degraded,
        )
        hits = sorted(
            (*found.short_term, *found.long_term, *found.messages), key=lambda hit: hit.score, reverse=True
        )
        items: dict[tuple[Tier, int | None], ContextItem] = {
            (item.tier, item.id): item for item in context.items
        }
        return Trial(
            lanes=tuple(lane for lane in LANES if lane in lanes),
            budget=budget,
            hits=tuple(
                TrialHit(rank=rank, hit=hit, item=items.get((_TIERS[hit.kind], hit.id)))
                for rank, hit in enumerate(hits, start=1)
            ),
            context=context,
        )


_TIERS: dict[Record, Tier] = {"message": "messages", "summary": "short_term", "memory": "long_term"}
