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
from typing import Any

import numpy as np

from orca.embedders.centred import UNRELATED_DEVIATION, UNRELATED_MEAN, CentredEmbedder
from orca.embedders.local import LocalEmbedder
from orca.memory.message_search import MessageSearch
from orca.memory.relevance import Background
from orca.stores.sqlite.store import SQLiteStore
from orca.text.parts import indexed_text, is_embeddable
from orca.types import Message, Scope

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
DEPTH = 10


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


class _Now:
    """The machine's clock; every message brings its own time."""

    def now(self) -> datetime:
        return datetime.now(UTC)


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
    groups = {name: [found for category, found in ranks if category == key] for key, name in CATEGORIES.items()}
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
    embedder = None if way == "keyword" else CentredEmbedder(LocalEmbedder())
    store = SQLiteStore(":memory:", clock=_Now())
    if embedder is not None:
        store.vectors.use_space(embedder.space)
    search = MessageSearch(store, background=Background(mean=UNRELATED_MEAN, deviation=UNRELATED_DEVIATION))
    ranks: list[tuple[int, list[float]]] = []
    times = []
    for sample in samples:
        user = sample["sample_id"]
        turn_of: dict[int, str] = {}
        by_session: dict[str, list[Message]] = {}
        for session, message in read_messages(sample):
            by_session.setdefault(session, []).append(message)
        for session, messages in by_session.items():
            stored = store.messages.append(messages, scope=Scope(user=user, session=session))
            turn_of |= {message.id: message.metadata["dia_id"] for message in stored if message.id is not None}
            if embedder is not None:
                worth = [message for message in stored if is_embeddable(message)]
                for start in range(0, len(worth), embedder.max_batch):
                    batch = worth[start : start + embedder.max_batch]
                    vectors = embedder.embed([indexed_text(message) for message in batch], kind="document")
                    store.vectors.save_embedding(
                        "message", [message.id for message in batch if message.id is not None], vectors
                    )
        for question in read_questions(sample):
            vector = None if embedder is None else embedder.embed([question.text], kind="query")[0]
            began = time.perf_counter()
            hits = search.search(
                "" if way == "dense" else question.text, vector, scope=Scope(user=user), limit=50
            )
            times.append(time.perf_counter() - began)
            place = {turn_of[hit.id]: rank for rank, hit in enumerate(hits, 1)}
            ranks.append((question.category, [place.get(turn, float("inf")) for turn in question.evidence]))
        print(f"{way}: {user} done", file=sys.stderr)
    store.close()
    return summarise(ranks), float(np.median(times)) * 1000


if __name__ == "__main__":
    raise SystemExit(main())
