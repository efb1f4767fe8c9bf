"""The hits of all tiers as one list. Only types are imported: the command line loads this before it knows its task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orca.types import Hit, Recall

RELEVANCE_WEIGHT = 0.9
"""Weight of relevance against the score within a tier, which parts equals. Mean reciprocal rank of the answers to
the sample's questions: 0.34 by the tiers' scores, 0.87 by relevance alone, 0.89 by both."""


def best_hits(recalled: Recall, limit: int) -> list[Hit]:
    """Return the hits of all tiers as one list, best first and each row once, scored by what orders them.

    A hit's own score orders the hits of its tier only; its relevance can be compared across tiers.
    """
    unique = {
        (hit.kind, hit.id): replace(hit, score=_joint(hit))
        for hit in (*recalled.long_term, *recalled.short_term, *recalled.messages)
    }
    return sorted(unique.values(), key=lambda hit: -hit.score)[:limit]


def _joint(hit: Hit) -> float:
    return RELEVANCE_WEIGHT * hit.relevance + (1 - RELEVANCE_WEIGHT) * hit.score
