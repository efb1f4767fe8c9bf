"""Background work: what waits, what failed and why, and another try."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query
from starlette.requests import Request
from starlette.responses import Response

from orca.interfaces.web.notices import after_write
from orca.interfaces.web.pages.parameters import BLANK, Place
from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import MAX_ID, Memory, Owner
from orca.types import JobKind

router = APIRouter()

LIST_ROWS = 50
KINDS = ("embed", "summarize", "consolidate")


@router.get("/jobs")
def list_jobs(
    request: Request,
    memory: Memory,
    owner: Owner,
    kind: Annotated[JobKind | None, BLANK, Query()] = None,
    failed: Annotated[Literal["yes", "no"] | None, BLANK, Query()] = None,
    before: Place = None,
) -> Response:
    """Show the work that is not done, the newest first, and how much of it waits for what."""
    found = memory.browse.jobs(
        user=owner.user,
        limit=LIST_ROWS,
        before=before,
        kind=kind,
        failed=None if failed is None else failed == "yes",
    )
    return page(
        request,
        "jobs.html",
        jobs=found.items[::-1],
        older=found.items[0].id if found.older and found.items else None,
        before=before,
        backlog=memory.browse.backlog(user=owner.user),
        kind=kind,
        kinds=KINDS,
        failed=failed,
    )


@router.post("/jobs/retry")
def retry(
    request: Request,
    memory: Memory,
    owner: Owner,
    id: Annotated[int | None, Form(ge=1, le=MAX_ID)] = None,
) -> Response:
    """Let one job, or all that wait, be tried at once."""
    released = memory.browse.retry_jobs(user=owner.user, ids=None if id is None else [id])
    return after_write(request, "/jobs", "retried", count=released)
