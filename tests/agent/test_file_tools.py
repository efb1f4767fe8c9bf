"""The file tools as a model uses them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.agent import file_search
from orca.agent import file_tools as module
from orca.agent.file_text import FileText, decode
from orca.agent.file_tools import file_tools
from orca.agent.handles import Handles
from orca.agent.tools import Confirmation, ToolContext
from orca.config import Settings
from orca.errors import ToolError
from orca.sections import LLMSettings, ToolSettings
from orca.testing import stream_reply, tool_call
from orca.types import Scope
from orca.wiring import open_agent

from .helpers import chats, turn

Use = Callable[..., str]


class Person:
    """Answers every question the same way, and remembers what was asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[Confirmation] = []
        self.meanwhile: Callable[[], object] = lambda: None

    async def __call__(self, confirmation: Confirmation) -> bool:
        self.asked.append(confirmation)
        self.meanwhile()
        return self.answer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def person() -> Person:
    return Person(answer=True)


@pytest.fixture
def use(folder: Path, person: Person) -> Use:
    tools = {tool.name: tool for tool in file_tools(folder)}
    context = ToolContext(
        scope=Scope(user="u", session="s"), memory=None, handles=Handles(), agent="main/coder", confirm=person
    )

    def use(name: str, **arguments: Any) -> str:
        answer = tools[name].handler(arguments, context)
        return str(asyncio.run(answer) if asyncio.iscoroutine(answer) else answer)

    return use


def test_files_are_listed_with_their_sizes(folder, use):
    assert use("list_files") == "(empty)"
    (folder / "docs" / "zh").mkdir(parents=True)
    (folder / "docs" / "zh" / "说明.md").write_text("你好")
    (folder / "a.txt").write_bytes(b"x" * 1234)
    (folder / ".env").write_text("KEY=1")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "huge.js").write_text("")
    assert use("list_files") == "a.txt  1,234 bytes\ndocs/\nnode_modules/"
    assert use("list_files", recursive=True).splitlines() == [
        "a.txt  1,234 bytes",
        "docs/",
        "node_modules/",
        "docs/zh/",
        "docs/zh/说明.md  6 bytes",
    ]
    assert use("list_files", path="docs/zh") == "docs/zh/说明.md  6 bytes"
    for number in range(600):
        (folder / "docs" / f"{number:03}").touch()
    listed = use("list_files", path="docs").splitlines()
    assert (len(listed), listed[-1]) == (501, "…[cut after 500 names; list a directory inside]")


def test_files_are_read_by_lines(folder, use):
    (folder / "poem.txt").write_text("一\n二\n三\n四\n")
    assert use("read_file", path="poem.txt") == "[poem.txt: lines 1-4 of 4]\n一\n二\n三\n四"
    assert (
        use("read_file", path="poem.txt", first_line=2, last_line=3) == "[poem.txt: lines 2-3 of 4]\n二\n三"
    )
    assert use("read_file", path="poem.txt", first_line=4, last_line=99) == "[poem.txt: lines 4-4 of 4]\n四"
    for wrong in ({"first_line": 5}, {"first_line": 3, "last_line": 2}):
        with pytest.raises(ToolError, match="lines 1 to 4"):
            use("read_file", path="poem.txt", **wrong)
    with pytest.raises(ToolError, match="greater than or equal to 1"):
        use("read_file", path="poem.txt", first_line=0)
    (folder / "empty").touch()
    assert use("read_file", path="empty") == "[empty: empty]"


