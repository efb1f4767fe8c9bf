"""``LLMAgent``: a conversation in which every prompt carries the three tiers of memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import ExitStack, aclosing
from functools import partial
from types import TracebackType
from typing import Any, Self

from orca.agent.agent_call import SubAgents
from orca.agent.agent_spec import AgentSpec
from orca.agent.chat_stream import StreamingChat
from orca.agent.events import (
    AgentResult,
    Event,
    SubAgentProgress,
    ToolsMissing,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from orca.agent.handles import Handles
from orca.agent.kit import ToolServers, Workbench
from orca.agent.memory_tools import memory_tools
from orca.agent.model import StreamingModel, as_streaming
from orca.agent.prompts import DEFAULT_SYSTEM
from orca.agent.session_lock import one_turn
from orca.agent.step_loop import Limits, StepLoop, merged_user_messages, prompt_window
from orca.agent.tools import Confirm, Tool, ToolBox, ToolContext, nobody_confirms
from orca.agent.turn_log import TurnLog
from orca.errors import ConfigError, OrcaError, ProviderResponseError
from orca.memory.manager import MemoryManager
from orca.protocols import ChatModel
from orca.types import Content, Context, Scope, SubAgentRun
from orca.values import Secret

MAX_STEPS = 16
"""How often a turn may go back to the model with tool results, unless told otherwise."""

MAX_PARALLEL_TOOLS = 8
"""How many of a reply's tool calls run at once, unless told otherwise."""

MAX_DEPTH = 2
"""How deep agents may call agents, unless told otherwise: the main agent's sub-agents may call theirs."""


