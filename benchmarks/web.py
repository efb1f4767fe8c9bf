"""Server time of every page and list at 100,000 messages; the promise is p95 ≤ 100 ms.

python -m benchmarks.web [--messages 100000] [--rounds 20] [--json PATH]

Each path is asked for again and again, and then each time after somebody has written, as while an agent works. Beside
the time that passed stands the processor's time, which other work on the machine does not lengthen as much.
``--json`` writes the figures; benchmarks/results/web.json has the last ones.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from orca import Scope, open_memory
from orca.interfaces.web.app import create_app
from orca.interfaces.web.limits import Limits, Rate
from orca.memory.manager import MemoryManager
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FakeEmbedder
from orca.types import JobKind
from orca.wiring import SystemClock

BATCH = 5_000
WORDS = "the plan for Shanghai moves to Friday and 我们 下周 去 上海 出差 记得 订 素食 餐馆".split()
MEMORIES = 500
DIMENSIONS = 512
"""As wide as the vectors of the embedded model."""
PROMISE_MS = 100.0
API = "/api/v1"
KINDS: tuple[JobKind, ...] = ("embed", "summarize", "consolidate")


def fill(memory: MemoryManager, messages: int) -> None:
    """One session of half the messages, and some others that share the rest."""
    for start in range(0, messages, BATCH):
        rows = [
            {
                "role": "user" if n % 2 else "assistant",
                "content": f"{n}: " + " ".join(WORDS[n % 7 : n % 7 + 8]),
            }
            for n in range(start, min(start + BATCH, messages))
        ]
        session = "long" if start < messages // 2 else f"s{start // BATCH % 100}"
        memory.observe_many(scope=Scope(session=session), messages=rows)
    for number in range(MEMORIES):
        memory.remember(scope=Scope(), content=f"project number {number} is due in week {number % 52}")


def embed(path: Path, messages: int, embedder: FakeEmbedder) -> None:
    """Give every row a vector, and leave no work behind that would share the processor with what is measured."""
    random = np.random.default_rng(0)
    with SQLiteStore(path, clock=SystemClock()) as store:
        store.vectors.use_space(embedder.space)
        for start in range(1, messages + 1, BATCH):
            ids = range(start, min(start + BATCH, messages + 1))
            store.vectors.save_embedding("message", ids, random.normal(size=(len(ids), DIMENSIONS)))
        store.vectors.save_embedding(
            "memory", range(1, MEMORIES + 1), random.normal(size=(MEMORIES, DIMENSIONS))
        )
        now = SystemClock().now()
        left = store.jobs.claim(KINDS, limit=10 * messages, lease_seconds=1, owner="benchmark", now=now)
        store.jobs.complete([job.id for job in left if job.id is not None])


def paths(client: TestClient) -> list[str]:
    """Every page and list."""
    middle = client.get(f"{API}/sessions/long/messages").json()["items"][0]["id"] // 2
    return [
        "/", "/?span=month", "/sessions", "/sessions?q=s1", "/sessions/long", f"/sessions/long?around={middle}", "/runs",
        "/memories", "/memories?q=week&state=", "/memories/7", "/memories/7/forget", "/recall", "/recall?q=上海",
        "/recall?q=上海&compare=true&lanes_b=keyword&window_b=2048", "/map", "/map?view=table", "/jobs", "/chat",
        "/chat?q=上海", "/settings", f"{API}/sessions", f"{API}/sessions?q=s1", f"{API}/sessions/long/messages",
        f"{API}/sessions/long/messages?around={middle}", f"{API}/messages", f"{API}/messages?role=user&limit=200",
        f"{API}/messages/{middle}", f"{API}/messages/search?q=上海", f"{API}/memories", f"{API}/memories?q=week",
        f"{API}/recall?q=上海", f"{API}/context?q=上海&session=long", f"{API}/runs", f"{API}/jobs", f"{API}/status",
        f"{API}/activity", f"{API}/map?limit=500",
    ]  # fmt: skip


def measure(client: TestClient, path: str, rounds: int, before: Callable[[], object]) -> tuple[float, float]:
    """Return the 95th percentile of a path's time and the median of the processor's, in milliseconds.

    ``before`` each request, something is done, which does not count.
    """
    times, busy = [], []
    for _ in range(rounds):
        before()
        start, ran = time.perf_counter(), time.process_time()
        status = client.get(path).status_code
        times.append((time.perf_counter() - start) * 1000)
        busy.append((time.process_time() - ran) * 1000)
        if status != 200:
            raise RuntimeError(f"{path} was answered with {status}")
    return statistics.quantiles(times, n=20, method="inclusive")[-1], statistics.median(busy)


@contextmanager
def opened(messages: int, keep: Path | None) -> Iterator[MemoryManager]:
    """A filled memory, in a folder of its own or in ``keep``, where it is found again."""
    with tempfile.TemporaryDirectory() as folder:
        path = (keep or Path(folder)) / f"web-{messages}.db"
        embedder = FakeEmbedder(dimensions=DIMENSIONS)
        if not path.exists():
            with open_memory(path, embedder=None, chat_model=None) as memory:
                fill(memory, messages)
            embed(path, messages, embedder)
        with open_memory(path, embedder=embedder, chat_model=None) as memory:
            memory.flush(60)
            yield memory


def main() -> None:
    """Print a line for each path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="folder to keep the filled store in")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    asked = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with opened(asked.messages, asked.keep) as memory:
        plenty = Limits(requests=Rate(burst=1e9, per_second=1e9))
        client = TestClient(create_app(memory, limits=plenty), base_url="http://127.0.0.1:8420")

        def write() -> None:
            memory.observe(scope=Scope(session="live"), role="user", content="one more word about Shanghai")

        for path in paths(client):
            client.get(path)
            warm, busy = measure(client, path, asked.rounds, lambda: None)
            written, busy_after = measure(client, path, asked.rounds, write)
            figures[path] = {
                "p95_ms": round(warm, 1),
                "p95_ms_after_a_write": round(written, 1),
                "cpu_ms": round(busy, 1),
                "cpu_ms_after_a_write": round(busy_after, 1),
            }
            over = "" if max(warm, written) <= PROMISE_MS else "over"
            print(
                f"{warm:8.1f} ms {written:8.1f} ms {busy:8.1f} {busy_after:8.1f} cpu {over}\t{path}",
                flush=True,
            )
    if asked.json:
        found = {
            "command": f"python -m benchmarks.web --messages {asked.messages} --rounds {asked.rounds}",
            "messages": asked.messages,
            "promise_ms": PROMISE_MS,
            "load_average": round(os.getloadavg()[0], 1),
            "processors": os.cpu_count(),
            "paths": figures,
        }
        asked.json.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
