"""The agent: turns of a conversation over memory, with tools and sub-agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orca.errors import ConfigError

if TYPE_CHECKING:
    from orca.agent.model import StreamingModel
    from orca.values import Secret


def connect(
    model: str,
    *,
    base_url: str | None,
    api_key: Secret | str | None = None,
    timeout: float = 60.0,
    replay_reasoning: bool = False,
) -> StreamingModel:
    """Return the model of that name behind an OpenAI-compatible address. Raises ``ConfigError`` without one."""
    if base_url is None:
        raise ConfigError(f"model {model!r} needs a base_url; orca.open_agent takes it from the settings")
    # The OpenAI SDK takes over a second to import: a memory without a model must not wait for it.
    from orca.agent.chat_stream import StreamingChat

    return StreamingChat(
        base_url=base_url, model=model, api_key=api_key, timeout=timeout, replay_reasoning=replay_reasoning
    )
