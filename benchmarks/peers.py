"""Speed beside other local stores, each with its usual set-up, the same vectors, and the same questions.

    make bench-peers                       # 1,000 and 10,000 messages
    python -m benchmarks.peers --messages 100000 --json OUT

Every store gets the messages of ten users, text and vector, in batches of 500, and is then asked for the ten nearest
of one user. It runs in a process of its own, which reports the time of each search, the share of the ten truly
nearest that it found (``recall``), its memory and its files. ``orca vectors`` is Orca's vector store alone, which is
what the others do; ``orca recall`` is what a turn asks for: summaries, memories and messages, by keywords and by
meaning, with the turns around them. Cosine everywhere.

Set-ups: sqlite-vec as a plain ``vec0`` table with the user as a metadata column; Chroma's ``PersistentClient`` with
an HNSW index for cosine; LanceDB with its IVF-HNSW-SQ index and a scalar index over users from 10,000 rows on (below,
it scans, as its documentation advises); Qdrant in local mode, as mem0 opens it; LangGraph's ``SqliteStore`` with the
user as namespace (it needs a Python whose ``sqlite3`` can load extensions).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks import synthetic

USERS = 10
BATCH = 500
NEAREST = 10
INDEXED_FROM = 10_000


class Peer(Protocol):
    """A store of texts with vectors."""

    def add(self, first: int, texts: Sequence[str], vectors: np.ndarray, /) -> None:
        """Store rows, numbered from ``first``; a row's user is its number modulo ``USERS``."""
        ...

    def ready(self) -> None:
        """Do what has to be done before the first search."""
        ...

    def search(self, text: str, vector: np.ndarray, user: int, /) -> list[int]:
        """Return the numbers of the nearest rows of a user, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one store at one size; times in milliseconds, sizes in MB."""

    store: str
    version: str
    messages: int
    dimensions: int
    added_per_second: float
    p50: float
    p95: float
    p99: float
    recall: float
    memory: float
    files: float


class OrcaVectors:
    """Orca's vector store by itself."""

    def __init__(self, folder: Path, rows: np.ndarray) -> None:
        from orca.stores.sqlite.store import SQLiteStore
        from orca.types import Message, Scope
        from orca.wiring import SystemClock

        self._message, self._scope = Message, Scope
        self._store = SQLiteStore(folder / "orca.db", clock=SystemClock())
        self._store.vectors.use_space(synthetic.GivenVectors(rows).space)
        self._number: dict[int, int] = {}

    def add(self, first: int, texts: Sequence[str], vectors: np.ndarray) -> None:
        ids: list[int] = [0] * len(texts)
        with self._store.transaction() as tx:
            for user in range(USERS):
                places = [place for place in range(len(texts)) if (first + place) % USERS == user]
                messages = [self._message(role="user", content=texts[place]) for place in places]
                stored = tx.messages.append(messages, scope=self._scope(user=f"u{user}", session="s"))
                for place, message in zip(places, stored, strict=True):
                    ids[place] = message.id or 0
                    self._number[message.id or 0] = first + place
            tx.vectors.save_embedding("message", ids, vectors)

    def ready(self) -> None:
        """Nothing is left to do."""

    def search(self, _text: str, vector: np.ndarray, user: int) -> list[int]:
        found = self._store.vectors.search_similar(
            "message", vector, scope=self._scope(user=f"u{user}"), limit=NEAREST
        )
        return [self._number[row] for row, _ in found]


class OrcaRecall:
    """A whole recall of Orca: three tiers, both lanes, and the turns around what was found."""

    def __init__(self, folder: Path, rows: np.ndarray) -> None:
        from orca import Scope, open_memory
        from orca.types import Message

        self._message, self._scope = Message, Scope
        self._embedder = synthetic.GivenVectors(rows)
        self._memory = open_memory(folder / "orca.db", embedder=self._embedder, chat_model=None)

    def add(self, first: int, texts: Sequence[str], _vectors: np.ndarray) -> None:
        for user in range(USERS):
            messages = [
                self._message(role="user", content=text)
                for place, text in enumerate(texts)
                if (first + place) % USERS == user
            ]
            self._memory.observe_many(scope=self._scope(user=f"u{user}", session="s"), messages=messages)

    def ready(self) -> None:
        if not self._memory.flush(timeout=3_600):
            raise RuntimeError("the vectors were not stored within an hour")

    def search(self, text: str, vector: np.ndarray, user: int) -> list[int]:
        self._embedder.query = vector
        found = self._memory.recall(scope=self._scope(user=f"u{user}", session="s"), query=text)
        return [int(hit.content.rpartition("#")[2]) for hit in found.messages]


