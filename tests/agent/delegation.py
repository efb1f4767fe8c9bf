"""A turn with everything in it: thinking, text, a tool, a sub-agent with a tool of its own, an answer.

``answers`` tells from the messages alone what comes next, so that it serves turns that begin anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orca.agent.agent_spec import AgentSpec
from orca.agent.llm_agent import LLMAgent
from orca.agent.model import StreamingModel
from orca.agent.tools import tool
from orca.memory.manager import MemoryManager
from orca.testing import Reply, Request, stream_reply, tool_call

CHILD = "You are the coder."
QUESTION = "please do both"
REPORT = "the work is done"
ANSWER = "all done"


@tool
async def look(at: str) -> str:
    """Look at something."""
    return f"seen: {at}"


def answers(secret: str = "nothing") -> Callable[[Request], Reply]:
    """Return the server's side; ``secret`` is what the child sees and thinks, and nobody else may."""

    def answer(request: Request) -> Reply:
        messages: list[dict[str, Any]] = request.body["messages"]
        last = messages[-1]
        if messages[0]["content"] == CHILD:
            if last["role"] == "tool":
                return stream_reply(REPORT, reasoning=f"now {secret}")
            return stream_reply(f"hm {secret}", tool_calls=[tool_call("look", {"at": secret}, id="child")])
        if last["role"] == "tool":
            return stream_reply(ANSWER)
        if not last["content"].endswith(QUESTION):
            return stream_reply("ok")
        calls = [
            tool_call("look", {"at": "x"}, id="one"),
            tool_call("agent_call", {"agent": "coder", "task": "work"}, id="two"),
        ]
        return stream_reply("let me see", tool_calls=calls, reasoning="thinking")

    return answer


def delegating_agent(memory: MemoryManager, model: StreamingModel, **given: Any) -> LLMAgent:
    """Return the agent of that turn."""
    coder = AgentSpec(name="coder", description="writes code", prompt=CHILD, tools=[look])
    return LLMAgent(memory, model=model, **({"tools": [look], "agents": [coder]} | given))
