"""Every dependency has its reason on the page, and the page names no other."""

from __future__ import annotations

import re
import tomllib

from tests.docs.blocks import ROOT


def test_the_page_of_dependencies_lists_each_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    declared = {re.split(r"[^\w.-]", line)[0] for line in lines if not line.startswith("orca-agent")}
    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `([\w.-]+)` \|", page, flags=re.MULTILINE)) == declared