class SqliteVec:
    """A plain vec0 table."""

    def __init__(self, folder: Path, rows: np.ndarray) -> None:
        import apsw
        import sqlite_vec

        self._connection = apsw.Connection(str(folder / "plain.db"))
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(
            f"CREATE VIRTUAL TABLE rows USING vec0(embedding FLOAT[{rows.shape[1]}] distance_metric=cosine, owner INTEGER)"
        )
        self._connection.execute("CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT)")

    def add(self, first: int, texts: Sequence[str], vectors: np.ndarray) -> None:
        with self._connection:
            self._connection.executemany(
                "INSERT INTO rows(rowid, embedding, owner) VALUES (?, ?, ?)",
                [(first + n, vector.tobytes(), (first + n) % USERS) for n, vector in enumerate(vectors)],
            )
            self._connection.executemany(
                "INSERT INTO texts(id, text) VALUES (?, ?)",
                [(first + n, text) for n, text in enumerate(texts)],
            )

    def ready(self) -> None:
        """Nothing is left to do."""

    def search(self, _text: str, vector: np.ndarray, user: int) -> list[int]:
        found = self._connection.execute(
            "SELECT rowid FROM rows WHERE embedding MATCH ? AND k = ? AND owner = ? ORDER BY distance",
            (vector.tobytes(), NEAREST, user),
        )
        return [number for (number,) in found]


class Chroma:
    """Chroma on disk."""

    def __init__(self, folder: Path, _rows: np.ndarray) -> None:
        import chromadb

        client = chromadb.PersistentClient(
            str(folder / "chroma"), settings=chromadb.Settings(anonymized_telemetry=False)
        )
        self._rows = client.create_collection(
            "rows", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )

    def add(self, first: int, texts: Sequence[str], vectors: np.ndarray) -> None:
        numbers = range(first, first + len(texts))
        self._rows.add(
            ids=[str(number) for number in numbers],
            embeddings=vectors,
            documents=list(texts),
            metadatas=[{"user": number % USERS} for number in numbers],
        )

    def ready(self) -> None:
        """Nothing is left to do."""

    def search(self, _text: str, vector: np.ndarray, user: int) -> list[int]:
        found = self._rows.query(query_embeddings=[vector], n_results=NEAREST, where={"user": user})
        return [int(number) for number in found["ids"][0]]


class LanceDB:
    """LanceDB on disk."""

    def __init__(self, folder: Path, rows: np.ndarray) -> None:
        import lancedb
        import lancedb.index
        import pyarrow as pa

        self._arrow, self._index = pa, lancedb.index
        self._width = rows.shape[1]
        schema = pa.schema(
            [
                ("id", pa.int64()),
                ("user", pa.int64()),
                ("text", pa.string()),
                ("vector", pa.list_(pa.float32(), self._width)),
            ]
        )
        self._rows = lancedb.connect(folder / "lance").create_table("rows", schema=schema)

    def add(self, first: int, texts: Sequence[str], vectors: np.ndarray) -> None:
        numbers = np.arange(first, first + len(texts))
        flat = self._arrow.array(vectors.ravel())
        columns = {
            "id": numbers,
            "user": numbers % USERS,
            "text": list(texts),
            "vector": self._arrow.FixedSizeListArray.from_arrays(flat, self._width),
        }
        self._rows.add(self._arrow.table(columns))

    def ready(self) -> None:
        self._rows.optimize()
        if self._rows.count_rows() >= INDEXED_FROM:
            self._rows.create_index("user", config=self._index.Bitmap())
            self._rows.create_index("vector", config=self._index.HnswSq(distance_type="cosine"))

    def search(self, _text: str, vector: np.ndarray, user: int) -> list[int]:
        found = (
            self._rows.search(vector)
            .distance_type("cosine")
            .where(f"user = {user}", prefilter=True)
            .select(["id", "text", "_distance"])
            .limit(NEAREST)
            .to_list()
        )
        return [row["id"] for row in found]


