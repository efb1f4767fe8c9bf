"""How well messages are found: evidence of questions among the first hits.

    python -m benchmarks.retrieval [--locomo PATH] [--bilingual] [--one-user] [--ways WAYS] [--json OUT]

Each conversation is one user's memory, or all are one user's with ``--one-user``. Everything is stored before the
first question. ``--json`` writes all figures with their intervals.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.datasets import Conversation, in_one_user, read_bilingual, read_locomo
from benchmarks.lanes import WAYS, searcher
from benchmarks.measures import DRAWS, SEED, Figures, Outcome, summarise
from orca.embedders.local import LocalEmbedder
from orca.types import Scope

SHOWN = ("any@5", "any@10", "fraction@5", "fraction@10", "all@10", "MRR", "nDCG@10")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; print a table for each way of searching."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="LoCoMo's JSON file")
    parser.add_argument("--bilingual", action="store_true", help="the set in benchmarks/data/bilingual")
    parser.add_argument("--one-user", action="store_true", help="all conversations in one user's memory")
    parser.add_argument("--ways", default=",".join(WAYS), help="which of " + ", ".join(WAYS))
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    options = parser.parse_args(arguments)
    ways = options.ways.split(",")
    if unknown := set(ways) - set(WAYS):
        parser.error(f"no such way: {', '.join(sorted(unknown))}")

    sets: dict[str, list[Conversation]] = {}
    if options.locomo:
        sets["locomo"] = read_locomo(options.locomo)
    if options.bilingual or not sets:
        sets["bilingual"] = read_bilingual()
    results: dict[str, object] = {}
    for name, conversations in sets.items():
        given = in_one_user(conversations) if options.one_user else conversations
        label = f"{name}, one user" if options.one_user else name
        results[label] = {way: _report(label, way, given) for way in ways}
    if options.json:
        document = {
            "commit": _commit(),
            "model": LocalEmbedder().space.key,
            "intervals": f"95 %, bootstrap over questions, {DRAWS} draws, seed {SEED}",
            **results,
        }
        options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def measure(way: str, conversations: Sequence[Conversation]) -> tuple[list[Outcome], float]:
    """Return the outcome of every question, and the median time of a search in milliseconds."""
    outcomes: list[Outcome] = []
    times: list[float] = []
    with searcher(way) as corpus:
        name_of: dict[int, str] = {}
        for conversation in conversations:
            for session, messages in conversation.sessions.items():
                for stored in corpus.add(messages, Scope(user=conversation.user, session=session)):
                    name_of[stored.id or 0] = stored.metadata["id"]
        corpus.settle()
        for conversation in conversations:
            scope = Scope(user=conversation.user, session="questions")
            for question in conversation.questions:
                corpus.clock.move_to(question.asked)
                corpus.prepare(question.text)
                began = time.perf_counter()
                hits = corpus.search(question.text, scope)
                times.append(time.perf_counter() - began)
                place: dict[str, int] = {}
                for rank, ids in enumerate(hits, 1):
                    for number in ids:
                        place.setdefault(name_of[number], rank)
                ranks = tuple(float(place.get(name, np.inf)) for name in sorted(question.evidence))
                outcomes.append(Outcome(question, ranks))
            print(f"{way}: {conversation.user} done", file=sys.stderr)
    return outcomes, float(np.median(times)) * 1000


def _report(label: str, way: str, conversations: Sequence[Conversation]) -> dict[str, object]:
    outcomes, milliseconds = measure(way, conversations)
    table = summarise(outcomes)
    print(f"\n{label}: {way} (median search {milliseconds:.1f} ms without embedding)")
    print(f"  {'':16} {'n':>5} " + " ".join(f"{name:>11}" for name in SHOWN))
    for name, row in table.items():
        print(f"  {name:16} {row.questions:5d} " + " ".join(f"{row.means[shown]:11.3f}" for shown in SHOWN))
    print("  95 % of all      " + " ".join(_interval(table["all"], name) for name in SHOWN), flush=True)
    return {
        "median_search_ms": round(milliseconds, 2),
        **{name: row.as_json() for name, row in table.items()},
    }


def _interval(row: Figures, name: str) -> str:
    low, high = row.intervals[name]
    return f"{low:.3f}–{high:.3f}"


def _commit() -> str:
    run = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    return run.stdout.strip() or "unknown"


if __name__ == "__main__":
    raise SystemExit(main())
