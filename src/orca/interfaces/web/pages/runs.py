"""Sub-agent runs: the list, and one run's whole trace."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from orca.errors import NotFoundError
from orca.interfaces.web.pages.parameters import Place, RowId, Status, Text
from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import Memory, Owner

router = APIRouter()

LIST_ROWS = 50


@router.get("/runs")
def list_runs(
    request: Request,
    memory: Memory,
    owner: Owner,
    session: Text = None,
    status: Status = None,
    before: Place = None,
) -> Response:
    """Show sub-agent runs, the newest first."""
    found = memory.browse.runs(
        user=owner.user, limit=LIST_ROWS, before=before, session=session, status=status
    )
    older = found.items[0].id if found.older and found.items else None
    return page(
        request,
        "runs.html",
        runs=found.items[::-1],
        older=older,
        before=before,
        session=session,
        wanted=status,
    )


@router.get("/runs/{id}")
def show_run(request: Request, memory: Memory, owner: Owner, id: RowId) -> Response:
    """Show a run's task, its whole trace, and the runs that it delegated."""
    run, steps, delegated = memory.browse.run(user=owner.user, id=id)
    try:
        parent = (
            None
            if run.parent_message_id is None
            else memory.browse.message(scope=owner, id=run.parent_message_id)
        )
    except NotFoundError:  # its message was deleted, or was another agent's
        parent = None
    return page(request, "run.html", run=run, steps=steps, delegated=delegated, parent=parent)