class Qdrant:
    """Qdrant's local mode."""

    def __init__(self, folder: Path, rows: np.ndarray) -> None:
        from qdrant_client import QdrantClient, models

        self._models = models
        self._client = QdrantClient(path=str(folder / "qdrant"))
        self._client.create_collection(
            "rows", vectors_config=models.VectorParams(size=rows.shape[1], distance=models.Distance.COSINE)
        )

    def add(self, first: int, texts: Sequence[str], vectors: np.ndarray) -> None:
        numbers = range(first, first + len(texts))
        self._client.upsert(
            "rows",
            self._models.Batch(
                ids=list(numbers),
                vectors=vectors.tolist(),
                payloads=[{"user": n % USERS, "text": text} for n, text in zip(numbers, texts, strict=True)],
            ),
        )

    def ready(self) -> None:
        """Nothing is left to do."""

    def search(self, _text: str, vector: np.ndarray, user: int) -> list[int]:
        of_user = self._models.FieldCondition(key="user", match=self._models.MatchValue(value=user))
        found = self._client.query_points(
            "rows", query=vector.tolist(), limit=NEAREST, query_filter=self._models.Filter(must=[of_user])
        )
        return [int(point.id) for point in found.points]


class LangGraph:
    """LangGraph's store on SQLite."""

    def __init__(self, folder: Path, rows: np.ndarray) -> None:
        from langgraph.store.base import PutOp
        from langgraph.store.sqlite import SqliteStore

        self._put = PutOp
        self._embedder = synthetic.GivenVectors(rows)
        self._open = SqliteStore.from_conn_string(
            str(folder / "graph.db"),
            index={"dims": rows.shape[1], "embed": self._embed, "fields": ["text"]},
        )
        self._store = self._open.__enter__()
        self._store.setup()

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        asked = list(texts) == ["query"]
        return self._embedder.embed(texts, kind="query" if asked else "document").tolist()

    def add(self, first: int, texts: Sequence[str], _vectors: np.ndarray) -> None:
        self._store.batch(
            [
                self._put(("users", str((first + n) % USERS)), str(first + n), {"text": text})
                for n, text in enumerate(texts)
            ]
        )

    def ready(self) -> None:
        """Nothing is left to do."""

    def search(self, _text: str, vector: np.ndarray, user: int) -> list[int]:
        self._embedder.query = vector
        found = self._store.search(("users", str(user)), query="query", limit=NEAREST)
        return [int(item.key) for item in found]


PEERS: Mapping[str, tuple[Callable[[Path, np.ndarray], Peer], str]] = {
    "orca vectors": (OrcaVectors, "orca-agent"),
    "orca recall": (OrcaRecall, "orca-agent"),
    "sqlite-vec": (SqliteVec, "sqlite-vec"),
    "chroma": (Chroma, "chromadb"),
    "lancedb": (LanceDB, "lancedb"),
    "qdrant local": (Qdrant, "qdrant-client"),
    "langgraph sqlite": (LangGraph, "langgraph-checkpoint-sqlite"),
}


@dataclass(frozen=True, slots=True)
class Task:
    """What every store of one size is given, in files, so that all get the same and none pays for its making."""

    folder: Path
    messages: int
    dimensions: int
    asked: int

    def prepare(self) -> None:
        """Write the vectors, the questions, and for each the numbers of the truly nearest rows of its user."""
        shape = (self.messages, self.dimensions)
        rows = np.lib.format.open_memmap(self.folder / "rows.npy", mode="w+", dtype=np.float32, shape=shape)
        start = 0
        for part in synthetic.vectors(self.messages, self.dimensions):
            rows[start : start + len(part)] = part
            start += len(part)
        questions = synthetic.queries(self.messages, self.dimensions, self.asked)
        np.save(self.folder / "questions.npy", questions)
        nearest = []
        for place, question in enumerate(questions):
            user = place % USERS
            best = np.argsort(-(rows[user::USERS] @ question))[:NEAREST]
            nearest.append((best * USERS + user).tolist())
        (self.folder / "nearest.json").write_text(json.dumps(nearest), encoding="utf-8")


