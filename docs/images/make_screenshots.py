"""Draw docs/images/web-*.png: the pages over the sample store. Run ``python docs/images/make_screenshots.py``."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

from orca import Scope, open_memory
from orca.config import Settings
from orca.importers import import_files
from orca.interfaces.web.app import create_app
from orca.interfaces.web.serve import listen, server
from orca.memory.manager import MemoryManager
from orca.sections import EmbeddingSettings

HERE = Path(__file__).parent
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}

SHOTS = {
    "overview": ("/", DESKTOP, "light", "en-US"),
    "timeline": ("/sessions/importer?around=50", DESKTOP, "light", "en-US"),
    "recall": ("/recall?q=我现在住在哪里？&session=launch&window=2048", DESKTOP, "light", "en-US"),
    "memory": ("/memories/26", DESKTOP, "dark", "en-US"),
    "map": ("/map", DESKTOP, "dark", "zh-CN"),
    "phone": ("/sessions/importer?around=50#m50", PHONE, "light", "zh-CN"),
}
"""Name of each picture: path, window, theme and language."""


@contextmanager
def served(memory: MemoryManager, settings: Settings) -> Iterator[str]:
    """Serve the pages for the time of the block; gives the address."""
    with listen("127.0.0.1", 0) as socket:
        running = server(create_app(memory, settings=settings))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [socket]})
        thread.start()
        base = f"http://127.0.0.1:{socket.getsockname()[1]}"
        try:
            urlopen(f"{base}/static/orca.js", timeout=60).close()
            yield base
        finally:
            running.should_exit = True
            thread.join()


def fill(memory: MemoryManager) -> None:
    """Load the sample conversation and let everything be made of it."""
    with resources.as_file(resources.files("orca.samples")) as folder:
        import_files([folder], memory=memory, scope=Scope(), format="auto", trusted=True)
    memory.flush(300)
    for session in memory.sessions()[:-1]:
        memory.end_session(scope=Scope(session=session.id))
    memory.flush(300)


def main() -> None:
    """Write every picture."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path("~/.orca"), embedding=EmbeddingSettings(provider="local"))
        with open_memory(Path(folder) / "sample.db", settings=settings) as memory:
            fill(memory)
            with served(memory, settings) as base, sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
                for name, (path, window, theme, language) in SHOTS.items():
                    page = browser.new_page(
                        base_url=base,
                        viewport=window,
                        color_scheme=theme,
                        locale=language,
                        reduced_motion="reduce",
                    )
                    page.goto(path)
                    if name == "map":
                        page.locator(".point").first.wait_for()
                    if name == "timeline":
                        page.locator("details.run > summary").click()
                        page.locator("details.run .message").first.wait_for()
                    page.screenshot(path=HERE / f"web-{name}.png")
                    page.close()
                browser.close()


if __name__ == "__main__":
    main()
