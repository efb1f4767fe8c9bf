"""``AsyncMemory`` offers what ``MemoryManager`` offers."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

from orca import AsyncMemory, MemoryManager, Scope, open_memory
from orca.config import Settings

ALICE = Scope(user="alice", session="s1")


def test_every_method_of_the_memory_is_a_coroutine() -> None:
    methods = [name for name, member in vars(MemoryManager).items() if callable(member) and name[0] != "_"]

    assert [
        name for name in methods if not inspect.iscoroutinefunction(getattr(AsyncMemory, name, None))
    ] == []


def plain(path: Path) -> MemoryManager:
    return open_memory(path, embedder=None, chat_model=None, settings=Settings())


def test_an_export_goes_through_the_event_loop(tmp_path: Path) -> None:
    async def copy(source: AsyncMemory, target: AsyncMemory) -> None:
        await target.import_rows(await source.export_rows())

    with plain(tmp_path / "one.db") as one, plain(tmp_path / "two.db") as two:
        one.observe(scope=ALICE, role="user", content="The red bicycle stands in the cellar")
        asyncio.run(copy(AsyncMemory(one), AsyncMemory(two)))

        assert [message.content for message in two.messages(scope=ALICE)] == [
            "The red bicycle stands in the cellar"
        ]
