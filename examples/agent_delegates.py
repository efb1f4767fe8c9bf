"""An agent gives two pieces of work to sub-agents at once; their steps stay out of the conversation.

python examples/agent_delegates.py

A scripted server stands in for the model; it tells from the prompt who asks.
"""

import asyncio

from orca import LLMAgent, Scope, open_memory
from orca.agent.agent_spec import AgentSpec
from orca.agent.events import SubAgentProgress
from orca.testing import Reply, Request, ScriptedServer, stream_reply, tool_call

READER = "You read texts and say in one line what they are about."


def answer(request: Request) -> Reply:
    messages = request.body["messages"]
    if messages[0]["content"] == READER:
        return stream_reply(f"{messages[1]['content']} is about cats.")
    if messages[-1]["role"] == "tool":
        return stream_reply("Both are about cats.")
    calls = [
        tool_call("agent_call", {"agent": "reader", "task": name}, id=name) for name in ("one.txt", "two.txt")
    ]
    return stream_reply(tool_calls=calls)


async def main() -> None:
    scope = Scope(session="reading")
    reader = AgentSpec(name="reader", description="Reads a text.", prompt=READER)
    with ScriptedServer() as server, open_memory(":memory:") as memory:
        server.otherwise(answer)
        async with LLMAgent(memory, model="any", base_url=server.base_url, agents=[reader]) as agent:
            async for event in agent.stream("What are one.txt and two.txt about?", scope=scope):
                if isinstance(event, SubAgentProgress):
                    print(f"  [{event.agent}, run {event.run_id}] {event.stage}")
        for message in memory.messages(scope=scope):
            print(f"{message.role}: {message.content or 'calls two agents'}")
        for run in memory.subagent_runs(scope=scope):
            print(
                f"run {run.id}: {run.status}, {len(memory.subagent_messages(run_id=run.id or 0))} steps kept"
            )


if __name__ == "__main__":
    asyncio.run(main())
