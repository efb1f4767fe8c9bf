"""A store with conversations, and what makes memory of them, for the tests of summaries and consolidation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from orca.llms.extractive import RuleExtractor
from orca.memory.consolidator import Consolidator
from orca.memory.remembering import Rememberer
from orca.memory.summarizer import Summarizer
from orca.protocols import ChatModel
from orca.stores.sqlite.store import SQLiteStore
from orca.testing.doubles import FixedClock
from orca.types import Job, JobKind, Message, Scope, Summary

SCOPE = Scope(user="alice", session="s1")
SAID = datetime(2026, 5, 14, 9, 0, tzinfo=UTC)


@dataclass
class Making:
    store: SQLiteStore
    clock: FixedClock

    def summarizer(self, model: ChatModel | None = None) -> Summarizer:
        return Summarizer(
            self.store, model, extractor=RuleExtractor(), rememberer=self.rememberer(), clock=self.clock
        )

    def consolidator(self, model: ChatModel | None = None) -> Consolidator:
        return Consolidator(
            self.store, model, extractor=RuleExtractor(), rememberer=self.rememberer(), clock=self.clock
        )

    def rememberer(self) -> Rememberer:
        return Rememberer(self.store, clock=self.clock, extractor=RuleExtractor())

    def say(self, *lines: tuple[str, str] | Message, scope: Scope = SCOPE) -> list[Message]:
        """Store messages; each reply gets its summary job, as the recorder does it."""
        messages = [
            line if isinstance(line, Message) else Message(role=line[0], content=line[1]) for line in lines
        ]  # type: ignore[arg-type]
        stored = self.store.messages.append(messages, scope=scope)
        jobs = [
            Job(
                kind="summarize",
                record="message",
                target_id=m.id or 0,
                user=scope.user,
                session=scope.session,
                agent=scope.agent,
            )
            for m in stored
            if m.role == "assistant" and not m.tool_calls
        ]
        self.store.jobs.enqueue(jobs, now=self.clock.now())
        return stored

    def claim(self, kind: JobKind = "summarize", lease: float = 60, limit: int = 100) -> list[Job]:
        return self.store.jobs.claim(
            [kind], limit=limit, lease_seconds=lease, owner="test", now=self.clock.now()
        )

    def summaries(self, scope: Scope = SCOPE) -> list[Summary]:
        return self.store.summaries.recent(scope=scope)

    def memories(self, scope: Scope = SCOPE) -> list[str]:
        return [memory.content for memory in self.store.memories.find(scope=scope)]

    def reasons(self, kind: str = "summarize") -> list[str]:
        return [entry.reason for entry in self.store.jobs.backlog() if entry.kind == kind]


def echo(messages: Sequence[dict[str, str]]) -> str:
    return messages[-1]["content"]


Reply = Callable[[Sequence[dict[str, str]]], str]
