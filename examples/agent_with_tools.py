"""An agent with a tool of its own, which remembers what it was told in another session.

python examples/agent_with_tools.py

A scripted server stands in for the model. For a real one, give LLMAgent its name and address, or use open_agent().
"""

import asyncio

from orca import LLMAgent, Scope, open_memory
from orca.agent.events import TextDelta, ToolFinished
from orca.testing import ScriptedServer, stream_reply, tool_call


def train_times(to: str) -> list[str]:
    """Return when trains leave."""
    return [f"09:00 to {to}", f"13:30 to {to}"]


async def ask(agent: LLMAgent, text: str, session: str) -> None:
    print(f"{session}> {text}")
    async for event in agent.stream(text, scope=Scope(user="alice", session=session)):
        if isinstance(event, ToolFinished):
            print(f"  [{event.name}] {event.result}")
        elif isinstance(event, TextDelta):
            print(event.text, end="", flush=True)
    print()


async def main() -> None:
    with ScriptedServer() as server, open_memory(":memory:") as memory:
        server.script(
            stream_reply("Noted: no trains before ten."),
            stream_reply(tool_calls=[tool_call("train_times", {"to": "Shanghai"})]),
            stream_reply("Take the 13:30: you do not travel before ten."),
        )
        agent = LLMAgent(memory, model="any", base_url=server.base_url, tools=[train_times])
        await ask(agent, "I never take trains that leave before ten in the morning.", "monday")
        memory.flush()
        await ask(agent, "Which train to Shanghai should I take, given when I travel?", "friday")
        recalled = server.requests[-1].body["messages"]
        print("recalled on Friday:", "before ten" in str(recalled))


if __name__ == "__main__":
    asyncio.run(main())
