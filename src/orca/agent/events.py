"""What happens during a turn, as ``LLMAgent.stream`` tells it, and what comes of the turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from orca.agent.model import Usage
from orca.errors import OrcaError
from orca.types import Context, Message, RunStatus, SubAgentRun


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """A finished turn.

    ``usage`` is summed over the turn's own replies, sub-agents not included (their runs know their tokens).
    ``context`` is the ledger of the last prompt. ``runs`` are the sub-agent runs that the turn started.
    ``message`` is the stored reply; ``finish_reason`` is the provider's (``length``: cut at the reply's limit).
    """

    text: str
    usage: Usage
    context: Context
    runs: tuple[SubAgentRun, ...] = ()
    message: Message | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    steps: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The user's message is stored."""

    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsMissing:
    """The turn goes on without some tools: their servers are down or still starting. ``reasons`` says it in words.

    Comes in every turn in which something is missing, before the first prompt; what is back joins by itself.
    """

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBuilt:
    """A prompt was assembled; one comes before every reply of the model."""

    context: Context


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the reply. The text of ``TurnFinished`` is what counts: it is cleared of stray thinking."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """A piece of the model's thinking, which is stored apart from its reply."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled:
    """The provider could not answer; it is asked again after ``seconds``."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool call was stored and begins to run. ``arguments`` are the parsed ones, empty if they cannot be read."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress:
    """What a running tool says about itself."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool call is over, and its result is what the model will read."""

    call_id: str
    name: str
    result: str
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentProgress:
    """A step of a sub-agent: its beginning, a tool it uses, its end. Nothing of what it thinks or reads.

    ``tool`` is the tool's name when ``stage`` is ``tool``; ``status`` is set when it is ``finished``.
    """

    run_id: int
    agent: str
    stage: Literal["started", "tool", "finished"]
    tool: str | None = None
    status: RunStatus | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    """The reply is stored; nothing comes after this."""

    result: AgentResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """The turn ended without an answer; nothing comes after this.

    ``error`` says why. ``partial`` is what had been said of the reply; it is stored, marked ``interrupted``.
    """

    error: OrcaError
    partial: str = ""


Event = (
    TurnStarted
    | ToolsMissing
    | ContextBuilt
    | TextDelta
    | ReasoningDelta
    | RetryScheduled
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | SubAgentProgress
    | TurnFinished
    | TurnFailed
)
