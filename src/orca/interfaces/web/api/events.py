"""``/events``: changes as server-sent events (HTML Living Standard, section 9.2)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse

from orca.interfaces.web.changes import Changes, Event, TooManyListeners
from orca.interfaces.web.state import Owner, state_of

router = APIRouter(tags=["events"])

RETRY_MILLISECONDS = 2000
"""How long a browser waits before it connects again."""

_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `session`, `message`, `summary`, `memory`, `run` and `job` when rows of that kind have"
        " changed, `degraded` when something is missing or back, and `resync` when some were left out: load again."
        " Comments in between keep the connection.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


class EventStream(StreamingResponse):
    """Sends events as they come, and lets go of its listener whatever ends it."""

    media_type = "text/event-stream"

    def __init__(self, changes: Changes, user: str) -> None:
        events = changes.listen(user)
        super().__init__(_encoded(events), headers={"X-Accel-Buffering": "no"})
        self._events = events

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send until the client is gone or the server stops."""
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


@router.get("/events", response_class=StreamingResponse, responses=_CONTENT)
async def listen(request: Request, owner: Owner) -> StreamingResponse:
    """Tell of changes to the user's rows, whichever process made them, within about half a second."""
    try:
        return EventStream(state_of(request).changes, owner.user)
    except TooManyListeners as error:
        raise HTTPException(503, "too many connections listen already", {"Retry-After": "30"}) from error


async def _encoded(events: AsyncGenerator[Event | None, None]) -> AsyncGenerator[str, None]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    async for event in events:
        if event is None:
            yield ":\n\n"
        else:
            yield f"event: {event.name}\ndata: {json.dumps(event.data, ensure_ascii=False)}\n\n"
