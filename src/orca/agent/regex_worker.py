"""Searches texts for a regular expression in a process of its own; run as a file, it imports nothing of Orca.

Python's matcher cannot be interrupted and lets no other thread run, and an expression with nested repetitions may
take longer than the universe lasts. A process can be killed.

Standard input: one line ``{"pattern": …, "ignore_case": …, "limit": …}``, then one JSON text a line. Standard
output: a JSON list of ``[text, line]``, both counted from 0.
"""

from __future__ import annotations

import json
import re
import sys


def main() -> None:
    """Read the texts, write where the expression matches."""
    order = json.loads(sys.stdin.buffer.readline())
    pattern = re.compile(order["pattern"], re.IGNORECASE if order["ignore_case"] else 0)
    found: list[tuple[int, int]] = []
    for index, line in enumerate(sys.stdin.buffer):
        for number, text in enumerate(json.loads(line).split("\n")):
            if pattern.search(text):
                found.append((index, number))
                if len(found) >= order["limit"]:
                    break
        if len(found) >= order["limit"]:
            break
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
