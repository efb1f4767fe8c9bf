"""Search over summaries and memories: rows that stand alone, so without windows and neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from orca.memory.fusion import (
    Ranked,
    best_first,
    dense_trust,
    fuse,
    lanes_at,
    lexical_weight,
    min_max,
    ranks,
    share_of_best,
)
from orca.memory.lexical import place_rows, score_rows
from orca.memory.maintenance import is_expired
from orca.memory.memory_boosts import MAX_BOOST, boost
from orca.memory.query_embedding import SEARCHED_CHARACTERS, bounded
from orca.memory.relevance import Background, background_of, relevance
from orca.memory.retrieval_constants import CANDIDATES
from orca.protocols import Clock, Store
from orca.text.small_talk import is_small_talk
from orca.text.translations import QueryWords
from orca.types import Hit, KeywordResult, Lane, Memory, Placements, Scope, Summary

READ = 20
"""Ranked rows that are read at a time, until there are as many hits as asked for."""


class RecordSearch:
    """Finds a session's summaries and a user's memories by keywords and by meaning. Thread-safe, holds no state."""

    def __init__(self, store: Store, *, clock: Clock, background: Background | None = None) -> None:
        """``background`` is known for an embedder that was measured; None learns it from the rows found."""
        self._store = store
        self._clock = clock
        self._background = background

    def search(
        self,
        record: Literal["summary", "memory"],
        query: str,
        query_vector: np.ndarray | None,
        *,
        scope: Scope,
        limit: int,
        keywords: bool = True,
    ) -> list[Hit]:
        """Return the best ``limit`` hits, best first; none for a limit below 1 or where neither lane finds a row.

        A memory whose time is over is not found.
        ``query_vector`` is the query's unit vector float32 ``[dimensions]``; without it keywords serve alone,
        without ``keywords`` the vectors. Each hit's ``relevance`` says whether it should enter a prompt unasked.
        """
        if limit < 1:
            return []
        query = bounded(query, SEARCHED_CHARACTERS)
        width = max(CANDIDATES, limit)
        facet = self._store.summaries if record == "summary" else self._store.memories
        words = QueryWords.of(query) if keywords else QueryWords()
        keyword = facet.search(words.terms, scope=scope, limit=width) if words.terms else KeywordResult()
        near: list[tuple[int, float]] = []
        if query_vector is not None and self._store.vectors.available:
            near = self._store.vectors.search_similar(record, query_vector, scope=scope, limit=width)
        ranked = rank_records(words, keyword, near, background=self._background)
        if is_small_talk(query):
            ranked = [replace(place, relevance=0.0) for place in ranked]
        hits: list[Hit] = []
        step = max(READ, limit)  # boosts act within what is read at a time
        for start in range(0, len(ranked), step):
            hits += self._hits(record, ranked[start : start + step], scope)
            if len(hits) >= limit:
                break
        return sorted(hits, key=lambda hit: -hit.score)[:limit]  # stable: equals keep the order of rank

    def _hits(
        self, record: Literal["summary", "memory"], ranked: Sequence[Ranked], scope: Scope
    ) -> list[Hit]:
        now = self._clock.now()
        found = {row.id: row for row in self._rows(record, [place.id for place in ranked], scope)}
        hits = []
        for place in ranked:
            row = found.get(place.id)
            if row is None or (isinstance(row, Memory) and is_expired(row, now)):
                continue
            score = place.score
            if isinstance(row, Memory):
                score *= boost(row, now) / MAX_BOOST
            hits.append(record_hit(row, score=score, lanes=place.lanes, relevance=place.relevance))
        return hits

    def _rows(
        self, record: Literal["summary", "memory"], ids: Sequence[int], scope: Scope
    ) -> Sequence[Summary | Memory]:
        if record == "summary":
            return self._store.summaries.get_many(ids, scope=scope)
        return self._store.memories.get_many(ids, scope=scope)


def rank_records(
    words: QueryWords,
    keyword: KeywordResult,
    near: Sequence[tuple[int, float]],
    *,
    background: Background | None,
) -> list[Ranked]:
    """Return the rows of both lanes, best first. ``near`` holds ids and cosines; either lane may be empty."""
    lengths = dict.fromkeys((row_id for row_id, _ in near), 0) | {m.id: m.length for m in keyword.matches}
    held = {match.id: match.frequencies for match in keyword.matches}
    nothing = (0,) * len(words.terms)
    alone = np.zeros(len(lengths), dtype=np.int64)
    rows = place_rows(
        Placements(
            ids=np.array(list(lengths), dtype=np.int64),
            sessions=alone,
            positions=alone,
            lengths=np.array(list(lengths.values()), dtype=np.int64),
            characters=alone,
            frequencies=np.array([held.get(row_id, nothing) for row_id in lengths], dtype=np.int64).reshape(
                len(lengths), len(words.terms)
            ),
        )
    )
    if not len(rows.ids):
        return []
    lexical = score_rows(keyword, rows, query=words, windows=(0,))
    cosines = dict(near)
    similarities = np.array([cosines.get(row_id, np.nan) for row_id in rows.ids.tolist()])
    sure = relevance(similarities, lexical.coverage, background or background_of(similarities))
    scores = fuse(
        share_of_best(lexical.scores) if keyword.matches else None,
        min_max(np.nan_to_num(similarities, nan=min(cosines.values()))) if near else None,
        weight=lexical_weight(lexical.best_coverage),
        trust=dense_trust(similarities),
    )
    lanes = {
        "keyword": (lexical.scores, ranks(lexical.scores, rows.ids, lexical.scores > 0)),
        "dense": (similarities, ranks(similarities, rows.ids, ~np.isnan(similarities))),
    }
    return [
        Ranked(
            id=int(rows.ids[place]),
            score=float(scores[place]),
            relevance=float(sure[place]),
            lanes=lanes_at(place, lanes),
        )
        for place in best_first(scores, rows.ids).tolist()
    ]


def record_hit(
    row: Summary | Memory, *, score: float, lanes: Mapping[str, Lane], relevance: float = 1.0
) -> Hit:
    """Return a stored summary or memory as a hit. A memory's time is when it became true, not when it was stored."""
    if row.id is None:
        raise ValueError("only a stored row can be a hit")
    if isinstance(row, Summary):
        return Hit(
            kind="summary",
            id=row.id,
            session=row.session,
            content=row.content,
            score=score,
            lanes=lanes,
            created_at=row.created_at,
            source=row.origin,
            relevance=relevance,
        )
    return Hit(
        kind="memory",
        id=row.id,
        session=row.source_session,
        content=row.content,
        score=score,
        lanes=lanes,
        created_at=row.valid_from or row.created_at,
        source=row.origin,
        relevance=relevance,
        memory_kind=row.kind,
    )
