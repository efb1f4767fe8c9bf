"""Whatever users, sessions and agents do in whatever order, nobody ever sees what is another's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from orca import MemoryManager, Scope, open_memory
from orca.config import Settings
from orca.errors import NotFoundError

pytestmark = pytest.mark.case(13)

# Pairs that a LIKE pattern, a path, a fold or a join would take for one.
USERS = ("user1", "user1 ", "user10", "user%", "USER1", "../user1", "a:b", "o'); DROP TABLE sessions;--")
SESSIONS = ("main", "main%", "ma_n", "a/b", "张三")
AGENTS = ("main", "b:main")

scopes = st.builds(
    Scope, user=st.sampled_from(USERS), session=st.sampled_from(SESSIONS), agent=st.sampled_from(AGENTS)
)


def mark(scope: Scope) -> str:
    """Return a word that only rows of this scope hold."""
    places = USERS.index(scope.user), SESSIONS.index(scope.session), AGENTS.index(scope.agent)
    return "mark" + "".join("abcdefgh"[place] for place in places) + "x"


class Scopes(RuleBasedStateMachine):
    """Tells, remembers, deletes and looks, and keeps a model of what each scope may see."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: MemoryManager = open_memory(
            ":memory:", embedder=None, chat_model=None, settings=Settings()
        )
        self.told: dict[Scope, int] = {}
        self.facts: dict[int, Scope] = {}

    def teardown(self) -> None:
        self.memory.close()

    @rule(scope=scopes)
    def tell(self, scope: Scope) -> None:
        self.memory.observe(scope=scope, role="user", content=f"The garden {mark(scope)} has a red wall")
        self.told[scope] = self.told.get(scope, 0) + 1

    @rule(scope=scopes)
    def remember(self, scope: Scope) -> None:
        fact = self.memory.remember(scope=scope, content=f"The user keeps {mark(scope)} in the garden")
        self.facts[fact.id or 0] = scope

    @rule(scope=scopes)
    def delete_session(self, scope: Scope) -> None:
        self.memory.delete_session(scope=scope)
        self.told = {other: count for other, count in self.told.items() if not _same_session(other, scope)}
        self._keep_living(lambda owner: not _same_session(owner, scope))

    @rule(scope=scopes)
    def delete_user(self, scope: Scope) -> None:
        self.memory.delete_user(scope=scope)
        self.told = {other: count for other, count in self.told.items() if other.user != scope.user}
        self._keep_living(lambda owner: owner.user != scope.user)

    @rule(scope=scopes, data=st.data())
    def reach_for_what_is_not_ones_own(self, scope: Scope, data: st.DataObject) -> None:
        others = [number for number, owner in self.facts.items() if owner.user != scope.user]
        if not others:
            return
        number = data.draw(st.sampled_from(others))
        for act in (self.memory.forget, self.memory.pin, self.memory.history):
            with pytest.raises(NotFoundError):
                act(scope=scope, id=number)

    @rule(scope=scopes)
    def look(self, scope: Scope) -> None:
        """Look through every lane; only words of the same user and agent may be seen."""
        recall = self.memory.recall(scope=scope, query="garden with a red wall", limit=50)
        page = self.memory.browser.messages(scope=scope, limit=50) if hasattr(self.memory, "browser") else ()
        seen: list[Any] = [
            recall,
            page,
            self.memory.messages(scope=scope, limit=None),
            self.memory.memories(scope=scope, include_inactive=True),
            self.memory.search_messages(scope=scope, query="garden"),
            self.memory.get_long_term_memory(scope=scope, query="garden"),
            self.memory.get_working_memory(scope=scope),
            self.memory.build_context(scope=scope, query="garden red wall").messages,
            self.memory.sessions(user=scope.user),
        ]
        text = repr(seen)
        for user in USERS:
            for session in SESSIONS:
                for agent in AGENTS:
                    other = Scope(user=user, session=session, agent=agent)
                    if (user, agent) != (scope.user, scope.agent):
                        assert mark(other) not in text, (scope, other)
        assert len(self.memory.messages(scope=scope, limit=None)) == self.told.get(scope, 0)

    @invariant()
    def every_row_says_whose_it_is(self) -> None:
        """An export holds each word beside the name of its owner, and as many messages as were told."""
        rows = [row for table, row in self.memory.export_rows() if table == "main_messages"]
        assert len(rows) == sum(self.told.values())
        for row in rows:
            for scope in self.told:
                if mark(scope) in json.dumps(row, default=str):
                    assert row["user_id"] == scope.user

    def _keep_living(self, keeps: Callable[[Scope], bool]) -> None:
        self.facts = {number: owner for number, owner in self.facts.items() if keeps(owner)}


def _same_session(one: Scope, other: Scope) -> bool:
    return (one.user, one.session, one.agent) == (other.user, other.session, other.agent)


TestScopes = Scopes.TestCase
TestScopes.settings = settings(
    max_examples=4, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
