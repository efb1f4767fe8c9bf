"""One turn of a session at a time, in this process, whatever event loops and threads its turns run in."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager

from orca.memory.manager import MemoryManager
from orca.types import Scope


class _Line:
    """Those who wait for one session, in the order of their coming."""

    def __init__(self) -> None:
        self.busy = False
        self.waiting: deque[Future[None]] = deque()


_guard = threading.Lock()
_lines: weakref.WeakKeyDictionary[MemoryManager, dict[Scope, _Line]] = weakref.WeakKeyDictionary()


@asynccontextmanager
async def one_turn(memory: MemoryManager, scope: Scope) -> AsyncIterator[None]:
    """Hold the scope's session of ``memory`` for the block; wait for the turns that came before.

    An ``asyncio.Lock`` belongs to one event loop, and a turn may come from any. Turns of other processes, or of
    another memory opened on the same store, are not held back: their messages may stand between this turn's,
    and each history is still valid.
    """
    await _enter(memory, scope)
    try:
        yield
    finally:
        _leave(memory, scope)


async def _enter(memory: MemoryManager, scope: Scope) -> None:
    with _guard:
        line = _lines.setdefault(memory, {}).setdefault(scope, _Line())
        if not line.busy:
            line.busy = True
            return
        ticket: Future[None] = Future()
        line.waiting.append(ticket)
    try:
        await asyncio.wrap_future(ticket)
    except asyncio.CancelledError:
        with _guard:
            passed_on = ticket not in line.waiting
            if not passed_on:
                line.waiting.remove(ticket)
        if passed_on:  # the turn was handed over in the moment of the cancellation
            _leave(memory, scope)
        raise


def _leave(memory: MemoryManager, scope: Scope) -> None:
    with _guard:
        lines = _lines[memory]
        line = lines[scope]
        while line.waiting:
            ticket = line.waiting.popleft()
            if ticket.set_running_or_notify_cancel():
                ticket.set_result(None)
                return
        del lines[scope]
