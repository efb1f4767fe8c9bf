"""How fast and how exact the vector lane is, beside plain sqlite-vec over the same vectors in the same run.

    python -m benchmarks.vectors [--sizes 1000,10000] [--dimensions 1024,512,384] [--locomo PATH] [--json OUT]

All messages are one user's, in sessions of 200. Vectors are made: a direction that all share, topics of very unequal
size, sub-topics of about 50 texts, and noise; a query is a stored vector turned by 37 degrees. With ``--locomo`` the
512-d vectors are real: turns of LoCoMo and of the bilingual set by the embedded model, and the questions as queries;
beyond their number, rows are made from two real ones each and noise. A search is for 10 rows, or for the 1,000 that a
recall asks for; both sides are asked in turn, so that what disturbs one disturbs the other. Plain sqlite-vec is one table
with its defaults. Opening, the first search and memory are those of a process that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import sqlite_vec

from benchmarks.datasets import read_bilingual, read_locomo
from orca.embedders.centred import CentredEmbedder
from orca.embedders.local import LocalEmbedder
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FixedClock
from orca.text.parts import plain_text
from orca.types import EmbeddingSpace, Message, Scope

SESSION = 200
BATCH = 2_000
QUERIES = 50
WIDTH = 1_000
WEIGHTS = (0.55, 0.5, 0.4, 0.55)
"""What the shared direction, the topic, the sub-topic and noise weigh: two texts have a cosine of .26 on average, with
a deviation of .05, and the tenth neighbour one of .53. Models for search are of this kind."""

Vectors = Callable[[int, int], np.ndarray]
"""Returns the vectors of some rows, always the same ones."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every combination that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors", description=__doc__)
    parser.add_argument("--sizes", default="1000,10000", help="numbers of vectors")
    parser.add_argument("--dimensions", default="1024,512,384")
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--locomo", type=Path, help="LoCoMo's JSON file, for real vectors at 512 dimensions")
    parser.add_argument("--json", type=Path, metavar="OUT", help="add the figures to this file")
    parser.add_argument("--keep", type=Path, help="keep the databases in this folder, and use what is there")
    parser.add_argument("--probe", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.probe:
        print(json.dumps(probe(options.probe, np.load(options.probe.with_suffix(".npy")))))
        return 0
    for dimensions in map(int, options.dimensions.split(",")):
        for size in map(int, options.sizes.split(",")):
            real = options.locomo is not None and dimensions == 512
            vectors, queries = from_texts(options.locomo, size) if real else clustered(size, dimensions)
            with tempfile.TemporaryDirectory() as folder:
                place = options.keep or Path(folder)
                found = measure(place, size, dimensions, vectors, queries[: options.queries])
            found["vectors"] = "real and mixed from real" if real else "clustered"
            print(json.dumps(found, indent=1), flush=True)
            if options.json:
                _add(options.json, f"{dimensions} dimensions, {size} vectors", found)
    return 0


def clustered(size: int, dimensions: int) -> tuple[Vectors, np.ndarray]:
    """Return made vectors and queries; see above."""
    rng = np.random.default_rng(20260501)
    topics, subtopics = 2_000, max(20, size // 50)
    common = _unit(rng.normal(size=dimensions))
    topic = _unit(rng.normal(size=(topics, dimensions))).astype(np.float32)
    subtopic = _unit(rng.normal(size=(subtopics, dimensions))).astype(np.float32)

    def vectors(start: int, end: int) -> np.ndarray:
        own = np.random.default_rng([start, 7])
        group = own.zipf(1.3, size=end - start)
        parts = (
            common,
            topic[group % topics],
            subtopic[(group * 31 + own.integers(0, 1 + subtopics // 200, end - start)) % subtopics],
            _unit(own.normal(size=(end - start, dimensions))),
        )
        return _unit(sum(weight * part for weight, part in zip(WEIGHTS, parts, strict=True)))

    first = vectors(0, min(size, BATCH))
    chosen = first[rng.choice(len(first), 200)]
    return vectors, _unit(0.8 * chosen + 0.6 * _unit(rng.normal(size=chosen.shape)))


def from_texts(locomo: Path, size: int) -> tuple[Vectors, np.ndarray]:
    """Return vectors of real texts, the first ones as they are, and of real questions."""
    conversations = [*read_locomo(locomo), *read_bilingual()]
    said = [
        plain_text(message.content)
        for conversation in conversations
        for messages in conversation.sessions.values()
        for message in messages
    ]
    asked = [question.text for conversation in conversations for question in conversation.questions]
    rng = np.random.default_rng(20260501)
    asked = [asked[place] for place in rng.permutation(len(asked))[:200]]
    embedder = CentredEmbedder(LocalEmbedder())
    real = np.concatenate(
        [embedder.embed(said[n : n + 32], kind="document") for n in range(0, len(said), 32)]
    )
    queries = np.concatenate([embedder.embed(asked[n : n + 32], kind="query") for n in range(0, 200, 32)])

    def vectors(start: int, end: int) -> np.ndarray:
        own = np.random.default_rng([start, 11])
        one, other = own.integers(0, len(real), size=(2, end - start))
        share = own.uniform(0.55, 0.95, size=(end - start, 1))
        mixed = share * real[one] + (1 - share) * real[other]
        made = _unit(0.9 * _unit(mixed) + 0.44 * _unit(own.normal(size=mixed.shape)))
        asis = np.arange(start, end) < len(real)
        made[asis] = real[start : start + int(asis.sum())]
        return made

    del size
    return vectors, queries


def measure(
    folder: Path, size: int, dimensions: int, vectors: Vectors, queries: np.ndarray
) -> dict[str, Any]:
    """Store the vectors on both sides and search them in turn."""
    path, plain_path = folder / f"orca-{dimensions}-{size}.db", folder / f"plain-{dimensions}-{size}.db"
    figures: dict[str, Any] = {"queries": len(queries)}
    if not path.exists():
        figures["orca_stored_per_s"] = round(fill(path, size, dimensions, vectors))
    if not plain_path.exists():
        figures["plain_stored_per_s"] = round(fill_plain(plain_path, size, dimensions, vectors))
    figures["orca_file_mb"] = round(path.stat().st_size / 1e6)
    figures["plain_file_mb"] = round(plain_path.stat().st_size / 1e6)
    np.save(path.with_suffix(".npy"), queries)
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.vectors", "--probe", str(path)],
        check=False,
        capture_output=True,
        text=True,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    figures |= json.loads(run.stdout)
    plain = _plain(plain_path)
    times: dict[str, list[float]] = {name: [] for name in ("plain", "ten", "thousand", "session", "similar")}
    recalls, tails = [], []
    scope = Scope(user="alice", session="s3")
    with open_store(path, dimensions) as store:
        facet = store.vectors
        near = facet.search_similar("message", queries[0], scope=scope, limit=10)
        for query in queries:
            with Timed(times["plain"]):
                exact = plain_search(plain, query, 10)
            with Timed(times["ten"]):
                near = facet.search_similar("message", query, scope=scope, limit=10)
            recalls.append(len({row for row, _ in near} & set(exact)) / len(exact))
            with Timed(times["thousand"]):
                wide = facet.search_similar("message", query, scope=scope, limit=WIDTH)
            with Timed(times["session"]):
                facet.search_similar("message", query, scope=scope, limit=10, across_sessions=False)
            around = sorted({row + step for row, _ in wide[:400] for step in (-2, -1, 0, 1, 2)} - {0})
            with Timed(times["similar"]):
                facet.similarities("message", around, query)
            if len(tails) < 10:
                true = plain_search(plain, query, min(WIDTH, size))
                tails.append(len({row for row, _ in wide} & set(true)) / len(true))
        if facet.notice:
            raise SystemExit(facet.notice)
    figures["recall_at_10"] = round(float(np.mean(recalls)), 4)
    figures["recall_at_1000"] = round(float(np.mean(tails)), 4)
    for name, taken in times.items():
        figures[f"{name}_ms"] = {
            f"p{part}": round(float(np.percentile(taken, part)) * 1000, 2) for part in (50, 95, 99)
        }
    figures["times_faster_p50"] = round(figures["plain_ms"]["p50"] / figures["ten_ms"]["p50"], 1)
    figures["load_average"] = round(os.getloadavg()[0], 1)
    return figures


def probe(path: Path, queries: np.ndarray) -> dict[str, Any]:
    """Open a store in this fresh process, search it, and tell times and memory."""
    scope = Scope(user="alice", session="s3")
    before = _resident()
    began = time.perf_counter()
    store = open_store(path, queries.shape[1])
    opened = time.perf_counter()
    store.vectors.search_similar("message", queries[0], scope=scope, limit=10)
    searched = time.perf_counter()
    for query in queries:
        store.vectors.search_similar("message", query, scope=scope, limit=WIDTH)
    vectors = store.vectors.spaces()[0].vectors["message"]
    resident = _resident()
    store.close()
    return {
        "open_s": round(opened - began, 3),
        "first_search_s": round(searched - opened, 3),
        "rss_mb": round(resident / 1e6, 1),
        "rss_before_mb": round(before / 1e6, 1),
        "rss_limit_mb": round(120 + 250 * vectors / 1e6, 1),
    }


def open_store(path: Path, dimensions: int) -> SQLiteStore:
    """Open the store with the space of the benchmark."""
    store = SQLiteStore(path, clock=FixedClock())
    store.vectors.use_space(EmbeddingSpace(provider="benchmark", model="made", dimensions=dimensions))
    return store


def fill(path: Path, size: int, dimensions: int, vectors: Vectors) -> float:
    """Store messages and vectors; return vectors a second, the messages' own time left out."""
    spent = 0.0
    with open_store(path, dimensions) as store:
        for start in range(0, size, BATCH):
            end = min(size, start + BATCH)
            ids: list[int] = []
            for first in range(start, end, SESSION):
                said = [
                    Message(role="user", content=f"w{n}") for n in range(first, min(end, first + SESSION))
                ]
                scope = Scope(user="alice", session=f"s{first // SESSION}")
                ids += [row.id or 0 for row in store.messages.append(said, scope=scope)]
            made = vectors(start, end)
            began = time.perf_counter()
            for first in range(0, len(ids), 500):
                store.vectors.save_embedding("message", ids[first : first + 500], made[first : first + 500])
            spent += time.perf_counter() - began
    return size / spent


def fill_plain(path: Path, size: int, dimensions: int, vectors: Vectors) -> float:
    """Store the vectors in one sqlite-vec table; return vectors a second."""
    connection = _plain(path)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute(
        f"CREATE VIRTUAL TABLE plain USING vec0(embedding FLOAT[{dimensions}] distance_metric=cosine)"
    )
    spent = 0.0
    for start in range(0, size, BATCH):
        made = vectors(start, min(size, start + BATCH))
        began = time.perf_counter()
        with connection:
            connection.executemany(
                "INSERT INTO plain(rowid, embedding) VALUES (?, ?)",
                ((start + place + 1, row.tobytes()) for place, row in enumerate(made)),
            )
        spent += time.perf_counter() - began
    return size / spent


def plain_search(connection: apsw.Connection, query: np.ndarray, limit: int) -> list[int]:
    """Return the ids of the nearest rows."""
    rows = connection.execute(
        "SELECT rowid FROM plain WHERE embedding MATCH ? AND k = ? ORDER BY distance",
        (query.tobytes(), limit),
    )
    return [row_id for (row_id,) in rows]


def _plain(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    return connection


class Timed:
    def __init__(self, times: list[float]) -> None:
        self._times = times

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._times.append(time.perf_counter() - self._began)


def _unit(vectors: np.ndarray) -> np.ndarray:
    result: np.ndarray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return result.astype(np.float32)


def _resident() -> int:
    """Return the bytes of memory that this process holds now; Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _add(path: Path, name: str, figures: dict[str, Any]) -> None:
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    document.setdefault("machine", f"{platform.machine()}, {os.cpu_count()} cores, shared")
    document.setdefault("results", {})[name] = figures
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
