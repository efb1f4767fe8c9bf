"""The map after writes: drawn anew, and only what is new is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orca import Scope, open_memory
from orca.memory.manager import MemoryManager
from orca.testing import FakeEmbedder

SCOPE = Scope(session="s")


def memory_at(path: Path) -> MemoryManager:
    return open_memory(path, embedder=FakeEmbedder(dimensions=16), chat_model=None)


def test_a_write_costs_one_vector_and_a_deletion_takes_its_point_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memory_at(tmp_path / "chat.db") as memory:
        first = memory.observe(scope=SCOPE, role="user", content="we sail to Crete on Friday")
        memory.observe(scope=SCOPE, role="user", content="the cat sleeps on the sofa")
        memory.remember(scope=SCOPE, content="likes sailing")
        assert memory.flush(30)
        asked: list[list[int]] = []
        read = memory._store.browse.vectors

        def noted(record: str, ids: list[int]) -> tuple[list[int], np.ndarray]:
            asked.append(list(ids))
            return read(record, ids)

        monkeypatch.setattr(memory._store.browse, "vectors", noted)
        before = memory.browse.map(scope=SCOPE)
        assert [(point.record, point.id) for point in before] == [
            ("message", 1),
            ("message", 2),
            ("memory", 1),
        ]
        assert memory.browse.map(scope=SCOPE) is before, "nothing was written"
        assert asked == [[1, 2], [1]]
        third = memory.observe(scope=SCOPE, role="user", content="and on to Rhodes by sea")
        assert memory.flush(30)
        asked.clear()
        assert len(memory.browse.map(scope=SCOPE)) == 4
        assert asked == [[third.id]]
        memory.delete_session(scope=SCOPE)
        assert [point.record for point in memory.browse.map(scope=SCOPE)] in (["memory"], [])
        assert first.id not in memory.browse._map._vectors["message"]


def test_another_model_makes_another_map(tmp_path: Path) -> None:
    with memory_at(tmp_path / "chat.db") as memory:
        memory.observe(scope=SCOPE, role="user", content="we sail to Crete on Friday")
        assert memory.flush(30)
        assert len(memory.browse.map(scope=SCOPE)) == 1
        with open_memory(
            tmp_path / "chat.db", embedder=FakeEmbedder(dimensions=32), chat_model=None
        ) as other:
            assert other.flush(30)
        assert len(memory.browse.map(scope=SCOPE)) == 1
        assert memory.browse._map._vectors["message"][1].shape == (32,)
