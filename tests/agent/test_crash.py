"""The process dies after any of a turn's writes; the next one goes on without repair by hand."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from orca.agent.agent_call import LEFT_BEHIND
from orca.agent.tool_calls import CANCELLED
from orca.config import Settings
from orca.errors import NotFoundError
from orca.memory.rendering import render_message
from orca.wiring import open_memory

from .crashing import SCOPE
from .delegation import ANSWER, QUESTION, answers, delegating_agent
from .helpers import assert_valid, prompts

ROOT = Path(__file__).parent.parent.parent


def resume(path, chat):
    """Go on with what a dead process left; return how the turn's rows look afterwards."""
    with open_memory(path, embedder=None, chat_model=None, settings=Settings(home=path.parent)) as memory:
        agent = delegating_agent(memory, chat)
        assert_valid(agent.build_llm_messages("another", scope=SCOPE))
        with suppress(NotFoundError):  # where the answer was stored, nothing waits
            assert asyncio.run(agent.run(None, scope=SCOPE)).text == ANSWER
        rows = memory.messages(scope=SCOPE)
        runs = memory.subagent_runs(scope=SCOPE)
        assert memory.verify().ok
        return rows, runs


@pytest.mark.case(31)
@pytest.mark.case(26)
@pytest.mark.case(7)
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_crash_between_any_two_steps(server, chat, tmp_path):
    server.otherwise(answers())
    command = [sys.executable, "-m", "tests.agent.crashing", server.base_url, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    deaths = int(done.stdout)
    assert deaths >= 11
    endings = set()
    for number in range(1, deaths + 1):
        rows, runs = resume(tmp_path / f"{number}.db", chat)
        assert_valid([render_message(row) for row in rows])
        assert [row.content for row in rows].count(QUESTION) == 1
        assert [row.content for row in rows].count(ANSWER) == 1
        assert rows[-1].content == ANSWER
        answered = [row.tool_call_id for row in rows if row.role == "tool"]
        calls = [call["id"] for row in rows for call in row.tool_calls or ()]
        assert sorted(answered) == sorted(calls)
        for request in prompts(server)[-3:]:
            assert_valid(request)
        for run in runs:
            assert (run.status, run.error) in {("done", None), ("cancelled", LEFT_BEHIND)}
            endings.add(run.status)
        endings.update(row.content for row in rows if row.content == CANCELLED)
    assert endings == {"done", "cancelled", CANCELLED}
