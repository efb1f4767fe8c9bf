"""Turn-level evidence retrieval on LoCoMo (Maharana et al., ACL 2024), which is not part of this repository.

    python -m benchmarks.locomo PATH [--keyword-only] [--json OUT]

Each conversation becomes one user's memory, each turn a message. A question of categories 1 to 4 is searched
over all sessions; reported is whether, and how much of, its evidence is among the first hits.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import numpy as np

from orca.embedders.centred import CentredEmbedder
from orca.embedders.local import LocalEmbedder
from orca.memory.message_search import MessageSearch
from orca.stores.sqlite.store import SQLiteStore
from orca.text.parts import indexed_text, is_embeddable
from orca.types import Hit, Message, Scope
from orca.wiring import SystemClock, open_memory

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
DEPTH = 10

RANKED = 50
"""Hits asked for; evidence further down has a reciprocal rank of 0."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its category, and the ids of the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over questions: any evidence in the first 5 and 10, share of it in the first 10, reciprocal rank."""

    questions: int
    any_at_5: float
    any_at_10: float
    fraction_at_10: float
    mrr: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print a table for each way of searching."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.locomo", description=__doc__)
    parser.add_argument("path", type=Path, help="the JSON file of conversations with their questions")
    parser.add_argument("--keyword-only", action="store_true", help="leave the embedding model out")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here as JSON")
    options = parser.parse_args(arguments)

    samples = json.loads(options.path.read_text(encoding="utf-8"))
    ways = ("keyword",) if options.keyword_only else ("keyword", "dense", "hybrid")
    results = {way: _run(samples, way) for way in ways}
    for way, (table, milliseconds) in results.items():
        print(f"\n{way} (median search {milliseconds:.1f} ms without embedding)")
        print(f"  {'':12} {'n':>5} {'any@5':>7} {'any@10':>7} {'frac@10':>8} {'MRR':>6}")
        for name, row in table.items():
            print(
                f"  {name:12} {row.questions:5d} {row.any_at_5:7.3f} {row.any_at_10:7.3f}"
                f" {row.fraction_at_10:8.3f} {row.mrr:6.3f}"
            )
    if options.json:
        document = {
            way: {
                "median_search_ms": round(milliseconds, 2),
                **{name: asdict(row) for name, row in table.items()},
            }
            for way, (table, milliseconds) in results.items()
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def read_messages(sample: Mapping[str, Any]) -> Iterator[tuple[str, Message]]:
    """Yield ``(session, message)`` of a conversation in order; turns of a session are one minute apart."""
    conversation = sample["conversation"]
    numbers = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        start = datetime.strptime(
            conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y"
        ).replace(tzinfo=UTC)
        for minute, turn in enumerate(conversation[f"session_{number}"]):
            caption = f" [shared photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield (
                f"session_{number}",
                Message(
                    role="user" if turn["speaker"] == conversation["speaker_a"] else "assistant",
                    name=turn["speaker"],
                    content=turn["text"] + caption,
                    timestamp=start + timedelta(minutes=minute),
                    metadata={"dia_id": turn["dia_id"]},
                ),
            )


def read_questions(sample: Mapping[str, Any]) -> list[Question]:
    """Return the questions of categories 1 to 4 that name evidence which exists."""
    turns = {message.metadata["dia_id"] for _, message in read_messages(sample)}
    questions = []
    for entry in sample["qa"]:
        # The data has ids like "D8:06" and "D8:6; D9:17" in one string.
        named = re.findall(r"D(\d+):(\d+)", " ".join(entry["evidence"]))
        evidence = frozenset(f"D{int(session)}:{int(turn)}" for session, turn in named) & turns
        if entry["category"] in CATEGORIES and evidence:
            questions.append(Question(entry["question"], entry["category"], evidence))
    return questions


