"""chat without a model keeps what is said and answers with what it recalls."""

from __future__ import annotations

import pytest

from tests.interfaces.cli.conftest import Orca


def test_once_keeps_and_recalls(orca: Orca) -> None:
    assert orca("chat", "--once", "My cat Miso is allergic to chicken.", "--session", "a").code == 0
    document = orca.json("chat", "--once", "What is Miso allergic to?", "--session", "b")
    assert "chicken" in document["hits"][0]["content"]
    assert document["message"]["session"] == "b"
    assert (document["model"], document["text"], document["usage"], document["runs"]) == (
        None,
        None,
        None,
        [],
    )
    assert all(hit["id"] != document["message"]["id"] for hit in document["hits"] if hit["kind"] == "message")
    assert [item["role"] for item in orca.json("sessions", "show", "b")["messages"]] == ["user"]


def test_once_reads_standard_input(orca: Orca) -> None:
    assert orca("chat", "--once", "-", "--session", "a", typed="Two lines\nof one message.\n").code == 0
    [message] = orca.json("sessions", "show", "a")["messages"]
    assert message["content"] == "Two lines\nof one message.\n"


def test_a_conversation_reads_a_line_at_a_time(orca: Orca) -> None:
    typed = "我住在厦门，喜欢喝茶。\n/help\n/nonsense\n\n厦门有什么好茶？\n/context\n/memory\n/session\n/quit\nnever read\n"
    outcome = orca("chat", "--session", "talk", typed=typed)
    assert outcome.code == 0
    assert "我住在厦门" in outcome.out
    assert "In the prompt" in outcome.out
    assert "/forget ID" in outcome.out
    assert "no chat model is configured" in outcome.err
    assert "config.toml" in outcome.err
    assert "There is no /nonsense" in outcome.err
    assert "Kept 2 messages. Go on with: orca chat --session talk" in outcome.err
    shown = orca.json("sessions", "show", "talk")
    assert [item["content"] for item in shown["messages"]] == ["我住在厦门，喜欢喝茶。", "厦门有什么好茶？"]


def test_the_end_of_the_input_ends_the_conversation(orca: Orca) -> None:
    assert orca("chat", typed="A line without an end").code == 0
    assert orca.json("status")["counts"]["messages"] == 1


def test_json_needs_once(orca: Orca) -> None:
    assert orca("chat", "--json", typed="x\n").code == 2


@pytest.mark.parametrize("language", ["zh", "en"])
def test_it_speaks_the_readers_language(orca: Orca, language: str) -> None:
    outcome = orca("chat", "--lang", language, typed="你好，很高兴认识你。\n")
    assert ("没有配置对话模型" in outcome.err) == (language == "zh")


def test_a_model_without_its_key_is_named(orca: Orca, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCA_LLM_MODEL", "some-model")
    outcome = orca("chat", "--once", "Hello, my name is Ada.")
    assert outcome.code == 0
    assert "api.siliconflow.cn/v1 needs an API key" in outcome.err


@pytest.mark.parametrize(
    ("typed", "near"), [("/memry", "/memory"), ("/exprt x", "/export"), ("/contxt", "/context"), ("/run3", "/run")]
)  # fmt: skip
def test_an_unknown_command_names_the_nearest(orca: Orca, typed: str, near: str) -> None:
    assert f"Did you mean {near}?" in orca("chat", typed=f"{typed}\n").err


def test_a_message_may_begin_with_a_slash_behind_a_blank(orca: Orca) -> None:
    orca("chat", "--session", "s", typed=" /etc/hosts is what I edit\n")
    [message] = orca.json("sessions", "show", "s")["messages"]
    assert message["content"] == "/etc/hosts is what I edit"
