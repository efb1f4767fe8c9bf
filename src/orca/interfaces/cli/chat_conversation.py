"""A conversation with the agent: its model and tools, whose turn it is, and what the last turn looked like."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

from orca.agent.events import ContextBuilt, Event, ToolsMissing, TurnFailed, TurnFinished, TurnStarted
from orca.agent.kit import ToolServers
from orca.agent.llm_agent import LLMAgent
from orca.config import Settings
from orca.interfaces.cli.chat_confirm import Confirmer
from orca.interfaces.cli.chat_view import View
from orca.interfaces.cli.invocation import Cli
from orca.memory.manager import MemoryManager
from orca.types import Context, Scope
from orca.wiring import open_agent


@dataclass(slots=True, kw_only=True)
class Conversation:
    """What the commands of a chat work on.

    ``agent`` is None where no model is configured. ``context`` is the ledger of the last prompt, ``missing`` what
    was last said of tools that are not there. ``spoken`` are the sessions in which something was said.
    """

    cli: Cli
    memory: MemoryManager
    scope: Scope
    settings: Settings
    confirm: Confirmer
    servers: ToolServers | None = None
    agent: LLMAgent | None = None
    context: Context | None = None
    query: str | None = None
    degraded: str | None = None
    missing: tuple[str, ...] = ()
    said: int = 0
    spoken: dict[str, Scope] = field(default_factory=dict)

    @property
    def models(self) -> list[str]:
        """The names of models that the settings and this conversation know."""
        named = [self.settings.llm.model, *(agent.model for agent in self.settings.agents.values())]
        if self.agent is not None:
            named.append(self.agent.model.name)
        return list(dict.fromkeys(name for name in named if name))

    def use_model(self, name: str | None) -> None:
        """Talk to another model from now on. Raises ``ConfigError``; the old one then stays."""
        self.agent = open_agent(
            self.memory,
            settings=self.settings,
            model=name,
            servers=self.servers,
            confirm=self.confirm,
        )

    def begin_message(self, query: str) -> None:
        """Note that something is said here."""
        self.query = query
        self.said += 1
        self.spoken[self.scope.session] = self.scope

    def turn(self, agent: LLMAgent, text: str | None, view: View) -> TurnFinished | TurnFailed:
        """Answer a message, or with None the one that waits, and show it; return how it ended.

        Raises ``KeyboardInterrupt`` when Ctrl-C stopped it, after the history was left valid.
        """
        try:
            return asyncio.run(self._turn(agent, text, view))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    async def _turn(self, agent: LLMAgent, text: str | None, view: View) -> TurnFinished | TurnFailed:
        turn = asyncio.current_task()
        assert turn is not None  # noqa: S101 - a coroutine that asyncio.run runs is a task
        self.confirm.begin(view, turn.cancel)
        try:
            with _interrupted_by_ctrl_c(turn.cancel):
                return await self._events(agent, text, view)
        finally:
            view.end()

    async def _events(self, agent: LLMAgent, text: str | None, view: View) -> TurnFinished | TurnFailed:
        last: Event | None = None
        async with aclosing(agent.stream(text, scope=self.scope)) as events:
            async for event in events:
                last = event
                if isinstance(event, ContextBuilt):
                    self.context = event.context
                elif isinstance(event, TurnStarted) and text is None:
                    self.spoken[self.scope.session] = self.scope
                elif isinstance(event, ToolsMissing):
                    if event.reasons == self.missing:  # said already
                        continue
                    self.missing = event.reasons
                view.show(event)
        if isinstance(last, TurnFinished | TurnFailed):
            return last
        raise RuntimeError(f"a turn ended with {last!r}")


@contextmanager
def _interrupted_by_ctrl_c(stop: Callable[[], object]) -> Iterator[None]:
    """Let Ctrl-C call ``stop``, however often it is pressed, while the running loop is in the block."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except (NotImplementedError, RuntimeError, ValueError):
        # Windows, or not the main thread: there asyncio.run cancels the task at the first Ctrl-C itself.
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
