"""The reference of the library says what the docstrings say."""

from __future__ import annotations

import runpy

import orca
from tests.docs.blocks import ROOT


def test_the_reference_of_the_library_is_up_to_date() -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "reference" / "library.py"))["library_page"]()

    hint = "run: python docs/reference/library.py"
    assert (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8") == generated, hint


def test_every_public_name_is_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8")

    assert [name for name in orca.__all__ if name not in page] == []
