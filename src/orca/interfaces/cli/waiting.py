"""Waiting for background work, with a bar for the patient."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli

if TYPE_CHECKING:
    from orca.memory.manager import MemoryManager

STEP_SECONDS = 0.25
"""How long one look at the backlog waits; the bar moves four times a second."""

PATIENCE_SECONDS = 10.0
"""Time without any progress after which waiting ends: longer than a batch takes on a slow core."""


def wait_for_jobs(cli: Cli, memory: MemoryManager) -> int:
    """Wait while summaries and vectors are made and the backlog shrinks; return how many jobs are left.

    Embedding jobs do not count while there is no embedder: they wait for one by design.
    """
    left = total = _doable(memory)
    if not left:
        return 0
    with cli.render.progress(t("summarizing and embedding"), total=total) as advance:
        moved = time.monotonic()
        while left and time.monotonic() - moved < PATIENCE_SECONDS and not _step(memory):
            now = _doable(memory)
            moved = time.monotonic() if now < left else moved
            total = max(total, now)
            left = now
            advance(total - left, total)
        left = _doable(memory)
        advance(total - left, total)
    return left


def _step(memory: MemoryManager) -> bool:
    """Wait for one step; return whether everything is done."""
    began = time.monotonic()
    if memory.flush(timeout=STEP_SECONDS):
        return True
    # flush returns at once when all that is left waits for its next try.
    time.sleep(max(0.0, STEP_SECONDS - (time.monotonic() - began)))
    return False


def _doable(memory: MemoryManager) -> int:
    status = memory.status()
    return sum(entry.count for entry in status.backlog if status.embedder or entry.kind != "embed")
