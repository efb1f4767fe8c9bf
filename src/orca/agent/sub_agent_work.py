"""One run of a sub-agent, from its task to its report.

It has its own prompt, tools and context, and its own tables. It sees the task and nothing of the conversation; the
conversation sees its report and nothing of its work.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace

from orca.agent.agent_spec import AgentSpec
from orca.agent.events import Event, SubAgentProgress, ToolStarted
from orca.agent.handles import Handles
from orca.agent.model import ModelSession, StreamingModel, Usage
from orca.agent.prompts import DEFAULT_SUB_AGENT
from orca.agent.report import report, summarised, unfinished
from orca.agent.run_trace import RunTrace
from orca.agent.step_loop import Limits, StepLoop
from orca.agent.tools import ToolBox, ToolContext
from orca.agent.writing import to_the_end
from orca.errors import OrcaError, SubAgentError
from orca.memory.manager import MemoryManager
from orca.types import RunStatus, SubAgentRun

logger = logging.getLogger("orca")


class SubAgentWork:
    """A run that has been opened and is carried out."""

    def __init__(
        self,
        memory: MemoryManager,
        spec: AgentSpec,
        run: SubAgentRun,
        caller: ToolContext,
        *,
        model: StreamingModel,
        tools: ToolBox,
        limits: Limits,
    ) -> None:
        """``caller`` is the context of the call; the agent's own context is made from it."""
        if run.id is None:
            raise SubAgentError("the store gave the run no id")
        self._memory = memory
        self._spec = spec
        self._run = run
        self._run_id = run.id
        self._caller = caller
        self._model = model
        self._tools = tools
        self._limits = limits
        system = spec.prompt.strip() or DEFAULT_SUB_AGENT
        self._trace = RunTrace(memory, caller.scope, run.id, system=system)
        self._loop: StepLoop | None = None
        self._usage = Usage()

    async def carry_out(self) -> str:
        """Run to the end and return the report; only a cancellation is passed on, after the run is closed."""
        self._caller.publish(SubAgentProgress(run_id=self._run_id, agent=self._spec.name, stage="started"))
        try:
            async with asyncio.timeout(self._spec.timeout_seconds) as limit:
                body = await self._answer()
        except asyncio.CancelledError:
            await self.abandon()
            raise
        except TimeoutError as error:
            if limit.expired():
                return await self._finish(
                    "timed_out", f"not done within {self._spec.timeout_seconds:g} seconds"
                )
            return await self._failed(error)
        except SubAgentError as error:
            return await self._finish("failed", str(error))
        except OrcaError as error:
            # The error's own words may quote what the agent was working on; its kind says enough to the caller.
            return await self._finish("failed", str(error), told=str(type(error)()))
        except Exception as error:  # noqa: BLE001 - an agent's failure is its report, and logged
            return await self._failed(error)
        stopped = self._loop is not None and self._loop.ran_out_of_steps
        note = f"stopped at its limit of {self._limits.steps} steps" if stopped else None
        return await self._finish("done", note, body)

    async def abandon(self) -> None:
        """Close the run as cancelled."""
        await self._finish("cancelled", "the turn was stopped")

    async def _answer(self) -> str:
        """Let the agent work; return its reply, or a summary of a long one."""
        await self._trace.begin(self._run.task)
        async with self._model.session() as session:
            self._loop = self._new_loop(session)
            async with aclosing(self._loop.events()) as events:
                async for event in events:
                    self._tell(event)
            if self._loop.reply is None:
                raise SubAgentError("it ended without a reply")
            body, self._usage = await summarised(
                self._loop.reply.text,
                self._run.task,
                model=self._model,
                session=session,
                counter=self._memory.counter,
                window_tokens=self._limits.window_tokens,
            )
            return body

    def _new_loop(self, session: ModelSession) -> StepLoop:
        context = replace(
            self._caller,
            memory=self._memory if self._spec.read_memory else None,
            handles=Handles(),
            agent=f"{self._caller.agent}/{self._spec.name}",
            run_id=self._run_id,
            question_id=None,
            depth=self._caller.depth + 1,
        )
        return StepLoop(
            model=self._model,
            session=session,
            transcript=self._trace,
            tools=self._tools,
            context=context,
            limits=self._limits,
            counter=self._memory.counter,
            question=self._run.task,
        )

    def _tell(self, event: Event) -> None:
        """Pass on that something happens, and nothing of what is said."""
        if isinstance(event, SubAgentProgress):
            self._caller.publish(event)
        elif isinstance(event, ToolStarted):
            self._caller.publish(
                SubAgentProgress(
                    run_id=self._run_id,
                    agent=self._spec.name,
                    stage="tool",
                    tool=event.name,
                    tokens=self._tokens,
                )
            )

    @property
    def _tokens(self) -> int:
        used = self._usage if self._loop is None else self._usage + self._loop.usage
        return used.total_tokens

    async def _failed(self, error: Exception) -> str:
        logger.warning("sub-agent %s failed: %r", self._spec.name, error)
        return await self._finish("failed", f"{type(error).__name__}: {error}", told=type(error).__name__)

    async def _finish(
        self, status: RunStatus, error: str | None, body: str | None = None, *, told: str | None = None
    ) -> str:
        """Close the run and return its report, in which ``told`` stands in for the error."""
        if body is None:
            steps = 0 if self._loop is None else self._loop.steps
            # A name that is no tool's is the model's own word, and may hold anything.
            used = {
                name: count
                for name, count in self._trace.tools_used.items()
                if self._tools.get(name) is not None
            }
            body = unfinished(steps, used)
        ended = replace(self._run, status=status, error=error, tokens=self._tokens)
        text = report(replace(ended, error=told or error), body, self._memory.counter)
        ended = replace(ended, summary=text)
        await to_the_end(asyncio.to_thread(self._memory.finish_run, ended, scope=self._caller.scope))
        self._caller.publish(
            SubAgentProgress(
                run_id=self._run_id,
                agent=self._spec.name,
                stage="finished",
                status=status,
                tokens=self._tokens,
            )
        )
        return text
