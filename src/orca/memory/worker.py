"""The background worker: one daemon thread over the store's durable jobs.

Nothing is queued in memory, so nothing is lost with the process: a job stays in the store until its handler has
completed it, and one that was being done when a process died comes back when its lease runs out. No event loop
is involved, so none can be closed under the work.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import uuid
import weakref
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from orca.errors import StoreError, StoreUnavailableError
from orca.memory.backoff import exponential_delay
from orca.protocols import Clock, Store
from orca.types import Job, JobKind

logger = logging.getLogger("orca")

FULL_ENOUGH = 5
"""Jobs that are worth starting on without waiting for more (seed: five messages a batch)."""

POLL_SECONDS = 5.0
"""Longest wait between two looks at the store, for jobs that other processes left."""

CLOSE_SECONDS = 5.0
"""How long closing waits for the current batch; a call to a provider that hangs must not hold up an exit."""

EXIT_SECONDS = 2.0
"""The same at interpreter exit, when nobody has closed the memory."""

_SHORTEST_WAIT = 0.05  # seconds: a job that is due but cannot be claimed must not turn waiting into spinning
_FLUSH_POLL = 0.25  # seconds between looks of a waiting flush at what other processes have done
_RETRY_BASE = 0.5  # seconds: first wait after the store failed
_RETRY_CAP = 30.0  # seconds: a store that came back is noticed within this time
_FAULT_BASE = 30.0  # seconds: first delay after a handler failed in a way it does not handle itself
_FAULT_CAP = 3600.0


class JobHandler(Protocol):
    """Does the jobs of one kind. Called from the worker's thread, one batch at a time.

    ``handle`` completes each job, or gives it back with a reason, through ``store.jobs``. What it leaves alone
    comes back when the lease runs out; what it raises is logged, and its jobs are retried later.
    """

    @property
    def kind(self) -> JobKind:
        """The kind of job it does."""
        ...

    @property
    def batch_size(self) -> int:
        """The most jobs it takes at once, right now."""
        ...

    @property
    def linger(self) -> float:
        """Seconds to wait for a small batch to fill."""
        ...

    @property
    def lease_seconds(self) -> float:
        """Seconds that a batch may take before other processes may take it over.

        Also how long the work of a killed process rests. A batch that takes longer may be done twice, so saving
        its result twice must have the effect of once.
        """
        ...

    @property
    def paused_until(self) -> datetime | None:
        """Until when nothing can be done because the provider is out; None when it can."""
        ...

    def resume(self) -> None:
        """Forget the pause: somebody asked to try again now."""
        ...

    def handle(self, jobs: Sequence[Job]) -> None:
        """Do the jobs, one or more."""
        ...


class BackgroundWorker:
    """Claims due jobs and hands them to their handlers, in one daemon thread that starts when there is work.

    Thread-safe. A forked child gets a worker without a thread, which starts its own on the first ``notify``.
    """

    def __init__(
        self,
        store: Store,
        handlers: Sequence[JobHandler],
        *,
        clock: Clock,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        """Look after jobs of the handlers' kinds; start at once where the store holds some already."""
        self._store = store
        self._handlers = tuple(handlers)
        self._kinds: tuple[JobKind, ...] = tuple(handler.kind for handler in self._handlers)
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._reset()
        _workers.add(self)
        if self._pending_at_open():
            self.notify()

    def _reset(self) -> None:
        """Begin with no thread: at construction, and in a forked child, where locks may be held for ever."""
        self._lock = threading.Lock()
        self._wakeup = threading.Condition(self._lock)  # the worker waits on it
        self._progress = threading.Condition(self._lock)  # flush waits on it
        self._thread: threading.Thread | None = None
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._notified = 0
        self._closed = threading.Event()
        self._flushing = 0
        self._current: Sequence[Job] = ()
        self._steps = 0  # claims begun and ended: odd while one is under way
        self._failures = 0

    def notify(self) -> None:
        """Say that jobs were stored. Call it after the transaction; it returns at once."""
        if not self._handlers:
            return
        with self._lock:
            if self._closed.is_set():
                return
            self._notified += 1
            self._wakeup.notify_all()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="orca-worker", daemon=True)
                self._thread.start()

    def retry_now(self, *, user: str | None = None, ids: Sequence[int] | None = None) -> int:
        """Make waiting jobs of these kinds due and forget all pauses; return how many jobs wait.

        All of them, or those of one user, or those that are named. Raises ``StoreError``.
        """
        now = self._clock.now()
        released = (
            self._store.jobs.release(kinds=self._kinds, user=user, ids=ids, now=now) if self._kinds else 0
        )
        for handler in self._handlers:
            handler.resume()
        self.notify()
        return released

    def flush(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds until no job of these kinds is pending; return whether none is.

        Returns early, with False, when all that is left waits for a time beyond the timeout.
        """
        if not self._handlers:
            return True
        deadline = time.monotonic() + timeout
        with self._lock:
            self._flushing += 1
        try:
            self.notify()
            while True:
                with self._lock:
                    steps = self._steps
                remaining = deadline - time.monotonic()
                outlook = self._outlook(remaining)
                if outlook is not None:
                    with self._lock:
                        # A batch that ended meanwhile may have changed what was just read.
                        if outlook or (steps == self._steps and steps % 2 == 0):
                            return outlook
                if remaining <= 0 or self._closed.is_set():
                    return False
                with self._lock:
                    if steps == self._steps:
                        self._progress.wait(min(remaining, _FLUSH_POLL))
        finally:
            with self._lock:
                self._flushing -= 1

    def close(self, timeout: float = CLOSE_SECONDS) -> None:
        """Stop after the current batch; give its jobs back when it takes longer than ``timeout`` seconds."""
        with self._lock:
            self._closed.set()
            self._wakeup.notify_all()
            self._progress.notify_all()
            thread = self._thread
        _workers.discard(self)
        if thread is None or thread is threading.current_thread():
            return
        thread.join(timeout)
        with self._lock:
            interrupted = self._current
        if thread.is_alive() and interrupted:
            self._give_back(interrupted, error="interrupted by closing", delay=0.0, failed=False)

    def _pending_at_open(self) -> bool:
        try:
            return bool(self._kinds) and self._store.jobs.pending(self._kinds) > 0
        except StoreError as error:
            logger.warning("background work left from earlier could not be looked up: %s", error)
            return False

    def _outlook(self, remaining: float) -> bool | None:
        """Return True when nothing is pending, False when nothing becomes due within ``remaining`` seconds."""
        try:
            if self._store.jobs.pending(self._kinds) == 0:
                return True
            wait = self._seconds_to_next()
        except StoreError as error:
            logger.debug("the store cannot be asked what is pending: %s", error)
            return None
        return None if wait is not None and wait <= remaining else False

    def _seconds_to_next(self) -> float | None:
        """Return seconds until some job can be done, 0 or less when one is due, None when there is none."""
        now = self._clock.now()
        moments = []
        for handler in self._handlers:
            due = self._store.jobs.next_due([handler.kind])
            if due is not None:
                paused = handler.paused_until
                moments.append(due if paused is None else max(due, paused))
        return (min(moments) - now).total_seconds() if moments else None

    # Below: the worker's thread

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                if not self._work_once():
                    self._wait(self._idle_seconds())
                self._failures = 0
            except Exception as error:
                if self._closed.is_set():
                    logger.debug("background work ended with the store: %s", error)
                    return
                self._failures += 1
                if not isinstance(error, StoreError):
                    logger.exception("background work stumbled")
                elif self._failures == 1:
                    logger.warning("background work waits for the store: %s", error)
                self._wait(exponential_delay(self._failures, base=_RETRY_BASE, cap=_RETRY_CAP))

    def _work_once(self) -> bool:
        """Give each handler one batch; return whether any of them had work."""
        with self._lock:
            self._notified = 0
        worked = False
        for handler in self._handlers:
            if self._closed.is_set():
                return True
            paused = handler.paused_until
            if paused is not None and paused > self._clock.now():
                continue
            self._step()
            try:
                jobs = self._claim(handler)
                if jobs:
                    worked = True
                    self._handle(handler, jobs)
            finally:
                self._step()
        return worked

    def _step(self) -> None:
        with self._lock:
            self._steps += 1
            self._current = ()
            self._progress.notify_all()

    def _claim(self, handler: JobHandler) -> list[Job]:
        size = handler.batch_size
        enough = min(FULL_ENOUGH, size)
        deadline = time.monotonic() + handler.linger
        jobs: list[Job] = []
        while True:
            heard = (
                self._notified
            )  # before the claim: a notification counted later may be of a job claimed here
            jobs += self._claim_up_to(handler, size - len(jobs))
            remaining = deadline - time.monotonic()
            if not jobs or len(jobs) >= enough or remaining <= 0 or self._in_a_hurry():
                return jobs
            self._wait_for_notifications(heard + enough - len(jobs), timeout=remaining)

    def _wait_for_notifications(self, count: int, *, timeout: float) -> None:
        with self._lock:
            self._wakeup.wait_for(lambda: self._notified >= count or self._in_a_hurry(), timeout=timeout)

    def _in_a_hurry(self) -> bool:
        return self._closed.is_set() or self._flushing > 0

    def _claim_up_to(self, handler: JobHandler, limit: int) -> list[Job]:
        jobs = self._store.jobs.claim(
            [handler.kind],
            limit=limit,
            lease_seconds=handler.lease_seconds,
            owner=self._owner,
            now=self._clock.now(),
        )
        with self._lock:
            self._current = (*self._current, *jobs)
        return jobs

    def _handle(self, handler: JobHandler, jobs: list[Job]) -> None:
        try:
            handler.handle(jobs)
        except StoreUnavailableError:
            raise  # the store is what failed: the thread backs off, and the lease brings the jobs back
        except Exception as error:
            if self._closed.is_set():
                logger.debug("a batch of %s jobs ended with the memory: %s", handler.kind, error)
                return
            logger.exception("a batch of %d %s jobs failed and will be retried", len(jobs), handler.kind)
            by_attempts: dict[int, list[Job]] = defaultdict(list)
            for job in jobs:
                by_attempts[job.attempts].append(job)
            for attempts, group in by_attempts.items():
                delay = exponential_delay(attempts + 1, base=_FAULT_BASE, cap=_FAULT_CAP)
                self._give_back(group, error=f"{type(error).__name__}: {error}", delay=delay, failed=True)

    def _give_back(self, jobs: Sequence[Job], *, error: str, delay: float, failed: bool) -> None:
        try:
            self._store.jobs.retry(
                [job.id for job in jobs if job.id is not None],
                error=error,
                run_after=self._clock.now() + timedelta(seconds=delay),
                failed=failed,
            )
        except StoreError as store_error:
            logger.warning("%d jobs return when their lease ends (%s): %s", len(jobs), error, store_error)

    def _idle_seconds(self) -> float:
        wait = self._seconds_to_next()
        return self._poll_seconds if wait is None else min(max(wait, _SHORTEST_WAIT), self._poll_seconds)

    def _wait(self, seconds: float) -> None:
        with self._lock:
            if not (self._closed.is_set() or self._notified):
                self._wakeup.wait(seconds)


_workers: weakref.WeakSet[BackgroundWorker] = weakref.WeakSet()


def _reset_after_fork() -> None:
    for worker in list(_workers):
        worker._reset()


def _close_all() -> None:
    for worker in list(_workers):
        worker.close(EXIT_SECONDS)


os.register_at_fork(after_in_child=_reset_after_fork)
atexit.register(_close_all)
