"""Every page can be followed: its links lead somewhere, and its commands and code run as shown."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from orca.config import load_settings
from tests.docs.blocks import PAGES, ROOT, anchors, blocks, prose, run_page

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
RUNNABLE = [page for page in PAGES if any(block.language in ("python", "console") for block in blocks(page))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def links(page: Path) -> list[str]:
    return [first or second for first, second in LINK.findall(prose(page))]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    broken = []
    for link in links(page):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


@pytest.mark.parametrize("page", RUNNABLE, ids=named)
def test_commands_and_code_run_as_shown(page: Path, reader: Path) -> None:
    run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_settings_that_a_page_shows_are_valid(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(block for block in blocks(page) if block.language == "toml"):
        home = tmp_path / str(number)
        home.mkdir()
        (home / "config.toml").write_text(block.body, encoding="utf-8")
        (home / "config.toml").chmod(0o600)
        load_settings(home=home, environ={})


def test_every_page_is_reached_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    reached = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}

    assert [named(page) for page in (ROOT / "docs").rglob("*.md") if page not in {index, *reached}] == []


def test_the_two_readmes_are_in_step() -> None:
    english, chinese = ROOT / "README.md", ROOT / "README.zh-CN.md"

    def outline(page: Path) -> list[int]:
        return [len(marks) for marks in re.findall(r"^(#+) ", prose(page), flags=re.MULTILINE)]

    def targets(page: Path) -> list[str]:
        return sorted(re.sub(r"\.zh-CN|#.*", "", link) for link in links(page))

    assert outline(english) == outline(chinese)
    assert [block.language for block in blocks(english)] == [block.language for block in blocks(chinese)]
    assert targets(english) == targets(chinese)
    assert len(english.read_text(encoding="utf-8").splitlines()) <= 210
