"""What happens while a page is open: another process writes, the agent answers."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from orca import LLMAgent, Scope
from orca.interfaces.web.app import create_app
from orca.testing import Reply, ScriptedServer, stream_reply, tool_call
from tests.interfaces.web.browser.conftest import Site, Visit, violations
from tests.interfaces.web.conftest import PLENTY, served

WRITER = """
import sys
from orca import Scope, open_memory
with open_memory(sys.argv[1], embedder=None, chat_model=None) as memory:
    memory.observe(scope=Scope(session="live"), role="user", content="来自另一个进程的消息")
"""


def test_pages_follow_what_another_process_writes(visit: Visit, desk: Site) -> None:
    desk.memory.observe(scope=Scope(session="live"), role="user", content="第一条消息，先放在这里")
    assert desk.memory.flush(30)
    overview, timeline = visit.page(desk.base), visit.page(desk.base)
    overview.goto("/")
    timeline.goto("/sessions/live")
    for page in (overview, timeline):
        page.wait_for_selector("html[data-listening]")
    before = int(overview.locator('[data-count="messages"]').inner_text())
    subprocess.run([sys.executable, "-c", WRITER, str(desk.path)], check=True, timeout=60)
    overview.wait_for_function(
        "count => Number(document.querySelector('[data-count=messages]').textContent) === count",
        arg=before + 1,
    )
    timeline.get_by_text("There are new messages.").wait_for()
    timeline.get_by_role("link", name="Show the newest").click()
    timeline.get_by_text("来自另一个进程的消息").first.wait_for()


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def test_an_answer_streams_in_with_its_ledger(visit: Visit, desk: Site, model: ScriptedServer) -> None:
    agent = LLMAgent(desk.memory, model="scripted", base_url=model.base_url)
    desk.memory.remember(scope=Scope(), content="用户只吃素", kind="preference")
    held = threading.Event()
    model.script(
        stream_reply(tool_calls=[tool_call("memory_search", {"query": "吃"})]),
        stream_reply("记得，<b>你只吃素</b>。", before_end=held),
    )
    with served(create_app(desk.memory, agent=agent, limits=PLENTY)) as base:
        page = visit.page(base)
        page.goto("/chat?session=talk")
        assert violations(page) == []
        page.get_by_label("Your message").fill("我吃什么？")
        page.keyboard.press("Control+Enter")
        page.get_by_text("记得，<b>你只吃素</b>。").wait_for()  # before the stream has ended
        assert page.get_by_role("button", name="Stop").is_visible()
        assert "memory_search" in page.locator("#talk").inner_text()
        held.set()
        page.get_by_role("button", name="Stop").wait_for(state="hidden")
        assert "用户只吃素" in page.locator("#ledger").inner_text()
        page.reload()
        assert "记得，<b>你只吃素</b>。" in page.locator("#talk").inner_text()


def test_an_answer_that_fails_says_so_and_without_scripts_one_comes_whole(
    visit: Visit, desk: Site, model: ScriptedServer
) -> None:
    agent = LLMAgent(desk.memory, model="scripted", base_url=model.base_url)
    model.script(Reply(status=401, body={"error": {"message": "bad key"}}), stream_reply("现在可以了。"))
    with served(create_app(desk.memory, agent=agent, limits=PLENTY)) as base:
        page = visit.page(base)
        page.goto("/chat?session=fails")
        page.get_by_label("Your message").fill("在吗？")
        page.get_by_role("button", name="Send").click()
        page.get_by_text("No answer").wait_for()
        plain = visit.page(base, java_script_enabled=False)
        plain.goto("/chat?session=plain")
        plain.get_by_label("Your message").fill("在吗？")
        plain.get_by_role("button", name="Send").click()
        assert "现在可以了。" in plain.locator("#talk").inner_text()
