"""Long-term memories: the list, one memory with its history and sources, and what can be done to it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import Response

from orca.errors import NotFoundError
from orca.interfaces.web.notices import after_write
from orca.interfaces.web.pages.parameters import Kind, Place, RowId, State, Text, Words
from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import Memory, Owner
from orca.memory.manager import MemoryManager
from orca.types import MEMORY_KINDS, MemoryKind, Message, Scope
from orca.types import Memory as LongTermMemory

router = APIRouter()

LIST_ROWS = 50
SOURCES_SHOWN = 20
STATES = ("active", "superseded", "retired", "forgotten")


@router.get("/memories")
def list_memories(
    request: Request,
    memory: Memory,
    owner: Owner,
    kind: Kind = None,
    state: State = None,
    q: Text = None,
    before: Place = None,
) -> Response:
    """Show memories, the newest first: active ones, unless the query names a state or asks for all."""
    every = request.query_params.get("state") == ""
    shown = None if every else state or "active"
    found = memory.browse.memories(
        scope=owner, limit=LIST_ROWS, before=before, kind=kind, state=shown, text=q
    )
    return page(
        request,
        "memories.html",
        memories=found.items[::-1],
        older=found.items[0].id if found.older and found.items else None,
        before=before,
        kind=kind,
        kinds=MEMORY_KINDS,
        state=shown,
        states=STATES,
        q=q,
    )


@router.post("/memories")
def add(
    request: Request,
    memory: Memory,
    owner: Owner,
    content: Words = "",
    kind: Annotated[MemoryKind, Form()] = "fact",
) -> Response:
    """Remember something."""
    stored = memory.remember(scope=owner, content=content, kind=kind)
    return after_write(request, f"/memories/{stored.id}", "remembered")


@router.get("/memories/{id}")
def show_memory(request: Request, memory: Memory, owner: Owner, id: RowId) -> Response:
    """Show one version of a memory, where it comes from, and every version before and after it."""
    shown = memory.browse.memory(scope=owner, id=id)
    return page(
        request,
        "memory.html",
        memory=shown,
        history=memory.history(scope=owner, id=id),
        sources=_sources(memory, owner, shown),
        kinds=MEMORY_KINDS,
    )


@router.post("/memories/{id}")
def change(
    request: Request,
    memory: Memory,
    owner: Owner,
    id: RowId,
    content: Words = "",
    kind: Annotated[MemoryKind | None, Form()] = None,
) -> Response:
    """Supersede a memory by a new version."""
    stored = memory.update_memory(scope=owner, id=id, content=content, kind=kind)
    return after_write(request, f"/memories/{stored.id}", "changed")


@router.post("/memories/{id}/pin")
def pin(
    request: Request, memory: Memory, owner: Owner, id: RowId, pinned: Annotated[bool, Form()] = True
) -> Response:
    """Pin a memory or let it go."""
    memory.pin(scope=owner, id=id, pinned=pinned)
    return after_write(request, f"/memories/{id}", "pinned" if pinned else "unpinned")


@router.get("/memories/{id}/forget")
def ask_to_forget(request: Request, memory: Memory, owner: Owner, id: RowId) -> Response:
    """Show what forgetting would delete."""
    return page(
        request,
        "memory_forget.html",
        memory=memory.browse.memory(scope=owner, id=id),
        history=memory.history(scope=owner, id=id),
    )


@router.post("/memories/{id}/forget")
def forget(request: Request, memory: Memory, owner: Owner, id: RowId) -> Response:
    """Delete a memory with every version of it."""
    versions = memory.forget(scope=owner, id=id)
    return after_write(request, "/memories", "forgotten", count=versions)


def _sources(memory: MemoryManager, owner: Scope, shown: LongTermMemory) -> list[tuple[int, Message | None]]:
    """Return the messages that a memory was made from; None for one that was deleted."""
    found: list[tuple[int, Message | None]] = []
    for id in shown.source_message_ids[:SOURCES_SHOWN]:
        try:
            found.append((id, memory.browse.message(scope=owner, id=id)))
        except NotFoundError:
            found.append((id, None))
    return found
