"""Every reason that the memory gives has a Chinese text, found in the code that gives it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import orca
from orca.interfaces.reasons import TEMPLATES, in_chinese
from orca.stores.sqlite.errors import UNAVAILABLE, translate
from orca.stores.sqlite.tallies import WAITING

SOURCE = Path(orca.__file__).parent
LEDGER = ("memory/context.py", "memory/packing.py", "memory/prompt.py", "memory/working.py")
MISSING = ("memory", "stores/sqlite", "agent/mcp_connection.py", "wiring.py")
PROVIDERS = (
    "embedders", "llms", "rerankers", "provider_http.py", "memory/extraction.py", "memory/embedding_batches.py",
    "memory/query_embedding.py", "stores/sqlite/connection.py",
)  # fmt: skip
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SHOWN = {
    "ProviderError",
    "ProviderResponseError",
    "ProviderTimeoutError",
    "RateLimitError",
    "StoreUnavailableError",
}
FIGURE = "7"


def texts(node: ast.expr) -> Iterator[str]:
    """The literals that an expression may come to; figures stand in for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else FIGURE for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (*texts(node.body), *texts(node.orelse))
    elif isinstance(node, ast.BoolOp):
        yield from (text for value in node.values for text in texts(value))
    elif isinstance(node, ast.Tuple):
        yield from (text for element in node.elts for text in texts(element))


def files(*names: str) -> Iterator[ast.AST]:
    for name in names:
        path = SOURCE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield ast.parse(file.read_text(encoding="utf-8"))


def named(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def values(tree: ast.AST, *, about: re.Pattern[str]) -> Iterator[ast.expr]:
    """What is assigned or passed to something with such a name, or returned by it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and about.search(node.arg or ""):
            yield node.value
        elif isinstance(node, ast.Assign):
            parts = [part for target in node.targets for part in getattr(target, "elts", [target])]
            if any(about.search(named(part)) for part in parts):
                yield node.value
        elif isinstance(node, ast.FunctionDef) and about.search(node.name):
            yield from (each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value)


def ledger() -> Iterator[str]:
    for tree in files(*LEDGER):
        for value in values(tree, about=re.compile("reason|NOTHING")):
            yield from texts(value)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and named(node.func) in ("take", "leave") and node.args:
                yield from texts(node.args[0])
            if isinstance(node, ast.Tuple) and len(node.elts) == 2 and named(node.elts[0]) == "message":
                yield from texts(node.elts[1])


def missing() -> Iterator[str]:
    about = re.compile("reason|notice|degraded|LOADING|probe|_failed|_paused|trouble|^embed$|^error$")
    for tree in files(*MISSING):
        for value in values(tree, about=about):
            yield from texts(value)
    yield WAITING


def failures() -> Iterator[str]:
    for tree in files(*PROVIDERS):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and named(node.func) in SHOWN and node.args:
                yield from texts(node.args[0])


def checks() -> Iterator[str]:
    for tree in files("stores/sqlite/verify.py", "stores/sqlite/tallies.py"):
        for value in values(tree, about=re.compile("^(name|detail)$")):
            yield from texts(value)


def said(found: Iterator[str]) -> list[str]:
    """Those with words in them: a lone figure or mark is filled into another reason."""
    return sorted({text for text in found if re.search(r"[a-z]{3} ?[a-z]{2}", text)})


@pytest.mark.parametrize("source", [ledger, missing, failures, checks])
def test_every_reason_in_the_code_has_a_chinese_text(source) -> None:
    reasons = said(source())
    assert len(reasons) >= 15
    assert [reason for reason in reasons if not CHINESE.search(in_chinese(reason))] == []


def test_the_states_of_a_file_that_cannot_be_used_have_chinese_texts() -> None:
    texts = [str(translate(name, "why", "/tmp/chat.db")) for name in UNAVAILABLE]
    assert [text for text in texts if not CHINESE.search(in_chinese(text))] == []


def test_figures_and_names_are_kept() -> None:
    assert in_chinese("no room: 41 tokens, 7 left") == "空间不足：需 41 个词元，只剩 7 个"
    assert in_chinese("no room: an older step of this turn") == "空间不足：本轮较早的一步"
    assert in_chinese("the same text as {odd} [1]") == "与 {odd} [1] 文本相同"


def test_a_reason_in_a_reason_and_several_in_a_row_are_all_said_in_chinese() -> None:
    late = "query embedding: http://x/v1 did not answer in time"
    assert in_chinese(late) == "查询的嵌入：http://x/v1 未按时回答"
    assert in_chinese(f"{late}; the dense lane is turned off") == f"{in_chinese(late)}；语义通道已关闭"


def test_words_of_somebody_else_stay_as_they_came() -> None:
    assert in_chinese("quota exceeded for key") == "quota exceeded for key"
    assert in_chinese("rerank: quota exceeded") == "重排：quota exceeded"
    assert in_chinese("") == ""


def test_there_is_no_text_for_a_reason_that_nobody_gives() -> None:
    given = [*said(ledger()), *said(missing()), *said(failures()), *said(checks())]
    given += [str(translate(name, "why", "/tmp/chat.db")) for name in UNAVAILABLE]
    patterns = {
        english: re.compile(re.sub(r"\\{\w+\\}", ".+", re.escape(english)), re.DOTALL)
        for english in TEMPLATES
    }
    assert [english for english, pattern in patterns.items() if not any(map(pattern.fullmatch, given))] == []


@pytest.mark.parametrize("english", sorted(TEMPLATES))
def test_templates_have_the_same_names_in_both_languages(english: str) -> None:
    names = re.compile(r"\{(\w+)\}").findall
    assert sorted(names(english)) == sorted(names(TEMPLATES[english]))
