"""What lets one of two equally fitting memories come first: five factors, each within ten percent, in one place.

They order the hits of one search and never touch ``relevance``, which alone decides whether a memory may enter a
prompt unasked. All five together move a score by less than two thirds, so that a memory that fits clearly better
stays first. Exponential decay of recency follows Park et al., "Generative Agents" (2023), section 4.1; logarithms
for counts are the usual guard against the rich getting richer.
"""

from __future__ import annotations

import math
from datetime import datetime

from orca.types import Memory

LARGEST = 0.1
"""How far each factor may go from 1."""

HALF_LIFE_DAYS = 90.0
"""Days after which half of a memory's recency is gone: facts about people change over months."""

FULL_EVIDENCE = 8
"""Times said from which on saying it again adds nothing."""

ACCESS_STEP = 4
"""Recalls to the first step; each further step takes twice as many more. In steps, because a recall counts as an
access: asked again, the same question should bring the same prompt."""

ACCESS_STEPS = 3
"""Steps from which on another recall adds nothing: 28 recalls."""

MAX_BOOST = (1 + LARGEST) ** 5
"""The largest product, by which scores are divided so that they stay in [0, 1]."""


def boost(memory: Memory, now: datetime) -> float:
    """Return the product of a memory's five factors."""
    return math.prod(factors(memory, now).values())


def factors(memory: Memory, now: datetime) -> dict[str, float]:
    """Return each factor by its name.

    ``recency`` is ``1 + L·(2·2^(-age/90 d) - 1)``, from 1.1 for now to 0.9 for long ago, by when the memory became
    true; ``confidence`` ``1 + L·(2c - 1)``; ``evidence`` ``1 + L·log2(n)/3`` of the times it was said; ``access``
    ``1 + L·floor(log2(1 + n/4))/3`` of its recalls; ``pinned`` ``1 + L`` or 1. L is ``LARGEST``; shares are capped at 1.
    """
    since = memory.valid_from or memory.created_at or now
    age_days = max(0.0, (now - since).total_seconds() / 86_400)
    fresh = 2.0 * 0.5 ** (age_days / HALF_LIFE_DAYS) - 1.0
    sure = 2.0 * min(1.0, max(0.0, memory.confidence)) - 1.0
    said = math.log2(max(1, memory.evidence_count)) / math.log2(FULL_EVIDENCE)
    used = math.floor(math.log2(1 + max(0, memory.access_count) / ACCESS_STEP)) / ACCESS_STEPS
    return {
        "recency": 1.0 + LARGEST * fresh,
        "confidence": 1.0 + LARGEST * sure,
        "evidence": 1.0 + LARGEST * min(1.0, said),
        "access": 1.0 + LARGEST * min(1.0, used),
        "pinned": 1.0 + LARGEST * memory.pinned,
    }
