"""How long the memory takes at different sizes: taking in, recalling, building a prompt, opening, deleting.

    python -m benchmarks.speed [--sizes 1k,10k,100k] [--dimensions 512] [--queries 60] [--folder DIR] [--json OUT]

Conversations are made by ``benchmarks.workload``; nine in ten messages are one user's. Vectors are given and not
computed, so no model is timed. ``--dimensions 0`` leaves the vector lane out. ``--folder`` keeps the stores and uses
those that lie there. Times are in milliseconds: of the clock, which another program on the machine lengthens, and of
this thread's processor (``cpu``).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from benchmarks.workload import OWNER, SESSION_MESSAGES, GivenVectors, Workload
from orca.memory.manager import MemoryManager
from orca.memory.message_search import MessageSearch
from orca.memory.recorder import Recorder
from orca.stores.sqlite.store import SQLiteStore
from orca.tokens import default_counter
from orca.types import Message, Scope
from orca.wiring import SystemClock, open_memory

SIZES = {"1k": 1_000, "10k": 10_000, "100k": 100_000, "1M": 1_000_000}
APPENDED = 200
"""Messages that are observed one by one, each beside a bare insert of the same row."""
IMPORTED = 4_000
"""Messages of the bulk import."""
HOME = Scope(user=OWNER, session="session-0")
WARM_UP = 5

Figures = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each size in turn; print a table and write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--sizes", default="1k,10k", help="which of " + ", ".join(SIZES))
    parser.add_argument("--dimensions", type=int, default=512, help="of the vectors; 0 for none")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--folder", type=Path, help="where the stores are kept")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    options = parser.parse_args(arguments)
    sizes = options.sizes.split(",")
    if unknown := set(sizes) - set(SIZES):
        parser.error(f"no such size: {', '.join(sorted(unknown))}")
    results: Figures = {}
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for name in sizes:
            results[name] = measure(SIZES[name], options.dimensions, options.queries, folder, name)
            _print(name, results[name])
    if options.json:
        document = {
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
            "python": platform.python_version(),
            "sqlite": apsw.sqlite_lib_version(),
            "dimensions": options.dimensions,
            "queries": options.queries,
            "sizes": results,
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def measure(messages: int, dimensions: int, queries: int, folder: Path, name: str) -> Figures:
    """Return the figures of one size."""
    path = folder / f"speed-{name}-{dimensions}.db"
    figures: Figures = {} if path.exists() else {"fill": fill(path, messages, dimensions)}
    figures["file_mb"] = round(path.stat().st_size / 1e6, 1)
    asked = Workload().queries(queries + WARM_UP, messages=messages)
    began = time.perf_counter()
    memory = _open(path, dimensions)
    opened = time.perf_counter()
    memory.search_messages(scope=HOME, query=asked[0])
    figures["open_ms"] = _ms(opened - began)
    figures["first_search_ms"] = _ms(time.perf_counter() - opened)
    with memory:
        for fact in range(20):
            memory.remember(scope=HOME, content=f"fact {fact}: {asked[fact % len(asked)]}")
        figures |= _recalls(memory, asked)
    with SQLiteStore(path, clock=SystemClock()) as store:
        figures |= _lanes(store, asked, dimensions)
        figures |= _writes(store, folder)
        figures["delete_message"] = _timed(_deletions(store))
    figures["rss_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    return figures


def fill(path: Path, messages: int, dimensions: int) -> Figures:
    """Store so many messages with their vectors; return how many a second, made-up text not counted."""
    spent = {"messages": 0.0, "vectors": 0.0}
    with SQLiteStore(path, clock=SystemClock(), synchronous="OFF") as store:
        given = GivenVectors(dimensions) if dimensions else None
        if given is not None:
            store.vectors.use_space(given.space)
        for batch in Workload().sessions(messages):
            began = time.perf_counter()
            stored = store.messages.append(batch.messages, scope=batch.scope)
            spent["messages"] += time.perf_counter() - began
            if given is not None:
                vectors = given.made(len(stored))
                began = time.perf_counter()
                store.vectors.save_embedding("message", [message.id or 0 for message in stored], vectors)
                spent["vectors"] += time.perf_counter() - began
            # What has its vector waits for none.
            waiting = store.jobs.claim(
                ["embed"], limit=2 * SESSION_MESSAGES, lease_seconds=60, owner="fill", now=SystemClock().now()
            )
            store.jobs.complete([job.id for job in waiting if job.id is not None])
    rates = {kind: round(messages / seconds) for kind, seconds in spent.items() if seconds}
    return {f"{kind}_per_second": rate for kind, rate in rates.items()}


def _open(path: Path, dimensions: int) -> MemoryManager:
    embedder = GivenVectors(dimensions) if dimensions else None
    return open_memory(path, embedder=embedder, chat_model=None, reranker=None)


def _recalls(memory: MemoryManager, asked: Sequence[str]) -> Figures:
    return {
        "recall": _timed(lambda q=q: memory.recall(scope=HOME, query=q) for q in asked),
        "search_messages": _timed(lambda q=q: memory.search_messages(scope=HOME, query=q) for q in asked),
        "search_in_session": _timed(
            lambda q=q: memory.search_messages(scope=HOME, query=q, across_sessions=False) for q in asked
        ),
        "build_context": _timed(lambda q=q: memory.build_context(scope=HOME, query=q) for q in asked),
    }


def _lanes(store: SQLiteStore, asked: Sequence[str], dimensions: int) -> Figures:
    search = MessageSearch(store, clock=SystemClock())
    figures = {
        "keyword_lane": _timed(lambda q=q: search.search(q, None, scope=HOME, limit=10) for q in asked)
    }
    if dimensions:
        given = GivenVectors(dimensions)
        store.vectors.use_space(given.space)
        vectors = given.made(len(asked))
        figures["vector_lane"] = _timed(
            lambda q=q, v=v: search.search(q, v, scope=HOME, limit=10, keywords=False)
            for q, v in zip(asked, vectors, strict=True)
        )
    return figures


def _writes(store: SQLiteStore, folder: Path) -> Figures:
    """Observe messages one by one, a bare insert of each row in turn, and import many at once."""
    recorder = Recorder(
        store, counter=default_counter(), clock=SystemClock(), spool=None, notify=lambda: None
    )
    batches = list(Workload(seed=12).sessions(IMPORTED + APPENDED))
    one_by_one, many = batches[0], batches[1:]
    scope = Scope(user=OWNER, session="speed")
    recorder.record(one_by_one.messages[:WARM_UP], scope=scope)
    bare = _BareTable(folder / "bare.db")
    observed, inserted = [], []
    for message in one_by_one.messages[:APPENDED]:
        observed.append(_time(lambda m=message: recorder.record([m], scope=scope)))
        inserted.append(_time(lambda m=message: bare.insert(m)))
    bare.close()
    began = time.perf_counter()
    for batch in many:
        recorder.record(batch.messages, scope=batch.scope)
    seconds = time.perf_counter() - began
    return {
        "observe": _summary(observed),
        "bare_insert": _summary(inserted),
        "observe_to_bare": round(_median(observed) / _median(inserted), 2),
        "observe_many_per_second": round(sum(len(batch.messages) for batch in many) / seconds),
    }


def _deletions(store: SQLiteStore) -> Iterable[Callable[[], Any]]:
    ids = [message.id or 0 for message in store.messages.recent(scope=HOME, limit=30)]
    return [lambda number=number: store.messages.delete([number], scope=HOME) for number in ids]


class _BareTable:
    """The same rows in a table of their own without any index, committed one by one with the same pragmas."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._path = path
        self._raw = apsw.Connection(str(path))
        self._raw.execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
            "PRAGMA secure_delete = ON; CREATE TABLE messages(id INTEGER PRIMARY KEY, user_id TEXT,"
            " session_id TEXT, role TEXT, content TEXT, timestamp TEXT)"
        ).fetchall()

    def insert(self, message: Message) -> None:
        self._raw.execute("BEGIN IMMEDIATE")
        self._raw.execute(
            "INSERT INTO messages(user_id, session_id, role, content, timestamp) VALUES (?, ?, ?, ?, ?)",
            (OWNER, "speed", message.role, message.content, str(message.timestamp)),
        )
        self._raw.execute("COMMIT")

    def close(self) -> None:
        self._raw.close()
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)


