"""The sample conversation is what the pages say of it, and shows what a memory is for."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from orca import Scope, open_memory
from orca.importers import import_files

SAMPLES = resources.files("orca.samples")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLES.joinpath(name).read_text(encoding="utf-8").splitlines()]


def test_it_is_half_chinese_and_goes_on_for_weeks() -> None:
    messages = lines("conversation.jsonl")
    texts = [message["content"] or "" for message in messages]
    chinese = [text for text in texts if any("\u4e00" <= character <= "\u9fff" for character in text)]

    assert len(messages) == 186
    assert len({message["session"] for message in messages}) == 9
    assert 0.4 < len(chinese) / len(messages) < 0.6
    times = [message["timestamp"] for message in messages]
    assert times == sorted(times)
    assert times[0] < "2026-03-10"
    assert times[-1] > "2026-05-01"


def test_every_question_is_answered_in_the_language_that_it_names() -> None:
    questions = json.loads(SAMPLES.joinpath("questions.json").read_text(encoding="utf-8"))
    texts = [message["content"] or "" for message in lines("conversation.jsonl")]

    assert len(questions) == 14
    assert {(question["asked_in"], question["told_in"]) for question in questions} == {
        ("zh", "zh"), ("en", "en"), ("zh", "en"), ("en", "zh"),
    }  # fmt: skip
    for question in questions:
        assert any(word in text for word in question["expect"] for text in texts), question["question"]
        assert not any(question["question"] == text for text in texts)


def test_what_changes_in_it_supersedes_what_was_true() -> None:
    scope = Scope(session="after")
    with resources.as_file(SAMPLES) as folder, open_memory(":memory:", embedder=None) as memory:
        report = import_files([folder], memory=memory, scope=Scope(), trusted=True)
        for session in memory.sessions():
            memory.end_session(scope=Scope(session=session.id))
        known = memory.memories(scope=scope, include_inactive=True)
        runs = memory.subagent_runs(scope=Scope(session="importer"))

    assert report.errors == ()
    active = {memory.content for memory in known if memory.state == "active"}
    closed = {memory.content for memory in known if memory.state == "superseded"}
    assert {"用户从杭州搬到厦门了", "用户不吃素了"} <= active
    assert {"用户住在杭州", "用户只吃素"} <= closed
    assert {memory.kind for memory in known} == {"preference", "fact", "decision", "project"}
    assert [run.agent for run in runs] == ["coder"]
    assert runs[0].parent_message_id is not None
