"""Sub-agents' transcripts: runs in tables of their own, linked to a session, and never part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from orca.importers.reading import Entry
from orca.importers.target import ImportTarget
from orca.text.normalize import clean
from orca.text.parts import plain_text
from orca.types import Scope, SubAgentMessage, SubAgentRun

KEY = "import_key"
"""Where a step keeps, in its metadata, the key by which it is known again."""

SUMMARY_CHARACTERS = 2000
CUT_MARK = "[内容已截断]"
"""The mark of a text that was cut, as everywhere in Orca."""


def store_transcripts(
    path: Path, entries: Sequence[Entry], session: str, *, memory: ImportTarget, scope: Scope
) -> tuple[int, int]:
    """Store a transcript's steps as one run for each session and agent; return how many were new and how many known."""
    runs: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        owner = (entry.logged.session or session, entry.logged.agent or clean(path.stem))
        runs.setdefault(owner, []).append(entry)
    stored = known = 0
    for (name, agent), steps in runs.items():
        new = _store_run(agent, steps, memory=memory, scope=replace(scope, session=name))
        stored += new
        known += len(steps) - new
    return stored, known


def _store_run(agent: str, entries: Sequence[Entry], *, memory: ImportTarget, scope: Scope) -> int:
    run, seen = _earlier_run(agent, entries[0].key, memory=memory, scope=scope)
    new = [entry for entry in entries if entry.key not in seen]
    if not new:
        return 0
    described = _describe(agent, entries, parent=_parent(entries, memory=memory, scope=scope))
    if run is not None:
        described = replace(described, id=run.id)
    memory.record_run(scope=scope, run=described, messages=[_step(entry) for entry in new])
    return len(new)


def _earlier_run(
    agent: str, first_key: str, *, memory: ImportTarget, scope: Scope
) -> tuple[SubAgentRun | None, set[str]]:
    """Return the run that an earlier import of this transcript stored, and the keys of its steps."""
    for run in memory.subagent_runs(scope=scope):
        if run.agent == agent and run.id is not None:
            steps = memory.subagent_messages(run_id=run.id, user=scope.user)
            keys = [str(step.metadata.get(KEY)) for step in steps]
            if keys[:1] == [first_key]:
                return run, set(keys)
    return None, set()


def _describe(agent: str, entries: Sequence[Entry], *, parent: int | None) -> SubAgentRun:
    messages = [entry.logged.message for entry in entries]
    times = [message.timestamp for message in messages if message.timestamp is not None]
    task = next((message for message in messages if message.role == "user"), messages[0])
    replies = [plain_text(message.content) for message in messages if message.role == "assistant"]
    summary = next((text for text in reversed(replies) if text.strip()), None)
    if summary is not None and len(summary) > SUMMARY_CHARACTERS:
        summary = summary[: SUMMARY_CHARACTERS - len(CUT_MARK)] + CUT_MARK
    return SubAgentRun(
        agent=agent,
        task=plain_text(task.content),
        parent_message_id=parent,
        status="done",
        summary=summary,
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
    )


def _parent(entries: Sequence[Entry], *, memory: ImportTarget, scope: Scope) -> int | None:
    """Return the message whose tool call started the run, where the transcript names the call."""
    call = next((entry.logged.parent_call_id for entry in entries if entry.logged.parent_call_id), None)
    if call is None:
        return None
    for message in memory.messages(scope=scope, limit=None):
        if any(made.get("id") == call for made in message.tool_calls or ()):
            return message.id
    return None


def _step(entry: Entry) -> SubAgentMessage:
    message = entry.logged.message
    return SubAgentMessage(
        run_id=0,  # given by ``record_run``
        role=message.role,
        content=message.content,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        name=message.name,
        reasoning=message.reasoning,
        timestamp=message.timestamp,
        metadata={**message.metadata, KEY: entry.key},
    )
