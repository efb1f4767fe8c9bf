"""The declaration of a sub-agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from orca.agent.model import StreamingModel
from orca.agent.tools import Tool
from orca.errors import ConfigError
from orca.protocols import ChatModel

_NAME = re.compile(r"[^\s/]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """A sub-agent's declaration.

    Attributes:
        name: What it is called by; no blanks, no slashes.
        description: What it is good at, for the agent that may call it.
        model: Its model; None for the caller's.
        prompt: Its system prompt; empty for the default one.
        tools: What it may use.
        shared_tools: Names of the main agent's tools that it may use as well, or patterns such as ``files__*``.
        agents: The names of agents that it may call in turn, as deep as the main agent allows.
        max_steps: How often it may call tools; then it has to answer without.
        timeout_seconds: How long it may take.
        max_tokens: How many tokens all its prompts and replies may add up to; None sets no limit.
        window_tokens: Its model's window; None for the caller's.
        read_memory: Whether it may search the user's long-term memory. It can never write there.

    Raises ``ConfigError`` for a value that cannot be used.

    """

    name: str
    description: str = ""
    model: StreamingModel | ChatModel | None = None
    prompt: str = ""
    tools: Sequence[Tool | Callable[..., Any]] = ()
    shared_tools: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    max_steps: int = 16
    timeout_seconds: float = 600.0
    max_tokens: int | None = 500_000
    window_tokens: int | None = None
    read_memory: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"agent name {self.name!r}: use 1 to 64 characters without blanks and slashes")
        if self.max_steps < 1 or self.timeout_seconds <= 0 or (self.max_tokens or 1) < 1:
            raise ConfigError(f"agent {self.name}: max_steps, timeout and max_tokens must be above 0")
