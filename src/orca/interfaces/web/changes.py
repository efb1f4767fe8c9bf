"""Who wants to know that something changed, and one task that looks, as long as there is anybody."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from orca.errors import OrcaError
from orca.memory.manager import MemoryManager

logger = logging.getLogger("orca.web")

POLL_SECONDS = 0.5
"""How often the store is asked for its version: one statement that reads no row."""

HEARTBEAT_SECONDS = 15.0
"""Longest silence, so that proxies and browsers keep the connection, and a client that is gone is noticed."""

BASELINE_SECONDS = 15.0
"""Longest wait of a new listener for a store that cannot be read at the moment."""

MAX_LISTENERS = 32
"""A browser opens one connection a tab, and six a server at most."""

QUEUED = 64
"""Events that wait for one slow client; beyond them it is told to load everything again."""

DEGRADED = "degraded"
RESYNC = "resync"


class TooManyListeners(Exception):  # noqa: N818 - it is answered, not reported
    """No more connections can be kept open."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: ``name`` is a kind of row, ``degraded`` or ``resync``."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class _Listener:
    user: str
    queue: asyncio.Queue[Event | None] = field(default_factory=lambda: asyncio.Queue(QUEUED))
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it is known how things stood when the listener came: no later write escapes it."""

    def put(self, event: Event | None) -> None:
        """Hand over an event; where too many wait, one that stands for all of them."""
        if self.queue.full():
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(Event(RESYNC))
        self.queue.put_nowait(event)


class Changes:
    """Tells listeners which kinds of rows of their user have changed, whoever wrote them."""

    def __init__(self, memory: MemoryManager, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._memory = memory
        self._poll_seconds = poll_seconds
        self._listeners: set[_Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def listeners(self) -> int:
        """How many clients listen."""
        return len(self._listeners)

    def listen(self, user: str) -> AsyncGenerator[Event | None, None]:
        """Return what happens from now on; None is a heartbeat. Raises ``TooManyListeners``.

        The listener counts from this call on, and until the generator is closed.
        """
        if len(self._listeners) >= MAX_LISTENERS:
            raise TooManyListeners
        listener = _Listener(user)
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch())
        return self._events(listener)

    def close(self) -> None:
        """End every connection."""
        self._closed = True
        for listener in self._listeners:
            listener.ready.set()
            listener.put(None)

    async def _events(self, listener: _Listener) -> AsyncGenerator[Event | None, None]:
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(listener.ready.wait(), BASELINE_SECONDS)
            yield None  # lets the answer begin
            while not self._closed:
                event = None
                with suppress(TimeoutError):
                    event = await asyncio.wait_for(listener.queue.get(), HEARTBEAT_SECONDS)
                if not self._closed:
                    yield event
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _watch(self) -> None:
        version: int | None = None
        marks: dict[str, Mapping[str, str]] = {}
        degraded: tuple[str, ...] | None = None
        while True:
            try:
                users = {listener.user for listener in self._listeners}
                now = await asyncio.to_thread(self._memory.browse.version)
                unready = any(not listener.ready.is_set() for listener in self._listeners)
                if now != version or unready:
                    marks = await self._compare(users, marks)
                    version = now
                degraded = await self._compare_degraded(degraded)
            except OrcaError as error:  # listeners stay, and hear of it once the store answers again
                logger.warning("changes cannot be seen at the moment: %s", type(error).__name__)
                version = None
            await asyncio.sleep(self._poll_seconds)

    async def _compare(
        self, users: set[str], before: Mapping[str, Mapping[str, str]]
    ) -> dict[str, Mapping[str, str]]:
        marks = {user: await asyncio.to_thread(self._memory.browse.marks, user=user) for user in users}
        for listener in self._listeners:
            old, new = before.get(listener.user), marks.get(listener.user)
            if new is None:
                continue
            listener.ready.set()
            if old is None:
                continue
            for kind, mark in new.items():
                if mark != old[kind]:
                    listener.put(Event(kind))
        return marks

    async def _compare_degraded(self, before: tuple[str, ...] | None) -> tuple[str, ...]:
        reasons = await asyncio.to_thread(self._memory.browse.degraded)
        if before is not None and reasons != before:
            for listener in self._listeners:
                listener.put(Event(DEGRADED, {"degraded": list(reasons)}))
        return reasons
