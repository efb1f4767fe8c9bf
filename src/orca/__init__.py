"""Orca: a three-tier memory for LLM agents.

``open_memory`` is the way in; ``MemoryManager`` shows what can be done with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orca.agent.llm_agent import LLMAgent
    from orca.public import (
        AsyncMemory,
        ConfigError,
        Context,
        ContextOverflowError,
        Hit,
        Memory,
        MemoryManager,
        Message,
        MissingExtraError,
        OrcaError,
        ProviderError,
        Recall,
        Scope,
        StoreError,
        TokenBudget,
        ToolError,
        open_agent,
        open_memory,
    )

__all__ = [
    "AsyncMemory",
    "ConfigError",
    "Context",
    "ContextOverflowError",
    "Hit",
    "LLMAgent",
    "Memory",
    "MemoryManager",
    "Message",
    "MissingExtraError",
    "OrcaError",
    "ProviderError",
    "Recall",
    "Scope",
    "StoreError",
    "TokenBudget",
    "ToolError",
    "open_agent",
    "open_memory",
]


def __getattr__(name: str) -> Any:
    # The command line is a module of this package and must answer --help in 0.4 s, so that importing the
    # package may not yet import SQLite, numpy and the OpenAI SDK. The first use of a public name does.
    if name not in __all__:
        raise AttributeError(f"module 'orca' has no attribute {name!r}")
    value: Any
    if name == "LLMAgent":  # brings the OpenAI SDK, for which a memory without a model must not wait
        from orca.agent import llm_agent

        value = llm_agent.LLMAgent
    else:
        from orca import public

        value = getattr(public, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