def measure(name: str, task: Task, folder: Path) -> Figures:
    """Fill a store and search it; ``folder`` is empty."""
    rows = np.load(task.folder / "rows.npy", mmap_mode="r")
    questions = np.load(task.folder / "questions.npy")
    nearest = json.loads((task.folder / "nearest.json").read_text(encoding="utf-8"))
    before = _held()
    open_, package = PEERS[name]
    peer = open_(folder, rows)
    started = time.perf_counter()
    batch: list[str] = []
    for number, text in enumerate(synthetic.texts(task.messages), 1):
        batch.append(text)
        if len(batch) == BATCH or number == task.messages:
            first = number - len(batch)
            peer.add(first, batch, np.array(rows[first:number]))
            batch = []
    peer.ready()
    added = task.messages / (time.perf_counter() - started)
    words = list(synthetic.texts(task.asked, start=task.messages))
    times, found = [], []
    for place in range(-5, task.asked):  # the first few warm it up
        started = time.perf_counter()
        hits = peer.search(words[place].rpartition(" #")[0], questions[place], place % USERS)
        if place >= 0:
            times.append((time.perf_counter() - started) * 1000)
            found.append(len(set(nearest[place]).intersection(hits)) / len(nearest[place]))
    p50, p95, p99 = np.percentile(times, [50, 95, 99]).round(2).tolist()
    return Figures(
        store=name,
        version=metadata.version(package),
        messages=task.messages,
        dimensions=task.dimensions,
        added_per_second=round(added),
        p50=p50,
        p95=p95,
        p99=p99,
        recall=round(float(np.mean(found)), 4),
        memory=round(_held() - before),
        files=round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1),
    )


def _held() -> float:
    """Return the memory that this process holds and no file backs, in MB; what it peaked at, where that is unknown."""
    rollup = Path("/proc/self/smaps_rollup")
    if not rollup.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(line for line in rollup.read_text().splitlines() if line.startswith("Anonymous:"))
    return int(line.split()[1]) / 1024


def _measured_apart(name: str, task: Task) -> dict[str, Any] | None:
    """Measure a store in a process of its own; None if it failed, which is said."""
    command = [sys.executable, "-m", "benchmarks.peers", "--here", str(task.folder), "--stores", name]
    command += ["--messages", str(task.messages), "--dimensions", str(task.dimensions)]
    command += ["--questions", str(task.asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"{name:<18}{task.messages:>9}  failed (exit code {done.returncode})", flush=True)
        return None
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def _line(store: object, *columns: object) -> str:
    return f"{store:<18}" + "".join(f"{column:>9}" for column in columns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every store at every size, print a table, and write the figures if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--dimensions", type=int, default=1024)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--stores", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--here", type=Path, metavar="FOLDER", help="measure one store in this process")
    options = parser.parse_args(arguments)
    if options.here is not None:
        [name], [size] = options.stores, options.messages
        with tempfile.TemporaryDirectory() as folder:
            task = Task(options.here, size, options.dimensions, options.questions)
            print(json.dumps(asdict(measure(name, task, Path(folder)))), flush=True)
        return 0
    results: list[dict[str, Any]] = []
    print(_line("store", "messages", "added/s", "p50 ms", "p95", "p99", "recall", "MB", "files"))
    for size in options.messages:
        with tempfile.TemporaryDirectory() as folder:
            task = Task(Path(folder), size, options.dimensions, options.questions)
            task.prepare()
            for name in options.stores:
                row = _measured_apart(name, task)
                if row is None:
                    continue
                results.append(row)
                columns = (
                    "store",
                    "messages",
                    "added_per_second",
                    "p50",
                    "p95",
                    "p99",
                    "recall",
                    "memory",
                    "files",
                )
                print(_line(*(row[column] for column in columns)), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"figures": results}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
