"""Durable background work: one row per kind and target, claimed under a lease."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from orca.health import Backlog
from orca.stores.sqlite import tallies
from orca.stores.sqlite.connection import Connection, Database, Row
from orca.stores.sqlite.records import TABLES, ids_json, sql_limit
from orca.text.jsonable import to_json
from orca.text.normalize import clean
from orca.text.times import from_text, to_text
from orca.types import Job, JobKind, Record

JOB_COLUMNS = "id, kind, record, target_id, user_id, session_id, agent, attempts, run_after, last_error"
_INSERT = (
    "INSERT OR IGNORE INTO jobs(kind, record, target_id, user_id, session_id, agent, attempts, run_after,"
    " last_error, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CHOSEN = "(:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))"
_FREE = "(lease_until IS NULL OR lease_until <= :now)"


def add_jobs(connection: Connection, jobs: Sequence[Job], *, now: str) -> None:
    """Add jobs inside a transaction; one that exists already is left as it is."""
    connection.many(
        _INSERT,
        [
            (
                job.kind,
                job.record,
                job.target_id,
                job.user,
                job.session,
                job.agent,
                job.attempts,
                to_text(job.run_after) if job.run_after else now,
                job.last_error,
                now,
            )
            for job in jobs
        ],
    )


def add_missing_embeddings(connection: Connection, record: Record, *, now: str) -> None:
    """Add an embedding job for every row that should have a vector and has none."""
    table = TABLES[record]
    connection.run(
        "INSERT OR IGNORE INTO jobs(kind, record, target_id, user_id, session_id, agent, run_after, created_at)"
        f" SELECT 'embed', '{record}', id, user_id, {table.session}, agent, :now, :now FROM {table.table}"
        f" WHERE {table.embeddable} AND NOT has_embedding AND NOT EXISTS (SELECT 1 FROM jobs"
        f" WHERE record = '{record}' AND target_id = {table.table}.id AND kind = 'embed')",
        {"now": now},
    )


def remove_jobs(
    connection: Connection, record: Record, ids: Sequence[int], kind: JobKind | None = None
) -> int:
    """Remove the jobs on the given rows, of every kind or of one; return how many."""
    return connection.run(
        "DELETE FROM jobs WHERE record = ? AND target_id IN (SELECT value FROM json_each(?))"
        " AND (? IS NULL OR kind = ?)",
        (record, ids_json(ids), kind, kind),
    )


class SQLiteJobs:
    """The job facet. See ``orca.protocols.JobStore``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enqueue(self, jobs: Sequence[Job], *, now: datetime) -> None:
        """Add jobs; one that exists already is left as it is."""
        with self._database.write() as connection:
            add_jobs(connection, jobs, now=to_text(now))

    def claim(
        self, kinds: Sequence[JobKind], *, limit: int, lease_seconds: float, owner: str, now: datetime
    ) -> list[Job]:
        """Take up to ``limit`` due jobs, oldest first."""
        due = f"kind IN (SELECT value FROM json_each(:kinds)) AND run_after <= :now AND {_FREE}"
        values = {
            "kinds": _kinds(kinds),
            "now": to_text(now),
            "until": to_text(now + timedelta(seconds=lease_seconds)),
            "owner": owner,
            "limit": sql_limit(limit),
        }
        with self._database.read() as connection:  # an idle worker must not take the write lock
            asked = {"kinds": values["kinds"], "now": values["now"]}
            if not connection.value(f"SELECT EXISTS (SELECT 1 FROM jobs WHERE {due})", asked):
                return []
        with self._database.write() as connection:
            rows = connection.all(
                "UPDATE jobs SET lease_owner = :owner, lease_until = :until WHERE id IN"
                f" (SELECT id FROM jobs WHERE {due} ORDER BY id LIMIT :limit) RETURNING {JOB_COLUMNS}",
                values,
            )
        return sorted(map(job_of, rows), key=lambda job: job.id or 0)

    def complete(self, job_ids: Sequence[int]) -> None:
        """Remove jobs that are done."""
        with self._database.write() as connection:
            connection.run(
                "DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?))", (ids_json(job_ids),)
            )

    def retry(self, job_ids: Sequence[int], *, error: str, run_after: datetime, failed: bool) -> None:
        """Give jobs back with the reason; ``failed`` counts an attempt against each of them."""
        with self._database.write() as connection:
            connection.run(
                "UPDATE jobs SET lease_owner = NULL, lease_until = NULL, last_error = ?, run_after = ?,"
                " attempts = attempts + ? WHERE id IN (SELECT value FROM json_each(?))",
                (clean(error), to_text(run_after), int(failed), ids_json(job_ids)),
            )

    def release(
        self,
        *,
        kinds: Sequence[JobKind] | None = None,
        ids: Sequence[int] | None = None,
        user: str | None = None,
        now: datetime,
    ) -> int:
        """Make waiting jobs due now, all or those that are named; return how many are waiting."""
        with self._database.write() as connection:
            return connection.run(
                "UPDATE jobs SET run_after = min(run_after, :now), lease_owner = NULL, lease_until = NULL"
                f" WHERE {_CHOSEN} AND {_FREE} AND (:user IS NULL OR user_id = :user)"
                " AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids)))",
                {
                    "kinds": None if kinds is None else _kinds(kinds),
                    "ids": None if ids is None else ids_json(ids),
                    "user": user,
                    "now": to_text(now),
                },
            )

    def pending(self, kinds: Sequence[JobKind] | None = None) -> int:
        """Return how many jobs are not done."""
        with self._database.read() as connection:
            return int(
                connection.value(
                    f"SELECT count(*) FROM jobs WHERE {_CHOSEN}",
                    {"kinds": None if kinds is None else _kinds(kinds)},
                )
            )

    def next_due(self, kinds: Sequence[JobKind]) -> datetime | None:
        """Return when the earliest job of these kinds becomes due: waited for, or its lease run out."""
        with self._database.read() as connection:
            due = connection.value(
                f"SELECT min(max(run_after, coalesce(lease_until, run_after))) FROM jobs WHERE {_CHOSEN}",
                {"kinds": _kinds(kinds)},
            )
        return None if due is None else from_text(due)

    def backlog(self, *, user: str | None = None) -> list[Backlog]:
        """Return the jobs that are not done, grouped by kind and reason; with ``user`` those of one user."""
        with self._database.read() as connection:
            return tallies.backlog(connection, user)


def _kinds(kinds: Sequence[JobKind]) -> str:
    return to_json(list(kinds), where="kinds")


def job_of(row: Row) -> Job:
    """Return a row of JOB_COLUMNS as a job."""
    number, kind, record, target, user, session, agent, attempts, run_after, error = row
    return Job(
        id=number,
        kind=kind,
        record=record,
        target_id=target,
        user=user,
        session=session,
        agent=agent,
        attempts=attempts,
        run_after=from_text(run_after),
        last_error=error,
    )
