"""Summaries and memories made by a model, from the chat to the prompt, over HTTP and behind the conversation."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from orca.agent.llm_agent import LLMAgent
from orca.config import Settings
from orca.llms.openai_compatible import OpenAICompatibleModel
from orca.memory.prompts import SUMMARY_INSTRUCTION
from orca.testing import FixedClock, Reply, chat_reply, stream_reply
from orca.wiring import SystemClock, open_memory

from .helpers import chats, turn

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys, threading
from orca.config import Settings
from orca.llms.openai_compatible import OpenAICompatibleModel
from orca.types import Scope
from orca.wiring import open_memory
from pathlib import Path
path = Path(sys.argv[2])
memory = open_memory(path, embedder=None, chat_model=OpenAICompatibleModel(base_url=sys.argv[1], model="m"),
                     settings=Settings(home=path.parent))
scope = Scope(user="alice", session="s1")
memory.observe(scope=scope, role="user", content="Lately I have taken up pottery on weekends.")
memory.observe(scope=scope, role="assistant", content="Pottery is a fine thing to do.")
threading.Event().wait()
"""


class Writer:
    """The server's side: streamed chats say ``reply``, summaries and extractions what the test tells them to."""

    def __init__(self, server, reply="Noted, that is good to know."):
        self.reply = reply
        self.summaries: list[Reply | str] = []
        self.extractions: list[Reply | str] = []
        self.asked: list[dict] = []
        server.otherwise(self.answer)

    def answer(self, request):
        body = request.body
        if body.get("stream"):
            return stream_reply(self.reply)
        self.asked.append(body)
        is_summary = any(
            body["messages"][-1]["content"].startswith(one) for one in SUMMARY_INSTRUCTION.values()
        )
        given = self.summaries if is_summary else self.extractions
        said = given.pop(0) if given else ("A summary." if is_summary else extraction())
        return said if isinstance(said, Reply) else chat_reply(said)

    @property
    def schemas(self):
        return [body for body in self.asked if "response_format" in body]


def extraction(*contents, **fields):
    memories = [
        {"action": "add", "id": None, "kind": "fact", "speaker": "user", "message_ids": [], "content": one}
        | fields
        for one in contents
    ]
    return json.dumps({"memories": memories}, ensure_ascii=False)


@pytest.fixture
def writer(server):
    return Writer(server)


@pytest.fixture
def opened(server, path, tmp_path):
    @contextmanager
    def opened(clock=None):
        with (
            OpenAICompatibleModel(base_url=server.base_url, model="m", timeout=5) as model,
            open_memory(
                path, embedder=None, chat_model=model, clock=clock, settings=Settings(home=tmp_path)
            ) as memory,
        ):
            yield memory, LLMAgent(memory, model="m", base_url=server.base_url, use_memory_tools=False)

    return opened


@pytest.mark.case(21)
@pytest.mark.parametrize(
    ("said", "reply", "summary", "prompt"),
    [
        ("我最近开始学做陶艺，周末去。", "陶艺很适合放松，祝你玩得开心。", "用户周末学陶艺。", "请用一句话总结本轮对话的关键信息，不超过 50 字："),
        ("I have taken up pottery.", "Pottery is a fine thing.", "The user does pottery.", "in one sentence"),
    ],
)  # fmt: skip
def test_a_turn_is_summarised_in_its_own_language_and_comes_back(
    opened, writer, scope, said, reply, summary, prompt
):
    writer.reply = reply
    writer.summaries = [summary]
    with opened() as (memory, agent):
        turn(agent, said, scope)
        assert memory.flush()
        assert prompt in writer.asked[0]["messages"][-1]["content"]
        (hit,) = memory.get_short_term_memory(scope=scope, query=summary, max_items=3)
        assert hit.content == summary


