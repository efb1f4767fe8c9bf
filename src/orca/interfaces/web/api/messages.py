"""``/messages``: every message of a user, and search over them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request

from orca.interfaces.web.api.bodies import MAX_TEXT
from orca.interfaces.web.api.paging import Cursor, Limit, next_link, read_cursor, row_id
from orca.interfaces.web.api.schemas import HitOut, ListOut, MessageOut, PageOut
from orca.interfaces.web.state import MAX_ID, Memory, Owner
from orca.types import Message, Role

router = APIRouter(prefix="/messages", tags=["messages"])

MessageId = Annotated[int, Path(ge=1, le=MAX_ID)]


@router.get("", response_model=PageOut[MessageOut])
def list_messages(
    request: Request,
    memory: Memory,
    owner: Owner,
    role: Role | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List the messages of all sessions, newest first."""
    page = memory.browse.messages(scope=owner, limit=limit, before=read_cursor(cursor, row_id), role=role)
    return {"items": page.items[::-1], "next": next_link(request, page, lambda message: [message.id])}


@router.get("/search", response_model=ListOut[HitOut])
def search_messages(
    memory: Memory, owner: Owner, q: Annotated[str, Query(max_length=MAX_TEXT)], limit: Limit = 20
) -> Any:
    """Return the messages that fit a query best, best first."""
    return {"items": memory.search_messages(scope=owner, query=q, limit=limit)}


@router.get("/{id}", response_model=MessageOut)
def get_message(memory: Memory, owner: Owner, id: MessageId) -> Message:
    """Return one message."""
    return memory.browse.message(scope=owner, id=id)


@router.get("/{id}/neighbours", response_model=ListOut[MessageOut])
def list_neighbours(
    memory: Memory, owner: Owner, id: MessageId, radius: Annotated[int, Query(ge=0, le=50)] = 2
) -> Any:
    """Return a message with those before and after it, oldest first."""
    memory.browse.message(scope=owner, id=id)
    return {"items": memory.neighbours(scope=owner, id=id, radius=radius)}
