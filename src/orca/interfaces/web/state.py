"""What every route of one app shares, and the parameters that most routes take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Query
from starlette.requests import Request

from orca.agent.llm_agent import LLMAgent
from orca.config import Settings
from orca.interfaces.web.access import Access, Visitor
from orca.interfaces.web.changes import Changes
from orca.memory.manager import MemoryManager
from orca.types import Scope

MAX_NAME = 1000
"""Longest name of a user, agent or session in a request, in characters."""

MAX_ID = 2**53 - 1
"""Largest id in a request: the largest whole number that every reader of JSON keeps exactly (RFC 7493, section 2.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebState:
    """The memory that is shown, the agent that may talk about it, and who may ask."""

    memory: MemoryManager
    access: Access
    changes: Changes
    settings: Settings = field(default_factory=Settings)
    agent: LLMAgent | None = None


def state_of(request: Request) -> WebState:
    """Return the app's state."""
    state: WebState = request.app.state.orca
    return state


def visitor_of(request: Request) -> Visitor:
    """Return who asks. Requests that were refused before anybody was known have no visitor."""
    visitor: Visitor = getattr(request.state, "visitor", Visitor(trusted=False, csrf_token=""))
    return visitor


def _memory(request: Request) -> MemoryManager:
    return state_of(request).memory


def _owner(
    user: Annotated[str, Query(min_length=1, max_length=MAX_NAME, description="Whose memory.")] = "default",
    agent: Annotated[
        str, Query(min_length=1, max_length=MAX_NAME, description="Which agent's view of it.")
    ] = "main",
) -> Scope:
    return Scope(user=user, agent=agent)


Memory = Annotated[MemoryManager, Depends(_memory)]
"""The memory, as a parameter of a route. Routes that use it are plain functions: they run in worker threads."""

Owner = Annotated[Scope, Depends(_owner)]
"""Scope of ``?user=`` and ``?agent=``, without a session."""
