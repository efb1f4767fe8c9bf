"""``/jobs``, ``/status``, ``/activity``, ``/map``, ``/users``, ``/csrf``: how the memory is doing, and its shape."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request

from orca.interfaces.web.api.bodies import JobsNamed
from orca.interfaces.web.api.paging import Cursor, Limit, next_link, read_cursor, row_id
from orca.interfaces.web.api.schemas import CsrfOut, DayOut, JobsOut, ListOut, PointOut, Released, StatusOut
from orca.interfaces.web.guard import CSRF_HEADER
from orca.interfaces.web.state import Memory, Owner, visitor_of
from orca.memory.browser import MAX_POINTS
from orca.types import JobKind

router = APIRouter(tags=["system"])


@router.get("/jobs", response_model=JobsOut)
def list_jobs(
    request: Request,
    memory: Memory,
    owner: Owner,
    kind: JobKind | None = None,
    failed: bool | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List the background work of the user that is not done, newest first, and how much of it waits for what."""
    page = memory.browse.jobs(
        user=owner.user, limit=limit, before=read_cursor(cursor, row_id), kind=kind, failed=failed
    )
    return {
        "items": page.items[::-1],
        "next": next_link(request, page, lambda job: [job.id]),
        "backlog": memory.browse.backlog(user=owner.user),
    }


@router.post("/jobs/retry", response_model=Released)
def retry_jobs(memory: Memory, owner: Owner, named: JobsNamed | None = None) -> Any:
    """Let waiting jobs be tried at once: those named, or all of the user's."""
    return {"released": memory.browse.retry_jobs(user=owner.user, ids=None if named is None else named.ids)}


@router.get("/status", response_model=StatusOut)
def get_status(memory: Memory, owner: Owner) -> Any:
    """Return the store's health: counts, spaces, backlog by reason, and what is missing."""
    return {**asdict(memory.status()), "user_counts": memory.browse.counts(user=owner.user)}


@router.get("/activity", response_model=ListOut[DayOut])
def list_activity(memory: Memory, owner: Owner, days: Annotated[int, Query(ge=1, le=366)] = 30) -> Any:
    """Return the days of the last ``days`` that have messages, in UTC, oldest first."""
    since = datetime.now(UTC) - timedelta(days=days)
    found = memory.browse.activity(user=owner.user, since=since)
    return {"items": [{"day": day, "messages": number} for day, number in found]}


@router.get("/map", response_model=ListOut[PointOut])
def get_map(
    memory: Memory, owner: Owner, limit: Annotated[int, Query(ge=1, le=MAX_POINTS // 2)] = 500
) -> Any:
    """Return the newest messages and memories that have vectors as points on a plane."""
    return {"items": memory.browse.map(scope=owner, limit=limit)}


@router.get("/users", response_model=ListOut[str])
def list_users(memory: Memory) -> Any:
    """Return every user that has a session or a memory."""
    return {"items": memory.browse.users()}


@router.get("/csrf", response_model=CsrfOut)
def get_csrf(request: Request) -> Any:
    """Return the token that writes without the access token as bearer need, and start the session it belongs to."""
    return {"token": visitor_of(request).csrf_token, "header": CSRF_HEADER}