def _time(call: Callable[[], Any]) -> tuple[float, float]:
    clock, cpu = time.perf_counter(), time.thread_time()
    call()
    return time.perf_counter() - clock, time.thread_time() - cpu


def _timed(calls: Iterable[Callable[[], Any]]) -> Figures:
    """Return the figures of calls, the first few of which only warm up."""
    return _summary([_time(call) for call in calls][WARM_UP:])


def _summary(times: Sequence[tuple[float, float]]) -> Figures:
    clock = np.array([one for one, _ in times])
    p50, p95, p99 = (_ms(float(np.percentile(clock, share))) for share in (50, 95, 99))
    cpu = np.array([one for _, one in times])
    return {
        "p50": p50,
        "p95": p95,
        "p99": p99,
        "cpu_p50": _ms(float(np.median(cpu))),
        "cpu_p95": _ms(float(np.percentile(cpu, 95))),
    }


def _median(times: Sequence[tuple[float, float]]) -> float:
    return float(np.median([clock for clock, _ in times]))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


def _print(name: str, figures: Figures) -> None:
    print(f"\n{name}")
    for what, value in figures.items():
        shown = (
            "  ".join(f"{key} {number}" for key, number in value.items())
            if isinstance(value, dict)
            else value
        )
        print(f"  {what:24} {shown}")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
