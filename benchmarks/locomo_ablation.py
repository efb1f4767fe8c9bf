"""What each part of message search is worth on LoCoMo: the whole, and the whole with one part changed.

    python -m benchmarks.locomo_ablation PATH [--only WORD] [--json OUT]

Everything is stored and embedded once; a variant replaces constants or functions of ``orca.memory`` for its run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.locomo import RANKED, Figures, Question, read_messages, read_questions, summarise
from orca.embedders.centred import CentredEmbedder
from orca.embedders.local import LocalEmbedder
from orca.memory import fusion, message_priors, message_search
from orca.memory.fusion import ranks, smoothed
from orca.memory.lexical import Lexical, Rows, score_rows
from orca.memory.message_search import MessageSearch
from orca.stores.sqlite.store import SQLiteStore
from orca.text.analysis import index_terms
from orca.text.parts import indexed_text, is_embeddable
from orca.types import Message, Scope
from orca.wiring import SystemClock


@dataclass(frozen=True, slots=True)
class Variant:
    """A name, what is replaced as ``(module, attribute, value)``, and which vectors the queries have."""

    name: str
    changes: tuple[tuple[Any, str, Any], ...] = ()
    vectors: str = "centred"


def rank_fusion(
    lexical: Lexical, similarities: np.ndarray, rows: Rows, *, has_keywords: bool, k: int
) -> np.ndarray:
    """Reciprocal rank fusion (Cormack et al. 2009) in the place of the linear one, scaled to [0, 1]."""
    dense = smoothed(similarities, rows)
    everything = np.ones(len(dense), dtype=bool)
    scores = 1 / (k + ranks(dense, rows.ids, everything))
    if has_keywords:
        scores = scores + 1 / (k + ranks(lexical.scores, rows.ids, everything))
    fused: np.ndarray = scores / scores.max() * fusion.length_prior(rows.lengths)
    return fused


VARIANTS = (
    Variant("whole recipe"),
    Variant("keyword lane alone", vectors="none"),
    Variant(
        "keyword lane, turn alone",
        ((message_search, "score_rows", partial(score_rows, windows=(0,))),),
        "none",
    ),
    Variant("keyword lane, stop words kept", ((message_search, "query_terms", index_terms),), "none"),
    Variant("BM25 of the turn alone", ((message_search, "score_rows", partial(score_rows, windows=(0,))),)),
    Variant("vectors of queries not centred", vectors="raw"),
    Variant("no smoothing of cosines", ((fusion, "SMOOTHING", (1.0,)),)),
    Variant("no coverage gate", ((fusion, "FULL_COVERAGE", 1e-9),)),
    Variant("lexical weight .5", ((fusion, "LEXICAL_WEIGHT", 0.5),)),
    Variant("lexical weight .7", ((fusion, "LEXICAL_WEIGHT", 0.7),)),
    Variant("rank fusion, k = 10", ((message_search, "_scores", partial(rank_fusion, k=10)),)),
    Variant("rank fusion, k = 60", ((message_search, "_scores", partial(rank_fusion, k=60)),)),
    Variant("no prior for questions", ((message_priors, "QUESTION_PRIOR", 1.0),)),
    Variant("no prior for the named speaker", ((message_priors, "SPEAKER_PRIOR", 1.0),)),
    Variant("no prior for dates", ((message_priors, "DATE_PRIOR", 1.0),)),
    Variant("no prior for answers", ((message_priors, "ANSWER_PRIOR", 1.0),)),
    Variant("no prior for length", ((fusion, "SHORT_PRIOR", 0.0),)),
    Variant(
        "no priors at all",
        (
            (message_search, "message_prior", lambda *_: 1.0),
            (fusion, "SHORT_PRIOR", 0.0),
        ),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the variants and print their figures over all questions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.locomo_ablation", description=__doc__)
    parser.add_argument("path", type=Path, help="the JSON file of conversations with their questions")
    parser.add_argument("--only", default="", metavar="WORD", help="variants whose name contains this")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here as JSON")
    options = parser.parse_args(arguments)

    samples = json.loads(options.path.read_text(encoding="utf-8"))
    bench = _Bench(samples)
    results: dict[str, Figures] = {}
    print(f"{'':34} {'any@5':>6} {'any@10':>6} {'frac@10':>7} {'MRR':>6}")
    for variant in VARIANTS:
        if options.only in variant.name:
            row = results[variant.name] = bench.measure(variant)
            print(
                f"{variant.name:34} {row.any_at_5:6.3f} {row.any_at_10:6.3f} {row.fraction_at_10:7.3f} {row.mrr:6.3f}",
                flush=True,
            )
    if options.json:
        document = {name: asdict(row) for name, row in results.items()}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


class _Bench:
    """All conversations in one store, and the vectors of all questions."""

    def __init__(self, samples: Sequence[Mapping[str, Any]]) -> None:
        local = LocalEmbedder()
        centred = CentredEmbedder(local)
        self._store = SQLiteStore(":memory:", clock=SystemClock())
        self._store.vectors.use_space(local.space)
        self._search = MessageSearch(self._store)
        self._turns: dict[int, str] = {}
        self._questions: list[tuple[Scope, Question]] = []
        for sample in samples:
            user = sample["sample_id"]
            for session, message in read_messages(sample):
                for stored in self._store.messages.append([message], scope=Scope(user=user, session=session)):
                    self._turns[stored.id or 0] = stored.metadata["dia_id"]
                    self._embed(stored, local)
            self._questions += [(Scope(user=user), question) for question in read_questions(sample)]
            print(f"{user} is stored", file=sys.stderr)

        def embed(embedder: Any) -> list[np.ndarray]:
            return [embedder.embed([question.text], kind="query")[0] for _, question in self._questions]

        self._vectors: dict[str, Sequence[np.ndarray | None]] = {
            "centred": embed(centred),
            "raw": embed(local),
            "none": [None] * len(self._questions),
        }

    def _embed(self, message: Message, embedder: LocalEmbedder) -> None:
        if is_embeddable(message) and message.id is not None:
            vectors = embedder.embed([indexed_text(message)], kind="document")
            self._store.vectors.save_embedding("message", [message.id], vectors)

    def measure(self, variant: Variant) -> Figures:
        found = []
        with ExitStack() as changes:
            for module, name, value in variant.changes:
                changes.enter_context(patch.object(module, name, value))
            for (scope, question), vector in zip(
                self._questions, self._vectors[variant.vectors], strict=True
            ):
                hits = self._search.search(question.text, vector, scope=scope, limit=RANKED)
                place = {self._turns[hit.id]: rank for rank, hit in enumerate(hits, 1)}
                found.append(
                    (question.category, [place.get(turn, float("inf")) for turn in question.evidence])
                )
        return summarise(found)["all"]


if __name__ == "__main__":
    raise SystemExit(main())
