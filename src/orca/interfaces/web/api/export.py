"""``/export``: what is shown as CSV or JSON, written page by page, so that 100,000 rows take no more room than one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from orca.interfaces.web.api.paging import Search
from orca.interfaces.web.api.schemas import JobOut, MemoryOut, MessageOut, Out, RunOut, SessionOut
from orca.interfaces.web.state import MAX_NAME, Memory, Owner
from orca.memory.browser import MAX_PAGE, Page
from orca.memory.manager import MemoryManager
from orca.types import (
    Job,
    JobKind,
    MemoryKind,
    MemoryState,
    Message,
    Role,
    RunStatus,
    Scope,
    Session,
    SessionState,
    SubAgentRun,
)
from orca.types import Memory as LongTermMemory

router = APIRouter(prefix="/export", tags=["export"])

T = TypeVar("T")

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins with one of these is run as a formula by spreadsheets (OWASP, "CSV Injection")."""

Format = Annotated[Literal["csv", "json"], Query(alias="format", description="One table, or one JSON array.")]
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The rows, newest first.",
        "content": {
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            "text/csv": {"schema": {"type": "string"}},
        },
    }
}


@router.get("/sessions", response_class=StreamingResponse, responses=_CONTENT)
def export_sessions(
    memory: Memory, owner: Owner, q: Search = None, state: SessionState | None = None, form: Format = "json"
) -> StreamingResponse:
    """Export the sessions that a list with the same filters shows."""

    def read(last: Session | None) -> Page[Session]:
        place = None if last is None or last.updated_at is None else (last.updated_at, last.id)
        return memory.browse.sessions(user=owner.user, limit=MAX_PAGE, before=place, text=q, state=state)

    return _answer("sessions", SessionOut, _all(read), form)


@router.get("/messages", response_class=StreamingResponse, responses=_CONTENT)
def export_messages(
    memory: Memory,
    owner: Owner,
    session: Annotated[str | None, Query(max_length=MAX_NAME, description="Id of a session.")] = None,
    role: Role | None = None,
    form: Format = "json",
) -> StreamingResponse:
    """Export the messages of a session or of all."""

    def read(last: Message | None) -> Page[Message]:
        before = None if last is None else last.id
        return memory.browse.messages(scope=owner, limit=MAX_PAGE, before=before, role=role)

    rows = _all(read) if session is None else _session(memory, replace(owner, session=session), role)
    return _answer("messages", MessageOut, rows, form)


@router.get("/memories", response_class=StreamingResponse, responses=_CONTENT)
def export_memories(
    memory: Memory,
    owner: Owner,
    kind: MemoryKind | None = None,
    state: MemoryState | Literal["any"] = "active",
    q: Search = None,
    form: Format = "json",
) -> StreamingResponse:
    """Export the memories that a list with the same filters shows."""

    def read(last: LongTermMemory | None) -> Page[LongTermMemory]:
        return memory.browse.memories(
            scope=owner,
            limit=MAX_PAGE,
            before=None if last is None else last.id,
            kind=kind,
            state=None if state == "any" else state,
            text=q,
        )

    return _answer("memories", MemoryOut, _all(read), form)


@router.get("/runs", response_class=StreamingResponse, responses=_CONTENT)
def export_runs(
    memory: Memory,
    owner: Owner,
    session: Annotated[str | None, Query(max_length=MAX_NAME, description="Id of a session.")] = None,
    status: RunStatus | None = None,
    form: Format = "json",
) -> StreamingResponse:
    """Export the sub-agent runs that a list with the same filters shows."""

    def read(last: SubAgentRun | None) -> Page[SubAgentRun]:
        before = None if last is None else last.id
        return memory.browse.runs(
            user=owner.user, limit=MAX_PAGE, before=before, session=session, status=status
        )

    return _answer("runs", RunOut, _all(read), form)


@router.get("/jobs", response_class=StreamingResponse, responses=_CONTENT)
def export_jobs(
    memory: Memory,
    owner: Owner,
    kind: JobKind | None = None,
    failed: bool | None = None,
    form: Format = "json",
) -> StreamingResponse:
    """Export the jobs that a list with the same filters shows."""

    def read(last: Job | None) -> Page[Job]:
        before = None if last is None else last.id
        return memory.browse.jobs(user=owner.user, limit=MAX_PAGE, before=before, kind=kind, failed=failed)

    return _answer("jobs", JobOut, _all(read), form)


def _all(read: Callable[[T | None], Page[T]]) -> Iterator[Sequence[T]]:
    """Yield pages, newest rows first. ``read`` is given the last row of the page before."""
    last: T | None = None
    while True:
        page = read(last)
        yield page.items[::-1]
        if not page.older or not page.items:
            return
        last = page.items[0]


def _session(memory: MemoryManager, scope: Scope, role: Role | None) -> Iterator[Sequence[Message]]:
    before: int | None = None
    while True:
        page = memory.browse.timeline(scope=scope, limit=MAX_PAGE, before=before, role=role).messages
        yield page.items[::-1]
        if not page.older or not page.items:
            return
        before = page.items[0].position


def _answer(
    name: str, model: type[Out], pages: Iterator[Sequence[Any]], form: Literal["csv", "json"]
) -> StreamingResponse:
    first = next(pages, ())  # read before the answer begins, so that an error still gets its own
    rows = (
        model.model_validate(row).model_dump(mode="json") for page in chain([first], pages) for row in page
    )
    columns = [*model.model_fields, *model.model_computed_fields]
    return StreamingResponse(
        _csv(rows, columns) if form == "csv" else _json(rows),
        media_type="text/csv; charset=utf-8" if form == "csv" else "application/json",
        headers={"Content-Disposition": f'attachment; filename="orca-{name}.{form}"'},
    )


def _json(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    start = "["
    for row in rows:
        yield start + json.dumps(row, ensure_ascii=False)
        start = ",\n"
    yield "]" if start != "[" else "[]"


def _csv(rows: Iterator[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    yield "\ufeff"  # spreadsheets take a file without it for something other than UTF-8
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in columns])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(FORMULA_SIGNS):
        return "'" + value
    return value
