"""Sessions: the list, one session's timeline, and what can be done to a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from orca.interfaces.web.api.paging import Cursor, activity_place, read_cursor, write_cursor
from orca.interfaces.web.api.sessions import InSession
from orca.interfaces.web.keys import session_key
from orca.interfaces.web.notices import after_write
from orca.interfaces.web.pages.parameters import BLANK, OpenOrEnded, Place, RowId, Text, Words
from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import Memory, Owner
from orca.memory.browser import Timeline
from orca.text.times import to_text
from orca.types import Message, Role, SubAgentRun, Summary

router = APIRouter()

LIST_ROWS = 50
TIMELINE_ROWS = 50
"""Messages of a page: enough to read on, few enough to be drawn at once on a phone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Messages that follow each other and went into the same summary, or into none."""

    messages: tuple[Message, ...]
    summary: Summary | None


@router.get("/sessions")
def list_sessions(
    request: Request,
    memory: Memory,
    owner: Owner,
    q: Text = None,
    state: OpenOrEnded = None,
    cursor: Cursor = None,
) -> Response:
    """Show the user's sessions, the most recently active first."""
    found = memory.browse.sessions(
        user=owner.user, limit=LIST_ROWS, before=read_cursor(cursor, activity_place), text=q, state=state
    )
    older = None
    if found.older and found.items:
        first = found.items[0]
        older = write_cursor(to_text(first.updated_at) if first.updated_at else "", first.id)
    return page(
        request, "sessions.html", sessions=found.items[::-1], older=older, q=q, state=state, cursor=cursor
    )


@router.get("/sessions/{key}")
def show_session(
    request: Request,
    memory: Memory,
    scope: InSession,
    before: Place = None,
    after: Place = None,
    around: Place = None,
    on: Annotated[date | None, BLANK, Query()] = None,
    role: Annotated[Role | None, BLANK, Query()] = None,
) -> Response:
    """Show a page of a session: the newest messages, those beside a position, around a message, or from a day on."""
    if on is not None:
        moment = datetime(on.year, on.month, on.day, tzinfo=UTC)
        after = memory.browse.position_on(scope=scope, moment=moment)
    timeline = memory.browse.timeline(
        scope=scope, limit=TIMELINE_ROWS, before=before, after=after, around=around, role=role
    )
    rows = timeline.messages.items
    runs: dict[int | None, list[SubAgentRun]] = {}
    for run in timeline.runs:
        runs.setdefault(run.parent_message_id, []).append(run)
    return page(
        request,
        "session.html",
        session=memory.session(scope=scope),
        key=session_key(scope.session),
        turns=_turns(timeline),
        runs=runs,
        around=around,
        role=role,
        on=on,
        older=rows[0].position if rows and timeline.messages.older and rows[0].position > 1 else None,
        newer=rows[-1].position if rows and timeline.messages.newer else None,
    )


@router.post("/sessions/{key}/rename")
def rename(request: Request, memory: Memory, scope: InSession, title: Words = "") -> Response:
    """Give a session a title; an empty one takes it away."""
    memory.rename_session(scope=scope, title=title)
    return after_write(request, _path(scope.session), "renamed")


@router.post("/sessions/{key}/end")
def end(request: Request, memory: Memory, scope: InSession) -> Response:
    """End a session: it is consolidated before this answers."""
    memory.end_session(scope=scope)
    return after_write(request, _path(scope.session), "ended")


@router.get("/sessions/{key}/delete")
def ask_to_delete(request: Request, memory: Memory, scope: InSession) -> Response:
    """Show what a deletion would take away."""
    return page(
        request,
        "session_delete.html",
        session=memory.session(scope=scope),
        key=session_key(scope.session),
        runs=len(memory.subagent_runs(scope=scope)),
    )


@router.post("/sessions/{key}/delete")
def delete(request: Request, memory: Memory, scope: InSession) -> Response:
    """Delete a session with everything derived from it."""
    memory.session(scope=scope)
    rows = memory.delete_session(scope=scope)
    return after_write(request, "/sessions", "deleted", count=sum(rows.values()))


@router.get("/messages/{id}")
def find_message(request: Request, memory: Memory, owner: Owner, id: RowId) -> Response:
    """Lead to a message in its session."""
    message = memory.browse.message(scope=owner, id=id)
    user = request.query_params.get("user")
    query = str(request.url.replace_query_params(**({"user": user} if user else {}), around=id).query)
    return RedirectResponse(f"{_path(message.session)}?{query}#m{id}", 303)


def _turns(timeline: Timeline) -> list[Turn]:
    summaries = {summary.id: summary for summary in timeline.summaries}
    groups: Sequence[tuple[int | None, tuple[Message, ...]]] = [
        (summary_id, tuple(rows))
        for summary_id, rows in groupby(timeline.messages.items, key=lambda message: message.summary_id)
    ]
    return [Turn(messages=rows, summary=summaries.get(summary_id)) for summary_id, rows in groups]


def _path(session: str) -> str:
    return f"/sessions/{session_key(session)}"
