"""Server time of every page and list at 100,000 messages; the promise is p95 ≤ 100 ms.

python -m benchmarks.web [--messages 100000] [--rounds 20]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from starlette.testclient import TestClient

from orca import Scope, open_memory
from orca.interfaces.web.app import create_app
from orca.interfaces.web.limits import Limits, Rate
from orca.memory.manager import MemoryManager

BATCH = 5_000
WORDS = "the plan for Shanghai moves to Friday and 我们 下周 去 上海 出差 记得 订 素食 餐馆".split()
PROMISE_MS = 100.0
FLUSH_SECONDS = 1800.0
"""Longest wait for the summaries of 50,000 turns."""
API = "/api/v1"


def fill(memory: MemoryManager, messages: int) -> None:
    """One session of half the messages, and a hundred others that share the rest."""
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
    for number in range(500):
        memory.remember(scope=Scope(), content=f"project number {number} is due in week {number % 52}")


def measure(client: TestClient, path: str, rounds: int) -> float:
    """Return the 95th percentile of the time of a path, in milliseconds, once it has been asked for."""
    assert client.get(path).status_code == 200, path
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        client.get(path)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.quantiles(times, n=20)[-1]


def main() -> None:
    """Print a line for each path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_memory(Path(folder) / "web.db", embedder=None, chat_model=None) as memory,
    ):
        fill(memory, asked.messages)
        if not memory.flush(FLUSH_SECONDS):
            print("background work is not done: it shares the processor with what is measured")
        plenty = Limits(requests=Rate(burst=1e9, per_second=1e9))
        client = TestClient(create_app(memory, limits=plenty), base_url="http://127.0.0.1:8420")
        middle = client.get(f"{API}/sessions/long/messages").json()["items"][0]["id"] // 2
        paths = [
            "/", "/sessions", "/sessions/long", "/memories", "/recall?q=上海", "/map", "/jobs", "/settings",
            f"{API}/sessions", f"{API}/sessions?q=s1", f"{API}/sessions/long/messages",
            f"{API}/sessions/long/messages?around={middle}", f"{API}/messages", f"{API}/messages?role=user&limit=200",
            f"{API}/messages/{middle}", f"{API}/messages/search?q=上海", f"{API}/memories", f"{API}/memories?q=week",
            f"{API}/recall?q=上海", f"{API}/context?q=上海&session=long", f"{API}/runs", f"{API}/jobs", f"{API}/status",
            f"{API}/activity", f"{API}/map",
        ]  # fmt: skip
        for path in paths:
            if client.get(path).status_code == 404:
                continue
            taken = measure(client, path, asked.rounds)
            print(f"{taken:8.1f} ms  {'' if taken <= PROMISE_MS else 'over'}\t{path}")


if __name__ == "__main__":
    main()
