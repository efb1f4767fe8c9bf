"""Stored text is text: no markup, script, control character or length of it breaks a page. Kind 9 of failure."""

from __future__ import annotations

import pytest

from orca import Scope
from orca.types import SubAgentMessage, SubAgentRun
from tests.interfaces.web.browser.conftest import PHONE, Site, Visit, overflow

SCRIPT = "<script>window.ran=1</script><img src=x onerror=window.ran=1>\"'><svg onload=window.ran=1>"
TEXTS = {
    "script": SCRIPT,
    "template": "{{ 7*7 }}{% raw %}${7*7}</textarea><script>window.ran=1</script>",
    "right to left": "\u202eאבג\u2067 <b>x</b>",
    "control": "a\x00b\x1b[31m\x07\u2028\ufeff",
    "long": "W" * 10_000,
    "link": "javascript:window.ran=1",
}


@pytest.fixture(scope="module")
def stored(desk: Site) -> dict[str, list[str]]:
    """Each text in every field; returns the pages that show it."""
    pages = {}
    for name, text in TEXTS.items():
        user = f"{text[:200]}-{name}".replace("\x00", "")
        scope = Scope(user=user, session=text[:200].replace("\x00", "") or "x")
        memory = desk.memory
        call = memory.observe(
            scope=scope,
            role="assistant",
            content=text,
            name=text[:60],
            reasoning=text,
            tool_calls=[{"id": "c", "type": "function", "function": {"name": text[:60], "arguments": text}}],
        )
        memory.observe(scope=scope, role="tool", content=text, tool_call_id="c", name=text[:60])
        memory.observe(scope=scope, role="user", content=text)
        run = memory.start_run(
            SubAgentRun(agent=text[:60], task=text, parent_message_id=call.id), scope=scope
        )
        step = SubAgentMessage(
            run_id=run.id or 0, role="assistant", content=text, name=text[:60], reasoning=text
        )
        memory.append_run_messages([step], scope=scope)
        done = SubAgentRun(id=run.id, agent=run.agent, task=text, status="failed", summary=text, error=text)
        memory.finish_run(done, scope=scope)
        fact = memory.remember(scope=scope, content=text)
        memory.rename_session(scope=scope, title=text[:900])
        pages[name] = [
            user,
            "/",
            "/sessions",
            f"/messages/{call.id}",
            "/runs",
            f"/runs/{run.id}",
            "/memories",
            f"/memories/{fact.id}",
            f"/memories/{fact.id}/forget",
            "/recall",
            "/map",
            "/map?view=table",
            "/jobs",
            "/chat",
            "/settings",
        ]
    assert desk.memory.flush(60)
    return pages


@pytest.mark.case(9)
@pytest.mark.parametrize("name", TEXTS)
def test_stored_text_never_runs_nor_breaks_a_page(
    visit: Visit, desk: Site, stored: dict[str, list[str]], name: str
) -> None:
    user, *paths = stored[name]
    page = visit.page(desk.base, viewport=PHONE)
    wide = {}
    for path in paths:
        query = page.evaluate(
            "values => String(new URLSearchParams(values))", {"user": user, "q": TEXTS[name][:900]}
        )
        answer = page.goto(f"{path}{'&' if '?' in path else '?'}{query}")
        assert answer is not None
        assert answer.status == 200, path
        if path == "/map":
            page.wait_for_selector(".point, [data-wait]")
        assert page.evaluate("window.ran") is None
        assert page.locator("main script, main img, main [onload]").count() == 0
        wide[path] = overflow(page)
    assert {path: pixels for path, pixels in wide.items() if pixels} == {}


@pytest.mark.case(9)
def test_an_address_cannot_make_a_page_say_something(visit: Visit, desk: Site) -> None:
    page = visit.page(desk.base)
    page.goto("/?notice=Your+session+expired&count=<b>")
    assert page.locator(".notice").count() == 0
    page.goto("/jobs?notice=retried&count=<b>1")
    assert "Jobs that are tried again now: 0" in page.locator(".notice").inner_text()