def test_long_files_come_in_pieces_that_fit_together(folder, use):
    lines = [f"line {number} " + "x" * (number % 90) for number in range(1, 5_001)]
    (folder / "long.txt").write_text("\n".join(lines))
    got: list[str] = []
    while len(got) < len(lines):
        piece = use("read_file", path="long.txt", first_line=len(got) + 1).split("\n")
        assert len("\n".join(piece)) < 25_000
        assert piece[0].startswith(f"[long.txt: lines {len(got) + 1}-")
        cut = piece[-1].startswith("…[cut: read on with first_line=")
        got += piece[1:-1] if cut else piece[1:]
        assert not cut or piece[-1] == f"…[cut: read on with first_line={len(got) + 1}]"
    assert got == lines
    (folder / "one.txt").write_text("y" * 100_000)
    assert "…[cut: 76000 more characters]" in use("read_file", path="one.txt")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_other_encodings_are_read_and_kept_when_written(folder, use, encoding):
    (folder / "旧.txt").write_bytes("旧的内容\r\n第二行\r\n".encode(encoding))
    assert use("read_file", path="旧.txt") == f"[旧.txt: lines 1-2 of 2, {encoding}]\n旧的内容\n第二行"
    use("write_file", path="旧.txt", content="新的内容\n第二行\n")
    assert (folder / "旧.txt").read_bytes() == "新的内容\r\n第二行\r\n".encode(encoding)


