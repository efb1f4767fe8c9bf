"""``JobStore``: each job once, claimed by one worker at a time, and never lost."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from orca.errors import ConfigError
from orca.protocols import Clock, Store
from orca.testing import FixedClock
from orca.types import Job, JobKind

EMBED: list[JobKind] = ["embed"]


def add(store: Store, clock: Clock, count: int = 3, kind: JobKind = "embed") -> None:
    jobs = [Job(kind=kind, record="memory", target_id=number) for number in range(1, count + 1)]
    store.jobs.enqueue(jobs, now=clock.now())


def claim(store: Store, clock: Clock, *, limit: int = 10, owner: str = "w", lease: float = 30) -> list[Job]:
    return store.jobs.claim(EMBED, limit=limit, lease_seconds=lease, owner=owner, now=clock.now())


def test_a_job_exists_once(store: Store, clock: FixedClock) -> None:
    add(store, clock)
    add(store, clock)
    add(store, clock, kind="summarize")
    assert store.jobs.pending() == 6
    assert store.jobs.pending(EMBED) == 3


def test_claimed_jobs_are_not_claimed_again_until_the_lease_runs_out(store: Store, clock: FixedClock) -> None:
    add(store, clock)
    first = claim(store, clock, limit=2)
    assert [job.target_id for job in first] == [1, 2]
    assert [job.target_id for job in claim(store, clock, owner="v")] == [3]
    assert claim(store, clock, owner="v") == []
    clock.advance(29.9)
    assert claim(store, clock, owner="v") == []
    clock.advance(0.2)
    assert [job.target_id for job in claim(store, clock, owner="v")] == [1, 2, 3]
    assert store.jobs.pending() == 3
    store.jobs.complete([job.id for job in first])
    assert store.jobs.pending() == 1


@pytest.mark.case(3)
def test_limits(store: Store, clock: FixedClock) -> None:
    add(store, clock)
    assert claim(store, clock, limit=0) == []
    with pytest.raises(ConfigError):
        claim(store, clock, limit=-1)
    assert len(claim(store, clock, limit=10**9)) == 3


def test_retry_waits_counts_failures_and_tells_why(store: Store, clock: FixedClock) -> None:
    add(store, clock, 2)
    one, two = claim(store, clock)
    later = clock.now() + timedelta(seconds=60)
    store.jobs.retry([one.id], error="429", run_after=later, failed=True)
    store.jobs.retry([two.id], error="down", run_after=later, failed=False)
    assert claim(store, clock) == []
    assert store.jobs.next_due(EMBED) == later
    assert {(item.kind, item.reason, item.count) for item in store.jobs.backlog()} == {
        ("embed", "429", 1),
        ("embed", "down", 1),
    }
    clock.advance(60)
    again = claim(store, clock)
    assert [(job.attempts, job.last_error) for job in again] == [(1, "429"), (0, "down")]


def test_release_makes_waiting_jobs_due(store: Store, clock: FixedClock) -> None:
    add(store, clock, 2)
    jobs = claim(store, clock)
    store.jobs.retry(
        [job.id for job in jobs], error="x", run_after=clock.now() + timedelta(days=1), failed=True
    )
    assert store.jobs.release(kinds=["summarize"], now=clock.now()) == 0
    assert store.jobs.release(kinds=EMBED, now=clock.now()) == 2
    assert len(claim(store, clock)) == 2


def test_next_due_of_nothing(store: Store, clock: FixedClock) -> None:
    assert store.jobs.next_due(EMBED) is None
    add(store, clock, 1)
    assert store.jobs.next_due(EMBED) == clock.now()
    assert store.jobs.next_due(["summarize"]) is None


@pytest.mark.case(5)
def test_workers_in_threads_share_the_jobs(store: Store, clock: FixedClock) -> None:
    add(store, clock, 60)
    got: list[int] = []

    def work(owner: str) -> None:
        while jobs := claim(store, clock, limit=4, owner=owner):
            got.extend(job.target_id for job in jobs)
            store.jobs.complete([job.id for job in jobs])

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(got) == list(range(1, 61))
    assert store.jobs.pending() == 0
