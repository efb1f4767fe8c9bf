"""Sub-agents as a tool: ``agent_call(agent, task)``, and which agents may call which."""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from orca.agent.agent_spec import AgentSpec
from orca.agent.memory_tools import memory_tools
from orca.agent.model import StreamingModel, as_streaming
from orca.agent.step_loop import Limits
from orca.agent.sub_agent_work import SubAgentWork
from orca.agent.tools import Tool, ToolBox, ToolContext
from orca.agent.writing import to_the_end
from orca.errors import ConfigError, ToolError
from orca.memory.manager import MemoryManager
from orca.types import Scope, SubAgentRun

LEFT_BEHIND = "the process ended while it ran"
"""The error of a run that nobody finished."""


class SubAgents:
    """The agents that may be called, and how a call goes."""

    def __init__(
        self,
        memory: MemoryManager,
        specs: Iterable[AgentSpec],
        *,
        model: StreamingModel,
        limits: Limits,
        max_depth: int,
        shared: ToolBox | None = None,
        more_to_come: bool = False,
    ) -> None:
        """Check the declarations.

        ``shared`` are the main agent's tools, of which declarations may name some; ``more_to_come`` says that servers
        may bring those that are not there yet, which are then ``unmatched``. Raises ``ConfigError`` for a name that is
        given twice, or names no agent or tool.
        """
        self._memory = memory
        self._model = model
        self._limits = limits
        self._max_depth = max_depth
        self._shared = shared or ToolBox()
        self._specs: dict[str, AgentSpec] = {}
        for spec in specs:
            if spec.name in self._specs:
                raise ConfigError(f"there are two agents named {spec.name!r}")
            self._specs[spec.name] = spec
        for spec in self._specs.values():
            ToolBox(self._tools_of(spec, depth=1))
            if unknown := [name for name in spec.agents if name not in self._specs]:
                raise ConfigError(f"agent {spec.name}: there is no agent {', '.join(unknown)} to call")
        self.unmatched = tuple(filter(None, map(self._goes_without, self._specs.values())))
        """What agents have to do without, in words."""
        if self.unmatched and not more_to_come:
            raise ConfigError("; ".join(self.unmatched))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all agents."""
        return tuple(self._specs)

    def tools(self, names: Sequence[str], *, depth: int) -> tuple[Tool, ...]:
        """Return ``agent_call`` for an agent at ``depth`` that may call ``names``; nothing where it may not."""
        callable_names = [name for name in names if name in self._specs]
        if not callable_names or depth >= self._max_depth:
            return ()
        about = "\n".join(
            f"- {name}: {self._specs[name].description}".rstrip(": ") for name in callable_names
        )
        properties = {
            "agent": {"type": "string", "enum": callable_names, "description": "Which agent."},
            "task": {
                "type": "string",
                "description": "The whole task, with everything it needs to know: it sees nothing else.",
            },
        }

        async def call(arguments: Any, context: ToolContext) -> str:
            name, task = arguments.get("agent"), arguments.get("task")
            if name not in callable_names:
                raise ToolError(f"there is no agent {name!r}; there are: {', '.join(callable_names)}")
            if not isinstance(task, str) or not task.strip():
                raise ToolError("task: say in words what the agent shall do")
            return await self.call(self._specs[name], task, context)

        return (
            Tool(
                name="agent_call",
                description=f"Give a task to another agent and get its report. Several may run at once.\n{about}",
                parameters={
                    "type": "object",
                    "properties": properties,
                    "required": ["agent", "task"],
                    "additionalProperties": False,
                },
                handler=call,
                timeout_seconds=None,  # each agent has its own
            ),
        )

    async def call(self, spec: AgentSpec, task: str, context: ToolContext) -> str:
        """Run an agent and return its report, however the run ends; cancellation alone is passed on."""
        wanted = SubAgentRun(
            agent=spec.name,
            task=task,
            parent_message_id=context.message_id,
            parent_run_id=context.run_id,
        )
        opened: list[SubAgentWork] = []

        async def open_run() -> None:
            run = await asyncio.to_thread(self._memory.start_run, wanted, scope=context.scope)
            opened.append(self._work(spec, run, context))

        try:
            await to_the_end(open_run())
        except asyncio.CancelledError:
            for work in opened:
                await work.abandon()
            raise
        return await opened[0].carry_out()

    def _work(self, spec: AgentSpec, run: SubAgentRun, context: ToolContext) -> SubAgentWork:
        return SubAgentWork(
            self._memory,
            spec,
            run,
            context,
            model=self._model if spec.model is None else as_streaming(spec.model),
            tools=ToolBox(self._tools_of(spec, depth=context.depth + 1)),
            limits=replace(
                self._limits,
                steps=spec.max_steps,
                total_tokens=spec.max_tokens,
                window_tokens=spec.window_tokens or self._limits.window_tokens,
            ),
        )

    async def close_left(self, scope: Scope) -> None:
        """Mark runs of the session as cancelled that a process left behind when it ended.

        Called at the beginning of a turn: none of this process is under way in the session then. One of another
        process gets its true ending when that process writes it.
        """
        if not self._specs:
            return
        runs = await asyncio.to_thread(self._memory.subagent_runs, scope=scope)
        for run in runs:
            if run.status == "running":
                ended = replace(run, status="cancelled", error=LEFT_BEHIND)
                await to_the_end(asyncio.to_thread(self._memory.finish_run, ended, scope=scope))

    def _tools_of(self, spec: AgentSpec, *, depth: int) -> list[Tool | Callable[..., Any]]:
        reading = memory_tools(read_only=True) if spec.read_memory else ()
        named = {name for label in spec.shared_tools for name in fnmatch.filter(self._shared.names, label)}
        shared = [tool for tool in self._shared if tool.name in named]
        return [*reading, *spec.tools, *shared, *self.tools(spec.agents, depth=depth)]

    def _goes_without(self, spec: AgentSpec) -> str | None:
        labels = [label for label in spec.shared_tools if not fnmatch.filter(self._shared.names, label)]
        return (
            f"agent {spec.name} goes without {', '.join(labels)}: there is no such tool" if labels else None
        )
