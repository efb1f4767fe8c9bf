"""How many of the facts that people state in chat are found by rule, and how many finds are facts.

    python -m benchmarks.facts [PATH] [--held-out] [--show]

The data (``benchmarks/data/facts.jsonl``) is a list of hand-written user messages in Chinese, English and both, each
with a telling piece of every fact that it states. A find is right when it holds the piece of a fact that no other
find has taken; every other find is wrong, every fact left over is missed. ``--held-out`` reads the messages that were
written before the rules were read again (``facts-held-out.jsonl``); ``facts-held-out-after.jsonl`` was set aside with
them and measured once, after the mending.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from orca.llms.extractive import extract_facts
from orca.text.statements import language_of

DATA = Path(__file__).parent / "data" / "facts.jsonl"
HELD_OUT = DATA.with_name("facts-held-out.jsonl")
SAID_AT = datetime(2026, 5, 14, 9, 0, tzinfo=UTC)
ROUNDS = 20


@dataclass(slots=True)
class Tally:
    """Counts over messages, and the finds and facts that did not meet."""

    messages: int = 0
    right: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)
    missed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the finds that are facts."""
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        """Share of the facts that were found."""
        return self.right / max(1, self.right + len(self.missed))


def measure(lines: Sequence[tuple[str, Sequence[str]]]) -> Tally:
    """Count over messages with the facts that each states."""
    tally = Tally()
    for text, facts in lines:
        tally.messages += 1
        left = list(facts)
        for candidate in extract_facts(text, said_at=SAID_AT):
            met = next((fact for fact in left if fact.lower() in candidate.content.lower()), None)
            if met is None:
                tally.wrong.append((candidate.content, text))
            else:
                left.remove(met)
                tally.right += 1
        tally.missed += [(fact, text) for fact in left]
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Print precision and recall for both languages, and the time a message takes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", nargs="?", type=Path, default=DATA)
    parser.add_argument(
        "--held-out", action="store_true", help="read the messages that no rule was written for"
    )
    parser.add_argument("--show", action="store_true", help="print every wrong find and missed fact")
    options = parser.parse_args(arguments)
    path = HELD_OUT if options.held_out else options.path
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [(row["text"], row["facts"]) for row in rows]
    groups = {
        "Chinese": [line for line in lines if language_of(line[0]) == "zh"],
        "English": [line for line in lines if language_of(line[0]) == "en"],
        "all": lines,
    }
    print(f"{'':10}{'messages':>10}{'facts':>8}{'precision':>11}{'recall':>8}")
    for name, group in groups.items():
        tally = measure(group)
        facts = tally.right + len(tally.missed)
        print(f"{name:10}{tally.messages:10}{facts:8}{tally.precision:11.2f}{tally.recall:8.2f}")
    if options.show:
        tally = measure(lines)
        for label, pairs in (("wrong", tally.wrong), ("missed", tally.missed)):
            for what, text in pairs:
                print(f"{label}: {what!r} in {text!r}")
    start = time.perf_counter()
    for _ in range(ROUNDS):
        measure(lines)
    print(f"{(time.perf_counter() - start) / ROUNDS / len(lines) * 1000:.2f} ms a message")
    return 0


if __name__ == "__main__":
    sys.exit(main())
