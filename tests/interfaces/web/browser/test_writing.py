"""Every write: by form, with its outcome on the next page; by keyboard alone; with and without scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from orca import Scope
from orca.errors import ProviderError
from orca.interfaces.web.app import create_app
from orca.testing import FakeEmbedder
from tests.interfaces.web.browser.conftest import Site, Visit, open_store, overflow
from tests.interfaces.web.conftest import PLENTY, TOKEN, served


def notice(page: Page) -> str:
    return page.locator(".notice").first.inner_text()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_session_is_renamed_ended_and_deleted(visit: Visit, desk: Site, scripts: bool) -> None:
    scope = Scope(session=f"trip {scripts}")
    desk.memory.observe(scope=scope, role="user", content="我叫王伟，住在成都。")
    page = visit.page(desk.base, java_script_enabled=scripts)
    page.goto("/sessions")
    page.get_by_role("link", name=scope.session, exact=True).click()
    page.get_by_text("Rename, end, delete").click()
    page.get_by_label("Title").fill("去上海")
    page.get_by_role("button", name="Rename").click()
    assert page.locator("h1").inner_text() == "去上海"
    assert "new title" in notice(page)
    page.wait_for_load_state("load")  # scripts have run by then
    assert ("notice=" in page.url) is not scripts, "a reload would say it again"
    page.get_by_text("Rename, end, delete").click()
    page.get_by_role("button", name="End session").click()
    assert "ended" in page.locator(".lead").inner_text()
    assert desk.memory.session(scope=scope).state == "ended"
    page.get_by_text("Rename, end, delete").click()
    page.get_by_role("link", name="Delete…").click()
    assert "1 message" in page.locator("main").inner_text()
    page.get_by_role("link", name="Keep it").click()
    page.goto(page.url.partition("?")[0] + "/delete")
    page.get_by_role("button", name="Delete session").click()
    assert "deleted" in notice(page)
    assert scope.session not in {session.id for session in desk.memory.sessions()}


def test_a_memory_is_added_superseded_pinned_and_forgotten(visit: Visit, desk: Site) -> None:
    page = visit.page(desk.base)
    page.goto("/memories")
    page.get_by_text("Add a memory").click()
    page.get_by_label("What should be remembered").fill("The user lives in Turin")
    page.get_by_role("button", name="Remember").click()
    assert "stored" in notice(page)
    page.get_by_label("What holds now").fill("The user lives in Genoa")
    page.get_by_role("button", name="Save as new version").click()
    assert page.locator(".history .memory-card").count() == 2
    page.get_by_role("button", name="Pin").click()
    assert page.locator(".badge.pinned").first.is_visible()
    page.get_by_role("button", name="Unpin").click()
    assert page.locator(".badge.pinned").count() == 0
    page.get_by_role("link", name="Forget…").click()
    assert "2 versions" in page.locator("main").inner_text()
    page.get_by_role("button", name="Forget").click()
    assert "Versions deleted: 2" in notice(page)
    assert not [m for m in desk.memory.memories(scope=Scope(), include_inactive=True) if "Turin" in m.content]


def test_a_failed_job_tells_why_and_is_tried_again(
    visit: Visit, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("jobs") / "chat.db"
    embedder = FakeEmbedder(dimensions=32, fails=lambda text: ProviderError("the provider refuses it"))
    with open_store(path, embedder) as memory:
        memory.observe(scope=Scope(), role="user", content="held back by the provider for now")
        memory.flush(5)
        with served(create_app(memory, limits=PLENTY)) as base:
            page = visit.page(base)
            page.goto("/jobs")
            row = page.locator("#live > table tbody tr").first
            assert "the provider refuses it" in row.inner_text()
            row.get_by_role("button", name="Try job").click()
            assert "tried again" in notice(page)
            embedder.fails = None
            page.get_by_role("button", name="Try all again now").click()
            page.get_by_text("No job waits").wait_for()  # by itself, once the work is done


def test_signing_in_and_out(visit: Visit, desk: Site) -> None:
    with served(create_app(desk.memory, token=TOKEN, limits=PLENTY)) as base:
        page = visit.page(base)
        page.goto("/memories?kind=fact")
        page.get_by_label("Access token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        assert page.get_by_role("alert").is_visible()
        page.get_by_label("Access token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/memories?kind=fact")
        page.get_by_role("button", name="Sign out").click()
        assert page.get_by_label("Access token").is_visible()


def test_a_write_from_another_tab_that_lost_its_session_says_what_to_do(visit: Visit, desk: Site) -> None:
    page = visit.page(desk.base)
    page.goto("/memories")
    page.context.clear_cookies()
    page.get_by_text("Add a memory").click()
    page.get_by_label("What should be remembered").fill("lost")
    page.get_by_role("button", name="Remember").click()
    assert page.locator("h1").is_visible()
    assert "Load the page anew" in page.locator("main").inner_text()
    assert overflow(page) == 0


def test_a_memory_is_written_by_keyboard_alone(visit: Visit, desk: Site) -> None:
    page = visit.page(desk.base)
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/memories")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    _tab_to(page, "details.menu > summary")
    page.keyboard.press("Enter")
    _tab_to(page, "textarea")
    page.keyboard.type("The user types fast")
    _tab_to(page, ".stack button")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories/*")
    page.keyboard.press("?")
    page.wait_for_url("**/settings#keyboard")
    page.locator("#keys-on").uncheck()
    page.keyboard.press("g")
    page.keyboard.press("s")
    assert page.url.endswith("/settings#keyboard")


def test_keys_walk_through_a_timeline(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base)
    page.goto("/sessions/importer")
    page.keyboard.press("n")
    first = page.evaluate("document.activeElement.id")
    page.keyboard.press("n")
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.id") == first == "m43"


def _tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"{selector} cannot be reached by Tab")
