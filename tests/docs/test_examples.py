"""The examples run from beginning to end and say what they promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, background_threads

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "remember_across_sessions.py": "vegetarian",
    "bilingual_recall.py": "03:30",
    "read_the_ledger.py": "reason",
    "use_async.py": "Lisbon",
    "agent_with_tools.py": "recalled on Friday: True",
    "agent_delegates.py": "assistant: Both are about cats.",
}


def test_every_example_has_its_promise() -> None:
    assert {path.name for path in EXAMPLES} == set(SAYS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, reader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = background_threads()

    runpy.run_path(str(path), run_name="__main__")

    assert SAYS[path.name] in capsys.readouterr().out
    assert [thread for thread in background_threads() if thread not in before] == []