@given(st.text(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_text_survives_reading_and_writing(text, encoding):
    text = text.replace("\r", "")
    found = decode(text.encode(encoding))
    if found is not None and found.encoding == encoding:
        assert found.text == text
        assert found.encoded(found.text) == text.encode(encoding)


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_binary(content):
    found = decode(content)
    assert found is None or isinstance(found.text, str)


def test_a_character_that_an_old_encoding_lacks_makes_the_file_utf_8():
    assert FileText("", "latin-1", "\n").encoded("价格 €") == "价格 €".encode()


def test_binary_files_are_named_as_such(folder, use):
    (folder / "image.png").write_bytes(b"\x89PNG\0\0\0")
    with pytest.raises(ToolError, match="binary file of 7 bytes"):
        use("read_file", path="image.png")
    with pytest.raises(ToolError, match="binary file"):
        use("write_file", path="image.png", content="text")


def test_lines_are_found_by_text_and_by_expression(folder, use):
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("import os\n\ndef Main():\n    return 'x.y'\n")
    (folder / "b.md").write_text("# main\n上海的天气\n")
    (folder / "c.bin").write_bytes(b"main\0")
    (folder / ".env").write_text("main=secret")
    assert use("search_files", query="main").splitlines() == ["b.md:1: # main", "src/a.py:3: def Main():"]
    assert use("search_files", query="main", ignore_case=False) == "b.md:1: # main"
    assert use("search_files", query="天气") == "b.md:2: 上海的天气"
    assert use("search_files", query="x.y", path="src") == "src/a.py:4: return 'x.y'"
    assert use("search_files", query=r"^def \w+\(", regex=True) == "src/a.py:3: def Main():"
    assert use("search_files", query=r"^(#|import)\s", regex=True).count("\n") == 1
    assert use("search_files", query="main", path="b.md") == "b.md:1: # main"
    assert use("search_files", query="nowhere") == "nothing found in 2 text files"
    with pytest.raises(ToolError, match="not a regular expression"):
        use("search_files", query="(", regex=True)
    (folder / "many.txt").write_text("main\n" * 500)
    for given_ in ({"query": "main"}, {"query": "^main$", "regex": True}):
        found = use("search_files", path="many.txt", **given_).splitlines()
        assert (len(found), found[-1][:22]) == (101, "…[cut after 100 lines;")


def test_what_was_not_looked_at_is_said(folder, use, monkeypatch):
    monkeypatch.setattr(module, "MAX_SEARCHED_FILE", 10)
    (folder / "large.txt").write_text("main " * 10)
    (folder / "small.txt").write_text("main")
    assert use("search_files", query="main").splitlines() == [
        "small.txt:1: main",
        "…[not everything was searched: some files have more than 10 bytes]",
    ]
    monkeypatch.setattr(module, "MAX_SEARCHED_BYTES", 3)
    assert "nothing found in 0 text files\n…[not everything was searched: some" in use(
        "search_files", query="main"
    )
    monkeypatch.setattr(module, "MAX_VISITED", 1)
    assert (
        use("list_files", recursive=True).splitlines()[-1].startswith("…[not everything is listed: there are")
    )


def test_an_expression_that_never_ends_is_stopped(folder, use, monkeypatch):
    monkeypatch.setattr(file_search, "REGEX_SECONDS", 0.5)
    (folder / "a.txt").write_text("a" * 60 + "!")
    begun = time.monotonic()
    with pytest.raises(ToolError, match=r"took longer than 0.5 seconds"):
        use("search_files", query="(a+)+$", regex=True)
    assert time.monotonic() - begun < 10


def test_nothing_is_written_without_a_yes(folder, use, person):
    person.answer = False
    (folder / "a.txt").write_text("one\ntwo\n")
    with pytest.raises(ToolError, match="did not allow"):
        use("write_file", path="a.txt", content="one\n2\n")
    with pytest.raises(ToolError, match="did not allow"):
        use("write_file", path="new/b.txt", content="text")
    assert (folder / "a.txt").read_text() == "one\ntwo\n"
    assert not (folder / "new").exists()
    change, new = (asked.arguments for asked in person.asked)
    assert change["path"] == "a.txt"
    assert change["change"].splitlines()[2:] == ["@@ -1,3 +1,3 @@", " one", "-two", "+2", " "]
    assert new["change"].splitlines()[:4] == ["--- /dev/null", "+++ b/new/b.txt", "@@ -0,0 +1 @@", "+text"]
    assert person.asked[0].agent == "main/coder"


def test_a_yes_writes_and_makes_directories(folder, use, person):
    assert use("write_file", path="new/deep/b.txt", content="text\n") == "created new/deep/b.txt: 5 bytes"
    assert use("write_file", path="new/deep/b.txt", content="more\n") == "wrote new/deep/b.txt: 5 bytes"
    assert (folder / "new" / "deep" / "b.txt").read_text() == "more\n"
    assert "nothing was written" in use("write_file", path="new/deep/b.txt", content="more\n")
    assert len(person.asked) == 2


def test_a_file_that_changed_while_the_person_thought_is_left_alone(folder, use, person):
    (folder / "a.txt").write_text("one")
    person.meanwhile = lambda: (folder / "a.txt").write_text("somebody else's")
    with pytest.raises(ToolError, match="changed while the user was asked"):
        use("write_file", path="a.txt", content="two")
    assert (folder / "a.txt").read_text() == "somebody else's"


@pytest.mark.parametrize("path", ["../a", "/etc/a", ".env", ".git/hooks/pre-commit", "sub/.ssh/id", "."])
def test_no_question_is_asked_about_what_cannot_be_written(use, person, path):
    with pytest.raises(ToolError):
        use("write_file", path=path, content="x")
    assert person.asked == []


def test_large_texts_are_refused_and_large_changes_summed_up(folder, use, person):
    with pytest.raises(ToolError, match="1,000,000 allowed"):
        use("write_file", path="a.txt", content="x" * 1_000_001)
    use("write_file", path="a.txt", content="x\n" * 6_000)
    assert person.asked[0].arguments["change"] == "a.txt: 1 lines become 6,001; too many to show what changes"


def test_an_agent_works_in_the_configured_workspace(server, memory, scope, folder, person):
    llm = LLMSettings(model="m", base_url=server.base_url)
    bare = open_agent(memory, settings=Settings(home=folder / ".orca", llm=llm))
    settings = Settings(home=folder / "orca-home", llm=llm, tools=ToolSettings(workspace=str(folder)))
    agent = open_agent(memory, settings=settings, confirm=person)
    server.script(
        stream_reply(tool_calls=[tool_call("write_file", {"path": "a.py", "content": "print(1)\n"})]),
        stream_reply(tool_calls=[tool_call("read_file", {"path": "a.py"})]),
        stream_reply("written"),
        stream_reply("nothing to do"),
    )
    assert turn(agent, "write a program", scope)[-1].result.text == "written"
    assert (folder / "a.py").read_text() == "print(1)\n"
    assert "[a.py: lines 1-1 of 1]\nprint(1)" in [
        message["content"] for message in chats(server)[2].body["messages"]
    ]
    turn(bare, "and now?", scope)
    assert "read_file" not in str(chats(server)[3].body.get("tools"))
