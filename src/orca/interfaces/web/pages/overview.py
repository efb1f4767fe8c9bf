"""The overview: what is stored, how it grew, what waits, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from orca.interfaces.web.formatting import stored_bytes
from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import Memory, Owner

router = APIRouter()

SPANS = {"month": (30, 1), "quarter": (91, 1), "year": (364, 7)}
"""Days of each span, and days of one of its bars."""

CHART_HEIGHT = 120
RECENT_SESSIONS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar of the chart; lengths in units of its view box."""

    first: date
    last: date
    messages: int
    x: float
    width: float
    height: float


@router.get("/")
def overview(
    request: Request,
    memory: Memory,
    owner: Owner,
    span: Annotated[Literal["month", "quarter", "year"], Query()] = "year",
) -> Response:
    """Show what is stored, what waits, and what is missing."""
    status = memory.status()
    days, step = SPANS[span]
    today = datetime.now(UTC).date()
    start = today - timedelta(days=days - 1)
    activity = memory.browse.activity(
        user=owner.user, since=datetime(start.year, start.month, start.day, tzinfo=UTC)
    )
    return page(
        request,
        "overview.html",
        store=status,
        counts=memory.browse.counts(user=owner.user),
        backlog=memory.browse.backlog(user=owner.user),
        bytes_stored=stored_bytes(status.location),
        recent=memory.browse.sessions(user=owner.user, limit=RECENT_SESSIONS).items[::-1],
        bars=_bars(activity, start, days, step),
        active=sum(messages for _, messages in activity),
        chart_height=CHART_HEIGHT,
        span=span,
        spans=tuple(SPANS),
    )


def _bars(activity: Sequence[tuple[str, int]], start: date, days: int, step: int) -> list[Bar]:
    """Return ``days / step`` bars over 1000 units; one that is not empty is at least two units high."""
    counts = [0] * (days // step)
    for day, messages in activity:
        place = (date.fromisoformat(day) - start).days // step
        if 0 <= place < len(counts):
            counts[place] += messages
    most = max(counts) or 1
    slot = 1000 / len(counts)
    return [
        Bar(
            first=start + timedelta(days=place * step),
            last=start + timedelta(days=place * step + step - 1),
            messages=messages,
            x=round(place * slot, 2),
            width=round(slot * 0.78, 2),
            height=round(max(2.0, CHART_HEIGHT * messages / most), 1) if messages else 0.0,
        )
        for place, messages in enumerate(counts)
    ]
