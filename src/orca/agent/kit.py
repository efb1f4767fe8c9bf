"""What a turn of the main agent may use: its own tools, those of servers as far as they are up, and its sub-agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from orca.agent.agent_call import SubAgents
from orca.agent.tools import Tool, ToolBox


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The tools that are there now. ``missing`` says in words what is not there and why."""

    tools: tuple[Tool, ...] = ()
    missing: tuple[str, ...] = ()


class ToolServers(Protocol):
    """Where tools come from that are not there at once: ``orca.agent.mcp_tools.MCPServers``."""

    def start(self) -> None:
        """Begin to start the servers, without waiting."""
        ...

    async def offer(self) -> Offer:
        """Return what is there, after a wait that is bounded. Never raises for a server that is down."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The tools that the model is offered, the agents behind ``agent_call``, and what is missing."""

    tools: ToolBox
    agents: SubAgents
    missing: tuple[str, ...] = ()


class Workbench:
    """Makes the kit of each turn, and the same one as long as nothing changes. Thread-safe."""

    def __init__(
        self,
        own: Iterable[Tool | Callable[..., Any]],
        servers: ToolServers | None,
        agents: Callable[..., SubAgents],
        *,
        private: Iterable[Tool] = (),
    ) -> None:
        """``own`` tools come before those of ``servers``; ``agents`` makes the sub-agents, which may share both.

        ``private`` tools are for the main agent alone: those of the user's memory. Raises ``ConfigError`` for tools and
        agents that cannot be used.
        """
        self._private = tuple(private)
        self._own = ToolBox(own)
        self._servers = servers
        self._agents = agents
        self._made: tuple[tuple[Tool, ...], Kit] = ((), self._make(()))

    @property
    def kit(self) -> Kit:
        """The kit of the turn that began last."""
        return self._made[1]

    async def refresh(self) -> Kit:
        """Return the kit for a turn that begins."""
        if self._servers is None:
            return self.kit
        offer = await self._servers.offer()
        offered, kit = self._made
        if offer.tools != offered:
            kit = self._make(offer.tools)
        kit = replace(kit, missing=(*offer.missing, *kit.agents.unmatched))
        self._made = (offer.tools, kit)
        return kit

    def _make(self, offered: Iterable[Tool]) -> Kit:
        # A name of the agent's own comes before a server's, which nobody here has chosen.
        taken = {tool.name for tool in (*self._private, *self._own)}
        shared = ToolBox([*self._own, *(tool for tool in offered if tool.name not in taken)])
        agents = self._agents(shared=shared, more_to_come=self._servers is not None)
        tools = ToolBox([*self._private, *shared, *agents.tools(agents.names, depth=0)])
        return Kit(tools=tools, agents=agents, missing=agents.unmatched)
