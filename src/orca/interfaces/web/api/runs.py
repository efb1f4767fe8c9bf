"""``/runs``: sub-agent runs and their traces."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request

from orca.interfaces.web.api.paging import Cursor, Limit, next_link, read_cursor, row_id
from orca.interfaces.web.api.schemas import PageOut, RunOut, RunTrace
from orca.interfaces.web.state import MAX_ID, MAX_NAME, Memory, Owner
from orca.types import RunStatus

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("", response_model=PageOut[RunOut])
def list_runs(
    request: Request,
    memory: Memory,
    owner: Owner,
    session: Annotated[str | None, Query(max_length=MAX_NAME, description="Id of a session.")] = None,
    status: RunStatus | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List sub-agent runs, newest first, whichever agent delegated them."""
    page = memory.browse.runs(
        user=owner.user, limit=limit, before=read_cursor(cursor, row_id), session=session, status=status
    )
    return {"items": page.items[::-1], "next": next_link(request, page, lambda run: [run.id])}


@router.get("/{id}", response_model=RunTrace)
def get_run(memory: Memory, owner: Owner, id: Annotated[int, Path(ge=1, le=MAX_ID)]) -> Any:
    """Return a run with its whole trace and the runs that it delegated in turn."""
    run, messages, runs = memory.browse.run(user=owner.user, id=id)
    return {"run": run, "messages": messages, "runs": runs}
