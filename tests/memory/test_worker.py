from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain

import pytest

from orca.errors import NotFoundError, StoreUnavailableError
from orca.memory.embedding_queue import EmbeddingQueue
from orca.memory.worker import BackgroundWorker
from orca.protocols import Store
from orca.stores.sqlite.store import SQLiteStore
from orca.types import Job, JobKind

from .doubles import SPACE, ScriptedEmbedder, SteppedClock, vectors

PATIENCE = 40.0  # seconds that a test waits for what should take milliseconds; longer than a lease


class RecordingHandler:
    """Completes its jobs after ``act``, and lets a test wait for what it has done."""

    linger = 0.0
    lease_seconds = 20.0

    def __init__(
        self, store: Store, *, act: Callable[[Sequence[Job]], None] = lambda jobs: None, batch_size: int = 64
    ) -> None:
        self.kind: JobKind = "summarize"
        self.batch_size = batch_size
        self.paused_until: datetime | None = None
        self.batches: list[list[int]] = []
        self._store = store
        self._act = act
        self._changed = threading.Condition()

    def resume(self) -> None:
        self.paused_until = None

    def handle(self, jobs: Sequence[Job]) -> None:
        with self._changed:
            self.batches.append([job.target_id for job in jobs])
            self._changed.notify_all()
        self._act(jobs)
        self._store.jobs.complete([job.id for job in jobs if job.id is not None])

    def wait_for(self, batches: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.batches) >= batches, PATIENCE), self.batches


class FailingJobs:
    """A store whose jobs cannot be claimed for a while."""

    def __init__(self, store: Store, failures: int) -> None:
        self._store = store
        self.failures = failures

    def __getattr__(self, name: str) -> object:
        return self if name == "jobs" else getattr(self._store.jobs, name)

    def claim(self, *args, **kwargs) -> list[Job]:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailableError("the disk is full")
        return self._store.jobs.claim(*args, **kwargs)


def add(store: Store, clock: SteppedClock, *targets: int, kind: JobKind = "summarize") -> None:
    store.jobs.enqueue([Job(kind=kind, record="message", target_id=n) for n in targets], now=clock.now())


def fail(error: Exception) -> Callable[[Sequence[Job]], None]:
    def act(jobs: Sequence[Job]) -> None:
        raise error

    return act


@contextlib.contextmanager
def running(store: Store, *handlers: RecordingHandler, clock: SteppedClock) -> Iterator[BackgroundWorker]:
    worker = BackgroundWorker(store, handlers, clock=clock)
    try:
        yield worker
    finally:
        worker.close()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "orca-worker"]


def test_no_thread_runs_before_there_is_work(store, clock):
    before = len(threads())
    with running(store, RecordingHandler(store), clock=clock) as worker:
        assert len(threads()) == before
        assert worker.flush(1)
    with running(store, clock=clock) as worker:
        worker.notify()
        assert len(threads()) == before
        assert worker.flush(1)


@pytest.mark.case(15)
def test_jobs_left_from_an_earlier_process_are_done_without_being_asked(store, clock):
    add(store, clock, 1, 2)
    handler = RecordingHandler(store)
    with running(store, handler, clock=clock):
        handler.wait_for(1)
    assert handler.batches == [[1, 2]]


def test_a_notification_wakes_the_worker_and_flush_waits_for_the_end(store, clock):
    handler = RecordingHandler(store)
    with running(store, handler, clock=clock) as worker:
        for n in range(3):
            add(store, clock, n)
            worker.notify()
            assert worker.flush(PATIENCE)
        assert handler.batches == [[0], [1], [2]]
        assert store.jobs.pending() == 0


def test_a_batch_starts_when_five_are_there_without_waiting_longer(store, clock):
    handler = RecordingHandler(store)
    handler.linger = PATIENCE * 10
    with running(store, handler, clock=clock) as worker:
        for n in range(5):
            add(store, clock, n)
            worker.notify()
        handler.wait_for(1)
        assert handler.batches == [[0, 1, 2, 3, 4]]


def test_a_small_batch_starts_after_its_linger_and_at_once_when_flushed(store, clock):
    handler = RecordingHandler(store)
    handler.linger = 0.2
    with running(store, handler, clock=clock) as worker:
        begun = time.monotonic()
        add(store, clock, 1)
        worker.notify()
        handler.wait_for(1)
        assert time.monotonic() - begun >= 0.2
        handler.linger = PATIENCE * 10
        add(store, clock, 2)
        assert worker.flush(PATIENCE)


