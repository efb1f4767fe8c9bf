"""The same memory in an event loop: nothing blocks it, and several conversations go on at once.

python examples/use_async.py
"""

import asyncio

from orca import AsyncMemory, Scope, open_memory


async def talk(memory: AsyncMemory, user: str, said: str, asked: str) -> str:
    """Take one message in, and return what a question by the same user brings back."""
    scope = Scope(user=user)
    await memory.observe(scope=scope, role="user", content=said)
    hits = await memory.search_messages(scope=scope, query=asked, limit=1)
    return f"{user}: {hits[0].content}"


async def main() -> None:
    async with AsyncMemory(open_memory(":memory:")) as memory:
        answers = await asyncio.gather(
            talk(
                memory, "daniel", "I live in Lisbon and work in the mornings.", "Where does Lisbon come in?"
            ),
            talk(memory, "lin", "我从杭州搬到厦门了。", "搬到哪里了？"),
        )
        print(*answers, sep="\n")


if __name__ == "__main__":
    asyncio.run(main())
