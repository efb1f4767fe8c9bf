"""The map: messages and memories as points on a plane, drawn in the browser; as a table without it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import Memory, Owner

router = APIRouter()

POINTS = 500
"""Most messages, and most memories, on the map."""

TABLE_POINTS = 200


@router.get("/map")
def show_map(
    request: Request,
    memory: Memory,
    owner: Owner,
    view: Annotated[Literal["plane", "table"], Query()] = "plane",
    color: Annotated[Literal["session", "kind"], Query()] = "session",
) -> Response:
    """Show the map. The plane asks the REST API for its points, so that the page is there at once."""
    points = memory.browse.map(scope=owner, limit=TABLE_POINTS) if view == "table" else []
    return page(request, "map.html", view=view, color=color, points=points, limit=POINTS)
