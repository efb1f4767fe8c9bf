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


class _Turn:
    """A turn that holds a session, or waits for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.ticket: Future[None] = Future()


class _Line:
    """Who holds a session, and those who wait for it in the order of their coming."""

    def __init__(self) -> None:
        self.holder: _Turn | None = None
        self.waiting: deque[_Turn] = deque()


_guard = threading.Lock()
_lines: weakref.WeakKeyDictionary[MemoryManager, dict[Scope, _Line]] = weakref.WeakKeyDictionary()


@asynccontextmanager
async def one_turn(memory: MemoryManager, scope: Scope) -> AsyncIterator[None]:
    """Hold the scope's session of ``memory`` for the block; wait for the turns that came before.

    An ``asyncio.Lock`` belongs to one event loop, and a turn may come from any. Turns of other processes, or of
    another memory opened on the same store, are not held back: their messages may stand between this turn's,
    and each history is still valid. A turn whose loop was closed under it holds nobody up.
    """
    turn = _Turn(asyncio.get_running_loop())
    await _enter(turn, memory, scope)
    try:
        yield
    finally:
        _leave(turn, memory, scope)


async def _enter(turn: _Turn, memory: MemoryManager, scope: Scope) -> None:
    with _guard:
        line = _lines.setdefault(memory, {}).setdefault(scope, _Line())
        if line.holder is None or line.holder.loop.is_closed():
            line.holder = turn
            return
        line.waiting.append(turn)
    try:
        await asyncio.wrap_future(turn.ticket)
    except asyncio.CancelledError:
        with _guard:
            if turn in line.waiting:
                line.waiting.remove(turn)
        _leave(turn, memory, scope)  # it may have been handed over in the moment of the cancellation
        raise


def _leave(turn: _Turn, memory: MemoryManager, scope: Scope) -> None:
    """Hand the session on to the next turn, where this one holds it."""
    with _guard:
        lines = _lines.get(memory, {})
        line = lines.get(scope)
        if line is None or line.holder is not turn:
            return
        while line.waiting:
            follower = line.waiting.popleft()
            if not follower.loop.is_closed() and follower.ticket.set_running_or_notify_cancel():
                line.holder = follower
                follower.ticket.set_result(None)
                return
        del lines[scope]
