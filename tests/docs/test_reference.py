"""The generated reference pages say what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize(
    ("page", "function"), [("cli.md", "cli_page"), ("configuration.md", "configuration_page")]
)
def test_a_reference_page_is_up_to_date(page: str, function: str) -> None:
    generated = runpy.run_path(str(REFERENCE / "generate.py"))[function]()
    hint = "run: python docs/reference/generate.py"
    assert (REFERENCE / page).read_text(encoding="utf-8") == generated, hint
