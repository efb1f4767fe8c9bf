"""Users, sessions and agents never mix, in any lane, export or delete; ids of any shape are data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from orca import MemoryManager, Scope, open_memory
from orca.config import Settings
from orca.errors import NotFoundError
from orca.testing import FakeEmbedder

pytestmark = pytest.mark.case(13)

NAMES = (
    "john_doe", "john-doe", "johnXdoe", "user1", "user10", "user%", "u\\x", "a.b", "a:b", "a/b", "../../x", "/etc",
    "CON", "o'); DROP TABLE sessions;--", '"q"', "*", "张三", "user1 ",
)  # fmt: skip


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryManager]:
    path = tmp_path_factory.mktemp("scopes") / "orca.db"
    with open_memory(path, embedder=FakeEmbedder(), chat_model=None, settings=Settings()) as memory:
        for number, name in enumerate(NAMES):
            scope = Scope(user=name, session="main")
            memory.observe(
                scope=scope, role="user", content=f"The garden number{number} is behind the red wall"
            )
            memory.observe(scope=scope, role="assistant", content=f"Noted, garden number{number} it is.")
            memory.remember(scope=scope, content=f"The user has garden number{number}")
        assert memory.flush(60)
        yield memory


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_every_lane_gives_only_ones_own(memory: MemoryManager, number: int) -> None:
    scope = Scope(user=NAMES[number], session="main")
    query = "garden behind the red wall"
    recall = memory.recall(scope=scope, query=query, limit=50)
    texts = [hit.content for hit in (*recall.messages, *recall.short_term, *recall.long_term)]
    texts += [str(message.content) for message in memory.messages(scope=scope)]
    texts += [fact.content for fact in memory.memories(scope=scope, include_inactive=True)]
    assert len(recall.messages) == 2
    assert recall.long_term
    for text in texts:
        assert f"number{number}" in text.replace(".", " ").split(), text
    prompt = str(memory.build_context(scope=scope, query=query).messages)
    assert not [other for other in range(len(NAMES)) if other != number and f"number{other} " in prompt]
    assert [session.id for session in memory.sessions(user=scope.user)] == ["main"]


def test_ids_of_others_are_not_found(memory: MemoryManager) -> None:
    for mine, other in list(permutations(NAMES[:5], 2)):
        [fact] = memory.memories(scope=Scope(user=other))
        scope = Scope(user=mine, session="main")
        for act in (memory.forget, memory.pin, memory.history):
            with pytest.raises(NotFoundError):
                act(scope=scope, id=fact.id or 0)
        with pytest.raises(NotFoundError):
            memory.update_memory(scope=scope, id=fact.id or 0, content="mine now")
        with pytest.raises(NotFoundError):
            memory.erasure.preview(scope=scope, memory_id=fact.id)


def test_deleting_one_leaves_all_others(tmp_path: Path) -> None:
    with open_memory(tmp_path / "o.db", embedder=None, chat_model=None, settings=Settings()) as memory:
        for name in NAMES:
            memory.observe(scope=Scope(user=name, session=name), role="user", content="hello over there")
            memory.observe(scope=Scope(user=name, session="other"), role="user", content="hello over here")
        left = len(NAMES) * 2
        for name in NAMES:
            scope = Scope(user=name, session=name)
            assert memory.erasure.preview(scope=scope)["messages"] == 1
            assert memory.delete_session(scope=scope)["messages"] == 1
            left -= 1
            assert memory.status().counts["messages"] == left
            assert memory.delete_user(scope=scope)["messages"] == 1
            left -= 1
            assert memory.status().counts["messages"] == left
        assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("o.db")] == []


def test_agents_of_a_user_do_not_share(memory: MemoryManager) -> None:
    coder = Scope(user="user1", session="main", agent="coder")
    assert memory.memories(scope=coder) == []
    assert memory.recall(scope=coder, query="garden behind the red wall").messages == ()


def test_empty_and_odd_ids_are_names_like_others(memory: MemoryManager) -> None:
    for odd in ("", "user1\x00b", "user1\n"):
        stored = memory.observe(scope=Scope(user=odd, session="main"), role="user", content="hello odd one")
        assert stored.user == odd
        assert [row.content for row in memory.messages(scope=Scope(user=odd, session="main"))] == [
            "hello odd one"
        ]
        assert len(memory.messages(scope=Scope(user="user1", session="main"))) == 2
        assert memory.delete_user(scope=Scope(user=odd))["messages"] == 1
