"""What memory asks of the rules that work without a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from orca.types import Candidate, Message


class Extractor(Protocol):
    """Summaries and facts by rule; ``orca.llms.extractive`` has the one that ships."""

    def summarize_turn(self, messages: Sequence[Message]) -> str:
        """Return one or two sentences on a turn, or '' when it says nothing."""
        ...

    def extract_facts(self, text: str, *, said_at: datetime, earlier: Sequence[str] = ()) -> list[Candidate]:
        """Return what a user's own text states."""
        ...

    def read_memory(self, content: str, *, said_at: datetime) -> Candidate | None:
        """Return a memory's sentence about the user with its slot and value, or None for no known form."""
        ...
