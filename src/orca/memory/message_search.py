"""Search over the messages of the main conversation: both lanes, a turn's surroundings, and priors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from orca.memory.fusion import (
    Ranked,
    below_exact,
    best_first,
    dense_trust,
    fuse,
    lanes_at,
    length_prior,
    level,
    lexical_weight,
    lift_best,
    min_max,
    ranks,
    share_of_best,
    smoothed,
)
from orca.memory.lexical import Lexical, Rows, place_rows, score_rows
from orca.memory.message_priors import Asked, message_priors
from orca.memory.query_embedding import SEARCHED_CHARACTERS, bounded
from orca.memory.relevance import Background, background_of, relevance
from orca.memory.retrieval_constants import CANDIDATES, EXPANDED, FEW_WORDS, MAX_PRIOR, NEIGHBOURS, RERANKED
from orca.protocols import Clock, Store
from orca.text.analysis import count_words, query_terms
from orca.text.language import cjk_share
from orca.text.parts import plain_text
from orca.text.small_talk import is_small_talk
from orca.text.translations import QueryWords
from orca.types import Hit, KeywordResult, Message, Scope


class MessageSearch:
    """Finds messages of a user by keywords and by meaning. Thread-safe, holds no state.

    The work is bounded whatever the size of the store: the vectors bring in up to ``CANDIDATES`` rows, the turns
    around the best ``EXPANDED`` of each lane are looked up, and only the best ``RERANKED`` are read. Who asks for
    more hits than that gets them.
    """

    def __init__(
        self, store: Store, *, background: Background | None = None, clock: Clock | None = None
    ) -> None:
        """``background`` is known for an embedder that was measured; None learns it from the rows found.

        Without a ``clock`` nobody knows which day "yesterday" was, and such words stand for no date.
        """
        self._clock = clock
        self._store = store
        self._background = background

    def search(
        self,
        query: str,
        query_vector: np.ndarray | None,
        *,
        scope: Scope,
        limit: int,
        across_sessions: bool = True,
        keywords: bool = True,
    ) -> list[Hit]:
        """Return the best ``limit`` messages, best first; none for a limit below 1 or a blank query.

        ``query_vector`` is the query's unit vector float32 ``[dimensions]``; without it keywords serve alone.
        Without ``keywords`` the vectors do. A hit may come in without a match of its own, for the turns around it.
        """
        if limit < 1:
            return []
        query = bounded(query, SEARCHED_CHARACTERS)
        words = QueryWords.of(query) if keywords else QueryWords()
        keyword, near = self._lanes(
            words.terms, query_vector, scope, limit=limit, across_sessions=across_sessions
        )
        rows, near = self._expand(keyword, near, query_vector, scope, terms=words.terms, limit=limit)
        if not len(rows.ids):
            return []
        lexical = score_rows(keyword, rows, query=words)
        cosines = dict(near)
        similarities = np.array([cosines.get(row_id, np.nan) for row_id in rows.ids.tolist()])
        fused = _scores(
            lexical, similarities, rows, has_keywords=bool(keyword.matches), query_share=cjk_share(query)
        )
        if is_small_talk(query):
            sure = np.zeros(len(fused))
        else:
            background = self._background or background_of(similarities)
            sure = relevance(similarities, lexical.coverage, background)
        return self._rerank(query, rows, fused, sure, lexical, similarities, scope=scope, limit=limit)

    def _lanes(
        self,
        terms: Sequence[str],
        query_vector: np.ndarray | None,
        scope: Scope,
        *,
        limit: int,
        across_sessions: bool,
    ) -> tuple[KeywordResult, list[tuple[int, float]]]:
        store = self._store
        keyword = KeywordResult()
        if terms:
            keyword = store.messages.search(
                terms, scope=scope, limit=max(EXPANDED, limit), across_sessions=across_sessions
            )
        near: list[tuple[int, float]] = []
        if query_vector is not None and store.vectors.available:
            near = store.vectors.search_similar(
                "message",
                query_vector,
                scope=scope,
                limit=max(CANDIDATES, limit),
                across_sessions=across_sessions,
            )
        return keyword, near

    def _expand(
        self,
        keyword: KeywordResult,
        near: list[tuple[int, float]],
        query_vector: np.ndarray | None,
        scope: Scope,
        *,
        terms: Sequence[str],
        limit: int,
    ) -> tuple[Rows, list[tuple[int, float]]]:
        """Return the candidates with the turns around the best of them, and the cosines of all that have one."""
        width = max(EXPANDED, limit)
        best = [match.id for match in keyword.matches[:width]] + [row_id for row_id, _ in near[:width]]
        placements = self._store.messages.neighbours(
            list(dict.fromkeys(best)), scope=scope, radius=NEIGHBOURS, terms=terms
        )
        if len(near) >= CANDIDATES and query_vector is not None:
            # There are more rows than the lane brought in: neighbours may have cosines that are not known yet.
            known = {row_id for row_id, _ in near}
            missing = [row_id for row_id in placements.ids.tolist() if row_id not in known]
            near = near + self._store.vectors.similarities("message", missing, query_vector)
        return place_rows(placements), near

    def _rerank(
        self,
        query: str,
        rows: Rows,
        fused: np.ndarray,
        sure: np.ndarray,
        lexical: Lexical,
        similarities: np.ndarray,
        *,
        scope: Scope,
        limit: int,
    ) -> list[Hit]:
        top = best_first(fused, rows.ids)[: max(RERANKED, 2 * limit)]
        before = rows.before(top)
        wanted = np.unique(np.concatenate([rows.ids[top], rows.ids[before[before >= 0]]]))
        loaded = {row.id: row for row in self._store.messages.get_many(wanted.tolist(), scope=scope)}
        asked = Asked.of(query, loaded.values(), today=self._clock.now().date() if self._clock else None)
        priors: dict[int, Mapping[str, float]] = {}
        for index, previous in zip(top.tolist(), before.tolist(), strict=True):
            message = loaded.get(int(rows.ids[index]))
            if message is not None:
                prior = loaded.get(int(rows.ids[previous])) if previous >= 0 else None
                priors[index] = message_priors(message, prior, asked)
        final = lift_best(fused, lexical.scores, similarities) / MAX_PRIOR
        for index, factors in priors.items():
            final[index] *= math.prod(factors.values())
        if count_words(query_terms(query)) <= FEW_WORDS:
            final = below_exact(final, lexical.coverage, rows)
        lanes = {
            "keyword": (lexical.scores, ranks(lexical.scores, rows.ids, lexical.scores > 0)),
            "dense": (similarities, ranks(similarities, rows.ids, ~np.isnan(similarities))),
        }
        hits = []
        for row in top[best_first(final[top], rows.ids[top])][:limit].tolist():
            row_id = int(rows.ids[row])
            if row_id not in loaded:  # deleted since the lanes were read
                continue
            ranked = Ranked(
                id=row_id,
                score=float(final[row]),
                relevance=float(sure[row]),
                lanes=lanes_at(row, lanes),
                priors=priors[row],
            )
            hits.append(_hit(loaded[row_id], ranked))
        return hits


def _scores(
    lexical: Lexical, similarities: np.ndarray, rows: Rows, *, has_keywords: bool, query_share: float
) -> np.ndarray:
    """Return the scores of both lanes together; ``query_share`` is how much of the query is Chinese."""
    dense = None
    if not np.isnan(similarities).all():
        dense = min_max(smoothed(level(similarities, rows.cjk), rows))
    mismatch = float(np.abs(rows.cjk - query_share).mean())
    fused = fuse(
        share_of_best(lexical.scores) if has_keywords else None,
        dense,
        weight=lexical_weight(lexical.best_coverage, mismatch=mismatch),
        trust=dense_trust(similarities),
    )
    scores: np.ndarray = fused * length_prior(rows.words)
    return scores


def _hit(message: Message, ranked: Ranked) -> Hit:
    return Hit(
        kind="message",
        id=ranked.id,
        session=message.session,
        content=plain_text(message.content),
        score=ranked.score,
        lanes=ranked.lanes,
        created_at=message.timestamp,
        source=message.origin,
        role=message.role,
        name=message.name,
        relevance=ranked.relevance,
        priors=ranked.priors,
    )