def test_a_backlog_is_done_in_full_batches_oldest_first(store, clock):
    add(store, clock, *range(25))
    handler = RecordingHandler(store, batch_size=10)
    with running(store, handler, clock=clock) as worker:
        assert worker.flush(PATIENCE)
    assert [len(batch) for batch in handler.batches] == [10, 10, 5]
    assert list(chain(*handler.batches)) == list(range(25))


def test_jobs_without_a_handler_wait_and_do_not_hold_up_flush(store, clock):
    add(store, clock, 1, kind="consolidate")
    with running(store, RecordingHandler(store), clock=clock) as worker:
        assert worker.flush(PATIENCE)
    assert store.jobs.pending() == 1


@pytest.mark.case(15)
@pytest.mark.parametrize("error", [KeyError("boom"), NotFoundError("no such row")], ids=repr)
def test_a_handler_that_raises_loses_no_job_and_is_not_called_in_a_loop(store, clock, caplog, error):
    handler = RecordingHandler(store, act=fail(error))
    with running(store, handler, clock=clock) as worker:
        add(store, clock, 1, 2)
        worker.notify()
        assert not worker.flush(1)
        assert len(handler.batches) == 1
        assert "will be retried" in caplog.text
        [backlog] = store.jobs.backlog()
        assert backlog.count == 2
        assert type(error).__name__ in backlog.reason
        handler._act = lambda jobs: None
        clock.advance(30)
        assert worker.flush(PATIENCE)


def test_a_store_that_fails_for_a_while_is_waited_for(store, clock, caplog):
    failing = FailingJobs(store, failures=2)
    add(store, clock, 1)
    handler = RecordingHandler(store)
    with caplog.at_level(logging.WARNING, logger="orca"), running(failing, handler, clock=clock) as worker:
        assert worker.flush(PATIENCE)
    assert handler.batches == [[1]]
    assert [record.message for record in caplog.records] == [
        "background work waits for the store: the disk is full"
    ]


def test_flush_returns_early_when_all_that_is_left_waits_for_longer(store, clock):
    handler = RecordingHandler(store)
    with running(store, handler, clock=clock) as worker:
        later = clock.now() + timedelta(seconds=3600)
        store.jobs.enqueue(
            [Job(kind="summarize", record="message", target_id=1, run_after=later)], now=clock.now()
        )
        begun = time.monotonic()
        assert not worker.flush(60)
        assert time.monotonic() - begun < 5
        clock.advance(3600)
        assert worker.flush(PATIENCE)


def test_a_paused_handler_is_left_alone_until_its_time_or_until_somebody_asks(store, clock):
    handler = RecordingHandler(store)
    handler.paused_until = clock.now() + timedelta(seconds=600)
    with running(store, handler, clock=clock) as worker:
        add(store, clock, 1)
        assert not worker.flush(60)
        assert handler.batches == []
        clock.advance(600)
        assert worker.flush(PATIENCE)
        handler.paused_until = clock.now() + timedelta(seconds=600)
        add(store, clock, 2)
        assert worker.retry_now() == 1
        assert worker.flush(PATIENCE)


def test_flush_gives_up_at_its_timeout(store, clock):
    release = threading.Event()
    handler = RecordingHandler(store, act=lambda jobs: release.wait(PATIENCE) and None)
    with running(store, handler, clock=clock) as worker:
        add(store, clock, 1)
        assert not worker.flush(0.1)
        release.set()
        assert worker.flush(PATIENCE)


@pytest.mark.case(7)
def test_close_ends_the_thread_after_the_batch_and_twice_is_fine(store, clock):
    add(store, clock, *range(10))
    handler = RecordingHandler(store, batch_size=5)
    worker = BackgroundWorker(store, [handler], clock=clock)
    handler.wait_for(1)
    worker.close()
    worker.close()
    worker.notify()
    assert not worker._thread.is_alive()
    left = store.jobs.pending()
    assert left in (0, 5)
    assert worker.flush(PATIENCE) is (left == 0)


@pytest.mark.case(7)
@pytest.mark.case(15)
def test_close_does_not_wait_for_a_call_that_hangs_and_its_jobs_are_free_at_once(store, clock):
    release = threading.Event()
    add(store, clock, 1)
    handler = RecordingHandler(store, act=lambda jobs: release.wait(PATIENCE) and None)
    worker = BackgroundWorker(store, [handler], clock=clock)
    handler.wait_for(1)
    begun = time.monotonic()
    worker.close(timeout=0.05)
    assert time.monotonic() - begun < 2
    jobs = store.jobs.claim(["summarize"], limit=5, lease_seconds=20, owner="next", now=clock.now())
    assert [job.target_id for job in jobs] == [1]
    release.set()
    worker._thread.join(PATIENCE)


