"""``SubAgentStore``: runs and traces in tables of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orca.errors import NotFoundError
from orca.protocols import Store
from orca.testing import FixedClock
from orca.types import Message, Scope, SubAgentMessage, SubAgentRun


@pytest.mark.case(35)
def test_a_run_and_its_trace_come_back(store: Store, scope: Scope, clock: FixedClock) -> None:
    parent = store.messages.append([Message(role="assistant", content="calling")], scope=scope)[0]
    run = store.subagents.start(
        SubAgentRun(agent="coder", task="写脚本", parent_message_id=parent.id), scope=scope
    )
    assert (run.status, run.started_at, run.session) == ("running", clock.now(), scope.session)
    steps = [
        SubAgentMessage(run_id=run.id, role="system", content="be brief"),
        SubAgentMessage(
            run_id=run.id, role="assistant", tool_calls=[{"id": "c"}], reasoning="hm", token_count=3
        ),
        SubAgentMessage(run_id=run.id, role="tool", content=["a", {"b": 1}], tool_call_id="c", name="look"),
        SubAgentMessage(run_id=run.id, role="assistant", content="done \x00", metadata={"k": [1]}),
    ]
    stored = store.subagents.append(steps, scope=scope)
    assert [replace(step, id=None, timestamp=None) for step in stored] == steps
    assert store.subagents.messages(run.id) == stored
    done = store.subagents.finish(
        run.id, scope=scope, status="done", now=clock.advance(5), summary="成了", tokens=12
    )
    assert (done.status, done.summary, done.tokens, done.ended_at) == ("done", "成了", 12, clock.now())
    assert store.subagents.get(run.id) == done
    assert store.subagents.find(scope=scope, parent_message_id=parent.id) == [done]
    assert store.subagents.find(scope=scope, parent_message_id=parent.id + 1) == []


@pytest.mark.case(35)
def test_a_trace_never_enters_the_conversation(store: Store, scope: Scope) -> None:
    run = store.subagents.start(SubAgentRun(agent="coder", task="plum"), scope=scope)
    store.subagents.append([SubAgentMessage(run_id=run.id, role="user", content="plum")], scope=scope)
    assert store.messages.recent(scope=scope) == []
    assert store.messages.search(["plum"], scope=scope, limit=5).matches == ()
    assert store.jobs.pending() == 0


@pytest.mark.case(13)
def test_runs_belong_to_their_scope(store: Store, scope: Scope, clock: FixedClock) -> None:
    run = store.subagents.start(SubAgentRun(agent="coder", task="t"), scope=scope)
    step = SubAgentMessage(run_id=run.id, role="assistant", content="x")
    assert store.subagents.get(run.id, user=scope.user) == run
    for other in (replace(scope, user="bob"), replace(scope, session="s2"), replace(scope, agent="x")):
        assert store.subagents.find(scope=other) == []
        with pytest.raises(NotFoundError):
            store.subagents.append([step], scope=other)
        with pytest.raises(NotFoundError):
            store.subagents.finish(run.id, scope=other, status="done", now=clock.now())
    for call in (store.subagents.get, store.subagents.messages):
        with pytest.raises(NotFoundError):
            call(run.id, user="bob")
        with pytest.raises(NotFoundError):
            call(10**9)


def test_a_batch_with_a_step_of_another_run_is_not_stored(store: Store, scope: Scope) -> None:
    run = store.subagents.start(SubAgentRun(agent="coder", task="t"), scope=scope)
    steps = [
        SubAgentMessage(run_id=run.id, role="assistant", content="x"),
        SubAgentMessage(run_id=10**9, role="assistant", content="y"),
    ]
    with pytest.raises(NotFoundError):
        store.subagents.append(steps, scope=scope)
    assert store.subagents.messages(run.id) == []