@pytest.mark.case(22)
@pytest.mark.parametrize(
    "first",
    [
        "```json\n%s\n```",
        "Here you are: %s I hope that helps.",
        "<think>hm {</think>%s",
        "no JSON at all",
        '{"memories": [{"content": 7, "kind": "wish"}]}',
        "[1, 2]",
    ],
    ids=["fenced", "prose", "thinking", "none", "wrong types", "list"],
)
def test_a_session_becomes_memories_whatever_the_reply_looks_like(opened, writer, scope, first):
    fact = "The user has taken up pottery on weekends."
    good = extraction(fact)
    writer.extractions = [first.replace("%s", good), good]
    with opened() as (memory, agent):
        turn(agent, "Lately I have taken up pottery on weekends.", scope)
        memory.end_session(scope=scope)
        assert memory.flush()
        (known,) = [one for one in memory.memories(scope=scope) if one.content == fact]
        assert known.source_message_ids
        assert known.source_message_ids[0] in {one.id for one in memory.messages(scope=scope)}
        repaired = "%s" in first
        assert len(writer.schemas) == (1 if repaired else 2)
        if not repaired:  # the second time it is told what was wrong
            assert "cannot be used" in writer.schemas[1]["messages"][-1]["content"]


@pytest.mark.case(21)
@pytest.mark.parametrize(
    "failure",
    [Reply({"error": {"message": "down"}}, status=503), Reply(b"<html>"), "", "<think>only thinking</think>"],
    ids=["down", "html", "empty", "thinking"],
)
def test_where_the_model_fails_rules_serve_and_the_job_says_so_until_it_is_back(
    opened, writer, scope, failure
):
    clock = FixedClock(SystemClock().now())
    writer.summaries = [failure]
    with opened(clock) as (memory, agent):
        turn(agent, "I live in Rome and work as a potter.", scope)
        memory.flush(timeout=3)
        (by_rule,) = memory.get_short_term_memory(scope=scope, query="Rome", max_items=3)
        assert "Rome" in by_rule.content
        assert any("summary by rule" in entry.reason for entry in memory.status().backlog)
        assert "The user lives in Rome." in [one.content for one in memory.memories(scope=scope)]
        writer.summaries = ["The user is a potter in Rome."]
        clock.advance(3600)
        assert memory.flush()
        (written,) = memory.get_short_term_memory(scope=scope, query="Rome", max_items=3)
        assert (written.id, written.content) == (by_rule.id, "The user is a potter in Rome.")


@pytest.mark.case(7)
def test_a_model_that_hangs_in_the_background_keeps_no_turn_waiting(opened, server, writer, scope):
    held = threading.Event()
    writer.summaries = [Reply(chat_reply("Late.").body, wait=held)]
    with opened() as (memory, agent):
        turn(agent, "I have taken up pottery.", scope)
        assert server.wait_for_requests(2)  # the summary's request is there, and is not answered
        for number in range(3):
            assert turn(agent, f"Question {number} about clay?", scope)[-1].result.text == writer.reply
        assert memory.build_context(scope=scope, query="pottery").tokens
        assert len(writer.asked) == 1
        held.set()
        assert memory.flush()
        assert len(writer.asked) == 4
    assert len([request for request in chats(server) if request.body.get("stream")]) == 4


@pytest.mark.case(21)
def test_a_process_that_dies_while_the_model_writes_leaves_its_job_to_the_next(
    opened, server, writer, path, scope
):
    writer.summaries = [Reply(hang=True)]
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, server.base_url, str(path)], cwd=ROOT)
    try:
        assert server.wait_for_requests(1, timeout=60)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    writer.summaries = ["The user does pottery."]
    with opened(FixedClock(SystemClock().now() + timedelta(hours=1))) as (memory, _):  # its lease is over
        assert memory.flush()
        (hit,) = memory.get_short_term_memory(scope=scope, query="pottery", max_items=3)
        assert hit.content == "The user does pottery."
        assert memory.verify().ok
    assert len(writer.asked) == 2
