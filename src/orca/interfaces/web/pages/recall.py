"""The recall lab: what a query brings back, lane by lane, and the prompt that is made of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from orca.interfaces.web.api.bodies import MAX_TEXT
from orca.interfaces.web.pages.parameters import Text, Window
from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import Memory, Owner
from orca.memory.lab import Trial
from orca.memory.retrieval_constants import LANES
from orca.types import Tier

router = APIRouter()

SESSIONS_OFFERED = 50
TIERS: tuple[Tier, ...] = ("system", "working", "short_term", "messages", "long_term", "query")

Lanes = Literal["both", "dense", "keyword"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the token budget: a tier, what frames the messages, or what is free. ``start`` is its left edge."""

    name: str
    tokens: int
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A trial with what the page draws of it."""

    name: str
    trial: Trial
    parts: tuple[Part, ...]
    whole: int


@router.get("/recall")
def recall(
    request: Request,
    memory: Memory,
    owner: Owner,
    q: Annotated[str, Query(max_length=MAX_TEXT)] = "",
    session: Text = None,
    window: Window = None,
    lanes: Lanes = "both",
    compare: bool = False,
    window_b: Window = None,
    lanes_b: Lanes = "both",
) -> Response:
    """Show what a query brings back under one setting, or under two side by side."""
    sessions = memory.browse.sessions(user=owner.user, limit=SESSIONS_OFFERED).items[::-1]
    asking = session or (sessions[0].id if sessions else "default")
    scope = replace(owner, session=asking)
    settings = [("A", window, lanes)] + ([("B", window_b, lanes_b)] if compare else [])
    shown = []
    if q.strip():
        for name, tokens, chosen in settings:
            used = LANES if chosen == "both" else (chosen,)
            trial = memory.lab.try_out(scope=scope, query=q, window_tokens=tokens, lanes=used)
            shown.append(_shown(name, trial))
    return page(
        request,
        "recall.html",
        q=q,
        session=asking,
        sessions=sessions,
        settings=settings,
        compare=compare,
        window_default=memory.budget.window_tokens,
        trials=shown,
        tiers=TIERS,
    )


def _shown(name: str, trial: Trial) -> Shown:
    context = trial.context
    tokens = {
        tier: sum(item.tokens for item in context.items if item.included and item.tier == tier)
        for tier in TIERS
    }
    named = [*tokens.items(), ("framing", max(0, context.tokens - sum(tokens.values())))]
    named.append(("free", max(0, context.budget - context.tokens)))
    parts, start = [], 0
    for part, taken in named:
        parts.append(Part(name=part, tokens=taken, start=start))
        start += taken
    return Shown(name=name, trial=trial, parts=tuple(parts), whole=max(start, 1))
