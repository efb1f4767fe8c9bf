"""What each part of message search is worth: the whole, and the whole with one part changed.

    python -m benchmarks.ablation [--locomo PATH] [--bilingual] [--only WORD] [--json OUT]

Everything is stored and embedded once; a variant replaces constants or functions of ``orca.memory`` for its run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.datasets import Conversation, read_bilingual, read_locomo
from benchmarks.lanes import MovableClock
from benchmarks.measures import RANKED, Figures, Outcome, summarise
from orca.embedders.centred import CentredEmbedder
from orca.embedders.local import LocalEmbedder
from orca.memory import fusion, message_priors, message_search
from orca.memory.fusion import length_prior, level, ranks, smoothed
from orca.memory.lexical import Lexical, Rows, score_rows
from orca.memory.message_search import MessageSearch
from orca.stores.sqlite.store import SQLiteStore
from orca.text import translations
from orca.text.analysis import index_terms, query_terms
from orca.text.parts import indexed_text, is_embeddable
from orca.text.translations import QueryWords
from orca.types import Scope
from orca.wiring import SystemClock


@dataclass(frozen=True, slots=True)
class Variant:
    """A name, what is replaced as ``(module, attribute, value)``, and which vectors the queries have."""

    name: str
    changes: tuple[tuple[Any, str, Any], ...] = ()
    vectors: str = "centred"


def rank_fusion(
    lexical: Lexical, similarities: np.ndarray, rows: Rows, *, has_keywords: bool, query_share: float, k: int
) -> np.ndarray:
    """Reciprocal rank fusion (Cormack et al. 2009) in the place of the linear one, scaled to [0, 1]."""
    del query_share  # ranks have no weight that it could change
    dense = smoothed(level(similarities, rows.cjk), rows)
    everything = np.ones(len(dense), dtype=bool)
    scores = 1 / (k + ranks(dense, rows.ids, everything))
    if has_keywords:
        scores = scores + 1 / (k + ranks(lexical.scores, rows.ids, everything))
    fused: np.ndarray = scores / scores.max() * length_prior(rows.words)
    return fused


def every_term(text: str) -> list[str]:
    """Return the distinct index terms of a query, stop words among them."""
    return list(dict.fromkeys(index_terms(text)))


class TermsOnly(QueryWords):
    """Index terms as they are: no words of several characters and no translations."""

    @classmethod
    def of(cls, query: str) -> QueryWords:
        """Return each term as a concept of its own."""
        return QueryWords.plain(query_terms(query))


VARIANTS = (
    Variant("whole recipe"),
    Variant("keyword lane alone", vectors="none"),
    Variant(
        "keyword lane, turn alone",
        ((message_search, "score_rows", partial(score_rows, windows=(0,))),),
        "none",
    ),
    Variant("keyword lane, stop words kept", ((translations, "query_terms", every_term),), "none"),
    Variant("BM25 of the turn alone", ((message_search, "score_rows", partial(score_rows, windows=(0,))),)),
    Variant("vectors of queries not centred", vectors="raw"),
    Variant("no smoothing of cosines", ((fusion, "SMOOTHING", (1.0,)),)),
    Variant("no coverage gate", ((fusion, "FULL_COVERAGE", 1e-9),)),
    Variant("no translations", ((translations, "_translations", lambda _: ()),)),
    Variant("no dictionary words", ((message_search, "QueryWords", TermsOnly),)),
    Variant(
        "cosines not levelled between languages", ((message_search, "level", lambda cosines, _: cosines),)
    ),
    Variant("words weigh the same in any language", ((fusion, "OTHER_LANGUAGE_WEIGHT", 0.0),)),
    Variant("lexical weight .5", ((fusion, "LEXICAL_WEIGHT", 0.5),)),
    Variant("lexical weight .7", ((fusion, "LEXICAL_WEIGHT", 0.7),)),
    Variant("rank fusion, k = 10", ((message_search, "_scores", partial(rank_fusion, k=10)),)),
    Variant("rank fusion, k = 60", ((message_search, "_scores", partial(rank_fusion, k=60)),)),
    Variant("no prior for questions", ((message_priors, "QUESTION_PRIOR", 1.0),)),
    Variant("no prior for the named speaker", ((message_priors, "SPEAKER_PRIOR", 1.0),)),
    Variant("no prior for who tells", ((message_priors, "TELLER_PRIOR", 1.0),)),
    Variant("no prior for dates", ((message_priors, "DATE_PRIOR", 1.0),)),
    Variant("no prior for relative dates", ((message_priors, "RELATIVE_DATE_PRIOR", 1.0),)),
    Variant("no prior for amounts", ((message_priors, "AMOUNT_PRIOR", 1.0),)),
    Variant("no prior for times", ((message_priors, "TIME_PRIOR", 1.0),)),
    Variant("no prior for answers", ((message_priors, "ANSWER_PRIOR", 1.0),)),
    Variant("no prior for length", ((fusion, "SHORT_PRIOR", 0.0),)),
    Variant(
        "no priors at all",
        (
            (message_search, "message_priors", lambda *_: {}),
            (fusion, "SHORT_PRIOR", 0.0),
        ),
    ),
)


SHOWN = ("any@5", "any@10", "fraction@10", "MRR")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the variants and print their figures over all questions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="LoCoMo's JSON file")
    parser.add_argument("--bilingual", action="store_true", help="the set in benchmarks/data/bilingual")
    parser.add_argument("--only", default="", metavar="WORD", help="variants whose name contains this")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here as JSON")
    options = parser.parse_args(arguments)

    sets = {"locomo": read_locomo(options.locomo)} if options.locomo else {}
    if options.bilingual or not sets:
        sets["bilingual"] = read_bilingual()
    document: dict[str, dict[str, object]] = {}
    for name, conversations in sets.items():
        bench = _Bench(conversations)
        print(f"{name:34} " + " ".join(f"{shown:>11}" for shown in SHOWN) + "  cross-language any@5")
        for variant in VARIANTS:
            if options.only not in variant.name:
                continue
            table = bench.measure(variant)
            document.setdefault(name, {})[variant.name] = {key: row.as_json() for key, row in table.items()}
            across = table.get("cross-language")
            print(
                f"{variant.name:34} "
                + " ".join(f"{table['all'].means[shown]:11.3f}" for shown in SHOWN)
                + (f"  {across.means['any@5']:.3f}" if across else ""),
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


class _Remembering:
    """Hands on the calls of one facet of a store and keeps what they gave: no variant changes what is stored."""

    def __init__(self, facet: Any) -> None:
        self._facet = facet
        self._known: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._facet, name)
        if not callable(value):
            return value

        def remembered(*arguments: Any, **named: Any) -> Any:
            key = (name, *map(_key, arguments), *((word, _key(given)) for word, given in named.items()))
            if key not in self._known:
                self._known[key] = value(*arguments, **named)
            return self._known[key]

        return remembered


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return tuple(value) if isinstance(value, list) else value


class _Bench:
    """All conversations in one store, and the vectors of all questions."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        local = LocalEmbedder()
        self._clock = MovableClock()
        self._store = SQLiteStore(":memory:", clock=SystemClock())
        self._store.vectors.use_space(local.space)
        remembering: Any = SimpleNamespace(
            messages=_Remembering(self._store.messages), vectors=_Remembering(self._store.vectors)
        )
        self._search = MessageSearch(remembering, clock=self._clock)
        self._names: dict[int, str] = {}
        for conversation in conversations:
            for session, messages in conversation.sessions.items():
                scope = Scope(user=conversation.user, session=session)
                stored = self._store.messages.append(messages, scope=scope)
                self._names |= {message.id or 0: message.metadata["id"] for message in stored}
                worth = [message for message in stored if is_embeddable(message)]
                for start in range(0, len(worth), local.max_batch):
                    batch = worth[start : start + local.max_batch]
                    vectors = local.embed([indexed_text(message) for message in batch], kind="document")
                    ids = [message.id or 0 for message in batch]
                    self._store.vectors.save_embedding("message", ids, vectors)
            print(f"{conversation.user} is stored", file=sys.stderr)
        self._questions = [
            (Scope(user=conversation.user), question)
            for conversation in conversations
            for question in conversation.questions
        ]

        def embed(embedder: Any) -> list[np.ndarray]:
            return [embedder.embed([question.text], kind="query")[0] for _, question in self._questions]

        self._vectors: dict[str, Sequence[np.ndarray | None]] = {
            "centred": embed(CentredEmbedder(local)),
            "raw": embed(local),
            "none": [None] * len(self._questions),
        }

    def measure(self, variant: Variant) -> Mapping[str, Figures]:
        outcomes = []
        with ExitStack() as changes:
            for module, name, value in variant.changes:
                changes.enter_context(patch.object(module, name, value))
            vectors = self._vectors[variant.vectors]
            for (scope, question), vector in zip(self._questions, vectors, strict=True):
                self._clock.move_to(question.asked)
                hits = self._search.search(question.text, vector, scope=scope, limit=RANKED)
                place = {self._names[hit.id]: rank for rank, hit in enumerate(hits, 1)}
                ranks_found = tuple(float(place.get(name, np.inf)) for name in sorted(question.evidence))
                outcomes.append(Outcome(question, ranks_found))
        return summarise(outcomes)


if __name__ == "__main__":
    raise SystemExit(main())
