"""``/sessions``: list, read, rename, end and delete conversations, and page through one."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.requests import Request

from orca.interfaces.web.api.bodies import SessionChange
from orca.interfaces.web.api.paging import (
    Cursor,
    Limit,
    Search,
    activity_place,
    link_to,
    next_link,
    read_cursor,
    row_id,
    write_cursor,
)
from orca.interfaces.web.api.schemas import Deleted, PageOut, SessionOut, TimelineOut
from orca.interfaces.web.keys import session_of
from orca.interfaces.web.state import MAX_ID, Memory, Owner
from orca.memory.browser import Timeline
from orca.text.times import to_text
from orca.types import Role, Scope, Session, SessionState

router = APIRouter(prefix="/sessions", tags=["sessions"])


def _scope(
    owner: Owner,
    key: Annotated[
        str,
        Path(
            min_length=1,
            max_length=4000,
            description="The session's key: its id where that is letters, digits, '-', '_' and '.';"
            " otherwise '~' and the unpadded base64url of its UTF-8 bytes.",
        ),
    ],
) -> Scope:
    return replace(owner, session=session_of(key))


InSession = Annotated[Scope, Depends(_scope)]


@router.get("", response_model=PageOut[SessionOut])
def list_sessions(
    request: Request,
    memory: Memory,
    owner: Owner,
    q: Search = None,
    state: SessionState | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List the user's sessions, the most recently active first; ``q`` is looked for in ids and titles."""
    page = memory.browse.sessions(
        user=owner.user, limit=limit, before=read_cursor(cursor, activity_place), text=q, state=state
    )
    return {"items": page.items[::-1], "next": next_link(request, page, _place)}


@router.get("/{key}", response_model=SessionOut)
def get_session(memory: Memory, scope: InSession) -> Session:
    """Return one session."""
    return memory.session(scope=scope)


@router.patch("/{key}", response_model=SessionOut)
def rename_session(memory: Memory, scope: InSession, change: SessionChange) -> Session:
    """Give a session a title."""
    return memory.rename_session(scope=scope, title=change.title)


@router.post("/{key}/end", response_model=SessionOut)
def end_session(memory: Memory, scope: InSession) -> Session:
    """Close a session: what is worth knowing of it is in long-term memory before this answers."""
    return memory.end_session(scope=scope)


@router.delete("/{key}", response_model=Deleted)
def delete_session(memory: Memory, scope: InSession) -> Any:
    """Delete a session with everything derived from it."""
    memory.session(scope=scope)
    return {"deleted": memory.delete_session(scope=scope)}


@router.get("/{key}/messages", response_model=TimelineOut)
def list_session_messages(
    request: Request,
    memory: Memory,
    scope: InSession,
    cursor: Cursor = None,
    around: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="Id of a message to show in the middle.")
    ] = None,
    role: Role | None = None,
    limit: Limit = 50,
) -> Any:
    """Return a page of a session, oldest first: the newest messages, those at a cursor, or those around one."""
    place = read_cursor(cursor, _direction) or {}
    timeline = memory.browse.timeline(scope=scope, limit=limit, around=around, role=role, **place)
    return timeline_out(request, timeline)


def timeline_out(request: Request, timeline: Timeline) -> dict[str, Any]:
    """Return a page of a session with links to the pages beside it."""
    page = timeline.messages
    older = newer = None
    if page.items:
        older = write_cursor("before", page.items[0].position) if page.older else None
        newer = write_cursor("after", page.items[-1].position) if page.newer else None
    return {
        "items": page.items,
        "summaries": timeline.summaries,
        "runs": timeline.runs,
        "older": link_to(request, older),
        "newer": link_to(request, newer),
    }


def _place(session: Session) -> tuple[str, str]:
    return to_text(session.updated_at) if session.updated_at else "", session.id


def _direction(side: Any, position: Any) -> dict[str, int]:
    if side not in ("before", "after"):
        raise ValueError(side)
    return {side: row_id(position)}
