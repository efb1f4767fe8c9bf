"""chat with a model, as scripts use it: whole conversations over HTTP, through a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orca.testing import Reply, stream_reply, tool_call
from tests.interfaces.cli.conftest import Model, Orca


def test_once_prints_the_answer_and_keeps_both_sides(orca: Orca, talking: Model) -> None:
    talking.says(stream_reply("**Hello** Ada,\nnice to meet you."))
    outcome = orca("chat", "--once", "I am Ada.", "--session", "a")
    assert (outcome.code, outcome.out) == (0, "**Hello** Ada,\nnice to meet you.\n")
    said = orca.json("sessions", "show", "a")["messages"]
    assert [(item["role"], item["content"]) for item in said] == [
        ("user", "I am Ada."),
        ("assistant", "**Hello** Ada,\nnice to meet you."),
    ]


def test_once_gives_one_document(orca: Orca, talking: Model) -> None:
    talking.says(
        stream_reply("Let me see.", tool_calls=[tool_call("memory_search", {"query": "plants"})]),
        stream_reply("你只吃素。", reasoning="hmm"),
    )
    document = orca.json("chat", "--once", "What do I eat?", "--session", "a")
    assert document["text"] == "你只吃素。"
    assert document["usage"]["prompt_tokens"] == 14
    assert document["context"]["tokens"] <= document["context"]["budget"]
    assert document["runs"] == []
    assert (document["steps"], document["model"], document["reasoning"]) == (2, "test-model", "hmm")


def test_a_conversation_through_a_pipe_remembers(orca: Orca, talking: Model) -> None:
    talking.says(stream_reply("Noted."), stream_reply("You live in Xiamen."))
    outcome = orca("chat", "--session", "a", typed="I live in Xiamen.\nWhere do I live?\n/context\n/quit\n")
    assert outcome.code == 0, outcome.err
    assert "Noted.\nYou live in Xiamen.\n" in outcome.out
    assert "In the prompt" in outcome.out
    assert "\x1b" not in outcome.out
    assert "Kept 2 messages" in outcome.err
    sent = [item["content"] for item in talking.prompts[1]]
    assert any("I live in Xiamen." in content for content in sent)


@pytest.mark.case(21)
@pytest.mark.parametrize(
    ("reply", "what"),
    [
        (Reply({"error": {"message": "no"}}, status=401), "api_key in"),
        (Reply({"error": {"message": "no such model"}}, status=404), "Name another model"),
        (Reply({"error": {"message": "bad field"}}, status=400), "Name another model"),
        (Reply({"error": {"message": "slow"}}, status=429, headers={"Retry-After": "99"}), "Wait 99 s."),
        (Reply("<html>"), "not JSON"),
    ],
    ids=["key", "model", "refused", "busy", "malformed"],
)
def test_an_error_is_one_line_one_document_and_1(orca: Orca, talking: Model, reply: Reply, what: str) -> None:
    talking.says(*[reply] * 4)
    outcome = orca("chat", "--once", "Hello", "--json", "--session", "a")
    assert outcome.code == 1
    error = outcome.json()["error"]
    assert what in error["message"]
    assert "/retry" not in error["message"]
    assert "Traceback" not in outcome.err
    assert error["message"] in outcome.err
    assert [item["role"] for item in orca.json("sessions", "show", "a")["messages"]] == ["user"]


def test_a_server_that_is_not_there_is_named(
    orca: Orca, talking: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCA_LLM_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("orca.agent.chat_stream.FIRST_PAUSE_SECONDS", 0.001)
    outcome = orca("chat", "--once", "Hello")
    assert outcome.code == 1
    assert "Is the model server running?" in outcome.err


def test_without_a_person_nothing_is_allowed(orca: Orca, talking: Model, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "work").mkdir()
    home.mkdir()
    (home / "config.toml").write_text('[tools]\nworkspace = "../work"\n', encoding="utf-8")
    talking.says(
        stream_reply(tool_calls=[tool_call("write_file", {"path": "a.txt", "content": "x"})]),
        stream_reply("It was not allowed."),
    )
    outcome = orca("chat", "--once", "Write it")
    assert outcome.out == "It was not allowed.\n"
    assert "write_file was refused" in outcome.err
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.case(7)
def test_sub_agents_are_listed_and_read_and_stay_apart(orca: Orca, talking: Model, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[agents.coder]\ndescription = "writes code"\n', encoding="utf-8")
    talking.says(
        stream_reply(tool_calls=[tool_call("agent_call", {"agent": "coder", "task": "count the canary"})]),
        stream_reply("There are 3."),
        stream_reply("The coder counted 3."),
    )
    typed = "Count\n/runs\n/run 1\n/run x\n/run 99\n/quit\n"
    outcome = orca("chat", "--session", "a", typed=typed)
    assert "The coder counted 3." in outcome.out
    assert "✓ coder (run 1) done" in outcome.err
    assert "count the canary" in outcome.out
    assert "/run wants a number" in outcome.err
    assert "there is no run 99" in outcome.err


def test_the_conversation_moves_between_sessions_and_models(orca: Orca, talking: Model) -> None:
    typed = "One.\n/session b\nTwo.\n/model other\n/model\nThree.\n/session\n/session a\n/quit\n"
    outcome = orca("chat", "--session", "a", typed=typed)
    assert outcome.code == 0, outcome.err
    assert "New conversation b." in outcome.err
    assert "Talking to other at" in outcome.err
    assert "Also known: test-model" in outcome.err
    assert "Conversation a, 2 messages. It went on:" in outcome.err
    assert [request.body["model"] for request in talking.server.requests if request.body.get("stream")] == [
        "test-model", "test-model", "other",
    ]  # fmt: skip
    for session, count in (("a", 2), ("b", 4)):
        shown = orca.json("sessions", "show", session)
        assert len(shown["messages"]) == count
        assert shown["sessions"][0]["state"] == "ended"


def test_a_conversation_is_exported_to_read_and_to_import(
    orca: Orca, talking: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = "我住在厦门。\n/export\n/export\n/export out.jsonl\n/export no/such/dir.md\n/quit\n"
    outcome = orca("chat", "--session", "a/../b", typed=typed)
    [file] = tmp_path.glob("*.md")
    assert file.parent == tmp_path
    assert "我住在厦门。" in file.read_text(encoding="utf-8")
    assert "exists already" in outcome.err
    assert "cannot write" in outcome.err
    other = Orca(tmp_path / "other.db")
    assert other.json("import", "out.jsonl")["imported"] == 2
    assert [item["content"] for item in other.json("sessions", "show", "a/../b")["messages"]] == [
        "我住在厦门。",
        "ok",
    ]
    first = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["role"] == "user"


def test_it_speaks_chinese(orca: Orca, talking: Model) -> None:
    outcome = orca("chat", "--lang", "zh", "--session", "a", typed="你好。\n/help\n/quit\n")
    assert "正在与 test-model 对话" in outcome.err
    assert "遗忘一条记忆" in outcome.out
    assert "已记下 1 条消息" in outcome.err


@pytest.mark.case(4)
def test_a_server_that_is_down_is_said_once_and_the_chat_goes_on(
    orca: Orca, talking: Model, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[mcp_servers.notes]\ncommand = "no-such-program"\n', encoding="utf-8")
    outcome = orca("chat", "--session", "a", typed="Hello.\n/model other\nAgain.\n/quit\n")
    assert outcome.code == 0, outcome.err
    assert outcome.out == "ok\nok\n"
    assert outcome.err.count("MCP server notes is down (there is no program 'no-such-program'") == 1


def test_the_file_tools_of_a_chat_never_reach_its_own_files(
    orca: Orca, talking: Model, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "notes.txt").write_text("key = hunter2", encoding="utf-8")
    config = home / "config.toml"
    config.write_text(f'[tools]\nworkspace = "{tmp_path.as_posix()}"\n', encoding="utf-8")
    talking.says(stream_reply(tool_calls=[tool_call("read_file", {"path": "home/notes.txt"})]))
    assert orca("chat", "--once", "Read it.").code == 0
    (result,) = [item["content"] for item in talking.prompts[-1] if item["role"] == "tool"]
    assert "closed to tools" in result
    assert "hunter2" not in result
