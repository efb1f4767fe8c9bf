"""``AsyncMemory``: the same memory for code that runs in an event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from orca.memory.manager import MemoryManager

P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(
    method: Callable[Concatenate[MemoryManager, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    functools.update_wrapper(call, method)
    return call


class AsyncMemory:
    """The methods of ``MemoryManager`` as coroutines. Each runs in a worker thread, so the loop never waits.

    It belongs to no event loop: one object may serve several, one after the other or at once.
    """

    def __init__(self, memory: MemoryManager) -> None:
        """Wrap ``memory``, which stays usable by itself."""
        self.memory = memory

    observe = _in_thread(MemoryManager.observe)
    observe_many = _in_thread(MemoryManager.observe_many)
    messages = _in_thread(MemoryManager.messages)
    trust = _in_thread(MemoryManager.trust)
    neighbours = _in_thread(MemoryManager.neighbours)
    get_working_memory = _in_thread(MemoryManager.get_working_memory)
    get_short_term_memory = _in_thread(MemoryManager.get_short_term_memory)
    get_long_term_memory = _in_thread(MemoryManager.get_long_term_memory)
    search_messages = _in_thread(MemoryManager.search_messages)
    recall = _in_thread(MemoryManager.recall)
    build_context = _in_thread(MemoryManager.build_context)
    remember = _in_thread(MemoryManager.remember)
    memories = _in_thread(MemoryManager.memories)
    update_memory = _in_thread(MemoryManager.update_memory)
    pin = _in_thread(MemoryManager.pin)
    forget = _in_thread(MemoryManager.forget)
    history = _in_thread(MemoryManager.history)
    sessions = _in_thread(MemoryManager.sessions)
    session = _in_thread(MemoryManager.session)
    rename_session = _in_thread(MemoryManager.rename_session)
    end_session = _in_thread(MemoryManager.end_session)
    delete_session = _in_thread(MemoryManager.delete_session)
    delete_user = _in_thread(MemoryManager.delete_user)
    erase = _in_thread(MemoryManager.erase)
    subagent_runs = _in_thread(MemoryManager.subagent_runs)
    subagent_messages = _in_thread(MemoryManager.subagent_messages)
    record_run = _in_thread(MemoryManager.record_run)
    start_run = _in_thread(MemoryManager.start_run)
    append_run_messages = _in_thread(MemoryManager.append_run_messages)
    finish_run = _in_thread(MemoryManager.finish_run)
    promote = _in_thread(MemoryManager.promote)
    flush = _in_thread(MemoryManager.flush)
    status = _in_thread(MemoryManager.status)
    verify = _in_thread(MemoryManager.verify)
    reindex = _in_thread(MemoryManager.reindex)
    backup = _in_thread(MemoryManager.backup)
    import_rows = _in_thread(MemoryManager.import_rows)
    close = _in_thread(MemoryManager.close)

    async def export_rows(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return ``(table, row)`` of every table but the indexes, all read before this returns."""
        return await asyncio.to_thread(lambda: list(self.memory.export_rows()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
