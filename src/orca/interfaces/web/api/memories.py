"""``/memories``: list, add, edit, pin and forget long-term memories, and their history."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from orca.interfaces.web.api.bodies import MemoryChange, MemoryNew
from orca.interfaces.web.api.paging import Cursor, Limit, Search, next_link, read_cursor, row_id
from orca.interfaces.web.api.schemas import Forgotten, ListOut, MemoryOut, PageOut
from orca.interfaces.web.state import MAX_ID, Memory, Owner
from orca.types import Memory as LongTermMemory
from orca.types import MemoryKind, MemoryState

router = APIRouter(prefix="/memories", tags=["memories"])

MemoryId = Annotated[int, Path(ge=1, le=MAX_ID)]


@router.get("", response_model=PageOut[MemoryOut])
def list_memories(
    request: Request,
    memory: Memory,
    owner: Owner,
    kind: MemoryKind | None = None,
    state: MemoryState | Literal["any"] = "active",
    q: Search = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List long-term memories, newest first; with ``state=any`` every version of each."""
    page = memory.browse.memories(
        scope=owner,
        limit=limit,
        before=read_cursor(cursor, row_id),
        kind=kind,
        state=None if state == "any" else state,
        text=q,
    )
    return {"items": page.items[::-1], "next": next_link(request, page, lambda row: [row.id])}


@router.post("", response_model=MemoryOut, status_code=201)
def add_memory(memory: Memory, owner: Owner, new: MemoryNew, response: Response) -> LongTermMemory:
    """Remember something, as if the user had asked for it; a repeat strengthens the memory that is there."""
    stored = memory.remember(
        scope=owner, content=new.content, kind=new.kind, expires_at=new.expires_at, metadata=new.metadata
    )
    response.headers["Location"] = f"/api/v1/memories/{stored.id}"
    return stored


@router.get("/{id}", response_model=MemoryOut)
def get_memory(memory: Memory, owner: Owner, id: MemoryId) -> LongTermMemory:
    """Return one version of a memory, in any state."""
    return memory.browse.memory(scope=owner, id=id)


@router.patch("/{id}", response_model=MemoryOut)
def edit_memory(memory: Memory, owner: Owner, id: MemoryId, change: MemoryChange) -> LongTermMemory:
    """Supersede a memory by a new version, which has an id of its own; the old one stays in its history."""
    if change.content is None and change.kind is None:
        return memory.browse.memory(scope=owner, id=id)
    return memory.update_memory(scope=owner, id=id, content=change.content, kind=change.kind)


@router.delete("/{id}", response_model=Forgotten)
def forget_memory(
    memory: Memory,
    owner: Owner,
    id: MemoryId,
    dry_run: Annotated[bool, Query(description="Only tell what would go.")] = False,
) -> Any:
    """Delete a memory for good, with every version of it."""
    versions = memory.history(scope=owner, id=id)
    deleted = len(versions) if dry_run else memory.forget(scope=owner, id=id)
    return {"dry_run": dry_run, "deleted": deleted, "versions": versions}


@router.get("/{id}/history", response_model=ListOut[MemoryOut])
def list_history(memory: Memory, owner: Owner, id: MemoryId) -> Any:
    """Return every version of a memory with its provenance, oldest first."""
    return {"items": memory.history(scope=owner, id=id)}


@router.put("/{id}/pin", response_model=MemoryOut)
def pin_memory(memory: Memory, owner: Owner, id: MemoryId) -> LongTermMemory:
    """Pin a memory, so that it always enters the prompt and never retires."""
    return memory.pin(scope=owner, id=id)


@router.delete("/{id}/pin", response_model=MemoryOut)
def unpin_memory(memory: Memory, owner: Owner, id: MemoryId) -> LongTermMemory:
    """Let a pinned memory go again."""
    return memory.pin(scope=owner, id=id, pinned=False)
