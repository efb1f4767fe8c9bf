"""``/recall`` and ``/context``: what would be brought back for a query, and the prompt that would be assembled."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from orca.interfaces.web.api.bodies import MAX_TEXT, ContextQuery
from orca.interfaces.web.api.paging import Limit
from orca.interfaces.web.api.schemas import ContextOut, RecallOut
from orca.interfaces.web.state import MAX_NAME, Memory, Owner
from orca.memory.manager import MemoryManager
from orca.memory.ranking import best_hits
from orca.types import Scope

router = APIRouter(tags=["recall"])

SessionId = Annotated[str, Query(max_length=MAX_NAME, description="Id of the session that asks.")]


@router.get("/recall", response_model=RecallOut)
def recall(
    memory: Memory,
    owner: Owner,
    q: Annotated[str, Query(max_length=MAX_TEXT)],
    session: SessionId = "default",
    limit: Limit = 10,
) -> Any:
    """Search all tiers. ``hits`` are those of all tiers, best first; ``lanes`` say what each lane gave to a hit."""
    recalled = memory.recall(scope=replace(owner, session=session), query=q, limit=limit)
    return {
        "hits": best_hits(recalled, limit),
        "short_term": recalled.short_term,
        "long_term": recalled.long_term,
        "messages": recalled.messages,
        "degraded": recalled.degraded,
    }


@router.get("/context", response_model=ContextOut)
def get_context(
    memory: Memory,
    owner: Owner,
    q: Annotated[str | None, Query(max_length=MAX_TEXT)] = None,
    session: SessionId = "default",
    window_tokens: Annotated[int | None, Query(ge=1, le=10_000_000)] = None,
    system: Annotated[str | None, Query(max_length=MAX_TEXT)] = None,
) -> Any:
    """Assemble the prompt for a query; return it with its ledger."""
    return _context(memory, replace(owner, session=session), q, window_tokens, system)


@router.post("/context", response_model=ContextOut)
def post_context(memory: Memory, owner: Owner, asked: ContextQuery) -> Any:
    """Do the same for texts that are too long for an address. Nothing is stored."""
    scope = replace(owner, session=asked.session)
    return _context(memory, scope, asked.query, asked.window_tokens, asked.system)


def _context(
    memory: MemoryManager, scope: Scope, query: str | None, window_tokens: int | None, system: str | None
) -> dict[str, Any]:
    built = memory.build_context(scope=scope, query=query, window_tokens=window_tokens, system=system)
    budget = memory.budget if window_tokens is None else replace(memory.budget, window_tokens=window_tokens)
    return {
        "messages": built.messages,
        "items": built.items,
        "tokens": built.tokens,
        "budget": built.budget,
        "over_budget": built.over_budget,
        "degraded": built.degraded,
        "shares": budget,
    }
