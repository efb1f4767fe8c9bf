"""The public names, gathered. ``orca`` hands them out from here on first use."""

from orca.errors import (
    ConfigError,
    ContextOverflowError,
    MissingExtraError,
    OrcaError,
    ProviderError,
    StoreError,
    ToolError,
)
from orca.memory.async_memory import AsyncMemory
from orca.memory.manager import MemoryManager
from orca.types import Context, Hit, Memory, Message, Recall, Scope, TokenBudget
from orca.wiring import open_agent, open_memory

__all__ = [
    "AsyncMemory",
    "ConfigError",
    "Context",
    "ContextOverflowError",
    "Hit",
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
