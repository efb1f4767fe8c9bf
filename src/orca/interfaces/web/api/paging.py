"""Opaque cursors, and the parameters of a page. A cursor is a row's place as base64url of JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Query
from starlette.requests import Request

from orca.errors import ConfigError
from orca.interfaces.web.state import MAX_ID
from orca.memory.browser import MAX_PAGE, Page

T = TypeVar("T")

Cursor = Annotated[
    str | None, Query(max_length=4000, description="Where the page begins, from a link of another page.")
]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Most rows of the page.")]
Search = Annotated[str | None, Query(max_length=1000, description="What to look for, as it stands there.")]


def write_cursor(*place: Any) -> str:
    """Return a row's place as a cursor."""
    text = json.dumps(place, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, read: Callable[..., T]) -> T | None:
    """Return ``read(*place)`` of a cursor, None for none. Raises ``ConfigError`` for one that we did not write."""
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return read(*json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigError("cursor: this is not one of ours; begin again without it") from error


def row_id(value: Any) -> int:
    """Return a place that is an id or a position. Raises ``ValueError``."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_ID:
        raise ValueError(value)
    return value


def activity_place(moment: Any, session: Any) -> tuple[datetime, str]:
    """Return the place of a session: its last activity and its id. Raises ``ValueError`` or ``TypeError``."""
    place = datetime.fromisoformat(moment)
    if place.tzinfo is None or not isinstance(session, str):
        raise ValueError(moment)
    session.encode()
    return place, session


def link_to(request: Request, cursor: str | None) -> str | None:
    """Return the path of this request's page at another cursor, with all else as it was asked for."""
    if cursor is None:
        return None
    query = [
        (name, value)
        for name, value in request.query_params.multi_items()
        if name not in ("cursor", "around")
    ]
    return f"{quote(request.url.path)}?{urlencode([*query, ('cursor', cursor)])}"


def next_link(request: Request, page: Page[T], place: Callable[[T], Iterable[Any]]) -> str | None:
    """Return the path of the page of older rows, or None."""
    return link_to(request, write_cursor(*place(page.items[0]))) if page.older and page.items else None
