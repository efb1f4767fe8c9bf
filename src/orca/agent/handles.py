"""Small numbers for stored rows, valid for one turn, so that a model cannot invent an id."""

from __future__ import annotations

import threading

from orca.errors import ToolError
from orca.types import Hit


class Handles:
    """Numbers hits from 1 in the order they were shown. Thread-safe: tools run in parallel."""

    def __init__(self) -> None:
        self._hits: list[Hit] = []
        self._lock = threading.Lock()

    def number(self, hit: Hit) -> int:
        """Return the hit's number; the same row keeps the one it has, with what is known of it now."""
        with self._lock:
            for index, known in enumerate(self._hits):
                if (known.kind, known.id) == (hit.kind, hit.id):
                    self._hits[index] = hit
                    return index + 1
            self._hits.append(hit)
            return len(self._hits)

    def hit(self, number: int) -> Hit:
        """Return the hit of a number. Raises ``ToolError`` in words that a model can act on."""
        with self._lock:
            if 1 <= number <= len(self._hits):
                return self._hits[number - 1]
            known = f"1 to {len(self._hits)}" if self._hits else "none yet"
        raise ToolError(
            f"there is no id {number}: ids come from memory_search and hold for this turn only (now: {known})"
        )
