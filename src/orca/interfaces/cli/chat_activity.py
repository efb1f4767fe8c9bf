"""What goes on beside the reply: tools and sub-agents at work, each a line, several at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orca.agent.events import (
    ContextBuilt,
    Event,
    ReasoningDelta,
    RetryScheduled,
    SubAgentProgress,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from orca.interfaces.cli.chat_markdown import one_line
from orca.interfaces.cli.i18n import t

DELEGATION = "agent_call"
"""The tool whose calls are shown by their runs."""

_SHOWN_ARGUMENTS = 60


@dataclass(slots=True)
class _Work:
    """A tool call or a run that is under way."""

    name: str
    began: float
    said: str = ""
    steps: int = 0
    tokens: int = 0
    agent: str = ""
    task: str = ""


@dataclass(slots=True)
class Activity:
    """Follows a turn's events. ``take`` gives the line of what has ended, ``lines`` those of what goes on."""

    clock: Callable[[], float] = time.monotonic
    _tools: dict[str, _Work] = field(default_factory=dict)
    _runs: dict[int, _Work] = field(default_factory=dict)
    _waiting: str = ""
    _since: float = 0.0

    def take(self, event: Event) -> str | None:
        """Take an event; return the line that stays of what it ended, or None."""
        if isinstance(event, ContextBuilt):
            self._wait_for(t("thinking"))
        elif isinstance(event, ReasoningDelta):
            if not self._waiting:
                self._wait_for(t("thinking"))
        elif isinstance(event, RetryScheduled):
            self._wait_for(t("the provider is busy, asking again in {n:.0f} s", n=max(event.seconds, 1)))
        elif isinstance(event, TextDelta):
            self._waiting = ""
        elif isinstance(event, ToolStarted):
            self._waiting = ""
            self._tools[event.call_id] = self._started(event)
        elif isinstance(event, ToolProgress):
            if work := self._tools.get(event.call_id):
                work.said = event.text
        elif isinstance(event, ToolFinished):
            return self._tool_finished(event)
        elif isinstance(event, SubAgentProgress):
            return self._run_went_on(event)
        return None

    def lines(self) -> list[str]:
        """Return a line for everything that goes on, oldest first."""
        now = self.clock()
        shown = [f"{self._waiting}… {_seconds(now - self._since)}"] if self._waiting else []
        # A call of an agent is shown until the run that it opened is.
        tools = [work for work in list(self._tools.values()) if work.agent or not work.task]
        shown += [_line(work, now) for work in tools]
        return shown + [_line(work, now) for work in list(self._runs.values())]

    def _started(self, event: ToolStarted) -> _Work:
        work = _Work(_call(event.name, event.arguments), self.clock())
        if event.name == DELEGATION:
            work.agent = str(event.arguments.get("agent", "?"))
            work.task = work.said = str(event.arguments.get("task", "?"))
        return work

    def _wait_for(self, what: str) -> None:
        self._waiting, self._since = what, self.clock()

    def _tool_finished(self, event: ToolFinished) -> str | None:
        work = self._tools.pop(event.call_id, None)
        if event.name == DELEGATION and event.ok:  # its run has a line
            return None
        name = work.name if work else event.name
        took = _seconds(self.clock() - work.began) if work else ""
        if event.ok:
            return f"✓ {name}  {took}".rstrip()
        return f"✗ {name}  {event.result}"

    def _run_went_on(self, event: SubAgentProgress) -> str | None:
        name = t("{agent} (run {run})", agent=event.agent, run=event.run_id)
        if event.run_id not in self._runs:
            self._runs[event.run_id] = _Work(name, self.clock(), said=self._task_for(event.agent))
        work = self._runs[event.run_id]
        work.tokens = max(work.tokens, event.tokens)
        if event.stage == "tool":
            work.steps += 1
            work.said = event.tool or ""
        if event.stage != "finished":
            return None
        del self._runs[event.run_id]
        mark = "✓" if event.status == "done" else "✗"
        figures = t("{n} tool calls, {tokens} tokens", n=work.steps, tokens=f"{work.tokens:,}")
        ending = t(event.status or "done")
        took = _seconds(self.clock() - work.began)
        return f"{mark} {work.name}  {ending}  {figures}  {took}  /run {event.run_id}"

    def _task_for(self, agent: str) -> str:
        """Return the task of the oldest call of that agent; from here on the run's line stands for the call."""
        for work in self._tools.values():
            if work.agent == agent:
                work.agent = ""
                return work.task
        return ""


def _line(work: _Work, now: float) -> str:
    tokens = "  " + t("{n} tokens", n=f"{work.tokens:,}") if work.tokens else ""
    said = f"  {one_line(work.said, 200)}" if work.said else ""
    return f"{work.name}  {_seconds(now - work.began)}{tokens}{said}"


def _seconds(value: float) -> str:
    return t("{n:.1f} s", n=value) if value < 10 else t("{n:.0f} s", n=value)


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as people read it: the tool and the values it is given."""
    if name == DELEGATION:
        return one_line(str(arguments.get("agent", "?")), 30)
    values = ", ".join(
        one_line(value if isinstance(value, str) else repr(value), _SHOWN_ARGUMENTS)
        for value in arguments.values()
    )
    return one_line(f"{name} {values}", 2 * _SHOWN_ARGUMENTS)
