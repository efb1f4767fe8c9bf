"""Both languages, chosen as the browser asks and complete."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import nodes
from starlette.testclient import TestClient

from orca.interfaces.web import rendering
from orca.interfaces.web.catalogue import CHINESE
from orca.interfaces.web.i18n import accepted_language
from orca.interfaces.web.labels import LABELS
from orca.interfaces.web.notices import NOTICES
from orca.interfaces.web.rendering import _ENVIRONMENT, NAVIGATION

WEB = Path(rendering.__file__).parent
SOURCE = WEB.parent.parent
CALLS = re.compile(r"\bt\(\s*\"((?:[^\"\\]|\\.)*)\"")


def said() -> Iterator[str]:
    """Every literal that templates and code pass to ``t``, or keep for it."""
    for path in (WEB / "templates").rglob("*.html"):
        tree = _ENVIRONMENT.parse(path.read_text(encoding="utf-8"))
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in ("t", "many"):
                for argument in call.args:
                    if isinstance(argument, nodes.Const):
                        yield argument.value
    for path in WEB.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "t"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                yield node.args[0].value
    yield from (name for _, name, _ in NAVIGATION)
    yield from NOTICES.values()
    yield from LABELS.values()


def names(text: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_everything_that_is_said_is_in_the_catalogue() -> None:
    assert sorted(set(said()) - CHINESE.keys()) == []


@pytest.mark.parametrize("text", sorted(CHINESE))
def test_translations_are_chinese_and_have_the_same_names(text: str) -> None:
    assert names(CHINESE[text]) == names(text)
    assert re.search(r"[\u4e00-\u9fff]", CHINESE[text])


def test_the_catalogue_holds_nothing_that_is_never_said() -> None:
    everywhere = "".join(
        path.read_text(encoding="utf-8")
        for path in SOURCE.rglob("*")  # reasons and states are the memory's words
        if path.suffix in (".html", ".py", ".js") and not path.name.startswith("catalogue")
    )
    assert [
        text for text in CHINESE if text not in everywhere and text.replace('"', '\\"') not in everywhere
    ] == []


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,en;q=0.9,zh;q=0.8", "en"),
        ("de, zh;q=0.2", "zh"),
        ("zh;q=0, en;q=0.1", "en"),
        ("fr", None),
        ("", None),
        ("zh;q=x", None),
        (";;,,=", None),
    ],
)
def test_accept_language(header: str, language: str | None) -> None:
    assert accepted_language(header) == language


def test_the_choice_is_kept(browser: TestClient) -> None:
    chinese = {"Accept-Language": "zh-CN"}
    assert browser.get("/").headers["content-language"] == "en"
    page = browser.get("/", headers=chinese)
    assert page.headers["content-language"] == "zh"
    assert '<html lang="zh-CN"' in page.text
    browser.get("/?lang=en")
    assert browser.get("/", headers=chinese).headers["content-language"] == "en"
    assert browser.get("/?lang=xx", headers=chinese).headers["content-language"] == "en"
    assert browser.get("/?lang=zh").headers["content-language"] == "zh"


def test_errors_are_pages_in_both_languages(browser: TestClient) -> None:
    missing = browser.get("/nope?lang=zh")
    assert missing.status_code == 404
    assert "此地址没有内容" in missing.text
    assert browser.post("/nope").status_code == 403
    assert browser.get("/logout?lang=en").status_code == 405
