"""Debian's Chromium, driven by Playwright; one browser a worker, and stores with something on every page.

Playwright's synchronous API keeps an event loop running in its thread, where ``asyncio.run`` would then fail for
every other test. So it has a thread of its own, and the tests of this package run there.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from orca import Scope, open_memory
from orca.config import Settings
from orca.importers import import_files
from orca.interfaces.web.app import create_app
from orca.memory.manager import MemoryManager
from orca.testing import FakeEmbedder
from tests.interfaces.web.conftest import PLENTY, served

try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
except ImportError:  # the tests are skipped then, or fail in CI
    sync_playwright = None

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
WAIT = 30_000
"""Milliseconds that a page may take on a busy machine."""

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}


def executable() -> str | None:
    """The browser: ``ORCA_TEST_BROWSER``, or the one that scripts/install-browser puts there."""
    return os.environ.get("ORCA_TEST_BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser")


_thread = ThreadPoolExecutor(1, thread_name_prefix="browser")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if "visit" not in pyfuncitem.fixturenames:
        return None
    wanted = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    _thread.submit(pyfuncitem.obj, **wanted).result()
    return True


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = executable()
    if sync_playwright is None or path is None:
        reason = "no browser: scripts/install-browser installs Chromium, the group dev has playwright"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    def start() -> tuple[Any, Browser]:
        driver = sync_playwright().start()
        return driver, driver.chromium.launch(executable_path=path, args=list(FLAGS))

    driver, browser = _thread.submit(start).result()
    yield browser
    _thread.submit(browser.close).result()
    _thread.submit(driver.stop).result()


@dataclass
class Visit:
    """Opens pages, and keeps what went wrong in them: errors of scripts, what the policy blocked, dialogs."""

    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def page(self, base: str, **options: Any) -> Page:
        # A theme that fades in would be measured half way.
        still = {"reduced_motion": "reduce"}
        given = {"viewport": DESKTOP, "locale": "en-US", "base_url": base, **still, **options}
        context = self.browser.new_context(**given)
        context.set_default_timeout(WAIT)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", self._note)
        return page

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def close(self) -> None:
        for context in self.contexts:
            context.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    visit = Visit(chromium)
    yield visit
    _thread.submit(visit.close).result()
    assert visit.faults == []


def violations(page: Page, *rules: str) -> list[str]:
    """What axe-core finds wrong, as rule and place."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found = Axe().run(page, options=options).response["violations"]
    return [f"{each['id']}: {node['html'][:160]}" for each in found for node in each["nodes"]]


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return max(0, width)


def open_store(path: Path, embedder: FakeEmbedder | None = None) -> MemoryManager:
    return open_memory(
        path,
        embedder=embedder or FakeEmbedder(dimensions=32),
        chat_model=None,
        settings=Settings(home=path.parent),
    )


@dataclass
class Site:
    """A served memory."""

    memory: MemoryManager
    path: Path
    base: str


Serve = Callable[..., Site]


def _served(memory: MemoryManager, path: Path, app: FastAPI) -> Iterator[Site]:
    with served(app) as base:
        yield Site(memory=memory, path=path, base=base)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The sample conversation with its sub-agent's run, to be read only."""
    path = tmp_path_factory.mktemp("sample") / "chat.db"
    with open_store(path) as memory:
        with resources.as_file(resources.files("orca.samples")) as folder:
            import_files([folder], memory=memory, scope=Scope(), format="auto", trusted=True)
        assert memory.flush(60)
        for session in memory.sessions()[:-1]:
            memory.end_session(scope=Scope(session=session.id))
        assert memory.flush(60)
        yield from _served(
            memory, path, create_app(memory, limits=PLENTY, settings=Settings(home=path.parent))
        )


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A memory to write to."""
    path = tmp_path_factory.mktemp("desk") / "chat.db"
    with open_store(path) as memory:
        yield from _served(
            memory, path, create_app(memory, limits=PLENTY, settings=Settings(home=path.parent))
        )


def wait_until(true: Callable[[], bool], seconds: float = 30) -> bool:
    """Whether something becomes true in time."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if true():
            return True
        pause.wait(0.05)
    return False
