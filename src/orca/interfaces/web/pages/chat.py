"""Chat: a conversation with the agent, streamed, with its ledger beside it; a search where there is no model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from orca.agent.events import (
    ContextBuilt,
    Event,
    RetryScheduled,
    SubAgentProgress,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from orca.agent.llm_agent import LLMAgent
from orca.errors import ConfigError
from orca.interfaces.web.api.bodies import MAX_TEXT
from orca.interfaces.web.i18n import reasons
from orca.interfaces.web.notices import after_write
from orca.interfaces.web.pages.parameters import Text, Words
from orca.interfaces.web.problems import status_of
from orca.interfaces.web.rendering import page, spoken
from orca.interfaces.web.state import MAX_NAME, Memory, Owner, state_of
from orca.memory.ranking import best_hits
from orca.types import Context, Scope

router = APIRouter()

Why = Callable[[str], str]
"""Says a reason in the language of the page."""

SHOWN = 30
SESSIONS_OFFERED = 50
FOUND = 10

InChat = Annotated[str, Form(min_length=1, max_length=MAX_NAME)]


@router.get("/chat")
def show_chat(
    request: Request,
    memory: Memory,
    owner: Owner,
    session: Text = None,
    q: Annotated[str, Query(max_length=MAX_TEXT)] = "",
) -> Response:
    """Show the newest messages of a session and what the next prompt would hold."""
    state = state_of(request)
    sessions = memory.browse.sessions(user=owner.user, limit=SESSIONS_OFFERED).items[::-1]
    chosen = session or (sessions[0].id if sessions else "default")
    scope = replace(owner, session=chosen)
    found = memory.recall(scope=scope, query=q, limit=FOUND) if q.strip() else None
    return page(
        request,
        "chat.html",
        agent=state.agent,
        home=str(state.settings.home),
        session=chosen,
        sessions=sessions,
        messages=memory.messages(scope=scope, limit=SHOWN),
        context=memory.build_context(scope=scope) if state.agent else None,
        q=q,
        hits=best_hits(found, FOUND) if found else [],
        degraded=found.degraded if found else None,
    )


@router.post("/chat")
async def answer(request: Request, owner: Owner, text: Words = "", session: InChat = "default") -> Response:
    """Answer a message in one piece, for browsers without scripts."""
    agent = _agent(request)
    await agent.run(text, scope=replace(owner, session=session))
    return after_write(request, "/chat", "answered", session=session, anchor="#newest")


@router.post("/chat/stream")
async def stream(request: Request, owner: Owner, text: Words = "", session: InChat = "default") -> Response:
    """Answer a message piece by piece, as server-sent events."""
    agent = _agent(request)
    if not text.strip():
        raise ConfigError("text: say something first")
    events = _encoded(agent, text, replace(owner, session=session), reasons(spoken(request)))
    return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _agent(request: Request) -> LLMAgent:
    agent = state_of(request).agent
    if agent is None:
        raise ConfigError("no model is configured: name one under [llm] in config.toml")
    return agent


async def _encoded(agent: LLMAgent, text: str, scope: Scope, why: Why) -> AsyncGenerator[str, None]:
    async with aclosing(agent.stream(text, scope=scope)) as events:
        async for event in events:
            said = _said(event, why)
            if said is not None:
                name, data = said
                yield f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _said(event: Event, why: Why) -> tuple[str, Mapping[str, Any]] | None:
    """Return an event's name and data for the page, or None for one that it does not show."""
    match event:
        case TurnStarted(message=message):
            return "started", {"id": message.id}
        case ContextBuilt(context=context):
            return "ledger", _ledger(context, why)
        case TextDelta(text=text):
            return "text", {"text": text}
        case TurnFinished(result=result):
            return "finished", {"text": result.text, "id": result.message.id if result.message else None}
        case TurnFailed(error=error):
            return "failed", {"reason": why(status_of(error)[1])}
        case _:
            return _step(event, why)


def _step(event: Event, why: Why) -> tuple[str, Mapping[str, Any]] | None:
    match event:
        case RetryScheduled(seconds=seconds, reason=reason):
            return "note", {"text": f"{why(reason)} ({seconds:.0f} s)"}
        case ToolStarted(call_id=call, name=name, arguments=arguments):
            return "tool", {"call": call, "name": name, "arguments": dict(arguments)}
        case ToolFinished(call_id=call, name=name, ok=ok, result=result):
            return "tool", {"call": call, "name": name, "ok": ok, "result": result}
        case SubAgentProgress(run_id=run, agent=name, stage=stage, tool=tool, tokens=tokens):
            return "run", {"run": run, "agent": name, "stage": stage, "tool": tool, "tokens": tokens}
        case _:
            return None


def _ledger(context: Context, why: Why) -> dict[str, Any]:
    return {
        "tokens": context.tokens,
        "budget": context.budget,
        "items": [
            {
                "tier": item.tier,
                "id": item.id,
                "tokens": item.tokens,
                "included": item.included,
                "reason": why(item.reason),
                "text": item.text[:200],
            }
            for item in context.items
        ],
    }
