"""Every page: what it shows, in both languages and themes, on a phone, without scripts, and to axe-core."""

from __future__ import annotations

import json
import re

import pytest

from orca import Scope
from tests.interfaces.web.browser.conftest import PHONE, Site, Visit, overflow, violations

PAGES = {
    "overview": "/",
    "sessions": "/sessions",
    "timeline": "/sessions/importer?around=50",
    "delete": "/sessions/importer/delete",
    "runs": "/runs",
    "run": "/runs/1",
    "memories": "/memories?state=",
    "memory": "/memories/1",
    "forget": "/memories/1/forget",
    "recall": "/recall?q=我吃什么&session=launch&compare=true&lanes_b=keyword&window_b=1024",
    "map": "/map",
    "table": "/map?view=table",
    "jobs": "/jobs",
    "chat": "/chat?q=cat",
    "settings": "/settings?verify=true",
    "missing": "/nowhere",
    "nobody": "/?user=nobody",
}


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_in_light_and_dark(visit: Visit, sample: Site, name: str) -> None:
    page = visit.page(sample.base)
    page.goto(PAGES[name])
    for each in page.locator("main details").all()[:3]:
        each.evaluate("details => { details.open = true }")
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, "color-contrast") == []


def test_no_page_scrolls_sideways_on_a_phone(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base, viewport=PHONE)
    wide = {}
    for name, path in PAGES.items():
        page.goto(path)
        wide[name] = overflow(page)
    assert wide == dict.fromkeys(PAGES, 0)


def test_every_page_is_readable_without_scripts_and_in_both_languages(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base, java_script_enabled=False)
    headings = {}
    for language in ("en", "zh"):
        for name, path in PAGES.items():
            page.goto(f"{path}{'&' if '?' in path else '?'}lang={language}")
            headings[name, language] = page.locator("h1").inner_text()
            assert page.locator("main").inner_text().strip()
        assert page.locator("html").get_attribute("lang") == {"en": "en", "zh": "zh-CN"}[language]
    same = {name for name in PAGES if headings[name, "en"] == headings[name, "zh"]}
    assert same == {"timeline"}  # its heading is the session's own name
    page.goto("/sessions")
    assert page.locator("h1").inner_text() == "会话", "the choice is kept"


def test_the_theme_is_kept(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base)
    page.goto("/sessions")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("link", name="Dark").click()
    page.wait_for_selector('html[data-theme="dark"]')
    page.goto("/memories")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_the_overview_counts(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base)
    page.goto("/")
    counts = sample.memory.browse.counts(user="default")
    for kind in ("messages", "summaries", "memories"):
        assert page.locator(f'[data-count="{kind}"]').inner_text() == f"{counts[kind]:,}"
    assert page.get_by_role("heading", name="Messages over time").is_visible()


def test_sessions_are_searched_and_lead_to_their_timeline(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base)
    page.goto("/sessions")
    page.get_by_label("Id or title").fill("impor")
    page.get_by_role("button", name="Filter").click()
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("link", name="importer", exact=True).click()
    assert page.locator("h1").inner_text() == "importer"
    assert page.locator(".summary").count() > 0


def test_a_sub_agents_run_is_read_in_full_where_it_was_called(visit: Visit, sample: Site) -> None:
    run, steps, _ = sample.memory.browse.run(user="default", id=1)
    page = visit.page(sample.base)
    page.goto(f"/sessions/{run.session}?around={run.parent_message_id}#m{run.parent_message_id}")
    called = page.locator(f"#m{run.parent_message_id}")
    assert called.is_visible()
    card = called.locator("details.run")
    card.locator("summary").first.click()
    card.locator(".message").nth(len(steps) - 1).wait_for()
    assert card.locator(".message").count() == len(steps)
    card.get_by_role("link", name="The whole trace").click()
    assert page.locator("#trace .message").count() == len(steps)
    for call in page.locator("#trace .call > summary").all():
        call.click()
    text = page.locator("#trace").inner_text()
    said = [step.content for step in steps if isinstance(step.content, str) and step.role != "tool"]
    assert all(content.strip() in text for content in said)
    page.get_by_role("link", name="called at message").click()
    assert re.search(rf"around={run.parent_message_id}.*#m{run.parent_message_id}$", page.url)


def test_a_deep_link_finds_its_message_on_any_page(visit: Visit, sample: Site) -> None:
    sessions = {session.id: session for session in sample.memory.sessions()}
    page = visit.page(sample.base)
    assert sessions["importer"].message_count < 50
    page.goto("/sessions/importer?after=21#m45")  # a page that does not hold it
    page.wait_for_url("**/sessions/importer?around=45#m45")
    assert page.locator("#m45.found").is_visible()


def test_a_memory_leads_to_the_message_it_was_made_from(visit: Visit, sample: Site) -> None:
    made = next(memory for memory in sample.memory.memories(scope=_scope()) if memory.source_message_ids)
    page = visit.page(sample.base)
    page.goto("/memories")
    page.goto(f"/memories/{made.id}")
    page.get_by_role("link", name=f"message {made.source_message_ids[0]}").click()
    assert page.locator(f"#m{made.source_message_ids[0]}").is_visible()


def test_the_lab_shows_lanes_order_prompt_and_what_was_left_out(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base)
    page.goto("/recall?session=launch")
    page.get_by_label("Query").fill("我家的猫叫什么？")
    page.get_by_role("button", name="Recall", exact=True).click()
    trial = sample.memory.lab.try_out(scope=_scope("launch"), query="我家的猫叫什么？")
    rows = page.locator(".hits tbody tr")
    assert rows.count() == len(trial.hits)
    assert trial.hits[0].hit.content[:20] in rows.first.inner_text()
    prompts = page.locator(".prompt pre").all_inner_texts()
    assert prompts[-1].strip() == trial.context.messages[-1]["content"].strip()
    assert f"({len(trial.context.dropped)})" in page.get_by_text("What was left out").inner_text()
    page.get_by_role("button", name="Compare two settings").click()
    page.locator('select[name="lanes_b"]').select_option("keyword")
    page.get_by_role("button", name="Recall and compare").click()
    left, right = (trial.bounding_box() or {} for trial in page.locator(".trial").all())
    assert left["y"] == right["y"], "side by side"
    assert left["x"] + left["width"] <= right["x"]
    assert "the dense lane is turned off" in page.locator(".trial").nth(1).inner_text()


def test_the_map_is_drawn_and_leads_to_what_is_on_it(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base)
    page.goto("/map")
    page.locator(".point").first.wait_for()
    assert page.locator(".point").count() == len(sample.memory.browse.map(scope=_scope(), limit=500))
    page.locator("#map svg").focus()
    page.keyboard.press("ArrowRight")
    about = page.locator("#map-about").inner_text()
    assert about.startswith(("message", "memory"))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/(sessions|memories)/"))


def test_exports_hold_what_is_shown(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base)
    page.goto("/memories?kind=preference")
    shown = page.locator(".memory-card").count()
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert len(json.loads(download.value.path().read_text())) == shown


def test_paper_shows_the_text_and_no_controls(visit: Visit, sample: Site) -> None:
    page = visit.page(sample.base)
    page.goto("/sessions/importer")
    page.emulate_media(media="print")
    assert page.locator("nav").first.is_hidden()
    assert page.locator(".message").first.is_visible()


def _scope(session: str = "default") -> Scope:
    return Scope(session=session)
