"""The glossary and the code use the same words."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from pathlib import Path

import orca.health
import orca.protocols
import orca.types
from orca.memory.manager import MemoryManager

GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")


def section(name: str) -> set[str]:
    body = re.split(r"^## ", GLOSSARY, flags=re.MULTILINE)
    (found,) = [part for part in body if part.startswith(f"{name}\n")]
    return set(re.findall(r"^\| `(\w+)`", found, flags=re.MULTILINE))


def test_every_type_is_in_the_glossary_and_no_other():
    types = {
        name
        for module in (orca.types, orca.health, orca.protocols)
        for name, member in vars(module).items()
        if is_dataclass(member) and member.__module__ == module.__name__
    }

    assert section("Types") == types


def test_the_verbs_of_the_stores_are_those_of_the_contracts():
    rows = re.findall(r"^\| `(\w+)` \| (?:stores|jobs)", GLOSSARY, flags=re.MULTILINE)
    facets = [member for member in vars(orca.protocols).values() if inspect.isclass(member)]

    assert rows
    assert set(rows) <= {verb for facet in facets for verb in dir(facet)}


def test_the_verbs_of_the_memory_are_in_the_glossary():
    verbs = section("Verbs")

    assert {"observe", "recall", "build_context", "forget"} <= verbs & set(dir(MemoryManager))
