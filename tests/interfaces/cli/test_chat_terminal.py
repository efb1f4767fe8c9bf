"""chat in a real terminal: keys, interruption, completion, questions, and what stands on the screen."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

from orca.testing import Reply, stream_reply, tool_call
from tests.interfaces.cli.conftest import Model, Orca
from tests.interfaces.cli.terminal import Terminal

READY = r"› "
FOOTER = r"tokens · \d+ recalled"


@pytest.fixture
def env(model: Model, tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "workspace").mkdir()
    (home / "config.toml").write_text('[tools]\nworkspace = "../workspace"\n', encoding="utf-8")
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ORCA_", "SILICONFLOW_"))}
    return env | {
        "ORCA_HOME": str(home),
        "ORCA_EMBEDDING_PROVIDER": "off",
        "ORCA_LLM_BASE_URL": model.server.base_url,
        "ORCA_LLM_MODEL": "test-model",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


@contextmanager
def chat(orca: Orca, env: dict[str, str], **size: int) -> Iterator[Terminal]:
    with Terminal(["chat", "--db", str(orca.db), "--session", "talk"], env, **size) as terminal:
        terminal.wait_for(READY)
        yield terminal


def messages(orca: Orca) -> list[dict[str, object]]:
    found: list[dict[str, object]] = orca.json("sessions", "show", "talk")["messages"]
    return found


@pytest.mark.case(16)
def test_ctrl_c_stops_the_answer_and_not_the_chat(orca: Orca, env: dict[str, str], model: Model) -> None:
    held = threading.Event()
    model.says(
        stream_reply(["Once upon ", "a time"], before_end=held), stream_reply("Here is another answer.")
    )
    with chat(orca, env) as terminal:
        terminal.type("Tell me a story\r")
        terminal.wait_for("Once upon a time")
        terminal.type("\x03")
        terminal.wait_for("Stopped")
        held.set()
        terminal.wait_for(READY)
        terminal.type("And now?\r")
        terminal.wait_for("Here is another answer.")
        terminal.wait_for(READY)
        terminal.type("\x04")
        assert terminal.end() == 0
    said = messages(orca)
    assert [item["role"] for item in said] == ["user", "assistant", "user", "assistant"]
    assert said[1]["metadata"]["interrupted"] == "cancelled"  # type: ignore[index]


def test_several_lines_are_one_message_typed_or_pasted(orca: Orca, env: dict[str, str], model: Model) -> None:
    model.says(stream_reply("First."), stream_reply("Second."))
    with chat(orca, env) as terminal:
        terminal.type("第一行\x1b\rsecond line\r")
        terminal.wait_for("First.")
        terminal.wait_for(READY)
        terminal.type("\x1b[200~pasted one\rpasted two\x1b[201~\r")
        terminal.wait_for("Second.")
        terminal.wait_for(READY)
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert [item["content"] for item in messages(orca) if item["role"] == "user"] == [
        "第一行\nsecond line",
        "pasted one\npasted two",
    ]


def test_commands_and_their_arguments_are_completed(orca: Orca, env: dict[str, str]) -> None:
    assert orca("memories", "add", "Only eats plants").code == 0
    with chat(orca, env) as terminal:
        terminal.type("/forg")
        terminal.wait_for("forget a memory")
        terminal.type("\t ")
        terminal.wait_for("plants")
        terminal.type("\t\r")
        terminal.wait_for("Forget “Only eats plants”")
        terminal.type("y\r")
        terminal.wait_for("Forgotten")
        terminal.wait_for(READY)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert orca.json("memories", "list", "--all")["memories"] == []


def test_what_was_typed_is_kept_for_its_owner_alone(orca: Orca, env: dict[str, str]) -> None:
    history = Path(env["ORCA_HOME"]) / "chat_history"
    history.write_text("", encoding="utf-8")
    history.chmod(0o644)
    with chat(orca, env) as terminal:
        terminal.type("/model\r")
        terminal.wait_for("Talking to test-model at")
        terminal.wait_for(READY)
        terminal.type(" a secret\x03")
        terminal.wait_for(READY)
        terminal.type(" /not kept\r")
        terminal.wait_for("ok")
        terminal.wait_for(READY)
        terminal.type("\x1b[A\r")
        terminal.wait_for("Talking to test-model at")
        terminal.wait_for(READY)
        terminal.type("\x04")
        terminal.end()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "secret" not in history.read_text(encoding="utf-8")
    assert "not kept" not in history.read_text(encoding="utf-8")


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False), ("", False), ("\x03", False)])
def test_a_file_is_written_only_with_a_yes_and_its_change_is_shown(
    orca: Orca, env: dict[str, str], model: Model, tmp_path: Path, answer: str, written: bool
) -> None:
    model.says(
        stream_reply(tool_calls=[tool_call("write_file", {"path": "notes.md", "content": "吃素\n"})]),
        stream_reply("That was that."),
    )
    with chat(orca, env) as terminal:
        terminal.type("Write it down\r")
        terminal.wait_for("main wants to use write_file")
        terminal.wait_for(r"\+吃素")
        terminal.wait_for("Allow it")
        terminal.type(answer if answer == "\x03" else f"{answer}\r")
        terminal.wait_for("Stopped" if answer == "\x03" else "That was that.")
        terminal.wait_for(READY)
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert (tmp_path / "workspace" / "notes.md").exists() == written
    answered = [item["tool_call_id"] for item in messages(orca) if item["role"] == "tool"]
    assert answered == ["call_write_file"]


@pytest.mark.parametrize("columns", [24, 80])
def test_no_line_of_a_long_answer_is_lost(
    orca: Orca, env: dict[str, str], model: Model, columns: int
) -> None:
    answer = "\n".join(f"- line {number}: 阳澄湖的大闸蟹很有名" for number in range(40))
    model.says(stream_reply(answer))
    with chat(orca, env, columns=columns, lines=10) as terminal:
        terminal.type("Say much\r")
        terminal.wait_for(FOOTER if columns > 40 else "recalled")
        printed = terminal.text
        terminal.wait_for(READY)
        terminal.type("\x04")
        terminal.end()
    last = [printed.rfind(f"line {number}:") for number in range(40)]
    assert -1 not in last
    assert last == sorted(last)


@pytest.mark.case(22)
def test_nothing_that_is_said_commands_the_terminal(orca: Orca, env: dict[str, str], model: Model) -> None:
    model.says(stream_reply("before \x1b]0;owned\x07 \x1b[2J after"))
    with chat(orca, env) as terminal:
        terminal.type("Hello\r")
        terminal.wait_for("after")
        terminal.wait_for(READY)
        terminal.type("\x04")
        terminal.end()
        assert "\x1b]0;owned" not in terminal.raw
        assert "\x1b[2J after" not in terminal.raw


def test_tools_that_run_side_by_side_have_a_line_each(orca: Orca, env: dict[str, str], model: Model) -> None:
    model.says(
        stream_reply(
            tool_calls=[
                tool_call("memory_search", {"query": "plants"}, id="a"),
                tool_call("list_files", {}, id="b"),
                tool_call("no_such_tool", {"x": 1}, id="c"),
            ]
        ),
        stream_reply("All done."),
    )
    with chat(orca, env) as terminal:
        terminal.type("Look\r")
        before = terminal.wait_for("All done.")
        terminal.wait_for(READY)
        terminal.type("/context\r")
        terminal.wait_for("In the prompt")
        terminal.wait_for(READY)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert "✓ memory_search plants" in before
    assert "✓ list_files" in before
    assert "✗ no_such_tool 1 [error] there is no tool" in before


def test_an_error_is_one_line_that_says_what_to_do_and_the_question_can_be_asked_again(
    orca: Orca, env: dict[str, str], model: Model
) -> None:
    model.says(Reply({"error": {"message": "who are you"}}, status=401), stream_reply("Now I can."))
    with chat(orca, env, columns=200) as terminal:
        terminal.type("Hello\r")
        terminal.wait_for("refused the API key")
        terminal.wait_for("Set SILICONFLOW_API_KEY, or api_key in")
        terminal.wait_for(READY)
        terminal.type("/retry\r")
        terminal.wait_for("Now I can.")
        terminal.wait_for(READY)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert [item["role"] for item in messages(orca)] == ["user", "assistant"]


def test_the_demo_ends_in_a_chat_over_what_it_loaded(
    orca: Orca, env: dict[str, str], model: Model, tmp_path: Path
) -> None:
    model.says(stream_reply("It was said above."))
    db = tmp_path / "demo" / "demo.db"
    db.parent.mkdir()
    with Terminal(["demo", "--db", str(db)], env) as terminal:
        terminal.wait_for("Now talk to it")
        terminal.wait_for(READY)
        terminal.type("What was decided?\r")
        terminal.wait_for("It was said above.")
        terminal.wait_for(READY)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert any("coder" in str(request.body.get("tools")) for request in model.server.requests)
