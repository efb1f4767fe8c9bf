"""Sub-agent runs: opened, written step by step, closed; and the one way from them into long-term memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orca.errors import ConfigError
from orca.memory.curator import checked_content, checked_kind
from orca.memory.remembering import Rememberer
from orca.memory.rendering import message_tokens, render_message
from orca.protocols import Clock, Store, TokenCounter
from orca.text.parts import plain_text
from orca.text.redaction import MASKED, Redaction, mask_message, mask_run
from orca.types import Memory, MemoryKind, Message, Scope, SubAgentMessage, SubAgentRun

PROMOTED_CONFIDENCE = 0.7
"""Confidence of a promoted memory: somebody chose it, and nobody vouches for its source."""


class Runs:
    """Writes runs to the store's sub-agent facet. Nothing here touches the main conversation."""

    def __init__(
        self,
        store: Store,
        *,
        rememberer: Rememberer,
        counter: TokenCounter,
        clock: Clock,
        redaction: Redaction = MASKED,
    ) -> None:
        self._store = store
        self._rememberer = rememberer
        self.counter = counter
        self._clock = clock
        self._redaction = redaction

    def start(self, run: SubAgentRun, *, scope: Scope) -> SubAgentRun:
        """Open a run; return it with its id."""
        return self._store.subagents.start(mask_run(run, self._redaction), scope=scope)

    def append(self, messages: Sequence[SubAgentMessage], *, scope: Scope) -> list[SubAgentMessage]:
        """Store complete steps, counted."""
        return self._store.subagents.append(list(map(self._counted, messages)), scope=scope)

    def finish(self, run: SubAgentRun, *, scope: Scope) -> SubAgentRun:
        """Close a run as it is given."""
        if run.id is None:
            raise ConfigError("only a run that was opened can be finished")
        masked = mask_run(run, self._redaction)
        return self._store.subagents.finish(
            run.id,
            scope=scope,
            status=run.status,
            now=run.ended_at or self._clock.now(),
            summary=masked.summary,
            error=masked.error,
            tokens=run.tokens,
        )

    def promote(
        self,
        *,
        scope: Scope,
        content: str | None,
        kind: MemoryKind,
        run_id: int | None,
        message_id: int | None,
    ) -> Memory:
        """Make a memory of a run's summary or of a message, in the words of ``content`` where it is given.

        It is the only way from text of sub-agents, tools and imports into long-term memory, one memory at a time.
        The memory keeps its source's origin, and has ``metadata["promoted"]``.
        """
        if (run_id is None) == (message_id is None):
            raise ConfigError("promote takes either run_id or message_id")
        if run_id is not None:
            run = self._store.subagents.get(run_id, user=scope.user)
            text = run.summary if content is None else content
            memory = Memory(
                content=checked_content(text or ""),
                source_session=run.session,
                source_message_ids=() if run.parent_message_id is None else (run.parent_message_id,),
                origin="subagent",
                metadata={"promoted": True, "run_id": run_id, "sub_agent": run.agent},
            )
        else:
            message = self._store.messages.get(message_id or 0, scope=scope)
            text = plain_text(message.content) if content is None else content
            memory = Memory(
                content=checked_content(text),
                source_session=message.session,
                source_message_ids=(message_id or 0,),
                origin=message.origin or "system",
                metadata={"promoted": True},
            )
        chosen = replace(
            memory,
            content=self._redaction.text(memory.content),
            kind=checked_kind(kind),
            confidence=PROMOTED_CONFIDENCE,
        )
        return self._rememberer.add(chosen, scope=scope)

    def _counted(self, step: SubAgentMessage) -> SubAgentMessage:
        step = mask_message(step, self._redaction)
        if step.token_count:
            return step
        message = Message(
            role=step.role,
            content=step.content,
            name=step.name,
            tool_calls=step.tool_calls,
            tool_call_id=step.tool_call_id,
        )
        return replace(step, token_count=message_tokens(render_message(message), self.counter))