class LLMAgent:
    """Answers in a conversation that it remembers, with tools and sub-agents.

    One turn: the user's message is stored, the prompt is built from the three tiers, the model answers in a
    stream, its tool calls run side by side and go back to it, and the answer is stored before it is called
    complete. At every moment the stored history is valid: a turn that is cancelled closes its tool calls with a
    stored result and keeps half a reply marked ``metadata["interrupted"]``; after a crash the next prompt closes
    what is open, and ``run(None, …)`` answers a message that was left without a reply.

    Turns of one session come one after the other within a process. The agent belongs to no event loop and holds
    no connections to its model between turns. ``close`` ends what ``open_agent`` started for it; it is a context
    manager that does so, in either form.
    """

    def __init__(
        self,
        memory: MemoryManager,
        *,
        model: StreamingModel | ChatModel | str,
        base_url: str | None = None,
        api_key: Secret | str | None = None,
        system: str | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        agents: Iterable[AgentSpec] = (),
        servers: ToolServers | None = None,
        use_memory_tools: bool = True,
        confirm: Confirm = nobody_confirms,
        max_steps: int = MAX_STEPS,
        max_parallel_tools: int = MAX_PARALLEL_TOOLS,
        max_depth: int = MAX_DEPTH,
        window_tokens: int | None = None,
        reply_tokens: int | None = None,
    ) -> None:
        """Make an agent of a memory and a model.

        Args:
            memory: Where everything is kept.
            model: A model's name at ``base_url``, or an object: ``StreamingChat``, or any ``ChatModel``, which
                answers in one piece and without tools.
            base_url: The address of an OpenAI-compatible API, for a model given by name.
            api_key: The key for it; local addresses need none.
            system: The system prompt; None for the default one, an empty text for none.
            tools: What the model may call: ``Tool`` objects, or functions as ``orca.agent.tools.tool`` takes them.
            agents: Sub-agents that the model may call through the tool ``agent_call``.
            servers: Where further tools come from, such as ``MCPServers``. They start with the first turn, which
                waits for them only so long; what is late joins a later turn.
            use_memory_tools: Offer ``memory_search`` and its kin.
            confirm: Asks the person in front about calls of tools that want it; the default refuses them.
            max_steps: How often the model may call tools in one turn; then it has to answer without.
            max_parallel_tools: How many calls of one reply run at once.
            max_depth: How deep agents may call agents.
            window_tokens: The model's window; None for the memory's.
            reply_tokens: The longest reply; None leaves it to the provider.

        Raises ``ConfigError`` for a name without an address, and for tools and agents that cannot be used.

        """
        self._memory = memory
        self._model = as_streaming(_named(model, base_url, api_key) if isinstance(model, str) else model)
        self._system = DEFAULT_SYSTEM if system is None else system
        self._confirm = confirm
        self._limits = Limits(
            steps=max_steps,
            parallel_tools=max_parallel_tools,
            window_tokens=window_tokens or memory.budget.window_tokens,
            reply_tokens=reply_tokens,
        )
        self._on_close: list[Callable[[], None]] = []
        sub_agents = partial(
            SubAgents, memory, tuple(agents), model=self._model, limits=self._limits, max_depth=max_depth
        )
        own = memory_tools() if use_memory_tools else ()
        self._workbench = Workbench(tools, servers, sub_agents, private=own)

    @property
    def memory(self) -> MemoryManager:
        """The memory it was given."""
        return self._memory

    @property
    def model(self) -> StreamingModel:
        """The model it talks to."""
        return self._model

    @property
    def tools(self) -> ToolBox:
        """The tools that the model was last offered; those of servers join when a turn begins."""
        return self._workbench.kit.tools

    @property
    def missing_tools(self) -> tuple[str, ...]:
        """What the last turn had to go without, and why, in words."""
        return self._workbench.kit.missing

    def call_on_close(self, callback: Callable[[], None]) -> None:
        """Let ``close`` call something, before what was given to it earlier. Whatever else it uses stays open."""
        self._on_close.append(callback)

    def close(self) -> None:
        """End what ``open_agent`` started: tool servers, and the memory that it opened. May be called again.

        A turn that is under way reads that its tools are closed; stop turns first.
        """
        with ExitStack() as stack:
            while self._on_close:
                stack.callback(self._on_close.pop(0))

    async def aclose(self) -> None:
        """Do what ``close`` does, without blocking the event loop."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def build_context(self, query: str | None, *, scope: Scope) -> Context:
        """Return the prompt for a message and its ledger, and store nothing."""
        window = prompt_window(self._limits.window_tokens, self.tools, self._memory.counter)
        return self._memory.build_context(
            scope=scope, query=query, window_tokens=window, system=self._system or None
        )

    def build_llm_messages(self, query: str | None, *, scope: Scope) -> list[dict[str, Any]]:
        """Return what would be sent for a message: system prompt, working window, recalled block, the message."""
        return merged_user_messages(self.build_context(query, scope=scope).messages)

    async def run(self, text: Content, *, scope: Scope) -> AgentResult:
        """Answer a message; with None, the newest one that a crash or a failure left without an answer.

        Raises ``ConfigError`` for an empty message, ``NotFoundError`` when none waits, ``ProviderError``,
        ``ContextOverflowError`` and ``StoreError``.
        """
        async with aclosing(self.stream(text, scope=scope)) as events:
            async for event in events:
                if isinstance(event, TurnFinished):
                    return event.result
                if isinstance(event, TurnFailed):
                    raise event.error
        raise ProviderResponseError(f"{self._model.name} ended a turn without a result")

    async def stream(self, text: Content, *, scope: Scope) -> AsyncGenerator[Event, None]:
        """Answer a message as ``run`` does, and yield what happens; ``TurnFinished`` or ``TurnFailed`` is last.

        Errors of the provider or the store during the turn come as ``TurnFailed``; what the message itself is at
        fault for is raised. To stop a turn, close the iterator or cancel the task that awaits it.
        """
        async with one_turn(self._memory, scope):
            log = TurnLog(self._memory, scope, system=self._system or None, model=self._model.name)
            message = await (log.take_up() if text is None else log.begin(text))
            yield TurnStarted(message=message)
            partial = ""
            try:
                kit = await self._workbench.refresh()
                if kit.missing:
                    yield ToolsMissing(reasons=kit.missing)
                await kit.agents.close_left(scope)
                async with self._model.session() as session:
                    context = self._tool_context(scope, log)
                    loop = StepLoop(
                        model=self._model,
                        session=session,
                        transcript=log,
                        tools=kit.tools,
                        context=context,
                        limits=self._limits,
                        counter=self._memory.counter,
                        question=log.query,
                    )
                    delegated = False
                    async with aclosing(loop.events()) as events:
                        async for event in events:
                            partial = loop.partial
                            delegated = delegated or isinstance(event, SubAgentProgress)
                            yield event
                    result = await self._result(loop, log, scope, delegated=delegated)
            except OrcaError as error:
                yield TurnFailed(error=error, partial=partial)
            else:
                yield TurnFinished(result=result)

    def _tool_context(self, scope: Scope, log: TurnLog) -> ToolContext:
        return ToolContext(
            scope=scope,
            memory=self._memory,
            handles=Handles(),
            agent=scope.agent,
            question_id=log.question.id if log.question is not None else None,
            confirm=self._confirm,
        )

    async def _result(self, loop: StepLoop, log: TurnLog, scope: Scope, *, delegated: bool) -> AgentResult:
        if loop.reply is None or loop.context is None:
            raise ProviderResponseError(f"{self._model.name} ended a turn without a reply")
        runs: list[SubAgentRun] = []
        if delegated:
            found = await asyncio.to_thread(self._memory.subagent_runs, scope=scope)
            runs = [
                run
                for run in found
                if run.parent_message_id in log.call_message_ids and run.parent_run_id is None
            ]
        return AgentResult(
            text=loop.reply.text,
            usage=loop.usage,
            context=loop.context,
            runs=tuple(runs),
            message=log.answered,
            reasoning=loop.reply.reasoning,
            finish_reason=loop.reply.finish_reason,
            steps=loop.steps,
        )


def _named(model: str, base_url: str | None, api_key: Secret | str | None) -> StreamingModel:
    if base_url is None:
        raise ConfigError(f"model {model!r} needs a base_url; orca.open_agent takes it from the settings")
    return StreamingChat(base_url=base_url, model=model, api_key=api_key)