def summarise(ranks: Sequence[tuple[int, list[float]]]) -> dict[str, Figures]:
    """Return figures by category and overall from ``(category, ranks of its evidence from 1, inf if not found)``."""
    groups = {
        name: [found for category, found in ranks if category == key] for key, name in CATEGORIES.items()
    }
    groups["all"] = [found for _, found in ranks]
    return {
        name: Figures(
            questions=len(found),
            any_at_5=float(np.mean([min(places) <= 5 for places in found])),
            any_at_10=float(np.mean([min(places) <= DEPTH for places in found])),
            fraction_at_10=float(
                np.mean([sum(place <= DEPTH for place in places) / len(places) for places in found])
            ),
            mrr=float(np.mean([1 / min(places) for places in found])),
        )
        for name, found in groups.items()
        if found
    }


def _run(samples: Sequence[Mapping[str, Any]], way: str) -> tuple[dict[str, Figures], float]:
    ranks: list[tuple[int, list[float]]] = []
    times: list[float] = []
    with _DenseOnly() if way == "dense" else _Everything(with_vectors=way == "hybrid") as corpus:
        for sample in samples:
            user = sample["sample_id"]
            sessions: dict[str, list[Message]] = {}
            for session, message in read_messages(sample):
                sessions.setdefault(session, []).append(message)
            turn_of: dict[int, str] = {}
            for session, messages in sessions.items():
                for stored in corpus.add(messages, Scope(user=user, session=session)):
                    turn_of[stored.id or 0] = stored.metadata["dia_id"]
            corpus.settle()
            for question in read_questions(sample):
                corpus.prepare(question.text)
                began = time.perf_counter()
                hits = corpus.search(question.text, Scope(user=user))
                times.append(time.perf_counter() - began)
                place = {turn_of[hit.id]: rank for rank, hit in enumerate(hits, 1)}
                ranks.append(
                    (question.category, [place.get(turn, float("inf")) for turn in question.evidence])
                )
            print(f"{way}: {user} done", file=sys.stderr)
    return summarise(ranks), float(np.median(times)) * 1000


class _Everything:
    """The memory as a user opens it: what it gives for ``search_messages``."""

    def __init__(self, *, with_vectors: bool) -> None:
        embedder = LocalEmbedder() if with_vectors else None
        self._memory = open_memory(":memory:", embedder=embedder, chat_model=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._memory.close()

    def add(self, messages: Sequence[Message], scope: Scope) -> list[Message]:
        return self._memory.observe_many(scope=scope, messages=messages)

    def settle(self) -> None:
        if not self._memory.flush(timeout=600):
            raise RuntimeError("background work did not finish within ten minutes")

    def prepare(self, query: str) -> None:
        # The query's vector is kept, so that what is timed next is the search alone.
        self._memory.search_messages(scope=Scope(user="nobody"), query=query, limit=1)

    def search(self, query: str, scope: Scope) -> list[Hit]:
        return self._memory.search_messages(scope=scope, query=query, limit=RANKED)


class _DenseOnly:
    """The same search with the vector lane alone, which a memory does not offer."""

    def __init__(self) -> None:
        self._embedder = CentredEmbedder(LocalEmbedder())
        self._store = SQLiteStore(":memory:", clock=SystemClock())
        self._store.vectors.use_space(self._embedder.space)
        self._search = MessageSearch(self._store)
        self._vector = np.zeros(self._embedder.space.dimensions, dtype=np.float32)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._store.close()

    def add(self, messages: Sequence[Message], scope: Scope) -> list[Message]:
        stored = self._store.messages.append(messages, scope=scope)
        worth = [message for message in stored if is_embeddable(message)]
        for start in range(0, len(worth), self._embedder.max_batch):
            batch = worth[start : start + self._embedder.max_batch]
            vectors = self._embedder.embed([indexed_text(message) for message in batch], kind="document")
            self._store.vectors.save_embedding("message", [message.id or 0 for message in batch], vectors)
        return stored

    def settle(self) -> None:
        """Do nothing: everything is embedded already."""

    def prepare(self, query: str) -> None:
        self._vector = self._embedder.embed([query], kind="query")[0]

    def search(self, _query: str, scope: Scope) -> list[Hit]:
        return self._search.search("", self._vector, scope=scope, limit=RANKED)


if __name__ == "__main__":
    raise SystemExit(main())
