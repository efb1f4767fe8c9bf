"""The shape of the source: caps on size, imports at the top, public names."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

import orca

SOURCE = Path(__file__).parent.parent / "src" / "orca"
FILES = sorted(SOURCE.rglob("*.py"))
MAY_IMPORT_LATE = ("__init__.py", "providers.py", "wiring.py", "interfaces/cli/")  # for a quick command line
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(path: Path) -> Iterator[Definition]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Definition):
            yield node


def lines(node: Definition) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_classes_and_functions_stay_within_their_caps(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    for node in definitions(path):
        cap = 300 if isinstance(node, ast.ClassDef) else 60
        assert lines(node) <= cap, f"{node.name} has {lines(node)} lines"


def test_most_functions_are_short() -> None:
    sizes = [
        lines(node) for path in FILES for node in definitions(path) if not isinstance(node, ast.ClassDef)
    ]
    assert statistics.quantiles(sizes, n=20)[-1] <= 45


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_stand_at_the_top(path: Path) -> None:
    if str(path.relative_to(SOURCE)).startswith(MAY_IMPORT_LATE):
        return
    late = [
        f"{node.name} line {inner.lineno}"
        for node in definitions(path)
        if not isinstance(node, ast.ClassDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert late == []


def test_the_public_names_are_few_sorted_and_there() -> None:
    assert orca.__all__ == sorted(orca.__all__)
    assert len(orca.__all__) <= 20
    for name in orca.__all__:
        assert getattr(orca, name).__doc__
    assert set(orca.__all__) <= set(dir(orca))
    with pytest.raises(AttributeError, match="no_such_name"):
        orca.no_such_name  # noqa: B018 - asking for the attribute is the test


def test_nothing_is_left_unwritten() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for word in ("TODO", "FIXME", "XXX"):
            assert word not in text, f"{path.name} holds a {word}"