@pytest.mark.case(15)
def test_two_workers_on_one_store_do_each_job_once(store, clock):
    add(store, clock, *range(100))
    handlers = [RecordingHandler(store, batch_size=3) for _ in range(2)]
    with running(store, handlers[0], clock=clock) as one, running(store, handlers[1], clock=clock) as two:
        assert one.flush(PATIENCE)
        assert two.flush(PATIENCE)
    done = [target for handler in handlers for batch in handler.batches for target in batch]
    assert sorted(done) == list(range(100))


def run_program(source: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.case(7)
def test_the_interpreter_exits_although_nobody_closed_and_a_call_hangs(tmp_path):
    done = run_program(
        """
        import sys, threading
        from tests.memory.doubles import SPACE, ScriptedEmbedder, SteppedClock, say
        from orca.memory.embedding_queue import EmbeddingQueue
        from orca.memory.worker import BackgroundWorker
        from orca.stores.sqlite.store import SQLiteStore
        clock = SteppedClock()
        store = SQLiteStore(sys.argv[1], clock=clock)
        store.vectors.use_space(SPACE)
        embedder = ScriptedEmbedder(lambda texts: threading.Event().wait())
        worker = BackgroundWorker(store, [EmbeddingQueue(store, embedder, clock=clock)], clock=clock)
        say(store, "a message that is long enough")
        worker.notify()
        embedder.called.wait(20)
        say(store, "storing goes on while the call hangs")
        print("stored", store.messages.count())
        """,
        str(tmp_path / "orca.db"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "stored 2\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is a thing of Unix")
@pytest.mark.case(7)
def test_a_forked_child_starts_a_worker_of_its_own(tmp_path):
    done = run_program(
        """
        import os, sys
        from tests.memory.doubles import SPACE, ScriptedEmbedder, SteppedClock, say
        from orca.memory.embedding_queue import EmbeddingQueue
        from orca.memory.worker import BackgroundWorker
        from orca.stores.sqlite.store import SQLiteStore
        clock = SteppedClock()
        store = SQLiteStore(sys.argv[1], clock=clock)
        store.vectors.use_space(SPACE)
        worker = BackgroundWorker(store, [EmbeddingQueue(store, ScriptedEmbedder(), clock=clock)], clock=clock)
        say(store, "a message of the parent process")
        worker.notify()
        assert worker.flush(20)
        worker._lock.acquire()  # as another thread might hold it at the moment of the fork
        child = os.fork()
        if child == 0:
            say(store, "a message of the child process")
            worker.notify()
            os._exit(0 if worker.flush(20) else 1)
        worker._lock.release()
        print(os.waitpid(child, 0)[1], store.jobs.pending())
        """,
        str(tmp_path / "orca.db"),
    )
    assert done.stdout == "0 0\n", done.stderr


@pytest.mark.case(15)
def test_what_a_killed_process_was_embedding_is_embedded_after_a_restart(tmp_path, clock):
    program = """
        import os, signal, sys
        from tests.memory.doubles import SPACE, ScriptedEmbedder, SteppedClock, say
        from orca.memory.embedding_queue import EmbeddingQueue
        from orca.memory.worker import BackgroundWorker
        from orca.stores.sqlite.store import SQLiteStore
        clock = SteppedClock()
        store = SQLiteStore(sys.argv[1], clock=clock)
        store.vectors.use_space(SPACE)
        say(store, *(f"message number {n} is long enough" for n in range(30)))
        def die_in_the_third_call(texts):
            if len(embedder.calls) == 3:
                os.kill(os.getpid(), signal.SIGKILL)
        embedder = ScriptedEmbedder(die_in_the_third_call, max_batch=5)
        worker = BackgroundWorker(store, [EmbeddingQueue(store, embedder, clock=clock)], clock=clock)
        worker.flush(60)
        """
    path = str(tmp_path / "orca.db")
    assert run_program(program, path).returncode == -9
    store = SQLiteStore(path, clock=clock)
    try:
        store.vectors.use_space(SPACE)
        assert vectors(store) == 10
        embedder = ScriptedEmbedder(max_batch=5)
        clock.advance(20)  # the lease of the killed process
        worker = BackgroundWorker(store, [EmbeddingQueue(store, embedder, clock=clock)], clock=clock)
        assert worker.flush(PATIENCE)
        worker.close()
        assert vectors(store) == 30
        sent = [text for call in embedder.calls for text in call]
        assert len(sent) == len(set(sent)) == 20
        assert store.jobs.claim(["embed"], limit=9, lease_seconds=1, owner="look", now=clock.now()) == []
    finally:
        store.close()
