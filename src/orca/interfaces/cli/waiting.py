"""Waiting for background work, with a bar for the patient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli

if TYPE_CHECKING:
    from orca.memory.manager import MemoryManager

STEP_SECONDS = 0.25
"""How long one look at the backlog waits; the bar moves four times a second."""

PATIENCE = 40
"""Looks without any progress after which waiting ends: ten seconds, longer than a batch takes on a slow core."""


def wait_for_jobs(cli: Cli, memory: MemoryManager) -> int:
    """Wait while embeddings are made and the backlog shrinks; return how many jobs are left."""
    left = total = pending_jobs(memory)
    if not left or memory.status().embedder is None:
        return left
    with cli.render.progress(t("embedding"), total=total) as advance:
        idle = 0
        while left and idle < PATIENCE and not memory.flush(timeout=STEP_SECONDS):
            now = pending_jobs(memory)
            idle = 0 if now < left else idle + 1
            total = max(total, now)
            left = now
            advance(total - left, total)
        left = pending_jobs(memory)
        advance(total - left, total)
    return left


def pending_jobs(memory: MemoryManager) -> int:
    """Return how many pieces of background work are not done."""
    return sum(entry.count for entry in memory.status().backlog)
