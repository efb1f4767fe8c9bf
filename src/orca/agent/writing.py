"""Writes that a cancellation cannot tear: they run to their end, and only then is the cancellation felt."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Await ``work`` to its end even when this task is cancelled meanwhile, then raise the cancellation.

    A thread that writes cannot be stopped, so a cancelled ``asyncio.to_thread`` leaves it open whether the row
    is there. A turn has to know.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not report it as lost
        raise cancelled
    return task.result()
